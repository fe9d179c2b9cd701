"""What an agent's hook runs: a checkpoint per prompt and around each tool call that may write (rule 17).

A hook never slows or stops the agent. The work is done in a process of its own; the hook waits for it until the budget
is used up, then leaves it to finish alone, and what it saves after that is marked late. Whatever fails is written
down, and the person is told at the next start or prompt.

Nothing here, nor in what it imports, may be heavy: a hook starts at every tool call.
"""

from __future__ import annotations

import os
import select
import sys
import time

from . import agents, calls, roots, trouble
from .checkpoints import capture
from .checkpoints.capture import Wanted
from .checkpoints.points import Checkpoint
from .durable import write_atomic
from .errors import UnsafePlace
from .home import data_folder, make_folder
from .hook import HookEvent, Step, session_key
from .light import TYPE_CHECKING, Callable, Mapping, Path, Sequence, blake2b, suppress
from .processes import born, is_there, let_go
from .roots import Place
from .walk import named

if TYPE_CHECKING:
    from typing import NoReturn

BUDGET = 5.0
"""Seconds that an agent waits for a hook of ours, waiting for locks included."""
HURRY = 0.2
"""Seconds, while a save that was late is still under way: its end would only be waited for in vain."""
PATIENCE = 900.0
"""Seconds that a save waits for the root when nobody waits for it any more."""
DONE = b"."


def run_hook(arguments: Sequence[str]) -> None:
    """`forkpoint hook AGENT`: reads the payload from standard input; prints nothing, or a message to the person.

    Options that it does not know are passed over: an agent's settings may be of another version than we are.
    """
    agent = next((word for word in arguments if not word.startswith("-")), "")
    if not agent or sys.stdin is None or sys.stdin.isatty():
        return
    said = record(agent, sys.stdin.buffer.read(), os.environ)
    if said:
        import json

        print(json.dumps({"systemMessage": said}, ensure_ascii=True))


def record(agent: str, payload: bytes, env: Mapping[str, str], *, budget: float = BUDGET) -> str:
    """Records what a hook tells; gives what the person is to be told, "" for nothing. Never raises."""
    try:
        return _record(agent, payload, env, time.monotonic() + budget)
    except UnsafePlace:
        return ""  # home and / are never recorded; `doctor` says so
    except Exception:
        # Here nothing can be written down any more: neither in the store nor beside it.
        return ""


def _record(agent: str, payload: bytes, env: Mapping[str, str], deadline: float) -> str:
    asked = time.monotonic_ns()
    hooks = agents.get(agent)
    event = hooks.parse(payload, env)
    step = hooks.step(event)
    if step == Step():
        return ""
    home = data_folder(env)
    root = ""
    try:
        root = _root_of(event, home)
        if _late_save_under_way(home, root):
            deadline = min(deadline, time.monotonic() + HURRY)
        _apart(lambda: _save(root, home, event, step, deadline, asked), home, root, deadline)
    except UnsafePlace:
        return ""
    except Exception as error:
        root = root or event.folder or event.cwd
        trouble.note(home, root, trouble.cause_of(error))
    return trouble.message(home, root) if step.tells else ""


def replay(agent: str, payload: bytes, env: Mapping[str, str], moment: int) -> None:
    """Records in this process what a hook told at a moment of the past (nanoseconds). Raises ForkpointError."""
    hooks = agents.get(agent)
    event = hooks.parse(payload, env)
    step = hooks.step(event)
    if step != Step():
        home = data_folder(env)
        _save(_root_of(event, home), home, event, step, 0.0, time.monotonic_ns(), moment)


def open_calls(place: Place) -> tuple[calls.Call, ...]:
    """Tool calls that are open in a root now, for whoever is about to change its files (rule 3)."""
    known = calls.load(place.open_calls_file)
    return tuple(c for c in known.open() if c.subagent or not agents.get(c.agent).has_ended(c.transcript, c.call))


def _root_of(event: HookEvent, home: Path) -> str:
    """The root of the folder where the session started, never that where a shell went meanwhile."""
    if event.folder:
        return roots.choose(roots.real(event.folder), home)
    for place in roots.places(home):
        if event.session and any(
            s.session == session_key(event.agent, event.session) for s in calls.load(place.open_calls_file).sessions
        ):
            return place.root.path
    if not event.cwd:
        raise UnsafePlace("the agent does not tell its folder", todo="nothing was recorded")
    return roots.choose(roots.real(event.cwd), home)


def _save(root: str, home: Path, event: HookEvent, step: Step, deadline: float, asked: int, moment: int = 0) -> None:
    """Takes what the step wants, and keeps what is known of the agent's calls.

    `asked` is when the hook came, by time.monotonic_ns().
    """
    place = roots.adopt(root, home, anew=True)
    if not event.call:
        step = step._replace(call="")
    with calls.changing(place.open_calls_file) as known:
        before = known[0]
        known[0] = calls.seen(before, event, moment or time.time_ns(), step)
        if step.over:
            known[0] = calls.over(known[0], event, step.over)
        if step.call == "opens":
            known[0] = calls.begun(known[0], event, moment or time.time_ns())
    try:
        with place.locked(f"hook ({event.name})", PATIENCE):
            _take(place, event, step, deadline, asked, moment, before)
    finally:
        if step.call == "ends":
            with calls.changing(place.open_calls_file) as known:
                known[0] = calls.ended(known[0], event)


def _take(
    place: Place, event: HookEvent, step: Step, deadline: float, asked: int, moment: int, before: calls.Known
) -> None:
    """Takes the checkpoint while the root is locked; `before` is what was known of all agents before the event."""
    known = calls.load(place.open_calls_file)
    call = known.call(session_key(event.agent, event.session), event.call) if step.call else None
    draft = _draft(place, event, step, call, moment)
    draft = draft._replace(quiet=calls.quiet(before), open=tuple(item.call for item in before.open()))
    wanted = Wanted(draft, step.save == "drift", deadline=deadline, asked=asked)
    taken = capture.take(place, wanted, wait=PATIENCE, locked=True)
    if step.call == "opens":
        with calls.changing(place.open_calls_file) as box:
            box[0] = calls.stands_before(box[0], event, taken.id)
    if step.call == "ends" and call is not None and not taken.made and call.before not in ("", taken.id):
        # What the call did may be in a checkpoint that something else made meanwhile: bind it to the call as well.
        capture.take(place, wanted._replace(only_drift=False), wait=PATIENCE, locked=True)


def _draft(place: Place, event: HookEvent, step: Step, call: calls.Call | None, moment: int) -> Checkpoint:
    ends = step.side == "after" and call is not None
    told = named.told(place.root.path, event.named, str(place.home))
    return Checkpoint(
        reason=step.reason,
        side=step.side,
        time=moment,
        agent=event.agent,
        session=event.session,
        prompt=event.prompt,
        call=event.call,
        subagent=event.subagent,
        tool=event.tool,
        text=event.text,
        before=call.before if ends and call else "",
        shared=call.shared if call else (),
        named=told.inside,
        outside=told.outside,
        entry=event.entry,
    )


def _apart(work: Callable[[], None], home: Path, root: str, deadline: float) -> None:
    """Does the work in a process of its own, and waits for its end until the deadline."""
    sys.stdout.flush()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _work_alone(work, writer, home, root)
    os.close(writer)
    try:
        answered, _, _ = select.select([reader], [], [], max(0.0, deadline - time.monotonic()))
        if not answered:
            _mark_late(home, root, child)
            return
        if os.read(reader, 1) != DONE:
            trouble.note(home, root, "the process that saves was stopped")
        os.waitpid(child, 0)
    finally:
        os.close(reader)


def _work_alone(work: Callable[[], None], writer: int, home: Path, root: str) -> NoReturn:
    """The life of the process that saves: apart from the agent's terminal and pipes; its answer is one byte."""
    try:
        os.setsid()
        let_go(writer)
        _noting(work, home, root)
        _unmark_late(home, root)
        os.write(writer, DONE)
    finally:
        os._exit(0)


def _noting(work: Callable[[], None], home: Path, root: str) -> None:
    """Does the work; what goes wrong is written down, whatever it is."""
    try:
        work()
    except UnsafePlace:
        pass
    except BaseException as error:
        trouble.note(home, root, trouble.cause_of(error))
    else:
        trouble.recovered(home, root)


def _late_file(home: Path, root: str) -> Path:
    return home / f"late-{blake2b(os.fsencode(root), digest_size=8).hexdigest()}"


def _mark_late(home: Path, root: str, pid: int) -> None:
    with suppress(OSError):
        write_atomic(_late_file(make_folder(home), root), f"{pid} {born(pid)}".encode(), sync=False)


def _unmark_late(home: Path, root: str) -> None:
    with suppress(OSError, ValueError):
        file = _late_file(home, root)
        if file.read_text().split(" ")[0] == str(os.getpid()):
            file.unlink()


def _late_save_under_way(home: Path, root: str) -> bool:
    try:
        pid, birth = _late_file(home, root).read_text().split(" ")
        return is_there(int(pid), birth)
    except (OSError, ValueError):
        return False
