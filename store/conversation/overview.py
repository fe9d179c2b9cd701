"""What a list tells of sessions that only reading them tells: branches, the last prompt, what is wrong inside.

What was read is noted beside the index of the search, so that a session is read again only when it changed.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from .. import agents
from ..errors import ForkpointError
from ..model import Overview, SessionInfo, SessionTree
from . import tree

if TYPE_CHECKING:
    from ..search.index import Index
    from ..workspace import Workspace

SHOWN = 40
"""Branches that are noted of one session."""


def known(index: Index, infos: list[SessionInfo]) -> dict[str, Overview]:
    """By the session's key what was noted of it as it is now; nothing is read."""
    noted = dict(index.told)
    with suppress(ForkpointError):
        if index.file is not None and index.exists:
            with index.open() as connection:
                rows = connection.execute("SELECT key, stamp, told FROM told")
                noted |= {key: (stamp, told) for key, stamp, told in rows}
    found: dict[str, Overview] = {}
    for info in infos:
        stamp, told = noted.get(info.key, ("", b""))
        if told and stamp == _stamp(info):
            with suppress(msgspec.MsgspecError):
                found[info.key] = msgspec.json.decode(told, type=Overview)
    return found


def read(workspace: Workspace, index: Index, info: SessionInfo) -> Overview:
    """Reads a session for its overview, without keeping it in memory, and notes that."""
    with workspace.lock:
        sources = workspace.sources(info)
        acts = [act for act in workspace.acts() if act.session in info.keys]
        place = workspace.place
    conversation = workspace.held(info, sources) or agents.get(info.agent).read(info, sources)
    found = of_tree(tree.build(conversation, (), acts, (), place.root.id if place else ""))
    stamp, told = index.told[info.key] = (_stamp(info), _noted(found))
    if index.file is not None:
        with suppress(ForkpointError), index.open() as connection:
            connection.execute("INSERT OR REPLACE INTO told VALUES (?, ?, ?)", (info.key, stamp, told))
    return found


def _noted(found: Overview) -> bytes:
    """As it is noted; nothing, so that it is read each time, where a name came from a command line and is no UTF-8."""
    try:
        return msgspec.json.encode(found)
    except UnicodeEncodeError:
        return b""


def of_tree(built: SessionTree) -> Overview:
    """The overview of a tree."""
    prompts = [entry for entry in built.entries if entry.kind == "prompt" and not entry.under]
    last = max(prompts, key=lambda entry: entry.time, default=None)
    newest = sorted(built.branches, key=lambda branch: (branch.state != "active", -branch.updated))
    return Overview(
        len(built.entries),
        len(prompts),
        last.text if last else "",
        len(newest),
        tuple(newest[:SHOWN]),
        built.problems[0].what if built.problems else "",
    )


def _stamp(info: SessionInfo) -> str:
    return f"{info.updated}:{info.bytes}:{len(info.ids)}"
