"""Text from transcripts, files and paths, made safe to show (rule 13).

Nothing that this module returns can move a cursor, start an escape sequence, turn the reading direction or hide
itself. Escapes inside of a text reach the terminal through every text widget, so the cleaning is done here, once.
"""

from __future__ import annotations

from .light import TYPE_CHECKING, lru_cache

if TYPE_CHECKING:
    import re

_C0 = "".join(chr(code) for code in range(0x20) if chr(code) not in "\t\n") + "\x7f"
# Format characters that hide text or turn its direction. The joiners U+200C and U+200D stay: scripts and emoji need
# them. So do the Arabic number signs, which are visible.
_HIDDEN = (
    "\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f"
)
_UNSAFE = f"[{_C0}\x80-\x9f{_HIDDEN}\ud800-\udfff]"
_COLOUR = "\x1b\\[[0-9;:]*m"
_WORD = r"\S"
SLICE = 1 << 16
"""Characters that are cleaned at once: between two slices of megabytes of text other threads go on."""
_ELLIPSIS = "…"


@lru_cache(maxsize=8)
def _compiled(pattern: str) -> re.Pattern[str]:
    """The expression, compiled when the first text needs it: most are plain, and a hook shows none."""
    import re

    return re.compile(pattern)


def clean(text: str, keep_lines: bool = False) -> str:
    """The text with every control, direction and hiding character made visible, one mark each.

    With keep_lines its line feeds and tabs stay and CR LF counts as a line feed; otherwise both become a blank.
    """
    if text.isprintable():
        return text
    text = text.replace("\r\n", "\n")
    if not keep_lines:
        text = text.replace("\n", " ").replace("\t", " ")
    unsafe = _compiled(_UNSAFE)
    if len(text) <= SLICE:
        return unsafe.sub(_visible, text)
    return "".join(unsafe.sub(_visible, text[at : at + SLICE]) for at in range(0, len(text), SLICE))


def first_line(text: str, limit: int = 300) -> str:
    """The first line that holds anything, cleaned, without blanks around it, at most limit characters with its "…"."""
    head = text[: limit + 1]
    line, feed, _ = head.partition("\n")
    line = line.strip()
    if line and line.isprintable():
        # Nearly every text: one plain line, or a plain first one.
        if feed or len(head) <= limit:
            return line
        if line[0] == head[0]:
            return line[: limit - 1].rstrip(" ") + _ELLIPSIS
    start = _compiled(_WORD).search(text)
    if start is None:
        return ""
    begin = start.start()
    end = text.find("\n", begin, begin + limit + 1)
    whole = end >= 0 or len(text) - begin <= limit
    line = text[begin : end if end >= 0 else begin + limit + 1]
    line = clean(line.strip())
    if whole and len(line) <= limit:
        return line
    return line[: limit - 1].rstrip("\u200d ") + _ELLIPSIS


def without_colour(text: str) -> str:
    """The text of a program's output without its colour sequences (SGR); every other escape is left for clean()."""
    return _compiled(_COLOUR).sub("", text) if "\x1b" in text else text


def path_text(path: bytes | str) -> str:
    """A path as a person reads it: bytes that are not UTF-8 as \\xff, then cleaned."""
    if isinstance(path, str):
        path = path.encode("utf-8", "surrogateescape" if _is_escaped(path) else "surrogatepass")
    return clean(path.decode("utf-8", "backslashreplace"))


def _is_escaped(text: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" and not "\udc80" <= char <= "\udcff" for char in text)


def _visible(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return f"<U+{code:04X}>"
