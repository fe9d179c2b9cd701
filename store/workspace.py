"""A workspace as it stands open: its root, its store, and what was read of its conversations."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from . import agents, calls, operations, roots
from .agents.base import PartialState, Source
from .agents.forms.following import Followed
from .catalog import catalog
from .catalog.catalog import Content, Row
from .checkpoints import imports, points
from .conversation import intended, listing, transcripts, tree
from .errors import AmbiguousId, Busy, NoWorkspace, StoreDamaged, StoreUnwritable, UnknownId
from .git.reader import Objects, Stored
from .home import data_folder
from .hook import session_key
from .model import Conversation, Entry, Live, Point, SessionInfo, SessionTree
from .naming import clock, title
from .operations import Record
from .proof.witness import REMEDY
from .resolve import FILES, LONG
from .roots import Place
from .saving import root_of
from .states import State

if TYPE_CHECKING:
    from .git.compare import Nodes
    from .restore.scope import Transition
    from .sides import Side
    from .walk.ahead import Moment

AT_A_GLANCE = 1.0
"""Seconds that somebody who only looks waits for a save that is under way."""


@dataclass(frozen=True, slots=True)
class Read:
    """A conversation that was read, and what its files looked like then."""

    stamp: tuple[tuple[str, int, int], ...]
    conversation: Conversation
    states: tuple[PartialState, ...]
    sources: Mapping[str, Source]
    """By name, for what is no file that can be opened by it."""


class Workspace:
    """Reads what commands and the app ask for; methods that write are in restoring, forking and api."""

    def __init__(self, folder: str | os.PathLike[str] | None, home: Path | None) -> None:
        self.home = home or data_folder()
        self.root = root_of(folder, self.home)
        self.lock = threading.RLock()
        self._content: Content | None = None
        self._read: dict[tuple[str, str], Read] = {}
        self._followed = Followed()
        self._sessions: list[SessionInfo] = []

    @property
    def place(self) -> Place | None:
        """Where the root's data is; None while nothing was recorded."""
        return roots.find(self.root, self.home)

    def need_place(self) -> Place:
        """The place, or NoWorkspace with what to do."""
        place = self.place
        if place is None:
            raise NoWorkspace(
                "nothing is recorded here yet", path=self.root, todo="forkpoint save, or forkpoint install"
            )
        return place

    def adopted(self) -> Place:
        """The place, made where there was none: the person acts."""
        return roots.adopt(self.root, self.home)

    def objects(self) -> Objects:
        """The object store, opened anew so that it shows what others wrote."""
        return Objects(self.need_place().git_dir)

    def content(self) -> Content:
        """The catalog, caught up; empty while nothing is recorded."""
        place = self.place
        if place is None:
            return Content((), ())
        if place.deleting_file.exists():
            from .checkpoints.deleting import finish

            finish(place)
        intended.settle(place)
        self._content = catalog.load(place, Objects(place.git_dir), self._content)
        return self._content

    def acts(self) -> tuple[Record, ...]:
        """All operations, the oldest first."""
        return self.content().operations

    def sessions(self) -> list[SessionInfo]:
        """Sessions of every agent here, and those that only the store still has; the newest first."""
        place = self.place
        if place is not None:
            intended.settle(place)
        nested = [place.root.path for place in roots.places(self.home) if place.root.path.startswith(self.root + "/")]
        return self.joined([info for name in agents.in_use() for info in agents.get(name).sessions(self.root, nested)])

    def joined(self, found: list[SessionInfo]) -> list[SessionInfo]:
        """Sessions that agents have here, each conversation once, and those that only the store still has."""
        place = self.place
        if place is not None:
            content = self.content()
            known = agents.names()
            kept = [item.info for item in content.kept.values() if item.info.agent in known]
            found = listing.joined(found, kept, content.operations, content.rows, place.root)
        live = {session_key(item.agent, item.session) for item in self.live()}
        found = [replace(info, live=bool(live & set(info.keys))) for info in found]
        self._sessions = sorted(found, key=lambda info: info.updated, reverse=True)
        return self._sessions

    def known_sessions(self) -> list[SessionInfo]:
        """The sessions as they were last listed."""
        return self._sessions or self.sessions()

    def token(self) -> str:
        """A cheap value that changes when something new can be read: a few calls of stat, nothing is opened."""
        files = {file for info in list(self._sessions) for name in info.files for file in _files_of(name)}
        watched = files | {os.path.dirname(file) for file in files}
        watched |= {folder for name in agents.names() for folder in agents.get(name).watched(self.root)}
        place = self.place
        if place is not None:
            watched |= {str(place.index_file), str(place.open_calls_file), str(place.git_dir / operations.REF)}
        return hashlib.blake2b(repr(sorted(map(_stamp, watched))).encode(), digest_size=12).hexdigest()

    def session(self, name: str) -> SessionInfo:
        """A session by an unambiguous beginning of one of its ids, or of "agent:id". Raises UnknownId, AmbiguousId."""
        infos = self.sessions()
        called = next((info for info in infos if name in info.keys), None)
        if called is not None:
            return called
        agent, sign, behind = name.partition(":")
        if sign and agent in agents.names():
            infos, name = [info for info in infos if info.agent == agent], behind
        found = [info for info in infos if name in info.ids]
        found = found or [info for info in infos if any(session.startswith(name) for session in info.ids)]
        if not found:
            raise UnknownId(f'there is no session "{name}" here', todo="forkpoint sessions lists them")
        if len(found) > 1:
            raise AmbiguousId(
                f'"{name}" could be {len(found)} sessions: {", ".join(f"{i.agent}:{i.id}" for i in found[:5])}',
                todo="give more of the id, with its agent in front if need be",
            )
        return found[0]

    def owner(self, entry: Entry) -> SessionInfo | None:
        """The session that an entry is of; of those with one id the one that was read from the file of its record."""
        found = [info for info in self.known_sessions() if entry.session in info.ids]
        file = entry.span.file if entry.span else ""
        read = [info for info in found if (held := self._read.get((info.agent, info.id))) and file in held.sources]
        return next(iter(read if len(found) > 1 and read else found), None)

    def live(self) -> tuple[Live, ...]:
        """Agents at work here now, by what their processes and their hooks tell."""
        found = [item for name in agents.in_use() for item in agents.get(name).live(self.root)]
        place = self.place
        for told in calls.live(calls.load(place.open_calls_file)) if place is not None else ():
            same = [n for n, item in enumerate(found) if item.agent == told.agent and _is_one(item, told)]
            if same and not found[same[0]].session:
                found[same[0]] = replace(found[same[0]], session=told.session)
            elif not same and told.pid:
                found.append(replace(told, doing="", doing_since=0))
        return tuple(found)

    def conversation(self, info: SessionInfo) -> Read:
        """A session's conversation, read again only when its files changed."""
        module = agents.get(info.agent)
        sources = self.sources(info)
        stamp = tuple((source.name, *source.stamp()) for source in sources)
        held = self._read.get((info.agent, info.id))
        if held is not None and held.stamp == stamp and stamp:
            return held
        following = self._followed.of(module, info)
        conversation = following.read(info, sources)
        states = map(imports.allowed, following.file_states(conversation, self.root, sources))
        found = Read(stamp, conversation, tuple(states), {source.name: source for source in sources})
        self._read[info.agent, info.id] = found
        return found

    def read_sessions(self) -> list[SessionInfo]:
        """The sessions that were read, as they were last listed."""
        return [info for info in list(self._sessions) if (info.agent, info.id) in self._read]

    def held(self, info: SessionInfo, sources: Sequence[Source]) -> Conversation | None:
        """A session's conversation if it was read since these files changed."""
        read = self._read.get((info.agent, info.id))
        stamp = tuple((source.name, *source.stamp()) for source in sources)
        return read.conversation if read is not None and read.stamp == stamp and stamp else None

    def sources(self, info: SessionInfo) -> list[Source]:
        """A session's files: those that the agent still has, what the store has of the others, and former versions.

        What was before a file was written anew stands just before that file.
        """
        module = agents.get(info.agent)
        pairs = list(zip(info.files, info.ids, strict=False))
        here = [(file, session) for file, session in pairs if module.has(file)]
        files, ids = tuple(file for file, _ in here), tuple(session for _, session in here)
        found = module.sources(replace(info, files=files, ids=ids)) if here else []
        found = [*found, *self._kept_sources(info, {source.name for source in found}, gone=here != pairs)]
        order = {file: number for number, file in enumerate(info.files)}
        places = {source.name: number for number, source in enumerate(found)}

        def position(source: Source) -> tuple[int, int, int]:
            newest = places.get(source.file, places[source.name])
            return order.get(source.file, len(order)), newest, transcripts.version(source)

        return sorted(found, key=position)

    def _kept_sources(self, info: SessionInfo, told: set[str], *, gone: bool) -> list[Source]:
        """What the store has of a session's files besides: former versions, and where files are gone what they held."""
        content = self._content or self.content()
        names = {transcripts.name_of(info.agent, session) for session in info.ids}
        kept = [item for name in sorted(names) if (item := content.kept.get(name)) is not None]
        if not kept or not (gone or any(part.former for item in kept for part in item.parts.values())):
            return []
        place, objects = self.need_place(), self.objects()
        away = {str(act.fork.get("file")) for act in listing.forks_away(content.operations, place.root.id)}
        found = {source.name: source for item in kept for source in transcripts.sources(objects, item)}
        return [
            source
            for name, source in found.items()
            if name not in told and source.file not in away and (gone or source.former)
        ]

    def open_file(self, name: str) -> BinaryIO:
        """An agent's file by the name that a span gives, from the disk or else from the store."""
        try:
            return open(name, "rb")
        except (FileNotFoundError, NotADirectoryError):
            for read in list(self._read.values()):
                if name in read.sources:
                    return read.sources[name].open()
            objects = self.objects()
            for kept in self.content().kept.values():
                if name in kept.parts:
                    return transcripts.open_kept(objects, kept, name)
            raise

    def tree(self, session: str | None = None) -> SessionTree:
        """The tree of a session: by id, "files", or the newest; whether the folder is dirty is left unknown."""
        content = self.content()
        place = self.place
        root = place.root.id if place is not None else ""
        infos = self.sessions() if session is None else ([] if session == FILES else [self.session(session)])
        if infos:
            return self.shown(infos[0])
        return tree.of_saves(FILES, content.rows, content.operations, root, _empty_tree(self.root))

    def shown(self, info: SessionInfo) -> SessionTree:
        """The tree of a session that was just listed, with the agents that are at work on it."""
        live = tuple(item for item in self.live() if session_key(item.agent, item.session) in info.keys)
        return self.tree_of(info, live)

    def tree_of(self, info: SessionInfo, live: tuple[Live, ...] = ()) -> SessionTree:
        """The tree of a session that was just listed."""
        content, place = self._content or self.content(), self.place
        read = self.conversation(info)
        root = place.root.id if place is not None else ""
        return tree.build(read.conversation, content.rows, content.operations, read.states, root, live)

    def tree_in_passing(self, info: SessionInfo) -> SessionTree:
        """The same of a session that nobody looks at: what is read of it is not kept in memory."""
        with self.lock:
            content, place = self.content(), self.place
        conversation, states = self.in_passing(info)
        root = place.root.id if place is not None else ""
        return tree.build(conversation, content.rows, content.operations, states, root)

    def in_passing(self, info: SessionInfo) -> tuple[Conversation, Sequence[PartialState]]:
        """A session's conversation and the states of its agent's backups, not kept in memory; nothing waits for it."""
        with self.lock:
            sources = self.sources(info)
            if self.held(info, sources) is not None:
                read = self.conversation(info)
                return read.conversation, read.states
        module = agents.get(info.agent)
        conversation = module.read(info, sources)
        return conversation, list(map(imports.allowed, module.file_states(conversation, self.root, sources)))

    def dirty(self) -> int | None:
        """How many paths differ from what was last recorded.

        None when nothing was, when it cannot be read, and while a save is under way.
        """
        try:
            found = self.unrecorded()
        except Busy:
            return None
        return len(found[0]) if found is not None else None

    def unrecorded(self) -> tuple[Nodes, Side] | None:
        """Paths whose files differ from what was last recorded, and the folder as it is; None when nothing was.

        Raises Busy while a save is under way.
        """
        from . import sides

        expected = self.recorded()
        if expected is None:
            return None
        now = self.now(wait=AT_A_GLANCE)
        old, new = sides.with_folders(expected, now.state), sides.with_folders(now.state, expected)
        pairs = {path: (old.get(path), new.get(path)) for path in old.keys() | new.keys()}
        differ = {path: pair for path, pair in pairs.items() if pair[0] != pair[1] and now.speaks_of(path)}
        return {path: pair for path, pair in differ.items() if not _is_folder(*pair)}, now

    def recorded(self) -> State | None:
        """What was last known of the files: the newest checkpoint, and what our own operations did since.

        None when nothing was recorded, or when it cannot be read.
        """
        place, content = self.place, self.content()
        rows = [row for row in content.rows if place is not None and row.stored.checkpoint.root == place.root.id]
        complete = [row for row in rows if row.stored.checkpoint.complete]
        if place is None or not complete:
            return None
        newest = complete[-1].stored
        later = [act for act in content.operations if act.root == place.root.id and act.time > newest.checkpoint.time]
        try:
            found = dict(Objects(place.git_dir).state(newest))
            done = [operations.pairs_of(act) for act in later]
        except StoreDamaged:
            return None
        for path, (_, new) in chain.from_iterable(changes.items() for changes in done):
            if new is None:
                found.pop(path, None)
            else:
                found[path] = new
        return found

    def now(self, *, locked: bool = False, wait: float | None = None) -> Side:
        """The folder as it is, walked; with `locked` the caller holds the root. Nothing is written. Raises Busy."""
        from . import sides
        from .checkpoints import capture
        from .walk import ahead
        from .walk.walks import Look, Walk

        place = self.place
        with ExitStack() as stack:
            if place is not None and not locked:
                # Where the store cannot be written nobody saves or restores meanwhile.
                with suppress(StoreUnwritable):
                    stack.enter_context(place.locked("look", wait))
            moment, began = self.moment(), time.monotonic_ns()
            early = ahead.early(place, moment) if place is not None else None
            found = capture.look(self.root, self.home, place, early.ahead if early is not None else None)
            began = early.began if early is not None else began
        look = Look(Walk(found, began, time.monotonic_ns()), moment) if found.same else None
        return replace(sides.of_folder(self.root, found, "now", time.time_ns()), look=look)

    def moment(self) -> Moment:
        """Equal while nobody saved or carried out an operation in this root."""
        from .walk import ahead

        place = self.place
        return ahead.moment(place) if place is not None else ()

    def transitions(
        self, family: Sequence[str] = (), *, since: int = 0, until: int | None = None, only: bytes = b""
    ) -> list[Transition]:
        """What happened to the files of the root, or between two checkpoints of it; empty while nothing is recorded."""
        from .checkpoints import timeline
        from .checkpoints.timeline import Told

        place, content = self.place, self.content()
        if place is None:
            return []
        told = Told(self._proof, _Strangers(self, content).wrote)
        known = (self.objects(), content.rows, content.operations, place.root.id)
        return timeline.of_root(*known, family, told=told, since=since, until=until, only=only)

    def _proof(self, session: str) -> Mapping[bytes, frozenset[str]]:
        """What a session's edit tools are proven to have left, by its own records."""
        info = next((info for info in self.known_sessions() if session in info.keys), None)
        if info is None:
            return {}
        read = self.conversation(info)
        return agents.get(info.agent).evidence(read.conversation, self.root, self.sources(info)).left

    def stored(self, point: str) -> Stored | None:
        """A stored checkpoint by its whole id. Raises StoreDamaged when it is not the one that was stored."""
        place = self.place
        if place is None:
            return None
        objects = Objects(place.git_dir)
        ref = points.ref_of(point)
        wrong = self._content.wrong.get(ref) if self._content is not None else None
        if wrong is not None:
            raise StoreDamaged(wrong, todo=REMEDY)
        commit = objects.ref(ref)
        found = objects.stored(commit) if commit else None
        if found is not None and found.checkpoint.id != point:
            raise StoreDamaged(f"checkpoint {point} was replaced by another one", todo=REMEDY)
        return found

    def refuse_damaged(self, name: str) -> None:
        """Raises StoreDamaged when `name` may well be a checkpoint that is there no more as it was."""
        for ref, what in self.content().wrong.items():
            if len(name) >= LONG and ref.startswith(points.REFS) and ref.rpartition("/")[2].startswith(name):
                raise StoreDamaged(what, todo=REMEDY)

    def before(self, stored: Stored) -> str:
        """The checkpoint that one is compared with: the one before its call, else the newest kept one; or ""."""
        checkpoint = stored.checkpoint
        for point in (checkpoint.before, checkpoint.previous):
            with suppress(StoreDamaged):
                if point and self.stored(point) is not None:
                    return point
        if not checkpoint.previous:
            return ""
        rows = [row.stored.checkpoint for row in self.content().rows]
        older = [row for row in rows if row.root == checkpoint.root and row.complete and row.time < checkpoint.time]
        return older[-1].id if older else ""

    def side(self, point: str, built: SessionTree | None = None, *, later: bool = False) -> Side:
        """The files at a point, stored or known from the agent's own backups. Raises UnknownId.

        With `later` a stored one is read when its files are asked for.
        """
        from . import sides

        stored = self.stored(point)
        name = self.name(point, built)
        if stored is not None:
            return sides.of_checkpoint(self.objects(), stored, name, later=later)
        found = self.partial(point)
        if found is not None:
            return sides.of_backups(found[1], name)
        raise UnknownId(f'there is no checkpoint "{point}"', todo="forkpoint log lists them")

    def partial(self, point: str) -> tuple[str, PartialState] | None:
        """A state that only an agent's own backups know, with the agent's name."""
        for read in self._read.values():
            for state in read.states:
                if state.id == point:
                    return read.conversation.info.agent, state
        return None

    def name(self, point: str, built: SessionTree | None) -> str:
        """A point in words with its clock time."""
        if built is None:
            return point
        found = next((item for item in built.points if item.id == point), None)
        entry = entry_of(built, found.entry if found else None)
        return f"{title(found, entry)} · {clock(found.time)}" if found else point


def entry_of(built: SessionTree, entry: str | None) -> Entry | None:
    """An entry of a tree by its id."""
    return next((item for item in built.entries if item.id == entry), None) if entry else None


def point_of(built: SessionTree, point: str | None) -> Point | None:
    """A point of a tree by its id."""
    return next((item for item in built.points if item.id == point), None) if point else None


class _Strangers:
    """Sessions that never told us anything by hooks: read once, when somebody asks whether one was at work."""

    def __init__(self, workspace: Workspace, content: Content) -> None:
        self._workspace, self._content = workspace, content
        self._times: list[int] | None = None

    def wrote(self, since: int, until: int) -> bool:
        """Whether one of them has an entry between two times."""
        if self._times is None:
            hooked = frozenset(map(_session_of, self._content.rows))
            first = min((row.stored.checkpoint.time for row in self._content.rows), default=0)
            infos = [info for info in self._workspace.known_sessions() if hooked.isdisjoint(info.keys)]
            read = (self._workspace.conversation(info).conversation for info in infos if info.updated >= first)
            self._times = sorted(entry.time for conversation in read for entry in conversation.entries)
        at = bisect_left(self._times, since)
        return at < len(self._times) and self._times[at] <= until


def _session_of(row: Row) -> str:
    return session_key(row.stored.checkpoint.agent, row.stored.checkpoint.session)


def _is_one(item: Live, told: Live) -> bool:
    """Whether a process and a hook speak of the same agent at work."""
    return item.session == told.session or (item.pid != 0 and item.pid == told.pid)


def _is_folder(old: object, new: object) -> bool:
    return all(node is None or getattr(node, "kind", "") == "folder" for node in (old, new))


def _stamp(file: str) -> tuple[str, int, int]:
    try:
        found = os.stat(file)
    except OSError:
        return (file, 0, 0)
    return (file, found.st_size, found.st_mtime_ns)


def _files_of(name: str) -> tuple[str, ...]:
    """The files whose times change when a source does: of a part of a database the database and its log."""
    file, sign, _ = name.rpartition("#")
    return (name, file, f"{file}-wal") if sign else (name,)


def _empty_tree(root: str) -> SessionTree:
    from .model import Here

    info = SessionInfo(FILES, "", "Checkpoints of this folder", 0, 0, (), (FILES,), cwd=root)
    return SessionTree(info, (), (), (), (), Here(None, None, None), {})
