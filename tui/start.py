"""`forkpoint` without a command, in a terminal: the app, with the tree on the screen before the rest is imported."""

from __future__ import annotations

import gc
import os
import sys

from ..store.light import TYPE_CHECKING, Generator, Sequence, contextmanager

if TYPE_CHECKING:
    from types import FrameType

    from .app import ForkpointApp


def answer(arguments: Sequence[str]) -> int | None:
    """Shows the app and gives its exit code; None when the parser of the command line has to answer."""
    folder = arguments[1] if len(arguments) == 2 and arguments[0] == "-C" else None
    if (arguments and (folder is None or not os.path.isdir(folder))) or not in_a_terminal():
        return None
    from .glance import begin

    glance = begin(folder)
    if glance is None:
        return None
    gc.disable()  # all that is imported and read now stays; the app enables it once the tree is painted
    from .app import ForkpointApp

    return shown(ForkpointApp(None, folder=folder, glance=glance))


def in_a_terminal() -> bool:
    """Whether keys come and the app can be drawn: TERM=dumb is a terminal that cannot do it."""
    try:
        return os.isatty(0) and os.isatty(1) and os.environ.get("TERM", "dumb") != "dumb"
    except OSError:
        return False


def shown(app: ForkpointApp) -> int:
    """Runs the app; gives the exit code."""
    from ..store.waiting import telling

    with _leaving_in_order(app), telling(None):
        app.run()
    if app.failure is not None:
        raise app.failure
    return app.return_code or 0


@contextmanager
def _leaving_in_order(app: ForkpointApp) -> Generator[None]:
    """Lets the app give the terminal back when the process is told to end."""
    import asyncio  # not before the other process has begun to read
    import signal
    from functools import partial

    def end(number: int, frame: FrameType | None) -> None:
        if number == signal.SIGHUP and _terminal_is_gone():
            hung_up.append(number)
            _write_nowhere(app)
        leave = partial(app.exit, return_code=128 + number)
        try:
            # The loop may be asleep: only this way of calling wakes it.
            asyncio.get_running_loop().call_soon_threadsafe(leave)
        except RuntimeError:
            sys.exit(128 + number)

    hung_up: list[int] = []
    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if hung_up:
            # What the store is doing is done; threads of a terminal that went away while they began never end.
            app.finish()
            os._exit(128 + hung_up[0])


def _terminal_is_gone() -> bool:
    """Whether a hang-up is told because there is no terminal any more: `kill -HUP` tells it too."""
    import termios

    try:
        termios.tcgetattr(0)
    except (termios.error, OSError):
        return True
    return False


def _write_nowhere(app: ForkpointApp) -> None:
    """Lets go of a terminal that has gone away: who writes to it would wait for ever.

    The thread that writes may have died of it already, with a full queue before it: another one empties that.
    """
    from threading import Thread

    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nowhere, number)
    writer: Thread | None = getattr(app._driver, "_writer_thread", None)
    if writer is None:
        return

    def go_on() -> None:
        writer.join()
        writer.run()

    Thread(target=go_on, daemon=True).start()
