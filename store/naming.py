"""Points named as people speak of them: by words and clock time, never by a bare number (design.md section 2)."""

from __future__ import annotations

import time

from . import agents
from .errors import UsageError
from .light import Sequence
from .model import Entry, Point, Who
from .text import first_line

LONGEST = 40
RUN = {"start": "before", "stop": "during", "end": "after"}
"""How checkpoints of `forkpoint run` stand to the command that their text names."""
REASONS = {
    "start": "when the session started",
    "stop": "after the reply",
    "end": "at the end of the session",
    "manual": "checkpoint",
    "guard": "guard",
    "import": "recorded by the agent",
}


def clock(moment: int) -> str:
    """The local time of day, with the day when it is not today: "09:41", "28 Nov 09:41"."""
    then = time.localtime(moment / 10**9)
    now = time.localtime()
    pattern = "%H:%M" if then[:3] == now[:3] else ("%d %b %H:%M" if then[0] == now[0] else "%d %b %Y %H:%M")
    return time.strftime(pattern, then).lstrip("0") if pattern != "%H:%M" else time.strftime(pattern, then)


def gone(point: Point) -> str:
    """How the files of a checkpoint went: "deleted", "expired", "purged"."""
    return {"expire": "expired", "purge": "purged"}.get(point.gone_by, "deleted")


def day_and_clock(moment: int) -> str:
    """The local day and time of day: "6 Dec 2026 at 09:41"."""
    return time.strftime("%d %b %Y at %H:%M", time.localtime(moment / 10**9)).lstrip("0")


def prompt_title(entry: Entry, side: str = "before") -> str:
    """'before prompt 4 "Now fold…"'."""
    return f'{side} prompt {entry.turn} "{shortened(entry.text)}"'


def title(point: Point | None, entry: Entry | None) -> str:
    """A point or row in words, without its time."""
    if point is not None and point.label:
        return f'"{point.label}"'
    if entry is not None and entry.kind == "prompt":
        return prompt_title(entry, "before" if point is None or point.side == "before" else "after")
    if point is not None and entry is not None and entry.flavour == "save" and point.reason in RUN and point.text:
        return f'{RUN[point.reason]} "{shortened(point.text)}"'
    if point is not None and point.reason in REASONS and point.reason != "import":
        words = REASONS[point.reason]
        return f'{words} "{shortened(point.text)}"' if point.text and point.reason == "manual" else words
    if entry is not None:
        side = "before" if point is not None and point.side == "before" else "after"
        return f"{side} {shortened(entry.text)}"
    if point is not None:
        return f"{point.side} {shortened(point.text)}" if point.text else REASONS.get(point.reason, point.reason)
    return "now"


def known(point: Point) -> str:
    """What a partial checkpoint knows, and what it does not."""
    files = f"{point.known:,} file{'' if point.known == 1 else 's'}"
    if point.whole:
        return f"knows {files}, what the shell did included; what is ignored is not known here"
    return f"knows {files}; what the shell did is not known here"


def agent(name: str) -> str:
    """What people call an agent; its name where this forkpoint does not know it."""
    try:
        return agents.get(name).TITLE
    except UsageError:
        return name


def who(found: Who) -> str:
    """Who changed a path, in words."""
    done = found.text or found.tool or "a call"
    done = f"the shell in {done}" if found.shell else done
    if found.kind == "unsure":
        return f"unsure: {' or '.join(found.maybe)}" if found.maybe else "unsure"
    if found.kind == "person":
        return f"a person: {found.text}" if found.text else "a person"
    if found.kind == "session":
        return f"another session ({agent(found.agent)} {found.session[:8]}): {done}"
    return f"sub-agent {found.subagent}: {done}" if found.kind == "subagent" else done


def together(names: Sequence[str]) -> str:
    """Names in a sentence: "Claude Code", "Claude Code and Pi", "Claude Code, Codex CLI and Pi"."""
    *most, last = names or [""]
    return f"{', '.join(most)} and {last}" if most else last


def listed(points: int, operations: int, transcripts: int) -> str:
    """What a store holds: "1 checkpoint, 3 operations, 0 transcripts"."""
    counted = ((points, "checkpoint"), (operations, "operation"), (transcripts, "transcript"))
    return ", ".join(f"{number:,} {what}{'' if number == 1 else 's'}" for number, what in counted)


def shortened(text: str) -> str:
    """A text for the inside of a sentence."""
    return first_line(text, LONGEST)
