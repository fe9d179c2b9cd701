"""What shows everything: the app itself, and `demo`."""

from __future__ import annotations

import os

import click

from ...store.errors import UsageError
from .call import Call, command
from .log import show_tree


def open_app(call: Call) -> int:
    """Opens the app; without a terminal prints the newest session's tree."""
    if not call.asks:
        show_tree(call, call.need_workspace().tree())
        return 0
    from ..app import ForkpointApp

    ForkpointApp(call.store()).run()
    return 0


@command("demo")
@click.option("--keep", metavar="DIR", help="Builds it in DIR, which must not hold anything, and leaves it there.")
def demo(call: Call, keep: str | None) -> int:
    """A realistic session in a temporary workspace, then the app on it."""
    from ..demo import run

    if keep is not None and os.path.lexists(keep) and (not os.path.isdir(keep) or os.listdir(keep)):
        raise UsageError("the demo needs a folder that is empty or not there yet", path=keep)
    return run(keep=keep, as_json=call.json)
