"""`forkpoint restore`: what stands on its command line."""

from __future__ import annotations

import click

from ...store.model import OnConflict, Scope
from .call import Call, command
from .going_back import Asked, go_back


@command("restore")
@click.argument("id")
@click.option("--files", is_flag=True, help="Files go back; the conversation stays.")
@click.option("--conversation", is_flag=True, help="The conversation goes back, as a branch of its own; files stay.")
@click.option("--both", is_flag=True, help="Files and conversation go back.")
@click.option(
    "--all", "everything", is_flag=True, help="Everything as it was then, not only what this session changed."
)
@click.option("--path", "names", multiple=True, metavar="P", help="Only P and what is below it; may be repeated.")
@click.option(
    "--on-conflict",
    metavar="keep|checkpoint|merge",
    type=click.Choice(["keep", "checkpoint", "merge"]),
    default="keep",
    show_default=True,
    help="What becomes of files that somebody else changed since.",
)
@click.option("--dry-run", is_flag=True, help="Only the inventory.")
@click.option("-y", "--yes", is_flag=True, help="Without asking.")
@click.option("--live", is_flag=True, help="Though an agent is in the middle of a call.")
def restore(
    call: Call,
    id: str,  # noqa: A002
    files: bool,
    conversation: bool,
    both: bool,
    everything: bool,
    names: tuple[str, ...],
    on_conflict: OnConflict,
    dry_run: bool,
    yes: bool,
    live: bool,
) -> int:
    """Brings files, conversation or both back to a point, after telling what that will do.

    Without one of --files, --conversation and --both nothing is done: on a terminal it asks, elsewhere it prints the
    inventory of both and ends with exit code 3.
    """
    flags: tuple[tuple[Scope, bool], ...] = (("files", files), ("conversation", conversation), ("both", both))
    scopes: list[Scope] = [name for name, given in flags if given]
    return go_back(call, Asked(id, scopes, everything, names, on_conflict, dry_run, yes, live))
