"""Sessions of several agents in one folder: each is shown, restored and gone on with as its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from forkpoint.store import recording
from forkpoint.store.api import Store
from forkpoint.store.errors import AmbiguousId, Refused
from forkpoint.store.git.reader import Objects
from forkpoint.store.home import data_folder

from ..builders.cli import forkpoint
from ..builders.folders import make
from ..builders.pi import PiSession
from ..builders.recorded import Recorded

SAME = "5f0c7f0a-0000-4000-8000-000000000001"
"""An id that sessions of two agents have."""


class Pi:
    """Pi at work in a folder, with its hooks."""

    def __init__(self, project: Path, session: str, pid: int = 0) -> None:
        self.project = project
        self.pid = pid
        home = Path(os.environ["HOME"]) / ".pi" / "agent"
        self.session = PiSession(home, project, session, now=datetime.now(UTC), pace=timedelta(milliseconds=1))

    def tell(self, event: str, **fields: object) -> None:
        self.session.now = max(self.session.now, datetime.now(UTC))
        about = {"session": self.session.id, "file": str(self.session.file), "cwd": str(self.project), "pid": self.pid}
        recording.record("pi", json.dumps({"event": event, **about, **fields}).encode(), dict(os.environ), budget=30.0)

    def asked(self, prompt: str) -> None:
        self.session.prompt(prompt)
        sent = self.session.records[-1]["message"]["timestamp"]
        self.tell("prompt", prompt=str(sent), text=prompt)

    def turn(self, prompt: str, path: str, content: str) -> None:
        self.asked(prompt)
        about = {"tool": "write", "call": f"call_{path}", "input": {"path": path, "content": content}}
        self.tell("tool_call", **about)
        self.session.write(path, content)
        self.tell("tool_result", **about)
        self.session.reply("Done.")
        self.tell("agent_end")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    make(folder, {"both.txt": "as it was\n"})
    return folder


@pytest.fixture
def claude(project: Path) -> Recorded:
    agent = Recorded(project)
    agent.session.file = agent.session.file.with_name(f"{SAME}.jsonl")
    agent.session.id = SAME
    agent.starts()
    agent.asked("Add a page")
    agent.writes("page.html", "<p>\n")
    agent.stops()
    return agent


@pytest.fixture
def pi(project: Path, claude: Recorded) -> Pi:
    pi = Pi(project, SAME)
    pi.turn("Fold the lines", "fold.py", "fold\n")
    return pi


def test_each_is_in_the_list_under_its_own_agent(project: Path, claude: Recorded, pi: Pi) -> None:
    listed = [(info.agent, info.id, info.title) for info in Store.open(project).sessions()]
    assert listed == [("pi", SAME, "Fold the lines"), ("claude", SAME, "Add a page")]
    os.chdir(project)
    assert [item["agent"] for item in forkpoint("sessions", "--json").json] == ["pi", "claude"]
    assert ["Claude Code" in line for line in forkpoint("sessions").lines[1:]] == [False, True]


def test_equal_ids_are_told_apart_by_the_agent(project: Path, claude: Recorded, pi: Pi) -> None:
    store = Store.open(project)
    with pytest.raises(AmbiguousId, match=f"pi:{SAME}, claude:{SAME}"):
        store.tree(SAME[:13])
    for agent, prompt in (("claude", "Add a page"), ("pi", "Fold the lines")):
        built = store.tree(f"{agent}:{SAME[:8]}")
        assert built.info.agent == agent
        assert [entry.text for entry in built.entries if entry.kind == "prompt"] == [prompt]
        assert {point.text for point in built.points if point.reason == "prompt"} == {prompt}
        assert all(store.blocks(entry) for entry in built.entries if entry.kind in ("prompt", "tool_call"))


def test_both_are_kept_when_their_agents_deleted_them(project: Path, claude: Recorded, pi: Pi) -> None:
    store = Store.open(project)
    before = {info.agent: len(store.tree(info.key).entries) for info in store.sessions()}
    claude.session.file.unlink()
    pi.session.file.unlink()
    store = Store.open(project)
    assert {info.agent: len(store.tree(info.key).entries) for info in store.sessions()} == before
    assert all("deleted its file" in info.problem for info in store.sessions())


@pytest.mark.parametrize("session", [SAME, "5f0c7f0a-0000-4000-8000-000000000009"])
def test_going_back_in_one_leaves_what_the_other_did(project: Path, claude: Recorded, session: str) -> None:
    pi = Pi(project, session)
    pi.turn("Fold the lines", "fold.py", "fold\n")
    store = Store.open(project)
    for name, mine, other in ((SAME, b"page.html", "fold.py"), (f"pi:{session}", b"fold.py", "page.html")):
        built = store.tree(name)
        point = next(point for point in built.points if point.reason == "prompt")
        result = store.restore(store.plan_restore(point.id, "files"))
        assert [change.path for change in result.done] == [mine]
        assert (project / other).exists()
        assert [act.kind for act in store.tree(name).operations] == ["restore"]
        store.undo(store.plan_undo())
        assert (project / os.fsdecode(mine)).exists()


@pytest.mark.parametrize("session", [SAME, "5f0c7f0a-0000-4000-8000-000000000009"])
def test_what_changed_while_both_had_a_shell_open_is_neither_s_own(
    project: Path, claude: Recorded, session: str
) -> None:
    pi = Pi(project, session)
    pi.asked("Build it")
    pi.tell("tool_call", tool="bash", call="call_1", input={"command": "make"})
    claude.asked("Make it")
    claude.runs("make", lambda root: make(root, {"made.txt": "1\n"}))
    pi.tell("tool_result", tool="bash", call="call_1", input={"command": "make"})
    store = Store.open(project)
    for name in (SAME, f"pi:{session}"):
        point = [point for point in store.tree(name).points if point.reason == "prompt"][-1]
        inventory = store.plan_restore(point.id, "files").inventory
        assert b"made.txt" not in [change.path for change in inventory.restored]


def test_a_fork_of_one_is_a_branch_of_that_one(project: Path, claude: Recorded, pi: Pi) -> None:
    store = Store.open(project)
    built = store.tree(f"pi:{SAME}")
    last = [entry.id for entry in built.entries if entry.kind == "reply"][-1]
    fork = store.fork(store.plan_fork(last, name="pi-way"))
    assert fork.agent == "pi"
    assert [branch.name for branch in store.tree(f"pi:{SAME}").branches if branch.name == "pi-way"] == ["pi-way"]
    assert [branch.name for branch in store.tree(f"claude:{SAME}").branches if branch.name == "pi-way"] == []
    assert len(store.sessions()) == 2
    store.undo(store.plan_undo())
    assert [branch.name for branch in store.tree(f"pi:{SAME}").branches if branch.name == "pi-way"] == []


@pytest.fixture
def process(project: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that calls itself as Pi does, in the folder."""
    program = shutil.which("sh")
    assert program is not None
    started = subprocess.Popen(["pi", "-c", "read x"], executable=program, cwd=project, stdin=subprocess.PIPE)
    yield started
    started.kill()
    started.wait()


def test_while_one_works_the_other_is_not_restored_under_it(
    project: Path, claude: Recorded, process: subprocess.Popen[bytes]
) -> None:
    """Pi is in the middle of a call; what is to go back is Claude Code's."""
    pi = Pi(project, "5f0c7f0a-0000-4000-8000-000000000002", process.pid)
    pi.turn("Fold the lines", "fold.py", "fold\n")
    pi.asked("Write more")
    pi.tell("tool_call", tool="bash", call="call_open", input={"command": "sleep 60"})
    store = Store.open(project)
    point = next(point for point in store.tree(f"claude:{SAME}").points if point.reason == "prompt")
    plan = store.plan_restore(point.id, "files")
    assert [(live.agent, live.session, live.pid, live.doing) for live in plan.inventory.live] == [
        ("pi", pi.session.id, process.pid, "bash")
    ]
    with pytest.raises(Refused, match="Pi is in the middle of a tool call here"):
        store.restore(plan)
    assert (project / "page.html").exists()
    assert [(info.agent, info.live) for info in store.sessions()] == [("pi", True), ("claude", False)]
    os.chdir(project)
    assert "Pi is open here now" in forkpoint("status").out
    pi.tell("tool_result", tool="bash", call="call_open", input={"command": "sleep 60"})
    assert [change.path for change in store.restore(store.plan_restore(point.id, "files")).done] == [b"page.html"]


def test_two_agents_at_work_at_once_are_both_told(
    project: Path, claude: Recorded, process: subprocess.Popen[bytes]
) -> None:
    Pi(project, "5f0c7f0a-0000-4000-8000-000000000003", process.pid).turn("Fold", "fold.py", "fold\n")
    sessions = Path(os.environ["CLAUDE_CONFIG_DIR"]) / "sessions"
    sessions.mkdir()
    told = {"pid": os.getpid(), "sessionId": SAME, "cwd": str(project)}
    (sessions / f"{os.getpid()}.json").write_text(json.dumps(told))
    live = Store.open(project).status().live
    assert sorted((item.agent, item.pid) for item in live) == [("claude", os.getpid()), ("pi", process.pid)]


def test_a_conversation_that_was_deleted_stays_away_and_the_other_with_its_id_stays(
    project: Path, claude: Recorded, pi: Pi
) -> None:
    store = Store.open(project)
    points = [point.id for point in store.tree(f"pi:{SAME}").points]
    store.keep()
    assert _transcripts() == [SAME, f"pi.{SAME}"]
    store.delete(points, anyway=True)
    assert _transcripts() == [SAME]
    Store.open(project).tree(f"pi:{SAME}")
    assert _transcripts() == [SAME], "and it is not taken into the store again"
    pi.turn("Go on", "more.py", "more\n")
    Store.open(project).tree(f"pi:{SAME}")
    assert _transcripts() == [SAME, f"pi.{SAME}"]


def test_what_is_kept_of_each_is_weighed(project: Path, claude: Recorded, pi: Pi) -> None:
    store = Store.open(project)
    store.keep()
    told = {(item.agent, item.id): item.bytes for item in store.usage().sessions}
    assert set(told) == {("claude", SAME), ("pi", SAME)}
    assert all(size > 100 for size in told.values())
    assert all(finding.ok for finding in store.verify())


def _transcripts() -> list[str]:
    folder = next((data_folder() / "workspaces").glob("*/objects.git"))
    return sorted(ref.removeprefix("refs/transcripts/") for ref in Objects(folder).refs("refs/transcripts/"))
