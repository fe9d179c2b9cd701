"""The guard of the app's tests: what the engine does on the screen's thread fails the test, and nothing else does."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from forkpoint.store import diff
from forkpoint.store.api import Store
from forkpoint.tui.app import ForkpointApp
from textual.events import Mount

from tests.builders.app import a_parser
from tests.builders.screenguard import OnTheScreensThread


class Hasty(ForkpointApp):
    """An app that does something where it draws."""

    def on_mount(self, event: Mount) -> None:  # type: ignore[override]
        event.prevent_default()  # the app's own would open the main screen

    def key_r(self) -> None:
        self.store.tree()

    def key_d(self) -> None:
        diff.exact_renames({})

    async def key_a(self) -> None:
        await self.ask(lambda store: store.tree())

    def key_n(self) -> None:
        assert self.store.root


@pytest.mark.parametrize("key", ["r", "d"])
async def test_the_engine_raises_on_the_screens_thread(key: str, tmp_path: Path) -> None:
    store = a_parser(tmp_path / "headers").store()
    with pytest.raises(OnTheScreensThread):
        async with Hasty(store).run_test() as pilot:
            await pilot.press(key)
            await pilot.pause()


async def test_other_threads_and_the_test_itself_may_use_it(tmp_path: Path) -> None:
    agent = a_parser(tmp_path / "headers")
    async with Hasty(agent.store()).run_test() as pilot:
        await pilot.press("a", "n")
        await pilot.pause()
        agent.asked("And keep the last line")
        assert Store.open(agent.project).tree().entries[-1].text == "And keep the last line"
        assert await asyncio.to_thread(diff.exact_renames, {}) == {}
