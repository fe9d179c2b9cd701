"""One record of each kind that Claude Code writes, or wrote, and what a person is shown of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tests.builders.claude import ClaudeSession, Json

from .kinds import Kind, Shown


def kinds() -> Iterator[Kind]:
    """All of them."""
    yield from _prompts()
    yield from _answers()
    yield from _system()
    yield from _attachments()
    for kind in ("hook_progress", "bash_progress", "agent_progress", "mcp_progress"):
        yield Kind(f"progress {kind}", _progress(kind))
    for kind, members in _BOOKKEEPING.items():
        yield Kind(kind, _line(kind, members))


def _user(content: object, **more: Any) -> Callable[[ClaudeSession], object]:
    return lambda session: session._chain("user", message={"role": "user", "content": content}, **more)


def _prompts() -> Iterator[Kind]:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    document = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "AAAA"}}
    text = {"type": "text", "text": "Look"}
    yield Kind("prompt", _user("Do\nit", promptId="p", promptSource="typed"), (("prompt", "", "Do"),))
    yield Kind("prompt of an SDK", _user("Do it", promptSource="sdk"), (("prompt", "", "Do it"),))
    yield Kind("prompt of the system", _user("Go", promptSource="system"), (("notice", "system", "Go"),))
    yield Kind("prompt of a peer", _user("Hi", origin={"kind": "peer"}), (("notice", "peer", "Hi"),))
    yield Kind(
        "prompt of a coordinator", _user("Hi", origin={"kind": "coordinator"}), (("notice", "coordinator", "Hi"),)
    )
    yield Kind("image", _user([text, image], imagePasteIds=[1]), (("prompt", "", "Look [image]"),))
    yield Kind("document", _user([document]), (("prompt", "", "[document]"),))
    yield Kind("isMeta", _user("injected", isMeta=True))
    yield Kind("sourceToolUseID", _user("of a tool", isMeta=True, sourceToolUseID="toolu_1"))
    yield Kind("system-reminder", _user("<system-reminder>x</system-reminder>"))
    yield Kind("local-command-caveat", _user("<local-command-caveat>x</local-command-caveat>"))
    command = (
        "<command-name>/model</command-name><command-message>model</command-message><command-args>o</command-args>"
    )
    yield Kind("command-name", _user(command), (("notice", "command", "/model o"),))
    sent = "<command-message>tidy</command-message><command-name>/tidy</command-name><command-args>src</command-args>"
    yield Kind("command-message", _user(sent), (("prompt", "command", "/tidy src"),))
    output = "<local-command-stdout>Set to o</local-command-stdout>"
    yield Kind("local-command-stdout", _user(output), (("notice", "command-output", "Set to o"),))
    yield Kind("bash-input", _user("<bash-input>ls</bash-input>"), (("notice", "shell", "! ls"),))
    yield Kind("bash-stdout", _user("<bash-stdout>a</bash-stdout>"), (("notice", "shell-output", "a"),))
    note = "<task-notification><status>completed</status><summary>Built</summary></task-notification>"
    yield Kind("task-notification", _user(note), (("notice", "task", "Built"),))
    stop = "[Request interrupted by user for tool use]"
    told = ("notice", "interrupted", "Interrupted by the person")
    yield Kind("interrupted", _user(stop, interruptedMessageId="msg_1"), (told,))
    summary = {"isCompactSummary": True, "isVisibleInTranscriptOnly": True}
    yield Kind("isCompactSummary", _user("So far …", **summary), (("summary", "compaction", "Conversation compacted"),))
    refused = [{"type": "tool_result", "tool_use_id": "t", "content": "No.", "is_error": True}]
    yield Kind("toolDenialKind", _user(refused, toolDenialKind="user"), (("tool_result", "", "No."),))


def _assistant(block: Json, **more: Any) -> Callable[[ClaudeSession], object]:
    return lambda session: session._chain(
        "assistant", message=session._assistant_message(session._message_id(), block), **more
    )


def _answers() -> Iterator[Kind]:
    text = {"type": "text", "text": "Yes.\nNo."}
    yield Kind("text", _assistant(text, requestId="r", effort="high"), (("reply", "", "Yes."),))
    yield Kind("isAbortedMidStream", _assistant(text, isAbortedMidStream=True), (("reply", "", "Yes."),))
    yield Kind("thinking", _assistant({"type": "thinking", "thinking": "Hm."}), (("reply", "thinking", "Hm."),))
    yield Kind("thinking, empty", _assistant({"type": "thinking", "thinking": "", "signature": "x"}))
    yield Kind("redacted_thinking", _assistant({"type": "redacted_thinking", "data": "x"}))
    for tool, given, shown in _CALLS:
        call = {"type": "tool_use", "id": "toolu_1", "name": tool, "input": given}
        yield Kind(f"tool_use {tool}", _assistant(call), (("tool_call", "", shown),))
    search = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "x"}}
    yield Kind("server_tool_use", _assistant(search), (("tool_call", "", "web_search x"),))
    found = {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": [{"type": "text", "text": "hit"}]}
    yield Kind("result of a server's tool", _assistant(found), (("tool_result", "", "hit"),))
    failed = {"type": "text", "text": "API Error: 529"}
    about = {"isApiErrorMessage": True, "error": "overloaded", "apiErrorStatus": 529}
    yield Kind("isApiErrorMessage", _assistant(failed, **about), (("notice", "api-error", "API Error: 529"),))

    def made_here(session: ClaudeSession) -> None:
        message = session._assistant_message("msg_1", {"type": "text", "text": "No response requested."})
        session._chain("assistant", message={**message, "model": "<synthetic>"})

    yield Kind("<synthetic>", made_here, (("notice", "synthetic", "No response requested."),))


_CALLS: list[tuple[str, Json, str]] = [
    ("Edit", {"file_path": "/x/a.py", "old_string": "a", "new_string": "b", "replace_all": False}, "Edit /x/a.py"),
    ("MultiEdit", {"file_path": "/x/a.py", "edits": []}, "MultiEdit /x/a.py"),
    ("Write", {"file_path": "/x/a.py", "content": ""}, "Write /x/a.py"),
    ("NotebookEdit", {"notebook_path": "/x/a.ipynb", "new_source": ""}, "NotebookEdit /x/a.ipynb"),
    ("Read", {"file_path": "/x/a.py", "offset": 1}, "Read /x/a.py"),
    ("Bash", {"command": "ls\npwd", "description": "list"}, "Bash ls"),
    ("PowerShell", {"command": "dir"}, "PowerShell dir"),
    ("Glob", {"pattern": "**/*.py"}, "Glob **/*.py"),
    ("Grep", {"pattern": "x", "-i": True, "path": "/x"}, "Grep x"),
    ("WebFetch", {"url": "http://a", "prompt": "p"}, "WebFetch http://a"),
    ("WebSearch", {"query": "q"}, "WebSearch q"),
    ("Agent", {"description": "small job", "prompt": "p", "subagent_type": "x"}, "Agent small job"),
    ("Task", {"description": "small job", "prompt": "p"}, "Task small job"),
    ("mcp__db__ask", {"sql": "select 1"}, "mcp__db__ask"),
]


def _system() -> Iterator[Kind]:
    for subtype, members, shown in _SUBTYPES:
        yield Kind(f"system {subtype}", _subtype(subtype, members), shown)
    yield Kind(
        "system without a subtype",
        lambda session: session._chain("system", content="Running hooks", level="info", toolUseID="t"),
        (("notice", "informational", "Running hooks"),),
    )


def _subtype(subtype: str, members: Json) -> Callable[[ClaudeSession], object]:
    return lambda session: session.system(subtype, **members)


_SUBTYPES: list[tuple[str, Json, tuple[Shown, ...]]] = [
    ("stop_hook_summary", {"hookCount": 1, "hookErrors": []}, ()),
    ("stop_hook_summary", {"hookErrors": ["x"]}, (("notice", "hook", "a Stop hook failed"),)),
    ("stop_hook_summary", {"preventedContinuation": True}, (("notice", "hook", "a Stop hook went on"),)),
    ("turn_duration", {"durationMs": 10, "messageCount": 2}, ()),
    ("session_start", {"content": "x"}, ()),
    ("bridge_status", {"content": "x"}, ()),
    ("local_command", {"content": "<command-name>/cost</command-name>"}, (("notice", "command", "/cost"),)),
    ("api_error", {"content": "Overloaded", "level": "error"}, (("notice", "api-error", "Overloaded"),)),
    ("informational", {"content": "By the way"}, (("notice", "informational", "By the way"),)),
    ("away_summary", {"content": "While you were away"}, (("notice", "informational", "While you were away"),)),
    ("scheduled_task_fire", {"content": "Nightly"}, (("notice", "task", "Nightly"),)),
    ("agents_killed", {"content": "2 agents"}, (("notice", "task", "2 agents"),)),
    ("api_refusal", {"content": "Refused"}, (("notice", "api-error", "Refused"),)),
    ("model_refusal_fallback", {"content": "Fell back"}, (("notice", "api-error", "Fell back"),)),
    ("microcompact_boundary", {"content": "Context cleaned"}, (("notice", "compaction", "Context cleaned"),)),
    ("of_next_year", {"content": "new"}, (("notice", "unknown", "of_next_year new"),)),
]


def _attachments() -> Iterator[Kind]:
    for kind in _QUIET.split():
        yield Kind(f"attachment {kind}", _attached(kind, {"rendered": [{"type": "text", "text": "for the model"}]}))
    for kind, members, shown in _LOUD:
        yield Kind(f"attachment {kind}", _attached(kind, members), (shown,))


def _attached(kind: str, members: Json) -> Callable[[ClaudeSession], object]:
    return lambda session: session.attachment(kind, **members)


_QUIET = """hook_success hook_additional_context file directory nested_memory plan_mode compact_file_reference
skill_listing deferred_tools_delta task_reminder diagnostics date_change total_tokens_reminder prompt_snapshot
environment model agent_listing_delta auto_mode auto_mode_exit session_context date remote_session_change instructions
command_permissions invoked_skills"""
_LOUD: list[tuple[str, Json, Shown]] = [
    ("queued_command", {"prompt": "And this", "commandMode": "prompt"}, ("prompt", "queued", "And this")),
    ("edited_text_file", {"filename": "/x/a.py", "snippet": "1"}, ("notice", "edited", "/x/a.py changed on disk")),
    (
        "hook_blocking_error",
        {"hookName": "PreToolUse:Bash", "blockingError": {"blockingError": "not allowed"}},
        ("notice", "hook", "hook PreToolUse:Bash: not allowed"),
    ),
    (
        "hook_stopped_continuation",
        {"hookName": "Stop", "message": "enough"},
        ("notice", "hook", "hook Stop: enough"),
    ),
]


def _progress(kind: str) -> Callable[[ClaudeSession], object]:
    return lambda session: session._chain("progress", data={"type": kind}, toolUseID="t", parentToolUseID="t")


def _line(kind: str, members: Json) -> Callable[[ClaudeSession], object]:
    return lambda session: session.line({"type": kind, **members, "sessionId": session.id})


_BOOKKEEPING: dict[str, Json] = {
    "summary": {"summary": "An older session", "leafUuid": "00000000-0000-0000-0000-000000000001"},
    "custom-title": {"customTitle": "Mine"},
    "ai-title": {"aiTitle": "Its own"},
    "agent-name": {"agentName": "x"},
    "tag": {"tag": "x"},
    "last-prompt": {"lastPrompt": "before", "leafUuid": "00000000-0000-0000-0000-000000000000"},
    "mode": {"mode": "normal"},
    "permission-mode": {"permissionMode": "default"},
    "agent-setting": {"agentSetting": "x"},
    "queue-operation": {"operation": "enqueue", "content": "x"},
    "pr-link": {"prNumber": 1},
    "worktree-state": {"worktreeSession": None},
    "content-replacement": {"replacements": []},
    "attribution-snapshot": {"messageId": "x"},
    "cost-state": {"totalCostUSD": 0},
    "bridge-session": {},
    "frame-link": {},
    "atis-latch": {},
    "started": {"runId": "x"},
    "result": {"runId": "x"},
    "tools-used": {},
    "continued-in": {},
    "derived-from": {},
    "fork-context-ref": {},
    "api-request": {"id": "x", "params": {}},
    "api-request-shape": {},
    "api-request-blob": {"data": "x"},
    "file-history-snapshot": {
        "messageId": "x",
        "isSnapshotUpdate": False,
        "snapshot": {"messageId": "x", "timestamp": "2026-11-30T09:00:00.000Z", "trackedFileBackups": {}},
    },
    "file-history-delta": {
        "messageId": "x",
        "snapshotMessageId": "x",
        "trackingPath": "a.py",
        "backup": {"backupFileName": None, "version": 1, "backupTime": "2026-11-30T09:00:00.000Z"},
    },
}
