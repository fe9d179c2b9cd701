"""Comments and texts that span several lines: a line is painted by itself, and has to know in what it begins."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from .difftext import NEW, OLD, SAME, DiffText

MOST = 2_000
"""Lines of a hunk that are looked through; a longer one is painted as if nothing spanned lines in it."""
QUOTES = ('"""', "'''")
STRINGS = r'"(?:\\.|[^"\\])*"|' + r"'(?:\\.|[^'\\])*'"


@dataclass(frozen=True, slots=True)
class Kind:
    """How a family of languages marks what may span lines."""

    pairs: tuple[tuple[str, str], ...]
    """Beginnings and ends."""
    ink: str
    step: re.Pattern[str]
    """What begins or ends something, and what may hide it: strings and comments of one line."""


def _kind(pairs: Sequence[tuple[str, str]], ink: str, *hiding: str) -> Kind:
    marks = {re.escape(mark) for pair in pairs for mark in pair}
    return Kind(tuple(pairs), ink, re.compile("|".join([*sorted(marks), *hiding])))


TEXTS = _kind([(quote, quote) for quote in QUOTES], "code-string", STRINGS, "#.*")
COMMENTS = _kind([("/*", "*/")], "code-comment", STRINGS, "//.*")
MARKUP = _kind([("<!--", "-->")], "code-comment")
KINDS = {
    **dict.fromkeys(("py", "pyi"), TEXTS),
    **dict.fromkeys(("c", "h", "cc", "cpp", "hpp", "cs", "java", "kt", "swift", "scala", "go", "rs"), COMMENTS),
    **dict.fromkeys(("js", "jsx", "mjs", "ts", "tsx"), COMMENTS),
    **dict.fromkeys(("php", "css", "scss", "less", "sql"), COMMENTS),
    **dict.fromkeys(("html", "htm", "xml", "svg", "vue", "md"), MARKUP),
}


@dataclass(frozen=True, slots=True)
class Within:
    """What a line begins in."""

    end: str
    ink: str


class Spans:
    """What the lines of a diff begin in, looked up hunk by hunk when one is painted."""

    def __init__(self, content: DiffText) -> None:
        self.content = content
        self._of_hunk = lru_cache(maxsize=64)(self._look)

    def within(self, at: int) -> Within | None:
        """What a line begins in; None where it is plain code."""
        hunk = self.content.hunk_of(at)
        if hunk is None or hunk[1] - hunk[0] > MOST:
            return None
        return self._of_hunk(hunk, self.content.kinds[at] == OLD).get(at)

    def _look(self, hunk: tuple[int, int], older: bool) -> dict[int, Within]:
        content = self.content
        path = content.diff.files[content.of_file[hunk[0]]].path
        kind = KINDS.get(path.rpartition(b".")[2].decode("ascii", "replace").lower())
        if kind is None:
            return {}
        side = (SAME, OLD) if older else (SAME, NEW)
        rows = [at for at in range(hunk[0] + 1, hunk[1]) if content.kinds[at] in side]
        found = spanned(kind, [content.text(at) for at in rows])
        return {at: Within(end, kind.ink) for at, end in zip(rows, found, strict=True) if end}


def spanned(kind: Kind, lines: Sequence[str]) -> list[str]:
    """For each line the mark that ends what it begins in; "" for plain code."""
    end = _first(kind, lines)
    found: list[str] = []
    for line in lines:
        found.append(end)
        end = _after(kind, line, end)
    return found


def _after(kind: Kind, line: str, end: str) -> str:
    """What the next line begins in."""
    at = 0
    while at <= len(line):
        if end:
            place = line.find(end, at)
            if place < 0:
                return end
            at, end = place + len(end), ""
        step = kind.step.search(line, at)
        if step is None:
            return ""
        at = step.end()
        end = dict(kind.pairs).get(step[0], "")
    return end


def _first(kind: Kind, lines: Sequence[str]) -> str:
    """What the first line begins in, told by the first mark: an end without its beginning."""
    for before, line in zip(["", *lines], lines, strict=False):
        marks = [step[0] for step in kind.step.finditer(line) if any(step[0] in pair for pair in kind.pairs)]
        if not marks:
            continue
        if kind is not TEXTS:
            return marks[0] if marks[0] in dict(kind.pairs).values() else ""
        if len(marks) % 2:
            return marks[0] if _closes(line.strip(), marks[0], before.rstrip()) else ""
    return ""


def _closes(line: str, quote: str, before: str) -> bool:
    """Whether a mark that begins and ends alike is an end: nothing stands behind it, and nothing asks for a text."""
    if not line.endswith(quote):
        return False
    if line == quote:
        return bool(before) and not before.endswith((":", "(", "=", ","))
    return not re.search(r"[=(,\[]\s*[rbfuRBFU]*" + quote + "$", line)
