"""The store's own copy of conversations: the agent's lines as they are, in segments named by byte offset.

refs/transcripts/<session> → tree:

    session.json                 what a list shows of the session, and the cursor of each file
    files/<key>/<from>-<to>      the bytes of one file from one offset to the next

A segment holds whole lines. Lines of the agent's wire log (Claude's `api-request*`) are left out; every other byte is
kept, so a session can be read when the agent has deleted its own file (design.md section 4).
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, BinaryIO

from ..agents.base import Source
from ..errors import StoreDamaged
from ..git.refs import TRANSCRIPTS as REFS
from ..git.stream import Stream, put_inline, put_tree
from ..model import SessionInfo
from ..proof import ledger
from ..proof.witness import check_head
from ..roots import Place
from ..upkeep.space import Room

if TYPE_CHECKING:
    from ..git.reader import Objects

RECORD = "session.json"
WIRE_LOG = b'{"type":"api-request'
PIECE = 64 << 20
"""Bytes read at a time: a first copy of a huge file becomes several segments."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What the store has of one session."""

    info: SessionInfo
    cursors: dict[str, int]
    """Per file the offset up to which it was read."""
    commit: str
    rescued: bool = False
    """Whether what the agent's own backups know of its files was stored before the agent cleans up."""


def known(objects: Objects) -> dict[str, Kept]:
    """Every session that the store has lines of that can be read, by session id."""
    found: dict[str, Kept] = {}
    for ref, commit in objects.refs(REFS).items():
        try:
            found[ref.removeprefix(REFS)] = decode(objects.file(commit, RECORD), commit)
        except StoreDamaged:
            continue
    return found


def decode(data: bytes, commit: str) -> Kept:
    """Reads session.json. Raises StoreDamaged."""
    try:
        plain: dict[str, Any] = json.loads(data)
        info = plain["info"]
        for name in ("files", "ids"):
            info[name] = tuple(info[name])
        return Kept(SessionInfo(**info), plain["cursors"], commit, bool(plain.get("rescued")))
    except (ValueError, KeyError, TypeError) as error:
        raise StoreDamaged(
            f"a session's record cannot be read ({error})", path=commit, todo="forkpoint verify"
        ) from None


def keep(
    place: Place,
    objects: Objects,
    info: SessionInfo,
    sources: Sequence[Source],
    kept: Kept | None,
    *,
    rescued: bool = False,
    wait: float = 30.0,
) -> bool:
    """Stores what the files of a session have more than the store has; gives whether there was anything.

    Only whole lines are taken: a last line without its line feed may still be being written. `rescued` notes that what
    the agent's backups know was stored as well. Raises Busy after `wait` seconds, StoreUnwritable.
    """
    cursors = dict(kept.cursors) if kept else {}
    fresh = list(_fresh(sources, cursors))
    had = kept is not None and kept.rescued
    if not fresh and had >= rescued:
        return False
    for name, _, end, _ in fresh:
        cursors[name] = end
    record = {"info": asdict(replace(info, live=False)), "cursors": cursors, "rescued": had or rescued}
    lines = [put_tree(str(objects.tree(kept.commit).id), b"")] if kept else []
    lines.append(put_inline(json.dumps(record, indent=1).encode(), RECORD.encode()))
    for name, start, end, data in fresh:
        lines.append(put_inline(data, f"files/{_key(name)}/{start:014d}-{end:014d}".encode()))
    Room(place.home, sum(len(data) for *_, data in fresh))
    ref = REFS + info.id
    with place.writing("transcripts", wait):
        if check_head(place, objects, ref) != (kept.commit if kept else None):
            return False  # somebody else stored them meanwhile: the next look sees what is left
        stream = Stream(place.git_dir)
        try:
            stream.commit(ref, time.time_ns(), lines, parent=kept.commit if kept else None, read=objects.entries)
        except BaseException:
            stream.abandon()
            raise
        stream.close()
        ledger.moved(place, ref)
    return True


def sources(objects: Objects, kept: Kept) -> list[Source]:
    """The kept files of a session, to be read as if they were the agent's own."""
    return [Source(name, _opener(objects, kept, name)) for name in kept.cursors]


def open_kept(objects: Objects, kept: Kept, name: str) -> BinaryIO:
    """The kept bytes of one file."""
    return io.BytesIO(b"".join(objects.read(oid) for _, oid in _segments(objects, kept, name)))


def gaps(objects: Objects, kept: Kept) -> list[str]:
    """Where the segments of a session's files do not follow each other, in words. Raises StoreDamaged."""
    found: list[str] = []
    for name, cursor in kept.cursors.items():
        at = 0
        for segment, _ in _segments(objects, kept, name):
            start, _, end = segment.partition("-")
            if not (start.isdigit() and end.isdigit()) or int(start) != at or int(end) < at:
                found.append(f"lines of {name} are missing after byte {at}")
                break
            at = int(end)
        else:
            if at != cursor:
                found.append(f"lines of {name} are missing from byte {at} to {cursor}")
    return found


def _segments(objects: Objects, kept: Kept, name: str) -> list[tuple[str, str]]:
    """Name and id of the segments of a file, in order."""
    tree = objects.tree(kept.commit)
    base = f"files/{_key(name)}"
    if base not in tree:
        return []
    return sorted((entry.name or "", str(entry.id)) for entry in objects.tree(str(tree[base].id)))


def _opener(objects: Objects, kept: Kept, name: str) -> Any:
    return lambda: open_kept(objects, kept, name)


def _key(name: str) -> str:
    return hashlib.sha256(os.fsencode(name)).hexdigest()[:16]


def _fresh(sources: Iterable[Source], cursors: dict[str, int]) -> Iterable[tuple[str, int, int, bytes]]:
    for source in sources:
        start = cursors.get(source.name, 0)
        try:
            if os.stat(source.name).st_size <= start:
                continue
            with open(source.name, "rb") as stream:
                stream.seek(start)
                while data := _whole_lines(stream.read(PIECE), source.name):
                    yield source.name, start, start + len(data), _without_wire_log(data)
                    start += len(data)
                    stream.seek(start)
        except OSError:
            continue


def _whole_lines(data: bytes, name: str) -> bytes:
    return data[: data.rfind(b"\n") + 1] if name.endswith(".jsonl") else data


def _without_wire_log(data: bytes) -> bytes:
    if WIRE_LOG not in data:
        return data
    return b"\n".join(line for line in data.split(b"\n") if not line.startswith(WIRE_LOG))
