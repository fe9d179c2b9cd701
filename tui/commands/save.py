"""`save`: a checkpoint of now. The plainest calls of it never come here, but are answered by `tui/quick.py`."""

from __future__ import annotations

import click

from ...store.saving import Saved
from ...store.saving import save as save_root
from ..quick import document, progress, report
from .call import Call, command


@command("save")
@click.option("-m", "--label", default="", help="A label for the checkpoint.")
@click.option("--session", default="", metavar="S", help="The session it belongs to; else the workspace's own.")
@click.option("--yes", is_flag=True, help="Also when the folder is very large.")
def save(call: Call, label: str, session: str, yes: bool) -> int:
    """A checkpoint of now; prints its id."""
    root = call.root()
    saved = _saved(call, root, label, session, yes)
    call.output.write(document(saved) if call.json else report(root, saved))
    return 0


def _saved(call: Call, root: str, label: str, session: str, yes: bool) -> Saved:
    with progress("saving") as counter:
        if session:
            return call.store().save(label=label, session=session, progress=counter)
        return save_root(root, label=label, agreed=yes, progress=counter)
