"""What shows everything: the app itself, and `demo`."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING

import click

from ...store.errors import UnsafePlace, UsageError
from ...store.waiting import telling
from .call import Call, command
from .log import show_tree
from .look import show_everywhere

if TYPE_CHECKING:
    from textual.app import App


def open_app(call: Call) -> int:
    """Opens the app; without a terminal prints the newest session's tree, in / and home the sessions of all folders."""
    try:
        store = call.store()
    except UnsafePlace:
        store = None  # home or /: the sessions of all folders are shown
    if not call.asks:
        if store is None:
            return show_everywhere(call)
        show_tree(call, call.need_workspace().tree())
        return 0
    from ..app import ForkpointApp

    app = ForkpointApp(store)
    with _leaving_in_order(app), telling(None):
        app.run()
    return app.return_code or 0


@contextmanager
def _leaving_in_order(app: App[None]) -> Iterator[None]:
    """Lets the app give the terminal back when the process is told to end."""

    def end(number: int, frame: FrameType | None) -> None:
        leave = partial(app.exit, return_code=128 + number)
        try:
            # The loop may be asleep: only this way of calling wakes it.
            asyncio.get_running_loop().call_soon_threadsafe(leave)
        except RuntimeError:
            sys.exit(128 + number)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@command("demo")
@click.option("--keep", metavar="DIR", help="Builds it in DIR, which must not hold anything, and leaves it there.")
def demo(call: Call, keep: str | None) -> int:
    """A realistic session in a temporary workspace, then the app on it."""
    from ..demo import run

    if keep is not None and os.path.lexists(keep) and (not os.path.isdir(keep) or os.listdir(keep)):
        raise UsageError("the demo needs a folder that is empty or not there yet", path=keep)
    return run(keep=keep, as_json=call.json)
