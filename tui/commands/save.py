"""`save`: a checkpoint of now. The plainest calls of it never come here, but are answered by `tui/quick.py`."""

from __future__ import annotations

from collections.abc import Callable

import click

from ...store.errors import Busy, Refused
from ...store.saving import Saved
from ...store.saving import save as save_root
from ..quick import document, progress, report
from .call import Call, command


@command("save")
@click.option("-m", "--label", default="", help="A label for the checkpoint.")
@click.option("--session", default="", metavar="S", help="The session it belongs to; else the workspace's own.")
@click.option("-y", "--yes", is_flag=True, help="Without asking, though it is very large or made anew.")
def save(call: Call, label: str, session: str, yes: bool) -> int:
    """A checkpoint of now; prints its id."""
    root = call.root()
    saved = _saved(call, root, label, session, yes)
    if saved.interrupted and call.opened is None:
        call.warn_of_interruption()
    call.output.write(document(saved) if call.json else report(root, saved))
    return 0


def _saved(call: Call, root: str, label: str, session: str, yes: bool) -> Saved:
    with progress("saving") as counter:
        if session:
            return call.store().save(label=label, session=session, progress=counter)
        return agreed(call, lambda sure: save_root(root, label=label, agreed=sure, progress=counter), yes)


def agreed(call: Call, save: Callable[[bool], Saved], yes: bool) -> Saved:
    """Saves; where a person has to agree first (a very large folder, one made anew), asks one who is there."""
    try:
        return save(yes)
    except Busy:
        raise
    except Refused as refused:
        if yes or not call.asks:
            raise
        call.confirm(f"{refused.what}. Save it all the same?")
        return save(True)
