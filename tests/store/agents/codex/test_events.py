"""Codex CLI's hook payloads, as they came from the real agent and as they should never come."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from forkpoint.store.agents.codex import events
from forkpoint.store.hook import HookEvent, Step
from hypothesis import given
from hypothesis import strategies as st

SESSION = "01a22c35-4bdf-70e3-b19c-0eb150a4f196"
TURN = "01a22c35-4cac-78c1-8eae-2348341dfa94"
COMMON = {
    "session_id": SESSION,
    "turn_id": TURN,
    "transcript_path": f"/home/p/.codex/sessions/2026/11/30/rollout-2026-11-30T11-27-00-{SESSION}.jsonl",
    "cwd": "/projects/shop",
    "model": "gpt-5.5",
    "permission_mode": "default",
}
PATCH = """*** Begin Patch
*** Add File: new.txt
+new
*** Update File: sub/../old.txt
*** Move to: /else/b.txt
*** End Patch"""
RUNNING = '{"type":"function_call_output","call_id":"call_1","output":"Process running with session ID 7\\nOutput:\\n"}'


def event(name: str, **fields: Any) -> HookEvent:
    return events.parse(json.dumps({**COMMON, "hook_event_name": name, **fields}).encode(), {})


def step(name: str, **fields: Any) -> Step:
    return events.step(event(name, **fields))


def test_a_patch_tells_who_where_and_which_files() -> None:
    told = event("PreToolUse", tool_name="apply_patch", tool_use_id="call_1", tool_input={"command": PATCH})
    assert told == HookEvent(
        agent="codex",
        name="PreToolUse",
        session=SESSION,
        transcript=COMMON["transcript_path"],
        cwd="/projects/shop",
        prompt=TURN,
        call="call_1",
        tool="apply_patch",
        text="apply_patch new.txt, sub/../old.txt, /else/b.txt",
        named=("/projects/shop/new.txt", "/projects/shop/old.txt", "/else/b.txt"),
    )


def test_a_command_is_named_by_its_first_line() -> None:
    told = event("PostToolUse", tool_name="Bash", tool_use_id="call_1", tool_input={"command": "rm a\nrm b"})
    assert (told.text, told.named) == ("Bash rm a", ())


def test_a_prompt_is_named_by_its_first_line_with_control_characters_shown() -> None:
    assert event("UserPromptSubmit", prompt="\n  Fold the \x1b[31mlines\nplease").text == "Fold the ␛[31mlines"


@pytest.mark.parametrize(
    ("name", "fields", "expected"),
    [
        ("SessionStart", {"source": "startup"}, Step("drift", "start", "after", tells=True)),
        ("UserPromptSubmit", {"prompt": "x"}, Step("always", "prompt", "before", over="turn", tells=True)),
        ("PreToolUse", {"tool_name": "Bash"}, Step("drift", "tool", "before", call="opens")),
        ("PostToolUse", {"tool_name": "Bash"}, Step("drift", "tool", "after", call="ends")),
        ("PreToolUse", {"tool_name": "mcp__files__write"}, Step("drift", "tool", "before", call="opens")),
        ("PreToolUse", {"tool_name": "brand_new"}, Step("drift", "tool", "before", call="opens")),
        ("PreToolUse", {"tool_name": "update_plan"}, Step()),
        ("PostToolUse", {"tool_name": "spawn_agent"}, Step()),
        ("PreToolUse", {"tool_name": "multi_agent_v1wait_agent"}, Step()),
        ("PreToolUse", {"tool_name": "collaborationspawn_agent"}, Step()),
        ("Stop", {}, Step("drift", "stop", "after", over="turn")),
        ("Interrupt", {}, Step("drift", "stop", "after", over="turn")),
        ("SubagentStop", {"agent_id": "x"}, Step("drift", "stop", "after", over="subagent")),
        ("SessionEnd", {"reason": "other"}, Step("drift", "end", "after", over="session")),
        ("UserPromptSubmit", {"prompt": "job", "agent_id": "x"}, Step()),
        ("SubagentStart", {"agent_id": "x"}, Step()),
        ("PreCompact", {"trigger": "auto"}, Step()),
        ("OfLater", {}, Step()),
    ],
)
def test_what_is_recorded_at_each_event(name: str, fields: dict[str, str], expected: Step) -> None:
    assert step(name, **fields) == expected


def test_a_sub_agent_s_event_names_it_and_the_session_that_started_it() -> None:
    told = event("SubagentStop", agent_id="helper", agent_transcript_path="/x/helper.jsonl")
    assert (told.session, told.subagent, told.transcript) == (SESSION, "helper", "/x/helper.jsonl")


@pytest.mark.parametrize("payload", [b"", b"\xff", b"[]", b"3", b'"x"', b"{", b"[" * 100_000, b'{"tool_input": 3}'])
def test_what_is_no_payload_is_an_event_without_a_name(payload: bytes) -> None:
    told = events.parse(payload, {})
    assert told.name == ""
    assert events.step(told) == Step()


@given(
    st.dictionaries(st.sampled_from([*COMMON, "hook_event_name", "tool_input", "prompt"]), st.none() | st.integers())
)
def test_fields_of_another_type_count_as_missing(fields: dict[str, object]) -> None:
    told = events.parse(json.dumps(fields).encode(), {})
    assert all(isinstance(value, str | tuple | int) for value in told)


@pytest.mark.parametrize(
    ("lines", "ended"),
    [
        (['{"type":"function_call","call_id":"call_1"}'], False),
        (['{"type":"function_call","call_id":"call_1"}', '{"type":"function_call_output","call_id":"call_1"}'], True),
        (['{"type":"custom_tool_call_output","id":"x","call_id":"call_1"}'], True),
        (['{"type":"function_call_output","call_id":"call_12"}'], False),
        ([RUNNING], False),
        ([RUNNING, '{"type":"item_completed","item":{"type":"CommandExecution","id":"call_1"}}'], True),
        ([RUNNING, '{"type":"item_completed","item":{"type":"CommandExecution","id":"call_2"}}'], False),
        (['{"type":"item_completed","item":{"type":"CommandExecution","id":"call_1"}}'], False),
        ([], False),
    ],
)
def test_that_a_call_is_over_is_read_from_the_transcript(tmp_path: Path, lines: list[str], ended: bool) -> None:
    file = tmp_path / "rollout.jsonl"
    file.write_text("".join(f'{{"type":"response_item","payload":{line}}}\n' for line in lines))
    assert events.has_ended(str(file), "call_1") is ended
    assert not events.has_ended(str(tmp_path / "missing"), "call_1")


def test_a_shell_that_goes_on_in_the_background_is_told(tmp_path: Path) -> None:
    assert event("PreToolUse", tool_name="Bash", tool_input={"command": "make &"}).background == "detached"
    assert event("PostToolUse", tool_name="Bash", tool_input={"command": "make"}).background == ""
    file = tmp_path / "rollout.jsonl"
    file.write_text(f"{RUNNING}\n")
    assert event("Stop", transcript_path=str(file)).background == "managed"
    with file.open("a") as stream:
        stream.write('{"type":"item_completed","item":{"type":"CommandExecution","id":"call_1","exit_code":0}}\n')
    assert event("Stop", transcript_path=str(file)).background == "none"
    assert event("Interrupt", transcript_path=str(tmp_path / "missing")).background == "none"
