"""What our plugin tells, and what is recorded at each moment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from forkpoint.store.agents.opencode import events
from forkpoint.store.hook import HookEvent, Step

from tests.builders.opencode import Act, OpenCode

TOLD = {"session": "ses_a", "child": "", "directory": "/w/shop", "pid": 4711, "prompt": "msg_1"}


def parsed(event: str, **more: Any) -> HookEvent:
    return events.parse(json.dumps({"event": event, **TOLD, **more}).encode(), {"XDG_DATA_HOME": "/data"})


def test_a_call_is_told_by_its_id_its_paths_and_a_line() -> None:
    found = parsed("tool.execute.before", tool="write", call="call_1", input={"filePath": "src/a.py", "content": "x"})
    assert found == HookEvent(
        agent="opencode",
        name="tool.execute.before",
        session="ses_a",
        transcript="/data/opencode/opencode.db#ses_a",
        folder="/w/shop",
        cwd="/w/shop",
        prompt="msg_1",
        call="call_1",
        tool="write",
        text="write src/a.py",
        named=("/w/shop/src/a.py",),
        pid=4711,
    )


def test_a_patch_names_all_its_paths() -> None:
    patch = (
        "*** Begin Patch\n*** Add File: a\n+*** Add File: no\n*** Update File: /b\n*** Move to: c\n*** Delete File: d\n"
    )
    found = parsed("tool.execute.before", tool="apply_patch", call="1", input={"patchText": patch})
    assert found.named == ("/w/shop/a", "/b", "/w/shop/c", "/w/shop/d")


def test_only_what_writes_names_paths_and_only_before_it_does() -> None:
    given = {"filePath": "/w/shop/a", "command": "ls"}
    assert parsed("tool.execute.before", tool="read", call="1", input=given).named == ()
    assert parsed("tool.execute.after", tool="write", call="1", input=given).named == ()
    assert (
        parsed("tool.execute.before", tool="bash", call="1", input={"command": "cd /w/shop"}).text == "bash cd /w/shop"
    )


def test_what_a_sub_agent_does_is_work_of_the_session_that_started_it() -> None:
    found = parsed("tool.execute.before", child="ses_b", tool="bash", call="1")
    assert (found.session, found.subagent) == ("ses_a", "ses_b")
    assert found.transcript == "/data/opencode/opencode.db#ses_b"
    assert events.step(parsed("chat.message", child="ses_b", text="Do it")) == Step()
    assert events.step(parsed("session.created", child="ses_b")) == Step()
    assert events.step(parsed("session.idle", child="ses_b")).over == "subagent"
    names = [parsed(name, child=child).name for name in ("session.idle", "session.created") for child in ("", "ses_b")]
    assert names == ["Stop", "SubagentStop", "SessionStart", "SessionStart"]


def test_a_shell_that_goes_on_in_the_background_is_told() -> None:
    before = [parsed("tool.execute.before", tool="bash", call="1", input={"command": c}) for c in ("ls", "serve &")]
    assert [event.background for event in before] == ["", "detached"]
    assert parsed("tool.execute.before", tool="write", call="1", input={"command": "serve &"}).background == ""


STEPS = [
    ("chat.message", "", Step("always", "prompt", "before", over="turn", tells=True)),
    ("tool.execute.before", "bash", Step("drift", "tool", "before", call="opens")),
    ("tool.execute.after", "bash", Step("drift", "tool", "after", call="ends")),
    ("tool.execute.before", "some_server_tool", Step("drift", "tool", "before", call="opens")),
    ("tool.execute.before", "read", Step()),
    ("tool.execute.after", "task", Step()),
    ("session.created", "", Step("drift", "start", "after", tells=True)),
    ("session.idle", "", Step("drift", "stop", "after", over="turn")),
    ("session.deleted", "", Step("drift", "end", "after", over="session")),
    ("session.compacted", "", Step()),
    ("", "", Step()),
]


@pytest.mark.parametrize(("event", "tool", "step"), STEPS)
def test_what_is_recorded_when(event: str, tool: str, step: Step) -> None:
    assert events.step(parsed(event, tool=tool, call="1")) == step


@pytest.mark.parametrize(
    "payload", [b"", b"null", b"[]", b"{", b"\xff", b'{"event":5,"pid":"x","input":[],"session":{}}', b"[" * 100_000]
)
def test_what_is_no_payload_is_an_event_without_a_name(payload: bytes) -> None:
    found = events.parse(payload, {})
    assert (found.agent, found.name, found.pid) == ("opencode", "", 0)
    assert events.step(found) == Step()


def test_text_that_no_file_can_hold_is_made_harmless() -> None:
    found = events.parse(b'{"event":"chat.message","session":"s","text":"\\ud800 \\u001b[31mx"}', {})
    assert found.text.isprintable()


def test_a_database_in_memory_is_no_transcript() -> None:
    assert events.parse(b'{"event":"x","session":"s"}', {"OPENCODE_DB": ":memory:"}).transcript == ""


def test_the_database_tells_how_a_call_ended(opencode: OpenCode, project: Path) -> None:
    session = opencode.session(project)
    session.prompt("One")
    uid = session.answer("")
    transcript = f"{opencode.database}#{session.id}"
    for number, status in enumerate(("pending", "running", "completed", "error")):
        session.call(uid, Act("bash", {"command": f"echo call_{number + 1}"}, status=status, call=f"call_{number}"))
    assert [events.has_ended(transcript, f"call_{number}") for number in range(5)] == [False, False, True, True, False]
    assert not events.has_ended(f"{project}/none.db#ses_a", "call_2")
    assert not events.has_ended("", "call_2")
