"""Contents and paths of files as agents' records tell of them."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence

from .plain import items, table

_NEWLINE_LESS = "\\ No newline at end of file"
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")


def inside(path: str, root: str) -> bytes | None:
    """A path relative to a real root, its parent folder taken as it really is; None outside of it."""
    folder, name = os.path.split(os.path.normpath(path))
    real = os.path.join(os.path.realpath(folder), name)
    if not name or not real.startswith(root.rstrip(os.sep) + os.sep):
        return None
    return os.fsencode(os.path.relpath(real, root))


def state_id(agent: str, session: str, record: str) -> str:
    """The id of a partial state: the same whenever it is read."""
    return hashlib.sha256(f"{agent}\0{session}\0{record}".encode()).hexdigest()[:16]


def blob(content: str) -> str:
    """The content's id as a git blob."""
    data = content.encode("utf-8", "surrogatepass")
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def patched(original: str, hunks: Sequence[object]) -> str | None:
    """Applies structured hunks, each line checked; None when one does not fit or there is none."""
    if not hunks:
        return None
    before = original.split("\n")
    after: list[str] = []
    at = 0
    bare_end = False
    for hunk in map(table, hunks):
        start, texts = hunk.get("oldStart"), items(hunk.get("lines"))
        if not isinstance(start, int):
            return None
        start -= 1 if hunk.get("oldLines") != 0 else 0
        if start < at or start > len(before):
            return None
        after += before[at:start]
        at = start
        last = ""
        for text in texts:
            if not isinstance(text, str) or not text:
                return None
            if text == _NEWLINE_LESS:
                bare_end = bare_end or last in "+ "
                continue
            last, line = text[0], text[1:]
            if last in " -":
                if at >= len(before) or before[at] != line:
                    return None
                at += 1
            if last in " +":
                after.append(line)
            elif last != "-":
                return None
    after += before[at:]
    if bare_end and after and after[-1] == "":
        after.pop()
    if not bare_end and _adds_end(original, hunks):
        after.append("")
    return "\n".join(after)


def _adds_end(original: str, hunks: Sequence[object]) -> bool:
    """Whether the patch ends a last line that had no line feed, or writes lines where there were none."""
    texts = [text for text in items(table(hunks[-1]).get("lines")) if isinstance(text, str)]
    if _NEWLINE_LESS not in texts:
        return original == ""
    return texts[texts.index(_NEWLINE_LESS) - 1].startswith("-")


def hunks_of(patch: str) -> list[dict[str, object]]:
    """The hunks of a unified diff of one file, as `patched` takes them."""
    found: list[dict[str, object]] = []
    lines: list[str] = []
    for line in patch.split("\n"):
        head = _HUNK.match(line)
        if head is not None:
            lines = []
            found.append({"oldStart": int(head[1]), "oldLines": int(head[2] or 1), "lines": lines})
        elif found and line:
            lines.append(line)
    return found
