"""One tree of conversation, checkpoints, branches and operations; from data to data, without recursion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..agents.base import PartialState
from ..catalog.catalog import Row
from ..checkpoints.points import Checkpoint, from_plain
from ..git.reader import Stored
from ..model import Branch, Conversation, Entry, Here, Live, Operation, Point, SessionTree
from ..naming import RUN
from ..operations import FINAL, Record, taken_back
from .binding import Binding
from .branches import branches
from .transcripts import name_of

MOVES = frozenset({"restore", "undo", "redo"})
"""Operations that change files."""


@dataclass(frozen=True, slots=True)
class Marks:
    """Labels, pins and names that a person gave, as they stand now."""

    labels: Mapping[str, str]
    pinned: frozenset[str]


def marks(rows: Iterable[Row], acts: Sequence[Record], root: str) -> Marks:
    """What labels and pins stand after all operations of a root, undone ones left out."""
    labels = {row.stored.checkpoint.id: row.stored.checkpoint.label for row in rows if row.stored.checkpoint.label}
    pinned: set[str] = set()
    for act in taken_back(acts, root)[0]:
        if act.kind == "label":
            labels[act.point] = act.text
        elif act.kind == "pin":
            pinned.add(act.point)
        elif act.kind == "unpin":
            pinned.discard(act.point)
    return Marks({point: text for point, text in labels.items() if text}, frozenset(pinned))


def build(
    conversation: Conversation,
    rows: Sequence[Row],
    acts: Sequence[Record],
    states: Sequence[PartialState],
    root: str,
    live: tuple[Live, ...] = (),
) -> SessionTree:
    """The tree of one session; `here.dirty` is left unknown."""
    entries = conversation.entries
    done, _ = taken_back(acts, root)
    mine = [act for act in done if act.session in conversation.info.keys]
    talk = _talk(conversation, mine)
    found, branch_of = branches(conversation, talk, mine)
    lost = deleted(acts, root)
    held = marks([*rows, *(row for row, _ in lost)], acts, root)
    binding = Binding(conversation)
    points = [
        _point(row, binding, branch_of, held)
        for row in rows
        if row.stored.checkpoint.root == root and binding.owns(row.stored.checkpoint)
    ]
    points += _imports(states, points, branch_of, held)
    points.sort(key=lambda point: point.time)
    here = {point.id for point in points}
    gone = [
        replace(_point(row, binding, branch_of, held), stored=False, gone=act.time, gone_by=act.kind)
        for row, act in lost
        if row.stored.checkpoint.id not in here and binding.owns(row.stored.checkpoint)
    ]
    info = replace(conversation.info, entries=len(entries), branches=len(found), live=bool(live))
    return SessionTree(
        info=info,
        entries=entries,
        points=tuple(points),
        branches=tuple(found),
        operations=tuple(shown(acts, root, conversation.info.keys)),
        here=Here(files_here(points, acts, root), talk, None),
        branch_of=branch_of,
        problems=conversation.problems,
        live=live,
        gone=tuple(sorted(gone, key=lambda point: point.time)),
    )


def of_saves(info_id: str, rows: Sequence[Row], acts: Sequence[Record], root: str, base: SessionTree) -> SessionTree:
    """The workspace's own session "files": one row for each checkpoint that belongs to no agent's session."""
    here = {row.stored.checkpoint.id for row in rows}
    away = [(row, act) for row, act in deleted(acts, root) if row.stored.checkpoint.id not in here]
    left = {row.stored.checkpoint.id: act for row, act in away}
    chosen = [*rows, *(row for row, _ in away)]
    held = marks(chosen, acts, root)
    chosen = [row for row in chosen if row.stored.checkpoint.root == root and not row.stored.checkpoint.session]
    entries: list[Entry] = []
    points: list[Point] = []
    gone: list[Point] = []
    for row in sorted(chosen, key=lambda row: row.stored.checkpoint.time):
        checkpoint = row.stored.checkpoint
        text = held.labels.get(checkpoint.id) or _plain_name(checkpoint)
        parent = entries[-1].id if entries else None
        entry = Entry(f"save-{checkpoint.id}", parent, "notice", checkpoint.time, text, info_id, flavour="save")
        entries.append(entry)
        point = replace(_point(row, None, {entry.id: "files"}, held), entry=entry.id, branch="files")
        act = left.get(checkpoint.id)
        if act is None:
            points.append(point)
        else:
            gone.append(replace(point, stored=False, gone=act.time, gone_by=act.kind))
    head, newest = (entries[-1].id, max(entry.time for entry in entries)) if entries else ("", 0)
    branch = Branch("files", head, "active", None, info_id, first=entries[0].id if entries else None)
    return replace(
        base,
        info=replace(base.info, updated=newest, entries=len(entries), branches=1 if entries else 0),
        entries=tuple(entries),
        points=tuple(points),
        branches=(branch,) if entries else (),
        operations=tuple(shown(acts, root, ("", info_id))),
        here=Here(files_here(points, acts, root), None, None),
        branch_of={entry.id: "files" for entry in entries},
        gone=tuple(gone),
    )


def deleted(acts: Sequence[Record], root: str) -> list[tuple[Row, Record]]:
    """What is left of the points of a root that were deleted, each with the operation that did it."""
    found: list[tuple[Row, Record]] = []
    for act in acts:
        for plain in act.rows:
            record = from_plain({**plain["record"], "known": ("",) * plain.get("known", 0)})
            if record.root == root:
                stored = Stored(record, plain["commit"], "", "", "", "")
                found.append((Row(stored, plain["added"], plain["removed"], plain["changed"]), act))
    return found


def let_go(acts: Iterable[Record], rows: Iterable[Row]) -> frozenset[str]:
    """Sessions whose conversation was deleted from the store, and that have no checkpoint since: it stays away.

    By the names of their refs.
    """
    gone = {session for act in acts for session in act.sessions}
    return frozenset(gone - {name_of(row.stored.checkpoint.agent, row.stored.checkpoint.session) for row in rows})


def bare(rows: Iterable[Row], held: Marks | None = None) -> list[Point]:
    """Checkpoints as points of no tree."""
    return [_point(row, None, {}, held or Marks({}, frozenset())) for row in rows]


def _plain_name(checkpoint: Checkpoint) -> str:
    names = {"manual": "checkpoint", "guard": "guard before a restore", "start": "first checkpoint"}
    if checkpoint.text and checkpoint.reason in RUN:
        return f"{RUN[checkpoint.reason]} {checkpoint.text}"
    return checkpoint.text or names.get(checkpoint.reason, checkpoint.reason)


NOT_UNDONE = {"undo": "redo goes the other way", "redo": "undo goes the other way"} | dict.fromkeys(
    FINAL, "it is final"
)
"""Why an act that takes back or brings back is not itself undone."""


def shown(acts: Sequence[Record], root: str, sessions: Sequence[str]) -> list[Operation]:
    """Operations of a root as rows, the oldest first; which can be undone, and why others cannot."""
    done, undone = taken_back(acts, root)
    open_ids = {act.id for act in done}
    lost = {row.stored.checkpoint.id for row, _ in deleted(acts, root)}
    gone = {act.id for act in undone}
    found: list[Operation] = []
    for act in acts:
        if act.root != root or act.session not in sessions:
            continue
        undoable = act.id in open_ids and act.kind not in ("undo", "redo") and not (act.changes and act.guard in lost)
        past = "undone: redo brings it back" if act.id in gone else NOT_UNDONE.get(act.kind, "undone")
        if act.id in open_ids and act.guard in lost:
            past = "what it needs is kept no longer"
        why = "" if undoable else past
        found.append(
            Operation(
                act.id,
                act.kind,
                act.time,
                act.root,
                act.session,
                act.summary,
                undoable=undoable,
                why=why,
                redoable=act.id in gone,
                entry=act.entry or None,
                data={"point": act.point, "guard": act.guard, "scope": act.scope, "of": act.of},
            )
        )
    return found


def files_here(points: Sequence[Point], acts: Sequence[Record], root: str) -> str | None:
    """The point whose files the folder has: the newest recorded one, or where the newest restore or undo went."""
    recorded = [point for point in points if point.reason != "guard" and point.stored]
    newest = max(recorded, key=lambda point: point.time, default=None)
    moves = [act for act in acts if act.root == root and act.kind in MOVES and act.scope in ("files", "both")]
    if not moves or (newest is not None and newest.time > moves[-1].time):
        return newest.id if newest else None
    last = moves[-1]
    taken_back = next((act for act in moves if act.id == last.of), None) if last.kind == "undo" else None
    if taken_back is not None and newest is not None and newest.time < taken_back.time:
        return newest.id
    return last.point


def _talk(conversation: Conversation, done: Sequence[Record]) -> str | None:
    """Where the conversation goes on: the newest entry, unless a restore of the conversation is newer."""
    newest = max((entry.time for entry in conversation.entries), default=0)
    for act in reversed(done):
        if act.fork.get("switch"):
            return str(act.fork["head"]) if act.time > newest and act.fork.get("head") else conversation.leaf
    return conversation.leaf


def _point(row: Row, binding: Binding | None, branch_of: Mapping[str, str], held: Marks) -> Point:
    checkpoint = row.stored.checkpoint
    entry = binding.entry(checkpoint) if binding is not None else None
    return Point(
        id=checkpoint.id,
        entry=entry,
        branch=branch_of.get(entry or "", ""),
        side=checkpoint.side,  # type: ignore[arg-type]
        reason=checkpoint.reason,  # type: ignore[arg-type]
        time=checkpoint.time,
        label=held.labels.get(checkpoint.id, ""),
        pinned=checkpoint.id in held.pinned,
        files=checkpoint.files,
        complete=checkpoint.complete,
        added=row.added,
        removed=row.removed,
        known=len(checkpoint.known),
        whole=checkpoint.whole,
        text=checkpoint.text,
        late=checkpoint.late,
        uncaptured=len(checkpoint.uncaptured),
    )


def _imports(
    states: Sequence[PartialState],
    points: Sequence[Point],
    branch_of: Mapping[str, str],
    held: Marks,
) -> list[Point]:
    """Points from the agent's own backups, where no checkpoint of ours stands before the same prompt."""
    covered = {point.entry for point in points if point.reason == "prompt"}
    stored = {point.id for point in points}
    return [
        Point(
            id=state.id,
            entry=state.entry_id,
            branch=branch_of.get(state.entry_id, ""),
            side="before",
            reason="import",
            time=state.time,
            label=held.labels.get(state.id, ""),
            pinned=state.id in held.pinned,
            files=state.present,
            complete=False,
            stored=False,
            known=len(state.files),
            whole=state.whole,
        )
        for state in states
        if state.files and state.entry_id not in covered and state.id not in stored
    ]
