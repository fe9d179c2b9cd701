"""What hooks know of the agents at work in a root: sessions seen, and tool calls that began and have not ended.

It tells that a call is open now (rule 3), which checkpoint holds the files as they were before a call (rule 15), and
which sessions overlapped. It is no record: the truth is in the checkpoints, and when it is lost the next hooks begin
anew.

Named tuples here and in what else a hook imports: a dataclass takes a millisecond to be made, at every tool call.
"""

from __future__ import annotations

import time

from . import lightjson as json
from .durable import write_atomic
from .home import make_folder
from .hook import HookEvent, Step, session_id, session_key
from .light import TYPE_CHECKING, Generator, NamedTuple, Path, TypeVar, contextmanager
from .locks import held
from .processes import born, is_there

if TYPE_CHECKING:
    from typing import Any

    from .model import Live

MARK = "@"
"""Stands between what a call does and when, in the names of calls to which their agent gives no id."""
KEPT_SESSIONS = 50
KEPT_CALLS = 200
FORGOTTEN = 24 * 3600 * 1_000_000_000
"""Nanoseconds after which a call of a process that is not known counts no more."""


class Call(NamedTuple):
    """A tool call that began."""

    agent: str
    session: str
    """Its key (`session_key`), here and in all that is known."""
    call: str
    """The tool-use id."""
    tool: str = ""
    text: str = ""
    subagent: str = ""
    started: int = 0
    before: str = ""
    """The checkpoint that holds the files as they were before it; "" until that is known."""
    pid: int = 0
    born: str = ""
    transcript: str = ""
    shared: tuple[str, ...] = ()
    """Other sessions that had a call open meanwhile."""
    over: bool = False
    """Its turn ended without it: refused or cancelled, it seems. Kept for the case that its end still comes."""


class Seen(NamedTuple):
    """A session that a hook spoke for."""

    agent: str
    session: str
    transcript: str = ""
    source: str = ""
    """How it last started: startup, resume, fork, clear, compact."""
    event: str = ""
    """The last event."""
    first: int = 0
    last: int = 0
    pid: int = 0
    born: str = ""
    ended: bool = False
    turn: bool = False
    """A turn is under way: a prompt or a call came, and its end has not."""
    subagents: tuple[str, ...] = ()
    """Those that are at work, whether the turn goes on or not."""
    background: str = ""
    """A shell of it goes on in the background: "managed", "detached", "" for none."""


class Known(NamedTuple):
    """All of it."""

    sessions: tuple[Seen, ...] = ()
    calls: tuple[Call, ...] = ()

    def call(self, session: str, call: str) -> Call | None:
        """The call of this tool-use id, open or over; where the agent gives none, the oldest one that did the same."""
        exact = next((c for c in reversed(self.calls) if (c.session, c.call) == (session, call)), None)
        key, mark, _ = call.partition(MARK)
        if exact is not None or not mark:
            return exact
        same = [c for c in self.calls if c.session == session and c.call.startswith(key + MARK)]
        return min(same, key=lambda c: c.over, default=None)

    def open(self) -> tuple[Call, ...]:
        """Calls that have not ended and whose agent is still there."""
        now = time.time_ns()
        return tuple(c for c in self.calls if not c.over and _there(c.pid, c.born, c.started, now))


def load(file: Path) -> Known:
    """Reads `open-calls.json`; nothing is known when it is missing or damaged."""
    try:
        plain: dict[str, Any] = json.loads(file.read_bytes())
        return Known(
            tuple(_from_plain(Seen, item) for item in plain["sessions"]),
            tuple(_from_plain(Call, item) for item in plain["calls"]),
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return Known()


@contextmanager
def changing(file: Path) -> Generator[list[Known], None, None]:
    """Holds the file for a change: what stands in the list's one place at the end is written.

    Its own lock, held for a moment only: that a call began is told though a long save is under way.
    """
    make_folder(file.parent)
    with held(file.with_suffix(".lock"), who="hook", wait=2.0):
        before = load(file)
        box = [before]
        yield box
        if box[0] != before:
            # A power cut may lose it: then no agent is running either.
            write_atomic(file, json.dumps(_plain(box[0]), ensure_ascii=True).encode(), sync=False)


def _key(event: HookEvent) -> str:
    return session_key(event.agent, event.session)


def seen(known: Known, event: HookEvent, now: int, step: Step | None = None) -> Known:
    """What is known after an event: the session it speaks for, and whether it is at work."""
    if not event.session:
        return known
    key = _key(event)
    old = next((s for s in known.sessions if s.session == key), None)
    new = Seen(
        agent=event.agent,
        session=key,
        transcript=event.transcript or (old.transcript if old else ""),
        source=event.source if event.name == "SessionStart" else (old.source if old else ""),
        event=event.name,
        first=old.first if old else now,
        last=now,
        pid=event.pid or (old.pid if old else 0),
        born=born(event.pid) if event.pid else (old.born if old else ""),
        ended=event.name == "SessionEnd",
        **_work(old, event, step or Step()),
    )
    others = [s for s in known.sessions if s.session != key]
    return known._replace(sessions=(*others, new)[-KEPT_SESSIONS:])


def _work(old: Seen | None, event: HookEvent, step: Step) -> dict[str, Any]:
    """What a session is at after an event: its turn, its sub-agents, its shells in the background."""
    turn, subagents, background = (old.turn, old.subagents, old.background) if old else (False, (), "")
    if step.over == "session" or (step.reason == "start" and event.source != "compact"):
        return {}
    if step.call and event.subagent:
        subagents = tuple({*subagents, event.subagent})
    elif step.over == "subagent":
        subagents = tuple(item for item in subagents if item != event.subagent)
    elif step.call or step.reason == "prompt":
        turn = True
    elif step.over == "turn":
        turn = False
    if event.background == "none":
        background = "" if background == "managed" else background
    elif event.background and background != "detached":
        background = event.background
    return {"turn": turn, "subagents": tuple(sorted(subagents)), "background": background}


def quiet(known: Known, but: str = "") -> str:
    """Whether no agent is at work: "none" is known, "idle": all are between two turns; "" when one may be.

    `but`: a session that does not count, for it is the one that asks. One that was killed in its turn counts until it
    begins anew: nobody knows when it wrote last.
    """
    at_work = (s for s in known.sessions if s.turn or s.subagents or s.background)
    if known.open() or any(s.session != but for s in at_work):
        return ""
    return "idle" if known.sessions else "none"


def behind(known: Known) -> tuple[str, ...]:
    """Sessions that have left a shell in the background."""
    return tuple(sorted(s.session for s in known.sessions if s.background))


def begun(known: Known, event: HookEvent, now: int) -> Known:
    """A tool call begins: calls of other sessions that are open meanwhile are shared, both ways."""
    key = _key(event)
    meanwhile = [c for c in known.open() if c.session != key]
    call = Call(
        agent=event.agent,
        session=key,
        call=event.call,
        tool=event.tool,
        text=event.text,
        subagent=event.subagent,
        started=now,
        pid=event.pid,
        born=born(event.pid),
        transcript=event.transcript,
        shared=tuple(sorted({c.session for c in meanwhile})),
    )
    calls = [
        c._replace(shared=tuple(sorted({*c.shared, key}))) if c in meanwhile else c
        for c in known.calls
        if (c.session, c.call) != (key, event.call)
    ]
    return known._replace(calls=(*calls, call)[-KEPT_CALLS:])


def stands_before(known: Known, event: HookEvent, point: str) -> Known:
    """The files before a call are known: they are those of this checkpoint."""
    mine = known.call(_key(event), event.call)
    return known._replace(calls=tuple(c._replace(before=point) if c is mine else c for c in known.calls))


def ended(known: Known, event: HookEvent) -> Known:
    """A call is over."""
    mine = known.call(_key(event), event.call)
    return known._replace(calls=tuple(c for c in known.calls if c is not mine))


def over(known: Known, event: HookEvent, whose: str) -> Known:
    """The turn, sub-agent or session ends: calls of it that have not ended will not.

    A sub-agent in the background goes on when the turn of the main conversation ends.
    """
    if whose == "session":
        return known._replace(calls=tuple(c for c in known.calls if c.session != _key(event)))
    subagent = event.subagent if whose == "subagent" else ""
    mine = (_key(event), subagent)
    calls = (c._replace(over=True) if (c.session, c.subagent) == mine else c for c in known.calls)
    return known._replace(calls=tuple(calls))


def live(known: Known) -> tuple[Live, ...]:
    """Agents that are at work as far as their hooks tell: a session without its end, whose process is there."""
    from .model import Live  # its module would cost a hook a tenth of its time

    now = time.time_ns()
    doing = {c.session: c for c in known.open()}
    found: list[Live] = []
    for one in known.sessions:
        call = doing.get(one.session)
        between = one.event in ("Stop", "StopFailure", "AfterAgent", "SessionStart")
        # Without a process id there is only the last event to go by: after a Stop the agent waits, or is gone.
        if one.ended or not _there(one.pid, one.born, one.last, now) or (not one.pid and between and call is None):
            continue
        found.append(
            Live(
                one.agent,
                session_id(one.agent, one.session),
                one.pid,
                one.first,
                call.tool if call else "",
                call.started if call else 0,
            )
        )
    return tuple(found)


def _there(pid: int, born_then: str, last: int, now: int) -> bool:
    """Whether a process is still the one it was; without a process id a day's time decides."""
    if not pid:
        return now - last < FORGOTTEN
    return is_there(pid, born_then)


_T = TypeVar("_T", Seen, Call)


def _from_plain(kind: type[_T], plain: dict[str, Any]) -> _T:
    for name in ("shared", "subagents"):
        if name in plain:
            plain[name] = tuple(plain[name])
    return kind(**{name: value for name, value in plain.items() if name in kind._fields})


def _plain(known: Known) -> dict[str, Any]:
    parts = {"sessions": [s._asdict() for s in known.sessions], "calls": [c._asdict() for c in known.calls]}
    return {**known._asdict(), **parts}
