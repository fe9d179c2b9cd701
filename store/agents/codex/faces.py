"""What the records of Codex CLI show: one line of text for each that a person would miss (formats 2.3, 2.4)."""

from __future__ import annotations

import json
import os
import re
import shlex
from typing import Any, cast

import msgspec
from msgspec import Raw, Struct, UnsetType

from ...text import clean, first_line, without_colour
from ..forms.face import Face, relative
from ..forms.jsonl import beginning, from_raw
from .patchtext import BEGIN, named
from .records import EVENT, ITEM, META, Payload

UNKNOWN = "unknown"
"""The flavour of what is of a kind that is not known here."""
SHELL = "Bash"
"""What the program itself calls every tool that runs a command when it speaks to hooks."""
PATCH = "apply_patch"
AGENT_TOOLS = frozenset({"spawn_agent"})

_SHELLS = frozenset({"exec_command", "shell", "shell_command", "local_shell", "unified_exec", "container.exec"})
_WORDS = ("path", "query", "message", "prompt", "pattern", "url", "explanation", "objective", "chars", "target", "name")
_INJECTED = (
    "<environment_context",
    "<user_instructions",
    "<INSTRUCTIONS",
    "# AGENTS.md instructions",
    "<permissions",
    "<turn_aborted",
    "<skill",
    "<subagent_notification",
    "<collaboration_mode",
    "<multi_agent_mode",
    "<model_switch",
    "<personality_spec",
    "<apps_instructions",
    "<plugins_instructions",
    "<realtime_conversation",
    "<goal_context",
    "<hook_prompt",
    "<recommended_plugins",
)
"""How messages begin that are in the person's role but not theirs, in versions that do not say so."""
_USER_SHELL = "<user_shell_command>"
_HIDDEN_ITEMS = frozenset(
    {
        "compaction",
        "compaction_summary",
        "compaction_trigger",
        "context_compaction",
        "ghost_snapshot",
        "tool_search_call",
        "tool_search_output",
        "other",
    }
)
_CALLS = frozenset(
    {"function_call", "custom_tool_call", "local_shell_call", "web_search_call", "image_generation_call"}
)
_RESULTS = frozenset({"function_call_output", "custom_tool_call_output", "mcp_tool_call_output"})
_REPEATED = (
    "task_started turn_started task_complete turn_complete token_count user_message agent_message agent_reasoning "
    "agent_reasoning_raw_content agent_reasoning_section_break context_compacted thread_name_updated "
    "thread_goal_updated thread_settings_applied item_started item_completed patch_apply_begin patch_apply_end "
    "exec_command_begin exec_command_end exec_command_output_delta mcp_tool_call_begin mcp_tool_call_end "
    "web_search_begin web_search_end image_generation_begin image_generation_end view_image_tool_call "
    "sub_agent_activity guardian_assessment thread_rolled_back session_configured turn_diff plan_update "
    "dynamic_tool_call_request dynamic_tool_call_response collab_agent_spawn_begin collab_agent_spawn_end "
    "collab_agent_interaction_begin collab_agent_interaction_end collab_waiting_begin collab_waiting_end "
    "collab_close_begin collab_close_end hook_started hook_completed model_reroute undo_started "
    "exec_approval_request apply_patch_approval_request terminal_interaction"
)
_HIDDEN_EVENTS = frozenset(_REPEATED.split())
"""Events that say again what an item says, or nothing to a person."""
HIDDEN_KINDS = frozenset(
    {
        META,
        "turn_context",
        "world_state",
        "token_usage_record",
        "state",
        "inter_agent_communication",
        "inter_agent_communication_metadata",
    }
)
_ABORTED = {
    "interrupted": "Interrupted by the person",
    "replaced": "Replaced by another turn",
    "review_ended": "The review has ended",
    "budget_limited": "Stopped: the budget is used up",
}
_EXIT = re.compile(r"\A(?:Chunk ID: \S+\n)?(?:Wall time: [^\n]*\n)?(?:Exit code: |Process exited with code )(-?\d+)")
_FAILED = (
    "failed to parse function arguments",
    "unsupported call",
    "write_stdin failed",
    "apply_patch verification failed",
    "exec_command failed",
    "execution error",
)
"""How results begin of calls that were not carried out."""
_OUTPUT = re.compile(r"^Output:\n", re.MULTILINE)
_ABORT = re.compile(r"\A(?:Wall time: [^\n]*\n)?(aborted(?: by user)?\b)")


class _Part(Struct, gc=False):
    type: str | None = None
    text: str | None = None


_parts = msgspec.json.Decoder(list[_Part]).decode


def face(kind: str, body: Payload, cwd: str) -> Face | None:
    """What a record shows; None for one that is of no use to a person. cwd: paths are shown relative to it."""
    if kind == ITEM:
        return _item(body, cwd)
    if kind == EVENT:
        return _event(body)
    if kind == "compacted":
        return Face("summary", "Conversation compacted", "compaction")
    if kind in HIDDEN_KINDS:
        return None
    return unknown(kind)


def unknown(kind: str) -> Face:
    """A record of a type that is not known here."""
    return Face("notice", first_line(kind) or "record without a type", UNKNOWN)


def command_of(given: object) -> str:
    """The command of a call as a person would type it."""
    if isinstance(given, str):
        return given
    if not isinstance(given, list):
        return ""
    words = [word for word in cast("list[object]", given) if isinstance(word, str)]
    if len(words) == 3 and words[1] in ("-c", "-lc"):
        return words[2]
    return shlex.join(words)


def arguments_of(body: Payload) -> dict[str, Any]:
    """The arguments of a call: JSON in a string, or the action of an old shell call."""
    given = from_raw(body.arguments)
    if isinstance(given, str):
        try:
            given = json.loads(given, strict=False)
        except (ValueError, RecursionError):
            return {}
    if given is None:
        given = from_raw(body.action)
    return cast("dict[str, Any]", given) if isinstance(given, dict) else {}


def tool_of(body: Payload) -> str:
    """The name of a call's tool, as hooks have it: the shell's many names are one."""
    if body.type in ("local_shell_call", "web_search_call", "image_generation_call"):
        return SHELL if body.type == "local_shell_call" else body.type.removesuffix("_call")
    name = body.name or ""
    return SHELL if name in _SHELLS else clean(name)


def text_of(raw: Raw | UnsetType) -> str:
    """The text of a message's content or of a result, parts joined by line feeds."""
    found = from_raw(raw)
    if isinstance(found, str):
        return found
    if isinstance(found, dict):
        found = cast("dict[str, Any]", found).get("content")
        return found if isinstance(found, str) else ""
    return "\n".join(part["text"] for part in parts_of(found) if isinstance(part.get("text"), str))


def parts_of(content: object) -> list[dict[str, Any]]:
    """The parts of a content that is a list."""
    items = cast("list[object]", content) if isinstance(content, list) else []
    return [cast("dict[str, Any]", item) for item in items if isinstance(item, dict)]


def is_injected(body: Payload, text: str) -> bool:
    """Whether a message in the person's role was not typed by them."""
    if body.passed is not None and body.passed.kinds:
        return not any(kind.startswith("user.") for kind in body.passed.kinds)
    return text.lstrip().startswith(_INJECTED)


def user_shell(text: str) -> str:
    """A command that the person ran themselves; "" when the text is none."""
    if not text.lstrip().startswith(_USER_SHELL):
        return ""
    start = text.find("<command>")
    end = text.find("</command>", start)
    return text[start + 9 : end].strip() if 0 <= start < end else "a command"


def body_of_output(text: str) -> str:
    """A result without the lines that the program puts before it."""
    if aborted := _ABORT.match(text):
        return text[aborted.start(1) :]
    if _EXIT.match(text) is None:
        return text
    mark = _OUTPUT.search(text)
    return text[mark.end() :] if mark else text


def _item(body: Payload, cwd: str) -> Face | None:
    kind = body.type
    if kind == "message":
        return _message(body)
    if kind in _CALLS:
        return _call(body, cwd)
    if kind in _RESULTS:
        return _result(body)
    if kind == "reasoning":
        text = text_of(body.summary) or text_of(body.content)
        return Face("reply", first_line(text), "thinking") if text.strip() else None
    if kind == "agent_message":
        return Face("notice", first_line(f"message from {body.author or 'an agent'}: {_payload(body)}"), "agent")
    if kind in _HIDDEN_ITEMS:
        return None
    return unknown(kind or "item without a type")


def _payload(body: Payload) -> str:
    """What a message between agents says, without its head."""
    text = text_of(body.content)
    _, mark, rest = text.partition("Payload:\n")
    return rest if mark else text


def _message(body: Payload) -> Face | None:
    text, others = _typed(body.content)
    if body.role == "assistant":
        return Face("reply", first_line(text)) if text.strip() else None
    if body.role != "user":
        return None
    if command := user_shell(text):
        return Face("notice", first_line(f"! {command}"), "shell")
    if is_injected(body, text):
        return None
    shown = first_line(text)
    if others:
        shown = f"{shown} {clean(' '.join(others))}".strip()[:300]
    return Face("prompt", shown or "(empty prompt)")


def _typed(raw: Raw | UnsetType) -> tuple[str, list[str]]:
    """The text of a content, and a word for each part that is none."""
    if isinstance(raw, UnsetType):
        return "", []
    try:
        parts = _parts(raw)
    except (msgspec.DecodeError, RecursionError):
        return text_of(raw), []
    texts = [part.text for part in parts if part.text]
    others = [f"[{(part.type or 'part').removeprefix('input_')}]" for part in parts if part.text is None]
    return "\n".join(texts), others


def _call(body: Payload, cwd: str) -> Face:
    tool, call = tool_of(body), body.call or body.id or ""
    text, patch = "", ""
    if body.type == "custom_tool_call":
        given = from_raw(body.input)
        text = patch = given if isinstance(given, str) else ""
    else:
        arguments = arguments_of(body)
        text = command_of(arguments.get("cmd") or arguments.get("command"))
        patch = text or _string(arguments, "input") or _string(arguments, "patch")
        text = text or next((found for word in _WORDS if (found := _string(arguments, word))), "")
    paths = named(patch) if tool in (PATCH, SHELL) and BEGIN in patch else ()
    if paths:
        tool, text = PATCH, ", ".join(relative(path, cwd) for path in paths)
    absolute = tuple(os.path.normpath(os.path.join(cwd, path)) for path in paths) if cwd else ()
    return Face("tool_call", first_line(f"{tool} {text.lstrip()}".rstrip()), "", tool, call, False, absolute)


def _string(plain: dict[str, Any], name: str) -> str:
    value = plain.get(name)
    return value if isinstance(value, str) else ""


def _result(body: Payload) -> Face:
    text = beginning(body.output)
    if not text:
        text = text_of(body.output)
    error = _is_error(text)
    if text.startswith('{"output":'):
        text, error = _old_result(text_of(body.output), error)
    shown = first_line(without_colour(body_of_output(text))) or "(no output)"
    return Face("tool_result", shown, "interrupted" if _ABORT.match(text) else "", call=body.call or "", error=error)


def _is_error(text: str) -> bool:
    exited = _EXIT.match(text)
    return bool(_ABORT.match(text)) or text.startswith(_FAILED) or (exited is not None and exited[1] != "0")


def _old_result(text: str, error: bool) -> tuple[str, bool]:
    """Results until 2025: JSON in a string, the exit code beside the output."""
    try:
        told: object = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return text, error
    plain = cast("dict[str, Any]", told) if isinstance(told, dict) else {}
    about = plain.get("metadata")
    code = cast("dict[str, Any]", about).get("exit_code") if isinstance(about, dict) else None
    return _string(plain, "output"), isinstance(code, int) and code != 0


def _event(body: Payload) -> Face | None:
    kind = body.type or ""
    if kind in _HIDDEN_EVENTS:
        return None
    if kind == "turn_aborted":
        return Face("notice", _ABORTED.get(body.reason or "", "The turn was aborted"), "interrupted")
    said = first_line(without_colour(beginning(body.message)))
    if kind in ("error", "stream_error"):
        return Face("notice", said or "an error of the model's service", "api-error", error=True)
    if kind in ("warning", "deprecation_notice", "background_event"):
        return Face("notice", said, "informational") if said else None
    if kind in ("entered_review_mode", "exited_review_mode"):
        return Face("notice", "Review begins" if kind.startswith("entered") else "Review ends", "review")
    if kind == "undo_completed":
        return Face("notice", said or "Undone by Codex CLI", "undo")
    return unknown(kind)
