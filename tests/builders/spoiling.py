"""What becomes of the files of agents: cut, mixed up, replaced, made unreadable. Each way has a name and a function."""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .whole import Whole

LONGEST = 2 << 20
"""Bytes of the longest line, in tests that say so."""
HUGE = LONGEST + (1 << 20)


@dataclass(frozen=True, slots=True)
class Spoil:
    """One way."""

    act: Callable[[Whole], object]
    told: bool = False
    """Whether a person has to be told that something is wrong: in the list, or when the session is read."""
    keeps: tuple[str, ...] = ()
    """Prompts that must still be shown."""
    lines: bool = False
    """Whether it makes sense only for JSON lines."""


def _cut(share: float) -> Callable[[Whole], object]:
    return lambda whole: os.truncate(whole.file, int(whole.file.stat().st_size * share))


def _put(data: bytes, share: float) -> Callable[[Whole], object]:
    """Puts bytes before the line that stands at a share of the file."""

    def act(whole: Whole) -> None:
        found = whole.file.read_bytes().splitlines(keepends=True)
        at = round(len(found) * share)
        whole.file.write_bytes(b"".join([*found[:at], data, *found[at:]]))

    return act


def _text(change: Callable[[bytes], bytes]) -> Callable[[Whole], object]:
    return lambda whole: whole.file.write_bytes(change(whole.file.read_bytes()))


def _lines(change: Callable[[list[bytes]], list[bytes]]) -> Callable[[Whole], object]:
    return _text(lambda data: b"".join(change(data.splitlines(keepends=True))))


def _instead(make: Callable[[Path], object]) -> Callable[[Whole], object]:
    """Something else stands where the file was."""

    def act(whole: Whole) -> None:
        whole.file.unlink()
        make(whole.file)

    return act


def _run_together(found: list[bytes]) -> list[bytes]:
    half = len(found) // 2
    return [*found[:half], found[half][: len(found[half]) // 2], *found[half + 1 :]]


def _huge(whole: Whole) -> None:
    """A line that is too long to be read, in the middle: mostly a hole, which costs no disk."""
    data = whole.file.read_bytes()
    half = data.index(b"\n", len(data) // 2) + 1
    with open(whole.file, "r+b") as stream:
        stream.truncate(half)
        stream.seek(half + HUGE)
        stream.write(b"\n" + data[half:])


def _other_types(seed: int) -> Callable[[bytes], bytes]:
    """Some values of each line become values of another type."""

    def change(data: bytes) -> bytes:
        chosen = random.Random(seed)
        others = [b"7", b"null", b"[]", b"{}", b"[[1]]", b'{"x":{"y":1}}', b"true", b'""', b"-1e400", b'"\\ud83d"']

        def other(found: re.Match[bytes]) -> bytes:
            return found[1] + chosen.choice(others) if chosen.random() < 0.15 else found[0]

        return re.sub(rb'(":\s?)("(?:[^"\\\n]|\\.)*"|\d+|null|true|false)', other, data)

    return change


def _deep(levels: int) -> Callable[[bytes], bytes]:
    """Every object gets a member that is nested so deeply."""

    def deeper(value: object) -> object:
        if isinstance(value, dict):
            return {**{key: deeper(inner) for key, inner in value.items()}, "deep": "@"}
        return [deeper(inner) for inner in value] if isinstance(value, list) else value

    def change(data: bytes) -> bytes:
        lines = [json.dumps(deeper(json.loads(line)), separators=(",", ":")).encode() for line in data.splitlines()]
        return b"".join(line + b"\n" for line in lines).replace(b'"@"', b"[" * levels + b"]" * levels)

    return change


def _noise(seed: int) -> Callable[[bytes], bytes]:
    """Some bytes become others."""

    def change(data: bytes) -> bytes:
        chosen, found = random.Random(seed), bytearray(data)
        for _ in range(12):
            found[chosen.randrange(len(found))] = chosen.randrange(256)
        return bytes(found)

    return change


def _elsewhere(cwd: str) -> Callable[[Whole], object]:
    def act(whole: Whole) -> None:
        here = json.dumps(str(whole.cwd)).encode()
        whole.file.write_bytes(whole.file.read_bytes().replace(here, json.dumps(cwd).encode()))

    return act


BOTH = ("Prompt 1", "Prompt 2")
DEEP = b'{"type":"user","x":' + b"[" * 100_000 + b"\n"
SPOILS: dict[str, Spoil] = {
    "untouched": Spoil(lambda whole: None, keeps=BOTH),
    "empty": Spoil(_cut(0), told=True),
    "one byte": Spoil(_cut(0.0001), told=True),
    "a torn tail": Spoil(lambda whole: os.truncate(whole.file, whole.file.stat().st_size - 7), keeps=BOTH),
    **{f"cut at {share}%": Spoil(_cut(share / 100)) for share in (20, 50, 80)},
    "all NULs": Spoil(_text(lambda data: b"\0" * len(data)), told=True),
    "NULs in the middle": Spoil(_put(b"\0" * 5000 + b"\n", 0.5), keeps=BOTH, lines=True),
    "NULs before a record": Spoil(_put(b"\0" * 5000, 0.5), keeps=BOTH, lines=True),
    "junk at the start": Spoil(_put(b"not a record\n", 0), keeps=BOTH, lines=True),
    "junk in the middle": Spoil(_put(b"not a record\n", 0.5), told=True, keeps=BOTH, lines=True),
    "junk at the end": Spoil(_put(b"\xff\xfe junk", 1), keeps=BOTH, lines=True),
    "a deep line": Spoil(_put(DEEP, 0.5), told=True, keeps=BOTH, lines=True),
    "values 300 deep": Spoil(_text(_deep(300)), keeps=BOTH, lines=True),
    "values almost too deep": Spoil(_text(_deep(930)), lines=True),
    "an unknown record": Spoil(_put(b'{"type":"brand-new","payload":{"x":1}}\n', 0.5), keeps=BOTH, lines=True),
    "a huge line": Spoil(_huge, told=True, keeps=BOTH, lines=True),
    "two records in one line": Spoil(_lines(_run_together), lines=True),
    "CRLF": Spoil(_text(lambda data: data.replace(b"\n", b"\r\n")), keeps=BOTH, lines=True),
    "blank lines": Spoil(_text(lambda data: data.replace(b"\n", b"\n\n")), keeps=BOTH, lines=True),
    "a byte order mark": Spoil(_text(lambda data: b"\xef\xbb\xbf" + data), keeps=BOTH, lines=True),
    "every line twice": Spoil(_lines(lambda found: [line for line in found for _ in range(2)]), keeps=BOTH, lines=True),
    "the lines backwards": Spoil(_lines(lambda found: found[::-1]), lines=True),
    "without its first line": Spoil(_lines(lambda found: found[1:]), lines=True),
    "without every second line": Spoil(_lines(lambda found: found[::2]), lines=True),
    "all ids the same": Spoil(_text(lambda data: re.sub(rb"[0-9a-f]{8}-[0-9a-f-]{27}", b"0" * 36, data)), lines=True),
    "bytes that are no UTF-8": Spoil(
        _text(lambda data: data.replace(b"Reply 1", b"Reply \xff\xfe\x80")), keeps=BOTH, lines=True
    ),
    "half a surrogate": Spoil(_text(lambda data: data.replace(b"Reply 1", b"Reply \\ud83d")), keeps=BOTH, lines=True),
    "escapes for a terminal": Spoil(_text(lambda data: data.replace(b"Reply", b"\\u001b[2J\\u202eReply")), lines=True),
    "line separators in a text": Spoil(
        _text(lambda data: data.replace(b"Reply 1", "Reply\u2028\u2029\x85 1".encode())), keeps=BOTH, lines=True
    ),
    "a version never seen": Spoil(
        lambda whole: _text(lambda data: data.replace(*whole.version))(whole), keeps=BOTH, lines=True
    ),
    **{f"other types {seed}": Spoil(_text(_other_types(seed)), lines=True) for seed in range(4)},
    **{f"noise {seed}": Spoil(_text(_noise(seed))) for seed in range(3)},
    "another machine's folder": Spoil(_elsewhere("/Users/ann/shop"), lines=True),
    "a folder of Windows": Spoil(_elsewhere("C:\\Users\\ann\\shop"), lines=True),
    "a folder with a NUL": Spoil(_elsewhere("/with\0nul"), lines=True),
    "a folder in its place": Spoil(_instead(Path.mkdir), told=True),
    "a FIFO in its place": Spoil(_instead(os.mkfifo), told=True),
    "a link to nothing": Spoil(_instead(lambda file: file.symlink_to("nowhere")), told=True),
    "a circle of links": Spoil(_instead(lambda file: file.symlink_to(file.name)), told=True),
}
