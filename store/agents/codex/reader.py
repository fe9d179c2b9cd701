"""Reads all files of a Codex CLI session into one conversation (formats 2.5).

Each file is one line of records. What makes a tree of them: a file that goes on from a place in another one
(`history_base`), one that begins with a copy of another one (a fork), and turns that were taken back
(`thread_rolled_back`). A sub-agent's files stand under the call that started it. Whatever is broken is shown as what it
is and named among the problems; the rest stays whole.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from msgspec import structs

from ...model import Conversation, Entry, Problem, SessionInfo, Span
from ...text import first_line
from ..base import Source
from ..forms.jsonl import Unreadable, from_raw, nanoseconds
from ..forms.regular import why
from .faces import AGENT_TOOLS, HIDDEN_KINDS, Face, face, text_of
from .filenames import rollout
from .records import EVENT, META, Item, Line, Payload, body_of, kind_of, records

ROOT = -1


def read(info: SessionInfo, sources: Sequence[Source]) -> Conversation:
    """All of a session that its sources hold. Raises OSError only."""
    paused = gc.isenabled()
    # A hundred thousand small objects are made and none is garbage: the collector would only walk them again.
    gc.disable()
    try:
        return _Reading(info).read(sources)
    finally:
        if paused:
            gc.enable()


@dataclass
class _File:
    """One file while it is read, and afterwards what others that go on from it ask."""

    source: Source
    id: str
    thread: str
    stamp: str
    side: str = ""
    """The thread of the sub-agent that the file is of; "" for the main conversation."""
    own_from: int = 0
    """Sub-agents that inherit a history: the ordinal of their first own record."""
    cwd: str = ""
    met: bool = False
    """Its own first line was read."""
    path: list[int] = field(default_factory=list[int])
    """The entries of its line in the order of the records, those that it goes on from included."""
    ordinals: list[int] = field(default_factory=list[int])
    """Of each entry of the path: its record's ordinal, or -1."""
    leaf: int = ROOT
    prompts: list[int] = field(default_factory=list[int])
    """Prompts on the path to the leaf, as long as they can be rolled back."""
    turn: str = ""
    copied: list[list[int]] = field(default_factory=list[list[int]])
    """Paths of other files that all of this one, so far, is a copy of."""
    former: bool = False
    """It is what the file was before the agent wrote it anew: what only this one has was left."""
    by_id: bool = False
    """Only a record with an id can be known as a copy."""
    unknown: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    """Unknown kind → entry that stands for it, how many there are."""
    newest: int = 0


@dataclass(frozen=True, slots=True)
class _Link:
    """What a file's first line says of others."""

    base: str = ""
    ordinal: int | None = None
    forked_from: str = ""
    parent: str = ""
    own_from: int = 0
    cwd: str = ""


class _Reading:
    """The entries of one session, file by file."""

    def __init__(self, info: SessionInfo) -> None:
        self.info = info
        self.entries: list[Entry] = []
        self.parents: list[int] = []
        self.ids: set[str] = set()
        self.problems: list[Problem] = []
        self.files: dict[str, _File] = {}
        """By the id that a `history_base` calls a file."""
        self.calls: dict[str, int] = {}
        self.callers: dict[str, str] = {}
        """Thread of a sub-agent → id of the call that started it."""
        self.titles: dict[str, str] = {}

    def read(self, sources: Sequence[Source]) -> Conversation:
        links = [(s, link) for s in sources if (link := self._link(s)) is not None]
        own = set(self.info.files)
        old = [item for item in links if item[0].former]
        links = [item for item in links if not item[0].former]
        threads = {rollout(source.file).thread for source, _ in links}
        sides = [source.file not in own and bool(link.parent) and link.parent in threads for source, link in links]
        main = [item for item, side in zip(links, sides, strict=True) if not side]
        for source, link in self._in_order(main):
            self._read_file(source, link, side=False)
        for source, link in self._in_order([item for item, side in zip(links, sides, strict=True) if side]):
            self._read_file(source, link, side=True)
        for source, link in reversed(old):
            self._read_file(source, link, side=False)
        return self._conversation()

    def _link(self, source: Source) -> _Link | None:
        """What a file's first line says of others; None for a file that cannot be read."""
        try:
            with source.open() as file:
                for _, _, line in records(file):
                    if not isinstance(line, Unreadable) and kind_of(line) == META:
                        return _linked(body_of(line))
        except OSError as error:
            self.problems.append(Problem(why(error), source.file))
            return None
        return _Link()

    def _in_order(self, links: list[tuple[Source, _Link]]) -> list[tuple[Source, _Link]]:
        """A file stands behind the one that it goes on from; otherwise the oldest first."""
        waiting = {rollout(item[0].file).id: item for item in links}
        waiting = dict(sorted(waiting.items(), key=lambda item: _age(item[1][0])))
        order: list[tuple[Source, _Link]] = []
        while waiting:
            threads = {rollout(item[0].file).thread for item in waiting.values()}
            ready = [
                name
                for name, (source, link) in waiting.items()
                if link.base not in waiting and (link.forked_from not in threads - {_thread(source)} or link.base)
            ]
            if not ready:
                ready = [next(iter(waiting))]
                source = waiting[ready[0]][0]
                self.problems.append(Problem("files name each other as their beginning", source.name))
            order += [waiting.pop(name) for name in ready]
        return order

    # ---- one file

    def _read_file(self, source: Source, link: _Link, *, side: bool) -> None:
        name = rollout(source.file)
        file = _File(source, name.id, name.thread, name.stamp, side=name.thread if side else "", cwd=link.cwd)
        file.own_from = link.own_from if side else 0
        file.former = bool(source.former)
        if file.former and file.id in self.files:
            file.copied = [self.files[file.id].path]
        elif link.base:
            self._begin_from(file, link)
        elif not side:
            self._may_be_copy(file, link)
        self.files[source.name if file.former else file.id] = file
        with source.open() as opened:
            for offset, length, line in records(opened):
                if isinstance(line, Unreadable):
                    self._unreadable(file, offset, length, line)
                else:
                    self._record(file, offset, length, line)
        for index, count in file.unknown.values():
            if count > 1:
                entry = self.entries[index]
                self.entries[index] = structs.replace(entry, text=f"{entry.text} ({count} of them)")

    def _begin_from(self, file: _File, link: _Link) -> None:
        """The line of the file that it goes on from, up to the cut."""
        base = self.files.get(link.base)
        if base is None:
            self.problems.append(Problem(f"the file that it goes on from is gone ({link.base})", file.source.name))
            return
        end = len(base.path)
        while link.ordinal is not None and end and base.ordinals[end - 1] >= link.ordinal:
            end -= 1
        file.path, file.ordinals = base.path[:end], base.ordinals[:end]
        file.leaf = base.leaf if end == len(base.path) else (base.path[end - 1] if end else ROOT)
        line = set(self._line(file.leaf))
        file.prompts = [index for index in file.path if self.entries[index].kind == "prompt" and index in line]

    def _may_be_copy(self, file: _File, link: _Link) -> None:
        """Files whose beginning this one may repeat: those of the session that it names, else any with the same ids."""
        others = [other for other in self.files.values() if not (other.side or other.former) and other.path]
        named = [other.path for other in others if other.thread == link.forked_from]
        file.copied = named or [other.path for other in others if other.thread != file.thread]
        file.by_id = not named

    def _record(self, file: _File, offset: int, length: int, line: Line) -> None:
        kind, body = kind_of(line), body_of(line)
        if kind == META:
            if not file.met:
                file.met, file.cwd = True, body.cwd or file.cwd
            return
        if file.side and line.ordinal is not None and line.ordinal < file.own_from:
            return
        if body.turn and kind in (EVENT, "turn_context"):
            file.turn = body.turn
        if kind == "turn_context":
            file.cwd = body.cwd or file.cwd
            return
        if kind == EVENT and not self._event(file, body):
            return
        if kind in HIDDEN_KINDS:
            return
        if kind == "compacted":
            self._mark_summary(file, body)
        shown = face(kind, body, file.cwd or self.info.cwd)
        if shown is not None:
            self._shown(file, offset, length, line, body, shown)

    def _event(self, file: _File, body: Payload) -> bool:
        """What an event does to the tree; gives whether it may be shown."""
        kind = body.type
        if kind == "item_completed":
            if body.item is not None:
                self._note_sub_agents(body.item)
            return False
        if kind == "thread_rolled_back":
            self._roll_back(file, body.turns or 0)
            return False
        if kind == "thread_name_updated" and body.title and not file.side:
            self.titles[file.thread] = first_line(body.title)
        if kind == "collab_agent_spawn_end" and body.new_thread and body.call:
            self.callers.setdefault(body.new_thread, body.call)
        return True

    def _mark_summary(self, file: _File, body: Payload) -> None:
        """The reply before a compaction is the summary that it goes on with; a rollback cannot reach before it."""
        file.prompts = []
        entry = self.entries[file.leaf] if file.leaf >= 0 else None
        if entry is not None and entry.kind == "reply" and entry.text.removesuffix("…") in text_of(body.message):
            self.entries[file.leaf] = structs.replace(entry, flavour="compaction")

    def _roll_back(self, file: _File, turns: int) -> None:
        """The newest turns are left behind: what follows hangs on what was before them."""
        file.copied = []
        for _ in range(min(turns, len(file.prompts))):
            file.leaf = self.parents[file.prompts.pop()]

    def _note_sub_agents(self, item: Item) -> None:
        if item.id is None:
            return
        if item.type == "CollabAgentToolCall" and item.tool in (None, *AGENT_TOOLS):
            for thread in item.receivers or ():
                self.callers.setdefault(thread, item.id)
        elif item.type == "SubAgentActivity" and item.kind == "started" and item.agent:
            self.callers.setdefault(item.agent, item.id)

    def _shown(self, file: _File, offset: int, length: int, line: Line, body: Payload, shown: Face) -> None:
        time = nanoseconds(line.timestamp)
        file.newest = max(file.newest, time)
        if shown.flavour == "unknown" and shown.text in file.unknown:
            index, count = file.unknown[shown.text]
            file.unknown[shown.text] = (index, count + 1)
            return
        same = self._copy_of(file, body, shown)
        if same is not None:
            index = same
        else:
            turn = (body.passed.turn if body.passed and body.passed.turn else file.turn) or ""
            uid = _id(body, shown) or f"{file.id}:{offset}"
            index = self._add(file, uid, shown, time, turn, Span(file.source.name, offset, length))
        file.path.append(index)
        file.ordinals.append(-1 if line.ordinal is None else line.ordinal)
        file.leaf = index
        if shown.kind == "prompt":
            file.prompts.append(index)
        if shown.flavour == "unknown":
            file.unknown[shown.text] = (index, 1)
        if shown.kind == "tool_result" and not file.side:
            self._note_result(body, shown)

    def _copy_of(self, file: _File, body: Payload, shown: Face) -> int | None:
        """The entry that this record is a copy of, while all before it were copies too."""
        if not file.copied:
            return None
        place = len(file.path)
        uid = _id(body, shown)
        still: list[list[int]] = []
        for path in file.copied:
            if place < len(path):
                entry = self.entries[path[place]]
                if _same(entry, shown) and (uid == entry.id.partition("~")[0] if uid else not file.by_id):
                    still.append(path)
        file.copied = still
        return still[0][place] if still else None

    def _add(self, file: _File, uid: str, shown: Face, time: int, prompt: str, span: Span) -> int:
        if uid in self.ids:
            uid = f"{uid}~{file.id}:{span.offset}"
        self.ids.add(uid)
        parent = file.leaf
        above = self.entries[parent] if parent >= 0 else None
        under = self._under(file) if file.side else None
        first = bool(file.side) and above is None
        turn = above.turn if above is not None else (under.turn if under is not None else 0)
        tool = shown.tool
        if shown.kind == "tool_result" and shown.call in self.calls:
            tool = self.entries[self.calls[shown.call]].tool
        entry = Entry(
            uid,
            above.id if above is not None else None,
            shown.kind,
            time or (above.time if above is not None else 0),
            shown.text,
            self._session(file),
            turn + (shown.kind == "prompt" and not file.side),
            (("sub-agent" if under is not None else "detached") if first else "") or shown.flavour,
            tool,
            shown.call,
            prompt,
            shown.error,
            shown.paths,
            under.id if under is not None else "",
            span,
        )
        self.entries.append(entry)
        self.parents.append(parent)
        index = len(self.entries) - 1
        if shown.kind == "tool_call" and shown.call:
            self.calls.setdefault(shown.call, index)
        return index

    def _session(self, file: _File) -> str:
        """The session that hooks name for what happens in a file: a sub-agent's is that of who started it."""
        at, seen = file.thread, set[str]()
        while at in self.callers and at not in seen:
            seen.add(at)
            call = self.calls.get(self.callers[at])
            if call is None:
                break
            return self.entries[call].session
        return file.thread if not file.side else self.info.id

    def _under(self, file: _File) -> Entry | None:
        call = self.calls.get(self.callers.get(file.side, ""))
        return self.entries[call] if call is not None else None

    def _note_result(self, body: Payload, shown: Face) -> None:
        """Older versions name the sub-agent in the result of the call that started it alone."""
        call = self.calls.get(shown.call)
        if call is not None and self.entries[call].tool in AGENT_TOOLS:
            for word in text_of(body.output).split('"'):
                if len(word) == 36 and word.count("-") == 4:
                    self.callers.setdefault(word, shown.call)

    def _unreadable(self, file: _File, offset: int, length: int, line: Unreadable) -> None:
        self.problems.append(Problem(line.why, file.source.name, line.number))
        if line.last:
            return
        shown = Face("notice", f"line {line.number} cannot be read ({length:,} bytes)", "unreadable")
        index = self._add(file, f"{file.id}:{offset}", shown, 0, "", Span(file.source.name, offset, length))
        file.path.append(index)
        file.ordinals.append(file.ordinals[-1] if file.ordinals else -1)
        file.leaf = index

    # ---- all together

    def _line(self, at: int) -> list[int]:
        found: list[int] = []
        while at >= 0:
            found.append(at)
            at = self.parents[at]
        return found

    def _conversation(self) -> Conversation:
        leaves: dict[str, str] = {}
        newest, leaf = -1, None
        for file in sorted(self.files.values(), key=lambda file: (file.stamp, file.id)):
            if file.side or file.former or file.leaf == ROOT:
                continue
            # The newest file of a thread is the one that the agent goes on with.
            leaves[file.thread] = self.entries[file.leaf].id
            if file.newest >= newest:
                newest, leaf = file.newest, leaves[file.thread]
        inner = set(self.parents)
        ends = sum(1 for index, entry in enumerate(self.entries) if index not in inner and not entry.under)
        info = replace(
            self.info,
            entries=len(self.entries),
            branches=ends,
            problem=self.problems[0].what if self.problems else self.info.problem,
        )
        problems = tuple(self.problems)
        return Conversation(info, tuple(self.entries), leaf, leaves, problems, self.titles)


def _id(body: Payload, shown: Face) -> str:
    """The id of a record's entry: its own where it has one, else that of the call; "" for others."""
    if body.id:
        return body.id
    if shown.call:
        return shown.call if shown.kind == "tool_call" else f"{shown.call}="
    return ""


def _same(entry: Entry, shown: Face) -> bool:
    return (entry.kind, entry.text, entry.call) == (shown.kind, shown.text, shown.call)


def _linked(body: Payload) -> _Link:
    base = body.base
    parent = body.parent or _spawned_by(from_raw(body.source))
    return _Link(
        (base.thread or "") if base else "",
        base.ordinal if base else None,
        body.forked_from or "",
        parent,
        body.own_from or 0,
        body.cwd or "",
    )


def _spawned_by(source: object) -> str:
    """The thread that started a sub-agent, from what its first line says of where it comes from."""
    at = source
    for name in ("subagent", "thread_spawn", "parent_thread_id"):
        at = cast("dict[str, object]", at).get(name) if isinstance(at, dict) else None
    return at if isinstance(at, str) else ""


def _thread(source: Source) -> str:
    return rollout(source.file).thread


def _age(source: Source) -> tuple[str, str]:
    name = rollout(source.file)
    return (name.stamp, name.id)
