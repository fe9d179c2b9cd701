"""States of files from Codex CLI's own records, and what these prove (formats 2.6).

Codex keeps no backups. What its patch tool added or deleted stands in the records in full; an update is a diff. So the
content of a file is known from the patch that made it on, as long as each later diff fits line by line; before that it
is concluded by taking diffs back, from a deletion or from the file as it is now, and shown as inferred (rule 16). What
follows which is told by the clock, not by the tree: a rewind of Codex takes no file back.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from ...model import Conversation, Entry
from ..base import Evidence, FileState, PartialState, Source
from ..forms.contents import blob, inside, state_id
from ..forms.jsonl import Unreadable, nanoseconds
from ..forms.regular import descriptor
from . import NAME, listing
from .changes import Change, applied, changes_of, taken_back
from .records import records

_LARGEST = 4 << 20
"""Bytes of a file on disk that is looked at to take diffs back."""


class _Absent:
    """There is no file."""


ABSENT = _Absent()
Content = str | _Absent | None
"""What is known of a file at a moment; None: nothing."""


@dataclass(frozen=True, slots=True)
class Told:
    """A change as the records tell it."""

    time: int
    change: Change
    entry: str
    """Id of the entry of the call that made it."""


@dataclass(slots=True)
class Past:
    """One file through the session: what it held before, between and after the changes to it."""

    times: list[int] = field(default_factory=list[int])
    steps: list[str | None] = field(default_factory=list[str | None])
    """Of each change: its diff; None when it made or took away the whole."""
    contents: list[Content] = field(default_factory=lambda: [None])
    """Before the first change, and after each."""
    left: list[bool] = field(default_factory=lambda: [False])
    """Of each of the contents: it is what a step left …"""
    sure: list[bool] = field(default_factory=lambda: [False])
    """… and nothing that comes later contradicts it."""

    def at(self, time: int) -> tuple[Content, bool]:
        """What the file held at a moment, and whether that is sure."""
        place = sum(1 for moment in self.times if moment <= time)
        return self.contents[place], self.sure[place]

    def step(self, time: int, diff: str | None, content: Content, *, sure: bool) -> None:
        self.times.append(time)
        self.steps.append(diff)
        self.contents.append(content)
        self.left.append(sure)
        self.sure.append(sure)


class Changes:
    """The changes that the records of a session's files tell; a file that did not change is not read again."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[int, int], list[tuple[int, Change]]]] = {}

    def told(self, conversation: Conversation, sources: Sequence[Source] | None = None) -> list[Told]:
        """Each change once, in the order of their time; only those of calls that are in the conversation."""
        calls = {entry.call: entry.id for entry in conversation.entries if entry.kind == "tool_call" and entry.call}
        found: dict[tuple[str, str], Told] = {}
        for source in listing.sources(conversation.info) if sources is None else sources:
            for time, change in self._of(source):
                # A fork repeats the records of its source.
                if change.call in calls and (change.call, change.path) not in found:
                    found[change.call, change.path] = Told(time, change, calls[change.call])
        return sorted(found.values(), key=lambda told: told.time)

    def file_states(
        self, conversation: Conversation, root: str, sources: Sequence[Source] | None = None
    ) -> list[PartialState]:
        """What is known of files just before each prompt, the oldest first; none for prompts of which nothing is."""
        real = os.path.realpath(root)
        told = self.told(conversation, sources)
        paths, outside = _inside(told, real)
        pasts = _pasts(told, paths)
        for path, past in pasts.items():
            _conclude(past, os.path.join(os.fsencode(real), path))
        modes = {path: _mode(os.path.join(os.fsencode(real), path)) for path in pasts}
        found: list[PartialState] = []
        for entry in conversation.entries:
            if entry.kind == "prompt" and not entry.under:
                files = _files_at(pasts, modes, entry.time)
                if files:
                    found.append(_state(entry, files, outside))
        return sorted(found, key=lambda state: state.time)

    def _of(self, source: Source) -> list[tuple[int, Change]]:
        stamp = source.stamp()
        known = self._known.get(source.name)
        if known is None or known[0] != stamp:
            known = self._known[source.name] = (stamp, _read_changes(source))
        return known[1]


def file_states(conversation: Conversation, root: str, sources: Sequence[Source] | None = None) -> list[PartialState]:
    """What is known of files just before each prompt, the oldest first."""
    return Changes().file_states(conversation, root, sources)


def evidence(conversation: Conversation, root: str, sources: Sequence[Source] | None = None) -> Evidence:
    """Contents that the session's patches are proven to have left, and the steps known to have changed a path."""
    told = Changes().told(conversation, sources)
    paths, outside = _inside(told, os.path.realpath(root))
    left: dict[bytes, frozenset[str]] = {}
    for path, past in _pasts(told, paths).items():
        contents = [text for text, sure in zip(past.contents, past.left, strict=True) if sure]
        if contents:
            left[path] = frozenset(blob(text) if isinstance(text, str) else "" for text in contents)
    touched: dict[bytes, list[tuple[int, str]]] = {}
    for one in told:
        for name in (one.change.path, one.change.to):
            path = paths.get(name)
            if path is not None:
                touched.setdefault(path, []).append((one.time, one.entry))
    return Evidence(left, {path: tuple(sorted(steps)) for path, steps in touched.items()}, outside)


def _read_changes(source: Source) -> list[tuple[int, Change]]:
    """The changes of one file's records, each with its time; none where it cannot be read."""
    found: list[tuple[int, Change]] = []
    try:
        with source.open() as file:
            for _, _, line in records(file):
                if not isinstance(line, Unreadable):
                    found += [(nanoseconds(line.timestamp), change) for change in changes_of(line)]
    except OSError:
        pass
    return found


def _inside(told: Sequence[Told], root: str) -> tuple[dict[str, bytes], int]:
    """Where each path that the records name lies in the root, and how many lie outside of it."""
    names = {name for one in told for name in (one.change.path, one.change.to) if name}
    found = {name: path for name in names if (path := inside(name, root)) is not None}
    return found, len(names) - len(found)


def _pasts(told: Sequence[Told], paths: dict[str, bytes]) -> dict[bytes, Past]:
    """Every file of the root, forwards from what was written as a whole."""
    found: dict[bytes, Past] = {}
    for one in told:
        change = one.change
        path, to = paths.get(change.path), paths.get(change.to)
        past = found.setdefault(path, Past()) if path is not None else Past()
        before = past.contents[-1]
        if change.kind == "update":
            after = applied(before, change.text) if isinstance(before, str) else None
            if isinstance(before, str) and after is None:
                # Something else changed the file in between: since when is not known.
                past.sure[-1] = False
            if not change.to:
                past.step(one.time, change.text, after, sure=after is not None)
                continue
            past.step(one.time, None, ABSENT, sure=True)
            if to is not None:
                found.setdefault(to, Past()).step(one.time, None, after, sure=after is not None)
        elif change.kind == "add":
            past.step(one.time, None, change.text, sure=True)
        else:
            if before is None:
                past.contents[-1] = change.text
            elif before != change.text:
                past.sure[-1] = False
            past.step(one.time, None, ABSENT, sure=True)
    return found


def _conclude(past: Past, path: bytes) -> None:
    """Backwards: what is not known yet from what is known later, and from the file as it is now."""
    if past.contents[-1] is None and past.steps[-1] is not None:
        now = _now(path)
        if now is not None and taken_back(now, past.steps[-1]) is not None:
            past.contents[-1] = now
    for place in range(len(past.steps) - 1, -1, -1):
        if past.contents[place] is not None:
            continue
        diff, after = past.steps[place], past.contents[place + 1]
        if diff is not None:
            past.contents[place] = taken_back(after, diff) if isinstance(after, str) else None
        elif isinstance(after, str) and place == 0:
            # It was made here, so most likely nothing stood there.
            past.contents[place] = ABSENT


def _now(path: bytes) -> str | None:
    """The text of a file on disk; None for one that is none, or large."""
    try:
        with open(descriptor(os.fsdecode(path)), "rb") as file:
            data = file.read(_LARGEST + 1)
        return data.decode() if len(data) <= _LARGEST else None
    except (OSError, UnicodeDecodeError):
        return None


def _mode(path: bytes) -> int:
    """The permission bits that a file has now: the records tell none."""
    try:
        return os.lstat(path).st_mode & 0o777 if not os.path.islink(path) else 0o644
    except OSError:
        return 0o644


def _files_at(pasts: dict[bytes, Past], modes: dict[bytes, int], time: int) -> dict[bytes, FileState]:
    files: dict[bytes, FileState] = {}
    for path, past in pasts.items():
        content, sure = past.at(time)
        if isinstance(content, str):
            data = content.encode("utf-8", "surrogatepass")
            reader = partial(bytes, data)
            files[path] = FileState("file", mode=modes[path], inferred=not sure, reader=reader, oid=blob(content))
        elif content is ABSENT:
            files[path] = FileState("absent", mode=0, inferred=not sure)
    return files


def _state(entry: Entry, files: dict[bytes, FileState], outside: int) -> PartialState:
    return PartialState(
        id=state_id(NAME, entry.session, entry.id),
        entry_id=entry.id,
        session=entry.session,
        prompt=entry.prompt,
        time=entry.time,
        files=files,
        outside=outside,
    )
