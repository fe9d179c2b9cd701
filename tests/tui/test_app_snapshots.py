"""The main screens as they were when somebody last looked at them and found them right.

Text and styles of every cell are kept, for two themes and two sizes: CONTRIBUTING.md tells how they are taken anew.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest
from forkpoint.store import status
from forkpoint.store.api import Store
from forkpoint.tui.app import ForkpointApp
from forkpoint.tui.screens.main import MainScreen
from forkpoint.tui.theme import themes
from syrupy.assertion import SnapshotAssertion
from textual.pilot import Pilot

from tests.builders.app import LookedAt, main, press, running, settled, until
from tests.builders.fixed import LATER, a_told_afternoon, told_times_and_ids
from tests.builders.pictures import picture

THEMES = {"dark": themes()[0].name, "light": themes()[1].name}
SIZES = {"80x24": (80, 24), "160x50": (160, 50)}

PATH = 150
"""Characters of the folder's path, wherever it is: paths stand in transcripts, whose sizes are shown."""

OTHERS = 10_000
"""Counted on from here, no id is one that the session has."""


class View(NamedTuple):
    """A picture, and the keys that lead to it from the tree, else from the one before."""

    name: str
    keys: tuple[str, ...]
    from_tree: bool = True


WALK = (
    View("tree", ()),
    View("tree with forks", ("L",)),
    View("conversation", ("H", "G", "K", "K", "tab", "1")),
    View("files", ("2",)),
    View("facts", ("4",)),
    View("diff, unified", ("tab", "d")),
    View("diff, side by side", ("s",), from_tree=False),
    View("restore", ("r", "b")),
    View("fork", ("f",)),
    View("operations", ("o",)),
    View("sessions", ("s",)),
    View("search", ("S", *"receipt")),
    View("help", ("question_mark",)),
)
"""Effects, the fourth tab of the detail, are not there yet."""


STORED = 612_000
"""What the store is said to take on the disk, which depends on the disk."""


@pytest.fixture(scope="module")
def afternoon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LookedAt]:
    """The demo's session, whose times and ids are the same at every run."""
    base = tmp_path_factory.mktemp("told")
    folder = base / "x".ljust(PATH - len(str(base)) - 1, "x")
    folder.mkdir()
    names = {"HOME": str(folder), "FORKPOINT_HOME": str(folder / "forkpoint")}
    names |= {
        "CLAUDE_CONFIG_DIR": str(folder / "claude"),
        "FORKPOINT_LEAST_FREE": "0",
        "TZ": "UTC",
        "LC_ALL": "C.UTF-8",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in names.items():
            patch.setenv(name, value)
        time.tzset()
        with told_times_and_ids():
            project = a_told_afternoon(folder)
        yield LookedAt(project, names)
    time.tzset()


@pytest.fixture
def store(afternoon: LookedAt, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """Its store, in which nothing depends on the machine."""
    for name, value in afternoon.names.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(status, "size_of", lambda folder: STORED)
    with told_times_and_ids(OTHERS):
        yield afternoon.store()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("theme", THEMES)
async def test_the_main_screens_are_as_they_were(
    store: Store, snapshot: SnapshotAssertion, theme: str, size: str
) -> None:
    shown: dict[str, str] = {}
    async with running(store, SIZES[size], clock=lambda: LATER) as pilot:
        pilot.app.theme = THEMES[theme]
        for view in WALK:
            while view.from_tree and not isinstance(pilot.app.screen, MainScreen):
                await press(pilot, "escape")
            await press(pilot, *view.keys)
            shown[view.name] = picture(pilot.app)
    different = [name for name, seen in shown.items() if seen != snapshot(name=f"{name}, {theme}, {size}")]
    for name in different:
        assert shown[name] == snapshot(name=f"{name}, {theme}, {size}")


@pytest.mark.parametrize(
    ("theme", "keys"), [("dark", ()), ("light", ("G", "K", "K", "r", "b"))], ids=["tree", "restore"]
)
def test_the_two_that_matter_most_look_as_they_did(
    store: Store, snap_compare: Callable[..., bool], theme: str, keys: tuple[str, ...]
) -> None:
    app = ForkpointApp(store, clock=lambda: LATER)
    app.theme = THEMES[theme]

    async def walk(pilot: Pilot[None]) -> None:
        await until(pilot, lambda: main(app).timeline.outline is not None)
        await settled(pilot)
        await press(pilot, *keys)

    assert snap_compare(app, terminal_size=SIZES["80x24"], run_before=walk)
