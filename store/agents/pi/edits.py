"""What Pi's edit tool makes of a file, worked out again from what the call asked for and what its result shows.

The tool replaces each text at its only place in the file as it was before, whatever its line ends are; when a text is
not there letter by letter it looks for one that only differs in quotes, dashes and blanks. The result tells what
changed, in newer versions as a patch: so it is seen whether a content that we thought the file had is the one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from ..forms.contents import hunks_of, patched
from ..forms.plain import items, table

_SHOWN_LINE = re.compile(r"([ +-]) *(\d+) (.*)")
_BOM = "\ufeff"


def edited(content: str, arguments: Mapping[str, Any], details: Mapping[str, Any]) -> str | None:
    """The content after an edit call that succeeded; None when the file cannot have had this content before."""
    bom = _BOM if content.startswith(_BOM) else ""
    text = content.removeprefix(_BOM)
    plain = text.replace("\r\n", "\n")
    if "\r" in plain:
        return None
    windows = plain != text
    if windows and text.count("\r\n") != text.count("\n"):
        return None
    if not _is_shown(plain, details.get("diff")):
        return None
    patch = details.get("patch")
    by_patch = patched(plain, hunks_of(patch)) if isinstance(patch, str) else None
    after = _replaced(plain, replacements(arguments))
    if isinstance(patch, str) and after != by_patch:
        # A text that was found although it differs: the patch alone tells what was written.
        after = by_patch
    if after is None:
        return None
    return bom + (after.replace("\n", "\r\n") if windows else after)


def replacements(arguments: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The texts that a call replaces and what by, in every form that models send them in."""
    edits: object = arguments.get("edits")
    if isinstance(edits, str):
        try:
            edits = json.loads(edits)
        except (ValueError, RecursionError):
            edits = []
    pairs: list[tuple[str, str]] = []
    for one in map(table, [*items(edits), edits, arguments]):
        old, new = one.get("oldText"), one.get("newText")
        if isinstance(old, str) and isinstance(new, str):
            pairs.append((_plain(old), _plain(new)))
    return pairs


def _replaced(text: str, pairs: Sequence[tuple[str, str]]) -> str | None:
    """Every text replaced at its only place, all of them looked for in the text as it was."""
    places: list[tuple[int, int, str]] = []
    for old, new in pairs:
        if not old or text.count(old) != 1:
            return None
        start = text.index(old)
        places.append((start, start + len(old), new))
    places.sort()
    if not places or any(before[1] > after[0] for before, after in pairwise(places)):
        return None
    for start, end, new in reversed(places):
        text = text[:start] + new + text[end:]
    return text


def _is_shown(text: str, shown: object) -> bool:
    """Whether a text has the old lines that a result shows, each at its number."""
    if not isinstance(shown, str):
        return True
    lines = text.split("\n")
    for line in shown.split("\n"):
        found = _SHOWN_LINE.fullmatch(line)
        if found is not None and found[1] != "+":
            number = int(found[2])
            if not 0 < number <= len(lines) or lines[number - 1] != found[3]:
                return False
    return True


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
