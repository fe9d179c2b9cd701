"""`forkpoint run -- COMMAND…`: records any program while it runs."""

from __future__ import annotations

import sys
from collections.abc import Callable

import click

from ...store.errors import ForkpointError
from ...store.following import EVERY, Followed, Given, follow
from ...store.saving import Saved
from ...store.saving import save as save_root
from ...store.text import path_text
from .. import given, words
from ..output import Output, Terminal
from ..quick import progress
from .call import Call, command
from .documents import Document, point_document
from .save import agreed

SECONDS = click.FloatRange(min=0.5)


@command("run", allow_interspersed_args=False)
@click.option("--every", type=SECONDS, default=EVERY, metavar="SECONDS", help="So often while files keep changing.")
@click.option("-y", "--yes", is_flag=True, help="Without asking, though it is very large or made anew.")
@click.argument("program", nargs=-1, required=True, metavar="-- COMMAND...", type=click.UNPROCESSED)
def run(call: Call, program: tuple[str, ...], every: float, yes: bool) -> int:
    """Runs any program and records the folder: at its start, whenever edits have settled, at its end.

    The program has the terminal, the signals and the exit code that it would have without this. With --json the
    document stands alone on the standard output: what the program prints there goes to the error output.
    """
    call.json = _asked_for_json()
    root = call.root()

    def start(text: str, run: str) -> Saved:
        with progress("saving") as counter:
            return agreed(call, lambda sure: _saved(root, text, run, sure, counter), yes)

    way = Given(given.umask, given.closed, 2 if call.json else 1)
    found = follow(root, program, start, every=every, given=way)
    if call.json:
        call.output.document(_document(found))
    else:
        _tell(program[0], found)
    return found.exit


def _saved(root: str, text: str, run: str, sure: bool, counter: Callable[[int, int], None] | None) -> Saved:
    return save_root(root, reason="start", text=text, run=run, agreed=sure, progress=counter)


def _asked_for_json() -> bool:
    """Whether --json is ours: it may as well be the program's."""
    context: click.Context | None = click.get_current_context()
    while context is not None:
        if context.get_parameter_source("json") is click.core.ParameterSource.COMMANDLINE:
            return True
        context = context.parent
    return False


def _document(found: Followed) -> Document:
    made, problems = _points(found)
    return {
        "start": found.start.id,
        "end": found.end.id if found.end else None,
        "checkpoints": [made.get(point, {"id": point}) for point in found.points],
        "exit": found.exit,
        "problems": [*found.problems, *problems],
    }


def _points(found: Followed) -> tuple[dict[str, Document], list[str]]:
    """The checkpoints of the folder as `log` tells them, or why they cannot be read."""
    from ...store.api import Store  # the answer as text needs no engine

    try:
        tree = Store.open(found.root).tree("files")
    except ForkpointError as error:
        return {}, [str(error)]
    return {point.id: point_document(point) for point in tree.points}, []


def _tell(name: str, found: Followed) -> None:
    """A line where a person sees it; what went wrong in any case. The standard output is the program's."""
    lines = [f"forkpoint: {words.one_line(problem)}" for problem in found.problems]
    if sys.stderr.isatty():
        counted = words.count(len(found.points), "checkpoint")
        lines.append(f"forkpoint: {counted} of {path_text(name)} in {path_text(found.root)}: forkpoint log files")
    Output(Terminal(), sys.stderr).say(*lines)
