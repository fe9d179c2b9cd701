"""One record of each kind that Gemini CLI writes, and what a person is shown of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.builders.gemini import GeminiSession, Job, Json

from .kinds import Kind, Shown


def kinds() -> Iterator[Kind]:
    """All of them."""
    for name, kind, content, more, shown in _MESSAGES:
        yield Kind(name, _message(kind, content, more), shown)
    for status, flavour in _STATUSES.items():
        job = Job("run_shell_command", {"command": "ls"}, "a", status=status)
        call, result = ("tool_call", "", "run_shell_command ls"), ("tool_result", flavour, "a")
        yield Kind(f"toolCalls {status}", _calls(job), (call, result))
    for tool, args, shown in _CALLS:
        yield Kind(f"toolCalls {tool}", _calls(Job(tool, args)), (("tool_call", "", shown), ("tool_result", "", "ok")))
    for name, change in _CHANGES.items():
        yield Kind(f"$set {name}", lambda session, change=change: session.set(**change))
    yield Kind("a second header", lambda session: session.resume())


_STATUSES = {
    "success": "",
    "error": "",
    "cancelled": "interrupted",
    "validating": "",
    "scheduled": "",
    "awaiting_approval": "",
    "executing": "",
}
_CALLS: list[tuple[str, Json, str]] = [
    ("write_file", {"file_path": "/x/a", "content": ""}, "write_file /x/a"),
    ("replace", {"file_path": "/x/a", "old_string": "", "new_string": ""}, "replace /x/a"),
    ("read_file", {"file_path": "/x/a"}, "read_file /x/a"),
    ("glob", {"pattern": "*.py"}, "glob *.py"),
    ("google_web_search", {"query": "q"}, "google_web_search q"),
    ("list_directory", {"dir_path": "/x"}, "list_directory /x"),
    ("invoke_agent", {"agent_name": "generalist", "prompt": "p"}, "invoke_agent generalist p"),
    ("of_next_year", {}, "of_next_year"),
]
_CHANGES: dict[str, Json] = {
    "lastUpdated": {"lastUpdated": "2026-11-30T09:30:00.000Z"},
    "summary": {"summary": "What it was about"},
    "directories": {"directories": ["/else"]},
}
_PICTURE = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
_MESSAGES: list[tuple[str, str, object, Json, tuple[Shown, ...]]] = [
    ("user, a string", "user", "Do\nit", {}, (("prompt", "", "Do"),)),
    ("user, parts", "user", [{"text": "Do it"}], {}, (("prompt", "", "Do it"),)),
    ("inlineData", "user", [{"text": "See"}, _PICTURE], {}, (("prompt", "", "See [image]"),)),
    (
        "displayContent",
        "user",
        [{"text": "See @a\n--- Content of a ---"}],
        {"displayContent": [{"text": "See @a"}]},
        (("prompt", "", "See @a"),),
    ),
    ("injected", "user", [{"text": "<session_context>x</session_context>"}], {}, ()),
    ("Please continue.", "user", [{"text": "Please continue."}], {}, (("notice", "system", "Please continue."),)),
    (
        "compression",
        "user",
        [{"text": "<state_snapshot>x</state_snapshot>"}],
        {},
        (("summary", "compaction", "Conversation compressed"),),
    ),
    ("gemini", "gemini", "Yes.\nNo.", {"model": "m", "tokens": {"total": 3}}, (("reply", "", "Yes."),)),
    (
        "thoughts",
        "gemini",
        "Yes.",
        {"thoughts": [{"subject": "Look", "description": "at it", "timestamp": "2026-11-30T09:00:00.000Z"}]},
        (("reply", "thinking", "Look at it"), ("reply", "", "Yes.")),
    ),
    (
        "functionCall without its result",
        "gemini",
        [{"functionCall": {"id": "f1", "name": "read_file", "args": {"file_path": "/x/a"}}}],
        {},
        (("tool_call", "", "read_file /x/a"),),
    ),
    ("info", "info", "Update there", {}, (("notice", "informational", "Update there"),)),
    ("info, cancelled", "info", "Request cancelled.", {}, (("notice", "interrupted", "Request cancelled."),)),
    ("warning", "warning", "Mind", {}, (("notice", "informational", "Mind"),)),
    ("error", "error", "No credit", {}, (("notice", "api-error", "No credit"),)),
    ("of_next_year", "of_next_year", "new", {}, (("notice", "unknown", "of_next_year new"),)),
]


def _message(kind: str, content: object, more: Json) -> Callable[[GeminiSession], object]:
    return lambda session: session.message(kind, content, **more)


def _calls(job: Job) -> Callable[[GeminiSession], object]:
    return lambda session: session.calls([job])
