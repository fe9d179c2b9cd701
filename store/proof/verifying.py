"""Whether the store is what it says it is: everything is read and hashed again, each object once.

Memory does not grow with what is stored: large contents are hashed as a stream.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from .. import operations
from ..catalog import catalog
from ..catalog.content import Content
from ..catalog.counting import counted
from ..checkpoints import points
from ..checkpoints.points import Checkpoint
from ..conversation import transcripts
from ..errors import StoreDamaged
from ..git.hashing import Damage, Hashing, broken_packs
from ..git.reader import Objects, Stored
from ..naming import clock, listed, shortened
from . import ledger
from .finding import Finding
from .witness import is_watched, jumps, only_grew, subject

if TYPE_CHECKING:
    from ..roots import Place
    from ..workspace import Workspace

Progress = Callable[[int, int], None]
"""Gets how many checkpoints and transcripts were hashed, of how many."""
REBUILD = "forkpoint rebuild"
TOLD = 3
"""So many of the checkpoints that share a damaged file are named."""


def verify(workspace: Workspace, progress: Progress | None = None) -> list[Finding]:
    """Hashes everything again, and names what is broken: which checkpoint, which path, which session."""
    place = workspace.need_place()
    written = catalog.as_written(place, Objects(place.git_dir))
    content = workspace.content()
    objects = Objects(place.git_dir)
    hashing = Hashing(objects)
    refs = objects.listed()
    damage = _Damage()
    found = [Finding(False, f"{item.what}{_before(item.known)}", REBUILD) for item in content.moved]
    found += [Finding(False, f"the ref {name} cannot be read", REBUILD) for name in refs.broken]
    found += [Finding(False, notice) for notice in content.notices]
    found += _ledger(place, objects)
    moved = {item.ref for item in content.moved}
    watched = {ref: commit for ref, commit in sorted(refs.commits.items()) if is_watched(ref) and ref not in moved}
    stored: dict[str, Stored] = {}
    lost: list[Finding] = []
    for number, (ref, commit) in enumerate(watched.items()):
        if progress is not None:
            progress(number, len(watched))
        if ref.startswith(points.REFS):
            lost += _checkpoint(objects, hashing, ref, commit, stored, damage)
        elif ref.startswith(transcripts.REFS):
            found += _transcript(objects, hashing, ref, commit)
        else:
            found += _operations(hashing, commit)
    lost += damage.findings()
    found += lost
    found += [Finding(False, f"{name}: the pack is not as it was written") for name in broken_packs(place.git_dir)]
    found += _rows(written, content, objects, stored)
    if lost:
        _forget_indexes(place)
        found.append(Finding(True, "the next checkpoint stores every file again"))
    if found:
        return found
    words = listed(len(stored), len(content.operations), len(content.kept))
    return [Finding(True, f"{words}: {hashing.count} objects are what they say they are")]


class _Damage:
    """What is damaged in the files of checkpoints, told once for all checkpoints that share it."""

    def __init__(self) -> None:
        self._where: dict[tuple[bytes, str], list[str]] = {}

    def add(self, name: str, damage: Iterable[Damage]) -> None:
        for item in damage:
            self._where.setdefault((item.path, item.why), []).append(name)

    def findings(self) -> list[Finding]:
        return [Finding(False, f"{_names(names)}: {_part(path)} {why}") for (path, why), names in self._where.items()]


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - TOLD} more" if len(names) > TOLD else ""
    return ", ".join(names[:TOLD]) + more


def _part(path: bytes) -> str:
    """A path in a checkpoint's tree as a person knows it."""
    name = os.fsdecode(path)
    return {points.RECORD: "its record", "": "its commit"}.get(name) or name.removeprefix(points.FILES + "/")


def _before(commit: str) -> str:
    return f" (it was {commit[:12]})" if commit else ""


def _named(checkpoint: Checkpoint) -> str:
    words = shortened(checkpoint.label or checkpoint.text)
    return f"checkpoint {checkpoint.id} ({words + ', ' if words else ''}{clock(checkpoint.time)})"


def _checkpoint(
    objects: Objects, hashing: Hashing, ref: str, commit: str, stored: dict[str, Stored], damage: _Damage
) -> list[Finding]:
    name = subject(ref)
    found: list[Finding] = []
    point = ref.rpartition("/")[2]
    with suppress(StoreDamaged):
        held = objects.stored(commit)
        if held.checkpoint.id == point and points.ref_of(point) == ref:
            name, stored[ref] = _named(held.checkpoint), held
        else:
            found.append(Finding(False, f"{name}: its record is that of {held.checkpoint.id}", REBUILD))
    broken = hashing.commit(commit)
    if (broken or ref not in stored) and objects.listed().commits.get(ref) != commit:
        return []  # it was deleted meanwhile
    damage.add(name, broken)
    if ref not in stored and not broken and not found:
        found.append(Finding(False, f"{name}: its record cannot be read"))
    return found


def _transcript(objects: Objects, hashing: Hashing, ref: str, commit: str) -> list[Finding]:
    name = subject(ref)
    found: list[Finding] = []
    try:
        kept = transcripts.decode(objects.file(commit, transcripts.RECORD), commit)
        found += [Finding(False, f"{name}: {what}") for what in transcripts.gaps(objects, kept)]
    except StoreDamaged as error:
        found.append(Finding(False, f"{name}: {error.what}"))
    at: str | None = commit
    while at is not None:
        broken = hashing.commit(at)
        if broken:
            return [*found, *(Finding(False, f"{name}: {_part(item.path)} {item.why}") for item in broken)]
        before = next(iter(hashing.parents(at)), None)
        if before is not None and not only_grew(objects, before, at):
            return [*found, Finding(False, f"{name}: lines that were stored were edited or taken out")]
        at = before
    return found


def _operations(hashing: Hashing, commit: str) -> list[Finding]:
    at: str | None = commit
    position = 0
    while at is not None:
        damage = hashing.commit(at)
        parents = hashing.parents(at)
        if damage or len(parents) > 1:
            why = damage[0].why if damage else "has two before it"
            return [Finding(False, f"operations: number {position + 1} from the newest {why}")]
        at = next(iter(parents), None)
        position += 1
    return []


def _ledger(place: Place, objects: Objects) -> list[Finding]:
    """The ledger by itself: its chain, and whether every ref only ever moved as its kind may."""
    _, _, lines = ledger.read(place.workspace)
    broken = next((line for line in lines if not line.sound), None)
    if broken is not None:
        return [Finding(False, f"the ledger was changed in line {broken.number + 1}", REBUILD)]
    return [Finding(False, what, REBUILD) for what in jumps(objects, lines)]


def _rows(written: catalog.Written, content: Content, objects: Objects, stored: dict[str, Stored]) -> Iterator[Finding]:
    """The catalog against what it was made from."""
    if written.state == "changed" and catalog.ANEW not in content.notices:
        yield Finding(False, catalog.ANEW)
    by_id = {held.checkpoint.id: held for held in stored.values()}
    for row in written.rows:
        held = by_id.get(row.stored.checkpoint.id)
        if held is None:
            continue
        pairs = zip(row[1:], counted(objects, held, by_id), strict=True)
        # What was not known when the row was made may be known now, and the other way round.
        if row.stored != held or any(a != b for a, b in pairs if a is not None and b is not None):
            yield Finding(False, f"the catalog tells {_named(held.checkpoint)} otherwise than it is stored", REBUILD)
    with suppress(StoreDamaged):
        chain = dict(operations.newest_first(objects))
        if any(chain.get(commit, record) != record for commit, record in written.operations):
            yield Finding(False, "the catalog tells operations otherwise than they are stored", REBUILD)
    for name, kept in written.kept.items():
        with suppress(StoreDamaged):
            if kept != transcripts.decode(objects.file(kept.commit, transcripts.RECORD), kept.commit):
                yield Finding(False, f"the catalog tells transcript {name} otherwise than it is stored", REBUILD)


def _forget_indexes(place: Place) -> None:
    """What the indexes say is stored may be what is lost: the next checkpoints store everything again."""
    for index in place.workspace.glob("roots/*/index"):
        with suppress(OSError):
            index.unlink()
