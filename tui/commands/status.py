"""`forkpoint status`: recording or why not, and what else a person should know at a glance."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from ...store.text import path_text
from .. import words
from ..output import Cell, Row
from ..values import path_keys
from .call import Call, command
from .documents import live_document, point_document
from .inventory_text import live_line
from .tree_text import point_name

if TYPE_CHECKING:
    from ...store.api import Status


@command("status")
@click.option("--line", is_flag=True, help="One short line, for a status bar.")
def status(call: Call, line: bool) -> int:
    """Recording or why not, last checkpoint, live agents, store size; exit 1 when not recording."""
    call.tells_itself = True
    found = call.store().status()
    if call.json:
        call.output.document(_document(found))
    elif line:
        call.output.say(_line(found))
    else:
        call.say_root()
        call.output.table(
            Row((Cell(name, "dim"),), (Cell(value),), wraps=True) for name, value in _facts(found) if value
        )
    return 0 if found.recording else 1


def _line(status: Status) -> str:
    if status.interrupted:
        return f"! interrupted: {words.one_line(status.interrupted)}"
    if status.problems:
        return f"! damaged: {words.one_line(status.problems[0])}"
    if not status.recording:
        return f"○ not recording: {words.one_line(status.why)}"
    agents = ", ".join(words.agent(name) for name in status.agents)
    return f"● recording {agents} · {words.count(status.checkpoints, 'checkpoint')}, {words.size(status.bytes)}"


def _facts(status: Status) -> Iterator[tuple[str, str]]:
    now = time.time_ns()
    agents = ", ".join(words.agent(name) for name in status.agents)
    yield "recording", (agents or "yes") if status.recording else f"no: {words.one_line(status.why)}"
    for agent, why in status.silent if status.recording else ():
        yield "", f"not {words.agent(agent)}: hooks {words.one_line(why)}"
    if status.last is not None:
        when = f"{words.moment(status.last.time, now)}, {words.long_age(status.last.time, now)}"
        yield "last", f"{when}: {status.last.id} {point_name(status.last)}"
    for live in status.live:
        yield "live", live_line(live, now)
    yield "interrupted", words.one_line(status.interrupted)
    for path, how in status.unsettled:
        yield "", f"{path_text(path)}: {how}"
    for problem in status.problems:
        yield "damaged", words.one_line(problem)
    yield "former", f"{status.former}: forkpoint recover --former" if status.former else ""
    yield "store", f"{words.count(status.checkpoints, 'checkpoint')}, {words.size(status.bytes)}"


def _document(status: Status) -> dict[str, object]:
    return {
        "recording": status.recording,
        "why": status.why,
        "last": point_document(status.last) if status.last else None,
        "live": [live_document(live) for live in status.live],
        "interrupted": status.interrupted,
        "unsettled": [{**path_keys(path), "state": how} for path, how in status.unsettled],
        "problems": list(status.problems),
        "checkpoints": status.checkpoints,
        "bytes": status.bytes,
        "former": status.former,
        "agents": list(status.agents),
        "in_use": list(status.in_use),
        "silent": [{"agent": agent, "why": why} for agent, why in status.silent],
    }
