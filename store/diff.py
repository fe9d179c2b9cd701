"""How files differ, as data: git's engine makes the hunks, unidiff parses them one file at a time.

Names never come from a patch (unidiff leaves quoted names quoted, and raises on a folder named "x b"): each file's
hunks are parsed under a neutral header, so that one bad file stays one bad file (design.md section 4).
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from .contents import LARGEST, TooLarge
from .errors import StoreDamaged
from .git.compare import hunks, is_binary, line_counts
from .model import FileDiff, Hunk, Line
from .states import Node
from .walk import outside
from .walk.secrets import MARK, path_looks_secret

Read = Callable[[bytes, Node], bytes]
"""Gives the bytes of a node at a path: from the store, or from the disk. Raises TooLarge for too many."""
Changes = Mapping[bytes, tuple[Node | None, Node | None]]

Status = Literal["added", "deleted", "modified", "renamed", "mode", "type"]

HEADER = "--- a\n+++ b\n"


def summarise(changes: Changes, read_old: Read, read_new: Read, renamed: Mapping[bytes, bytes]) -> list[FileDiff]:
    """One FileDiff a changed path, with counts but without hunks; sorted by path."""
    return [_file(path, pair, read_old, read_new, renamed) for path, pair in _pairs(changes, renamed)]


def in_full(
    changes: Changes,
    read_old: Read,
    read_new: Read,
    renamed: Mapping[bytes, bytes],
    *,
    context: int = 3,
    ignore_space: bool = False,
) -> list[FileDiff]:
    """One FileDiff a changed path, with its hunks; sorted by path."""
    found: list[FileDiff] = []
    for path, pair in _pairs(changes, renamed):
        summary = _file(path, pair, read_old, read_new, renamed)
        found.append(_with_hunks(summary, pair, read_old, read_new, context, ignore_space))
    return found


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
    try:
        before, after = _text(path, old, read_old), _text(path, new, read_new)
    except (StoreDamaged, TooLarge, OSError):
        return None
    if before is None or after is None or len(before) + len(after) > LARGEST:
        return None
    return line_counts(before, after)


def _text(path: bytes, node: Node | None, read: Read) -> bytes | None:
    if node is None:
        return b""
    return read(path, node) if node.kind == "file" else None


def _pairs(changes: Changes, renamed: Mapping[bytes, bytes]) -> Iterable[tuple[bytes, tuple[Node | None, Node | None]]]:
    sources = set(renamed.values())
    for path in sorted(changes):
        if path in sources and changes[path][1] is None:
            continue
        old, new = changes[path]
        yield path, ((changes[renamed[path]][0] if path in renamed else old), new)


def _file(
    path: bytes,
    pair: tuple[Node | None, Node | None],
    read_old: Read,
    read_new: Read,
    renamed: Mapping[bytes, bytes],
) -> FileDiff:
    old, new = pair
    old_path = renamed.get(path)
    problem = ""
    counts = None
    try:
        if _is_text_change(old, new):
            before = _text(old_path or path, old, read_old) or b""
            after = _text(path, new, read_new) or b""
            counts = line_counts(before, after) if len(before) + len(after) <= LARGEST else None
    except TooLarge:
        counts = None
    except (StoreDamaged, OSError) as error:
        problem = str(error)
    notes = _notes(path, old_path, old, new, counts, read_old, read_new)
    added, removed = counts or (0, 0)
    return FileDiff(path, old_path, _status(old, new, old_path), added, removed, (), notes, problem)


def _is_text_change(old: Node | None, new: Node | None) -> bool:
    kinds = {node.kind for node in (old, new) if node is not None}
    return kinds == {"file"} and (old.oid if old else "") != (new.oid if new else "")


def _status(old: Node | None, new: Node | None, old_path: bytes | None) -> Status:
    if old is None:
        return "added"
    if new is None:
        return "deleted"
    if old_path is not None:
        return "renamed"
    if old.kind != new.kind:
        return "type"
    return "mode" if old.oid == new.oid else "modified"


def _notes(
    path: bytes,
    old_path: bytes | None,
    old: Node | None,
    new: Node | None,
    counts: tuple[int, int] | None,
    read_old: Read,
    read_new: Read,
) -> tuple[str, ...]:
    notes: list[str] = []
    if old is not None and new is not None and old.kind != new.kind:
        notes.append(f"was {_named(old_path or path, old, read_old)}, is {_named(path, new, read_new)}")
    elif any(node is not None and node.kind == "link" for node in (old, new)):
        ends = [_named(at, node, read) for at, node, read in ((path, old, read_old), (path, new, read_new)) if node]
        notes.append(" → ".join(ends))
    elif any(node is not None and node.kind == "folder" for node in (old, new)):
        notes.append("folder")
    elif counts is None and _is_text_change(old, new):
        notes.append(_binary(path, old_path, old, new, read_old, read_new))
    if old is not None and new is not None and old.kind == new.kind != "link" and old.mode != new.mode:
        notes.append(f"mode {old.mode:o} → {new.mode:o}")
    if outside.is_outside(path):
        notes.append(outside.WHY)
    if any(node is not None and node.kind == "file" for node in (old, new)) and path_looks_secret(path):
        notes.append(MARK)
    return tuple(notes)


def _named(path: bytes, node: Node, read: Read) -> str:
    if node.kind != "link":
        return f"a {node.kind}"
    try:
        return f"a link to {os.fsdecode(read(path, node))}"
    except (StoreDamaged, TooLarge, OSError):
        return "a link"


def _binary(
    path: bytes, old_path: bytes | None, old: Node | None, new: Node | None, read_old: Read, read_new: Read
) -> str:
    sides = ((old_path or path, old, read_old), (path, new, read_new))
    try:
        sizes = [_size(at, node, read) for at, node, read in sides if node is not None]
    except (StoreDamaged, OSError):
        return "binary"
    large = sum(sizes) > LARGEST
    return ("too large to compare, " if large else "binary, ") + " → ".join(f"{size} bytes" for size in sizes)


def _size(path: bytes, node: Node, read: Read) -> int:
    try:
        return len(read(path, node))
    except TooLarge as large:
        return large.size


def _with_hunks(
    summary: FileDiff,
    pair: tuple[Node | None, Node | None],
    read_old: Read,
    read_new: Read,
    context: int,
    ignore_space: bool,
) -> FileDiff:
    from unidiff.errors import UnidiffParseError  # a restore counts lines, and needs none of this

    old, new = pair
    if summary.problem or not _is_text_change(old, new):
        return summary
    try:
        before = _text(summary.old_path or summary.path, old, read_old) or b""
        after = _text(summary.path, new, read_new) or b""
        if is_binary(before) or is_binary(after) or len(before) + len(after) > LARGEST:
            return summary
        parsed = parse(hunks(before, after, context, ignore_space))
    except TooLarge:
        return summary
    except (StoreDamaged, OSError, UnidiffParseError) as error:
        return _replace(summary, problem=str(error) or type(error).__name__)
    return _replace(summary, hunks=parsed)


def _replace(summary: FileDiff, *, hunks: tuple[Hunk, ...] = (), problem: str = "") -> FileDiff:
    return FileDiff(
        summary.path,
        summary.old_path,
        summary.status,
        summary.added,
        summary.removed,
        hunks,
        summary.notes,
        problem,
    )


def parse(data: bytes) -> tuple[Hunk, ...]:
    """Hunks of one file, from git's text of them; raises UnidiffParseError."""
    if not data:
        return ()
    text = HEADER + data.decode("utf-8", "surrogateescape")
    from unidiff.patch import PatchSet

    patch = PatchSet(io.StringIO(text, newline="\n"))
    return tuple(
        Hunk(
            f"@@ -{hunk.source_start},{hunk.source_length} +{hunk.target_start},{hunk.target_length} @@"
            + (f" {hunk.section_header}" if hunk.section_header else ""),
            tuple(
                Line(
                    line.line_type,  # type: ignore[arg-type]
                    line.value.removesuffix("\n"),
                    line.source_line_no,
                    line.target_line_no,
                )
                for line in hunk
            ),
        )
        for file in patch
        for hunk in file
    )
