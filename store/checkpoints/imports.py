"""Storing what only the agent's own backups know, as partial checkpoints (rule 16).

They are computed on reading, and stored once they are used, pinned, or near the agent's own clean-up; their id is the
same before and after.
"""

from __future__ import annotations

import os
from dataclasses import replace

from ..agents.base import FileState, LazyFiles, PartialState
from ..errors import StoreDamaged
from ..git.reader import Objects
from ..git.stream import Put, Stream, blob_id, put, put_inline
from ..proof import ledger
from ..restore.paths import refused
from ..roots import Place
from ..upkeep.space import Room
from . import points
from .points import Checkpoint


def allowed(state: PartialState) -> PartialState:
    """The state without paths that are never read into the store: an agent may well have edited a `.git` (rule 1)."""
    if isinstance(state.files, LazyFiles):
        return replace(state, files=state.files.without(lambda path: bool(refused(path))))
    files = {path: file for path, file in state.files.items() if not refused(path)}
    if len(files) == len(state.files):
        return state
    return replace(state, files=files, outside=state.outside + len(state.files) - len(files))


def store(place: Place, agent: str, state: PartialState) -> Checkpoint:
    """Stores a partial state; returns when it is on the disk. Raises StoreDamaged when a backup is gone.

    A state may be a whole tree: one content at a time is in memory, and what the store has is not written again.
    """
    room = Room(place.home)
    with place.writing("import"):
        stream = Stream(place.git_dir)
        try:
            lines, size = _contents(Objects(place.git_dir), stream, state, room)
            checkpoint = _record(place, agent, state, size)
            lines.append(put_inline(points.encode(checkpoint), points.RECORD.encode()))
            stream.commit(checkpoint.ref, checkpoint.time, lines)
        except BaseException:
            stream.abandon()
            raise
        stream.close()
        ledger.moved(place, checkpoint.ref)
    return checkpoint


def _contents(objects: Objects, stream: Stream, state: PartialState, room: Room) -> tuple[list[Put], int]:
    """Writes what the files hold; gives where it stands in the tree, with the modes, and how many bytes it is."""
    lines: list[Put] = []
    modes: dict[str, int] = {}
    sizes: dict[str, int] = {}
    total = 0
    for path, file in sorted(state.files.items()):
        if file.kind != "file":
            continue
        oid = file.oid
        if oid and oid not in sizes and objects.holds(oid):
            sizes[oid] = objects.size(oid)
        if oid not in sizes:
            data = bytes_of(file)
            oid = blob_id(data)
            if oid not in sizes:
                room.take(len(data))
                stream.blob(data, oid)
                sizes[oid] = len(data)
        total += sizes[oid]
        mode = file.mode & 0o7777
        lines.append(put(0o100755 if mode & 0o100 else 0o100644, oid, b"files/" + path))
        if mode not in (0o644, 0o755):
            modes[os.fsdecode(path)] = mode
    if modes:
        lines.append(put_inline(points.encode_modes(modes), points.MODES.encode()))
    return lines, total


def _record(place: Place, agent: str, state: PartialState, size: int) -> Checkpoint:
    return Checkpoint(
        id=state.id,
        root=place.root.id,
        reason="import",
        side="before",
        time=state.time,
        agent=agent,
        session=state.session,
        prompt=state.prompt,
        entry=state.entry_id,
        files=sum(1 for file in state.files.values() if file.kind == "file"),
        bytes=size,
        complete=False,
        whole=state.whole,
        known=tuple(os.fsdecode(path) for path in sorted(state.files)),
        inferred=tuple(os.fsdecode(path) for path in sorted(state.files) if state.files[path].inferred),
    )


def bytes_of(file: FileState) -> bytes:
    """What the agent's own backup of a file holds. Raises StoreDamaged when it is gone."""
    try:
        return file.data()
    except OSError as error:
        raise StoreDamaged("the agent's backup is gone", path=file.source, todo=str(error.strerror)) from None
