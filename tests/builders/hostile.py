"""Text that would do something to a terminal or a person if it were shown as it is, in every place that shows text."""

from __future__ import annotations

import os
import re
import unicodedata
from pathlib import Path

from .recorded import Recorded

SEQUENCES = (
    "\x1b]0;gotcha\x07",
    "\x1b]52;c;Z290Y2hh\x07",
    "\x1b]8;;http://gotcha\x1b\\",
    "\x1b[13;37H",
    "\x1b[2J",
    "\x1b[?1047l",
    "\x1b[38;5;199m",
    "\x1bP1$qgotcha\x1b\\",
    "\x1bcX",
    "\x9b5n",
    "\x90gotcha\x9c",
    "\x0e\x08\x7f",
    "\u202egotcha\u2066",
    "\u200b\ufeff\u2028",
)
"""What must never reach a terminal."""
VISIBLE = "[red]gotcha[/red] [@click=app.quit]q[/] \t👩‍🚀漢字x\u0301\u0301é"
"""What may, but as it is: no markup; wide and combining characters."""
IN_NAMES = "".join(SEQUENCES).replace("/", "_") + "[red]漢x\u0301"
"""For names of files: a NUL and a slash cannot be there."""
EVIL = f"{''.join(SEQUENCES)} \x00 \ud800 \r {VISIBLE}"
LONG = "gotcha " * 150_000
"""A line of a megabyte."""


def a_hostile_session(folder: Path) -> Recorded:
    """Two prompts whose every text is hostile, in a folder and with a file whose names are, too."""
    agent = Recorded(folder / f"headers{IN_NAMES[:40]}")
    name = f"fold{IN_NAMES[60:]}.py"
    no_utf8 = os.fsencode(f"shell{IN_NAMES[60:]}") + b"\xff\x9b5n"
    (agent.project / "notes.txt").write_text("keep me\n")
    agent.starts()
    agent.asked(f"First {EVIL}\nsecond line {EVIL}")
    agent.writes(name, f"def unfold(lines):\n    yield from lines  # {EVIL}\n".encode("utf-8", "replace").decode())
    agent.session.api_error(f"Trouble {EVIL}")
    agent.stops(
        f"Reply {EVIL}\n\n# Heading {EVIL}\n\n| {EVIL} | b |\n|---|---|\n| c | `{EVIL}` |\n\n```{EVIL}\n{EVIL}\n```\n"
    )
    agent.session.title(f"Title {EVIL}")
    agent.asked(f"Second {EVIL}")
    agent.writes(name, f"def unfold(lines):\n    yield  # {VISIBLE}\x1b[13;37H\n{LONG}\n")
    agent.runs(f"echo Call {EVIL}", lambda project: (project / os.fsdecode(no_utf8)).write_text(VISIBLE))
    agent.session.shell(f"ls {EVIL}", f"Result {EVIL}\n{LONG}")
    agent.stops(f"Done {EVIL}")
    return agent


JOINERS = "\u200c\u200d"
"""Scripts and emoji need them."""


def strangers(output: bytes, own: re.Pattern[bytes]) -> list[str]:
    """What of a program's output is neither plain text nor one of its own sequences, with what stands around it."""
    text = own.sub(b"", output).decode("utf-8", "backslashreplace")
    found = [
        text[max(at - 30, 0) : at + 30].encode("unicode_escape").decode()
        for at, character in enumerate(text)
        if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") and character not in JOINERS
    ]
    raw = [sequence for sequence in SEQUENCES if sequence.encode() in output]
    return [*found[:20], *(repr(sequence) for sequence in raw)]
