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
import json
import os
import re
import time
import uuid
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, BinaryIO, cast

import msgspec

from ...errors import ForkpointError, Refused, UnknownId
from ...model import Conversation, Entry
from ...text import first_line
from ..base import Fork, Source
from ..forms import newfile
from ..forms.belonging import is_under
from ..forms.regular import open_regular
from . import places
from .faces import typed
from .filenames import CHATS
from .places import MARKER, folder_of
from .reader import Following, Reading
from .records import Line, Unreadable, nanoseconds, parse, records
from .replay import Place

Json = dict[str, Any]


def plan_fork(
    conversation: Conversation,
    entry: str,
    *,
    title: str,
    before: bool | None = None,
    session: str | None = None,
    cwd: str | None = None,
    sources: Sequence[Source] | None = None,
) -> Fork:
    """A fork that ends with an entry, or just before it (`before`, by default for prompts).

    cwd: the folder in which it will be resumed, when that is not the one the session was started in. Raises UnknownId,
    Refused (inside of a sub-agent), ForkpointError (no record).
    """
    point = _point(conversation, entry)
    leave_out = before if before is not None else point.kind == "prompt"
    given = list(sources) if sources is not None else places.sources(conversation.info)
    reading = Reading(conversation.info, Following().notes(conversation.info, given))
    line = _Line(reading, given)
    node = line.node(point)
    end = reading.tree.nodes[node].parent if leave_out else node
    kept = line.up_to(end)
    new = session or _fresh_id(conversation)
    folder = cwd or conversation.info.cwd
    data = line.written(kept, new, conversation.info.cwd, folder, title) if kept else b""
    inside = {reading.tree.nodes[index].id for index in kept}
    shown = [item for item in conversation.entries if item.id.partition("#")[0] in inside and not item.under]
    note = _note(point, leave_out, reading.tree.nodes[node].faces) if kept else _NOTHING
    return Fork(
        session=new,
        file=os.path.join(chats_of(folder), _name(new)) if kept else "",
        data=data,
        digest=hashlib.sha256(data).hexdigest(),
        source=reading.files[reading.tree.nodes[node].file],
        last=shown[-1].id if shown else "",
        entries=len(shown),
        prompt_text=line.typed_at(node) if leave_out and point.kind == "prompt" else "",
        note=note,
        title=title,
        mtime=_before(reading.files[reading.tree.nodes[node].file], point.time),
    )


_NOTHING = "nothing was said before this prompt: going on starts a new session"


def write_fork(fork: Fork) -> None:
    """Writes a planned fork; never over anything. Raises ForkpointError, StoreUnwritable."""
    newfile.write_fork(fork, lambda: _claim(os.path.dirname(os.path.dirname(fork.file)), fork.data))


def resume_command(session: str, cwd: str, *, fresh: bool = False) -> tuple[tuple[str, ...], str]:
    """The command that goes on with a session, by its full id; fresh: the session is yet to begin."""
    return ("gemini", "--session-id" if fresh else "--resume", session), cwd


def _point(conversation: Conversation, entry: str) -> Entry:
    """The entry to cut at: for one without a message of its own the one before it."""
    by_id = {item.id: item for item in conversation.entries}
    if entry not in by_id:
        raise UnknownId("there is no such row in this session", todo="forkpoint log")
    found = by_id[entry]
    if found.under:
        raise Refused(
            "this row is a sub-agent's: its work is a part of one tool call",
            todo="fork at the call that started it",
        )
    while found.flavour == "unreadable" or found.span is None:
        if found.parent is None:
            raise Refused("there is nothing before this row", todo="choose a later one")
        found = by_id[found.parent]
    return found


def _note(point: Entry, leave_out: bool, faces: Sequence[object]) -> str:
    """What a person should know of the cut: a message is kept as a whole, with all of its calls."""
    number = int(point.id.partition("#")[2] or 1)
    if leave_out and number > 1:
        return "the cut was moved to before the calls that ran in parallel, and the words that came with them"
    if not leave_out and number < len(faces) - (point.kind == "tool_call"):
        return "the cut was moved to the end of the calls that ran in parallel"
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
            raise ForkpointError("the record of this row is not in its file any more", todo="choose another row")
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
        return b"".join(line + b"\n" for line in (json.dumps(header, separators=(",", ":")).encode(), *lines) if line)

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
            raise ForkpointError(
                f"the session's file cannot be read ({error.strerror})", todo="choose another row"
            ) from None
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
                cast("Json", shown)["filePath"] = new + path[len(old) :]
                changed = True
        return json.dumps(plain, separators=(",", ":")).encode() if changed else data


def _one_line(data: bytes) -> bytes:
    """A message on one line: in a session of the old form it stands on many."""
    if b"\n" not in data:
        return data.strip(b"\r \0")
    plain = parse(data)
    return json.dumps(plain, separators=(",", ":")).encode() if plain else b""


def _bytes(data: bytes) -> BinaryIO:
    from io import BytesIO

    return BytesIO(data)


def _fresh_id(conversation: Conversation) -> str:
    """An id whose first eight characters no other session has: the program tells files apart by them."""
    used = {session[:8] for session in conversation.info.ids}
    folders = {os.path.dirname(file) for file in conversation.info.files}
    names = [name for folder in folders for name in places.names(folder)]
    while True:
        new = str(uuid.uuid4())
        if new[:8] not in used and not any(new[:8] in name for name in names):
            return new


def _name(session: str) -> str:
    return f"session-{time.strftime('%Y-%m-%dT%H-%M', time.gmtime())}-{session}.jsonl"


def chats_of(cwd: str) -> str:
    """The folder of the sessions of a start folder: the one that is there, or the one that the program would make."""
    folder = folder_of(cwd)
    if not folder:
        base = places.temporary()
        slug = re.sub("[^a-z0-9]+", "-", os.path.basename(os.path.abspath(cwd)).lower()).strip("-") or "project"
        taken = {*places.names(base), *_registered()}
        name, number = slug, 0
        while name in taken:
            number += 1
            name = f"{slug}-{number}"
        folder = os.path.join(base, name)
    return os.path.join(folder, CHATS)


def _registered() -> set[str]:
    """Names that the program gave to other projects."""
    try:
        with open(os.path.join(os.path.dirname(places.temporary()), "projects.json"), "rb") as file:
            found = parse(file.read()).get("projects")
    except OSError:
        return set()
    return {str(name) for name in cast("Json", found).values()} if isinstance(found, dict) else set()


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


def _before(source: str, otherwise: int) -> int:
    """A moment just before the source's time."""
    try:
        return os.stat(source).st_mtime_ns - 1_000_000_000
    except OSError:
        return otherwise
