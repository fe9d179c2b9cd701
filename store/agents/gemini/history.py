"""What Gemini CLI itself knows of files: texts in its records, trees in its shadow repository, and what they prove.

The record of an edit holds the whole text before and after it (formats 3.4); "replace" tells texts without CR, so that
a file with CR LF is put together again from what stands on the disk. With checkpoints switched on, the whole folder is
a commit in a repository of the program's own before each edit that it asked for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from ...model import Conversation, Entry
from ..base import Evidence, FileState, PartialState, Source
from ..forms.contents import blob, inside, state_id
from . import NAME, listing
from .callkeys import MARK
from .events import READ_ONLY
from .faces import EDIT_TOOLS
from .records import parse
from .snapshots import Snapshot, snapshots

if TYPE_CHECKING:
    from collections.abc import Iterable

Json = dict[str, Any]
Open = Callable[[], "bytes"]


@dataclass(frozen=True, slots=True)
class Edit:
    """An edit that a record tells of."""

    path: bytes
    """Relative to the root."""
    time: int
    entry: str
    """Id of the call's entry."""
    anchor: str
    """Id of the entry in the main conversation that it belongs to: its own, or that of the sub-agent's call."""
    before: FileState
    after: FileState


def file_states(conversation: Conversation, root: str, sources: Sequence[Source] | None = None) -> list[PartialState]:
    """States just before prompts, the oldest first; none for prompts of which nothing is known."""
    found = _edits(conversation, root, sources)
    line = _Line(conversation, found.edits)
    trees = snapshots(conversation, root)
    states: list[PartialState] = []
    for prompt in line.prompts:
        texts = line.states(prompt)
        tree = _tree_of(line, prompt, trees)
        files = texts if tree is None else tree[0].files(texts, inferred=tree[1])
        if not files:
            continue
        uid = state_id(NAME, prompt.session, prompt.id)
        states.append(
            PartialState(uid, prompt.id, prompt.session, "", prompt.time, files, len(found.outside), found.missing)
        )
    return sorted(states, key=lambda state: state.time)


def evidence(conversation: Conversation, root: str, sources: Sequence[Source] | None = None) -> Evidence:
    """Contents that edit tools are proven to have left, and the steps known to have changed a path."""
    found = _edits(conversation, root, sources)
    left: dict[bytes, set[str]] = {}
    touched: dict[bytes, list[tuple[int, str]]] = {}
    for edit in found.edits:
        left.setdefault(edit.path, set()).update(found.contents.get((edit.path, edit.entry), ()))
        touched.setdefault(edit.path, []).append((edit.time, edit.entry))
    return Evidence(
        {path: frozenset(contents) for path, contents in left.items()},
        {path: tuple(sorted(steps)) for path, steps in touched.items()},
        len(found.outside),
    )


class _Found:
    """The edits of a session."""

    def __init__(self) -> None:
        self.edits: list[Edit] = []
        self.contents: dict[tuple[bytes, str], tuple[str, ...]] = {}
        """Blob ids that the bytes left by an edit can have: with the line ends of the file, which it may not tell."""
        self.outside: set[str] = set()
        self.missing: tuple[bytes, ...] = ()


def _edits(conversation: Conversation, root: str, sources: Sequence[Source] | None) -> _Found:
    real = os.path.realpath(root)
    entries = {entry.id: entry for entry in conversation.entries}
    calls = {entry.call: entry.id for entry in conversation.entries if entry.kind == "tool_call"}
    opened = {source.name: source for source in sources or ()}
    found = _Found()
    for entry, told in _told(conversation, opened):
        path, new = told.get("filePath"), told.get("newContent")
        if not isinstance(path, str) or not isinstance(new, str):
            continue
        place = inside(os.path.join(conversation.info.cwd, path), real)
        if place is None:
            found.outside.add(path)
            continue
        call = calls.get(entry.call, entry.id)
        anchor = _anchor(entry, entries)
        if anchor is None:
            continue
        source = _reader(entry, opened)
        old = told.get("originalContent")
        crlf = _has_crlf(os.path.join(real, os.fsdecode(place)), old)
        mode = _mode(os.path.join(real, os.fsdecode(place)))
        if told.get("isNewFile") is True or not isinstance(old, str):
            before = FileState("absent", mode=0)
        else:
            before = _state(old, crlf, mode, partial(_text, source, entry.call, "originalContent"))
        after = _state(new, crlf, mode, partial(_text, source, entry.call, "newContent"))
        found.edits.append(Edit(place, entry.time, call, anchor, before, after))
        found.contents[place, call] = tuple({blob(new), blob(_with_cr(new))})
    found.edits.sort(key=lambda edit: edit.time)
    return found


def _told(conversation: Conversation, opened: dict[str, Source]) -> Iterable[tuple[Entry, Json]]:
    """Results of successful edits with what they showed, file by file."""
    wanted: dict[str, list[Entry]] = {}
    for entry in conversation.entries:
        if entry.kind == "tool_result" and entry.tool in EDIT_TOOLS and not entry.error and entry.span is not None:
            wanted.setdefault(entry.span.file, []).append(entry)
    for name, entries in wanted.items():
        source = opened.get(name) or listing.on_disk(name)
        try:
            with source.open() as file:
                for entry in entries:
                    assert entry.span is not None
                    file.seek(entry.span.offset)
                    yield entry, _shown(parse(file.read(entry.span.length)), entry.call)
        except OSError:
            continue


def _shown(record: Json, call: str) -> Json:
    """What a call of a record showed to the person."""
    uid = call.partition(MARK)[2]
    calls = record.get("toolCalls")
    for item in cast("list[object]", calls) if isinstance(calls, list) else []:
        plain = cast("Json", item) if isinstance(item, dict) else {}
        shown = plain.get("resultDisplay")
        if plain.get("id") == uid and isinstance(shown, dict):
            return cast("Json", shown)
    return {}


def _reader(entry: Entry, opened: dict[str, Source]) -> Open:
    span = entry.span
    assert span is not None
    source = opened.get(span.file) or listing.on_disk(span.file)

    def read() -> bytes:
        with source.open() as file:
            file.seek(span.offset)
            return file.read(span.length)

    return read


def _text(read: Open, call: str, name: str) -> str:
    text = _shown(parse(read()), call).get(name)
    if not isinstance(text, str):
        raise FileNotFoundError(2, "the record is gone", name)
    return text


def _state(text: str, crlf: bool, mode: int, read: Callable[[], str]) -> FileState:
    def data() -> bytes:
        found = read()
        return (_with_cr(found) if crlf else found).encode("utf-8", "surrogatepass")

    return FileState("file", mode=mode, reader=data, oid=blob(_with_cr(text) if crlf else text))


def _with_cr(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def _has_crlf(file: str, old: object) -> bool:
    """Whether a file's lines end with CR LF: by its text before, or by what stands on the disk now."""
    if isinstance(old, str) and "\n" in old and "\r\n" in old:
        return True
    try:
        with open(file, "rb") as stream:
            return b"\r\n" in stream.readline(1 << 16)
    except OSError:
        return False


def _mode(file: str) -> int:
    try:
        return os.lstat(file).st_mode & 0o777
    except OSError:
        return 0o644


def _anchor(entry: Entry, entries: dict[str, Entry]) -> str | None:
    """The entry in the main conversation that an entry belongs to; None where that is not known."""
    seen: set[str] = set()
    while entry.under and entry.under not in seen:
        seen.add(entry.under)
        if entry.under not in entries:
            return None
        entry = entries[entry.under]
    return entry.id


class _Line:
    """What edits tell of the files before each prompt."""

    def __init__(self, conversation: Conversation, edits: Sequence[Edit]) -> None:
        self.prompts = [entry for entry in conversation.entries if entry.kind == "prompt" and not entry.under]
        self._turn: dict[str, str] = {}
        """Entry → the prompt that it follows."""
        self._wrote: dict[str, int] = {}
        """Prompt → when a call of its turn had first ended that may have written."""
        before: dict[str, str] = {}
        for entry in conversation.entries:
            above = self._turn.get(entry.parent, "") if entry.parent is not None else ""
            self._turn[entry.id] = entry.id if entry.kind == "prompt" else above
            if entry.kind == "prompt":
                before[entry.id] = above
            elif entry.kind == "tool_result" and not entry.under and entry.tool not in READ_ONLY:
                self._wrote.setdefault(above, entry.time)
        self._edits: dict[str, list[Edit]] = {}
        for edit in edits:
            self._edits.setdefault(self.turn(edit.anchor), []).append(edit)
        self._last = self._last_above(before)
        self._later = self._first_below(before)

    def turn(self, entry: str) -> str:
        """The prompt that an entry follows."""
        return self._turn.get(entry, "")

    def _last_above(self, before: dict[str, str]) -> dict[str, dict[bytes, Edit]]:
        """Prompt → path → the last edit before it on its own line."""
        found: dict[str, dict[bytes, Edit]] = {"": {}}
        for prompt in self.prompts:
            above = before[prompt.id]
            mine = {edit.path: edit for edit in self._edits.get(above, ()) if above}
            found[prompt.id] = {**found.get(above, {}), **mine} if mine else found.get(above, {})
        return found

    def _first_below(self, before: dict[str, str]) -> dict[str, dict[bytes, Edit]]:
        """Prompt → path → the first edit in any turn that follows its own."""
        found: dict[str, dict[bytes, Edit]] = {}
        for prompt in reversed(self.prompts):
            mine = {edit.path: edit for edit in reversed(self._edits.get(prompt.id, ()))}
            below = {**found.get(prompt.id, {}), **mine}
            above = found.setdefault(before[prompt.id], {})
            for path, edit in below.items():
                if path not in above or edit.time < above[path].time:
                    above[path] = edit
        return found

    def states(self, prompt: Entry) -> dict[bytes, FileState]:
        """By path what it held before a prompt.

        Certain is what the first edit of the turn found, and what an earlier one left where the next one found it so.
        """
        later = self._later.get(prompt.id, {})
        found = {path: _inferred(edit.before) for path, edit in later.items()}
        for path, edit in self._last.get(prompt.id, {}).items():
            following = later.get(path)
            sure = following is not None and _same(following.before, edit.after)
            found[path] = edit.after if sure else _inferred(edit.after)
        for edit in reversed(self._edits.get(prompt.id, ())):
            found[edit.path] = edit.before
        return found

    def wrote_before(self, prompt: Entry, moment: int) -> bool:
        """Whether a call of the turn may have written before a moment."""
        return self._wrote.get(prompt.id, moment) < moment


def _inferred(state: FileState) -> FileState:
    return FileState(state.kind, state.source, state.mode, True, state.reader, state.oid)


def _same(one: FileState, other: FileState) -> bool:
    return (one.kind, one.oid) == (other.kind, other.oid)


def _tree_of(line: _Line, prompt: Entry, trees: Sequence[Snapshot]) -> tuple[Snapshot, bool] | None:
    """The first snapshot of a prompt's turn, and whether something may have been written in the turn before it."""
    mine = [tree for tree in trees if line.turn(tree.entry) == prompt.id]
    if not mine:
        return None
    first = min(mine, key=lambda tree: tree.time)
    return first, line.wrote_before(prompt, first.time)
