"""An entry in full: its record read again where it stands, and blocks of cleaned text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import BinaryIO

from ...model import Block, Entry
from ...text import clean, without_colour
from .regular import open_regular

OpenFile = Callable[[str], BinaryIO]
_UNREADABLE = 64 << 10
"""Bytes that are shown of what is no record: it can be larger than memory."""


def record_of(entry: Entry, open_file: OpenFile | None = None) -> bytes:
    """The bytes of an entry's record; none when they are gone."""
    span = entry.span
    if span is None:
        return b""
    try:
        with (open_file or open_regular)(span.file) as file:
            file.seek(span.offset)
            return file.read(min(span.length, _UNREADABLE) if entry.flavour == "unreadable" else span.length)
    except OSError:
        return b""


def unread(data: bytes) -> list[Block]:
    """What is shown of bytes that are no record."""
    return [Block("raw", clean(data.decode("utf-8", "replace"), keep_lines=True) or "The record is no longer there.")]


def facts_of(entry: Entry, found: Mapping[str, object]) -> dict[str, str]:
    """Those of the facts that a record has, and where it stands."""
    shown = {name: clean(str(value)) for name, value in found.items() if isinstance(value, str | int) and value != ""}
    return shown if entry.span is None else {**shown, "file": clean(entry.span.file)}


def plain(text: str) -> str:
    """Text of many lines without colours and control characters."""
    return clean(without_colour(text), keep_lines=True)


def prose(text: str, title: str = "") -> Block:
    """What somebody said."""
    return Block("text", plain(text), clean(title))


def thinking(text: str) -> Block:
    """What the model thought."""
    return Block("thinking", clean(text, keep_lines=True))


def given(text: str, title: str) -> Block:
    """What a tool was called with."""
    return Block("tool_input", clean(text, keep_lines=True), clean(title))


def output(text: str, title: str) -> Block:
    """What a tool told."""
    return Block("tool_output", plain(text), clean(title))


def diff(text: str, title: str) -> Block:
    """What changed, as the lines of a diff."""
    return Block("diff", clean(text, keep_lines=True).rstrip("\n"), clean(title))


def replaced(pairs: Iterable[tuple[str, str]], title: str) -> Block:
    """Texts and what took their places, as a diff."""
    return diff("\n".join(_signed(old, "-") + _signed(new, "+") for old, new in pairs), title)


def image(kind: str, data: str = "", title: str = "") -> Block:
    """A picture or file, by what it is; data: it in base64."""
    size = f", {len(data) * 3 // 4 / 1000:,.0f} kB" if data else ""
    return Block("image", clean(f"{kind}{size}".strip(", ")), clean(title))


def raw(value: object) -> Block:
    """What is not known here, as it stands in the record."""
    return Block("raw", pretty(value))


def pretty(value: object) -> str:
    """JSON on many lines."""
    try:
        text = json.dumps(value, ensure_ascii=False, indent=2)
    except RecursionError:
        text = "(nested too deeply to be shown)"
    return clean(text, keep_lines=True)


def line(value: object) -> bytes:
    """JSON on one line, to be read by a reader of lines; nothing for what is nested too deeply."""
    try:
        return json.dumps(value).encode()
    except RecursionError:
        return b""


def _signed(text: str, sign: str) -> str:
    return "".join(f"{sign}{line}\n" for line in text.removesuffix("\n").split("\n")) if text else ""
