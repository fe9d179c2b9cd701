"""Who changed what, against a plain model: two sessions, a sub-agent, shells and a person, in any order.

The model knows who wrote. It has no opinion where nobody could tell: a person who writes while a call is open looks
like the call. What must hold: an agent's work is never told as a person's, nor as that of a call that did not write
while one did; and whoever was alone is told exactly.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

import pytest
from forkpoint.store import recording
from forkpoint.store.api import Store
from forkpoint.store.model import Touch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

PATHS = ("a.txt", "b.txt", "c.txt")
SESSIONS = ("aaaaaaaa-0000-4000-8000-000000000001", "bbbbbbbb-0000-4000-8000-000000000002")
PERSON = "person"
EXAMPLES = 500 if os.environ.get("FORKPOINT_TEST_PROFILE") == "long" else 25
LEFTOVER = "shell in the background"


@dataclass
class Call:
    """A tool call of the model."""

    id: str
    session: str
    tool: str
    named: str = ""
    subagent: str = ""
    open: bool = True
    beside: bool = False
    """Another call was open during this one."""


@dataclass
class Seen:
    """What the model knows of the time between two looks."""

    writers: dict[str, set[str]]
    """Path → who wrote it: ids of calls, PERSON, LEFTOVER."""
    open: tuple[str, ...]
    quiet: bool
    back: frozenset[str]
    """Paths at which stands again what had stood there before."""


@dataclass
class World:
    """A folder, those who write into it, and what each look found."""

    project: Path
    calls: dict[str, Call] = field(default_factory=dict)
    working: dict[str, bool] = field(default_factory=lambda: dict.fromkeys(SESSIONS, False))
    behind: set[str] = field(default_factory=set)
    writers: dict[str, set[str]] = field(default_factory=dict)
    stood: dict[str, set[str | None]] = field(default_factory=lambda: {path: {None} for path in PATHS})
    held: dict[str, str | None] = field(default_factory=lambda: dict.fromkeys(PATHS))
    looks: list[Seen] = field(default_factory=list)
    numbers: count[int] = field(default_factory=lambda: count(1))

    def open(self) -> list[Call]:
        return [call for call in self.calls.values() if call.open]

    def content(self, path: str) -> str | None:
        file = self.project / path
        return file.read_text() if file.exists() else None

    def write(self, who: str, path: str, content: str | None) -> None:
        if content == self.content(path):
            return
        if content is None:
            (self.project / path).unlink()
        else:
            (self.project / path).write_text(content)
        self.writers.setdefault(path, set()).add(who)

    def look(self) -> None:
        """Somebody looks at the folder now: what was written since the look before is told here, or never."""
        now = {path: self.content(path) for path in PATHS}
        changed = {path for path in PATHS if now[path] != self.held[path]}
        back = frozenset(path for path in changed if now[path] in self.stood[path])
        quiet = not any(self.working.values()) and not self.behind and not self.open()
        if changed:
            told = {path: self.writers[path] for path in changed}
            self.looks.append(Seen(told, tuple(call.id for call in self.open()), quiet, back))
        for path in PATHS:
            self.stood[path].add(now[path])
        self.held, self.writers = now, {}

    def hook(self, name: str, session: str, **fields: object) -> None:
        self.look()
        payload = {"hook_event_name": name, "session_id": session, "cwd": str(self.project)} | fields
        env = {**os.environ, "CLAUDE_PROJECT_DIR": str(self.project), "CLAUDE_PID": str(os.getpid())}
        recording.replay("claude", json.dumps(payload).encode(), env, 0)

    def begins(self, session: str, tool: str, path: str, subagent: bool, left: bool) -> None:
        if not self.working[session]:
            self.turn(session, begins=True)
        call = Call(f"call-{next(self.numbers)}", session, tool, path if tool == "Write" else "")
        call.subagent = "sub-1" if subagent else ""
        self.hook("PreToolUse", session, **self.told(call, left))
        for other in self.open():
            other.beside = call.beside = True
        self.calls[call.id] = call
        self.working[session] = True
        if left and tool == "Bash":
            self.behind.add(session)

    def ends(self, call: Call, left: bool) -> None:
        self.hook("PostToolUse", call.session, **self.told(call, left))
        call.open = False

    def told(self, call: Call, left: bool) -> dict[str, object]:
        given: dict[str, object] = {"file_path": str(self.project / call.named)} if call.named else {"command": "make"}
        if left and call.tool == "Bash":
            given = {"command": "make &"}
        agent = {"agent_id": call.subagent} if call.subagent else {}
        return {"tool_name": call.tool, "tool_use_id": call.id, "tool_input": given, **agent}

    def turn(self, session: str, begins: bool) -> None:
        """A prompt, or the end of a turn; nobody ends one while its calls are open."""
        if not begins and any(call.session == session for call in self.open()):
            return
        if begins:
            self.hook("UserPromptSubmit", session, prompt="Go", prompt_id=f"prompt-{next(self.numbers)}")
        else:
            for name, fields in (("SubagentStop", {"agent_id": "sub-1"}), ("Stop", {})):
                self.hook(name, session, **fields)
        self.working[session] = begins


Act = tuple[str, int, str, str, int]
"""What happens, which of those who could do it, at which path, by which tool, and a chance."""
ACTS: st.SearchStrategy[Act] = st.tuples(
    st.sampled_from(
        ["begin"] * 4 + ["end"] * 4 + ["work"] * 6 + ["person"] * 3 + ["prompt", "stop", "stop", "save", "leftover"]
    ),
    st.integers(0, 5),
    st.sampled_from(PATHS),
    st.sampled_from(["Write", "Bash"]),
    st.integers(0, 9),
)


def play(world: World, acts: list[Act]) -> None:
    for act, which, path, tool, chance in acts:
        session = SESSIONS[which % 2]
        content = None if chance == 0 else f"{which % 3}\n" if chance == 1 else f"new {next(world.numbers)}\n"
        calls = world.open()
        if act == "begin" and len(calls) < 3:
            world.begins(session, tool, path, subagent=chance in (2, 3), left=chance == 9)
        elif act == "end" and calls:
            world.ends(calls[which % len(calls)], left=False)
        elif act == "work" and calls:
            call = calls[which % len(calls)]
            # An edit tool writes what it names; now and then it sets something else off.
            world.write(call.id, call.named if call.named and chance != 5 else path, content)
        elif act == "person":
            world.write(PERSON, path, content)
        elif act == "leftover" and world.behind:
            world.write(LEFTOVER, path, content)
        elif act in ("prompt", "stop"):
            world.turn(session, act == "prompt")
        elif act == "save":
            world.look()
            Store.open(world.project).save()
    world.look()
    Store.open(world.project).save()


def check(world: World, touch: Touch, seen: Seen) -> None:
    """One change against what the model knows of it."""
    path, who = touch.path.decode(), touch.who
    writers = seen.writers[path]
    agents = writers - {PERSON}
    if who.kind == "person":
        assert not agents and seen.quiet, (who, seen)
    elif who.kind != "unsure":
        call = world.calls[who.call]
        assert who.call in seen.open and (who.session, who.subagent) == (call.session, call.subagent), (who, seen)
        # An edit tool is taken at its word, though a shell beside it may have written the same path.
        assert who.call in writers or not agents or call.named == path, (who, seen)
    exact = exactly(world, path, writers, seen)
    if exact is not None:
        assert (who.kind, who.call) == exact, (who, seen)


def exactly(world: World, path: str, writers: set[str], seen: Seen) -> tuple[str, str] | None:
    """What must be told where there is no doubt: one writer, and nobody beside."""
    if len(writers) != 1:
        return None
    (writer,) = writers
    if writer == PERSON:
        return ("person", "") if seen.quiet and path not in seen.back else None
    call = world.calls.get(writer)
    if call is None or call.open or call.beside or world.behind:
        return None  # a call that has not ended yet is not bound to anything
    kind = "subagent" if call.subagent else "tool" if call.named == path else "shell"
    return ("session" if call.session != SESSIONS[0] else kind, call.id)


@given(st.lists(ACTS, min_size=4, max_size=24))
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))  # pyright: ignore[reportArgumentType]
def test_who_is_told_is_who_wrote_or_unsure(tmp_path_factory: pytest.TempPathFactory, acts: list[Act]) -> None:
    world = World(tmp_path_factory.mktemp("world") / "shop")
    world.project.mkdir()
    (world.project / "kept.txt").write_text("kept\n")
    Store.open(world.project).save()
    for session in SESSIONS:
        world.hook("SessionStart", session, source="startup")
    play(world, acts)
    store = Store.open(world.project)
    tree = store.tree("files")
    # There is no transcript here from whose tree it could be told.
    tree = replace(tree, info=replace(tree.info, agent="claude", ids=(SESSIONS[0],)))
    touches = [touch for touch in store.touches(b"", tree) if touch.path != b"kept.txt"]
    expected = [(path, seen) for seen in world.looks for path in sorted(seen.writers)]
    found = sorted(touches, key=lambda touch: (touch.time, touch.path))
    assert [touch.path.decode() for touch in found] == [path for path, _ in expected]
    for touch, (_, seen) in zip(found, expected, strict=True):
        check(world, touch, seen)
    for path in PATHS:
        assert store.touches(path.encode(), tree) == [touch for touch in touches if touch.path == path.encode()]
    points = [touch.point for touch in found if touch.point]
    for touch in found[-3:]:
        before = [point for point in points if point.time < touch.time]
        if before and touch.point:
            told = store.authors(before[-1].id, touch.point.id, tree)
            assert told[touch.path][0] == touch.who, "a part of the story is told as the whole of it"
