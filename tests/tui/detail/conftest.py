"""A recorded session that the tests of the detail look at, and none changes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from forkpoint.store.api import Store
from forkpoint.tui.detail.asked import Asked
from forkpoint.tui.outline import Outline
from forkpoint.tui.theme import Signs

from tests.builders.recorded import Recorded
from tests.builders.rich import a_rich_session


@pytest.fixture(scope="package")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    """The session, and the folder that another session and a person went on in."""
    folder = tmp_path_factory.mktemp("rich")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FORKPOINT_HOME", str(folder / "forkpoint"))
        patch.setenv("CLAUDE_CONFIG_DIR", str(folder / "claude"))
        agent = a_rich_session(folder / "headers")
        other = Recorded(agent.project)
        other.starts()
        other.asked("Say what is folded")
        other.writes("docs/folding.md", "Lines are folded.\n")
        other.stops()
        (agent.project / "parse.py").write_text("mine\n")
    yield agent


@pytest.fixture
def asked(rich: Recorded, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """A question about the first row of the tree."""
    monkeypatch.setenv("FORKPOINT_HOME", str(rich.project.parent / "forkpoint"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(rich.project.parent / "claude"))
    store = Store.open(rich.project)
    outline = Outline(store.tree(rich.session.id))
    return Asked(store, outline, outline.rows[0], outline.tree.info.updated, Signs())
