"""How files differ, as data: git's engine compares, one file at a time, so that one bad file stays one bad file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from . import moves
from .contents import LARGEST, TooLarge
from .errors import StoreDamaged
from .git.compare import hunks, is_binary, line_counts
from .hunks import Unreadable, counts, growing
from .model import FileDiff, Hunk
from .states import Node
from .walk import outside
from .walk.secrets import MARK, path_looks_secret

Read = Callable[[bytes, Node], bytes]
"""Gives the bytes of a node at a path: from the store, or from the disk. Raises TooLarge for too many."""
Changes = Mapping[bytes, tuple[Node | None, Node | None]]
Begin = Callable[[Sequence[FileDiff]], None]
"""Takes the beginning of a comparison; the last file may have its first hunks only."""

Status = Literal["added", "deleted", "modified", "renamed", "mode", "type"]

BEGINNING = 400
"""Lines that are enough to show something: more than stand on a screen."""


@dataclass(frozen=True, slots=True)
class _Change:
    """What became of a path, and how its two sides are read."""

    path: bytes
    old_path: bytes | None
    """The former name of a rename, else None."""
    old: Node | None
    new: Node | None
    read_old: Read
    read_new: Read

    def before(self) -> bytes:
        return self.read_old(self.old_path or self.path, self.old) if self.old is not None else b""

    def after(self) -> bytes:
        return self.read_new(self.path, self.new) if self.new is not None else b""

    @property
    def of_text(self) -> bool:
        """Whether there are only files, with other bytes."""
        kinds = {node.kind for node in (self.old, self.new) if node is not None}
        return kinds == {"file"} and (self.old.oid if self.old else "") != (self.new.oid if self.new else "")

    @property
    def status(self) -> Status:
        if self.old is None:
            return "added"
        if self.new is None:
            return "deleted"
        if self.old_path is not None:
            return "renamed"
        if self.old.kind != self.new.kind:
            return "type"
        return "mode" if self.old.oid == self.new.oid else "modified"


def summarise(changes: Changes, read_old: Read, read_new: Read, renamed: Mapping[bytes, bytes]) -> list[FileDiff]:
    """One FileDiff a changed path, with counts but without hunks; sorted by path."""
    return [_summary(change) for change in _changes(changes, read_old, read_new, renamed)]


def in_full(
    changes: Changes,
    read_old: Read,
    read_new: Read,
    renamed: Mapping[bytes, bytes],
    *,
    context: int = 3,
    ignore_space: bool = False,
    remarks: Callable[[bytes], Sequence[str]] = lambda path: (),
    begin: Begin | None = None,
) -> list[FileDiff]:
    """One FileDiff a changed path, with its hunks and what else is to be said of the path; sorted by path.

    `begin` is told once of what is known so far, as soon as that fills a screen and the rest is still to be compared.
    """
    made = list(_changes(changes, read_old, read_new, renamed))
    moved = _moved(made)
    found: list[FileDiff] = []
    lines = 0
    for number, change in enumerate(made):
        notes = (*moved.get(change.path, ()), *remarks(change.path))
        file: FileDiff | None = None
        for file, whole in _growing(change, notes, context, ignore_space):
            known = lines + sum(1 + len(hunk.lines) for hunk in file.hunks)
            if begin is not None and known >= BEGINNING and not (whole and number + 1 == len(made)):
                begin([*found, file])
                begin = None
        assert file is not None
        found.append(file)
        lines += 1 + sum(1 + len(hunk.lines) for hunk in file.hunks) if begin is not None else 0
    return found


def _moved(made: Sequence[_Change]) -> dict[bytes, tuple[str]]:
    """What is said of files that moved and changed at once; they stay a deletion and an addition."""
    gone = {change.path: change.before for change in made if change.new is None and change.of_text}
    came = {change.path: change.after for change in made if change.old is None and change.of_text}
    return {path: (told,) for path, told in moves.notes(moves.likeness(gone, came), os.fsdecode).items()}


def exact_renames(changes: Changes) -> dict[bytes, bytes]:
    """New path → old path where the very same bytes vanished at one path and appeared at another, both in the root."""
    changes = {path: pair for path, pair in changes.items() if not outside.is_outside(path)}
    gone = {old.oid: path for path, (old, new) in changes.items() if new is None and old and old.kind == "file"}
    came = ((path, new) for path, (old, new) in sorted(changes.items()) if old is None and new and new.kind == "file")
    found: dict[bytes, bytes] = {}
    for path, new in came:
        old_path = gone.pop(new.oid, None)
        if old_path is not None:
            found[path] = old_path
    return found


def count(path: bytes, old: Node | None, new: Node | None, read_old: Read, read_new: Read) -> tuple[int, int] | None:
    """Lines that come and go at a path; None where lines mean nothing: binary, links, folders, too large."""
    if any(node is not None and node.kind != "file" for node in (old, new)):
        return None
    change = _Change(path, None, old, new, read_old, read_new)
    try:
        before, after = change.before(), change.after()
    except (StoreDamaged, TooLarge, OSError):
        return None
    return line_counts(before, after) if len(before) + len(after) <= LARGEST else None


def _changes(changes: Changes, read_old: Read, read_new: Read, renamed: Mapping[bytes, bytes]) -> Iterable[_Change]:
    sources = set(renamed.values())
    for path in sorted(changes):
        if path in sources and changes[path][1] is None:
            continue
        old, new = changes[path]
        former = renamed.get(path)
        yield _Change(path, former, changes[former][0] if former is not None else old, new, read_old, read_new)


def _texts(change: _Change) -> tuple[bytes, bytes] | None:
    """The bytes of both sides where they have lines; None where there are none, or too many. Raises as reading does."""
    if not change.of_text:
        return None
    try:
        before, after = change.before(), change.after()
    except TooLarge:
        return None
    if is_binary(before) or is_binary(after) or len(before) + len(after) > LARGEST:
        return None
    return before, after


def _summary(change: _Change) -> FileDiff:
    try:
        texts = _texts(change)
    except (StoreDamaged, OSError) as error:
        return _file(change, problem=_trouble(error))
    return _file(change, None if texts is None else line_counts(*texts))


def _growing(
    change: _Change, notes: tuple[str, ...], context: int, ignore_space: bool
) -> Iterator[tuple[FileDiff, bool]]:
    """The file with more and more of its hunks, and whether that is all."""
    try:
        texts = _texts(change)
        if texts is None:
            yield _file(change, None, more=notes), True
            return
        data = hunks(*texts, context, ignore_space)
        numbers = counts(data)
        found: tuple[Hunk, ...] = ()
        for found in growing(data):
            yield _file(change, numbers, found, notes), False
        yield _file(change, numbers, found, notes), True
    except (StoreDamaged, OSError, Unreadable) as error:
        yield _file(change, more=notes, problem=_trouble(error)), True


def _trouble(error: Exception) -> str:
    """Why a file cannot be compared, and what to do."""
    if isinstance(error, StoreDamaged):
        return "its bytes are missing or damaged in the store: forkpoint verify tells more"
    if isinstance(error, OSError):
        return f"it cannot be read: {error.strerror or type(error).__name__}"
    return str(error)


def _file(
    change: _Change,
    lines: tuple[int, int] | None = None,
    found: tuple[Hunk, ...] = (),
    more: tuple[str, ...] = (),
    *,
    problem: str = "",
) -> FileDiff:
    added, removed = lines or (0, 0)
    notes = (*_notes(change, lines is not None or bool(problem)), *more)
    return FileDiff(change.path, change.old_path, change.status, added, removed, found, notes, problem)


def _notes(change: _Change, has_lines: bool) -> tuple[str, ...]:
    """In words what is no line: kinds, links, sizes, modes."""
    old, new = change.old, change.new
    there = [node for node in (old, new) if node is not None]
    notes: list[str] = []
    if old is not None and new is not None and old.kind != new.kind:
        before, after = _named(change, old, change.before), _named(change, new, change.after)
        notes.append(f"was {before}, is {after}")
    elif any(node.kind == "link" for node in there):
        notes.append(_link(change))
    elif any(node.kind == "folder" for node in there):
        notes.append("folder")
    elif not has_lines and change.of_text:
        notes.append(_binary(change))
    if old is not None and new is not None and old.kind == new.kind != "link" and old.mode != new.mode:
        notes.append(_mode(old, new))
    if outside.is_outside(change.path):
        notes.append(outside.WHY)
    if any(node.kind == "file" for node in there) and path_looks_secret(change.path):
        notes.append(MARK)
    return tuple(notes)


def _named(change: _Change, node: Node, read: Callable[[], bytes]) -> str:
    if node.kind != "link":
        return f"a {node.kind}"
    end = _end(read)
    return f"a link to {end}" if end else "a link"


def _link(change: _Change) -> str:
    """Where a link goes, or went and goes."""
    if change.old is None or change.new is None:
        end = _end(change.after if change.old is None else change.before)
        return f"a link to {end}" if end else "a link"
    before, after = _end(change.before), _end(change.after)
    return f"the link went to {before or 'what is not known'}, goes to {after or 'what is not known'}"


def _end(read: Callable[[], bytes]) -> str:
    try:
        return os.fsdecode(read())
    except (StoreDamaged, TooLarge, OSError):
        return ""


def _mode(old: Node, new: Node) -> str:
    modes = f"mode {old.mode:o} → {new.mode:o}"
    if old.kind != "file" or bool(old.mode & 0o111) == bool(new.mode & 0o111):
        return modes
    return f"can be run now, {modes}" if new.mode & 0o111 else f"can be run no more, {modes}"


def _binary(change: _Change) -> str:
    sides = ((change.old, change.before), (change.new, change.after))
    try:
        sizes = [_size(read) for node, read in sides if node is not None]
    except (StoreDamaged, OSError):
        return "binary"
    what = "too large to compare" if sum(sizes) > LARGEST else "binary"
    return f"{what}, {' → '.join(map(_told, sizes))}"


def _size(read: Callable[[], bytes]) -> int:
    try:
        return len(read())
    except TooLarge as large:
        return large.size


def _told(size: int) -> str:
    """Bytes in words: "412 bytes", "12.3 kB", "1.2 GB"."""
    if size < 1_000:
        return f"{size} byte{'' if size == 1 else 's'}"
    unit = next(unit for unit in (9, 6, 3) if size >= 10**unit)
    return f"{size / 10**unit:.1f} {({9: 'GB', 6: 'MB', 3: 'kB'})[unit]}"
