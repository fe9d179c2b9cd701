"""The commits in Gemini CLI's shadow repository, by the calls that they were made for; read without touching it.

A file in the project's `checkpoints` names a call and the commit of the whole folder before it. The repository is the
program's own: nothing is locked, written or cleaned up in it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from ...git.foreign import Foreign
from ...model import Conversation, Entry
from ..base import FileState, LazyFiles
from ..forms.belonging import is_under
from ..forms.plain import string, table
from ..forms.regular import names_in
from . import callkeys, gemini_folder, places
from .records import parse

CHECKPOINTS = "checkpoints"
_NAMED = re.compile(r"(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d)_(\d{3})Z")
_TREE = re.compile(rb"tree ([0-9a-f]{40,64})\n")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The whole folder as it was before a call."""

    entry: str
    """Id of the call's entry."""
    time: int
    repository: Foreign
    tree: str
    prefix: bytes
    """Where the folder is in the root: "" or "a/b/"."""

    def files(self, texts: Mapping[bytes, FileState], *, inferred: bool) -> Mapping[bytes, FileState]:
        """Every file of the tree. texts: what else is known; of paths that are not in the tree it says most."""
        try:
            count = self.repository.count(self.tree)
        except OSError:
            return texts

        def make() -> dict[bytes, FileState]:
            found = {
                self.prefix + path: FileState(
                    "file", mode=file.mode, inferred=inferred, reader=_reader(self.repository, file.oid), oid=file.oid
                )
                for path, file in self.repository.files(self.tree)
            }
            return {**texts, **found}

        absent = sum(1 for state in texts.values() if state.kind == "absent")
        return LazyFiles(make, count, absent)


def snapshots(conversation: Conversation, root: str) -> list[Snapshot]:
    """The snapshots that belong to calls of a conversation and are still there."""
    real = os.path.realpath(root)
    calls: dict[str, list[Entry]] = {}
    for entry in conversation.entries:
        if entry.kind == "tool_call" and not entry.under:
            calls.setdefault(entry.call.partition(callkeys.MARK)[0], []).append(entry)
    found: list[Snapshot] = []
    folders = dict.fromkeys(os.path.dirname(os.path.dirname(file)) for file in conversation.info.files)
    for folder in folders if calls else ():
        prefix = _prefix(places.owner(folder) or conversation.info.cwd, real)
        repository = _repository(os.path.basename(folder))
        if prefix is None or repository is None:
            continue
        for name in names_in(os.path.join(folder, CHECKPOINTS)):
            made = _made(os.path.join(folder, CHECKPOINTS, name), calls, conversation.info.ids)
            tree = _tree(repository, made[1]) if made is not None else ""
            if made is not None and tree:
                found.append(Snapshot(made[0].id, made[2], repository, tree, prefix))
    return found


def _made(file: str, calls: Mapping[str, Sequence[Entry]], sessions: Sequence[str]) -> tuple[Entry, str, int] | None:
    """The call's entry, the commit and the time of a checkpoint's file; None for one of another session."""
    try:
        with open(file, "rb") as stream:
            record = parse(stream.read())
    except OSError:
        return None
    call, commit, owner = table(record.get("toolCall")), record.get("commitHash"), record.get("messageId")
    if not call or not isinstance(commit, str):
        return None
    if isinstance(owner, str) and "########" in owner and owner.partition("########")[0] not in sessions:
        return None
    time = _time(os.path.basename(file))
    same = calls.get(callkeys.key(string(call, "name"), call.get("args")), ())
    # The record of a call has the time of the reply that made it, a moment before its checkpoint.
    near = [entry for entry in same if not time or entry.time <= time]
    return (near[-1], commit, time or near[-1].time) if near else None


def _time(name: str) -> int:
    found = _NAMED.match(name)
    if found is None:
        return 0
    moment = datetime.fromisoformat(f"{found[1]}:{found[2]}:{found[3]}").replace(tzinfo=UTC)
    return int(moment.timestamp()) * 1_000_000_000 + int(found[4]) * 1_000_000


def _prefix(project: str, root: str) -> bytes | None:
    """Where a project's folder is in the root; None when it is not in it."""
    real = os.path.realpath(project)
    if real == root:
        return b""
    return os.fsencode(os.path.relpath(real, root)) + b"/" if is_under(real, root) else None


def _repository(name: str) -> Foreign | None:
    try:
        return Foreign(os.path.join(gemini_folder(), "history", name, ".git"))
    except OSError:
        return None


def _tree(repository: Foreign, commit: str) -> str:
    try:
        found = _TREE.match(repository.data(commit))
    except OSError:
        return ""
    return found[1].decode() if found else ""


def _reader(repository: Foreign, oid: str) -> Callable[[], bytes]:
    return lambda: repository.data(oid)
