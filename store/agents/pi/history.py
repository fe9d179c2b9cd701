"""What Pi's records tell of files: states at each prompt, worked out from its own tools' calls, and what they prove.

Pi keeps no backups. A write call has the whole content, a read call shows one, and an edit call tells what it changed
in it: so contents are followed along the conversation. What a shell did meanwhile is not known: after a call of any
other tool a content is inferred until a tool of Pi's own sees the file again (rule 16).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, NamedTuple

from ...model import Conversation, Entry
from ..base import Evidence, FileState, PartialState, Source
from ..forms.contents import blob, inside, state_id
from ..forms.plain import items, string, table
from . import NAME
from .edits import edited
from .listing import on_disk
from .paths import EDIT_TOOLS, READ_ONLY, absolute
from .records import parse

_FOLLOWED = EDIT_TOOLS | {"read"}
_GONE = "ENOENT"

Json = dict[str, Any]
Aims = dict[tuple[str, str], tuple[str, bool]]
"""Folder and call → the path that it is about, and whether it is about all of the file."""


class _Version(NamedTuple):
    """A content of a file that a call of Pi's own tools tells."""

    text: str | None
    """None: there was no such file."""
    doubt: int
    """How many calls that could have changed any file there had been then."""


class _Seen(NamedTuple):
    """What a call tells of a path."""

    path: str
    before: str | bool | None
    """The content before it: True when it is not known, None when there was no file."""
    after: str | bool | None


@dataclass(slots=True)
class _Known:
    """What is known of the files at one place of the conversation."""

    files: dict[str, _Version] = field(default_factory=dict[str, _Version])
    doubt: int = 0
    changed: set[str] = field(default_factory=set[str])
    """Paths that an edit tool changed: what is seen of them later says nothing of the time before."""

    def copy(self) -> _Known:
        return _Known(dict(self.files), self.doubt, set(self.changed))


@dataclass(slots=True)
class _Told:
    """All that a conversation's calls tell."""

    changed: set[str]
    """Paths that edit tools aim at: only what is told of these is of use."""
    states: dict[str, _Known] = field(default_factory=dict[str, _Known])
    """Prompt → what was known just before it."""
    edited: dict[str, list[tuple[Entry, str]]] = field(default_factory=dict[str, list[tuple[Entry, str]]])
    """Path → results of the calls that changed it, with the entry of the call."""
    first: dict[str, list[tuple[str, str | None]]] = field(default_factory=dict[str, list[tuple[str, str | None]]])
    """Path → entries at which its content became known where nothing was known before, and that content."""
    left: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """Path → git blob ids of the contents that edit tools left there."""


def file_states(
    conversation: Conversation, root: str, sources: Sequence[Source] | None = None, aims: Aims | None = None
) -> list[PartialState]:
    """States just before prompts, the oldest first, of the files that Pi's edit tools changed in this conversation.

    aims: what calls were seen to aim at; it is added to, for whoever asks again when the session has grown.
    """
    told = _followed(conversation, sources, {} if aims is None else aims)
    real = os.path.realpath(root)
    parents = {entry.id: entry.parent for entry in conversation.entries}
    later = _known_later(conversation, told, parents)
    found: list[PartialState] = []
    for entry in conversation.entries:
        if entry.kind != "prompt":
            continue
        state = _state(entry, told, told.states[entry.id], later.get(entry.id, {}), real)
        if state.files:
            found.append(state)
    return sorted(found, key=lambda state: state.time)


def _state(entry: Entry, told: _Told, known: _Known, later: Mapping[str, str | None], root: str) -> PartialState:
    files: dict[bytes, FileState] = {}
    outside = 0
    for path in told.edited:
        version = known.files.get(path)
        if version is None and path not in later:
            continue
        place = inside(path, root)
        if place is None:
            outside += 1
        elif version is not None:
            files[place] = _file(version.text, inferred=version.doubt != known.doubt)
        else:
            files[place] = _file(later[path], inferred=True)
    return PartialState(
        id=state_id(NAME, entry.session, entry.id),
        entry_id=entry.id,
        session=entry.session,
        prompt=entry.prompt,
        time=entry.time,
        files=files,
        outside=outside,
    )


def _file(text: str | None, *, inferred: bool) -> FileState:
    if text is None:
        return FileState("absent", mode=0, inferred=inferred)
    data = text.encode("utf-8", "surrogatepass")
    return FileState("file", inferred=inferred, reader=lambda: data, oid=blob(text))


def _known_later(
    conversation: Conversation, told: _Told, parents: Mapping[str, str | None]
) -> dict[str, dict[str, str | None]]:
    """Prompt → path → content that became known only afterwards, while nothing had changed the file that is known."""
    prompts = {entry.id for entry in conversation.entries if entry.kind == "prompt"}
    above: dict[str, str | None] = {}
    for entry in conversation.entries:
        parent = entry.parent
        above[entry.id] = parent if parent is None or parent in prompts else above.get(parent)
    found: dict[str, dict[str, str | None]] = {}
    for path in told.edited:
        for place, text in told.first.get(path, ()):
            at = above.get(place)
            while at is not None and path not in told.states[at].files and path not in found.setdefault(at, {}):
                found[at][path] = text
                at = above.get(at)
    return found


def evidence(conversation: Conversation, root: str, sources: Sequence[Source] | None = None) -> Evidence:
    """Contents that the session's edit tools left, and the steps known to have changed a path."""
    told = _followed(conversation, sources, {})
    real = os.path.realpath(root)
    left: dict[bytes, frozenset[str]] = {}
    touched: dict[bytes, tuple[tuple[int, str], ...]] = {}
    outside = 0
    for path, steps in told.edited.items():
        place = inside(path, real)
        if place is None:
            outside += 1
            continue
        touched[place] = tuple(sorted({*touched.get(place, ()), *((entry.time, call) for entry, call in steps)}))
        if path in told.left:
            left[place] = left.get(place, frozenset()) | told.left[path]
    return Evidence(left, touched, outside)


def _followed(conversation: Conversation, sources: Sequence[Source] | None, aims: Aims) -> _Told:
    """Follows the contents of files along every branch."""
    entries = conversation.entries
    told = _Told(changed={path for entry in entries if entry.kind == "tool_call" for path in entry.paths})
    waiting = Counter(entry.parent for entry in entries)
    known: dict[str, _Known] = {}
    calls: dict[str, Entry] = {}
    with _Files(sources, conversation.info.cwd, aims) as files:
        for entry in entries:
            state = _arriving(entry, known, waiting)
            known[entry.id] = state
            if entry.kind == "prompt":
                told.states[entry.id] = state.copy()
            elif entry.kind == "tool_call":
                calls[entry.call] = entry
                # It may have been killed in the middle: then there is no result.
                state.doubt += entry.tool not in _FOLLOWED | READ_ONLY
            elif entry.kind == "tool_result":
                _take_result(told, state, entry, calls.get(entry.call), files)
            elif entry.flavour == "shell":
                state.doubt += 1
    return told


def _arriving(entry: Entry, known: dict[str, _Known], waiting: Counter[str | None]) -> _Known:
    """What is known where an entry begins: its parent's, which the last child takes over."""
    if entry.parent is None or entry.parent not in known:
        return _Known()
    waiting[entry.parent] -= 1
    return known[entry.parent].copy() if waiting[entry.parent] else known.pop(entry.parent)


def _take_result(told: _Told, state: _Known, entry: Entry, call: Entry | None, files: _Files) -> None:
    if entry.tool not in _FOLLOWED:
        state.doubt += entry.tool not in READ_ONLY
        return
    if call is None:
        return
    seen = _seen(entry, call, state, told, files)
    if seen is None:
        return
    changes = entry.tool in EDIT_TOOLS and not entry.error
    if changes:
        told.edited.setdefault(seen.path, []).append((entry, call.id))
        state.changed.add(seen.path)
    fresh = seen.path not in state.files and seen.path not in state.changed
    if fresh and not isinstance(seen.before, bool):
        told.first.setdefault(seen.path, []).append((entry.id, seen.before))
    if isinstance(seen.after, bool):
        state.files.pop(seen.path, None)
        return
    state.files[seen.path] = _Version(seen.after, state.doubt)
    if changes and seen.after is not None:
        told.left.setdefault(seen.path, set()).add(blob(seen.after))


def _seen(entry: Entry, call: Entry, state: _Known, told: _Told, files: _Files) -> _Seen | None:
    """What a call of one of Pi's own tools tells of a path; None when it tells nothing of use."""
    path, whole = files.aim(call)
    if path not in told.changed:
        return None
    if entry.tool == "write" and not entry.error:
        content = files.arguments(call).get("content")
        return _Seen(path, True, _written(content) if isinstance(content, str) else True)
    message = table(files.record(entry).get("message"))
    shown = _text_of(message)
    if entry.error:
        return _Seen(path, None, None) if _GONE in shown and path not in state.files else None
    if entry.tool == "read":
        plain = all(part.get("type") == "text" for part in _parts(message))
        if not whole or not plain or message.get("details") or "\ufffd" in shown:
            return None
        return _Seen(path, shown, shown)
    before = state.files.get(path)
    if before is None or before.text is None:
        return _Seen(path, True, True)
    after = edited(before.text, files.arguments(call), table(message.get("details")))
    return _Seen(path, True, True if after is None else after)


def _written(content: str) -> str:
    """What a text is in a file: half a surrogate pair cannot be written."""
    return content.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class _Files:
    """Records of entries, read at their places; every file is opened once."""

    def __init__(self, sources: Sequence[Source] | None, cwd: str, aims: Aims) -> None:
        self._sources = {source.name: source for source in sources or ()}
        self._cwd = cwd
        self._aims = aims
        self._open: dict[str, BinaryIO | None] = {}

    def __enter__(self) -> _Files:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._open.values():
            if file is not None:
                file.close()

    def aim(self, call: Entry) -> tuple[str, bool]:
        """The path that a call is about, and whether it is about all of the file; "" for none."""
        if call.paths:
            return call.paths[0], True
        key = (self._cwd, call.id)
        if key not in self._aims:
            given = self.arguments(call)
            path = string(given, "path")
            whole = not given.get("offset") and not given.get("limit")
            self._aims[key] = (absolute(path, self._cwd) if path else "", whole)
        return self._aims[key]

    def arguments(self, call: Entry) -> Json:
        """What a call asked for."""
        parts = _parts(table(self.record(call).get("message")))
        return table(next((part.get("arguments") for part in parts if part.get("id") == call.call), None))

    def record(self, entry: Entry) -> Json:
        """The record of an entry; {} when it is gone."""
        span = entry.span
        if span is None:
            return {}
        if span.file not in self._open:
            try:
                self._open[span.file] = (self._sources.get(span.file) or on_disk(span.file)).open()
            except OSError:
                self._open[span.file] = None
        file = self._open[span.file]
        if file is None:
            return {}
        file.seek(span.offset)
        return parse(file.read(span.length))


def _parts(message: Json) -> list[Json]:
    return [table(part) for part in items(message.get("content"))]


def _text_of(message: Json) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "".join(text for part in _parts(message) if isinstance(text := part.get("text"), str))
