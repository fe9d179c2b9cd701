"""What shows everything: the app itself, and `demo`."""

from __future__ import annotations

import os

import click

from ...store.errors import UnsafePlace, UsageError
from ..start import in_a_terminal, shown
from .call import Call, command
from .log import show_tree
from .look import show_everywhere


def open_app(call: Call) -> int:
    """Opens the app; without a terminal prints the newest session's tree, in / and home the sessions of all folders."""
    try:
        store = call.store()
    except UnsafePlace:
        store = None  # home or /: the sessions of all folders are shown
    if not (call.asks and in_a_terminal()):
        if store is None:
            return show_everywhere(call)
        show_tree(call, call.need_workspace().tree())
        call.keep_conversations()
        return 0
    from ..app import ForkpointApp

    return shown(ForkpointApp(store))


@command("demo")
@click.option("--keep", metavar="DIR", help="Builds it in DIR, which must not hold anything, and leaves it there.")
def demo(call: Call, keep: str | None) -> int:
    """A realistic session in a temporary workspace, then the app on it."""
    from ..demo import run

    if keep is not None and os.path.lexists(keep) and (not os.path.isdir(keep) or os.listdir(keep)):
        raise UsageError("the demo needs a folder that is empty or not there yet", path=keep)
    return run(keep=keep, as_json=call.json)
