"""Deleting points: what stays is their rows, in an operation; what goes is their refs, and later their bytes.

An intent is written first, then the operation, then the refs go. What is interrupted before the operation stands leaves
the points there; after it the next command goes on (`finish`). The bytes are freed by the next repacking, which the
intent becomes a note for.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any

from .. import operations, roots
from ..catalog.catalog import Row
from ..conversation import transcripts, tree
from ..durable import sync_folder, write_atomic
from ..errors import Busy, GitFailed, GitMissing, Refused, StoreDamaged, StoreUnwritable, UnknownId, storing
from ..git import packed
from ..git.reader import Objects
from ..operations import Record, taken_back
from ..proof import ledger
from ..restore import journal
from ..roots import Place
from ..walk import statindex
from ..walk.statindex import Index
from ..workspace import Workspace
from . import points

TOLD = 5
"""So many of the points that keep a deletion from being done are named."""


@dataclass(frozen=True, slots=True)
class Deletion:
    """What was deleted."""

    operation: str
    points: tuple[str, ...]
    sessions: tuple[str, ...]
    """Sessions whose conversation went with their last checkpoint."""


def delete(
    workspace: Workspace, wanted: Sequence[str], *, kind: str = "delete", summary: str = "", anyway: bool = False
) -> Deletion:
    """Deletes points by their whole ids; returns when that is on the disk.

    `anyway`: the person named them, so that only an open journal protects them. Raises UnknownId, Refused.
    """
    place = workspace.need_place()
    with ExitStack() as stack:
        for other in _roots(place):
            stack.enter_context(other.locked(kind))
        _finish(place)
        stack.enter_context(place.writing(kind))
        rows = {row.stored.checkpoint.id: row for row in workspace.content().rows}
        unknown = [point for point in wanted if point not in rows]
        if unknown:
            raise UnknownId(f'there is no checkpoint "{unknown[0]}"', todo="forkpoint log lists them")
        _refuse_needed(place, workspace, frozenset(wanted), anyway)
        chosen = [rows[point] for point in dict.fromkeys(wanted)]
        if not chosen:
            return Deletion("", (), ())
        record = Record(
            operations.new_id(),
            kind,
            operations.moment(),
            place.root.id,
            summary=summary or f"deleted the files of {_count(len(chosen), 'checkpoint')}",
            rows=tuple(_plain(row) for row in chosen),
            sessions=_last_of(workspace.objects(), chosen, rows),
        )
        packed.sound(place.git_dir)
        with storing(place.deleting_file):
            write_atomic(place.deleting_file, record.id.encode())
        operations.append(place, workspace.objects(), record, locked=True)
        _carry_out(place, record)
    return Deletion(record.id, tuple(row.stored.checkpoint.id for row in chosen), record.sessions)


def protected(place: Place, rows: Sequence[Row], acts: Sequence[Record]) -> dict[str, str]:
    """Points of the workspace that nothing deletes by itself, each with the reason."""
    found: dict[str, str] = {}
    for other in _roots(place):
        root = other.root.id
        mine = [row for row in rows if row.stored.checkpoint.root == root]
        marks = tree.marks(mine, acts, root)
        found |= {point: "the files are there now" for point in _here(mine, acts, root)}
        found |= {guard: "undo needs it" for guard in guards(acts, root)}
        found |= {point: f'labelled "{text}"' for point, text in marks.labels.items()}
        found |= dict.fromkeys(marks.pinned, "pinned")
        complete = [row for row in mine if row.stored.checkpoint.complete]
        found |= {row.stored.checkpoint.id: "the newest one" for row in (*mine[-1:], *complete[-1:])}
    return found | _in_journals(place)


def guards(acts: Sequence[Record], root: str) -> list[str]:
    """The guards that undo and redo go back to."""
    done, undone = taken_back(acts, root)
    again = {act.id for act in undone}
    undos = {act.of: act.guard for act in acts if act.kind == "undo" and act.of in again}
    return [guard for guard in (*(act.guard for act in done if act.changes), *undos.values()) if guard]


def finish(place: Place) -> None:
    """Goes on with a deletion that was interrupted; what cannot be done now is the next command's."""
    if not place.deleting_file.exists():
        return
    with suppress(Busy, GitFailed, GitMissing, StoreDamaged, StoreUnwritable, OSError), ExitStack() as stack:
        for other in _roots(place):
            stack.enter_context(other.locked("finish a deletion", 0.0))
        _finish(place)


def _roots(place: Place) -> list[Place]:
    """Every root of the workspace, in the order in which everybody locks them."""
    found = [other for other in roots.places(place.home) if other.workspace == place.workspace]
    return sorted(found, key=lambda other: other.root.path)


def _refuse_needed(place: Place, workspace: Workspace, wanted: frozenset[str], anyway: bool) -> None:
    content = workspace.content()
    needed = _in_journals(place) if anyway else protected(place, content.rows, content.operations)
    kept = [(row.stored.checkpoint.id, needed.get(row.stored.checkpoint.id)) for row in content.rows]
    held = [f"{point} ({why})" for point, why in kept if why and point in wanted]
    if held:
        more = f" and {len(held) - TOLD} more" if len(held) > TOLD else ""
        raise Refused(
            f"{_count(len(held), 'checkpoint')} cannot be deleted",
            path=", ".join(held[:TOLD]) + more,
            todo="nothing was deleted",
        )


def _in_journals(place: Place) -> dict[str, str]:
    found: dict[str, str] = {}
    for other in _roots(place):
        begun = journal.pending(other.journal_file)
        if begun is not None:
            found |= dict.fromkeys((begun.guard, begun.target), "an interrupted restore needs it")
    return found


def _here(rows: Sequence[Row], acts: Sequence[Record], root: str) -> list[str]:
    """The point whose files the folder has, seen from all sessions and from each of them."""
    sessions = {_session(row) for row in rows}
    parts = [rows, *([row for row in rows if _session(row) == session] for session in sessions)]
    placed = [tree.files_here(tree.bare(part), acts, root) for part in parts]
    return [point for point in placed if point]


def _last_of(objects: Objects, chosen: Sequence[Row], rows: Mapping[str, Row]) -> tuple[str, ...]:
    """Stored conversations whose last checkpoints are among the chosen ones, by the name of their ref."""
    going = {row.stored.checkpoint.id for row in chosen}
    left = {_session(row) for point, row in rows.items() if point not in going}
    touched = {_session(row) for row in chosen if row.stored.checkpoint.session}
    known = transcripts.known(objects)
    owned = {name: {(kept.info.agent, session) for session in kept.info.ids} for name, kept in known.items()}
    return tuple(sorted(name for name, ids in owned.items() if touched & ids and not left & ids))


def _session(row: Row) -> tuple[str, str]:
    return row.stored.checkpoint.agent, row.stored.checkpoint.session


def _plain(row: Row) -> dict[str, Any]:
    """What the tree needs to show of a point whose files are gone."""
    record = row.stored.checkpoint._replace(uncaptured={}, named=(), shared=(), moving=(), inferred=(), known=())
    plain = {name: value for name, value in record._asdict().items() if value not in ("", (), {}, 0, False)}
    lines = {"added": row.added, "removed": row.removed, "changed": row.changed}
    known = {"known": len(row.stored.checkpoint.known)} if row.stored.checkpoint.known else {}
    return {"record": plain, "commit": row.stored.commit} | known | lines


def _finish(place: Place) -> None:
    """The caller holds every root."""
    try:
        operation = place.deleting_file.read_text()
    except FileNotFoundError:
        return
    with place.writing("finish a deletion"):
        record = next((act for _, act in operations.newest_first(Objects(place.git_dir)) if act.id == operation), None)
        if record is None:
            # It was interrupted before it was decided: the points stay.
            place.deleting_file.unlink(missing_ok=True)
        else:
            _carry_out(place, record)


def _carry_out(place: Place, record: Record) -> None:
    """Lets the refs go; the caller holds every root, and the store for writing."""
    objects = Objects(place.git_dir)
    commits = {points.ref_of(row["record"]["id"]): row["commit"] for row in record.rows}
    standing = objects.refs("refs/")
    going = [ref for ref, commit in commits.items() if standing.get(ref) == commit]
    going += [ref for session in record.sessions if (ref := transcripts.REFS + session) in standing]
    gone = {row["record"]["id"] for row in record.rows}
    for other in _roots(place):
        _forget(other, gone)
    if going:
        ledger.removed(place, [(ref, standing[ref]) for ref in going])
        packed.remove(place.git_dir, going)
    os.replace(place.deleting_file, place.unreachable_file)
    sync_folder(place.workspace)


def _forget(place: Place, gone: set[str]) -> None:
    """Lets no stat index name a tree that nothing keeps any more: the next save would build on it."""
    index = statindex.load(place.index_file)
    if index.point in gone:
        statindex.save(place.index_file, statindex.encode(Index(time=index.time)))


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
