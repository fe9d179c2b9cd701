"""The store's own copy of conversations: the agent's bytes as they are, in segments named by byte offset.

refs/transcripts/<session> (<agent>.<session> for agents other than Claude Code) → tree:

    session.json                     what a list shows of the session, and what is known of each file
    files/<key>/<from>-<to>          whole lines of a file that grows, from one offset to the next
    versions/<key>/<from>-<to>       a file that its agent writes anew, as it was at one moment

Lines of the agent's wire log (Claude's `api-request*`) are left out; every other byte is kept, so a session can be read
when the agent has deleted its own file (design.md section 4). `copying` writes all this.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import sys
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from ..agents.base import Source
from ..errors import StoreDamaged
from ..git.refs import TRANSCRIPTS as REFS
from ..model import SessionInfo

if TYPE_CHECKING:
    from ..git.reader import Objects

RECORD = "session.json"
_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,100}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Part:
    """What the store has of one file of an agent, or of one former version of it."""

    key: str
    """The folder of its segments."""
    cursor: int
    """The offset up to which it was read; of a version, its size."""
    whole: bool = False
    """Whether it is a version of a file that is written anew, not one that grows."""
    former: str = ""
    """Of a former version: the name of the file, which was another one since."""
    stamp: tuple[int, int] = (0, 0)
    """`Source.stamp` when it was read."""
    inode: int = 0
    mark: str = ""
    """A hash: of a version's bytes, of the last bytes before the cursor of what grows."""
    judged: bool = False
    """Of a former version: what it has, and its follower has not, was looked for when that was as long as it."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What the store has of one session."""

    info: SessionInfo
    parts: dict[str, Part]
    """By the name of the file; a former version's has "@" and its number behind."""
    commit: str
    rescued: bool = False
    """Whether what the agent's own backups know of its files was stored before the agent cleans up."""


def name_of(agent: str, session: str) -> str:
    """What stands behind `refs/transcripts/` for a session: ids of two agents may be equal."""
    if agent == "claude":
        return session
    plain = session if _PLAIN.fullmatch(session) else hashlib.sha256(session.encode()).hexdigest()[:32]
    return f"{agent}.{plain}"


def known(objects: Objects) -> dict[str, Kept]:
    """Every session that the store has lines of that can be read, by the name of its ref."""
    found: dict[str, Kept] = {}
    for ref, commit in objects.refs(REFS).items():
        try:
            found[ref.removeprefix(REFS)] = decode(objects.file(commit, RECORD), commit)
        except StoreDamaged:
            continue
    return found


def encode(info: SessionInfo, parts: dict[str, Part], rescued: bool) -> bytes:
    """session.json."""
    plain = {"info": asdict(info), "parts": {name: asdict(part) for name, part in parts.items()}, "rescued": rescued}
    return json.dumps(plain, indent=1).encode()


def decode(data: bytes, commit: str) -> Kept:
    """Reads session.json. Raises StoreDamaged."""
    try:
        plain: dict[str, Any] = json.loads(data)
        info = plain["info"]
        for name in ("files", "ids"):
            info[name] = tuple(info[name])
        return Kept(SessionInfo(**info), _parts(plain), commit, bool(plain.get("rescued")))
    except (ValueError, KeyError, TypeError) as error:
        raise StoreDamaged(
            f"a session's record cannot be read ({error})", path=commit, todo="forkpoint verify"
        ) from None


def _parts(plain: dict[str, Any]) -> dict[str, Part]:
    if "parts" not in plain:  # a store of before there were versions
        return {name: Part(key(name), cursor) for name, cursor in plain["cursors"].items()}
    found: dict[str, Part] = {}
    for name, told in plain["parts"].items():
        first, second = told.pop("stamp")
        found[name] = Part(**told, stamp=(int(first), int(second)))
    return found


def sources(objects: Objects, kept: Kept) -> list[Source]:
    """The kept files of a session, to be read as the agent's own; the former versions of each just before it."""
    stamp = (int(kept.commit[:15], 16), int(kept.commit[15:30], 16))
    order = {name: place for place, name in enumerate(kept.parts)}
    found = [
        Source(name, partial(open_kept, objects, kept, name), not part.whole, lambda: stamp, part.former)
        for name, part in kept.parts.items()
    ]
    return sorted(found, key=lambda source: (order.get(source.file, len(order)), version(source)))


def version(source: Source) -> int:
    """Sorts the former versions of a file by age, the newest one behind them."""
    return number(source.name) if source.former else sys.maxsize


def number(name: str) -> int:
    """Which of the former versions a name stands for, the oldest is 1."""
    behind = name.rpartition("@")[2]
    return int(behind) if behind.isdigit() else 0


def open_kept(objects: Objects, kept: Kept, name: str) -> BinaryIO:
    """The kept bytes of one file; a segment at a time is in memory."""
    segments = [oid for _, oid in segments_of(objects, kept.commit, kept.parts[name])]
    sizes = [objects.size(oid) for oid in segments]
    return cast(BinaryIO, io.BufferedReader(_Joined(objects.read, segments, sizes), 1 << 18))


def gaps(objects: Objects, kept: Kept) -> list[str]:
    """Where the segments of a session's files do not follow each other, in words. Raises StoreDamaged."""
    found: list[str] = []
    for name, part in kept.parts.items():
        at = 0
        for segment, _ in segments_of(objects, kept.commit, part):
            start, _, end = segment.partition("-")
            if not (start.isdigit() and end.isdigit()) or int(start) != at or int(end) < at:
                found.append(f"lines of {name} are missing after byte {at}")
                break
            at = int(end)
        else:
            if at != part.cursor:
                found.append(f"lines of {name} are missing from byte {at} to {part.cursor}")
    return found


def folder_of(part: Part) -> str:
    """Where the segments of a part stand in the tree."""
    return f"{'versions' if part.whole else 'files'}/{part.key}"


def segments_of(objects: Objects, commit: str, part: Part) -> list[tuple[str, str]]:
    """Name and id of the segments of a part, in order."""
    tree = objects.tree(commit)
    base = folder_of(part)
    if base not in tree:
        return []
    return sorted((entry.name or "", str(entry.id)) for entry in objects.tree(str(tree[base].id)))


def key(name: str) -> str:
    """The name of a folder of segments."""
    return hashlib.sha256(os.fsencode(name)).hexdigest()[:16]


class _Joined(io.RawIOBase):
    """Segments one behind the other, each read when it is come to."""

    def __init__(self, read: Callable[[str], bytes], segments: list[str], sizes: list[int]) -> None:
        self._read = read
        self._segments = segments
        self._starts = [0]
        for size in sizes:
            self._starts.append(self._starts[-1] + size)
        self._at = 0
        self._held = (-1, b"")

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._starts[-1]}[whence]
        self._at = max(0, base + offset)
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        place = memoryview(buffer).cast("B")
        if self._at >= self._starts[-1]:
            return 0
        which = bisect_right(self._starts, self._at) - 1
        if self._held[0] != which:
            self._held = (which, self._read(self._segments[which]))
        inside = self._at - self._starts[which]
        data = self._held[1][inside : inside + len(place)]
        place[: len(data)] = data
        self._at += len(data)
        return len(data)
