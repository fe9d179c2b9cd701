"""What an agent's hook is given: plain JSON in which any field may be missing. Light: every hook comes through here."""

from __future__ import annotations

import os

from ... import lightjson as json
from ...hook import Step
from ...light import Callable, Collection, Mapping, Sequence, cast
from ...text import first_line

TAIL = 1 << 20
"""Bytes of a transcript's end in which it is looked for what became of an open call."""

NOTHING = Step()
STARTS = Step("drift", "start", "after", tells=True)
PROMPTED = Step("always", "prompt", "before", over="turn", tells=True)
STOPS = Step("drift", "stop", "after", over="turn")
SUB_AGENT_STOPS = Step("drift", "stop", "after", over="subagent")
ENDS = Step("drift", "end", "after", over="session")
BEFORE_CALL = Step("drift", "tool", "before", call="opens")
AFTER_CALL = Step("drift", "tool", "after", call="ends")


def read(payload: bytes) -> Mapping[str, object]:
    """The payload; nothing for what is no JSON object."""
    try:
        data: object = json.loads(payload)
    except (ValueError, RecursionError):
        return {}
    return cast("Mapping[str, object]", data) if isinstance(data, dict) else {}


def table(data: Mapping[str, object], key: str) -> Mapping[str, object]:
    """A member that should be an object."""
    value = data.get(key)
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


def text(data: Mapping[str, object], key: str) -> str:
    """A member that should be a text."""
    value = data.get(key)
    # A lone surrogate cannot be written to any file or shown: escape sequences may bring one.
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def process(value: object) -> int:
    """The number of a process, which may be told as a text; 0 for what is none."""
    if isinstance(value, str):
        value = int(value) if value.isascii() and value.isdigit() and len(value) < 10 else 0
    return value if isinstance(value, int) and value > 0 else 0


def called(tool: str, given: Mapping[str, object], details: Sequence[str], cwd: str) -> str:
    """A line that names a call while its entry cannot be read: the first of its details, paths as from `cwd`."""
    detail = next((value for key in details if (value := text(given, key))), "")
    shown = detail.removeprefix(cwd.rstrip("/") + "/") if cwd else detail
    return first_line(f"{tool} {shown}") if tool else ""


def of_call(tool: str, *, before: bool, read_only: Collection[str]) -> Step:
    """What is recorded around a call of a tool."""
    if tool in read_only:
        return NOTHING
    return BEFORE_CALL if before else AFTER_CALL


def tail(transcript: str) -> bytes:
    """The end of a transcript; nothing when it cannot be read."""
    try:
        with open(transcript, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL))
            return file.read()
    except OSError:
        return b""


def process_above(is_it: Callable[[str], bool]) -> int:
    """The nearest process above this one that is it, by its name; 0 for none, or where the system does not tell."""
    pid = os.getppid()
    for _ in range(4):
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                name, _, rest = file.read().partition(b"(")[2].rpartition(b")")
            if is_it(name.decode("utf-8", "replace")):
                return pid
            pid = int(rest.split()[1])
        except (OSError, ValueError, IndexError):
            return 0
    return 0
