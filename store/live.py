"""Agents that are at work in a root now, and what they are doing (rule 3)."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from . import agents, recording
from .errors import Refused
from .hook import session_id
from .model import Live
from .roots import Place

if TYPE_CHECKING:
    from .workspace import Workspace


def at_work(workspace: Workspace) -> tuple[Live, ...]:
    """Live agents, each with the tool call that it has open."""
    place = workspace.place
    calls = recording.open_calls(place) if place is not None else ()
    found = {(item.agent, item.session): item for item in workspace.live()}
    for call in calls:
        key = (call.agent, session_id(call.agent, call.session))
        known = found.get(key) or Live(*key, call.pid, call.started)
        found[key] = replace(known, doing=call.tool, doing_since=call.started)
    return tuple(found.values())


def refuse_open_call(place: Place) -> None:
    """Raises Refused while an agent's tool call is open here."""
    for call in recording.open_calls(place):
        seconds = max(0, (time.time_ns() - call.started) // 10**9)
        title = agents.get(call.agent).TITLE
        raise Refused(
            f"{title} is in the middle of a tool call here ({call.tool}, {seconds} s)",
            path=place.root.path,
            todo="wait until it has ended, or use --live",
        )
