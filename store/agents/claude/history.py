"""What Claude Code itself kept of files: its backups as partial states, and what its records prove (formats 1.4, 1.5).

A snapshot belongs to a prompt and names, for each file that an edit tool ever touched, the backup that equals it at
that moment; it is replaced by later snapshots of the same prompt, and deltas add files to it. Claude's own rewind reads
them so, and what the shell did is in none of them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, cast

from ...model import Conversation, Entry
from ..base import Evidence, FileState, PartialState, Source
from ..forms.contents import blob, inside, patched, state_id
from ..forms.growing import Growing
from ..forms.jsonl import Reached
from ..forms.regular import on_disk
from . import NAME
from .faces import EDIT_TOOLS
from .filenames import session_of, sub_agent_of
from .places import backups
from .records import lines, nanoseconds, parse

_HISTORY = b'{"type":"file-history-'
_BACKUP = re.compile(r"[0-9a-f]{16}@v\d+")
_FORKED = re.compile(rb'"forkedFrom":\{"sessionId":"([0-9a-fA-F-]{36})"')
_LEADING_TABS = re.compile(r"^\t+", re.MULTILINE)

Json = dict[str, Any]


@dataclass(slots=True)
class History:
    """The file history of one session, as its file tells it."""

    session: str
    start: str = ""
    """The folder that the session was started in: keys are relative to it."""
    origin: str = ""
    """The session that it was forked from."""
    times: dict[str, str] = field(default_factory=dict[str, str])
    """Prompt → when its snapshot was taken, in the order of the file."""
    files: dict[str, dict[str, Json]] = field(default_factory=dict[str, dict[str, Json]])
    """Prompt → key → backup."""

    def read_on(self, file: BinaryIO, reached: Reached) -> None:
        """Folds the snapshots and deltas that stand behind the place."""
        for _, data, ended in lines(file, reached):
            if data.startswith(_HISTORY):
                if ended:
                    _fold(self, parse(data))
            elif not self.start and b'"cwd":"' in data:
                cwd = parse(data).get("cwd")
                self.start = cwd if isinstance(cwd, str) else ""
                forked = _FORKED.search(data)
                self.origin = forked[1].decode() if forked else ""


def _fold(history: History, record: Json) -> None:
    if record.get("type") == "file-history-snapshot":
        snapshot = _dict(record.get("snapshot"))
        prompt = snapshot.get("messageId")
        if isinstance(prompt, str):
            stamp = snapshot.get("timestamp")
            history.times.setdefault(prompt, stamp if isinstance(stamp, str) else "")
            kept = _dict(snapshot.get("trackedFileBackups"))
            history.files[prompt] = {key: _dict(backup) for key, backup in kept.items()}
        return
    prompt, key = record.get("snapshotMessageId"), record.get("trackingPath")
    if isinstance(prompt, str) and isinstance(key, str):
        stamp = record.get("timestamp")
        history.times.setdefault(prompt, stamp if isinstance(stamp, str) else "")
        history.files.setdefault(prompt, {}).setdefault(key, _dict(record.get("backup")))


def file_states(conversation: Conversation, root: str, sources: Sequence[Source] | None = None) -> list[PartialState]:
    """States just before prompts that Claude's backups still hold, the oldest first; none for prompts without any."""
    return Histories().file_states(conversation, root, sources)


class Histories:
    """Reads the file histories of a session again and again, of its files only what is new."""

    def __init__(self) -> None:
        self._files = Growing(lambda source, _: History(session_of(source.file)), History.read_on)

    def file_states(
        self, conversation: Conversation, root: str, sources: Sequence[Source] | None = None
    ) -> list[PartialState]:
        """States just before prompts that Claude's backups still hold, the oldest first."""
        histories = [file.state for file in self._files.read(_main_files(conversation, sources))]
        prompts = {entry.id: entry for entry in conversation.entries if entry.kind == "prompt" and not entry.under}
        disk = _Disk(os.path.realpath(root))
        found: dict[str, PartialState] = {}
        # Copies of a history stand in the files of forks too: the session that owns the prompt speaks first.
        for history in histories:
            earliest = _earliest(history)
            folders = _folders(history, histories)
            for prompt in history.files:
                entry = prompts.get(prompt)
                if entry is None or (prompt in found and entry.session != history.session):
                    continue
                state = _state(history, prompt, entry, earliest, folders, disk)
                if state.files or state.missing:
                    found[prompt] = state
        return sorted(found.values(), key=lambda state: state.time)


class _Disk:
    """Answers of the disk, each asked for once: every snapshot names every file again."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._inside: dict[str, bytes | None] = {}
        self._backups: dict[tuple[str, str], tuple[str, int]] = {}

    def inside(self, path: str) -> bytes | None:
        """A path relative to the root; None outside of it."""
        if path not in self._inside:
            self._inside[path] = inside(path, self._root)
        return self._inside[path]

    def backup(self, name: str, folders: list[str]) -> tuple[str, int]:
        """Path and permission bits of a backup; "" when it is gone."""
        key = (name, folders[0])
        if key not in self._backups:
            path = find_backup(name, folders)
            try:
                self._backups[key] = (path, os.lstat(path).st_mode & 0o777 if path else 0)
            except OSError:
                self._backups[key] = ("", 0)
        return self._backups[key]


def _state(
    history: History, prompt: str, entry: Entry, earliest: dict[str, Json], folders: list[str], disk: _Disk
) -> PartialState:
    own = history.files[prompt]
    files: dict[bytes, FileState] = {}
    missing: list[bytes] = []
    outside = 0
    for key, backup in {**earliest, **own}.items():
        path = disk.inside(_path(history, key, backup))
        if path is None:
            outside += 1
            continue
        state = _backup(backup, folders, disk, inferred=key not in own)
        if state is None:
            missing.append(path)
        else:
            files[path] = state
    return PartialState(
        id=state_id(NAME, entry.session, prompt),
        entry_id=entry.id,
        session=entry.session,
        prompt=entry.prompt,
        time=nanoseconds(history.times[prompt]) or entry.time,
        files=files,
        outside=outside,
        missing=tuple(missing),
    )


def _earliest(history: History) -> dict[str, Json]:
    """Key → its first backup: what a file held until an edit tool first touched it."""
    found: dict[str, Json] = {}
    for kept in history.files.values():
        for key, backup in kept.items():
            if key not in found or _version(backup) < _version(found[key]):
                found[key] = backup
    # Claude takes the first version only: a later one says nothing of the time before.
    return {key: backup for key, backup in found.items() if _version(backup) == 1}


def _version(backup: Json) -> int:
    version = backup.get("version")
    return version if isinstance(version, int) else 1 << 60


def _path(history: History, key: str, backup: Json) -> str:
    """The absolute path that a key stands for."""
    folder = backup.get("realParentDir")
    if isinstance(folder, str) and folder:
        return os.path.join(folder, os.path.basename(key))
    return os.path.join(history.start, key)


def _backup(backup: Json, folders: list[str], disk: _Disk, *, inferred: bool) -> FileState | None:
    """The state that a backup stands for; None when its file is gone or its name is not one of Claude's."""
    name = backup.get("backupFileName", "")
    if name is None:
        return FileState("absent", mode=0, inferred=inferred)
    path, mode = disk.backup(name, folders) if isinstance(name, str) else ("", 0)
    return FileState("file", path, mode, inferred) if path else None


def find_backup(name: str, folders: Sequence[str]) -> str:
    """The first of the folders' files with this name; "" when there is none, or the name is not one of Claude's."""
    if _BACKUP.fullmatch(name):
        for folder in folders:
            path = os.path.join(folder, name)
            if os.path.isfile(path) and not os.path.islink(path):
                return path
    return ""


def _folders(history: History, histories: list[History]) -> list[str]:
    """Where a session's backups can be: in its own folder, or in one of the sessions that it was forked from."""
    by_id = {other.session: other for other in histories}
    order = [history.session]
    at = history
    while at.origin and at.origin not in order:
        order.append(at.origin)
        at = by_id.get(at.origin, History(at.origin))
    # A fork by --fork-session does not say where it comes from: the oldest file of the family is the likeliest.
    order += [other.session for other in histories if other.session not in order]
    return [backups(session) for session in order]


def _main_files(conversation: Conversation, sources: Sequence[Source] | None) -> list[Source]:
    if sources is None:
        return [on_disk(file) for file in conversation.info.files]
    return [source for source in sources if not sub_agent_of(source.file)]


def evidence(conversation: Conversation, root: str, sources: Sequence[Source] | None = None) -> Evidence:
    """Contents that the session's edit tools are proven to have left, and the steps known to have changed a path."""
    real = os.path.realpath(root)
    openers = {source.name: source for source in sources or ()}
    calls = {entry.call: entry.id for entry in conversation.entries if entry.kind == "tool_call" and entry.call}
    left: dict[bytes, set[str]] = {}
    touched: dict[bytes, list[tuple[int, str]]] = {}
    outside: set[str] = set()

    def touch(path: str, entry: Entry) -> bytes | None:
        found = inside(os.path.join(conversation.info.cwd, path), real)
        if found is None:
            outside.add(path)
        elif entry.call in calls:
            touched.setdefault(found, []).append((entry.time, calls[entry.call]))
        return found

    for entry, record in _results(conversation, openers):
        told = _dict(record.get("toolUseResult"))
        for changed in _list(_dict(told.get("bashEditDiff")).get("changedFiles")):
            if isinstance(changed, str):
                touch(changed, entry)
        path = told.get("filePath") or told.get("notebook_path")
        if entry.tool not in EDIT_TOOLS or entry.error or not isinstance(path, str):
            continue
        found = touch(path, entry)
        content = written(told)
        if found is not None and content is not None:
            left.setdefault(found, set()).add(blob(content))
    return Evidence(
        {path: frozenset(contents) for path, contents in left.items()},
        {path: tuple(sorted(steps)) for path, steps in touched.items()},
        len(outside),
    )


def written(told: Json) -> str | None:
    """The content that a successful edit call is proven to have left; None when that cannot be told exactly."""
    if isinstance(told.get("updated_file"), str):
        return told["updated_file"]
    if isinstance(told.get("content"), str) and told.get("type") in ("create", "update"):
        # The person may have changed the text that was proposed: then the record has what was written.
        return told["content"]
    original = told.get("originalFile", told.get("originalFileContents"))
    edits = [_dict(edit) for edit in _list(told.get("edits"))] or [told]
    if original is None and edits[0].get("oldString") == "":
        original = ""
    if not isinstance(original, str):
        return None
    hunks = _list(told.get("structuredPatch"))
    by_patch = patched(original, hunks)
    if not told.get("userModified"):
        spaced = patched(_spaced(original), hunks)
        for text in _replaced(original, edits):
            if text == by_patch or _spaced(text) == spaced:
                return text
    tabs = any(_LEADING_TABS.search(text) for text in (original, *_texts(edits)))
    return None if tabs else by_patch


def _texts(edits: Sequence[Json]) -> list[str]:
    found = [edit.get(name) for edit in edits for name in ("newString", "new_string", "oldString", "old_string")]
    return [text for text in found if isinstance(text, str)]


def _spaced(text: str) -> str:
    """How Claude makes patches: with two blanks for every leading tab."""
    return _LEADING_TABS.sub(lambda tabs: "  " * len(tabs[0]), text)


def _replaced(original: str, edits: Sequence[Json]) -> list[str]:
    """What the edits make of a text, in the ways in which Claude carries them out."""
    found: list[str] = []
    for with_line_end in (False, True):
        text: str | None = original
        for edit in edits:
            text = None if text is None else _edited(text, edit, with_line_end)
        if text is not None and text not in found:
            found.append(text)
    return found


def _edited(text: str, edit: Json, with_line_end: bool) -> str | None:
    old = edit.get("oldString", edit.get("old_string"))
    new = edit.get("newString", edit.get("new_string"))
    if not isinstance(old, str) or not isinstance(new, str):
        return None
    if not old:
        return None if text else new
    if with_line_end and not new and not old.endswith("\n") and old + "\n" in text:
        # A deleted text takes its line feed along.
        old += "\n"
    if old not in text:
        return None
    every = edit.get("replaceAll", edit.get("replace_all"))
    return text.replace(old, new) if every else text.replace(old, new, 1)


def _results(conversation: Conversation, openers: dict[str, Source]) -> Iterator[tuple[Entry, Json]]:
    """Results of calls that change files, with their whole records, file by file."""
    wanted: dict[str, list[Entry]] = {}
    for entry in conversation.entries:
        if entry.kind == "tool_result" and entry.span is not None and (entry.tool in EDIT_TOOLS or _is_shell(entry)):
            wanted.setdefault(entry.span.file, []).append(entry)
    for name, entries in wanted.items():
        source = openers.get(name) or on_disk(name)
        try:
            with source.open() as file:
                for entry in entries:
                    yield entry, _at(file, entry)
        except OSError:
            continue


def _is_shell(entry: Entry) -> bool:
    return entry.tool in ("Bash", "PowerShell")


def _at(file: BinaryIO, entry: Entry) -> Json:
    assert entry.span is not None
    file.seek(entry.span.offset)
    return parse(file.read(entry.span.length))


def _dict(value: object) -> Json:
    return cast("Json", value) if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []
