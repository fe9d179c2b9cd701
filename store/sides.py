"""The two sides of a comparison: a checkpoint, what the agent's own backups know, or the folder as it is."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache

from .agents.base import FileState, PartialState
from .checkpoints import points
from .checkpoints.imports import bytes_of
from .checkpoints.points import Checkpoint
from .contents import refuse_large
from .git.compare import Nodes, compare
from .git.reader import Objects, Stored
from .git.stream import blob_id
from .restore.below import CONTENT, opened_parent, opened_root
from .states import FOLDER_MODE, Later, Node, State
from .walk import named, outside
from .walk.ignore import RuleBook, Source
from .walk.named import Named
from .walk.scan import Scan
from .walk.walks import Look

Read = Callable[[bytes, Node], bytes]


@dataclass(frozen=True, slots=True)
class Side:
    """Files at one moment, and what can be said of them."""

    title: str
    time: int
    state: State
    read: Read
    known: frozenset[bytes] | None = None
    """The paths that it speaks of; None: all that are captured."""
    uncaptured: Mapping[bytes, str] | None = None
    sources: tuple[Source, ...] = ()
    moving: frozenset[bytes] = frozenset()
    inferred: frozenset[bytes] = frozenset()
    """Paths whose state was concluded from later evidence (rule 16)."""
    stored: Stored | None = None
    holding: frozenset[bytes] = frozenset()
    """Folders that hold something that is never captured."""
    named: Named = field(default_factory=dict[str, tuple[str, ...]])
    """Paths that agents' edit tools named: no ignore rule leaves them out."""
    outside: State = field(default_factory=dict[bytes, Node])
    """Files outside of the root, by their absolute paths …"""
    followed: frozenset[bytes] = frozenset()
    """… and all such paths that it knows of, whether something stood there or not."""
    unanswered: Mapping[str, str] = field(default_factory=dict[str, str])
    """Where it could not be asked what is ignored → why."""
    same: Stored | None = None
    """The folder as it is: parts of a checkpoint that hold the same files, where there is one."""
    look: Look | None = None
    """How that was seen."""

    def speaks_of(self, path: bytes) -> bool:
        """Whether this side knows what stood, or did not stand, at a path (rules 7 and 16)."""
        if self.known is not None:
            return path in self.known
        return uncaptured_reason(self.uncaptured or {}, path) is None

    def ignores(self, path: bytes, is_folder: bool = False) -> bool:
        """Whether the ignore rules that were in force here leave the path out."""
        text = os.fsdecode(path)
        return not named.holds(self.named, text, is_folder) and _book(self.sources).ignores(text, is_folder)


@lru_cache(maxsize=8)
def _book(sources: tuple[Source, ...]) -> RuleBook:
    return RuleBook(sources)


def uncaptured_reason(uncaptured: Mapping[bytes, str], path: bytes) -> str | None:
    """Why a path, or a folder above it, was not captured."""
    if not uncaptured:
        return None
    at = path
    while at:
        if at in uncaptured:
            return uncaptured[at]
        at = at.rpartition(b"/")[0]
    return None


def of_checkpoint(objects: Objects, stored: Stored, title: str, *, later: bool = False) -> Side:
    """The side of a stored checkpoint; with `later` its files are read when they are asked for."""
    checkpoint = stored.checkpoint
    known = None if checkpoint.complete else frozenset(os.fsencode(path) for path in checkpoint.known)
    return Side(
        title,
        checkpoint.time,
        Later(lambda: objects.state(stored)) if later else objects.state(stored),
        lambda path, node: objects.text(node.oid),
        known,
        {os.fsencode(path): why for path, why in checkpoint.uncaptured.items()},
        objects.sources(stored),
        frozenset(os.fsencode(path) for path in checkpoint.moving),
        frozenset(os.fsencode(path) for path in checkpoint.inferred),
        stored,
        named=named.joined({}, map(os.fsdecode, objects.named(stored))),
        outside=objects.outside(stored),
        followed=frozenset(os.fsencode(path) for path in checkpoint.outside),
        unanswered=checkpoint.unanswered,
    )


def of_backups(state: PartialState, title: str) -> Side:
    """The side of a state that only the agent's own backups know."""
    found: dict[bytes, Node] = {}
    for path, file in state.files.items():
        if file.kind == "file":
            found[path] = Node("file", file.mode & 0o7777, file.oid or blob_id(_backup(file)))
    inferred = frozenset(path for path, file in state.files.items() if file.inferred)
    known = frozenset(state.files)
    return Side(title, state.time, found, lambda path, node: _backup(state.files[path]), known, inferred=inferred)


def of_folder(root: str, scan: Scan, title: str, now: int) -> Side:
    """The side of the folder as it is."""

    def read(path: bytes, node: Node) -> bytes:
        return on_disk("/", path[1:], node) if outside.is_outside(path) else on_disk(root, path, node)

    return Side(
        title,
        now,
        Later(scan.state),
        read,
        None,
        {os.fsencode(path): why for path, why in scan.uncaptured.items()},
        scan.sources,
        frozenset(os.fsencode(path) for path in scan.moving),
        holding=frozenset(os.fsencode(path[:-1]) for path in scan.holding),
        named=scan.named,
        outside=outside.state(scan.outside),
        followed=frozenset(map(os.fsencode, scan.outside)),
        unanswered=scan.unanswered,
        same=_parts_of(*scan.same) if scan.same else None,
    )


def _parts_of(tree: str, parts: Mapping[str, str]) -> Stored:
    """What a checkpoint that nobody named holds, for comparing it."""
    return Stored(Checkpoint(), "", tree, parts.get(points.MODES, ""), parts.get(points.EMPTY, ""), "")


def _backup(file: FileState) -> bytes:
    with suppress(OSError):
        refuse_large(os.stat(file.source).st_size if file.source else 0)
    return bytes_of(file)


def on_disk(root: str, path: bytes, node: Node) -> bytes:
    """The bytes of a file or link below a root, for showing; links are not followed (rule 5). Raises TooLarge."""
    with opened_root(root) as top, opened_parent(top, path) as (folder, name):
        return read_in(folder, name, node)


def read_in(folder: int, name: bytes, node: Node) -> bytes:
    """The same in a folder that is open."""
    if node.kind == "link":
        return os.readlink(name, dir_fd=folder)
    with open(os.open(name, CONTENT, dir_fd=folder), "rb", buffering=0) as stream:
        size = os.fstat(stream.fileno()).st_size
        refuse_large(size)
        return stream.readall()


def differences(objects: Objects | None, left: Side, right: Side) -> tuple[Nodes, int]:
    """Differing paths over what both sides know, and how many paths only one of them speaks of (rule 16)."""
    if objects is not None and left.stored and right.stored and left.known is None and right.known is None:
        pairs = compare(objects, left.stored, right.stored)
    else:
        pairs = _by_state(left, right)
    pairs |= outside_pairs(left, right)
    told = {
        path: (old, new)
        for path, (old, new) in pairs.items()
        if _speaks(left, right, path, old, new) and _speaks(right, left, path, new, old)
    }
    return told, len(pairs) - len(told) + len(left.followed ^ right.followed)


def _speaks(side: Side, other: Side, path: bytes, node: Node | None, others: Node | None) -> bool:
    """Whether a side knows what stood at a path: of what only its rules leave out it cannot say that nothing did.

    Where the rules of the other one leave it out too, and it is stored there, it is tracked: no rule holds for it.
    """
    if not side.speaks_of(path):
        return False
    if node is not None or side.known is not None or side.sources == other.sources or outside.is_outside(path):
        return True
    is_folder = others is not None and others.kind == "folder"
    return not side.ignores(path, is_folder) or other.ignores(path, is_folder)


def compared(left: Side, right: Side) -> int | None:
    """How many paths both sides speak of where one knows some paths only."""
    if left.known is not None and right.known is not None:
        return len(left.known & right.known)
    known = left.known if left.known is not None else right.known
    return None if known is None else len(known)


def remarks(left: Side, right: Side, path: bytes) -> tuple[str, ...]:
    """What makes a path's state on a side less than sure, in words."""
    told: list[str] = []
    for side, what in ((left, "what was there"), (right, "what is there then")):
        if path in side.inferred:
            told.append(f"inferred: {what} is concluded from later evidence")
        if path in side.moving:
            told.append(f"{what} was being written when it was read")
    return tuple(told)


def outside_pairs(left: Side, right: Side) -> Nodes:
    """What differs of the files outside of the root of which both sides know."""
    pairs = {path: (left.outside.get(path), right.outside.get(path)) for path in left.followed & right.followed}
    return {path: pair for path, pair in pairs.items() if pair[0] != pair[1]}


def _by_state(left: Side, right: Side) -> Nodes:
    old, new = with_folders(left.state, right.state), with_folders(right.state, left.state)
    paths = old.keys() | new.keys()
    for side in (left, right):
        if side.known is not None:
            paths = paths & side.known
    return {path: (old.get(path), new.get(path)) for path in paths if old.get(path) != new.get(path)}


def with_folders(state: State, other: State) -> State:
    """A state that also names those of its usual folders that the other one names.

    A folder with files and the usual mode is in no state by itself: without this, one whose mode was changed would
    look as if it had come or gone.
    """
    wanted = [path for path, node in other.items() if node.kind == "folder" and path not in state]
    if not wanted:
        return state
    implied: set[bytes] = set()
    for path in state:
        at = path
        while (at := at.rpartition(b"/")[0]) and at not in implied:
            implied.add(at)
    return {**state, **{path: Node("folder", FOLDER_MODE, "") for path in wanted if path in implied}}
