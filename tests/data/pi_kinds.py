"""One record of each kind that Pi writes, or wrote, and what a person is shown of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.builders.pi import Job, Json, PiSession

from .kinds import Kind, Shown


def kinds() -> Iterator[Kind]:
    """All of them."""
    for role, members, shown in _MESSAGES:
        yield Kind(f"message {role}", _message(role, members), shown)
    for kind, members, shown in _ENTRIES:
        yield Kind(kind, _entry(kind, members), shown)
    for tool, arguments, text in _CALLS:
        result = ("tool_result", "", "ok")
        yield Kind(f"toolCall {tool}", _call(Job(tool, arguments)), (("tool_call", "", text), result))
    yield Kind("toolResult, failed", _call(Job("bash", {"command": "x"}, "no", error=True)), _FAILED)
    yield Kind("toolCall without a result", _call(Job("bash", {"command": "x"}, answered=False)), _FAILED[:1])
    yield Kind("label", lambda session: session.label(session.records[0]["id"], "mine"))
    yield Kind("label, taken away", lambda session: session.label(session.records[0]["id"], None))
    yield Kind("session_info", lambda session: session.name("Mine"))
    yield Kind("compaction", _compaction, (("summary", "compaction", "Conversation compacted (50,000 tokens before)"),))


_FAILED: tuple[Shown, ...] = (("tool_call", "", "bash x"), ("tool_result", "", "no"))
_TEXT = [{"type": "text", "text": "Yes.\nNo."}]
_IMAGE = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
_LEFT = ("summary", "branch-summary", "Summary of the branch that was left: It failed")
_MESSAGES: list[tuple[str, Json, tuple[Shown, ...]]] = [
    ("user", {"content": "Do\nit"}, (("prompt", "", "Do"),)),
    ("user", {"content": [{"type": "text", "text": "Do it"}, _IMAGE]}, (("prompt", "", "Do it"),)),
    ("user", {"content": [_IMAGE]}, (("prompt", "", "[image]"),)),
    ("system", {"content": "You are", "sections": {}, "toolsAdded": []}, ()),
    ("assistant", {"content": _TEXT, "stopReason": "stop"}, (("reply", "", "Yes."),)),
    ("assistant", {"content": [{"type": "thinking", "thinking": "Hm."}]}, (("reply", "thinking", "Hm."),)),
    (
        "assistant",
        {"content": [], "stopReason": "error", "errorMessage": "no credit"},
        (("notice", "api-error", "no credit"),),
    ),
    (
        "assistant",
        {"content": [], "stopReason": "aborted"},
        (("notice", "interrupted", "Interrupted by the person"),),
    ),
    (
        "bashExecution",
        {"command": "ls", "output": "a\nb", "exitCode": 0, "cancelled": False, "truncated": False},
        (("notice", "shell", "! ls"), ("notice", "shell-output", "a")),
    ),
    (
        "bashExecution",
        {"command": "ls", "output": "", "exitCode": 1, "excludeFromContext": True, "fullOutputPath": "/x"},
        (("notice", "shell", "! ls"), ("notice", "shell-output", "(no output)")),
    ),
    ("custom", {"customType": "todo", "content": "one", "display": True}, (("notice", "custom", "todo: one"),)),
    ("custom", {"customType": "todo", "content": "one", "display": False}, ()),
    ("hookMessage", {"customType": "todo", "content": "one", "display": True}, (("notice", "custom", "todo: one"),)),
    ("branchSummary", {"summary": "It failed", "fromId": "x"}, (_LEFT,)),
    (
        "compactionSummary",
        {"summary": "So far", "tokensBefore": 10},
        (("summary", "compaction", "Conversation compacted (10 tokens before)"),),
    ),
    ("of_next_year", {"content": "new"}, (("notice", "unknown", "of_next_year new"),)),
]
_ENTRIES: list[tuple[str, Json, tuple[Shown, ...]]] = [
    ("model_change", {"provider": "p", "modelId": "m"}, ()),
    ("thinking_level_change", {"thinkingLevel": "high"}, ()),
    ("usage", {"usage": {}}, ()),
    ("custom", {"customType": "state", "data": {"x": 1}}, ()),
    ("branch_summary", {"fromId": "root", "summary": "It failed", "details": {}, "fromHook": False}, (_LEFT,)),
    (
        "custom_message",
        {"customType": "todo", "content": [{"type": "text", "text": "one"}], "display": True, "details": {}},
        (("notice", "custom", "todo: one"),),
    ),
    ("custom_message", {"customType": "todo", "content": "one", "display": False}, ()),
    (
        "context_edit",
        {"targetId": "x", "replacement": None},
        (("notice", "context-edit", "an earlier message was taken out of what the model sees"),),
    ),
    (
        "context_edit",
        {"targetId": "x", "replacement": "short"},
        (("notice", "context-edit", "an earlier message was replaced in what the model sees"),),
    ),
    ("of_next_year", {"content": "new"}, (("notice", "unknown", "of_next_year new"),)),
]
_CALLS: list[tuple[str, Json, str]] = [
    ("write", {"path": "/x/a", "content": ""}, "write /x/a"),
    ("edit", {"path": "/x/a", "oldText": "a", "newText": "b"}, "edit /x/a"),
    ("edit", {"path": "/x/a", "edits": [{"oldText": "a", "newText": "b"}]}, "edit /x/a"),
    ("read", {"path": "/x/a", "offset": 1}, "read /x/a"),
    ("bash", {"command": "ls\npwd"}, "bash ls"),
    ("grep", {"pattern": "x"}, "grep x"),
    ("ask", {"count": 1}, "ask"),
]


def _message(role: str, members: Json) -> Callable[[PiSession], object]:
    return lambda session: session.message(role, **members)


def _entry(kind: str, members: Json) -> Callable[[PiSession], object]:
    return lambda session: session.append(kind, **members)


def _call(job: Job) -> Callable[[PiSession], object]:
    return lambda session: session.calls(job)


def _compaction(session: PiSession) -> None:
    kept = session.records[0]["id"]
    session.append(
        "compaction",
        summary="So far",
        firstKeptEntryId=kept,
        tokensBefore=50_000,
        details={"readFiles": ["a"], "modifiedFiles": ["b"]},
        fromHook=False,
        retainedTail=[],
    )
