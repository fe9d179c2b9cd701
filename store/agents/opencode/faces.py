"""What a message of OpenCode, or a part of one, shows in a list: nothing, or what a person would miss.

What a person typed is a prompt; text that OpenCode added for the model, and its bookkeeping of steps, is hidden; every
type that is not known here is shown as a notice of its own.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from ...text import first_line, without_colour
from ..forms.face import Face, relative
from ..forms.jsonl import beginning, from_raw
from ..forms.plain import string, table
from .events import EDIT_TOOLS, patched
from .records import Data, Failure, Given

SHELL_TOOLS = frozenset({"bash", "shell"})
AGENT_TOOL = "task"
HIDDEN = frozenset({"step-start", "step-finish", "snapshot", "patch"})
"""Bookkeeping of steps: the trees in it are read as states of files."""
ENDED = frozenset({"completed", "error"})


def prompt_text(parts: Sequence[Data]) -> str:
    """What a person typed, in full; a command that starts a sub-agent as it is typed again."""
    texts = [part.text for part in parts if part.type == "text" and not part.synthetic and not part.ignored]
    if not texts:
        texts = [f"/{part.command}" if part.command else part.prompt for part in parts if part.type == "subtask"]
    return "\n".join(texts)


def asked(parts: Sequence[Data]) -> tuple[tuple[Face, ...], str]:
    """A message in the person's role, no face when nothing of it was theirs; and what was typed, in full."""
    text = prompt_text(parts)
    if len(parts) == 1 and text.strip() and parts[0].type == "text":
        return (Face("prompt", first_line(text if "\n" in text else text.strip())),), text
    face = _asked(parts, text)
    return () if face is None else (face,), text


def _asked(parts: Sequence[Data], text: str) -> Face | None:
    others = [_attached(part) for part in parts if part.type in ("file", "agent") and not part.synthetic]
    if text.strip():
        flavour = "command" if any(part.type == "subtask" for part in parts) else ""
        return Face("prompt", first_line(" ".join((text.strip(), *others) if "\n" not in text else (text,))), flavour)
    compaction = next((part for part in parts if part.type == "compaction"), None)
    if compaction is not None:
        how = "automatically" if compaction.auto else "by the person"
        return Face("notice", f"Conversation compacted ({how})", "compaction")
    unknown = [part for part in parts if part.type not in ("text", "file", "agent", "subtask", *HIDDEN)]
    if others:
        return Face("prompt", first_line(" ".join(others)))
    return _unknown(unknown[0]) if unknown else None


def answered(part: Data, cwd: str, *, summary: bool) -> tuple[Face, ...]:
    """A part of an answer. cwd: paths inside of it are shown relative. summary: the answer is that of a compaction."""
    kind = part.type
    if kind == "text":
        if not part.text.strip() or part.ignored:
            return ()
        shown = first_line(part.text)
        return (Face("summary", shown, "compaction") if summary else Face("reply", shown),)
    if kind == "reasoning":
        return (Face("reply", first_line(part.text), "thinking"),) if part.text.strip() else ()
    if kind == "tool":
        return _call(part, cwd)
    if kind in HIDDEN:
        return ()
    if kind == "retry":
        why = failure_text(part.error) or "the request failed"
        return (Face("notice", first_line(f"attempt {part.attempt:g}: {why}"), "api-error", error=True),)
    if kind in ("file", "agent", "subtask"):
        return (Face("reply", first_line(_attached(part) or part.description or part.prompt), kind),)
    if kind == "compaction":
        return (Face("notice", "Conversation compacted", "compaction"),)
    return (_unknown(part),)


def failed(failure: Failure) -> Face:
    """Why an answer ended."""
    if failure.name == "MessageAbortedError":
        return Face("notice", "Interrupted by the person", "interrupted")
    return Face("notice", first_line(failure_text(failure)) or "the request failed", "api-error", error=True)


def failure_text(failure: Failure | None) -> str:
    """What an error says of itself."""
    if failure is None:
        return ""
    return string(table(from_raw(failure.data)), "message") or failure.name


def paths_of(tool: str, given: Given | None) -> tuple[str, ...]:
    """The absolute paths that an edit tool's call names."""
    if tool not in EDIT_TOOLS or given is None:
        return ()
    named = [given.filePath or given.path, *patched(given.patchText)]
    return tuple(path for path in named if path)


def _call(part: Data, cwd: str) -> tuple[Face, ...]:
    state = part.state
    given = state.given if state is not None else None
    paths = paths_of(part.tool, given)
    made = Face(
        "tool_call",
        first_line(f"{part.tool or 'tool'} {_detail(given, paths, cwd)}".rstrip()),
        tool=part.tool,
        call=part.call,
        paths=tuple(path if os.path.isabs(path) else os.path.join(cwd, path) for path in paths),
    )
    if state is None or state.status not in ENDED:
        return (made,)
    bad = state.status == "error"
    text = state.error if bad else beginning(state.output)
    shown = first_line(without_colour(text)) or "(no output)"
    return made, Face("tool_result", shown, tool=part.tool, call=part.call, error=bad)


def _detail(given: Given | None, paths: Sequence[str], cwd: str) -> str:
    if given is None:
        return ""
    if paths:
        return " ".join(relative(path, cwd) for path in paths)
    path = relative(given.filePath or given.path, cwd)
    return given.command or path or given.pattern or given.url or given.query or given.description or given.name


def _attached(part: Data) -> str:
    if part.type == "agent":
        return f"@{part.name}"
    name = part.filename or (part.url if not part.url.startswith("data:") else "")
    return f"[{name or part.mime or 'file'}]" if part.type == "file" else ""


def _unknown(part: Data) -> Face:
    text = f"{part.type or 'part without a type'} {part.text}".rstrip()
    return Face("notice", first_line(text), "unknown")
