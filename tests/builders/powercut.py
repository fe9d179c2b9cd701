"""What a power cut may leave: every call that writes is recorded, and disks are made of what was not yet durable.

By POSIX nothing is durable before it was asked for: the bytes and mode of a file by fsync of the file, a name (that it
came, went or names something else now) by fsync of its folder. Whatever was not asked for may be there or not: the
bytes of one file before those of another, the names of one folder before those of another.
"""

from __future__ import annotations

import itertools
import os
import random
import stat
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from .faults import Step

Key = tuple[int, int]
"""Device and inode."""


class Make(NamedTuple):
    """A name came, with a new file, folder or link behind it."""

    folder: Key
    name: bytes
    key: Key
    kind: str
    mode: int
    target: bytes = b""


class Write(NamedTuple):
    key: Key
    offset: int
    data: bytes


class Cut(NamedTuple):
    key: Key
    size: int


class Sync(NamedTuple):
    key: Key


class SyncAll(NamedTuple):
    """Everything on the file system was synced."""


class Names(NamedTuple):
    """Names change what they name, all at once: (folder, name, from which name of which folder or None for none)."""

    moves: tuple[tuple[Key, bytes, tuple[Key, bytes] | None], ...]


class Facts(NamedTuple):
    """Mode and time of a file or folder."""

    key: Key
    mode: int
    mtime: int


class Adopt(NamedTuple):
    """What another program left in a folder, everything in it; `durable` when it synced it."""

    top: Key
    found: tuple[tuple[bytes, Key, str, int, bytes], ...]
    durable: bool


def record(step: Step, real: Callable[..., Any], arguments: Any, named: Any) -> Iterator[Any]:
    """Makes a call and gives its result, then what it did (the recorder of `faults.run`)."""
    maker = _MAKERS.get(step.kind)
    if maker is None:
        yield real(*arguments, **named)
        return
    yield from maker(step, real, arguments, named)


def _key(path: Any, dir_fd: int | None = None) -> Key:
    found = os.stat(path) if isinstance(path, int) else os.stat(path, dir_fd=dir_fd, follow_symlinks=False)
    return found.st_dev, found.st_ino


def _split(path: Any, dir_fd: int | None) -> tuple[Key, bytes]:
    """The folder that holds a path, and its name there."""
    folder, name = os.path.split(os.fsencode(path))
    if dir_fd is None or os.path.isabs(os.fsencode(path)):
        return _key(os.path.realpath(folder or b".")), name
    return _key(folder or b".", dir_fd), name


def _made(path: Any, dir_fd: int | None) -> Make:
    found = os.stat(path, dir_fd=dir_fd, follow_symlinks=False)
    kind = "link" if stat.S_ISLNK(found.st_mode) else "folder" if stat.S_ISDIR(found.st_mode) else "file"
    target = os.fsencode(os.readlink(path, dir_fd=dir_fd)) if kind == "link" else b""
    return Make(*_split(path, dir_fd), (found.st_dev, found.st_ino), kind, stat.S_IMODE(found.st_mode), target)


def _opened(step: Step, real: Any, arguments: Any, named: Any) -> Iterator[Any]:
    descriptor = real(*arguments, **named)
    yield descriptor
    path, flags = arguments[:2]
    if flags & getattr(os, "O_TMPFILE", 0) == getattr(os, "O_TMPFILE", -1):
        return
    if step.kind == "create":
        yield _made(path, named.get("dir_fd"))
    elif flags & os.O_TRUNC:
        yield Cut(_key(descriptor), 0)


def _written(step: Step, real: Any, arguments: Any, named: Any) -> Iterator[Any]:
    descriptor, data, *offset = arguments
    count = real(*arguments, **named)
    yield count
    at = offset[0] if offset else os.lseek(descriptor, 0, os.SEEK_CUR) - count
    yield Write(_key(descriptor), at, bytes(memoryview(data).cast("B")[:count]))


def _truncated(step: Step, real: Any, arguments: Any, named: Any) -> Iterator[Any]:
    yield real(*arguments, **named)
    yield Cut(_key(arguments[0]), arguments[1])


def _synced(step: Step, real: Any, arguments: Any, named: Any) -> Iterator[Any]:
    yield real(*arguments, **named)
    yield Sync(_key(arguments[0]))


def _synced_all(step: Step, real: Any, arguments: Any, named: Any) -> Iterator[Any]:
    yield real(*arguments, **named)
    yield SyncAll()


def _renamed(step: Step, real: Any, arguments: Any, named: Any) -> Iterator[Any]:
    if isinstance(arguments[0], int):
        folder, old, new, _ = arguments
        source, target = _split(old, folder), _split(new, folder)
    else:
        source = _split(arguments[0], named.get("src_dir_fd"))
        target = _split(arguments[1], named.get("dst_dir_fd"))
    result = real(*arguments, **named)
    yield result
    if result is not False:
        yield Names(((*target, source), (*source, target if step.kind == "exchange" else None)))


def _linked(step: Step, real: Any, arguments: Any, named: Any) -> Iterator[Any]:
    source = _split(arguments[0], named.get("src_dir_fd"))
    target = _split(arguments[1], named.get("dst_dir_fd"))
    yield real(*arguments, **named)
    yield Names(((*target, source),))


def _brought(step: Step, real: Any, arguments: Any, named: Any) -> Iterator[Any]:
    yield real(*arguments, **named)
    yield _made(arguments[1] if step.kind == "symlink" else arguments[0], named.get("dir_fd"))


def _removed(step: Step, real: Any, arguments: Any, named: Any) -> Iterator[Any]:
    place = _split(arguments[0], named.get("dir_fd"))
    yield real(*arguments, **named)
    yield Names(((*place, None),))


def _changed(step: Step, real: Any, arguments: Any, named: Any) -> Iterator[Any]:
    yield real(*arguments, **named)
    path = arguments[0]
    found = os.stat(path) if isinstance(path, int) else os.stat(path, dir_fd=named.get("dir_fd"))
    yield Facts((found.st_dev, found.st_ino), stat.S_IMODE(found.st_mode), found.st_mtime_ns)


def _waited(step: Step, real: Any, arguments: Any, named: Any) -> Iterator[Any]:
    """Another program has ended: git says in its arguments where it wrote; it syncs what it writes but for `init`."""
    code = real(*arguments, **named)
    yield code
    words = step.path.split(" ")
    tops = [word.removeprefix("--git-dir=") for word in words if word.startswith("--git-dir=")]
    if "init" in words or "pack-objects" in words:
        tops.append(os.path.dirname(words[-1]) if "pack-objects" in words else words[-1])
    for top in tops:
        if os.path.isdir(top):
            yield Make(*_split(top, None), _key(top), "folder", stat.S_IMODE(os.stat(top).st_mode))
            yield Adopt(_key(top), tuple(_listed(os.fsencode(top))), "init" not in words)


def _listed(top: bytes) -> Iterator[tuple[bytes, Key, str, int, bytes]]:
    for folder, folders, files in os.walk(top):
        for name in folders + files:
            full = os.path.join(folder, name)
            found = os.lstat(full)
            kind = "folder" if stat.S_ISDIR(found.st_mode) else "file"
            data = Path(os.fsdecode(full)).read_bytes() if kind == "file" else b""
            path = os.path.relpath(full, top)
            yield path, (found.st_dev, found.st_ino), kind, stat.S_IMODE(found.st_mode), data


_MAKERS: dict[str, Callable[..., Iterator[Any]]] = {
    "create": _opened,
    "open": _opened,
    "write": _written,
    "truncate": _truncated,
    "fsync": _synced,
    "syncfs": _synced_all,
    "rename": _renamed,
    "exchange": _renamed,
    "link": _linked,
    "symlink": _brought,
    "mkdir": _brought,
    "unlink": _removed,
    "rmdir": _removed,
    "chmod": _changed,
    "utime": _changed,
    "wait": _waited,
}


@dataclass
class Thing:
    """A file, folder or link: as programs see it, and as it is on the disk for certain."""

    kind: str
    mode: int
    mtime: int = 0
    data: bytes = b""
    names: dict[bytes, int] = field(default_factory=dict[bytes, int])
    sure_mode: int = 0
    sure_mtime: int = 0
    sure_data: bytes = b""
    sure_names: dict[bytes, int] = field(default_factory=dict[bytes, int])

    def settle(self) -> None:
        """All of it is on the disk."""
        self.sure_mode, self.sure_mtime, self.sure_data = self.mode, self.mtime, self.data
        self.sure_names = dict(self.names)


Change = tuple[tuple[int, bytes, int | None], ...]
"""Names of one folder that change at once: (folder, name, what it names then)."""


class Disk:
    """A disk below some folders, and what of it is durable."""

    def __init__(self, tops: list[Path]) -> None:
        self.things: list[Thing] = []
        self.by_key: dict[Key, int] = {}
        self.pending: list[Change] = []
        self.tops = {os.fsencode(top): self._scan(os.fsencode(top)) for top in tops}
        for thing in self.things:
            thing.settle()

    def _scan(self, path: bytes) -> int:
        found = os.lstat(path)
        kind = "link" if stat.S_ISLNK(found.st_mode) else "folder" if stat.S_ISDIR(found.st_mode) else "file"
        number = self._new((found.st_dev, found.st_ino), kind, stat.S_IMODE(found.st_mode), found.st_mtime_ns)
        thing = self.things[number]
        if kind == "link":
            thing.data = os.readlink(path)
        elif kind == "file":
            thing.data = Path(os.fsdecode(path)).read_bytes()
        else:
            for name in os.listdir(path):
                thing.names[name] = self._scan(os.path.join(path, name))
        return number

    def _new(self, key: Key, kind: str, mode: int, mtime: int = 0) -> int:
        self.things.append(Thing(kind, mode, mtime, sure_mode=mode))
        self.by_key[key] = len(self.things) - 1
        return len(self.things) - 1

    def apply(self, record: Any) -> None:
        """One recorded call; what happened outside of the folders is passed over."""
        if isinstance(record, Make) and record.folder in self.by_key:
            self._make(record)
        elif isinstance(record, Names):
            self._name(record)
        elif isinstance(record, Adopt):
            self._adopt(record)
        elif isinstance(record, SyncAll):
            self.pending.clear()
            for thing in self.things:
                thing.settle()
        elif isinstance(record, Write | Cut | Sync | Facts) and record.key in self.by_key:
            self._change(record)

    def _make(self, record: Make) -> None:
        folder = self.by_key[record.folder]
        if self.by_key.get(record.key) is not None and self.things[folder].names.get(record.name) == self.by_key.get(
            record.key
        ):
            return
        number = self._new(record.key, record.kind, record.mode)
        self.things[number].data = self.things[number].sure_data = record.target
        self._now(((folder, record.name, number),))

    def _name(self, record: Names) -> None:
        change: list[tuple[int, bytes, int | None]] = []
        for folder, name, source in record.moves:
            if folder not in self.by_key:
                continue
            named = None
            if source is not None:
                named = self.things[self.by_key[source[0]]].names.get(source[1])
            change.append((self.by_key[folder], name, named))
        self._now(tuple(change))

    def _now(self, change: Change) -> None:
        # A name that goes from one folder to another comes and goes by the fsync of each.
        for folder in dict.fromkeys(folder for folder, _, _ in change):
            self.pending.append(tuple(one for one in change if one[0] == folder))
        for folder, name, number in change:
            _put(self.things[folder].names, name, number)

    def _change(self, record: Write | Cut | Sync | Facts) -> None:
        number = self.by_key[record.key]
        thing = self.things[number]
        if isinstance(record, Write):
            head = thing.data[: record.offset].ljust(record.offset, b"\0")
            thing.data = head + record.data + thing.data[record.offset + len(record.data) :]
        elif isinstance(record, Cut):
            thing.data = thing.data[: record.size].ljust(record.size, b"\0")
        elif isinstance(record, Facts):
            thing.mode, thing.mtime = record.mode, record.mtime
        else:
            thing.sure_mode, thing.sure_mtime, thing.sure_data = thing.mode, thing.mtime, thing.data
            if thing.kind == "folder":
                self._sync_names(number)

    def _sync_names(self, folder: int) -> None:
        left: list[Change] = []
        for change in self.pending:
            if change[0][0] == folder:
                for _, name, number in change:
                    _put(self.things[folder].sure_names, name, number)
            else:
                left.append(change)
        self.pending = left

    def _adopt(self, record: Adopt) -> None:
        top = self.by_key[record.top]
        paths = {b".": top}
        told: dict[int, set[bytes]] = {top: set()}
        for path, key, kind, mode, data in record.found:
            folder = paths[os.path.dirname(path) or b"."]
            name = os.path.basename(path)
            told[folder].add(name)
            known = self.by_key.get(key)
            if known is None or self.things[folder].names.get(name) != known:
                known = self._new(key, kind, mode)
                self._now(((folder, name, known),))
            self.things[known].mode = mode
            self.things[known].data = data
            if record.durable:
                self.things[known].sure_mode, self.things[known].sure_data = mode, data
            paths[path] = known
            if kind == "folder":
                told[known] = set()
        for folder, names in told.items():
            for name in self.things[folder].names.keys() - names:
                self._now(((folder, name, None),))
            if record.durable:
                self._sync_names(folder)

    def images(self, seeds: int) -> Iterator[tuple[str, Image]]:
        """Disks that a power cut now may leave: the extremes, and mixtures of them."""
        yield "nothing that was not asked for", self._image(names=0.0, data=0.0)
        yield "names without bytes", self._image(names=1.0, data=0.0)
        yield "names with zeros for bytes", self._image(names=1.0, data=0.0, lost="zeros")
        yield "bytes without names", self._image(names=0.0, data=1.0)
        for seed in range(seeds):
            chance = random.Random(seed)
            yield f"mixture {seed}", self._image(names=0.5, data=0.5, lost="any", chance=chance)

    def whole(self) -> Image:
        """The disk as programs see it."""
        return self._image(names=1.0, data=1.0)

    def _image(self, *, names: float, data: float, lost: str = "sure", chance: random.Random | None = None) -> Image:
        chance = chance or random.Random(0)
        held = {number: dict(thing.sure_names) for number, thing in enumerate(self.things)}
        for folder, name, number in self._arrived(names, chance):
            _put(held[folder], name, number)
        things: list[Thing] = []
        for number, thing in enumerate(self.things):
            image = Thing(thing.kind, thing.sure_mode, thing.sure_mtime, thing.sure_data, held[number])
            if chance.random() < data:
                image.mode, image.mtime, image.data = thing.mode, thing.mtime, thing.data
            elif thing.data != thing.sure_data and thing.kind == "file":
                image.data = _lost(thing, lost, chance)
            things.append(image)
        return Image(deepcopy(self.tops), things)

    def _arrived(self, names: float, chance: random.Random) -> Iterator[tuple[int, bytes, int | None]]:
        """The names that came through: in each folder those up to some moment, since its changes keep their order."""
        ended: set[int] = set()
        for change in self.pending:
            folder = change[0][0]
            if names < 1.0 and (folder in ended or chance.random() >= names):
                ended.add(folder)
            else:
                yield from change


def _lost(thing: Thing, lost: str, chance: random.Random) -> bytes:
    """Bytes that were not synced: those of before, or the length of the new ones with zeros, or half of what is new."""
    way = chance.choice(("sure", "zeros", "half")) if lost == "any" else lost
    if way == "zeros":
        return thing.sure_data[: len(thing.data)].ljust(len(thing.data), b"\0")
    if way == "sure":
        return thing.sure_data
    same = (one == other for one, other in zip(thing.data, thing.sure_data, strict=False))
    alike = sum(1 for _ in itertools.takewhile(bool, same))
    return thing.data[: alike + (len(thing.data) - alike) // 2]


def _put(names: dict[bytes, int], name: bytes, number: int | None) -> None:
    if number is None:
        names.pop(name, None)
    else:
        names[name] = number


@dataclass
class Image:
    """A disk that can be laid out for real."""

    tops: dict[bytes, int]
    things: list[Thing]

    def tree(self) -> dict[bytes, tuple[str, int, bytes]]:
        """Path → kind, permission bits, bytes or target."""
        found: dict[bytes, tuple[str, int, bytes]] = {}
        for path, thing in self._walk():
            found[path] = (thing.kind, thing.mode if thing.kind != "link" else 0, thing.data)
        return found

    def lay(self) -> None:
        """Fills the folders, which stay and must be empty, with what the image holds."""
        folders: list[tuple[bytes, int]] = []
        placed: dict[int, bytes] = {}
        for path, thing in self._walk():
            if path in self.tops:
                continue
            if thing.kind == "folder":
                os.mkdir(path)
                folders.append((path, thing.mode))
            elif thing.kind == "link":
                os.symlink(thing.data, path)
            elif id(thing) in placed:
                os.link(placed[id(thing)], path)
            else:
                placed[id(thing)] = path
                with open(path, "wb") as stream:
                    stream.write(thing.data)
                os.chmod(path, thing.mode)
                if thing.mtime:
                    os.utime(path, ns=(thing.mtime, thing.mtime))
        for path, mode in reversed(folders):
            os.chmod(path, mode)

    def _walk(self) -> Iterator[tuple[bytes, Thing]]:
        pending = list(self.tops.items())
        while pending:
            path, number = pending.pop()
            thing = self.things[number]
            yield path, thing
            if thing.kind == "folder":
                pending += [(os.path.join(path, name), inner) for name, inner in sorted(thing.names.items())]
