"""The app while conversations are taken into the store, or counted, behind what it shows."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import BinaryIO

import pytest
from forkpoint.store.agents.base import Source
from forkpoint.store.api import Store
from forkpoint.store.conversation import storing, transcripts
from forkpoint.store.git.reader import Objects
from forkpoint.store.workspace import Workspace
from forkpoint.tui.app import ForkpointApp

from tests.builders.app import frame, until
from tests.builders.whole import Whole, whole


class Held:
    """Nobody can open the agent's files until they are let go, but for the first ones that are opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *but_for: Path, first: int) -> None:
        self.free, self.waiting = threading.Event(), threading.Event()
        opened, let_in = Source.open, {str(file) for file in but_for}
        most = len(let_in) + first

        def slowly(source: Source) -> BinaryIO:
            if len(let_in) < most:
                let_in.add(source.name)
            if source.name not in let_in:
                self.waiting.set()
                assert self.free.wait(60)
            return opened(source)

        monkeypatch.setattr(Source, "open", slowly)


@pytest.fixture
def made(tmp_path: Path) -> list[Whole]:
    """Four sessions of one folder."""
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/a.py").write_text("one\n")
    return [whole("claude", tmp_path / "shop") for _ in range(4)]


def kept(store: Store) -> set[str]:
    place = Workspace(store.root, store.home).place
    return set(transcripts.known(Objects(place.git_dir))) if place is not None else set()


async def test_the_tree_stands_and_follows_while_others_are_stored_which_the_last_line_tells(
    made: list[Whole], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storing, "MANY", 1)
    shown, store = made[0], Store.open(made[0].cwd)
    store.save()
    held = Held(monkeypatch, shown.file, first=1)
    app = ForkpointApp(store, shown.id)
    async with app.run_test(size=(120, 24)) as pilot:
        await until(pilot, lambda: "Prompt 2" in frame(app) and held.waiting.is_set())
        await until(pilot, lambda: "storing conversations, 1 of 3" in frame(app))
        shown.turn("Prompt 3", "output", "Reply")
        await until(pilot, lambda: "Prompt 3" in frame(app))
        assert len(kept(store)) == 2
        held.free.set()
        await until(pilot, lambda: kept(store) == {one.id for one in made} and "storing" not in frame(app))


async def test_who_leaves_waits_for_none_of_the_others(made: list[Whole], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storing, "MANY", 1)
    store = Store.open(made[0].cwd)
    store.save()
    held = Held(monkeypatch, made[0].file, first=1)
    app = ForkpointApp(store, made[0].id)
    async with app.run_test() as pilot:
        await until(pilot, lambda: held.waiting.is_set())
        await pilot.press("q")
    held.free.set()
    app.finish()
    assert len(kept(store)) <= 3, "what was under way comes to its end, nothing else is begun"


async def test_the_first_open_tells_what_it_has_counted_so_far(
    made: list[Whole], monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(monkeypatch, first=2)
    app = ForkpointApp(Store.open(made[0].cwd))
    async with app.run_test() as pilot:
        await until(pilot, lambda: held.waiting.is_set())
        await until(pilot, lambda: "Found: 4 sessions, at least 4 prompts …" in frame(app))
        assert "c saves the files now" in frame(app)
        held.free.set()
        await until(pilot, lambda: "Found: 4 sessions, 8 prompts." in frame(app))
