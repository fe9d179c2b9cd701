"""Claude Code's hook payloads, as they came from the real agent and as they should never come."""

from __future__ import annotations

import json
from typing import Any

import pytest
from forkpoint.store.agents.claude import events
from forkpoint.store.hook import HookEvent, Step
from hypothesis import given
from hypothesis import strategies as st

SESSION = "80bc72cc-a8a5-4e86-9723-359fe87f5220"
PROMPT = "1d39f059-02d8-4928-870d-f754c5ec2970"
COMMON = {
    "session_id": SESSION,
    "transcript_path": f"/home/p/.claude/projects/-work-shop/{SESSION}.jsonl",
    "cwd": "/projects/shop/src",
    "prompt_id": PROMPT,
    "permission_mode": "default",
    "effort": {"level": "medium"},
}
ENV = {"CLAUDE_PROJECT_DIR": "/projects/shop", "CLAUDE_PID": "4711"}


def event(name: str, env: dict[str, str] | None = None, **fields: Any) -> HookEvent:
    payload = {**COMMON, "hook_event_name": name, **fields}
    return events.parse(json.dumps(payload).encode(), ENV if env is None else env)


def step(name: str, **fields: Any) -> Step:
    return events.step(event(name, **fields))


def test_a_tool_call_tells_who_where_and_what() -> None:
    told = event(
        "PreToolUse",
        tool_name="Edit",
        tool_use_id="toolu_1",
        tool_input={"file_path": "/projects/shop/src/pay.py", "old_string": "a", "new_string": "b"},
    )
    assert told == HookEvent(
        agent="claude",
        name="PreToolUse",
        session=SESSION,
        transcript=f"/home/p/.claude/projects/-work-shop/{SESSION}.jsonl",
        folder="/projects/shop",
        cwd="/projects/shop/src",
        prompt=PROMPT,
        call="toolu_1",
        tool="Edit",
        text="Edit pay.py",
        named=("/projects/shop/src/pay.py",),
        pid=4711,
    )


def test_a_prompt_is_named_by_its_first_line_with_control_characters_shown() -> None:
    assert event("UserPromptSubmit", prompt="\n  Fold the \x1b[31mlines\nplease").text == "Fold the ␛[31mlines"


def test_the_root_is_where_the_session_started_whatever_the_shell_did() -> None:
    told = event("PostToolUse", cwd="/somewhere/else")
    assert (told.folder, told.cwd) == ("/projects/shop", "/somewhere/else")
    assert event("PostToolUse", env={}).folder == ""


def test_a_transcript_below_the_home_folder_is_expanded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/p")
    assert event("Stop", transcript_path="~/.claude/x.jsonl").transcript == "/home/p/.claude/x.jsonl"


@pytest.mark.parametrize("name", ["PreToolUse", "PostToolUse", "PostToolUseFailure"])
@pytest.mark.parametrize("tool", sorted(events.READ_ONLY))
def test_tools_that_only_read_cost_nothing(name: str, tool: str) -> None:
    assert step(name, tool_name=tool) == Step()


@pytest.mark.parametrize(
    "tool", ["Bash", "PowerShell", "Edit", "NotebookEdit", "Skill", "mcp__files__move", "BashOutput", ""]
)
def test_any_other_tool_may_write_even_one_that_nobody_knows(tool: str) -> None:
    assert step("PreToolUse", tool_name=tool) == Step("drift", "tool", "before", call="opens")
    assert step("PostToolUse", tool_name=tool) == Step("drift", "tool", "after", call="ends")
    assert step("PostToolUseFailure", tool_name=tool) == Step("drift", "tool", "after", call="ends")


def test_a_prompt_always_makes_a_checkpoint_before_it() -> None:
    assert step("UserPromptSubmit") == Step("always", "prompt", "before", over="turn", tells=True)


@pytest.mark.parametrize(
    ("name", "reason", "over"),
    [
        ("SessionStart", "start", ""),
        ("SubagentStop", "stop", "subagent"),
        ("Stop", "stop", "turn"),
        ("StopFailure", "stop", "turn"),
        ("SessionEnd", "end", "session"),
    ],
)
def test_starts_and_ends_store_what_drifted(name: str, reason: str, over: str) -> None:
    done = step(name)
    assert (done.save, done.reason, done.over) == ("drift", reason, over)


def test_only_where_the_person_sees_it_something_is_told() -> None:
    names = (
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "SubagentStop",
        "Stop",
        "SessionEnd",
        "New",
    )
    assert [name for name in names if step(name).tells] == ["SessionStart", "UserPromptSubmit"]


def test_a_sub_agent_s_call_says_so() -> None:
    assert event("PostToolUse", tool_name="Write", agent_id="a80c", agent_type="general-purpose").subagent == "a80c"


@pytest.mark.parametrize("source", ["startup", "resume", "fork", "clear", "compact"])
def test_how_a_session_started_is_kept(source: str) -> None:
    assert event("SessionStart", source=source).source == source


@pytest.mark.parametrize(
    "payload", [b"", b"nonsense", b"[]", b"null", b'"x"', b"\xff\xfe", b"[" * 100_000, b'{"hook_event_name": 7}', b"{}"]
)
def test_what_is_no_event_asks_for_nothing(payload: bytes) -> None:
    told = events.parse(payload, {})
    assert told.name == ""
    assert events.step(told) == Step()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
FIELDS = [
    *COMMON,
    "hook_event_name",
    "tool_name",
    "tool_input",
    "tool_use_id",
    "prompt",
    "source",
    "reason",
    "agent_id",
]
INPUT = st.dictionaries(st.sampled_from(["file_path", "command", "notebook_path", "path"]), JSON, max_size=3)
PAYLOAD = st.dictionaries(st.sampled_from(FIELDS), JSON | INPUT | st.sampled_from(["PreToolUse", "UserPromptSubmit"]))


@given(PAYLOAD, st.text(max_size=5))
def test_any_field_may_be_missing_or_of_another_kind(payload: dict[str, object], pid: str) -> None:
    told = events.parse(json.dumps(payload).encode(), {"CLAUDE_PID": pid})
    events.step(told)
    for text in (told.session, told.text, told.tool, *told.named):
        text.encode()
    assert told.pid >= 0
