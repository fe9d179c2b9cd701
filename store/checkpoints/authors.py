"""Whose a change is that was found between two checkpoints, given the calls that were open meanwhile (rule 15).

What a call's own input names is that call's; what changed besides is its shell's, or was set off by it. With several
calls open only names tell them apart, and of several that name a path only what their edit tools are proven to
have left there. Where nothing decides, it is unsure: never a guess, and never "a person".
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ..hook import session_id, session_key
from ..model import Who
from ..restore.scope import Author
from ..states import Node
from .points import RUN, Checkpoint

FAMILY = "family"
"""Stands for the sessions of one conversation: a fork goes on with what the first one did."""
SHELLS = frozenset(
    {"bash", "bashoutput", "cmd", "exec", "exec_command", "local_shell", "powershell", "run_shell_command"}
    | {"shell", "sh", "terminal", "unified_exec", "write_stdin"}
)
"""Names of the agents' shells, in small letters. A tool that is not here and names no path is taken at its word."""
BETWEEN = "outside of any call"
REWIND = "what had stood there came back: a rewind of the agent's own, or a person"
LOOSE = "a call that had not ended"
BEHIND = "a shell in the background"
SIGHT = "came into sight, or went out of it: ignore rules changed"
MOST = 4
"""Lines for who could have done it."""

Proof = Callable[[str], Mapping[bytes, frozenset[str]]]
"""Session → path → ids of contents that its edit tools are proven to have left there ("" for nothing)."""


class Verdict(NamedTuple):
    """Who changed a path, and what that makes it for a restore."""

    author: Author
    session: str
    """The session whose step it is, FAMILY for one of the family's; that of the checkpoint where it is nobody's."""
    who: Who


def nothing_proven(session: str) -> Mapping[bytes, frozenset[str]]:
    """For where nobody looks into conversations."""
    return {}


@dataclass(slots=True)
class Interval:
    """What happened between a checkpoint and the one before it."""

    checkpoint: Checkpoint
    """The one that ends it."""
    during: Sequence[Checkpoint]
    """Calls (by the checkpoint that ends them) that were open all the time."""
    family: frozenset[str]
    quiet: Callable[[], bool]
    """Whether no agent was at work."""
    runs: Sequence[str] = ()
    """Commands that `forkpoint run` had under way."""
    proof: Proof = nothing_proven
    calls: list[Checkpoint] = field(init=False)
    loose: bool = field(init=False)
    """Another call was open, of which no end is known that tells what it named."""
    sessions: set[str] = field(init=False)
    """Whose a change may be: sessions with a call open, or a shell in the background."""

    def __post_init__(self) -> None:
        own = self.checkpoint
        self.calls = list(self.during)
        if ends_call(own) and own not in self.during:
            self.calls.append(own)
        self.loose = not {call.call for call in self.calls}.issuperset(own.open)
        behind = own.behind if self.calls else ()
        self.sessions = {self.mapped(s) for call in self.calls for s in (call.session, *call.shared)}
        self.sessions |= {self.mapped(s) for s in behind}

    def mapped(self, session: str) -> str:
        """The session, or FAMILY for one of the family."""
        return FAMILY if session in self.family else session

    def verdict(self, path: bytes, after: Node | None, stood: Callable[[], bool]) -> Verdict:
        """Whose the change of a path is; `stood` tells whether what came had stood there before."""
        if not self.calls:
            return self._outside(stood)
        naming = [call for call in self.calls if path in _named(call)]
        if self.during and len(self.sessions) == 1:
            return self._step(path, naming or self._unnamed(self.calls))
        decided = self._decided(path, after, naming)
        if decided:
            return self._step(path, decided)
        return Verdict("outside", self.checkpoint.session, self._unsure(naming or self.calls))

    def unseen(self) -> Verdict:
        """What merely came into sight is nobody's change: nobody knows since when it had been there."""
        return Verdict("outside", self.checkpoint.session, Who("unsure", maybe=(SIGHT,)))

    def _outside(self, stood: Callable[[], bool]) -> Verdict:
        maybe = tuple(f"during {text}" for text in self.runs) or (
            LOOSE if self.loose else BEHIND if self.checkpoint.behind else BETWEEN,
        )
        if not self.runs and self.quiet():
            if not stood():
                return Verdict("person", self.checkpoint.session, Who("person"))
            maybe = (REWIND,)
        return Verdict("outside", self.checkpoint.session, Who("unsure", maybe=maybe))

    def _decided(self, path: bytes, after: Node | None, naming: Sequence[Checkpoint]) -> list[Checkpoint]:
        """The calls of the one session that must have done it, though others had calls open; none: nobody knows."""
        left = {session: self.proof(session).get(path) for session in {call.session for call in naming}}
        content = after.oid if after is not None else ""
        if len({self.mapped(session) for session in left}) > 1:
            naming = [call for call in naming if content in (left[call.session] or ())]
        else:
            # Its own records tell that what stands here is not what it left: somebody else was there after it.
            naming = [call for call in naming if left[call.session] is None or content in (left[call.session] or ())]
        return list(naming) if len({self.mapped(call.session) for call in naming}) == 1 else []

    def _unnamed(self, calls: Sequence[Checkpoint]) -> list[Checkpoint]:
        """Calls that may have done what none of them names: an edit tool does what it names, as long as others can."""
        return [call for call in calls if not call.named] or list(calls)

    def _step(self, path: bytes, calls: Sequence[Checkpoint]) -> Verdict:
        session = self.mapped(calls[0].session)
        behind = [s for s in self.checkpoint.behind if self.mapped(s) == session]
        if len(calls) == 1 and (path in _named(calls[0]) or not (behind or self.loose)):
            return Verdict("step", session, _told(calls[0], path))
        who = self._unsure(calls)
        # Unsure is only which of its calls it was.
        return Verdict("step", session, replace(who, agent=calls[0].agent, session=_id(calls[0])))

    def _unsure(self, calls: Sequence[Checkpoint]) -> Who:
        lines = [call.text or call.tool for call in calls]
        lines += ([LOOSE] if self.loose else []) + ([BEHIND] if self.checkpoint.behind else [])
        return Who("unsure", maybe=tuple(dict.fromkeys(filter(None, lines)))[:MOST])


def ends_call(checkpoint: Checkpoint) -> bool:
    """Whether a checkpoint was made when a tool call ended."""
    return checkpoint.reason == "tool" and checkpoint.side == "after"


def seen_from(who: Who, family: Sequence[str]) -> Who:
    """The same, told from the sessions of one conversation: calls of all others are another session's."""
    if who.kind in ("tool", "shell", "subagent") and session_key(who.agent, who.session) not in family:
        return replace(who, kind="session")
    return who


def open_runs(checkpoints: Sequence[Checkpoint]) -> list[list[str]]:
    """For each checkpoint the commands that `forkpoint run` had under way since the one before it.

    A run whose end was not saved counts until the next one begins: nobody knows how long it went on.
    """
    ends = {checkpoint.call for checkpoint in checkpoints if checkpoint.tool == RUN and checkpoint.reason == "end"}
    running: dict[str, str] = {}
    found: list[list[str]] = []
    for checkpoint in checkpoints:
        found.append(list(dict.fromkeys(running.values())))
        if checkpoint.tool == RUN and checkpoint.reason == "start":
            running = {run: text for run, text in running.items() if run in ends} | {checkpoint.call: checkpoint.text}
        elif checkpoint.tool == RUN and checkpoint.reason == "end":
            running.pop(checkpoint.call, None)
    return found


def _id(call: Checkpoint) -> str:
    return session_id(call.agent, call.session)


def _named(call: Checkpoint) -> frozenset[bytes]:
    return frozenset(map(os.fsencode, call.named))


def _told(call: Checkpoint, path: bytes) -> Who:
    names = path in _named(call)
    shell = call.tool.lower() in SHELLS or (bool(call.named) and not names)
    kind = "subagent" if call.subagent else ("shell" if shell else "tool")
    return Who(kind, call.agent, _id(call), call.call, call.tool, call.subagent, shell, call.text)
