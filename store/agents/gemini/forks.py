"""Writes forks of Gemini CLI's sessions: a new file of lines beside the others (tried with 0.61.0).

A fork is a header and the messages of the path, each as it stands in its file, with their answers. What a resume adds
(`$set`, further headers) is left out: the program writes it anew. After a compression the path begins with the list
that took the place of the conversation, as the program has it.

The file's name ends with the whole id. The program itself names files by the first eight characters, and at each resume
in a later minute it leaves an empty file of such a name behind; at a later start it takes that for a broken session and
deletes every file that ends with the same eight characters, the real session among them. A fork with the whole id in
its name is not deleted.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
import uuid
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, BinaryIO, cast

import msgspec

from ...errors import ForkpointError
from ...model import Conversation, Entry
from ...text import first_line
from ..base import Fork, Source, Wanted
from ..forms import newfile
from ..forms.belonging import is_under
from ..forms.regular import names_in, open_regular
from ..forms.rewriting import encoded
from .faces import typed
from .places import MARKER, chats_of
from .reader import Following, Reading
from .records import Line, Unreadable, nanoseconds, parse, records
from .replay import Place

Json = dict[str, Any]


def plan_fork(conversation: Conversation, entry: str, wanted: Wanted) -> Fork:
    """A fork that ends with an entry, or just before it.

    Raises UnknownId, Refused (inside of a sub-agent), ForkpointError (no record).
    """
    point = newfile.point_of(conversation, entry)
    leave_out = wanted.leaves_out(point)
    reading = Reading(conversation.info, Following().notes(conversation.info, wanted.sources))
    line = _Line(reading, wanted.sources)
    node = line.node(point)
    end = reading.tree.nodes[node].parent if leave_out else node
    kept = line.up_to(end)
    new = wanted.session or _fresh_id(conversation)
    folder = wanted.cwd or conversation.info.cwd
    data = line.written(kept, new, conversation.info.cwd, folder, wanted.title) if kept else b""
    inside = {reading.tree.nodes[index].id for index in kept}
    shown = [item for item in conversation.entries if item.id.partition("#")[0] in inside and not item.under]
    note = _note(point, leave_out, reading.tree.nodes[node].faces) if kept else newfile.EMPTY
    return Fork(
        session=new,
        file=os.path.join(chats_of(folder), _name(new)) if kept else "",
        data=data,
        source=reading.files[reading.tree.nodes[node].file],
        last=shown[-1].id if shown else "",
        entries=len(shown),
        prompt_text=line.typed_at(node) if wanted.hands_back(point) else "",
        note=note,
        title=wanted.title,
        mtime=newfile.just_before(reading.files[reading.tree.nodes[node].file], point.time),
    )


def write_fork(fork: Fork) -> None:
    """Writes a planned fork; never over anything. Raises ForkpointError, StoreUnwritable."""
    newfile.write_fork(fork, lambda: _claim(os.path.dirname(os.path.dirname(fork.file)), fork.data))


def resume_command(session: str, cwd: str, *, fresh: bool = False) -> tuple[tuple[str, ...], str]:
    """The command that goes on with a session, by its full id; fresh: the session is yet to begin."""
    return ("gemini", "--session-id" if fresh else "--resume", session), cwd


def with_prompt(command: Sequence[str], prompt: str) -> tuple[str, ...] | None:
    """The same command, which says a prompt first and stays open."""
    return (*command, f"--prompt-interactive={prompt}")


def _note(point: Entry, leave_out: bool, faces: Sequence[object]) -> str:
    """What a person should know of the cut: a message is kept as a whole, with all of its calls."""
    number = int(point.id.partition("#")[2] or 1)
    if leave_out and number > 1:
        return "the cut was moved to before the calls that ran in parallel, and the words that came with them"
    if not leave_out and number < len(faces) - (point.kind == "tool_call"):
        return newfile.BATCH
    return ""


class _Line:
    """The messages on the way to a cut, read again where they stand."""

    def __init__(self, reading: Reading, sources: Sequence[Source]) -> None:
        self.nodes = reading.tree.nodes
        self.reading = reading
        self._sources = {source.name: source for source in sources}
        self._index = {node.id: index for index, node in enumerate(self.nodes)}

    def node(self, point: Entry) -> int:
        found = self._index.get(point.id.partition("#")[0])
        if found is None:
            raise ForkpointError(newfile.NO_RECORD, todo="choose another row")
        return found

    def up_to(self, end: int) -> list[int]:
        """Nodes from the beginning, or from the last compression, to the end."""
        found: list[int] = []
        while end >= 0:
            if not self.nodes[end].dead:
                found.append(end)
            if self.nodes[end].instead:
                break
            end = self.nodes[end].parent
        return found[::-1]

    def written(self, kept: Sequence[int], new: str, old_cwd: str, cwd: str, title: str) -> bytes:
        """The bytes of the fork."""
        first = self.nodes[kept[0]]
        spots: list[Place] = list(first.instead)
        for index in kept:
            node = self.nodes[index]
            if node.place not in first.instead and not self._is_unreadable(index):
                spots += [node.place, *node.answers.values()]
        source = self.reading.files[self.nodes[kept[-1]].file]
        header = self._header(source, new, cwd, title)
        lines = [self._moved(data, old_cwd, cwd) for data in self._read(dict.fromkeys(spots))]
        return b"".join(line + b"\n" for line in (encoded(header), *lines) if line)

    def typed_at(self, index: int) -> str:
        """The prompt that a node is, as it was typed."""
        data = next(iter(self._read([self.nodes[index].place])), b"")
        found = [line for _, _, line in records(_bytes(data)) if isinstance(line, Line)]
        return typed(found[0]) if found else ""

    def _is_unreadable(self, index: int) -> bool:
        return any(face.flavour == "unreadable" for face in self.nodes[index].faces)

    def _header(self, source: str, new: str, cwd: str, title: str) -> Json:
        """The header of a session that is older than the one it came from: "--resume latest" takes the youngest."""
        old = self._first_header(source)
        began = nanoseconds(str(old.get("startTime", ""))) or time.time_ns()
        return {
            "sessionId": new,
            "projectHash": hashlib.sha256(os.fsencode(cwd)).hexdigest(),
            "startTime": _stamp(began - 1_000_000_000),
            # It decides when the program deletes the session.
            "lastUpdated": _stamp(time.time_ns()),
            "kind": "main",
            "summary": first_line(title) or "fork",
            "forkedFrom": {"sessionId": old.get("sessionId", ""), "folder": cwd},
        }

    def _first_header(self, source: str) -> Json:
        try:
            with self._opened(source) as file:
                if source.endswith(".json"):
                    return parse(file.read())
                for offset, length, line in records(file):
                    if not isinstance(line, Unreadable) and line.session and line.project:
                        file.seek(offset)
                        return parse(file.read(length))
        except OSError:
            pass
        return {}

    def _opened(self, name: str) -> BinaryIO:
        source = self._sources.get(name)
        return source.open() if source is not None else open_regular(name)

    def _read(self, spots: Iterable[Place]) -> list[bytes]:
        """Messages as single lines, in the order in which they are asked for."""
        opened: dict[int, BinaryIO] = {}
        found: list[bytes] = []
        try:
            for number, offset, length in spots:
                if number not in opened:
                    opened[number] = self._opened(self.reading.files[number])
                opened[number].seek(offset)
                found.append(_one_line(opened[number].read(length)))
        except OSError as error:
            raise newfile.unreadable(error, str(error.filename or "")) from None
        finally:
            for file in opened.values():
                file.close()
        return found

    @staticmethod
    def _moved(data: bytes, old: str, new: str) -> bytes:
        """A message of a session that goes on in another folder: its own rewind must not write into the old one."""
        if old == new or b'"filePath"' not in data:
            return data
        plain = parse(data)
        changed = False
        for call in cast("list[object]", plain.get("toolCalls") or []):
            shown = cast("Json", call).get("resultDisplay") if isinstance(call, dict) else None
            path = cast("Json", shown).get("filePath") if isinstance(shown, dict) else None
            if isinstance(path, str) and is_under(path, old):
                cast("Json", shown)["filePath"] = newfile.moved(path, old, new)
                changed = True
        return encoded(plain) if changed else data


def _one_line(data: bytes) -> bytes:
    """A message on one line: in a session of the old form it stands on many."""
    if b"\n" not in data:
        return data.strip(b"\r \0")
    plain = parse(data)
    return encoded(plain) if plain else b""


def _bytes(data: bytes) -> BinaryIO:
    from io import BytesIO

    return BytesIO(data)


def _fresh_id(conversation: Conversation) -> str:
    """An id whose first eight characters no other session has: the program tells files apart by them."""
    used = {session[:8] for session in conversation.info.ids}
    folders = {os.path.dirname(file) for file in conversation.info.files}
    names = [name for folder in folders for name in names_in(folder)]
    while True:
        new = str(uuid.uuid4())
        if new[:8] not in used and not any(new[:8] in name for name in names):
            return new


def _name(session: str) -> str:
    return f"session-{time.strftime('%Y-%m-%dT%H-%M', time.gmtime())}-{session}.jsonl"


def _claim(folder: str, data: bytes) -> None:
    """Marks a project's folder as that of its project, as the program does; one that is marked stays."""
    marker = os.path.join(folder, MARKER)
    with suppress(msgspec.DecodeError, KeyError, TypeError, FileExistsError):
        header: Any = msgspec.json.decode(data.partition(b"\n")[0])
        path = str(header["forkedFrom"]["folder"])
        if path and not os.path.lexists(marker) and not re.fullmatch("[0-9a-f]{64}", os.path.basename(folder)):
            with open(marker, "x", encoding="utf-8", errors="surrogateescape") as file:
                file.write(path)


def _stamp(moment: int) -> str:
    seconds, rest = divmod(moment, 1_000_000_000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{rest // 1_000_000:03d}Z"
