"""Diffs that were built, not compared."""

from __future__ import annotations

from collections.abc import Iterable

from forkpoint.store.model import Diff, FileDiff, Hunk, Line


def hunk(*lines: tuple[str, str], old: int = 1, new: int = 1) -> Hunk:
    """A hunk of (sign, words), its lines numbered from two places."""
    made: list[Line] = []
    for kind, words in lines:
        made.append(Line(kind, words, old if kind in " -" else None, new if kind in " +" else None))  # type: ignore[arg-type]
        old += kind in " -"
        new += kind in " +"
    return Hunk("@@ -1 +1 @@", tuple(made))


def changed(name: str, *hunks: Hunk) -> FileDiff:
    """A file with these hunks."""
    kinds = [line.kind for hunk in hunks for line in hunk.lines]
    return FileDiff(name.encode(), None, "modified", kinds.count("+"), kinds.count("-"), hunks)


def a_diff(*files: FileDiff, unknown: int = 0) -> Diff:
    """A comparison of two moments."""
    return Diff("before", "after", files, unknown)


def text_diff(lines: Iterable[str], name: str = "a.txt") -> Diff:
    """One file; each line begins with its sign."""
    return a_diff(changed(name, hunk(*((line[0], line[1:]) for line in lines))))


def big_diff(files: int, lines: int) -> Diff:
    """Many files of so many changed lines."""
    kinds = (("-", "old line"), ("+", "new line"), (" ", "same line"))
    one = hunk(*((kinds[n % 3][0], f"{kinds[n % 3][1]} {n}") for n in range(lines)))
    return a_diff(*(changed(f"src/file_{n}.py", one) for n in range(files)))
