"""Going on with a branch in its agent: the command, and a fork first where the agent has no session that ends there."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from .. import agents, naming
from ..errors import AmbiguousId, NoWorkspace, Refused, UnknownId
from ..hook import session_key
from ..model import Branch, Live, SessionTree
from ..operations import Record, taken_back
from ..restore.goal import Goal
from ..workspace import Workspace, entry_of
from . import forking
from .branches import fresh_name
from .forking import ForkPlan


@dataclass(frozen=True, slots=True)
class ResumePlan:
    """How to go on with a branch; where `fork` is set that is written first."""

    agent: str
    session: str
    branch: str
    command: tuple[str, ...]
    cwd: str
    live: tuple[Live, ...]
    """Processes of the agent that have this session open now."""
    fork: ForkPlan | None = None
    note: str = ""
    """Why there has to be a fork first."""


def plan(workspace: Workspace, name: str = "", session: str = "") -> ResumePlan:
    """How to go on with a branch, or with a session by its id; without a name where one is in the newest session.

    `session` is the one whose branches are meant. Raises NoWorkspace, UnknownId, AmbiguousId; Refused where nothing is
    left to go on with.
    """
    begun = _unwritten(workspace, name) if not session else None
    if begun is not None:
        return begun
    built, branch = _chosen(workspace, name, session)
    info = built.info
    title = naming.agent(info.agent)
    if branch is None:
        raise Refused(f"{title} has nothing of this session yet, only its checkpoints are known", path=info.id)
    there = _ending_like(built, branch)
    if there is not None:
        command, cwd = agents.get(info.agent).resume_command(there.session, _folder(workspace, built))
        live = tuple(item for item in built.live if item.session == there.session)
        return ResumePlan(info.agent, there.session, there.name, command, cwd, live)
    note = (
        f"{title} deleted its file of this session: it goes on with a copy from the store"
        if branch.session
        else f"no session of {title} ends with this branch: it goes on with a copy that does"
    )
    head = entry_of(built, branch.head)
    taken = tuple(other.name for other in built.branches)
    goal = Goal(built, None, branch.head, "after", f"the end of {branch.name}", head.time if head else 0)
    fork = forking.plan(workspace, goal, fresh_name(branch.name.replace("-", " "), taken))
    return ResumePlan(info.agent, fork.fork.session, fork.name, fork.command, fork.cwd, (), fork, note)


def carry_out(workspace: Workspace, plan: ResumePlan) -> ResumePlan:
    """Writes what has to be there before the command can be run; gives the plan as it stands then."""
    if plan.fork is None:
        return plan
    forking.carry_out(workspace, plan.fork)
    return replace(plan, fork=None)


def _chosen(workspace: Workspace, name: str, session: str) -> tuple[SessionTree, Branch | None]:
    infos = [workspace.session(session)] if session else [info for info in workspace.sessions() if info.agent]
    if not infos:
        raise NoWorkspace("no agent's session was found here", path=workspace.root, todo="start one in this folder")
    if not name:
        built = workspace.tree(infos[0].key)
        return built, next(iter(built.branches), None)
    trees = [workspace.tree(info.key) for info in infos]
    pairs = [(built, branch) for built in trees for branch in built.branches]
    agent, sign, behind = name.partition(":")
    if not sign or agent not in agents.names():
        agent, behind = "", name
    for whole in (True, False):
        found = [pair for pair in pairs if _fits(pair[1].name, name, whole)]
        found = found or [pair for pair in pairs if _is_of(pair, agent, behind, whole)]
        if len(found) > 1:
            told = ", ".join(f"{branch.name} ({built.info.agent}:{built.info.id})" for built, branch in found[:5])
            raise AmbiguousId(f'"{name}" could be {len(found)} branches: {told}', todo="give the session's id")
        if found:
            return found[0]
    raise UnknownId(f'no branch and no session is called "{name}"', todo="forkpoint branches, forkpoint sessions")


def _fits(text: str, name: str, whole: bool) -> bool:
    return text == name if whole else text.startswith(name)


def _is_of(pair: tuple[SessionTree, Branch], agent: str, session: str, whole: bool) -> bool:
    """Whether a branch is what a session's id stands for: the one that ends it, else the active one of its tree."""
    built, branch = pair
    if agent not in ("", built.info.agent):
        return False
    own = next((other for other in built.info.ids if _fits(other, session, whole)), None)
    if own is None:
        return False
    ends = any(other.session == own for other in built.branches)
    return branch.session == own if ends else branch is built.branches[0]


def _ending_like(built: SessionTree, branch: Branch) -> Branch | None:
    """The branch, or another one that ends with the same entry, of whose session the agent has a file."""
    has = agents.get(built.info.agent).has
    files = dict(zip(built.info.ids, built.info.files, strict=False))
    same = [branch, *(other for other in built.branches if other.head == branch.head)]
    return next((other for other in same if other.session and has(files.get(other.session, ""))), None)


def _unwritten(workspace: Workspace, name: str) -> ResumePlan | None:
    """A branch of ours from before the first prompt: a session that is yet to begin, of which there is no file.

    Without a name: where the conversation went back to before it began, and nobody has gone on since.
    """
    place = workspace.place
    acts = taken_back(workspace.acts(), place.root.id)[0] if place is not None else []
    empty = [act for act in acts if act.fork.get("command") and not act.fork.get("file")]
    begun = {key for info in workspace.known_sessions() for key in info.keys}
    for act in reversed(empty):
        agent, session = str(act.fork["agent"]), str(act.fork["session"])
        if session_key(agent, session) in begun:
            continue
        if (name and name in (act.text, session)) or (not name and _stands_at(workspace, act)):
            command = tuple(str(word) for word in act.fork["command"])
            return ResumePlan(agent, session, act.text, command, str(act.fork["cwd"]), ())
    return None


def _stands_at(workspace: Workspace, act: Record) -> bool:
    """Whether the newest conversation went back to an act's branch, and nothing was said since."""
    infos = [info for info in workspace.sessions() if info.agent]
    if not act.fork.get("switch") or not infos or act.session not in infos[0].keys:
        return False
    entries = workspace.tree(infos[0].key).entries
    return act.time > max((entry.time for entry in entries), default=0)


def _folder(workspace: Workspace, built: SessionTree) -> str:
    """Where the session was started, while that is there; else the root."""
    cwd = built.info.cwd
    return cwd if cwd and os.path.isdir(cwd) else workspace.root
