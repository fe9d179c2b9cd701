"""Holds the app's loop to drawing: functions of the engine that read, parse, hash or diff raise on the screen's thread.

The test itself runs on that thread too, and plays agents and persons with the same functions: what its own task calls
is let through, and everything that the app's tasks and callbacks call there is not.
"""

from __future__ import annotations

import asyncio
import functools
import importlib
import pkgutil
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from types import FunctionType, ModuleType
from typing import Any

import forkpoint.store
import forkpoint.tui
from forkpoint.tui.app import ForkpointApp

LIGHT = frozenset({"", "agents", "errors", "hook", "light", "model", "naming", "states", "text"})
"""Modules of the engine whose functions turn words into words; of the agents only their names are asked for."""
MADE_APART = ("tui.detail.blocks", "tui.detail.code", "tui.detail.conversation", "tui.detail.facts")
MADE_APART += ("tui.detail.markdown", "tui.widgets.flow")
"""Modules of the app that take texts apart and lay them out: of any length, so on other threads."""
CLASSES = frozenset({"Store", "Workspace", "Objects", "Catalog"})
"""Classes whose methods are guarded too: the others hold what was read already."""


class OnTheScreensThread(AssertionError):
    """The engine was called where it holds up the screen."""


class _Screen:
    """The thread that draws, and the task of the test on it; nothing is guarded while there is none."""

    thread: int | None = None
    own: asyncio.Task[Any] | None = None

    def is_drawing(self) -> bool:
        """Whether the app is what runs here and now."""
        if threading.get_ident() != self.thread:
            return False
        try:
            return asyncio.current_task() is not self.own
        except RuntimeError:
            return False


_screen = _Screen()


@contextmanager
def guarded() -> Iterator[None]:
    """In this block every app that a test runs is held to it."""
    everything = [*_modules(forkpoint.store), *_modules(forkpoint.tui)]
    wrappers: dict[Callable[..., Any], Callable[..., Any]] = {}
    for module in everything:
        if _is_heavy(module.__name__):
            wrappers |= {found: _guard(found) for found in vars(module).values() if _is_own(found, module)}
    undo: list[tuple[Any, str, Any]] = [(ForkpointApp, "run_test", ForkpointApp.run_test)]
    for module in everything:
        undo += [(module, name, found) for name, found in vars(module).items() if _hashed(found) and found in wrappers]
    for module in everything:
        for kind in vars(module).values():
            if isinstance(kind, type) and kind.__module__ == module.__name__ and kind.__name__ in CLASSES:
                methods = ((name, found) for name, found in vars(kind).items() if isinstance(found, FunctionType))
                undo += [(kind, name, found) for name, found in methods if not name.startswith("__")]
    for owner, name, found in undo:
        setattr(owner, name, wrappers.get(found) or _guard(found))
    ForkpointApp.run_test = _armed(undo[0][2])  # type: ignore[method-assign]
    try:
        yield
    finally:
        for owner, name, found in undo:
            setattr(owner, name, found)


def _armed(run_test: Callable[..., Any]) -> Callable[..., Any]:
    """`run_test`, as long as it lasts with the calling task as the test's own."""

    @asynccontextmanager
    async def run(self: ForkpointApp, *given: Any, **named: Any) -> AsyncIterator[Any]:
        _screen.thread, _screen.own = threading.get_ident(), asyncio.current_task()
        try:
            async with run_test(self, *given, **named) as pilot:
                yield pilot
        finally:
            _screen.thread = _screen.own = None

    return run


def _guard(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def guard(*given: Any, **named: Any) -> Any:
        if _screen.is_drawing():
            raise OnTheScreensThread(f"the screen's thread calls {function.__module__}.{function.__qualname__}")
        return function(*given, **named)

    return guard


def _modules(package: ModuleType) -> list[ModuleType]:
    """All modules of a package, imported: what is imported later would be guarded in part only."""
    names = [found.name for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    for name in names:
        importlib.import_module(name)
    return [package, *(sys.modules[name] for name in names)]


def _is_heavy(name: str) -> bool:
    within = name.removeprefix("forkpoint.store").removeprefix(".")
    return name.removeprefix("forkpoint.") in MADE_APART or (name.startswith("forkpoint.store") and within not in LIGHT)


def _is_own(found: object, module: ModuleType) -> bool:
    return isinstance(found, FunctionType) and found.__module__ == module.__name__


def _hashed(found: object) -> bool:
    return isinstance(found, FunctionType)
