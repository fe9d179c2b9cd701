"""`forkpoint diff`: between two points, or a point and the workspace as it is."""

from __future__ import annotations

import os
from collections.abc import Iterator

import click

from ...store.model import Diff, FileDiff
from ...store.text import clean, path_text
from .. import words
from ..output import Style, Terminal, painted
from .call import Call, command
from .documents import diff_document
from .look import change_row

LINE_STYLES: dict[str, Style] = {"+": "green", "-": "red", "\\": "dim"}


@command("diff")
@click.argument("a")
@click.argument("b", required=False)
@click.option("--path", "names", multiple=True, metavar="P", help="Only P and what is below it; may be repeated.")
@click.option("--stat", is_flag=True, help="Only which files, and how many lines.")
@click.option(
    "-U",
    "--context",
    metavar="N",
    type=click.IntRange(0, 10_000),
    default=3,
    show_default=True,
    help="Lines around a change.",
)
@click.option("-w", "--ignore-space", is_flag=True, help="Pass over white space.")
def diff(
    call: Call, a: str, b: str | None, names: tuple[str, ...], stat: bool, context: int, ignore_space: bool
) -> int:
    """Between two points; B left out: the workspace as it is."""
    store = call.need_workspace()
    paths = [_path(call, name, (a, b)) for name in names]
    found = store.diff(a, b, context=context, ignore_space=ignore_space, paths=paths)
    if call.json:
        call.output.document(diff_document(found))
        return 0
    call.say_root()
    call.output.say(*heading(found))
    if stat:
        call.output.table(change_row(file) for file in found.files)
    else:
        for file in found.files:
            call.output.say(*patch(file, call.terminal))
    return 0


def _path(call: Call, name: str, ends: tuple[str, str | None]) -> bytes:
    """A path in the folder, or one outside of it that a checkpoint at an end knows of."""
    try:
        return call.path(name)
    except click.UsageError:
        path = call.path(name, outside=True)
        points = [call.store().resolve(end).point for end in ends if end is not None]
        followed = [os.fsencode(file) for point in points if point for file in call.store().covered(point).outside]
        if not any(other == path or other.startswith(path + b"/") for other in followed):
            raise
        return path


def heading(diff: Diff) -> Iterator[str]:
    """Which ends are compared, how much differs, and what cannot be known."""
    added, removed = sum(file.added for file in diff.files), sum(file.removed for file in diff.files)
    counts = [words.count(len(diff.files), "file"), words.signed(added, removed)]
    differs = " ".join(filter(None, counts)) if diff.files else "nothing differs"
    yield f"{words.one_line(diff.left)} → {words.one_line(diff.right)}: {differs}"
    if diff.known is not None:
        yield f"a partial checkpoint knows {words.count(diff.known, 'file')} only: of all others nothing is known here"
    if diff.unknown:
        yield f"{words.count(diff.unknown, 'path')} not compared: one of the two does not know them"


def patch(file: FileDiff, terminal: Terminal) -> Iterator[str]:
    """One file in the form of a unified diff; names and lines are cleaned."""
    old = path_text(file.path if file.old_path is None else file.old_path)
    # An absolute path is that of a file outside of the folder.
    sides = ("outside:", "outside:") if file.path.startswith(b"/") else ("a/", "b/")
    before = "/dev/null" if file.status == "added" else f"{sides[0]}{old}"
    after = "/dev/null" if file.status == "deleted" else f"{sides[1]}{path_text(file.path)}"
    yield painted(f"--- {before}", "bold", terminal)
    yield painted(f"+++ {after}", "bold", terminal)
    for note in filter(None, [*file.notes, file.problem]):
        yield painted(f"({words.one_line(note)})", "yellow", terminal)
    for hunk in file.hunks:
        yield painted(clean(hunk.header), "cyan", terminal)
        for line in hunk.lines:
            text = clean(line.text.replace("\t", "        "))
            yield painted(f"{line.kind}{text}", LINE_STYLES.get(line.kind, ""), terminal)
