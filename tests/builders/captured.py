"""What a checkpoint of a folder has to hold, and what it cannot speak of: worked out without the code under test."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from fnmatch import fnmatchcase
from typing import NamedTuple

from .folder import Thing, Tree, listed

Things = dict[bytes, Thing]
GIT, OURS = b".gitignore", b".forkpointignore"


class Source(NamedTuple):
    """One file of ignore patterns: lines of names, "*.x", "name/", "/name" and "!" before any of them."""

    base: bytes
    ours: bool
    lines: tuple[bytes, ...]

    def verdict(self, path: bytes, is_folder: bool) -> bool | None:
        """Whether its last line that speaks of a path ignores it."""
        inner = path.removeprefix(self.base)
        for line in reversed(self.lines):
            pattern = line.removeprefix(b"!")
            if pattern.endswith(b"/") and not is_folder:
                continue
            pattern = pattern.rstrip(b"/")
            name = inner if pattern.startswith(b"/") else inner.rpartition(b"/")[2]
            if fnmatchcase(name, pattern.lstrip(b"/")):
                return not line.startswith(b"!")
        return None


class Rules(NamedTuple):
    """The ignore files of a whole tree; in a nested repository git's begin anew, those of forkpoint go on."""

    sources: tuple[Source, ...] = ()
    nested: bytes = b""
    named: frozenset[bytes] = frozenset()
    """Files that an agent's edit tool named: no rule leaves them out."""

    def speaker(self, path: bytes, is_folder: bool) -> tuple[bool, bool]:
        """(whether the path itself is ignored, whether .forkpointignore says so)."""
        inside = self.nested and path.startswith(self.nested + b"/")
        for ours in (True, False):
            for source in sorted(self.sources, key=lambda one: len(one.base), reverse=True):
                foreign = inside and not ours and not source.base.startswith(self.nested + b"/")
                if source.ours == ours and path.startswith(source.base) and not foreign:
                    said = source.verdict(path, is_folder)
                    if said is not None:
                        return said, ours
        return False, False

    def ignores(self, path: bytes, is_folder: bool) -> bool:
        """Whether the path, or a folder above it, is ignored."""
        return not self.names(path, is_folder) and (
            any(self.speaker(above, True)[0] for above in parents(path)) or self.speaker(path, is_folder)[0]
        )

    def names(self, path: bytes, is_folder: bool) -> bool:
        """Whether a file was named, or a folder leads to one that was."""
        return any(path in parents(one) for one in self.named) if is_folder else path in self.named


class Capture(NamedTuple):
    """What a checkpoint of a folder knows."""

    tree: Things
    """Every folder named."""
    rules: Rules
    special: frozenset[bytes] = frozenset()
    """Paths that cannot be captured."""
    besides: frozenset[bytes] = frozenset()
    """Paths that are in the tree whatever the rules say."""

    @property
    def lists(self) -> dict[bytes, Thing]:
        """As a checkpoint speaks of it: folders only when nothing is captured in them or their mode is odd."""
        own = {path: thing for path, thing in self.tree.items() if path not in self.besides}
        return listed(own) | {path: self.tree[path] for path in self.besides}

    def speaks_of(self, path: bytes, is_folder: bool) -> bool:
        """Whether it would hold the path if it were there."""
        return not self.cannot(path) and not (path not in self.tree and self.rules.ignores(path, is_folder))

    def cannot(self, path: bytes) -> bool:
        return any(place in self.special for place in (path, *parents(path)))


def captured(disk: Tree, tracked: Collection[bytes], nested: bytes, named: Collection[bytes]) -> Capture:
    """What a checkpoint of a folder has to hold."""
    tree: Things = {}
    special: set[bytes] = set()
    rules = Rules((), nested, frozenset(named))
    forced: dict[bytes, bool] = {}
    held = {above for path in tracked for above in (path, *parents(path))}
    # Sources speak only of what is below them, and a folder sorts before what stands in it.
    for path in sorted(disk, key=lambda path: path.split(b"/")):
        thing, above = disk[path], path.rpartition(b"/")[0]
        if is_git(path) or (above and (above not in tree or tree[above].kind != "folder")):
            continue
        rules = _with_files_of(rules, disk, above)
        is_folder = thing.kind == "folder"
        out, ours = (True, forced[above]) if above in forced else rules.speaker(path, is_folder)
        kept = rules.names(path, is_folder) or (not ours and path in (held - {*tracked} if is_folder else tracked))
        if out and not kept:
            continue
        if out and is_folder:
            forced[path] = ours
        if thing.kind == "special":
            special.add(path)
        else:
            tree[path] = thing
    for path, thing in tree.items():
        if thing.kind == "folder":
            rules = _with_files_of(rules, disk, path)
    for path in forced:
        if not any(tree[other].kind != "folder" for other in tree if other.startswith(path + b"/")):
            del tree[path]
    return Capture(tree, _with_files_of(rules, disk, b""), frozenset(special))


def _with_files_of(rules: Rules, disk: Tree, above: bytes) -> Rules:
    base = above + b"/" if above else b""
    if any(source.base == base for source in rules.sources):
        return rules
    found: list[Source] = []
    for name in (GIT, OURS):
        thing = disk.get(base + name)
        if thing is not None and thing.kind == "file" and thing.data:
            found.append(Source(base, name == OURS, tuple(line for line in thing.data.split(b"\n") if line)))
    return rules._replace(sources=(*rules.sources, *found))


def is_git(path: bytes) -> bool:
    return b".git" in path.split(b"/")


def parents(path: bytes) -> Iterator[bytes]:
    """The folders above a path, the nearest first."""
    while b"/" in path:
        path = path.rpartition(b"/")[0]
        yield path


def differing(then: Tree, now: Tree) -> set[bytes]:
    return {path for path in then.keys() | now.keys() if then.get(path) != now.get(path)}
