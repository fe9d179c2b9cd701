"""Git's ignore patterns as regular expressions: gitignore(5) as dir.c and wildmatch.c of git carry it out.

Bytes, as in git: "?" is one byte of a name, whatever its encoding. A pattern that git can make nothing of matches
nothing, and so does it here: one odd line must not keep a project from being recorded.
"""

from __future__ import annotations

import os

from ..light import TYPE_CHECKING, NamedTuple, lru_cache

if TYPE_CHECKING:
    import re

SPECIAL = b"*?[\\"
NEVER = b"(?!)"
CLASSES = {
    b"alnum": rb"[0-9A-Za-z]",
    b"alpha": rb"[A-Za-z]",
    b"blank": rb"[ \t]",
    b"cntrl": rb"[\x00-\x1f\x7f]",
    b"digit": rb"[0-9]",
    b"graph": rb"[\x21-\x7e]",
    b"lower": rb"[a-z]",
    b"print": rb"[\x20-\x7e]",
    b"punct": rb"[!-/:-@\[-`{-~]",
    b"space": rb"[ \t\n\v\f\r]",
    b"upper": rb"[A-Z]",
    b"xdigit": rb"[0-9A-Fa-f]",
}


class Pattern(NamedTuple):
    """One line of an ignore file."""

    ignores: bool
    """False: it brings back what another one ignores."""
    folders_only: bool
    names: bool
    """It speaks of names in any folder, not of paths."""
    regex: re.Pattern[bytes]


def verdict(text: str, path: str, is_folder: bool) -> bool | None:
    """What the last pattern that speaks of exactly this path says: whether it is ignored; None when none does.

    `path` is relative to the folder that the text stands in. What a pattern says of a folder is not asked for here.
    """
    pattern = speaking(text, path, is_folder)
    return None if pattern is None else pattern.ignores


def speaking(text: str, path: str, is_folder: bool) -> Pattern | None:
    """The last pattern that speaks of exactly this path."""
    whole = os.fsencode(path)
    name = whole[whole.rfind(b"/") + 1 :]
    for pattern in compiled(text):
        if (is_folder or not pattern.folders_only) and pattern.regex.fullmatch(name if pattern.names else whole):
            return pattern
    return None


def returns_below(text: str, folder: str) -> bool:
    """Whether a pattern brings back something inside of this very folder: "!build/keep.txt" does in "build".

    One that speaks of names anywhere does not: every ignored folder would have to be walked for it.
    """
    parts = os.fsencode(folder).split(b"/")
    return any(_leads(pattern, parts) for pattern in _returning(text))


def _leads(pattern: tuple[bytes, ...], folder: list[bytes]) -> bool:
    import re  # only names that are new have to be judged

    for part, name in zip(pattern, folder, strict=False):
        if part == b"**":
            return True
        if not re.compile(_expression(part, across=False), re.DOTALL).fullmatch(name):
            return False
    return len(pattern) > len(folder)


@lru_cache(maxsize=256)
def _returning(text: str) -> tuple[tuple[bytes, ...], ...]:
    """The patterns that bring paths back, in their parts; those that begin anywhere are left out."""
    lines = (_trimmed(line) for line in _lines(text) if line.startswith(b"!"))
    paths = (line[1:].removesuffix(b"/") for line in lines)
    found = (tuple(path.removeprefix(b"/").split(b"/")) for path in paths if b"/" in path)
    return tuple(parts for parts in found if parts[0] != b"**")


@lru_cache(maxsize=4096)
def compiled(text: str) -> tuple[Pattern, ...]:
    """The patterns of a text, the last one first."""
    return tuple(_pattern(_trimmed(line)) for line in reversed(_lines(text)) if line and not line.startswith(b"#"))


def _lines(text: str) -> list[bytes]:
    data = os.fsencode(text).removeprefix(b"\xef\xbb\xbf")
    return [line.removesuffix(b"\r") for line in data.split(b"\n")]


def _trimmed(line: bytes) -> bytes:
    """Without the blanks at its end, but for those behind a backslash."""
    bare = line.rstrip(b" ")
    escapes = len(bare) - len(bare.rstrip(b"\\"))
    return bare + b" " if escapes % 2 and len(bare) < len(line) else bare


def _pattern(line: bytes) -> Pattern:
    import re  # only names that are new have to be judged

    ignores, line = not line.startswith(b"!"), line.removeprefix(b"!")
    folders_only, line = line.endswith(b"/"), line.removesuffix(b"/")
    names = b"/" not in line
    if names:
        expression = _expression(line, across=True)
    else:
        line = line.removeprefix(b"/")
        # What stands before the first special byte is compared as it is, and the rest begins a pattern of its own.
        plain = next((at for at, byte in enumerate(line) if byte in SPECIAL), len(line))
        expression = re.escape(line[:plain]) + _expression(line[plain:], across=False)
    return Pattern(ignores, folders_only, names, re.compile(expression, re.DOTALL))


def _expression(pattern: bytes, *, across: bool) -> bytes:
    """A regular expression for a pattern; `across`: its stars match slashes as well."""
    import re  # only names that are new have to be judged

    parts: list[bytes] = []
    at = 0
    while at < len(pattern):
        byte = pattern[at : at + 1]
        if byte == b"*":
            part, at = _stars(pattern, at, across)
        elif byte == b"[":
            part, at = _bracket(pattern, at + 1, across)
        elif byte == b"?":
            part, at = (b"." if across else b"[^/]"), at + 1
        elif byte == b"\\":
            part, at = (re.escape(pattern[at + 1 : at + 2]) or NEVER), at + 2
        else:
            part, at = re.escape(byte), at + 1
        parts.append(part)
    return b"".join(parts)


def _stars(pattern: bytes, at: int, across: bool) -> tuple[bytes, int]:
    end = at
    while pattern[end : end + 1] == b"*":
        end += 1
    if across:
        return b".*", end
    begins = at == 0 or pattern[at - 1 : at] == b"/"
    if end - at > 1 and begins:
        if pattern[end : end + 1] == b"/":
            return b"(?:.*/)?", end + 1
        if end == len(pattern) or pattern[end : end + 2] == b"\\/":
            return b".*", end
    return b"[^/]*", end


def _bracket(pattern: bytes, at: int, across: bool) -> tuple[bytes, int]:
    """A set of bytes and where it ends; one that is not closed, or names an unknown class, never matches."""
    import re  # only names that are new have to be judged

    negated = pattern[at : at + 1] in (b"!", b"^") and at < len(pattern)
    at += negated
    members: set[int] = set()
    before: int | None = None
    first = True
    while first or pattern[at : at + 1] != b"]":
        first = False
        byte = pattern[at : at + 1]
        if byte == b"-" and before is not None and pattern[at + 1 : at + 2] not in (b"", b"]"):
            at += 1 + (pattern[at + 1 : at + 2] == b"\\")
            if at >= len(pattern):
                return NEVER, at
            members.update(range(before, pattern[at] + 1))
            before = None
        elif byte == b"[" and pattern[at + 1 : at + 2] == b":":
            close = pattern.find(b"]", at + 2)
            if close < 0:
                return NEVER, len(pattern)
            if close > at + 2 and pattern[close - 1 : close] == b":":
                known = CLASSES.get(pattern[at + 2 : close - 1])
                if known is None:
                    return NEVER, len(pattern)
                members.update(code for code in range(256) if re.match(known, bytes([code])))
                before, at = None, close
            else:
                members.add(ord("["))
                before = ord("[")
        else:
            at += byte == b"\\"
            if at >= len(pattern):
                return NEVER, at
            before = pattern[at]
            members.add(before)
        at += 1
        if at >= len(pattern):
            return NEVER, at
    found = set(range(256)) - members if negated else members
    if not across:
        found.discard(ord("/"))
    return (b"[" + b"".join(b"\\x%02x" % code for code in sorted(found)) + b"]" if found else NEVER), at + 1
