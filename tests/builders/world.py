"""Real folders with a store and agents at work in them, and beside each the plain model of what has to be there."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from forkpoint.store.api import Store

from .captured import Capture, Things, captured, differing
from .folder import Thing, seen
from .model import History, Moment, Span
from .recorded import Recorded

Stamp = tuple[int, int, int, int]


@dataclass
class OpenCall:
    """A tool call that began."""

    agent: Recorded
    id: str
    span: Span
    path: str = ""
    """Of a call of the Write tool: what it will write."""
    over: bool = False


@dataclass
class Did:
    """An act of the person that undo may take back."""

    kind: str
    id: str
    session: str = ""
    changes: dict[bytes, tuple[Thing | None, Thing | None]] = field(default_factory=dict[bytes, Any])
    before: Capture | None = None
    """What its guard holds."""
    guard: str = ""
    undo_guard: str = ""
    undone_from: Capture | None = None
    """What the guard of its undo holds."""
    fork: str = ""
    """The session id of a fork …"""
    file: Path | None = None
    """… and its transcript; None before the first prompt."""
    mark: tuple[str, str] = ("", "")


class Place:
    """A root: its real folder, and what the model knows of it."""

    def __init__(self, path: Path, tracked: Collection[bytes] = (), nested: bytes = b"") -> None:
        self.path = path
        self.tracked = frozenset(tracked)
        self.nested = nested
        self.history = History()
        self.points: dict[str, Capture] = {}
        """Every checkpoint that was reported as made, and what it has to hold for ever."""
        self.session_of: dict[str, str] = {}
        self.named: set[bytes] = set()
        self.agents: list[Recorded] = []
        self.families: list[set[str]] = []
        self.continued: set[str] = set()
        """Forks that an agent went on with."""
        self.calls: list[OpenCall] = []
        self.done: list[Did] = []
        self.undone: list[Did] = []
        self.operations: list[str] = []
        self.store = Store.open(path)

    # ---- what is there

    def disk(self) -> Things:
        return seen(self.path)

    def now(self) -> Capture:
        return captured(self.disk(), self.tracked, self.nested, self.named)

    def family(self, session: str) -> set[str]:
        return next((family for family in self.families if session in family), {session})

    def busy(self) -> bool:
        """Whether an agent's call is open."""
        return any(not call.over for call in self.calls)

    def ids(self) -> list[str]:
        rows = self.store._workspace.content().rows  # pyright: ignore[reportPrivateUsage]
        return [row.stored.checkpoint.id for row in rows]

    def unrecorded(self) -> int:
        """How many paths differ from what was recorded last."""
        last, now = self.history.steps()[-1].tree, self.now()
        pairs = [(path, last.get(path), now.tree.get(path)) for path in differing(last, now.tree)]
        return sum(
            not now.cannot(path) and any(thing is not None and thing.kind != "folder" for thing in pair)
            for path, *pair in pairs
        )

    def marks(self) -> tuple[dict[str, str], set[str]]:
        """Labels and pins as they were set, those that were taken back left out."""
        labels: dict[str, str] = {}
        pins: set[str] = set()
        for did in self.done:
            point, text = did.mark
            if did.kind == "label":
                labels[point] = text
            elif did.kind in ("pin", "unpin"):
                (pins.add if did.kind == "pin" else pins.discard)(point)
        return {point: text for point, text in labels.items() if text}, pins

    def needed(self) -> set[str]:
        """What undo and redo go back to, what is marked, and the newest."""
        guards = {did.guard for did in self.done if did.changes}
        guards |= {did.undo_guard for did in self.undone if did.changes}
        labels, pins = self.marks()
        return guards | labels.keys() | pins | {list(self.points)[-1]}

    # ---- what is recorded

    def look(self, session: str, *, must: bool = False, besides: Mapping[bytes, Thing] | None = None) -> str:
        """After something that may have made a checkpoint: takes down what it has to hold; gives its id."""
        now = self.now()
        new = [point for point in self.ids() if point not in self.points]
        assert len(new) <= 1, new
        assert new or not must, "no checkpoint was made"
        point = new[0] if new else self.ids()[-1]
        self.history.items.append(Moment(now, session, session if new else "", point))
        if new:
            held = Capture({**now.tree, **(besides or {})}, now.rules, now.special, frozenset(besides or ()))
            self.points[new[0]], self.session_of[new[0]] = held, session
            self.holds(new[0])
        else:
            same(self.points[point].lists, now.lists)
        return new[0] if new else ""

    def holds(self, point: str) -> None:
        """A checkpoint is exactly what was there when it was made."""
        side = self.store._workspace.side(point)  # pyright: ignore[reportPrivateUsage]
        held = self.points[point]
        same(side.state, {path: thing.node for path, thing in held.lists.items()})
        assert set(side.uncaptured or ()) == held.special
        for path, thing in held.lists.items():
            if thing.kind != "folder":
                assert side.read(path, thing.node) == thing.data

    # ---- agents

    def agent(self, number: int) -> Recorded:
        if number < len(self.agents):
            return self.agents[number]
        agent = Recorded(self.path)
        agent.session.history = agent.session.attachments = False
        self.agents.append(agent)
        self.families.append({agent.session.id})
        agent.starts()
        self.look(agent.session.id)
        return agent

    def goes_on(self, fork: str) -> None:
        """The agent of a conversation goes on in a fork of it that was written."""
        number = next(number for number, agent in enumerate(self.agents) if agent.session.id in self.family(fork))
        resumed = self.agents[number].goes_on(fork)
        resumed.session.history = resumed.session.attachments = False
        self.agents[number] = resumed
        self.continued.add(fork)
        self.look(fork)
        resumed.asked("Another way")
        self.look(fork, must=True)

    def forked(self, session: str, fork: str) -> None:
        """The newest act made a fork of a session."""
        self.family(session).add(fork)
        file = self.agents[0].session.file.with_name(f"{fork}.jsonl")
        self.done[-1].fork, self.done[-1].file = fork, file if file.exists() else None

    def begins(self, agent: Recorded, tool: str, path: str = "") -> OpenCall:
        agent.calls += 1
        session = agent.session.id
        call = f"toolu_{session[:8]}_{agent.calls}"
        span = Span(session, -1, frozenset([path.encode()]) if path else frozenset())
        for other in self.calls:
            if not other.over and other.span.session != session:
                other.span.meanwhile.add(session)
                span.meanwhile.add(other.span.session)
        opened = OpenCall(agent, call, span, path)
        self.calls.append(opened)
        self.named |= span.named
        agent.tell("PreToolUse", **self._fields(opened, tool))
        self.look(session)
        span.begin = len(self.history.items) - 1
        self.history.spans.append(span)
        return opened

    def ends(self, call: OpenCall, content: str = "") -> None:
        session, path = call.agent.session, call.path
        made = session.write(path, content) if path else session.bash("work", None)
        if path:
            wrote = self.history.written.setdefault(path.encode(), {})
            wrote.setdefault(session.id, set()).add(content.encode())
        call.agent.renames(made, call.id)
        self.calls.remove(call)
        call.agent.tell("PostToolUse", **self._fields(call, "Write" if path else "Bash"))
        self.look(session.id)
        call.span.end = len(self.history.items) - 1

    def _fields(self, call: OpenCall, tool: str) -> dict[str, object]:
        told = {"file_path": str(self.path / call.path)} if call.path else {"command": "work"}
        return {"tool_name": tool, "tool_use_id": call.id, "tool_input": told}

    def turn_over(self, agent: Recorded) -> None:
        for call in self.calls:
            if call.span.session == agent.session.id:
                call.over = True


# ---- real folders


def same(found: Mapping[Any, Any], wanted: Mapping[Any, Any]) -> None:
    """Says where two mappings differ, and no more: whole trees are long."""
    keys = [key for key in {**found, **wanted} if found.get(key) != wanted.get(key)]
    assert not keys, [(key, f"is {found.get(key)}", f"should be {wanted.get(key)}") for key in keys]


def stamps(top: Path) -> dict[bytes, Stamp]:
    """What tells whether anybody wrote a path: not only its bytes."""
    found: dict[bytes, Stamp] = {}
    for base, folders, files in os.walk(os.fsencode(top)):
        for name in folders + files:
            full = os.path.join(base, name)
            what = os.lstat(full)
            folder = stat.S_ISDIR(what.st_mode)
            when, size = (0, 0) if folder else (what.st_mtime_ns, what.st_size)
            found[os.path.relpath(full, os.fsencode(top))] = (what.st_ino, what.st_mode, when, size)
    return found
