"""Every screen of the app, found by looking: a new one is under every test that goes over all of them."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

from forkpoint.tui import screens
from textual.screen import Screen

BASES = {
    "Page",
    "ListScreen",
    "Dialog",
    "Looking",
    "Moving",
    "Acting",
    "Outcomes",
    "Welcome",
    "GoOnDialog",
    "DiffSearch",
}
"""What several screens have in common, and nothing shows by itself."""


def all_screens() -> list[type[Screen[Any]]]:
    """The screens of `forkpoint.tui.screens`, by their names."""
    for module in pkgutil.iter_modules(screens.__path__):
        importlib.import_module(f"{screens.__name__}.{module.name}")
    found: dict[str, type[Screen[Any]]] = {}
    pending: list[type[Screen[Any]]] = [Screen]
    while pending:
        for below in pending.pop().__subclasses__():
            pending.append(below)
            if below.__module__.startswith(screens.__name__) and below.__name__ not in BASES:
                found[below.__name__] = below
    return [found[name] for name in sorted(found)]
