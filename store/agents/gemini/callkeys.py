"""Names for tool calls: Gemini CLI's hooks give no call an id, so a call is named by what it does and when it began.

A hook names a call `<key>@<milliseconds of its beginning>`, the reader of transcripts `<key>@<the agent's id>`. The key
is made of the tool and its input, which both see. Which call of a key is meant is told by time: the first one that
ended after the beginning (a call is recorded when it has ended, so an earlier one of the same key ended before). Light.
"""

from __future__ import annotations

from ...calls import MARK
from ...light import Iterator, blake2b, cast

__all__ = ["MARK", "key", "milliseconds"]


def key(tool: str, given: object) -> str:
    """What stands for a tool with its input."""
    digest = blake2b(digest_size=8)
    for piece in _pieces(given):
        digest.update(piece)
    return f"{tool.replace(MARK, '_')}-{digest.hexdigest()}"


def _pieces(value: object) -> Iterator[bytes]:
    """The value in one form, whatever the order of its keys, and however a decoder gives its numbers."""
    if isinstance(value, str):
        data = value.encode("utf-8", "replace")
        yield b"s%d:" % len(data)
        yield data
    elif isinstance(value, dict):
        table = cast("dict[str, object]", value)
        yield b"{"
        for name in sorted(table):
            yield from _pieces(name)
            yield from _pieces(table[name])
        yield b"}"
    elif isinstance(value, list):
        yield b"["
        for item in cast("list[object]", value):
            yield from _pieces(item)
        yield b"]"
    elif isinstance(value, float) and value.is_integer():
        yield b"n%d" % int(value)
    else:
        yield f"n{value!r}".encode()


def milliseconds(stamp: str) -> int:
    """A time as JavaScript writes it ("2026-11-30T11:35:02.864Z") in milliseconds since 1970; 0 when it is none."""
    numbers = [stamp[begin:end] for begin, end in _DIGITS]
    if len(stamp) != 24 or not all(number.isascii() and number.isdigit() for number in numbers):
        return 0
    year, month, day, hour, minute, second, fraction = map(int, numbers)
    # The calendar's own modules would take a hook longer than all the rest. A year begins in March here, so that the
    # leap day is its last.
    year, month = (year, month - 3) if month > 2 else (year - 1, month + 9)
    days = 365 * year + year // 4 - year // 100 + year // 400 + (153 * month + 2) // 5 + day - 719_469
    return (((days * 24 + hour) * 60 + minute) * 60 + second) * 1000 + fraction


_DIGITS = ((0, 4), (5, 7), (8, 10), (11, 13), (14, 16), (17, 19), (20, 23))
