"""TinyDB's storage over a file of JSON lines: the first holds all tables, each later one what has changed since.

    {"version":"…","sum":"…","points":{…},"operations":{…}, …}
    {"version":"…","sum":"…","points":{"17":{…},"3":null}, …}

So a change costs what it is long, not what the file is long. `sum` chains the lines: it is the hash of the sum of the
line before and the rest of its line, and what was changed by anything else is noticed. The file is written whole by
replacing it; a last line that is not whole is one that was being written, and is passed over.
"""

from __future__ import annotations

import gc
import hashlib
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import msgspec

from ..durable import write_atomic

Table = dict[str, dict[str, Any]]
State = Literal["whole", "absent", "other", "changed"]
SUM = 40
LEAST = 1 << 18
"""Bytes of changes that are kept beside any base."""


class JsonLines:
    """Tables of documents in memory. A document is replaced, never changed in place: that is how changes are found.

    `state` tells what the file was: as it was written, not there, of another version, or changed by something else.
    It is a `tinydb.Storage` in all but its base, whose import would wait for no query at all.
    """

    def __init__(self, file: Path, version: str, form: Any) -> None:
        """`form` is the type of a line's tables, for msgspec: table → document number → document, or None."""
        self._file = file
        self._begin = b'{"version":"%s","sum":"' % version.encode()
        self._decode = msgspec.json.Decoder(form).decode
        self._gathering = False
        self.load()

    def load(self) -> None:
        """Reads the file anew."""
        with uncollected():
            self._load()

    def _load(self) -> None:
        self._tables: dict[str, Table] = {}
        self._disk: dict[str, Table] = {}
        self._base = self._end = 0
        self._sum = b""
        self._seen: tuple[int, int] | None = None
        self.state: State = "absent"
        try:
            with open(self._file, "rb") as stream:
                self._seen = _look(stream.fileno())
                data = stream.read()
        except FileNotFoundError:
            return
        except OSError:
            self.state = "changed"
            return
        self.state = self._read(data)
        if self.state == "whole":
            self._disk = dict(self._tables)
        else:
            self._tables = {}

    def forget(self, state: State = "absent") -> None:
        """Begins anew; the file stays until it is replaced."""
        self._tables, self._disk, self.state = {}, {}, state

    def read(self) -> dict[str, Table] | None:
        return self._tables

    def close(self) -> None:
        """Nothing is held open."""

    def write(self, data: dict[str, Table]) -> None:
        self._tables = data
        if not self._gathering:
            self._save()

    @contextmanager
    def batch(self, *, keep: bool = True) -> Generator[None]:
        """Gathers several writes into one; without `keep` they stay in memory, where the file cannot be written."""
        self._gathering = True
        try:
            yield
        finally:
            self._gathering = False
        if keep:
            self._save()

    @property
    def outdated(self) -> bool:
        """Whether somebody else wrote the file since it was read."""
        try:
            with open(self._file, "rb") as stream:
                return _look(stream.fileno()) != self._seen
        except OSError:
            return self._seen is not None

    def _read(self, data: bytes) -> State:
        if not data.startswith(self._begin):
            # Another version's begin with a version as well, or with a table.
            return "other" if data.startswith((b'{"version":', b'{"points":', b'{"meta":')) else "changed"
        view = memoryview(data)
        start = 0
        while start < len(data):
            end = data.find(b"\n", start)
            if end < 0 or (self._base and data.find(b"\0", start, end) >= 0):
                break  # it was not on the disk yet when the power went
            found = self._line(view[start:end])
            if found is None:
                return "changed"
            for name, changes in found.items():
                self._merge(name, changes)
            start = end + 1
            self._base = self._base or start
        self._end = start
        return "whole" if self._base else "changed"

    def _line(self, line: memoryview) -> dict[str, Any] | None:
        at = len(self._begin)
        rest = line[at + SUM :]
        chained = _chain(self._sum, rest)
        if bytes(line[: at + SUM]) != self._begin + chained:
            return None
        try:
            found = self._decode(line)
        except (msgspec.MsgspecError, RecursionError):
            return None
        self._sum = chained
        return found

    def _merge(self, name: str, changes: Any) -> None:
        if name not in ("version", "sum"):
            table = self._tables.setdefault(name, {})
            if self._base:
                table.update(changes)
                for number in [number for number, document in changes.items() if document is None]:
                    del table[number]
            else:
                self._tables[name] = changes

    def _save(self) -> None:
        changes = {name: _changes(self._disk.get(name, {}), table) for name, table in self._tables.items()}
        changes = {name: table for name, table in changes.items() if table}
        if not changes and self.state == "whole":
            return
        line = self._encoded(changes, self._sum)
        room = max(LEAST, self._base // 2)
        if self.state != "whole" or self._end - self._base + len(line) > room or self.outdated:
            self._replace()
        else:
            self._append(line)
        self._disk = dict(self._tables)

    def _append(self, line: bytes) -> None:
        descriptor = os.open(self._file, os.O_WRONLY | os.O_CLOEXEC)
        try:
            # What follows the last whole line was written by somebody who was killed.
            os.ftruncate(descriptor, self._end)
            os.pwrite(descriptor, line, self._end)
            self._seen = _look(descriptor)
        finally:
            os.close(descriptor)
        self._end += len(line)
        self._sum = line[len(self._begin) :][:SUM]

    def _replace(self) -> None:
        line = self._encoded(self._tables, b"")
        write_atomic(self._file, line)
        found = os.stat(self._file)
        self._seen = (found.st_ino, found.st_size)
        self._base = self._end = len(line)
        self._sum = line[len(self._begin) :][:SUM]
        self.state = "whole"

    def _encoded(self, tables: dict[str, Any], chain: bytes) -> bytes:
        rest = b'",' + msgspec.json.encode(tables)[1:]
        return self._begin + _chain(chain, rest) + rest + b"\n"


@contextmanager
def uncollected() -> Generator[None]:
    """Lets the garbage collector wait: while many objects come that all stay, it would go through them in vain."""
    waits = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if waits:
            gc.enable()


def _chain(before: bytes, rest: bytes | memoryview) -> bytes:
    digest = hashlib.sha1(before, usedforsecurity=False)
    digest.update(rest)
    return digest.hexdigest().encode()


def _changes(old: Table, new: Table) -> dict[str, Any]:
    if old is new:
        return {}
    found: dict[str, Any] = {number: document for number, document in new.items() if old.get(number) is not document}
    return found | dict.fromkeys(old.keys() - new.keys())


def _look(descriptor: int) -> tuple[int, int]:
    found = os.fstat(descriptor)
    return found.st_ino, found.st_size
