"""States of files from OpenCode's own snapshots, and what they prove.

Before and after each step of the model OpenCode writes the whole work tree into a bare repository of its own: trees
only, without a commit or a ref, so that they go after about a week. Ignored files and new ones over 2 MB are in none.
What the shell did is in them as well as what edit tools did.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import BinaryIO

import msgspec

from ...git.foreign import Foreign, Held
from ...model import Conversation
from ..base import Evidence, FileState, LazyFiles, PartialState, Source
from ..forms.contents import inside, state_id
from ..forms.jsonl import lines
from . import NAME, data_home
from .events import READ_ONLY
from .faces import EDIT_TOOLS, paths_of
from .listing import source_of
from .records import MESSAGE, PART, SESSION, Data, Line, decode_line, nanoseconds

_PART = b'{"kind":"part"'
_KEPT = 512
"""Comparisons of trees that are remembered: trees never change, and a session is read again as it grows."""


@dataclass(slots=True)
class Call:
    """A tool call of a step that may have written."""

    id: str
    """Id of its part: that of its entry."""
    tool: str
    time: int
    paths: tuple[str, ...]
    done: bool


@dataclass(slots=True)
class Step:
    """One step of the model: what it saw, what it called, what it left."""

    prompt: str
    worktree: str
    project: str
    before: str
    after: str = ""
    calls: list[Call] = field(default_factory=list[Call])


def steps(sources: Sequence[Source], *, calls: bool = False) -> Iterator[Step]:
    """The steps that have a snapshot, each once, in the order of the sources; with what they called when asked for."""
    seen: set[str] = set()
    for source in sources:
        try:
            with source.open() as stream:
                yield from _steps_of(stream, seen, calls)
        except OSError:
            continue


def _steps_of(stream: BinaryIO, seen: set[str], calls: bool) -> Iterator[Step]:
    project, message, open_step = "", Data(), None
    for line in _telling(stream, calls):
        data = line.data or Data()
        if line.kind == SESSION:
            project = data.project
            if not _folder(project):
                return
        elif line.kind == MESSAGE:
            if open_step is not None:
                yield open_step
            message, open_step = data, None
        elif line.kind == PART and line.id not in seen:
            if data.type == "step-start" and data.snapshot:
                if open_step is not None:
                    yield open_step
                seen.add(line.id)
                open_step = Step(message.parent, _worktree(message), project, data.snapshot)
            elif open_step is not None and data.type == "tool" and data.tool not in READ_ONLY:
                open_step.calls.append(_call(line.id, data))
            elif open_step is not None and data.type == "step-finish" and data.snapshot:
                open_step.after = data.snapshot
    if open_step is not None:
        yield open_step


def _telling(stream: BinaryIO, calls: bool) -> Iterator[Line]:
    """The lines that tell of steps; what is no record is the reader's to tell."""
    for _, data, _ in lines(stream):
        part = data.startswith(_PART)
        if part and b'"snapshot":' not in data and not (calls and b'"tool":' in data):
            continue
        try:
            yield decode_line(data)
        except (msgspec.DecodeError, RecursionError):
            continue


def _worktree(message: Data) -> str:
    return message.path.root if message.path is not None and not isinstance(message.path, str) else ""


def _call(uid: str, part: Data) -> Call:
    state = part.state
    time = nanoseconds(state.time.end or state.time.start) if state is not None and state.time is not None else 0
    paths = paths_of(part.tool, state.given if state is not None else None)
    return Call(uid, part.tool, time, paths, state is not None and state.status == "completed")


class Snapshots:
    """The repositories of a data folder."""

    def __init__(self, root: str) -> None:
        self.root = os.path.realpath(root)
        self._opened: dict[str, Foreign | None] = {}

    def of(self, step: Step, tree: str) -> Foreign | None:
        """The repository that has a tree of a step; None when it is gone."""
        for git_dir in _git_dirs(step.project, step.worktree):
            if git_dir not in self._opened:
                try:
                    self._opened[git_dir] = Foreign(git_dir)
                except OSError:
                    self._opened[git_dir] = None
            found = self._opened[git_dir]
            if found is not None and found.holds(tree):
                return found
        return None

    def place(self, step: Step) -> tuple[bytes, bytes] | None:
        """What of a tree stands in the root: the folder of the tree, and where it goes; None when nothing does."""
        worktree = os.path.realpath(step.worktree) if step.worktree else ""
        if not worktree or worktree == os.sep:
            return None
        if worktree == self.root:
            return b"", b""
        if self.root.startswith(worktree + os.sep):
            return os.fsencode(os.path.relpath(self.root, worktree)), b""
        if worktree.startswith(self.root.rstrip(os.sep) + os.sep):
            return b"", os.fsencode(os.path.relpath(worktree, self.root)) + b"/"
        return None


def _folder(project: str) -> str:
    """The folder of a project's snapshots; "" when it has none."""
    if not project or os.sep in project or project.startswith("."):
        return ""
    folder = os.path.join(data_home(), "snapshot", project)
    return folder if os.path.isdir(folder) else ""


def _git_dirs(project: str, worktree: str) -> list[str]:
    """Where a snapshot may be: a repository for each work tree of a project; in older versions one for the project."""
    folder = _folder(project)
    named = hashlib.sha1(os.fsencode(worktree), usedforsecurity=False).hexdigest()
    try:
        others = sorted(name for name in os.listdir(folder or os.devnull) if len(name) == len(named) and name != named)
    except OSError:
        return []
    found = [os.path.join(folder, name) for name in (named, *others)] + [folder]
    return [path for path in found if os.path.isfile(os.path.join(path, "HEAD"))]


_comparisons: dict[tuple[str, str, str], dict[bytes, tuple[Held | None, Held | None]]] = {}


def _changed(held: Foreign, left: str, right: str) -> dict[bytes, tuple[Held | None, Held | None]]:
    key = (held.git_dir, left, right)
    if key not in _comparisons:
        while len(_comparisons) >= _KEPT:
            del _comparisons[next(iter(_comparisons))]
        _comparisons[key] = held.changed(left, right)
    return _comparisons[key]


def file_states(conversation: Conversation, root: str, sources: Sequence[Source] | None = None) -> list[PartialState]:
    """The whole tree as it was when the model began to answer a prompt, for each prompt whose snapshot is there."""
    prompts = {entry.id: entry for entry in conversation.entries if entry.kind == "prompt" and not entry.under}
    snapshots = Snapshots(root)
    found: dict[str, tuple[Foreign, str, bytes]] = {}
    trees: list[tuple[Foreign, str, bytes]] = []
    begun: set[str] = set()
    for step in steps(_sources(conversation, sources)):
        # Only the first step of an answer begins where the prompt was sent.
        first = step.prompt in prompts and step.prompt not in begun
        begun.add(step.prompt)
        place = snapshots.place(step)
        if place is None:
            continue
        for tree in (step.before, step.after):
            held = snapshots.of(step, tree) if tree else None
            inside = _inside(held, tree, place[0]) if held is not None else ""
            if held is None or not inside:
                continue
            trees.append((held, inside, place[1]))
            if first and tree == step.before:
                found[step.prompt] = (held, inside, place[1])
    passing = _passing(trees)
    states: list[PartialState] = []
    for prompt, (held, tree, prefix) in found.items():
        entry = prompts[prompt]
        files = _files(held, tree, prefix, passing)
        if files is not None:
            uid = state_id(NAME, entry.session, prompt)
            states.append(PartialState(uid, entry.id, entry.session, prompt, entry.time, files))
    return sorted(states, key=lambda state: state.time)


def _inside(held: Foreign, tree: str, folder: bytes) -> str:
    try:
        return held.below(tree, folder)
    except OSError:
        return ""


def _passing(trees: Sequence[tuple[Foreign, str, bytes]]) -> frozenset[bytes]:
    """Paths that came or went in the course of the session: where they are not, they were known not to be."""
    found: set[bytes] = set()
    for (held, left, prefix), (other, right, beside) in pairwise(trees):
        if held is not other or prefix != beside or left == right:
            continue
        try:
            pairs = _changed(held, left, right)
        except OSError:
            continue
        found |= {prefix + path for path, (was, now) in pairs.items() if was is None or now is None}
    return frozenset(found)


def _files(held: Foreign, tree: str, prefix: bytes, passing: frozenset[bytes]) -> LazyFiles | None:
    """The files of a tree; None when a part of it is gone."""
    try:
        count = held.count(tree)
        absent = [path for path in passing if path.startswith(prefix) and held.file(tree, path[len(prefix) :]) is None]
    except OSError:
        return None

    def make() -> dict[bytes, FileState]:
        found = {
            prefix + path: FileState("file", mode=file.mode, reader=_reader(held, file.oid), oid=file.oid)
            for path, file in held.files(tree)
        }
        return found | {path: FileState("absent", mode=0) for path in absent if path not in found}

    return LazyFiles(make, count, len(absent))


def _reader(held: Foreign, oid: str) -> Callable[[], bytes]:
    return lambda: held.data(oid)


def evidence(conversation: Conversation, root: str, sources: Sequence[Source] | None = None) -> Evidence:
    """What edit tools are proven to have left, and the steps in which a path changed.

    Between the two trees of a step somebody else may have written as well: only what an edit tool names is proven.
    """
    shown = {entry.id for entry in conversation.entries if entry.kind == "tool_call"}
    snapshots = Snapshots(root)
    left: dict[bytes, set[str]] = {}
    touched: dict[bytes, list[tuple[int, str]]] = {}
    outside: set[str] = set()
    for step in steps(_sources(conversation, sources), calls=True):
        calls = [call for call in step.calls if call.id in shown]
        place, held = snapshots.place(step), snapshots.of(step, step.after) if step.after else None
        changes = _changes(step, held, place) if place is not None and held is not None else {}
        named: dict[bytes, Call] = {}
        for call in calls:
            for path in call.paths if call.done and call.tool in EDIT_TOOLS else ():
                found = inside(os.path.join(conversation.info.cwd, path), snapshots.root)
                if found is None:
                    outside.add(path)
                else:
                    named[found] = call
        others = [call for call in calls if call.tool not in EDIT_TOOLS]
        for path, (_, now) in changes.items():
            call = named.get(path) or (others[-1] if others else None)
            if call is not None:
                touched.setdefault(path, []).append((call.time, call.id))
            if path in named and now is not None:
                left.setdefault(path, set()).add(now.oid)
    return Evidence(
        {path: frozenset(contents) for path, contents in left.items()},
        {path: tuple(sorted(found)) for path, found in touched.items()},
        len(outside),
    )


def _changes(step: Step, held: Foreign, place: tuple[bytes, bytes]) -> dict[bytes, tuple[Held | None, Held | None]]:
    """What changed in a step, by path relative to the root."""
    folder, prefix = place
    try:
        pairs = _changed(held, held.below(step.before, folder), held.below(step.after, folder))
    except OSError:
        return {}
    return {prefix + path: pair for path, pair in pairs.items()}


def _sources(conversation: Conversation, sources: Sequence[Source] | None) -> Sequence[Source]:
    return [source_of(file) for file in conversation.info.files] if sources is None else sources
