"""Which entry of a conversation a checkpoint is bound to: found when it is read, since hooks know ids alone."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from ..calls import MARK
from ..checkpoints.points import Checkpoint
from ..model import Conversation, Entry
from ..text import first_line

_SECOND = 10**9


class Binding:
    """The entries of a conversation, by all that a checkpoint may name."""

    def __init__(self, conversation: Conversation) -> None:
        self.agent = conversation.info.agent
        self.ids = frozenset(conversation.info.ids)
        self.entries = {entry.id for entry in conversation.entries}
        self.calls = {
            entry.call: entry.id for entry in conversation.entries if entry.kind == "tool_call" and entry.call
        }
        self._keyed = _by_key(conversation)
        self._ends: dict[str, str] = {}
        """Record with several entries → the last of them."""
        self.prompts: dict[str, list[Entry]] = {}
        self._typed: list[Entry] = []
        self._timed: dict[str, list[tuple[int, str]]] = {}
        for entry in conversation.entries:
            if "#" in entry.id:
                self._ends[entry.id.partition("#")[0]] = entry.id
            if entry.kind == "prompt":
                self._typed.append(entry)
                if entry.prompt and not entry.under:
                    self.prompts.setdefault(entry.prompt, []).append(entry)
            if not entry.under:
                self._timed.setdefault(entry.session, []).append((entry.time, entry.id))
        for timed in self._timed.values():
            timed.sort()

    def entry(self, checkpoint: Checkpoint) -> str | None:
        """The entry's id; None where there is none."""
        if checkpoint.call and checkpoint.call in self.calls:
            return self.calls[checkpoint.call]
        if MARK in checkpoint.call and (found := self._call(checkpoint)) is not None:
            return found
        if checkpoint.reason == "prompt":
            return self._prompt(checkpoint)
        if checkpoint.entry in self.entries:
            after = checkpoint.side == "after"
            return self._ends.get(checkpoint.entry, checkpoint.entry) if after else checkpoint.entry
        return self._before(checkpoint)

    def _call(self, checkpoint: Checkpoint) -> str | None:
        """The first call of the same doing that ended after the moment that the hook told."""
        key, _, moment = checkpoint.call.partition(MARK)
        since = int(moment) * 1_000_000 if moment.isdigit() and int(moment) else checkpoint.time
        return next((entry for ended, entry in self._keyed.get(key, ()) if ended >= since), None)

    def _prompt(self, checkpoint: Checkpoint) -> str | None:
        text = first_line(checkpoint.text)
        typed = [entry for entry in self._typed if entry.session == checkpoint.session and entry.text == text]
        if not checkpoint.prompt:
            # Claude Code before 2.1.196 names no prompt id: the same text, at the same time.
            return _nearest(typed, checkpoint.time, 120)
        # One id can stand for several: --fork-session writes the id of its own prompt into all that it copies.
        same = self.prompts.get(checkpoint.prompt, [])
        found = _nearest([entry for entry in same if entry.text == text], checkpoint.time)
        if found is None and same:
            # Claude Code gives a prompt that was queued the id of the running turn; the transcript may not (2.1.332).
            found = _nearest([e for e in typed if e.time > checkpoint.time - _SECOND], checkpoint.time, 120)
        return found or _nearest(same, checkpoint.time, 10)

    def _before(self, checkpoint: Checkpoint) -> str | None:
        timed = self._timed.get(checkpoint.session, [])
        at = bisect_right(timed, (checkpoint.time, "\uffff"))
        return timed[at - 1][1] if at else (timed[0][1] if timed else None)

    def owns(self, checkpoint: Checkpoint) -> bool:
        """Whether a checkpoint belongs to this conversation at all; ids of another agent's may be equal to its."""
        if checkpoint.agent not in ("", self.agent):
            return False
        bound = checkpoint.call in self.calls if checkpoint.call else checkpoint.prompt in self.prompts
        return checkpoint.session in self.ids or bound or (bool(checkpoint.entry) and checkpoint.entry in self.entries)


def _nearest(entries: Sequence[Entry], moment: int, seconds: float = float("inf")) -> str | None:
    """The id of the entry nearest to a moment, if it is so near."""
    away = [(abs(entry.time - moment), entry.id) for entry in entries if abs(entry.time - moment) < seconds * _SECOND]
    return min(away)[1] if away else None


def _by_key(conversation: Conversation) -> dict[str, list[tuple[int, str]]]:
    """When calls ended, and their entries, by what they do: for agents whose hooks give a call no id."""
    ended = {entry.call: entry.time for entry in conversation.entries if entry.kind == "tool_result"}
    found: dict[str, list[tuple[int, str]]] = {}
    for entry in conversation.entries:
        key, mark, _ = entry.call.partition(MARK)
        if entry.kind == "tool_call" and mark:
            found.setdefault(key, []).append((ended.get(entry.call, entry.time), entry.id))
    for calls in found.values():
        calls.sort(key=lambda call: call[0])
    return found
