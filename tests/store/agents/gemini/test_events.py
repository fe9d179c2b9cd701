"""Gemini CLI's hook payloads: what they tell, and how a call is found to which they give no id."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from forkpoint.store import calls, recording
from forkpoint.store.agents.gemini import callkeys, events
from forkpoint.store.api import Store
from forkpoint.store.hook import Step
from forkpoint.store.model import Conversation

from tests.builders.gemini import GeminiSession, Job, payload

ENV = {"GEMINI_PROJECT_DIR": "/code/shop"}
Read = Callable[[], Conversation]


def test_an_event_tells_session_folder_call_and_paths(session: GeminiSession) -> None:
    given = {"file_path": "a.txt", "content": "a\n"}
    event = events.parse(payload("BeforeTool", session, tool_name="write_file", tool_input=given), ENV)
    assert (event.agent, event.name, event.session) == ("gemini", "BeforeTool", session.id)
    assert (event.folder, event.cwd, event.transcript) == ("/code/shop", str(session.cwd), str(session.file))
    assert (event.tool, event.text) == ("write_file", "write_file a.txt")
    assert event.named == (str(session.cwd / "a.txt"),)
    assert event.call.startswith(callkeys.key("write_file", given) + "@")
    assert event.call.endswith(str(callkeys.milliseconds("2026-11-30T09:00:02.000Z")))


@pytest.mark.parametrize("data", [b"", b"not JSON", b"[]", b"7", b'{"tool_input": 7}', b"\xff", b"[" * 9999])
def test_what_is_no_payload_is_an_event_without_a_name(data: bytes) -> None:
    assert events.parse(data, {}).name == ""
    assert events.step(events.parse(data, {})) == Step()


@pytest.mark.parametrize(
    ("name", "tool", "expected"),
    [
        ("SessionStart", "", Step("drift", "start", "after", tells=True)),
        ("BeforeAgent", "", Step("always", "prompt", "before", over="turn", tells=True)),
        ("BeforeTool", "run_shell_command", Step("drift", "tool", "before", call="opens")),
        ("AfterTool", "mcp_files_move", Step("drift", "tool", "after", call="ends")),
        ("BeforeTool", "read_file", Step()),
        ("AfterTool", "invoke_agent", Step()),
        ("AfterAgent", "", Step("drift", "stop", "after", over="turn")),
        ("SessionEnd", "", Step("drift", "end", "after", over="session")),
        ("BeforeModel", "", Step()),
        ("OfLater", "", Step()),
    ],
)
def test_what_is_recorded_at_each_event(name: str, tool: str, expected: Step, session: GeminiSession) -> None:
    assert events.step(events.parse(payload(name, session, tool_name=tool), ENV)) == expected


def test_a_key_is_the_same_whatever_the_order_of_the_input() -> None:
    one, other = {"a": 1, "b": [True, None, "x"]}, {"b": [True, None, "x"], "a": 1.0}
    assert callkeys.key("t", one) == callkeys.key("t", other)
    different: list[object] = [
        {"a": 1},
        {"a": "1"},
        {"a": [1]},
        {"ab": 1},
        {"a": 1, "b": 2},
        [],
        {},
        "",
        None,
        1.5,
        True,
    ]
    assert len({callkeys.key("t", item) for item in different}) == len(different)


@pytest.mark.parametrize(
    ("stamp", "expected"),
    [
        ("1970-01-01T00:00:00.000Z", 0),
        ("2026-11-30T11:35:02.864Z", 1_796_038_502_864),
        ("2024-02-29T23:59:59.999Z", 1_709_251_199_999),
        ("", 0),
        ("2026-11-30", 0),
        ("2026-11-30T11:35:0x.864Z", 0),
    ],
)
def test_times_are_milliseconds(stamp: str, expected: int) -> None:
    assert callkeys.milliseconds(stamp) == expected


def test_the_transcript_tells_how_a_call_ended_that_began_before(session: GeminiSession) -> None:
    given = {"command": "npm test"}
    session.prompt("One")
    session.tool("run_shell_command", given)
    began = events.parse(payload("BeforeTool", session, tool_name="run_shell_command", tool_input=given), ENV)
    assert not events.has_ended(str(session.file), began.call), "an equal call before it has"
    session.tool("run_shell_command", given, status="cancelled")
    assert events.has_ended(str(session.file), began.call)
    assert not events.has_ended(str(session.file) + "x", began.call)


# --- recorded -------------------------------------------------------------------------------------------------------


class Recorded:
    """A session whose hooks are run as it goes on."""

    def __init__(self, session: GeminiSession) -> None:
        self.session = session
        # Checkpoints have the time at which they are made: a prompt is found near it.
        session.now, session.pace = datetime.now(UTC), timedelta(milliseconds=10)
        self.env = {**os.environ, "GEMINI_PROJECT_DIR": str(session.cwd)}

    def hook(self, name: str, **more: object) -> None:
        recording.record("gemini", payload(name, self.session, **more), self.env)

    def prompt(self, text: str) -> None:
        self.hook("BeforeAgent", prompt=text)
        self.session.prompt(text)

    def shell(self, command: str, act: Callable[[], object], text: str = "") -> None:
        """A shell call: recorded in the transcript when it has ended, under the time of the reply that made it."""
        given = {"command": command}
        self.session.reply(text)
        reply = self.session.listed[-1]
        self.hook("BeforeTool", tool_name="run_shell_command", tool_input=given)
        act()
        self.hook("AfterTool", tool_name="run_shell_command", tool_input=given, tool_response={})
        reply["toolCalls"] = [self.session.call_record(Job("run_shell_command", given))]
        self.session.line(reply)


def tools(root: Path) -> list[tuple[str, str]]:
    """Checkpoints of calls: the side, and the entry that they are bound to."""
    tree = Store.open(root).tree()
    return [(point.side, point.entry or "") for point in tree.points if point.reason == "tool"]


def test_equal_calls_one_after_the_other_have_their_own_checkpoints(session: GeminiSession, shop: Path) -> None:
    told = Recorded(session)
    file = shop / "log.txt"
    told.prompt("Test")
    for number in range(3):
        told.shell("npm test", lambda number=number: file.write_text(f"run {number}\n"), f"Run {number}")
    entries = [entry.id for entry in Store.open(shop).tree().entries if entry.kind == "tool_call"]
    assert tools(shop) == [("after", entry) for entry in entries]


def test_an_equal_call_that_is_open_is_not_taken_for_the_one_before(session: GeminiSession, shop: Path) -> None:
    told = Recorded(session)
    told.prompt("Test")
    told.shell("npm test", lambda: (shop / "log.txt").write_text("1\n"))
    told.hook("BeforeTool", tool_name="run_shell_command", tool_input={"command": "npm test"})
    (place,) = recording.roots.places(recording.data_folder(told.env))
    assert [call.tool for call in recording.open_calls(place)] == ["run_shell_command"]
    told.hook("AfterAgent")
    assert recording.open_calls(place) == ()


def test_of_equal_calls_side_by_side_each_end_ends_one(session: GeminiSession, shop: Path) -> None:
    told = Recorded(session)
    told.prompt("Test")
    given = {"tool_name": "run_shell_command", "tool_input": {"command": "make"}}
    told.hook("BeforeTool", **given)
    told.hook("BeforeTool", **given)
    (place,) = recording.roots.places(recording.data_folder(told.env))
    assert len(calls.load(place.open_calls_file).calls) == 2
    told.hook("AfterTool", **given)
    assert len(calls.load(place.open_calls_file).calls) == 1
    told.hook("AfterTool", **given)
    assert calls.load(place.open_calls_file).calls == ()


def test_a_call_that_a_restore_of_the_program_ran_again_is_another_one(session: GeminiSession, shop: Path) -> None:
    told = Recorded(session)
    told.prompt("Test")
    told.shell("make", lambda: (shop / "a.txt").write_text("1\n"), "I make")
    # The program carries the call out first, and writes its message afterwards.
    session.info("Restored project to the state before the tool call.")
    given = {"tool_name": "run_shell_command", "tool_input": {"command": "make"}}
    told.hook("BeforeTool", **given)
    (shop / "a.txt").write_text("2\n")
    told.hook("AfterTool", **given)
    call = session.call_record(Job("run_shell_command", {"command": "make"}))
    session.message("gemini", "", toolCalls=[call])
    first, second = [entry.id for entry in Store.open(shop).tree().entries if entry.kind == "tool_call"]
    assert tools(shop) == [("after", first), ("after", second)]


def test_the_payload_of_a_hook_may_be_of_any_size(session: GeminiSession, shop: Path) -> None:
    told = Recorded(session)
    told.prompt("x" * 1_000_000)
    (point,) = [point for point in Store.open(shop).tree().points if point.reason == "prompt"]
    assert point.entry == session.listed[0]["id"]
    assert json.loads(session.file.read_bytes().splitlines()[2])["id"] == point.entry
