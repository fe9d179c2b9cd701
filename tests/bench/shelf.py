"""The whole app on a session of any size that is made up, and the bare apps that it is compared with.

Run as a module it is one of them in a terminal: `shelf.py ours|bare|static ENTRIES BRANCHES`.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from textual.app import App, ComposeResult
from textual.widgets import OptionList, Static, Tree

CALLS = 12
"""Calls of a turn, each with its result."""


class Shelf:
    """Stands for a store: its answers are at hand, so that what is measured is the app."""

    root = "/code/headers"
    exists = True
    conversations = 1

    def __init__(self, entries: int, branches: int) -> None:
        from tests.builders.tree import Conversation

        told = self.told = Conversation(title="A long one")
        turns = max(1, (entries - 2 * branches) // (2 * CALLS + 1))
        for number in range(turns):
            told.prompt(f"prompt {number:05} make the parser accept empty headers")
            for call in range(CALLS):
                told.call(f"Edit src/module_{call:03}.py", call, 3, error=number % 7 == call)
            if branches and number % max(1, turns // branches) == 0:
                at = told.tip
                told.prompt(f"left {number:05} use a regular expression")
                told.reply("It backtracks.")
                told.back_to(at, f"on-{number}")
                branches -= 1
        told.reply("the last words")
        self._tree = told.tree()
        self.open = threading.Event()
        """Nothing is handed out before."""
        self.answered = 0.0
        """When the newest tree was handed out."""

    def grow(self) -> None:
        """One more entry."""
        self.told.reply(f"reply {len(self.told.entries)}")
        self._tree = self.told.tree()

    def tree(self, session: str | None = None) -> Any:
        del session
        self.open.wait()
        self.answered = perf_counter()
        return self._tree

    def token(self) -> str:
        return str(len(self._tree.entries))

    def status(self) -> Any:
        from forkpoint.store.status import Status

        points = self._tree.points
        return Status(self.root, True, "hooks of Claude Code", ("claude",), points[-1], (), "", len(points), 48_000_000)

    def blocks(self, entry: Any) -> list[Any]:
        from forkpoint.store.model import Block

        return [Block("text", f"{entry.text}\n\n" + "What was said of it, in **many** words.\n" * 20)]

    def facts(self, entry: Any) -> dict[str, str]:
        del entry
        return {}

    def diff(self, *names: str, **more: Any) -> Any:
        from forkpoint.store.model import Diff, FileDiff, Hunk, Line

        del names, more
        lines = (Line("-", "old = 1", 1, None), Line("+", "new = 2", None, 1), Line(" ", "same", 2, 2))
        hunk = Hunk("@@ -1,2 +1,2 @@", lines)
        return Diff("a", "b", (FileDiff(b"src/module.py", None, "modified", 1, 1, (hunk,)),))

    def authors(self, *names: Any) -> dict[bytes, Any]:
        del names
        return {}

    def covered(self, point: str) -> Any:
        from forkpoint.store.model import Covered

        del point
        return Covered()

    def __getattr__(self, name: str) -> Any:
        """Whatever else is asked for is nothing."""
        return lambda *_, **__: None

    def sessions(self) -> list[Any]:
        return [self._tree.info]


def ours(entries: int, branches: int) -> tuple[Any, Shelf]:
    """The app on a session of so many entries."""
    from forkpoint.tui.app import ForkpointApp

    shelf = Shelf(entries, branches)
    return ForkpointApp(shelf), shelf  # type: ignore[arg-type]


class Bare(App[None]):
    """One short list."""

    def compose(self) -> ComposeResult:
        yield OptionList(*(f"prompt {number:05} make the parser accept empty headers" for number in range(200)))


class Shown(App[None]):
    """One line."""

    def compose(self) -> ComposeResult:
        yield Static("ready to look")


class Flat(App[None]):
    """Textual's own tree with all nodes on one level, or as turns that are unfolded."""

    def __init__(self, nodes: int, *, turns: bool = False) -> None:
        super().__init__()
        self.nodes, self.turns = nodes, turns

    def compose(self) -> ComposeResult:
        tree: Tree[int] = Tree("session", id="tree")
        parent = tree.root
        for number in range(self.nodes):
            label = f"{number:06} make the parser accept empty headers"
            if self.turns and number % (2 * CALLS + 1) == 0:
                parent = tree.root.add(label, number, expand=True)
            else:
                parent.add_leaf(label, number)
        tree.root.expand()
        yield tree


def main() -> None:
    kind, entries, branches = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    if kind == "ours":
        app, shelf = ours(entries, branches)
        shelf.open.set()
        app.run()
    else:
        {"bare": Bare, "static": Shown}[kind]().run()


if __name__ == "__main__":
    main()
