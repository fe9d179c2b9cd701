"""A new branch: a session file of its own, written by its agent's rules, and how to go on with it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import agents, operations
from ..agents.base import Fork
from ..durable import beside, give_name, sync_folder, write_all
from ..errors import Refused, UsageError, storing
from ..home import make_folder
from ..model import ForkResult, Target
from ..naming import clock
from ..operations import Record
from ..restore.goal import Goal
from ..roots import Place
from ..workspace import Workspace, entry_of
from . import intended
from .branches import fresh_name

LONGEST = 100_000
"""Bytes of a prompt that goes on a command line: Linux takes words of 131,071."""


@dataclass(frozen=True, slots=True)
class ForkPlan:
    """What a fork will be; nothing is written yet."""

    target: Target
    name: str
    agent: str
    entries: int
    """How many entries it carries."""
    prompt_text: str
    """The prompt that is left out and handed back."""
    note: str
    command: tuple[str, ...]
    cwd: str
    goal: Goal
    fork: Fork
    taken: tuple[str, ...] = field(default=())
    """Names that other branches of the tree have."""


def plan(workspace: Workspace, goal: Goal, name: str = "") -> ForkPlan:
    """Plans a fork at a moment. Raises Refused where there is no conversation, UsageError for a name in use."""
    if not goal.talks or goal.entry is None:
        raise Refused(
            "this checkpoint belongs to no conversation, so there is nothing to fork", todo="restore its files"
        )
    info = goal.built.info
    module = agents.get(info.agent)
    taken = tuple(branch.name for branch in goal.built.branches)
    if name in taken:
        raise UsageError(f'there is a branch "{name}" already', todo="choose another name")
    chosen = name or fresh_name(_words(goal), taken)
    read = workspace.conversation(info)
    # The agent goes on where it began, or, when that folder was moved, where it is now.
    inside = info.cwd == workspace.root or info.cwd.startswith(workspace.root + os.sep)
    folder = info.cwd if inside and os.path.isdir(info.cwd) else workspace.root
    fork = module.plan_fork(
        read.conversation,
        goal.entry,
        title=chosen,
        before=goal.side == "before",
        cwd=folder if folder != info.cwd else None,
        sources=workspace.sources(info),
    )
    # Before the first prompt there is no conversation to carry: going on begins a session with the new id.
    command, cwd = module.resume_command(fork.session, folder, fresh=not fork.data)
    text = fork.prompt_text or goal.prompt_text
    return ForkPlan(goal.target(), chosen, info.agent, fork.entries, text, fork.note, command, cwd, goal, fork, taken)


def _words(goal: Goal) -> str:
    entry = entry_of(goal.built, goal.entry)
    return goal.prompt_text or (entry.text if entry and entry.kind == "prompt" else goal.built.info.title)


def carry_out(workspace: Workspace, plan: ForkPlan) -> ForkResult:
    """Writes the fork and records the operation."""
    place = workspace.adopted()
    record = Record(
        operations.new_id(),
        "fork",
        operations.moment(),
        place.root.id,
        session=plan.goal.key,
        summary=f"fork {plan.name}: {plan.target.title}",
        point=plan.target.checkpoint or "",
        entry=plan.goal.built.here.talk or plan.goal.entry or "",
        text=plan.name,
        fork=describe(plan),
    )
    with intended.settled(place), place.locked("fork"):
        write(place, plan, record)
        operations.append(place, workspace.objects(), record)
    return result(plan, record.id)


def write(place: Place, plan: ForkPlan, record: Record) -> None:
    """Writes a fork's session file, as a part of the operation that names it; the caller holds the root."""
    if plan.fork.data:
        intended.note(place, record)
    agents.get(plan.agent).write_fork(plan.fork)


def describe(plan: ForkPlan, *, switch: bool = False) -> dict[str, Any]:
    """A fork as its operation holds it. switch: the conversation goes on there."""
    return {
        "agent": plan.agent,
        "session": plan.fork.session,
        "source": plan.goal.session,
        "file": plan.fork.file,
        "digest": plan.fork.digest,
        "cwd": plan.cwd,
        "head": plan.fork.last,
        "command": list(plan.command),
        "switch": switch,
    }


def result(plan: ForkPlan, operation: str) -> ForkResult:
    """What the person needs to go on."""
    takes = agents.get(plan.agent).with_prompt(plan.command, "") is not None
    return ForkResult(
        operation, plan.name, plan.fork.session, plan.agent, plan.command, plan.cwd, plan.prompt_text, takes
    )


def with_prompt(fork: ForkResult, prompt: str) -> tuple[str, ...] | None:
    """The command that goes on with a branch, and begins with a prompt.

    None where the agent takes none on its command line, or the prompt is longer than one word of a command may be.
    """
    if len(prompt.encode("utf-8", "replace")) > LONGEST or "\0" in prompt:
        return None
    return agents.get(fork.agent).with_prompt(fork.command, prompt)


def refuse_continued(record: Record) -> None:
    """Raises Refused when the agent has gone on with a fork: then its file is no longer only ours."""
    file = str(record.fork["file"])
    if os.path.lexists(file) and not agents.get(str(record.fork["agent"])).untouched(file, str(record.fork["digest"])):
        raise Refused(
            f"the branch {record.text} was continued since {clock(record.time)}, so its fork cannot be undone",
            path=file,
            todo="it stays as a branch of its own",
        )


def to_trash(place: Place, record: Record) -> None:
    """Moves an untouched fork's file to the trash. Raises StoreUnwritable; Refused when the agent has gone on."""
    file = str(record.fork["file"])
    if not os.path.lexists(file):
        return
    refuse_continued(record)
    trash = _trash(place, record)
    with storing(trash):
        make_folder(trash.parent)
        with open(file, "rb") as stream, beside(trash.parent) as (temporary, descriptor):
            write_all(descriptor, stream.read())
            _take_over_time(descriptor, os.fstat(stream.fileno()))
            os.fsync(descriptor)
            os.replace(temporary, trash)
        sync_folder(trash.parent)
        os.unlink(file)
        sync_folder(os.path.dirname(file))


def from_trash(place: Place, record: Record) -> None:
    """Brings a fork's file back, its time with it. Raises Refused when something else stands in its place.

    A branch that begins before the first prompt has no file.
    """
    file = str(record.fork["file"])
    trash = _trash(place, record)
    if not trash.exists():
        return
    if os.path.lexists(file):
        if agents.get(str(record.fork["agent"])).untouched(file, str(record.fork["digest"])):
            return
        raise Refused("something stands where the branch's session file was", path=file, todo="move it away first")
    folder = os.path.dirname(file)
    with storing(file):
        with open(trash, "rb") as stream, beside(folder) as (temporary, descriptor):
            write_all(descriptor, stream.read())
            # Newer than its source, it would be what the agent takes for the session to go on with.
            _take_over_time(descriptor, os.fstat(stream.fileno()))
            os.fsync(descriptor)
            give_name(temporary, file)
        sync_folder(folder)


def _take_over_time(descriptor: int, found: os.stat_result) -> None:
    os.utime(descriptor, ns=(found.st_atime_ns, found.st_mtime_ns))


def trash_of(place: Place) -> Path:
    """The folder of forks that an undo took away."""
    return place.workspace / "trash"


def _trash(place: Place, record: Record) -> Path:
    return trash_of(place) / f"{record.fork['session']}.fork"
