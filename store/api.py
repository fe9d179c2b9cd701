"""The engine's one door: what the app, the commands and other programs call.

    store = Store.open("~/code/shop")
    saved = store.save(label="before the big change")
    plan = store.plan_restore(saved.id, "files")
    print(plan.inventory)
    store.restore(plan)

Opening writes nothing. Every method may be called from any thread; those that read, parse or hash may take a while.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from . import agents, diff, history, operations, saving, sides
from .checkpoints import deleting
from .checkpoints.deleting import Deletion
from .checkpoints.moments import moments
from .conversation import forking, overview, resuming, tree
from .conversation.forking import ForkPlan
from .conversation.keeping import Keeping
from .conversation.resuming import ResumePlan
from .errors import Refused, UnknownId, UsageError
from .home import data_folder
from .model import (
    Block,
    Covered,
    Diff,
    Entry,
    FileText,
    ForkResult,
    Found,
    Located,
    Moment,
    OnConflict,
    Operation,
    Overview,
    Problem,
    RestoreResult,
    Scope,
    SessionInfo,
    SessionTree,
    Touch,
    Who,
)
from .naming import clock
from .operations import Record
from .proof.finding import Finding
from .resolve import FILES, Resolved, quick, resolve
from .restore import goal, planning, restoring, undoing
from .restore.goal import Goal
from .restore.interrupted import interrupted
from .restore.planning import RestorePlan
from .restore.undoing import UndoPlan
from .roots import replaced, take_over
from .saving import Saved
from .sides import Side
from .text import path_text
from .upkeep import repacking
from .upkeep.repacking import Repacked
from .workspace import Workspace

if TYPE_CHECKING:
    from .proof.rebuilding import RebuildPlan
    from .search.searching import Searching
    from .status import Status
    from .upkeep.usage import Usage

COUNTED = 256 << 20
"""Bytes of agents' files that are read to count what is in them."""

__all__ = ["Deletion", "ForkPlan", "Repacked", "Resolved", "RestorePlan", "ResumePlan", "Saved", "Store", "UndoPlan"]


def everywhere(*, home: Path | None = None, progress: Callable[[str], None] | None = None) -> list[Located]:
    """The sessions of all workspaces and of every folder in which an agent worked, the newest first."""
    from .conversation.everywhere import everywhere as found

    return found(home or data_folder(), progress)


class Store:
    """One root with its checkpoints and the conversations of its agents."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._searching: Searching | None = None
        self._keeping = Keeping(workspace)
        self.unkept = False
        """Whether conversations were looked at, and `keep` was not called since."""

    @classmethod
    def open(cls, folder: str | os.PathLike[str] | None = None, *, home: Path | None = None) -> Store:
        """Opens a folder as a root; without one, the root that the current folder belongs to. Raises UnsafePlace."""
        return cls(Workspace(folder, home))

    @property
    def root(self) -> str:
        """The root's real path."""
        return self._workspace.root

    @property
    def home(self) -> Path:
        """Where the data of all workspaces is."""
        return self._workspace.home

    @property
    def interrupted(self) -> bool:
        """Whether a restore was interrupted here and has to be recovered first."""
        place = self._workspace.place
        return place is not None and interrupted(place) is not None

    @property
    def exists(self) -> bool:
        """Whether anything was recorded for this root."""
        return self._workspace.place is not None

    def sessions(self) -> list[SessionInfo]:
        """Sessions of every agent found here, the newest first; "files" last when it has anything."""
        with self._workspace.lock:
            found = self._workspace.sessions()
            saves = self._workspace.tree(FILES)
            return [*found, saves.info] if saves.entries else found

    def counted(self) -> list[SessionInfo]:
        """The sessions with what only reading tells: how many entries and branches, and what is wrong inside.

        The newest are read, up to COUNTED bytes of files. The others keep 0 branches: they were not counted.
        """
        self.unkept = True
        with self._working():
            found, left = list[SessionInfo](), COUNTED
            infos = self.sessions()
            known = self.overviews(infos)
            for info in infos:
                seen = known.get(info.key)
                left -= 0 if seen else info.bytes
                if info.id != FILES and (seen or left >= 0):
                    seen = seen or self.overview(info)
                    problem = info.problem or seen.problem
                    info = replace(info, entries=seen.entries, branches=seen.branches, problem=problem)
                found.append(info)
            return found

    def overviews(self, infos: list[SessionInfo]) -> dict[str, Overview]:
        """By the key of a session what is known of it without reading it."""
        return overview.known(self._search.index, infos)

    def overview(self, info: SessionInfo) -> Overview:
        """Reads a session for a list: branches, last prompt, what is wrong inside."""
        if info.id == FILES:
            with self._workspace.lock:
                return overview.of_tree(self._workspace.tree(FILES))
        return overview.read(self._workspace, self._search.index, info)

    def tree_in_passing(self, info: SessionInfo) -> SessionTree:
        """The tree of a session that is one of many, whose conversation is not to stay in memory."""
        if info.id == FILES:
            with self._workspace.lock:
                return self._workspace.tree(FILES)
        return self._workspace.tree_in_passing(info)

    def left_by(self, info: SessionInfo) -> tuple[int, frozenset[bytes]]:
        """How many prompts a session has, and the paths of which its agent's own copies know a state before the last.

        It is read for that, and not kept in memory.
        """
        if info.id == FILES:
            return 0, frozenset()
        conversation, states = self._workspace.in_passing(info)
        prompts = sum(1 for entry in conversation.entries if entry.kind == "prompt" and not entry.under)
        newest = next((state for state in reversed(states) if state.files), None)
        return prompts, frozenset(newest.files) if newest is not None else frozenset()

    def moments(self) -> list[Moment]:
        """Every checkpoint and operation of the workspace, of all roots and sessions, the newest first."""
        with self._workspace.lock:
            return moments(self._workspace)

    @property
    def conversations(self) -> int:
        """How many conversations of agents there were here when they were last listed."""
        return len(self._workspace.known_sessions())

    def tree(self, session: str | None = None) -> SessionTree:
        """The tree of a session (by the beginning of its id, or "files"); the newest one when none is named.

        What its transcript has more is read into the store first, once anything is recorded here; `keep` does so for
        all others, for as long as nobody waits for an answer.
        """
        self.unkept = True
        with self._working():
            workspace = self._workspace
            infos = workspace.sessions() if session in (None, FILES) else [workspace.session(session)]
            if session != FILES and infos:
                self._keeping.shown(infos[0])
            built = workspace.tree(FILES) if session == FILES or not infos else workspace.shown(infos[0])
            problems = (Problem(what) for what in workspace.content().problems)
            here = replace(built.here, dirty=workspace.dirty())
            return replace(built, here=here, problems=(*built.problems, *problems))

    def keep(
        self,
        *,
        progress: Callable[[int, int], None] | None = None,
        cancelled: Callable[[], bool] = lambda: False,
        seconds: float | None = None,
    ) -> None:
        """Reads what the transcripts of all sessions have more into the store, once anything is recorded here.

        Those that have checkpoints come first; `seconds` limits the time that the others may take now. What cannot be
        stored is the next call's.
        """
        self.unkept = False
        self._keeping.rest(progress=progress, cancelled=cancelled, seconds=seconds)
        place = self._workspace.place
        if place is not None:
            repacking.start_apart(place)

    def blocks(self, entry: Entry) -> list[Block]:
        """The whole text of an entry."""
        with self._workspace.lock:
            return self._module_of(entry).blocks(entry, self._workspace.open_file) if entry.span else []

    def facts(self, entry: Entry) -> dict[str, str]:
        """What else an entry's record tells: model, tokens, folder …"""
        with self._workspace.lock:
            return self._module_of(entry).facts(entry, self._workspace.open_file) if entry.span else {}

    def changes(self, point: str) -> Diff:
        """What changed up to a point since the one before it, without hunks."""
        with self._workspace.lock:
            stored = self._workspace.stored(point)
            before = self._workspace.before(stored) if stored else ""
            if not before:
                return Diff("", "", ())
            return self._diff(self._workspace.side(before), self._workspace.side(point), None)

    def authors(self, left: str, right: str | None, built: SessionTree) -> dict[bytes, list[Who]]:
        """Path → who changed it between two stored checkpoints by their ids, who did so last first, told from a tree.

        `right` None: up to the newest one. Empty where one of them is not stored, or knows some paths only.
        """
        with self._workspace.lock:
            return history.authors(self._workspace, left, right, built.info.keys)

    def touches(self, path: bytes, built: SessionTree, *, placed: bool = False) -> list[Touch]:
        """The moments at which a path, or what is in a folder, changed, and who changed it, told from a tree.

        All sessions of the root count, the oldest moment first. `placed`: with the branches of other sessions, too.
        """
        with self._workspace.lock:
            return history.touches(self._workspace, path, built, placed=placed)

    def touched(self, touch: Touch) -> Diff:
        """What changed at one of these moments."""
        with self._workspace.lock:
            return history.between(self._workspace, {touch.path: (touch.old, touch.new)})

    def unrecorded(self, paths: Sequence[bytes], *, hunks: bool = True) -> Diff:
        """How these paths differ from what was last recorded of them. Raises Busy while a save is under way."""
        with self._workspace.lock:
            return history.unrecorded(self._workspace, paths, hunks=hunks)

    def done_by(self, operation: str) -> Diff:
        """What a restore, an undo or a redo did to files."""
        with self._workspace.lock:
            return history.done_by(self._workspace, operation)

    def diff(
        self,
        left: str,
        right: str | None = None,
        *,
        context: int = 3,
        ignore_space: bool = False,
        paths: Sequence[bytes] = (),
        begin: Callable[[Diff], None] | None = None,
        hunks: bool = True,
    ) -> Diff:
        """How the files differ between two points; without `right`, between a point and the folder as it is.

        `begin` gets the beginning of a long one as soon as there is something to show. Without `hunks` lines are only
        counted.
        """
        with self._workspace.lock:
            old = self._side(left)
            new = self._side(right) if right is not None else self._now()
            return self._diff(old, new, (context, ignore_space) if hunks else None, paths, begin)

    def known(self, point: str) -> tuple[bytes, ...]:
        """The paths that a partial checkpoint speaks of; empty for a complete one."""
        with self._workspace.lock:
            return tuple(sorted(self._side(point).known or ()))

    def covered(self, point: str) -> Covered:
        """What a stored checkpoint, by its whole id, says of paths that are not as all the others."""
        with self._workspace.lock:
            stored = self._workspace.stored(point)
            if stored is None:
                return Covered()
            record = stored.checkpoint
            rules = {source.base + source.name for source in self._workspace.objects().sources(stored)}
            return Covered(
                tuple(sorted(record.uncaptured.items())),
                record.moving,
                record.outside,
                record.secrets,
                tuple(sorted(record.unanswered.items())),
                record.bytes,
                record.largest_file,
                tuple(sorted(rules)),
                record.known,
                record.inferred,
            )

    def catch_up(
        self,
        *,
        progress: Callable[[int, int], None] | None = None,
        cancelled: Callable[[], bool] = lambda: False,
        wait: float | None = None,
    ) -> bool:
        """Takes into the index of the search what came since it was last kept; False when it was cancelled.

        The first time that is everything, which may take minutes. Raises Busy while another process is at it.
        """
        return self._search.catch_up(progress, cancelled, wait=wait)

    def keep_up(self) -> None:
        """Takes what was read last into the index of the search, where somebody searched before."""
        place = self._workspace.place
        if place is not None and (place.workspace / "search.db").exists():
            self._search.keep_up()

    def search(
        self, query: str, *, kinds: Sequence[str] = (), limit: int = 60, cancelled: Callable[[], bool] = lambda: False
    ) -> Found:
        """What holds all the words of a query, over all sessions, branches and checkpoints that are in the index.

        At most `limit` entries, the newest first, and as many files. `kinds`: those of entries, and "file". Raises
        UsageError for another kind.
        """
        return self._search.search(query, kinds, limit, cancelled)

    def file_text(self, point: str, path: bytes, query: str = "") -> FileText:
        """A file of a stored checkpoint as text, with the words of a query marked. Raises UnknownId, TooLarge."""
        from .search import finding

        with self._workspace.lock:
            stored, objects = self._workspace.stored(point), self._workspace.objects()
            node = None
            if stored is not None:
                node = objects.nodes(stored, [path]).get(path) or objects.outside(stored).get(path)
            if node is None:
                raise UnknownId("this checkpoint has no such file", path=path_text(path))
            data = objects.text(node.oid)
        return finding.file_text(data, query)

    @property
    def _search(self) -> Searching:
        """Imported when it is needed: SQLite takes longer to import than many a command to run."""
        if self._searching is None:
            from .search.searching import Searching

            self._searching = Searching(self._workspace)
        return self._searching

    def resolve(self, name: str) -> Resolved:
        """What an ID stands for: checkpoint, entry, branch, label, "now" or a time. Raises UnknownId, AmbiguousId."""
        with self._workspace.lock:
            return self._resolve(name)

    def save(self, *, label: str = "", session: str = "", progress: Callable[[int, int], None] | None = None) -> Saved:
        """A checkpoint of now; returns when it is on the disk."""
        agent = ""
        if session and session != FILES:
            with self._workspace.lock:
                info = self._workspace.session(session)
                agent, session = info.agent, goal.going_on(self._workspace.tree(info.key))
        else:
            session = ""
        return saving.save(self.root, home=self.home, label=label, agent=agent, session=session, progress=progress)

    def plan_restore(
        self,
        target: str,
        scope: Scope,
        *,
        everything: bool = False,
        paths: Sequence[bytes] = (),
        choices: Mapping[bytes, OnConflict] | OnConflict = "keep",
        name: str = "",
    ) -> RestorePlan:
        """What going back to a point or row would do; nothing is changed. Raises UnknownId, UsageError, Refused.

        `name`: what the branch is called on which the conversation goes on.
        """
        with self._workspace.lock:
            return planning.plan(self._workspace, self._target(target), scope, everything, paths, choices, name)

    def restore(self, plan: RestorePlan, *, live: bool = False, at_once: bool = False) -> RestoreResult:
        """Carries out exactly what was planned; refuses during an agent's open call unless `live`.

        `at_once`: it was planned for this very call, nobody thought about it in between.
        """
        with self._working():
            return restoring.carry_out(self._workspace, plan, live, at_once=at_once)

    def plan_fork(self, target: str, *, name: str = "") -> ForkPlan:
        """A new branch that ends at a point or row; nothing is written."""
        with self._workspace.lock:
            return forking.plan(self._workspace, self._target(target), name)

    def fork(self, plan: ForkPlan) -> ForkResult:
        """Writes the branch's session file by its agent's own rules and records the operation."""
        with self._working():
            return forking.carry_out(self._workspace, plan)

    def with_prompt(self, fork: ForkResult, prompt: str) -> tuple[str, ...] | None:
        """The command that goes on with a branch and begins with a prompt; None where its agent takes none there."""
        return forking.with_prompt(fork, prompt)

    def plan_resume(self, branch: str = "", *, session: str = "") -> ResumePlan:
        """How to go on with a branch (of a session), or a session by its id, in its agent; where one is without a name.

        Nothing is written. Raises NoWorkspace, UnknownId, AmbiguousId, Refused.
        """
        with self._workspace.lock:
            return resuming.plan(self._workspace, branch, session)

    def resume(self, plan: ResumePlan) -> ResumePlan:
        """Writes what has to be there before the planned command can be run: a fork, where the agent has no session."""
        with self._working():
            return resuming.carry_out(self._workspace, plan)

    def plan_undo(self) -> UndoPlan:
        """What taking back the newest act of a person would do. Raises Refused when there is none."""
        with self._workspace.lock:
            return undoing.plan(self._workspace, redo=False)

    def undo(self, plan: UndoPlan, *, live: bool = False, at_once: bool = False) -> RestoreResult:
        """Takes an act back; `at_once` as in `restore`."""
        with self._working():
            return undoing.carry_out(self._workspace, plan, live, at_once=at_once)

    def plan_redo(self) -> UndoPlan:
        """What doing the newest undone act again would do. Raises Refused when there is none."""
        with self._workspace.lock:
            return undoing.plan(self._workspace, redo=True)

    def redo(self, plan: UndoPlan, *, live: bool = False, at_once: bool = False) -> RestoreResult:
        """Does an undone act again; `at_once` as in `restore`."""
        with self._working():
            return undoing.carry_out(self._workspace, plan, live, at_once=at_once)

    def operations(self) -> list[Operation]:
        """What a person did in this root, the newest first."""
        with self._workspace.lock:
            place = self._workspace.place
            acts = self._workspace.acts()
            sessions = {act.session for act in acts}
            return tree.shown(acts, place.root.id, tuple(sessions))[::-1] if place else []

    def delete(
        self, points: Sequence[str], *, kind: str = "delete", summary: str = "", anyway: bool = False
    ) -> Deletion:
        """Deletes the files of points by their whole ids; their rows stay. `kind` is delete, expire or purge.

        `anyway`: the person named these points. Raises UnknownId, and Refused for what something needs.
        """
        with self._working():
            done = deleting.delete(self._workspace, points, kind=kind, summary=summary, anyway=anyway)
        if kind == "purge":
            self._search.forget()  # nothing of it stays in the index of the search either
        return done

    def protected(self) -> dict[str, str]:
        """Points that `delete` refuses unless a person named them, each with the reason."""
        with self._workspace.lock:
            content = self._workspace.content()
            return deleting.protected(self._workspace.need_place(), content.rows, content.operations)

    def label(self, point: str, text: str) -> Operation:
        """Names a point; an empty text takes its label away."""
        return self._mark("label", point, text)

    def pin(self, point: str) -> Operation:
        """Protects a point from ever being expired."""
        return self._mark("pin", point)

    def unpin(self, point: str) -> Operation:
        """Takes a point's pin away."""
        return self._mark("unpin", point)

    def status(self) -> Status:
        """How recording stands."""
        from . import status

        with self._workspace.lock:
            return status.status(self._workspace)

    def doctor(self) -> list[Finding]:
        """Everything that recording needs, and what to do where it is missing."""
        from .proof import doctor

        with self._workspace.lock:
            return doctor.doctor(self._workspace)

    def verify(self, *, progress: Callable[[int, int], None] | None = None) -> list[Finding]:
        """Re-hashes the store and names what is broken."""
        from .proof import verifying

        with self._workspace.lock:
            return verifying.verify(self._workspace, progress)

    def plan_rebuild(self) -> RebuildPlan:
        """What a rebuild would change besides the catalog; nothing is changed."""
        from .proof import rebuilding

        with self._workspace.lock:
            return rebuilding.plan(self._workspace)

    def rebuild(self, plan: RebuildPlan) -> list[Finding]:
        """Puts refs back as planned, and makes the catalog anew. Raises StoreUnwritable, Busy."""
        from .proof import rebuilding

        with self._workspace.lock:
            return rebuilding.rebuild(self._workspace, plan)

    @property
    def made_anew(self) -> bool:
        """Whether another folder was recorded under this path, which is not there any more; this one is not."""
        return not self.exists and replaced(self.root, self.home) is not None

    def take_over(self) -> list[Finding]:
        """Lets the record of the folder that stood here before go on in this one. Raises StoreUnwritable, Busy.

        The one that this folder has by now is kept, and comes back in the same way.
        """
        with self._workspace.lock:
            if self.interrupted:
                raise Refused(
                    "a restore was interrupted here", path=self.root, todo="forkpoint recover settles it first"
                )
            if take_over(self.root, self.home) is None:
                return [Finding(False, "no record of another folder is left here", "forkpoint save begins one")]
            count = len(self._workspace.content().rows)
        points = f"{count:,} checkpoint{'' if count == 1 else 's'}"
        return [Finding(True, f"the record goes on here: {points}", "forkpoint log")]

    def recover(self, *, back: bool = True) -> list[Finding]:
        """Settles an interrupted restore: rolls it back, or forward. Nothing to do is a finding too."""
        from .restore import recovering

        with self._workspace.lock:
            return recovering.recover(self._workspace, back)

    def repack(self) -> Repacked:
        """Makes the store small: packs and refs together, and frees what was deleted. Raises Busy when one is at it.

        Whoever works on a store starts that by itself when it is due, in a process apart.
        """
        return repacking.repack(self._workspace.need_place())

    def usage(self) -> Usage:
        """What holds most of the store: paths, points and sessions."""
        from .upkeep import usage

        with self._workspace.lock:
            return usage.usage(self._workspace)

    def token(self) -> str:
        """A cheap value that changes when a checkpoint, an operation or lines of a transcript came."""
        return self._workspace.token()

    @contextmanager
    def _working(self) -> Generator[None]:
        """What may leave a pack behind."""
        with self._workspace.lock:
            yield
            place = self._workspace.place
        if place is not None:
            repacking.start_apart(place)

    def _module_of(self, entry: Entry) -> agents.Agent:
        found = self._workspace.owner(entry)
        if found is None:
            raise UsageError("this entry belongs to no session of this folder", todo="open its session again")
        return agents.get(found.agent)

    def _resolve(self, name: str) -> Resolved:
        """The checkpoints are asked first: they are known without reading any conversation."""
        workspace = self._workspace
        place = workspace.place
        content = workspace.content()
        if place is not None:
            found = quick(
                name, content.rows, tree.marks(content.rows, content.operations, place.root.id), place.root.id
            )
            if found is not None:
                return found
        infos = workspace.sessions()
        try:
            return resolve(name, [*(workspace.tree(info.key) for info in infos), workspace.tree(FILES)])
        except UnknownId:
            workspace.refuse_damaged(name)
            raise

    def _target(self, name: str) -> Goal:
        return goal.find(self._workspace, self._resolve(name))

    def _side(self, name: str) -> Side:
        found = self._resolve(name)
        if found.point is None and found.entry is None:
            return self._now()
        moment = goal.find(self._workspace, found)
        return self._workspace.side(moment.need_point(), moment.built)

    def _now(self) -> Side:
        return self._workspace.now()

    def _diff(
        self,
        old: Side,
        new: Side,
        full: tuple[int, bool] | None,
        paths: Sequence[bytes] = (),
        begin: Callable[[Diff], None] | None = None,
    ) -> Diff:
        objects = self._workspace.objects() if self.exists else None
        pairs, unknown = sides.differences(objects, old, new)
        if paths:
            pairs = {path: pair for path, pair in pairs.items() if planning.chosen(path, paths)}
        renamed = diff.exact_renames(pairs)
        ends, about = (old.title, new.title), (unknown, sides.compared(old, new))
        if full is None:
            files = diff.summarise(pairs, old.read, new.read, renamed)
        else:
            files = diff.in_full(
                pairs,
                old.read,
                new.read,
                renamed,
                context=full[0],
                ignore_space=full[1],
                remarks=partial(sides.remarks, old, new),
                begin=begin and (lambda files: begin(Diff(*ends, tuple(files), *about, whole=False))),
            )
        return Diff(*ends, tuple(files), *about)

    def _mark(self, kind: str, name: str, text: str = "") -> Operation:
        with self._workspace.lock:
            moment = self._target(name)
            point = moment.need_point()
            place = self._workspace.adopted()
            restoring.store_import(self._workspace, point)
            held = tree.marks(self._workspace.content().rows, self._workspace.acts(), place.root.id)
            words = {
                "label": f'label "{text}"' if text else "label taken away",
                "pin": "pin",
                "unpin": "pin taken away",
            }
            record = Record(
                operations.new_id(),
                kind,
                operations.moment(),
                place.root.id,
                session=moment.key,
                summary=f"{words[kind]}: {moment.title} · {clock(moment.time)}",
                point=point,
                entry=moment.entry or "",
                text=text,
                was=held.labels.get(point, ""),
            )
            operations.append(place, self._workspace.objects(), record)
            return next(item for item in self.operations() if item.id == record.id)
