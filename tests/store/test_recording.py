"""What `forkpoint hook` records, what it answers, and that it is in nobody's way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from forkpoint.store import calls, recording, roots, trouble
from forkpoint.store.checkpoints import capture, points
from forkpoint.store.checkpoints.points import Checkpoint
from forkpoint.store.errors import GitFailed, GitMissing, StoreUnwritable
from forkpoint.store.git import process
from forkpoint.store.home import data_folder
from forkpoint.store.roots import Place

SESSION = "80bc72cc-a8a5-4e86-9723-359fe87f5220"
OTHER = "9ba08f3c-52d7-406b-94ab-94ceb74823ec"
HOUR = 3600 * 1_000_000_000


@dataclass
class Agent:
    """An agent that tells its hooks what it does, as Claude Code tells them."""

    project: Path
    session: str = SESSION
    env: dict[str, str] = field(default_factory=dict)
    cwd: str = ""
    prompts: int = 0

    def tell(self, name: str, *, budget: float = 30.0, **fields: Any) -> str:
        """Runs the hook of an event; gives what it answers."""
        payload = {
            "session_id": self.session,
            "transcript_path": str(self.project.parent / f"{self.session}.jsonl"),
            "cwd": self.cwd or str(self.project),
            "prompt_id": f"prompt-{self.prompts}",
            "hook_event_name": name,
            **fields,
        }
        env = {**os.environ, "CLAUDE_PROJECT_DIR": str(self.project), "CLAUDE_PID": str(os.getpid()), **self.env}
        return recording.record("claude", json.dumps(payload).encode(), env, budget=budget)

    def starts(self, source: str = "startup") -> str:
        return self.tell("SessionStart", source=source)

    def is_asked(self, prompt: str) -> str:
        self.prompts += 1
        return self.tell("UserPromptSubmit", prompt=prompt)

    def begins(self, tool: str, call: str, **fields: Any) -> None:
        self.tell("PreToolUse", tool_name=tool, tool_use_id=call, tool_input={}, **fields)

    def ends(self, tool: str, call: str, *, failed: bool = False, **fields: Any) -> None:
        name = "PostToolUseFailure" if failed else "PostToolUse"
        self.tell(name, tool_name=tool, tool_use_id=call, tool_input={}, **fields)

    def does(self, tool: str, call: str, work: Callable[[], object], **fields: Any) -> None:
        self.begins(tool, call, **fields)
        work()
        self.ends(tool, call, **fields)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    return folder


@pytest.fixture
def agent(project: Path) -> Agent:
    return Agent(project)


@pytest.fixture(autouse=True)
def no_trouble_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The system's temporary folder, where trouble is written down when the store takes nothing."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def place_of(project: Path) -> Place:
    place = roots.find(str(project), data_folder())
    assert place is not None
    return place


def recorded(project: Path) -> list[Checkpoint]:
    """Every checkpoint of the project, the oldest first."""
    place = roots.find(str(project), data_folder())
    if place is None:
        return []
    refs = process.call(place.git_dir, "for-each-ref", "--format=%(refname)", points.REFS).decode().split()
    found = [process.call(place.git_dir, "cat-file", "blob", f"{ref}:{points.RECORD}") for ref in refs]
    return sorted((points.decode(data, "") for data in found), key=lambda c: c.time)


def file_in(project: Path, point: str, name: str) -> str | None:
    place = place_of(project)
    try:
        return process.call(place.git_dir, "cat-file", "blob", f"{points.ref_of(point)}:files/{name}").decode()
    except GitFailed:
        return None


def shape(project: Path) -> list[tuple[str, str, str]]:
    return [(c.reason, c.side, c.call or c.prompt) for c in recorded(project)]


# --- what is recorded ----------------------------------------------------------------------------------------------


def test_a_turn_leaves_a_checkpoint_before_its_prompt_and_one_after_each_call_that_wrote(
    agent: Agent, project: Path
) -> None:
    agent.starts()
    agent.is_asked("Change it")
    agent.does("Edit", "toolu_1", lambda: (project / "a.txt").write_text("two\n"))
    agent.does("Bash", "toolu_2", (project / "a.txt").unlink)
    agent.tell("Stop")
    assert shape(project) == [
        ("start", "after", "prompt-0"),
        ("prompt", "before", "prompt-1"),
        ("tool", "after", "toolu_1"),
        ("tool", "after", "toolu_2"),
    ]
    _, prompt, edit, shell = recorded(project)
    assert (prompt.text, prompt.session, prompt.agent) == ("Change it", SESSION, "claude")
    assert (edit.before, shell.before) == (prompt.id, edit.id)
    assert file_in(project, edit.id, "a.txt") == "two\n"
    assert file_in(project, shell.id, "a.txt") is None


def test_the_first_prompt_is_recorded_though_recording_began_in_the_middle(agent: Agent, project: Path) -> None:
    agent.is_asked("Go on")
    assert shape(project) == [("prompt", "before", "prompt-1")]


def test_a_prompt_is_recorded_though_nothing_changed(agent: Agent, project: Path) -> None:
    agent.is_asked("One")
    agent.is_asked("Two")
    assert [c.text for c in recorded(project)] == ["One", "Two"]


@pytest.mark.parametrize("tool", ["Read", "Grep", "WebFetch", "AskUserQuestion"])
def test_a_tool_that_only_reads_leaves_nothing_even_when_somebody_wrote_meanwhile(
    tool: str, agent: Agent, project: Path
) -> None:
    agent.is_asked("Look")
    before = len(recorded(project))
    agent.begins(tool, "toolu_1")
    assert recording.open_calls(place_of(project)) == ()
    (project / "a.txt").write_text("by a person\n")
    agent.ends(tool, "toolu_1")
    assert len(recorded(project)) == before


def test_a_tool_that_changed_nothing_leaves_nothing(agent: Agent, project: Path) -> None:
    agent.is_asked("Look")
    agent.does("Bash", "toolu_1", lambda: None)
    assert [c.reason for c in recorded(project)] == ["prompt"]


def test_a_call_that_failed_may_have_written_all_the_same(agent: Agent, project: Path) -> None:
    agent.is_asked("Try")
    agent.begins("Bash", "toolu_1")
    (project / "half.txt").write_text("half")
    agent.ends("Bash", "toolu_1", failed=True)
    assert shape(project)[-1] == ("tool", "after", "toolu_1")


def test_what_a_person_did_between_two_calls_stands_before_the_second(agent: Agent, project: Path) -> None:
    agent.is_asked("Go")
    agent.does("Edit", "toolu_1", lambda: (project / "a.txt").write_text("two\n"))
    (project / "mine.txt").write_text("by a person\n")
    agent.does("Edit", "toolu_2", lambda: (project / "a.txt").write_text("three\n"))
    first, drift, second = recorded(project)[-3:]
    assert (drift.reason, drift.side, drift.call, drift.before) == ("tool", "before", "toolu_2", "")
    assert file_in(project, first.id, "mine.txt") is None
    assert second.before == drift.id


@pytest.mark.parametrize("name", ["Stop", "StopFailure", "SessionEnd", "SubagentStop"])
def test_what_drifted_until_the_end_is_stored_there(name: str, agent: Agent, project: Path) -> None:
    agent.is_asked("Go")
    agent.tell(name)
    assert [c.reason for c in recorded(project)] == ["prompt"]
    (project / "late.txt").write_text("from the background\n")
    agent.tell(name)
    assert recorded(project)[-1].reason == ("end" if name == "SessionEnd" else "stop")


def test_a_sub_agent_s_call_bears_its_name(agent: Agent, project: Path) -> None:
    agent.is_asked("Delegate")
    agent.begins("Agent", "toolu_1")
    agent.does("Write", "toolu_2", lambda: (project / "sub.txt").write_text("x"), agent_id="a80c")
    agent.ends("Agent", "toolu_1")
    assert [(c.call, c.subagent) for c in recorded(project) if c.reason == "tool"] == [("toolu_2", "a80c")]


def test_calls_at_one_time_are_each_bound_to_what_they_did(agent: Agent, project: Path) -> None:
    agent.is_asked("Both")
    agent.begins("Edit", "toolu_1")
    (project / "a.txt").write_text("two\n")
    agent.begins("Bash", "toolu_2")  # finds the first one's work, and stores it as drift
    (project / "b.txt").write_text("new\n")
    agent.ends("Bash", "toolu_2")
    agent.ends("Edit", "toolu_1")
    prompt, drift, shell, edit = recorded(project)
    assert (shell.call, shell.before) == ("toolu_2", drift.id)
    assert (edit.call, edit.before) == ("toolu_1", prompt.id)
    assert file_in(project, edit.id, "a.txt") == "two\n"


def test_calls_at_one_time_each_have_a_checkpoint_for_what_both_may_have_done(agent: Agent, project: Path) -> None:
    agent.is_asked("Both")
    agent.begins("Edit", "toolu_1")
    agent.begins("Bash", "toolu_2")
    (project / "a.txt").write_text("two\n")
    agent.ends("Edit", "toolu_1")
    agent.ends("Bash", "toolu_2")
    before = recorded(project)[0].id
    found = [(c.call, c.before) for c in recorded(project) if c.reason == "tool"]
    assert found == [("toolu_1", before), ("toolu_2", before)]


def test_a_call_during_another_session_s_call_says_so_both_ways(agent: Agent, project: Path) -> None:
    other = Agent(project, OTHER)
    agent.is_asked("A")
    other.is_asked("B")
    agent.begins("Bash", "toolu_1")
    other.begins("Bash", "toolu_2")
    (project / "a.txt").write_text("whose?\n")
    other.ends("Bash", "toolu_2")
    agent.ends("Bash", "toolu_1")
    by_call = {c.call: c for c in recorded(project) if c.reason == "tool"}
    assert by_call["toolu_2"].shared == (SESSION,)
    assert by_call["toolu_1"].shared == (OTHER,)


def test_a_call_whose_beginning_was_not_seen_says_nothing_of_the_files_before(agent: Agent, project: Path) -> None:
    agent.is_asked("Go")
    (project / "a.txt").write_text("two\n")
    agent.ends("Bash", "toolu_1")
    assert recorded(project)[-1].before == ""


def test_the_paths_that_an_edit_names_are_kept_relative_to_the_root(agent: Agent, project: Path) -> None:
    agent.is_asked("Go")
    for call, path in (("toolu_1", project / "a.txt"), ("toolu_2", Path("/etc/hosts"))):
        agent.tell("PreToolUse", tool_name="Edit", tool_use_id=call, tool_input={"file_path": str(path)})
        (project / "a.txt").write_text(call)
        agent.tell("PostToolUse", tool_name="Edit", tool_use_id=call, tool_input={"file_path": str(path)})
    assert [(c.side, c.named, c.outside) for c in recorded(project)][-3:] == [
        ("after", ("a.txt",), ()),
        ("before", (), ("/etc/hosts",)),
        ("after", (), ("/etc/hosts",)),
    ]


# --- where it is recorded --------------------------------------------------------------------------------------------


def test_wherever_the_shell_went_the_root_is_where_the_session_started(
    agent: Agent, project: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    agent.is_asked("Go")
    agent.cwd = str(elsewhere)
    agent.does("Bash", "toolu_1", lambda: (project / "b.txt").write_text("x"))
    assert shape(project)[-1] == ("tool", "after", "toolu_1")
    assert recorded(elsewhere) == []


def test_without_the_agent_s_word_it_is_the_first_folder_that_it_stood_in(
    agent: Agent, project: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    agent.env["CLAUDE_PROJECT_DIR"] = ""
    agent.is_asked("Go")
    agent.cwd = str(elsewhere)
    agent.does("Bash", "toolu_1", lambda: (project / "b.txt").write_text("x"))
    assert shape(project)[-1] == ("tool", "after", "toolu_1")
    assert recorded(elsewhere) == []


def test_a_session_below_a_known_root_is_recorded_in_that_root(agent: Agent, project: Path) -> None:
    agent.is_asked("Go")
    below = project / "src"
    below.mkdir()
    inner = Agent(below, OTHER)
    inner.is_asked("Go on")
    assert recorded(below) == []
    assert recorded(project)[-1].session == OTHER


@pytest.mark.parametrize("unsafe", ["/", "home"])
def test_home_and_the_whole_disk_are_never_recorded(unsafe: str, agent: Agent, machine: Path, project: Path) -> None:
    agent.env["CLAUDE_PROJECT_DIR"] = "/" if unsafe == "/" else str(machine)
    assert agent.starts() == ""
    assert agent.is_asked("Go") == ""
    assert not data_folder().exists()


def test_a_home_folder_under_git_does_not_swallow_the_projects_in_it(machine: Path) -> None:
    (machine / ".git").mkdir()
    project = machine / "code" / "shop"
    project.mkdir(parents=True)
    Agent(project).is_asked("Go")
    assert shape(project) == [("prompt", "before", "prompt-1")]


def test_a_folder_that_was_made_anew_begins_a_new_workspace(agent: Agent, project: Path) -> None:
    agent.is_asked("Go")
    old = place_of(project)
    project.rename(project.with_name("aside"))  # still there, so that its inode is not given to the new one
    project.mkdir()
    agent.is_asked("Again")
    assert place_of(project).workspace != old.workspace


# --- open calls -------------------------------------------------------------------------------------------------------


def open_now(project: Path) -> list[str]:
    return [c.call for c in recording.open_calls(place_of(project))]


def test_a_call_is_open_between_its_hooks(agent: Agent, project: Path) -> None:
    agent.begins("Bash", "toolu_1")
    call = recording.open_calls(place_of(project))[0]
    assert (call.session, call.call, call.tool, call.pid) == (SESSION, "toolu_1", "Bash", os.getpid())
    assert call.before == recorded(project)[-1].id
    agent.ends("Bash", "toolu_1")
    assert open_now(project) == []


@pytest.mark.parametrize("name", ["UserPromptSubmit", "Stop", "StopFailure", "SessionEnd"])
def test_a_turn_s_end_closes_what_was_refused_or_cancelled(name: str, agent: Agent, project: Path) -> None:
    other = Agent(project, OTHER)
    agent.begins("Bash", "toolu_1")
    other.begins("Bash", "toolu_2")
    agent.tell(name)
    assert open_now(project) == ["toolu_2"]


def test_a_sub_agent_in_the_background_goes_on_after_the_turn(agent: Agent, project: Path) -> None:
    agent.begins("Write", "toolu_1", agent_id="a80c")
    agent.tell("Stop")
    assert open_now(project) == ["toolu_1"]
    agent.tell("SubagentStop", agent_id="a80c")
    assert open_now(project) == []


def test_a_call_whose_end_comes_after_its_turn_keeps_what_was_before_it(agent: Agent, project: Path) -> None:
    agent.is_asked("Go")
    agent.begins("Bash", "toolu_1")
    agent.is_asked("and this")  # typed while the call runs
    (project / "a.txt").write_text("two\n")
    agent.ends("Bash", "toolu_1")
    assert recorded(project)[-1].before == recorded(project)[0].id


def test_a_call_of_a_dead_agent_is_not_open(agent: Agent, project: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    agent.env["CLAUDE_PID"] = str(gone.pid)
    agent.begins("Bash", "toolu_1")
    assert open_now(project) == []


def test_a_process_id_that_another_process_got_is_not_the_agent(agent: Agent, project: Path) -> None:
    agent.begins("Bash", "toolu_1")
    file = place_of(project).open_calls_file
    file.write_text(file.read_text().replace(f'"born": "{calls.born(os.getpid())}"', '"born": "1"'))
    assert open_now(project) == []


def test_a_refused_call_is_over_when_the_transcript_says_so(agent: Agent, project: Path) -> None:
    agent.begins("Bash", "toolu_1")
    transcript = project.parent / f"{SESSION}.jsonl"
    transcript.write_text('{"type":"assistant","message":{"content":[{"type":"tool_use","id":"toolu_1"}]}}\n')
    assert open_now(project) == ["toolu_1"]
    with open(transcript, "a") as file:
        file.write('{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"toolu_1"}]}}\n')
    assert open_now(project) == []


def test_a_damaged_note_of_calls_is_begun_anew(agent: Agent, project: Path) -> None:
    agent.begins("Bash", "toolu_1")
    for damage in (b"", b"[]", b'{"calls": [{"agent": 7}]}', b"\xff"):
        place_of(project).open_calls_file.write_bytes(damage)
        assert open_now(project) == []
        agent.begins("Bash", "toolu_2")
        assert open_now(project) == ["toolu_2"]


def test_who_is_at_work_is_known(agent: Agent, project: Path) -> None:
    agent.starts()
    agent.begins("Bash", "toolu_1")
    known = calls.load(place_of(project).open_calls_file)
    assert [(one.session, one.pid, one.doing) for one in calls.live(known)] == [(SESSION, os.getpid(), "Bash")]
    agent.tell("SessionEnd", reason="other")
    assert calls.live(calls.load(place_of(project).open_calls_file)) == ()


def test_a_start_teaches_how_and_where_the_transcript_is(agent: Agent, project: Path) -> None:
    agent.starts("resume")
    agent.is_asked("Go")
    one = calls.load(place_of(project).open_calls_file).sessions[-1]
    assert (one.source, one.transcript) == ("resume", str(project.parent / f"{SESSION}.jsonl"))


# --- the budget -------------------------------------------------------------------------------------------------------


@pytest.fixture
def reaped() -> Iterator[None]:
    """Waits for the processes that hooks of this test left behind."""
    yield
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def test_over_its_budget_a_hook_leaves_and_the_save_is_marked_late(agent: Agent, project: Path, reaped: None) -> None:
    agent.is_asked("Go")
    place = place_of(project)
    (project / "a.txt").write_text("two\n")
    with place.locked("a slow save"):
        began = time.monotonic()
        agent.tell("Stop", budget=0.3)
        assert 0.3 <= time.monotonic() - began < 2
    until(lambda: len(recorded(project)) == 2)
    prompt, late = recorded(project)
    assert (late.reason, late.late, prompt.late) == ("stop", True, False)
    assert file_in(project, late.id, "a.txt") == "two\n"


def test_while_a_late_save_is_under_way_no_hook_waits_its_budget_out(agent: Agent, project: Path, reaped: None) -> None:
    agent.is_asked("Go")
    with place_of(project).locked("a slow save"):
        agent.tell("Stop", budget=0.2)
        began = time.monotonic()
        agent.is_asked("Next")
        assert time.monotonic() - began < 5
    until(lambda: [c.reason for c in recorded(project)] == ["prompt", "prompt"])
    assert recorded(project)[-1].late


def test_a_late_save_that_is_gone_hurries_no_hook_though_its_process_id_lives_again(
    agent: Agent, project: Path, reaped: None
) -> None:
    agent.is_asked("Go")
    with place_of(project).locked("a slow save"):
        agent.tell("Stop", budget=0.2)
        (late,) = data_folder().glob("late-*")
    until(lambda: not late.exists())
    late.write_text(f"{os.getpid()} 1")
    holder = threading.Thread(target=hold_for, args=(place_of(project), 0.7))
    holder.start()
    agent.is_asked("Next")
    holder.join()
    assert not recorded(project)[-1].late


def hold_for(place: Place, seconds: float) -> None:
    with place.locked("a short save"):
        time.sleep(seconds)


def test_a_call_is_told_as_open_though_its_save_must_wait(agent: Agent, project: Path, reaped: None) -> None:
    agent.is_asked("Go")
    with place_of(project).locked("a slow save"):
        agent.tell("PreToolUse", tool_name="Bash", tool_use_id="toolu_1", tool_input={}, budget=0.3)
        assert open_now(project) == ["toolu_1"]


def until(true: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come true in time"
        time.sleep(0.02)


# --- trouble ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[bool], None]]:
    """Switches between a store that takes everything and one on a full disk."""
    real = capture.take

    def full(*_: object, **__: object) -> object:
        raise StoreUnwritable("the store cannot be written", path="fatal: write error: No space left on device")

    def switch(on: bool) -> None:
        monkeypatch.setattr(capture, "take", full if on else real)

    yield switch


def clock_of(moment: int) -> str:
    return time.strftime("%H:%M", time.localtime(moment / 1e9))


def test_the_person_is_told_at_the_next_prompt_once_an_hour(
    agent: Agent, project: Path, full_disk: Callable[[bool], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    agent.is_asked("Go")
    full_disk(True)
    now = time.time_ns()
    agent.begins("Bash", "toolu_1")
    assert agent.tell("Stop") == ""
    assert agent.is_asked("Next") == f"forkpoint: not recording since {clock_of(now)}, disk is full: forkpoint doctor"
    assert agent.is_asked("And next") == ""
    monkeypatch.setattr(time, "time_ns", lambda: now + HOUR + 10**9)
    assert "disk is full" in agent.starts("resume")


def test_another_cause_is_told_at_once(
    agent: Agent, full_disk: Callable[[bool], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    full_disk(True)
    assert "disk is full" in agent.is_asked("Go")

    def no_git(*_: object, **__: object) -> object:
        raise GitMissing("git was not found on PATH")

    monkeypatch.setattr(capture, "take", no_git)
    assert "git was not found" in agent.is_asked("Next")


def test_what_went_by_meanwhile_is_told_when_it_works_again(
    agent: Agent, project: Path, full_disk: Callable[[bool], None]
) -> None:
    agent.starts()
    full_disk(True)
    agent.begins("Bash", "toolu_1")
    full_disk(False)
    agent.ends("Bash", "toolu_1")
    said = agent.is_asked("Next")
    assert said.startswith("forkpoint: could not record from ")
    assert said.endswith(", disk is full: forkpoint doctor")
    assert agent.is_asked("Next") == ""
    assert trouble.open_troubles(data_folder(), str(project)) == ()


def test_trouble_of_one_root_is_not_told_in_another(
    agent: Agent, tmp_path: Path, full_disk: Callable[[bool], None]
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    full_disk(True)
    agent.begins("Bash", "toolu_1")
    full_disk(False)
    assert Agent(other, OTHER).is_asked("Go") == ""
    assert agent.is_asked("Go") != ""


def test_a_store_that_is_no_folder_is_told_too(agent: Agent, project: Path) -> None:
    data_folder().write_text("not a folder")
    assert "forkpoint doctor" in agent.is_asked("Go")
    assert agent.is_asked("Next") == ""


def test_a_saving_process_that_is_killed_is_told(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture, "take", lambda *_, **__: os.kill(os.getpid(), 9))
    assert "was stopped" in agent.is_asked("Go")


def wrong(*_: object, **__: object) -> object:
    raise ZeroDivisionError("by accident")


@pytest.mark.parametrize("name", ["choose", "adopt", "real"])
def test_whatever_goes_wrong_is_told_in_a_few_words(name: str, agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roots, name, wrong)
    assert "forkpoint failed (ZeroDivisionError)" in agent.is_asked("Go")


@pytest.mark.parametrize("name", ["note", "message"])
def test_when_even_that_cannot_be_told_nothing_is(name: str, agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roots, "choose", wrong)
    monkeypatch.setattr(trouble, name, wrong)
    assert agent.is_asked("Go") == ""


@pytest.mark.parametrize("payload", [b"", b"{}", b"[1]", b"\xff", b'{"hook_event_name": "Later", "cwd": "/"}'])
def test_a_payload_that_tells_nothing_leaves_nothing(payload: bytes) -> None:
    assert recording.record("claude", payload, os.environ) == ""
    assert recording.record("nobody", payload, os.environ) == ""
    assert not data_folder().exists()


# --- the process ------------------------------------------------------------------------------------------------------


def hook(
    project: Path, *arguments: str, payload: dict[str, object] | None = None, **env: str
) -> subprocess.CompletedProcess:
    told = payload or {"hook_event_name": "UserPromptSubmit", "session_id": SESSION, "prompt": "Go", "prompt_id": "p"}
    return subprocess.run(
        [sys.executable, "-c", "from forkpoint.tui.cli import main; main()", "hook", *arguments],
        input=json.dumps(told).encode(),
        env={**os.environ, "CLAUDE_PROJECT_DIR": str(project), **env},
        cwd=project,
        capture_output=True,
        timeout=60,
    )


@pytest.mark.parametrize("arguments", [["claude"], ["claude", "--later"], ["--later", "claude"]])
def test_the_command_records_and_says_nothing(arguments: list[str], project: Path) -> None:
    done = hook(project, *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert [c.reason for c in recorded(project)] == ["prompt"]


@pytest.mark.parametrize("arguments", [[], ["nobody"], ["--later"]])
def test_a_command_that_nobody_knows_exits_0_as_well(arguments: list[str], project: Path) -> None:
    done = hook(project, *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_what_the_person_must_know_is_the_only_thing_printed(project: Path) -> None:
    done = hook(project, "claude", PATH="/nowhere")
    said = f"forkpoint: not recording since {clock_of(time.time_ns())}, git was not found: forkpoint doctor"
    assert json.loads(done.stdout) == {"systemMessage": said}
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_file_size_limit_is_told_and_kills_nothing(project: Path) -> None:
    (project / "big.bin").write_bytes(os.urandom(400_000))
    program = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "from forkpoint.tui.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "hook", "claude"],
        input=json.dumps({"hook_event_name": "UserPromptSubmit", "session_id": SESSION, "prompt": "Go"}).encode(),
        env={**os.environ, "CLAUDE_PROJECT_DIR": str(project)},
        capture_output=True,
        timeout=60,
    )
    assert "not recording since" in json.loads(done.stdout)["systemMessage"]
    assert (done.returncode, done.stderr) == (0, b"")
    assert recorded(project) == []


def test_a_moment_of_the_past_can_be_recorded(project: Path) -> None:
    payload = json.dumps({"hook_event_name": "UserPromptSubmit", "session_id": SESSION, "cwd": str(project)}).encode()
    recording.replay("claude", payload, os.environ, 1_700_000_000_000_000_000)
    assert [c.time for c in recorded(project)] == [1_700_000_000_000_000_000]
