"""Putting the store right again: refs back where the ledger saw them, a ledger and a catalog made anew.

Each step leaves the old or the new, and the next one does not need it: what is killed is simply begun again.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..catalog import catalog
from ..errors import storing
from ..git.hashing import Hashing
from ..git.process import call, create
from ..git.reader import Objects
from ..git.stream import free
from ..naming import listed
from . import ledger
from .finding import Finding
from .witness import Moved, is_watched, jumps, subject

if TYPE_CHECKING:
    from ..roots import Place
    from ..workspace import Workspace


@dataclass(frozen=True, slots=True)
class RebuildPlan:
    """What a rebuild would change besides the catalog, which is only a cache."""

    back: tuple[Moved, ...]
    """Refs that go back where the ledger saw them: what they named is still there, and whole."""
    lost: tuple[Moved, ...]
    """Refs that are taken as they are, since what they named is not there any more."""

    @property
    def lines(self) -> tuple[str, ...]:
        """What is told before it is done."""
        back = (f"{item.what}: it comes back as it was ({item.known[:12]})" for item in self.back)
        lost = (
            f"{item.what}: what it was ({item.known[:12]}) is not stored any more, so it is taken as it is"
            for item in self.lost
        )
        return (*back, *lost)


def plan(workspace: Workspace) -> RebuildPlan:
    """Looks at what was moved; nothing is changed, but what git needs to open the objects at all is put there again."""
    place = workspace.need_place()
    if lacks_frame(place):
        with place.writing("rebuild"), storing(place.git_dir):
            create(place.git_dir)
    moved = workspace.content().moved
    hashing = Hashing(Objects(place.git_dir))
    whole = [item for item in moved if not hashing.commit(item.known)]
    return RebuildPlan(tuple(whole), tuple(item for item in moved if item not in whole))


def lacks_frame(place: Place) -> bool:
    """Whether the objects are there, but not what git knows a repository by: it holds nothing that cannot be remade."""
    whole = (place.git_dir / "HEAD").exists() and (place.git_dir / "refs").is_dir()
    return not whole and (place.git_dir / "objects" / "pack").is_dir()


def rebuild(workspace: Workspace, shown: RebuildPlan) -> list[Finding]:
    """Does what was shown, and makes the catalog anew. Raises StoreUnwritable, Busy."""
    place = workspace.need_place()
    notices = workspace.content().notices
    with place.writing("rebuild"):
        found = _put_back(place, shown.back)
        _accept(place, shown.lost)
        found += [Finding(True, f"{subject(item.ref)} is taken as it is") for item in shown.lost]
        found += _new_ledger(place, notices)
    aside = _set_aside(place)
    content = catalog.rebuild(place, Objects(place.git_dir))
    found += [Finding(True, f"a folder stood where the catalog belongs: it is {name} now") for name in aside]
    found += [Finding(False, f"{what}", "forkpoint verify") for what in content.wrong.values()]
    words = listed(len(content.rows), len(content.operations), len(content.kept))
    return [*found, Finding(True, f"the catalog was made anew: {words}")]


def _put_back(place: Place, moved: Sequence[Moved]) -> list[Finding]:
    if not moved:
        return []
    refs = Objects(place.git_dir).listed()
    going = [item for item in moved if refs.commits.get(item.ref, "") == item.found]
    for item in going:
        if item.ref in refs.broken:
            with suppress(OSError):
                os.unlink(place.git_dir / item.ref)
    free(*(place.git_dir / f"{item.ref}.lock" for item in going))
    lines = ["start", *(f"update {item.ref} {item.known} {item.found or '0' * 40}" for item in going), "commit", ""]
    call(place.git_dir, "update-ref", "--stdin", data="\n".join(lines).encode())
    since = [Finding(False, f"{subject(item.ref)} was moved again meanwhile") for item in moved if item not in going]
    return [*(Finding(True, f"{subject(item.ref)} is back as it was") for item in going), *since]


def _accept(place: Place, lost: Sequence[Moved]) -> None:
    if lost:
        ledger.accepted(place, [(item.ref, item.found) for item in lost])


def _new_ledger(place: Place, notices: Sequence[str]) -> list[Finding]:
    """Begins the ledger anew where it cannot be trusted."""
    mark, _, lines = ledger.read(place.workspace)
    objects = Objects(place.git_dir)
    sound = mark.id and all(line.sound for line in lines) and not jumps(objects, lines)
    if sound and catalog.REPLACED not in notices:
        return []
    refs = objects.listed().commits
    ledger.begin(place, ((ref, commit) for ref, commit in sorted(refs.items()) if is_watched(ref)))
    return [Finding(True, "the ledger was begun anew with the refs as they stand now")]


def _set_aside(place: Place) -> list[str]:
    """Moves away what is no file of ours."""
    file = place.workspace / catalog.FILE
    if not file.is_dir() or file.is_symlink():
        return []
    aside = file.with_name(f"{catalog.FILE}.{os.urandom(4).hex()}")
    file.rename(aside)
    return [aside.name]
