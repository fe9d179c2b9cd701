"""One record of each kind that Codex CLI writes, or wrote, and what a person is shown of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.builders.codex import CodexSession, Json

from .kinds import Kind, Shown


def kinds() -> Iterator[Kind]:
    """All of them."""
    for kind, payload in _LINES:
        yield Kind(kind, _line(kind, payload))
    yield Kind("compacted", _line("compacted", {"message": "So far"}), (("summary", "compaction", COMPACTED),))
    for kind, members, shown in _ITEMS:
        yield Kind(f"response_item {kind}", _item(kind, members), shown)
    for kind, members, shown in _EVENTS:
        yield Kind(f"event_msg {kind}", _event(kind, members), shown)
    for kind in _HIDDEN_EVENTS.split():
        yield Kind(f"event_msg {kind}", _event(kind, {"message": "said elsewhere", "call_id": "call_x"}))
    for shape in _SHAPES.split():
        yield Kind(f"item_completed {shape}", _completed(shape))


COMPACTED = "Conversation compacted"
_LINES: list[tuple[str, Json]] = [
    ("session_meta", {"id": "00000000-0000-4000-8000-000000000001", "cwd": "/elsewhere"}),
    ("turn_context", {"cwd": "/x", "model": "gpt-5.5", "approval_policy": "never", "summary": "auto"}),
    ("world_state", {"full": False, "state": {}}),
    ("token_usage_record", {"usage": {}}),
    ("inter_agent_communication", {"message": "x"}),
    ("inter_agent_communication_metadata", {"message": "x"}),
]


def _message(role: str, text: str, **more: object) -> Json:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"role": role, "content": [{"type": kind, "text": text}], **more}


_PICTURE = [{"type": "input_text", "text": "See"}, {"type": "input_image", "image_url": "data:image/png;base64,AA"}]
_ITEMS: list[tuple[str, Json, tuple[Shown, ...]]] = [
    ("message", _message("user", "Do\nit"), (("prompt", "", "Do"),)),
    ("message", {"role": "user", "content": _PICTURE}, (("prompt", "", "See [image]"),)),
    ("message", _message("assistant", "Yes.", phase="final_answer"), (("reply", "", "Yes."),)),
    ("message", _message("developer", "Be kind"), ()),
    ("message", _message("system", "Be kind"), ()),
    *(
        ("message", _message("user", f"{text} of the program"), ())
        for text in (
            "<environment_context>",
            "<user_instructions>",
            "# AGENTS.md instructions for /x",
            "<turn_aborted>",
            "<permissions instructions>",
            "<skill>",
        )
    ),
    (
        "reasoning",
        {"summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": "x"},
        (("reply", "thinking", "Hm."),),
    ),
    ("reasoning", {"summary": [], "content": None, "encrypted_content": "x"}, ()),
    (
        "function_call",
        {"name": "exec_command", "arguments": '{"cmd": "ls"}', "call_id": "c"},
        (("tool_call", "", "Bash ls"),),
    ),
    (
        "function_call",
        {"name": "ask", "namespace": "mcp__db", "arguments": '{"query": "q"}', "call_id": "c"},
        (("tool_call", "", "ask q"),),
    ),
    ("function_call_output", {"call_id": "c", "output": "out"}, (("tool_result", "", "out"),)),
    (
        "custom_tool_call",
        {"name": "apply_patch", "input": "*** Begin Patch\n*** Delete File: a\n*** End Patch", "call_id": "c"},
        (("tool_call", "", "apply_patch a"),),
    ),
    ("custom_tool_call_output", {"call_id": "c", "output": "Exit code: 1\nOutput:\nno"}, (("tool_result", "", "no"),)),
    (
        "local_shell_call",
        {"call_id": "c", "status": "completed", "action": {"type": "exec", "command": ["ls"]}},
        (("tool_call", "", "Bash ls"),),
    ),
    ("web_search_call", {"action": {"type": "search", "query": "q"}}, (("tool_call", "", "web_search q"),)),
    ("image_generation_call", {"id": "ig_1", "status": "completed"}, (("tool_call", "", "image_generation"),)),
    ("tool_search_call", {"call_id": "c", "arguments": {}}, ()),
    ("tool_search_output", {"call_id": "c", "tools": []}, ()),
    ("compaction", {"encrypted_content": "x"}, ()),
    ("context_compaction", {"encrypted_content": "x"}, ()),
    ("ghost_snapshot", {"ghost_commit": {"id": "0" * 40, "parent": None, "preexisting_untracked_files": []}}, ()),
    (
        "agent_message",
        {"author": "/root/small", "content": [{"type": "input_text", "text": "From: x\nPayload:\nI am done"}]},
        (("notice", "agent", "message from /root/small: I am done"),),
    ),
    ("of_next_year", {}, (("notice", "unknown", "of_next_year"),)),
]
_EVENTS: list[tuple[str, Json, tuple[Shown, ...]]] = [
    ("turn_aborted", {"reason": "interrupted"}, (("notice", "interrupted", "Interrupted by the person"),)),
    ("turn_aborted", {"reason": "replaced"}, (("notice", "interrupted", "Replaced by another turn"),)),
    ("turn_aborted", {"reason": "review_ended"}, (("notice", "interrupted", "The review has ended"),)),
    ("turn_aborted", {"reason": "budget_limited"}, (("notice", "interrupted", "Stopped: the budget is used up"),)),
    ("error", {"message": "no credit"}, (("notice", "api-error", "no credit"),)),
    ("stream_error", {"message": "again"}, (("notice", "api-error", "again"),)),
    ("warning", {"message": "mind"}, (("notice", "informational", "mind"),)),
    ("entered_review_mode", {"target": {}}, (("notice", "review", "Review begins"),)),
    ("exited_review_mode", {"review_output": None}, (("notice", "review", "Review ends"),)),
    ("undo_completed", {"success": True, "message": "2 files"}, (("notice", "undo", "2 files"),)),
    ("of_next_year", {}, (("notice", "unknown", "of_next_year"),)),
]
_HIDDEN_EVENTS = """task_started turn_started task_complete turn_complete user_message agent_message agent_reasoning
agent_reasoning_raw_content token_count context_compacted thread_name_updated thread_goal_updated
thread_settings_applied exec_command_end mcp_tool_call_end web_search_end image_generation_end view_image_tool_call
sub_agent_activity guardian_assessment patch_apply_end"""
_SHAPES = """UserMessage AgentMessage Reasoning Plan CommandExecution FileChange McpToolCall DynamicToolCall
CollabAgentToolCall SubAgentActivity WebSearch ImageView ImageGeneration Extension EnteredReviewMode ExitedReviewMode
HookPrompt ContextCompaction"""


def _line(kind: str, payload: Json) -> Callable[[CodexSession], object]:
    return lambda session: session.line(kind, payload)


def _item(kind: str, members: Json) -> Callable[[CodexSession], object]:
    return lambda session: session.item(kind, **members)


def _event(kind: str, members: Json) -> Callable[[CodexSession], object]:
    return lambda session: session.event(kind, **members)


def _completed(shape: str) -> Callable[[CodexSession], object]:
    return lambda session: session.done(shape, status="completed")
