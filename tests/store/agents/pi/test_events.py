"""What our extension tells, and what is recorded at it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from forkpoint.store.agents.pi.events import has_ended, parse, step
from forkpoint.store.hook import HookEvent, Step

from tests.builders.pi import Job, PiSession

TOLD = {"session": "s1", "file": "/home/me/.pi/agent/sessions/x.jsonl", "cwd": "/shop", "pid": 4711}


def event(name: str, **more: object) -> HookEvent:
    return parse(json.dumps({"event": name, **TOLD, **more}).encode(), {})


def test_a_call_is_told_with_its_tool_path_and_process() -> None:
    told = event("tool_call", call="call_1", tool="edit", input={"path": "@src/a.py", "edits": "[…]"})
    assert told == HookEvent(
        agent="pi",
        name="tool_call",
        session="s1",
        transcript=TOLD["file"],  # type: ignore[arg-type]
        folder="/shop",
        cwd="/shop",
        call="call_1",
        tool="edit",
        text="edit @src/a.py",
        named=("/shop/src/a.py",),
        pid=4711,
    )
    assert step(told) == Step("drift", "tool", "before", call="opens")
    assert step(told._replace(name="tool_result")) == Step("drift", "tool", "after", call="ends")


def test_a_shell_s_command_names_the_moment_and_no_path() -> None:
    told = event("tool_result", call="c", tool="bash", input={"command": "rm a\nrm b"})
    assert (told.text, told.named) == ("bash rm a", ())


@pytest.mark.parametrize("tool", ["read", "grep", "find", "ls"])
def test_tools_that_only_look_cost_nothing(tool: str) -> None:
    assert step(event("tool_call", call="c", tool=tool, input={"path": "a"})) == Step()


def test_a_tool_that_is_not_known_may_write() -> None:
    assert step(event("tool_call", call="c", tool="mcp__db__query", input={})).save == "drift"


def test_a_prompt_is_told_with_its_time_and_text() -> None:
    told = event("prompt", prompt="1796037631289", text="Fold\nthe lines")
    assert (told.prompt, told.text) == ("1796037631289", "Fold")
    assert step(told) == Step("always", "prompt", "before", over="turn", tells=True)


def test_beginnings_ends_and_rewinds_are_told_with_where_the_conversation_stands() -> None:
    started = event("session_start", reason="fork", entry="0badcafe")
    assert (started.name, started.source, started.entry) == ("SessionStart", "fork", "0badcafe")
    assert step(started).tells
    assert step(event("agent_end")).over == "turn"
    assert step(event("session_tree", entry="a")) == Step("drift", "stop", "after", over="turn")
    ended = event("session_shutdown", reason="quit")
    assert (ended.name, step(ended).over) == ("SessionEnd", "session")


@pytest.mark.parametrize(
    "payload",
    [b"", b"null", b"[]", b"{", b"\xff\xfe", b'{"event": 7, "pid": "x", "input": [1], "cwd": null}', b"[" * 100_000],
)
def test_what_is_no_payload_is_an_event_without_a_name(payload: bytes) -> None:
    told = parse(payload, {})
    assert (told.name, told.pid, told.folder) == ("", 0, "")
    assert step(told) == Step()


def test_a_lone_surrogate_can_be_written() -> None:
    event("prompt", text="half \ud83d").text.encode()


def test_the_transcript_tells_that_a_call_ended(home: Path, shop: Path) -> None:
    session = PiSession(home, shop)
    session.prompt("One")
    session.calls(Job("bash", {"command": "a"}), Job("bash", {"command": "b"}, answered=False))
    first, second = (part["id"] for part in session.records[-2]["message"]["content"])
    assert has_ended(str(session.file), first)
    assert not has_ended(str(session.file), second)
    assert not has_ended(str(shop / "gone"), first)


def test_a_sub_agent_speaks_for_the_session_that_started_it() -> None:
    told = event("tool_call", call="c", tool="bash", input={}, subagent="s2", folder="/shop", cwd="/shop/web")
    assert (told.session, told.subagent, told.folder, told.cwd) == ("s1", "s2", "/shop", "/shop/web")
    assert step(told).call == "opens"
    ended = event("agent_end", subagent="s2")
    assert step(ended) == Step("drift", "stop", "after", over="subagent")
    for name in ("prompt", "session_start", "session_shutdown", "session_tree"):
        assert step(event(name, subagent="s2")) == Step()


def test_a_shell_that_leaves_something_running_is_told() -> None:
    assert event("tool_call", call="c", tool="bash", input={"command": "make & "}).background == "detached"
    assert event("tool_call", call="c", tool="bash", input={"command": "make && ls"}).background == ""
    assert event("tool_call", call="c", tool="write", input={"path": "a", "command": "make &"}).background == ""
