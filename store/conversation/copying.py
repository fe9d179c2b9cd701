"""What agents' files have more, or have otherwise, than the store's copy of a conversation.

What grows is read on from where it was read to, as whole lines. When it is another file by now (it shrank, or its bytes
are not those that were read), it is read from its beginning, and what was kept before stays as a former version. What
an agent writes anew is kept as a whole whenever its bytes differ, in pieces that versions share; a former version stays
while it tells of something that the newer ones do not.

A piece at a time is in memory. `storing` writes what is planned here.
"""

from __future__ import annotations

import hashlib
import io
import os
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

from ..agents.base import Source
from ..errors import StoreDamaged
from ..git.ids import blob_id
from ..git.stream import Put, put, put_inline, put_tree, remove
from ..model import SessionInfo
from ..upkeep.space import Room
from .transcripts import RECORD, Kept, Part, encode, folder_of, key, number, open_kept, segments_of

if TYPE_CHECKING:
    from ..git.reader import Objects

WIRE_LOG = b'{"type":"api-request'
PIECE = 16 << 20
"""Bytes of a growing file that are read at a time: a first copy of a huge one becomes several segments."""
HELD = 32 << 20
"""Versions of at most so many bytes in all are read once, and looked at in memory."""
SMALLEST, LARGEST, ONE_OF = 8 << 10, 1 << 20, 8
"""Bytes of a version's pieces; one ends behind a line that every so many-th line is like, wherever that stands."""
MARK = 4096
"""Bytes before the cursor by which a growing file is known to be the one that was read."""

Segment = tuple[int, int, bytes]
Told = frozenset[bytes] | frozenset[str]


@dataclass(frozen=True, slots=True)
class _Copy:
    """What is to be read of a source: from the cursor of its part on, or the whole of a version."""

    source: Source
    part: Part


@dataclass(slots=True)
class Plan:
    """What is fresh of a session, and what becomes of what was kept."""

    objects: Objects
    kept: Kept | None
    parts: dict[str, Part] = field(init=False)
    copies: list[_Copy] = field(default_factory=list[_Copy])
    gone: list[Part] = field(default_factory=list[Part])
    """Former versions that tell nothing more: their segments leave the newest tree, where they may."""
    changed: bool = False
    missed: bool = False
    """A file could not be looked at."""
    complete: bool = True
    """Nothing of what was seen is left for the next look."""
    size: int = 0
    """Bytes of files that are to be read, about."""
    held: int = 0
    """Bytes of versions that are in memory."""

    def __post_init__(self) -> None:
        self.parts = dict(self.kept.parts) if self.kept else {}

    def look(self, source: Source) -> None:
        """Plans what is to be done about a source; one that cannot be read now is the next look's."""
        stamp, inode = source.stamp(), _inode(source)
        part = self.parts.get(source.name)
        if part is not None and part.whole != source.grows and (part.stamp, part.inode) == (stamp, inode):
            return
        try:
            if source.grows:
                self._look_at_growing(source, part, stamp, inode)
            else:
                self._look_at_version(source, part, stamp, inode)
        except (OSError, StoreDamaged):
            self.missed = True

    def _look_at_growing(self, source: Source, part: Part | None, stamp: tuple[int, int], inode: int) -> None:
        with source.open() as stream:
            if part is None:
                if _first_line(stream, 0):
                    self._begin(source, Part(key(source.name), 0, stamp=stamp, inode=inode))
                return
            if part.whole or self._is_another(part, stream, inode):
                self._push_back(source, part)
                self._begin(source, Part(self._new_key(source), 0, stamp=stamp, inode=inode))
            elif _first_line(stream, part.cursor):
                self._begin(source, replace(part, stamp=stamp, inode=inode))
            else:
                return
        self._judge(source, source.open)

    def _look_at_version(self, source: Source, part: Part | None, stamp: tuple[int, int], inode: int) -> None:
        held_before, held = self.held, self._in_memory(source)
        with held.open() as stream:
            mark = _digest(iter(partial(stream.read, LARGEST), b""))
        if part is not None and part.whole and part.mark == mark:
            self.held = held_before
            return
        if part is not None and (part.whole or self._kept_digest(source.name, part) != mark):
            self._push_back(source, part)
        self._begin(held, Part(self._new_key(source), 0, whole=True, stamp=stamp, inode=inode))
        self._judge(source, held.open)

    def _in_memory(self, source: Source) -> Source:
        """The source with its bytes in memory, while these are not too many: reading it may be dear."""
        with source.open() as stream:
            data = stream.read(HELD - self.held + 1)
        if self.held + len(data) > HELD:
            return source
        self.held += len(data)
        return replace(source, opener=partial(io.BytesIO, data))

    def _begin(self, source: Source, part: Part) -> None:
        self.parts[source.name] = part
        self.copies.append(_Copy(source, part))
        self.size += max(0, part.stamp[0] - part.cursor) if source.stamper is None else 0
        self.changed = True

    def _new_key(self, source: Source) -> str:
        """A folder that was never used for this file."""
        return key(f"{source.name}\0{self.kept.commit if self.kept else ''}")

    def _push_back(self, source: Source, part: Part) -> None:
        """What was the newest becomes a former version."""
        name = f"{source.name}@{1 + self._newest(source.name)}"
        self.parts[name] = replace(part, former=source.name)

    def _newest(self, name: str) -> int:
        return max((number(other) for other, part in self.parts.items() if part.former == name), default=0)

    def _is_another(self, part: Part, stream: BinaryIO, inode: int) -> bool:
        """Whether a growing file does not go on from what was read of it."""
        size = stream.seek(0, os.SEEK_END)
        if size < part.cursor or (part.mark and _mark(stream, part.cursor) != part.mark):
            return True
        return bool(part.inode) and part.inode != inode and not self._begins_with(stream, part)

    def _begins_with(self, stream: BinaryIO, part: Part) -> bool:
        assert self.kept is not None
        for name, oid in segments_of(self.objects, self.kept.commit, part):
            start, end = map(int, name.split("-"))
            if self.objects.size(oid):
                stream.seek(start)
                if blob_id(_without_wire_log(stream.read(end - start))) != oid:
                    return False
        return True

    def _judge(self, source: Source, opener: Callable[[], BinaryIO]) -> None:
        """Lets former versions go that tell of nothing that the newer ones do not."""
        former = [(name, part) for name, part in self.parts.items() if part.former == source.name and not part.judged]
        if not former:
            return
        with opener() as stream:
            size = stream.seek(0, os.SEEK_END)
            stream.seek(0)
            newer = _told(source, stream)
        if newer is None:
            return
        for name, part in sorted(former, key=lambda item: number(item[0]), reverse=True):
            told = self._told_then(source, name, part)
            if told is None:
                continue
            if told <= newer:
                del self.parts[name]
                self.gone.append(part)
            elif source.grows:
                self.parts[name] = replace(part, judged=size >= part.cursor)
            else:
                newer = frozenset({*newer, *told})

    def _told_then(self, source: Source, name: str, part: Part) -> Told | None:
        with self._open(name, part) as stream:
            return _told(source, stream)

    def _kept_digest(self, name: str, part: Part) -> str:
        with self._open(name, part) as stream:
            return _digest(iter(partial(stream.read, LARGEST), b""))

    def _open(self, name: str, part: Part) -> BinaryIO:
        assert self.kept is not None
        return open_kept(self.objects, replace(self.kept, parts={name: part}), name)

    def changes(self, info: SessionInfo, room: Room, rescued: bool, most: int | None) -> Iterator[Put]:
        """The changes of the session's tree, each made when the one before is written."""
        shared: frozenset[str] = frozenset()
        if self.kept is not None:
            yield put_tree(str(self.objects.tree(self.kept.commit).id), b"")
            shared = self._versions_have()
        for part in self.gone:
            if part.whole:
                yield remove(folder_of(part).encode())
        for copy in self.copies:
            read = _Reading(copy, most)
            for start, end, data in read.segments():
                path = f"{folder_of(copy.part)}/{start:014d}-{end:014d}".encode()
                oid = blob_id(data) if copy.part.whole else ""
                room.take(len(data))
                yield put(0o100644, oid, path) if oid in shared else put_inline(data, path)
            self.parts[copy.source.name] = read.part
            self.complete &= read.complete
        yield put_inline(encode(info, self.parts, rescued), RECORD.encode())

    def _versions_have(self) -> frozenset[str]:
        assert self.kept is not None
        whole = [part for part in self.kept.parts.values() if part.whole]
        return frozenset(oid for part in whole for _, oid in segments_of(self.objects, self.kept.commit, part))


class _Reading:
    """Reads the segments of one copy; `part` tells afterwards what was read."""

    def __init__(self, copy: _Copy, most: int | None) -> None:
        self._copy = copy
        self._most = most
        self.part: Part = copy.part
        self.complete = True

    def segments(self) -> Generator[Segment]:
        """What the source has from the cursor on. Raises OSError for a version that cannot be read to its end."""
        return self._of_version() if self.part.whole else self._of_growing()

    def _of_version(self) -> Generator[Segment]:
        end, digest = 0, hashlib.blake2b(digest_size=16)
        with self._copy.source.open() as stream:
            for start, end, data in _pieces(stream):
                digest.update(data)
                yield start, end, data
        self.part = replace(self.part, cursor=end, mark=digest.hexdigest())

    def _of_growing(self) -> Generator[Segment]:
        begun = end = self.part.cursor
        try:
            with self._copy.source.open() as stream:
                for segment in _whole_lines(stream, end):
                    yield segment
                    end = segment[1]
                    self._ends(end, "", complete=False)
                    if self._most is not None and end - begun >= self._most and segment[2][-1:] in (b"", b"\n"):
                        self._ends(end, _mark(stream, end), complete=False)
                        return
                self._ends(end, _mark(stream, end), complete=True)
        except OSError:
            return  # what was read of it is whole; the next look goes on from there

    def _ends(self, end: int, mark: str, *, complete: bool) -> None:
        """Notes how far it was read; without the stamp the next look does not take it for read to its end."""
        stamp = self._copy.part.stamp if complete else (0, 0)
        self.part, self.complete = replace(self.part, cursor=end, mark=mark, stamp=stamp), complete


def _inode(source: Source) -> int:
    if source.stamper is not None:
        return 0
    try:
        return os.stat(source.name).st_ino
    except OSError:
        return 0


def _told(source: Source, stream: BinaryIO) -> Told | None:
    """What the bytes of a source tell of; None where nobody can say."""
    if source.ids is not None:
        return source.ids(stream)
    if not source.grows:
        return None
    lines = (line for line in stream if not line.startswith(WIRE_LOG))
    return frozenset(hashlib.blake2b(line.rstrip(b"\r\n"), digest_size=10).digest() for line in lines)


def _digest(pieces: Iterable[bytes]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


def _mark(stream: BinaryIO, end: int) -> str:
    start = max(0, end - MARK)
    stream.seek(start)
    return _digest([stream.read(end - start)])


def _first_line(stream: BinaryIO, start: int) -> bool:
    """Whether a line ends behind this offset."""
    return _line_end(stream, start) is not None


def _line_end(stream: BinaryIO, start: int) -> int | None:
    """The offset behind the first line feed from here on."""
    stream.seek(start)
    while data := stream.read(1 << 18):
        found = data.find(b"\n")
        if found >= 0:
            return start + found + 1
        start += len(data)
    return None


def _whole_lines(stream: BinaryIO, start: int) -> Iterator[Segment]:
    """The whole lines from an offset on; a line that is larger than a piece is several segments."""
    while True:
        stream.seek(start)
        data = stream.read(PIECE)
        end = start + data.rfind(b"\n") + 1
        if end > start:
            yield start, end, _without_wire_log(data[: end - start])
        else:
            found = _line_end(stream, start + len(data))
            if found is None:
                return
            end = found
            if data.startswith(WIRE_LOG):
                yield start, end, b""
            else:
                yield from _one_line(stream, start, end)
        start = end


def _one_line(stream: BinaryIO, start: int, end: int) -> Iterator[Segment]:
    stream.seek(start)
    while start < end and (data := stream.read(min(PIECE, end - start))):
        yield start, start + len(data), data
        start += len(data)


def _pieces(stream: BinaryIO) -> Iterator[Segment]:
    """A version in pieces whose ends depend on the lines around them alone, so that versions share most of them."""
    start = size = 0
    lines: list[bytes] = []
    while line := stream.readline(LARGEST):
        lines.append(line)
        size += len(line)
        if size >= LARGEST or (size >= SMALLEST and zlib.crc32(line) % ONE_OF == 0):
            yield start, start + size, b"".join(lines)
            start, size, lines = start + size, 0, []
    if lines:
        yield start, start + size, b"".join(lines)


def _without_wire_log(data: bytes) -> bytes:
    if WIRE_LOG not in data:
        return data
    return b"\n".join(line for line in data.split(b"\n") if not line.startswith(WIRE_LOG))
