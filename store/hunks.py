"""Hunks out of git's text of them: the one module that knows unidiff.

A text is parsed in pieces of a bounded length, so that its beginning can be shown while the rest is still being parsed.
Names never come from a patch (unidiff leaves quoted names quoted, and raises on a folder named "x b"): each piece is
parsed under a neutral header (design.md section 4).
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .model import Hunk, Line

if TYPE_CHECKING:
    from unidiff.patch import Hunk as Parsed

HEADER = "--- a\n+++ b\n"
PLACE = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)")
PIECE = 2_000
"""Lines that are parsed at once."""


class Unreadable(ValueError):
    """A text that is no diff."""


def growing(data: bytes) -> Iterator[tuple[Hunk, ...]]:
    """The hunks of one file that are known so far, piece by piece; the last answer holds all. Raises Unreadable."""
    done: list[Hunk] = []
    for hunks in _pieces(data):
        if len(hunks) > 1 or _lines(hunks[0]) <= PIECE:
            done += _parsed(b"".join(hunks))
        else:
            header, lines = _header(hunks[0]), list[Line]()
            for part in _parts(hunks[0]):
                first = not lines
                lines += _parsed(part)[0].lines
                if first:
                    yield (*done, Hunk(header, tuple(lines)))
            done.append(Hunk(header, tuple(lines)))
        yield tuple(done)


def counts(data: bytes) -> tuple[int, int]:
    """Lines that come and go in a text of hunks: every line of a hunk but the header begins with its sign."""
    return data.count(b"\n+"), data.count(b"\n-")


def _pieces(data: bytes) -> Iterator[list[bytes]]:
    """The texts of hunks, as many together as are parsed at once."""
    together: list[bytes] = []
    lines = 0
    for hunk in _hunks(data):
        length = _lines(hunk)
        if together and lines + length > PIECE:
            yield together
            together, lines = [], 0
        together.append(hunk)
        lines += length
    if together:
        yield together


def _hunks(data: bytes) -> Iterator[bytes]:
    start = 0
    while start < len(data):
        end = data.find(b"\n@@ ", start) + 1 or len(data)
        yield data[start:end]
        start = end


def _lines(hunk: bytes) -> int:
    return hunk.count(b"\n")


def _parts(hunk: bytes) -> Iterator[bytes]:
    """A long hunk as several, each with a header of its own."""
    old, _, new, _, _ = _place(hunk)
    lines = io.BytesIO(hunk)
    lines.readline()
    part: list[bytes] = []
    for line in lines:
        if len(part) >= PIECE and not line.startswith(b"\\"):
            yield _part(part, old, new)
            old += sum(line.startswith((b" ", b"-")) for line in part)
            new += sum(line.startswith((b" ", b"+")) for line in part)
            part = []
        part.append(line)
    yield _part(part, old, new)


def _part(lines: list[bytes], old: int, new: int) -> bytes:
    signs = [line[:1] for line in lines]
    same, gone, came = signs.count(b" "), signs.count(b"-"), signs.count(b"+")
    return b"@@ -%d,%d +%d,%d @@\n" % (old, same + gone, new, same + came) + b"".join(lines)


def _place(hunk: bytes) -> tuple[int, int, int, int, str]:
    """First line and number of lines of old and new, and what stands behind them."""
    found = PLACE.match(hunk)
    if found is None:
        raise Unreadable("a hunk does not say where it is")
    old, before, new, after, rest = found.groups()
    return int(old), int(before or 1), int(new), int(after or 1), rest.decode("utf-8", "surrogateescape").strip()


def _header(hunk: bytes) -> str:
    old, before, new, after, section = _place(hunk)
    return f"@@ -{old},{before} +{new},{after} @@ {section}".rstrip()


def _parsed(data: bytes) -> list[Hunk]:
    from unidiff.errors import UnidiffParseError  # a restore counts lines, and needs none of this
    from unidiff.patch import PatchSet

    text = HEADER + data.decode("utf-8", "surrogateescape")
    try:
        patch = PatchSet(io.StringIO(text, newline="\n"))
    except UnidiffParseError as error:
        raise Unreadable(str(error) or type(error).__name__) from error
    return [_hunk(hunk) for file in patch for hunk in file]


def _hunk(hunk: Parsed) -> Hunk:
    header = f"@@ -{hunk.source_start},{hunk.source_length} +{hunk.target_start},{hunk.target_length} @@"
    return Hunk(
        header + (f" {hunk.section_header}" if hunk.section_header else ""),
        tuple(
            Line(line.line_type, line.value.removesuffix("\n"), line.source_line_no, line.target_line_no)  # type: ignore[arg-type]
            for line in hunk
        ),
    )
