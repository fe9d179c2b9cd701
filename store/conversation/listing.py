"""The sessions of a root: of what the agents have files, and of what only the store knows; one for each conversation.

A conversation is all files of one origin. When the agent deletes some of them (Claude Code does after 30 days), what
was read of those stays with the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from .. import agents
from ..catalog.content import Row
from ..hook import session_key
from ..model import SessionInfo
from ..operations import Record, taken_back
from ..roots import Root

DELETED = "the agent deleted its file; read from the store"
DELETED_SOME = "the agent deleted some of its files; these are read from the store"
MOVED = "it was started in another folder, which this one was before it was moved"
UNWRITTEN = "the agent has no file of it: only its checkpoints are known"


def joined(
    on_disk: Sequence[SessionInfo], kept: Sequence[SessionInfo], acts: Sequence[Record], rows: Iterable[Row], root: Root
) -> list[SessionInfo]:
    """Every session once: those that share a file's id, or that a fork of ours came from, are one.

    `kept` are those that the store has lines of. A fork that was taken back is in none.
    """
    forks = {_fork_key(act, "session"): _fork_key(act, "source") for act in acts if act.fork.get("session")}
    away = {_fork_key(act, "session") for act in forks_away(acts, root.id)}
    away -= {key for info in on_disk for key in info.keys}
    still = [info for info in (_without(info, away) for info in kept) if info.ids]
    here = frozenset(map(id, on_disk))
    found = [_one(family, here, forks) for family in _families([*still, *on_disk], forks)]
    return found + _only_checkpoints(rows, {key for info in found for key in info.keys}, root)


def forks_away(acts: Sequence[Record], root: str) -> list[Record]:
    """The operations of a root whose forks were taken back: what the store has of their files is shown no more."""
    done = {act.id for act in taken_back(acts, root)[0]}
    return [act for act in acts if act.root == root and act.fork.get("session") and act.id not in done]


def _without(info: SessionInfo, away: set[str]) -> SessionInfo:
    found = zip(info.keys, info.ids, info.files, strict=False)
    pairs = [(session, file) for key, session, file in found if key not in away]
    return replace(info, ids=tuple(session for session, _ in pairs), files=tuple(file for _, file in pairs))


def _fork_key(act: Record, name: str) -> str:
    return session_key(str(act.fork.get("agent", "")), str(act.fork.get(name, "")))


def _families(infos: Sequence[SessionInfo], forks: dict[str, str]) -> list[list[SessionInfo]]:
    leader: dict[str, str] = {}

    def lead(session: str) -> str:
        while (above := leader.setdefault(session, session)) != session:
            session = above
        return session

    known = {key for info in infos for key in info.keys}
    for info in infos:
        for key in info.keys:
            leader[lead(key)] = lead(info.key)
    for session, source in forks.items():
        if session in known and source in known:
            leader[lead(session)] = lead(source)
    families: dict[str, list[SessionInfo]] = {}
    for info in infos:
        families.setdefault(lead(info.key), []).append(info)
    return list(families.values())


def _one(family: Sequence[SessionInfo], on_disk: frozenset[int], forks: dict[str, str]) -> SessionInfo:
    """A conversation's parts as one session, named as the oldest of them was; `on_disk` are the ids of the objects."""
    parts = sorted(family, key=lambda info: (info.key in forks, id(info) in on_disk, info.updated))
    present = [info for info in parts if id(info) in on_disk]
    files: dict[str, str] = {}
    for info in (*parts, *present):
        files.update(zip(info.ids, info.files, strict=True))
    has = agents.get(parts[0].agent).has
    gone = [file for file in files.values() if not has(file)]
    problem = (DELETED_SOME if gone else present[0].problem) if present else (DELETED if gone else MOVED)
    return replace(
        parts[0],
        files=tuple(files.values()),
        ids=tuple(files),
        cwd=(present or parts)[0].cwd,
        updated=max(info.updated for info in parts),
        bytes=max(info.bytes for info in parts),
        problem=problem,
    )


def _only_checkpoints(rows: Iterable[Row], told: set[str], root: Root) -> list[SessionInfo]:
    """Sessions that are known by their checkpoints alone: not written yet, or deleted before they were read."""
    found: dict[str, SessionInfo] = {}
    known = agents.names()
    for row in rows:
        item = row.stored.checkpoint
        key = session_key(item.agent, item.session)
        if item.root == root.id and item.session and key not in told and item.agent in known:
            title = item.text if item.reason == "prompt" else ""
            first = found.get(key) or SessionInfo(
                item.session, item.agent, "", 0, 0, (), (item.session,), cwd=root.path, problem=UNWRITTEN
            )
            found[key] = replace(first, title=first.title or title, updated=item.time)
    return [replace(info, title=info.title or info.id[:8]) for info in found.values()]
