"""Repacking: many small packs become few, many small refs one file, and what deletions let go is freed.

Every save leaves a pack. Above some 200 of them whoever finished a command starts a process that nobody waits for; a
hook never does. Packs are rolled together without holding anybody up, since nothing is lost by it. What nothing reaches
is dropped only after a deletion: all that is reached is packed anew while saves go on; then, with the store held for
writing, what came meanwhile is packed as well, and the old packs go.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from .. import roots
from ..durable import sync_folder
from ..errors import ForkpointError, StoreDamaged, StoreUnwritable, storing
from ..git import packed
from ..git.process import command, finish, start
from ..home import make_folder
from ..locks import held
from ..proof import ledger
from ..roots import Place
from . import space

PACKS = 200
"""More packs than this are rolled together: reading through libgit2 slows down with each, git's own start too."""
AGAIN = 60.0
"""Seconds between two tries: one that failed would fail again at the next save."""
AIR = 64 << 20
"""Bytes that are left free while both the old packs and the new ones are there."""
LIMITS = (
    "pack.threads=2",
    "pack.windowMemory=16m",
    "pack.deltaCacheSize=8m",
    "core.bigFileThreshold=4m",
    "core.packedGitLimit=48m",
    "core.packedGitWindowSize=1m",
    "core.deltaBaseCacheLimit=8m",
    "repack.writeBitmaps=false",
)
"""What keeps git's memory below 150 MB; larger files are stored as they are."""
_started: dict[Path, float] = {}
"""When this process started one last: a store that is read-only does not tell that it was tried."""


class Repacked(NamedTuple):
    """What a repacking did."""

    packs_before: int
    packs: int
    bytes_before: int
    bytes: int


def due(place: Place) -> bool:
    """Whether there is something to do, and nobody tried just now; a few calls of the system."""
    try:
        # A try takes the lock, which changes its file.
        if abs(time.time() - os.stat(_lock(place)).st_mtime) < AGAIN:
            return False
    except FileNotFoundError:
        pass
    return place.unreachable_file.exists() or len(_packs(place)) > PACKS


def start_apart(place: Place) -> None:
    """Starts a repacking in a process of its own, where one is due."""
    now = time.monotonic()
    if now < _started.get(place.workspace, -AGAIN) + AGAIN:
        return
    with suppress(OSError):
        if due(place):
            _started[place.workspace] = now
            subprocess.run(
                [sys.executable, "-P", "-m", __name__, str(place.home), str(place.workspace)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd=place.workspace,
                check=False,
            )


def repack(place: Place, *, wait: float = 0.0) -> Repacked:
    """Repacks the object store of a workspace. Raises Busy when somebody is at it for longer than `wait` seconds."""
    with held(_lock(place), who="repack", wait=wait), storing(place.git_dir):
        before = _packs(place)
        _need_room(place, sum(before.values()))
        if len(before) > 1:
            _roll(place)
        if place.unreachable_file.exists():
            _drop_unreached(place)
        _pack_refs(place)
        after = _packs(place)
    return Repacked(len(before), len(after), sum(before.values()), sum(after.values()))


def _lock(place: Place) -> Path:
    return place.workspace / "repack.lock"


def _folder(place: Place) -> Path:
    return place.git_dir / "objects" / "pack"


def _packs(place: Place) -> dict[str, int]:
    """Packs with their sizes, in bytes."""
    found: dict[str, int] = {}
    with os.scandir(_folder(place)) as entries:
        for entry in entries:
            if entry.name.endswith(".pack"):
                with suppress(FileNotFoundError):
                    found[entry.name] = entry.stat().st_size
    return found


def _need_room(place: Place, size: int) -> None:
    if space.free(place.home) < size + AIR:
        raise StoreUnwritable(
            "there is too little space on the disk to repack",
            path=str(place.home),
            todo=f"free {space.told(size + AIR - space.free(place.home))}",
        )


def _git(place: Place, *arguments: str, data: bytes = b"") -> bytes:
    settings = [part for setting in LIMITS for part in ("-c", setting)]
    return finish(start(command(place.git_dir, *settings, *arguments)), arguments[0], data)


def _roll(place: Place) -> None:
    """Rolls small packs together until each has twice the objects of the next smaller one; drops nothing."""
    _git(place, "repack", "-d", "-q", "-n", "--geometric=2", "--window=20")


def _drop_unreached(place: Place) -> None:
    """Leaves out what no ref reaches, and what the witness of refs does not speak of either."""
    deletion = place.unreachable_file.read_bytes()
    old = _packs(place)
    tips = _tips(place)
    made = _packed(place, tips)
    with place.writing("repack"):
        _install(place, made)
        later = _tips(place) - tips
        if later:
            made += _packed(place, later, besides=made)
            _install(place, made)
        new = {f"pack-{name}.pack" for name in made}
        _remove(place, old.keys() - new)
        if place.unreachable_file.read_bytes() == deletion:
            place.unreachable_file.unlink()


def _tips(place: Place) -> set[str]:
    """Every commit that is to be kept with all that it reaches."""
    from ..git.refs import listed  # a save imports this module, and needs neither
    from ..proof.witness import heads

    refs = listed(place.git_dir)
    if refs.broken:
        raise StoreDamaged("a ref cannot be read, so nothing is freed", path=refs.broken[0], todo="forkpoint verify")
    known = heads(ledger.read(place.workspace)[2])
    return {*refs.commits.values(), *_held(place, set(known.values()) - set(refs.commits.values()))}


def _held(place: Place, commits: Collection[str]) -> list[str]:
    """Those of the commits that the store has."""
    if not commits:
        return []
    told = _git(place, "cat-file", "--batch-check", data="".join(f"{commit}\n" for commit in commits).encode())
    return [line.split()[0] for line in told.decode().splitlines() if line.split()[1] == "commit"]


def _packed(place: Place, tips: Iterable[str], besides: Iterable[str] = ()) -> list[str]:
    """Packs all that these commits reach and that the packs `besides` do not hold; gives the names of the new packs."""
    folder = make_folder(place.workspace / "repacking")
    for left in folder.iterdir():
        left.unlink()
    options = (
        "--revs",
        "--delta-base-offset",
        "--non-empty",
        "-q",
        *(f"--keep-pack=pack-{name}.pack" for name in besides),
    )
    data = "".join(f"{tip}\n" for tip in sorted(tips)).encode()
    return _git(place, "pack-objects", *options, str(folder / "pack"), data=data).decode().split()


def _install(place: Place, packs: Iterable[str]) -> None:
    """Moves new packs to the others, their indexes last: what has none is no pack yet."""
    folder = place.workspace / "repacking"
    for name in packs:
        for ending in (".pack", ".rev", ".idx"):
            with suppress(FileNotFoundError):
                os.replace(folder / f"pack-{name}{ending}", _folder(place) / f"pack-{name}{ending}")
    sync_folder(_folder(place))


def _remove(place: Place, packs: Iterable[str]) -> None:
    """Removes packs, their indexes first, and packs without an index: somebody was killed over them."""
    folder = _folder(place)
    for name in packs:
        for ending in (".idx", ".pack", ".rev"):
            (folder / name).with_suffix(ending).unlink(missing_ok=True)
    for file in folder.glob("*.pack"):
        if not file.with_suffix(".idx").exists():
            file.unlink()
    sync_folder(folder)


def _pack_refs(place: Place) -> None:
    from ..proof.witness import compact

    with place.writing("repack"):
        packed.pack(place.git_dir)
        compact(place)


def main(home: str, workspace: str) -> None:
    """What the process that nobody waits for does."""
    if os.fork():
        os._exit(0)
    os.nice(19)
    found = [place for place in roots.places(Path(home)) if place.workspace == Path(workspace)]
    if found:
        # Nobody reads what it says, and what it could not do now is tried again.
        with suppress(ForkpointError, OSError):
            repack(found[0])


if __name__ == "__main__":
    main(*sys.argv[1:])
