"""Comparing two checkpoints and their files: which paths differ, how many lines, which hunks.

All diffs come from libgit2; only tree parts that differ are read.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..states import FOLDER_MODE, Node
from .libgit import pygit2
from .reader import FOLDER, Objects, Stored, node
from .stream import EMPTY_TREE

Nodes = dict[bytes, tuple[Node | None, Node | None]]
BINARY_SNIFF = 8000
TreeChange = tuple[bytes, tuple[int, str] | None, tuple[int, str] | None]
"""Path, git mode and id of old and new."""
REMEMBERED = 10_000
"""So many changes are kept of the newest comparison: who counts a checkpoint's changes often goes back by them next."""
_compared: dict[tuple[str, str], list[TreeChange]] = {}


def compare(objects: Objects, left: Stored, right: Stored, *, as_listed: bool = False) -> Nodes:
    """The paths whose nodes differ between two checkpoints, with both nodes.

    `as_listed`: a folder that a checkpoint does not list, since something stands in it and its mode is the usual one,
    counts as none. So each pair is what turns one state into the other.
    """
    old_modes, new_modes = objects.modes(left), objects.modes(right)
    found: Nodes = {}
    for path, old, new in tree_changes(objects, left.files, right.files):
        before = node(*old, old_modes.get(path)) if old else None
        after = node(*new, new_modes.get(path)) if new else None
        found[path] = (before, after)
    _modes_only(objects, left, right, old_modes, new_modes, found)
    _folders(objects, left, right, old_modes, new_modes, found, as_listed)
    return {path: pair for path, pair in found.items() if pair[0] != pair[1]}


def tree_changes(objects: Objects, left: str, right: str) -> Iterator[TreeChange]:
    """Path, (git mode, id) of old and new, for every blob that differs between two trees."""
    if (known := _compared.get((left, right))) is not None:
        yield from known
        return
    if (known := _compared.get((right, left))) is not None:
        yield from ((path, new, old) for path, old, new in known)
        return
    found = list(_tree_changes(objects, left, right))
    _compared.clear()
    if len(found) <= REMEMBERED:
        _compared[left, right] = found
    yield from found


def _tree_changes(objects: Objects, left: str, right: str) -> Iterator[TreeChange]:
    pending = [(b"", left, right)]
    while pending:
        base, old_id, new_id = pending.pop()
        if old_id == new_id:
            continue
        old, new = _differing(objects, old_id, new_id)
        for name in old.keys() | new.keys():
            before, after = old.get(name), new.get(name)
            if before == after:
                continue
            path = base + name
            old_tree = before[1] if before is not None and before[0] == FOLDER else None
            new_tree = after[1] if after is not None and after[0] == FOLDER else None
            if old_tree or new_tree:
                pending.append((path + b"/", old_tree or EMPTY_TREE, new_tree or EMPTY_TREE))
            if (before is not None and not old_tree) or (after is not None and not new_tree):
                yield path, None if old_tree else before, None if new_tree else after


def _differing(objects: Objects, left: str, right: str) -> tuple[dict[bytes, tuple[int, str]], ...]:
    """What stands in two trees under names where they differ: two large folders have much in common."""
    old, new = set(objects.whole_entries(left)), set(objects.whole_entries(right))
    return tuple(dict(map(_parted, side)) for side in (old - new, new - old))


def _parted(entry: bytes) -> tuple[bytes, tuple[int, str]]:
    git_mode, _, name = entry[:-21].partition(b" ")
    return name, (int(git_mode, 8), entry[-20:].hex())


def _entries(objects: Objects, tree: str) -> dict[bytes, tuple[int, str]]:
    return {name: (git_mode, oid) for name, git_mode, oid in objects.entries(tree)}


def _modes_only(
    objects: Objects,
    left: Stored,
    right: Stored,
    old_modes: dict[bytes, int],
    new_modes: dict[bytes, int],
    found: Nodes,
) -> None:
    """Files whose bytes and git mode are the same, but whose permission bits are not."""
    for path in old_modes.keys() | new_modes.keys():
        if path.endswith(b"/") or path in found or old_modes.get(path) == new_modes.get(path):
            continue
        entry = _blob_at(objects, right.files, path)
        if entry is not None:
            found[path] = (node(*entry, old_modes.get(path)), node(*entry, new_modes.get(path)))


def _blob_at(objects: Objects, tree: str, path: bytes) -> tuple[int, str] | None:
    entry = _entry_at(objects, tree, path)
    return None if entry is None or entry[0] == FOLDER else entry


def _entry_at(objects: Objects, tree: str, path: bytes) -> tuple[int, str] | None:
    entry = (FOLDER, tree)
    for part in path.split(b"/"):
        found = _entries(objects, entry[1]).get(part) if entry[0] == FOLDER else None
        if found is None:
            return None
        entry = found
    return entry


def _folders(
    objects: Objects,
    left: Stored,
    right: Stored,
    old_modes: dict[bytes, int],
    new_modes: dict[bytes, int],
    found: Nodes,
    as_listed: bool,
) -> None:
    def nodes(stored: Stored, modes: dict[bytes, int]) -> dict[bytes, Node]:
        held = {path: Node("folder", modes.get(path + b"/", FOLDER_MODE), "") for path in objects.empty_folders(stored)}
        return held | {path[:-1]: Node("folder", mode, "") for path, mode in modes.items() if path.endswith(b"/")}

    old, new = nodes(left, old_modes), nodes(right, new_modes)
    for path in old.keys() | new.keys():
        before, after = found.get(path, (None, None))
        found[path] = (
            before or old.get(path) or (None if as_listed else _usual_folder(objects, left.files, path)),
            after or new.get(path) or (None if as_listed else _usual_folder(objects, right.files, path)),
        )


def _usual_folder(objects: Objects, tree: str, path: bytes) -> Node | None:
    """The node of a folder with files and the usual mode, which no record names."""
    entry = _entry_at(objects, tree, path)
    return Node("folder", FOLDER_MODE, "") if entry is not None and entry[0] == FOLDER else None


def is_binary(data: bytes) -> bool:
    """Git's rule: a NUL in the first 8000 bytes."""
    return b"\0" in data[:BINARY_SNIFF]


def line_counts(old: bytes, new: bytes) -> tuple[int, int] | None:
    """Lines that come and go from `old` to `new`; None when either is binary."""
    if is_binary(old) or is_binary(new):
        return None
    if old == new:
        return 0, 0
    patch = pygit2.Patch.create_from(old, new, context_lines=0)
    _, added, removed = patch.line_stats
    return added, removed


def hunks(old: bytes, new: bytes, context: int = 3, ignore_space: bool = False) -> bytes:
    """The hunks of a unified diff from `old` to `new`, without file headers."""
    flags = pygit2.enums.DiffOption.INDENT_HEURISTIC
    if ignore_space:
        flags |= pygit2.enums.DiffOption.IGNORE_WHITESPACE
    patch = pygit2.Patch.create_from(old, new, flag=flags, context_lines=context)
    data = patch.data
    at = 0 if data.startswith(b"@@") else data.find(b"\n@@") + 1
    return data[at:] if data[at : at + 2] == b"@@" else b""


def renames(objects: Objects, left: str, right: str) -> dict[bytes, bytes]:
    """New path → old path of the files that moved between two trees, by git's similarity rule."""
    found = objects.tree(left).diff_to_tree(objects.tree(right))
    found.find_similar(flags=pygit2.enums.DiffFind.FIND_RENAMES)
    return {delta.new_file.raw_path: delta.old_file.raw_path for delta in found.deltas if delta.status_char() == "R"}


def merge(base: bytes, mine: bytes, theirs: bytes) -> bytes | None:
    """A three-way merge by git's engine; None when both sides changed the same lines, or when one is binary."""
    if any(is_binary(data) for data in (base, mine, theirs)):
        return None
    import tempfile
    from pathlib import Path

    from .process import call_in

    with tempfile.TemporaryDirectory() as folder:
        for name, data in (("mine", mine), ("base", base), ("theirs", theirs)):
            (Path(folder) / name).write_bytes(data)
        return call_in(folder, "merge-file", "-p", "-q", "mine", "base", "theirs")
