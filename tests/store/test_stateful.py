"""Any sequence of what people, agents and the store do to a folder, against a plain model in memory."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from forkpoint.store.errors import ForkpointError, Refused, UsageError
from forkpoint.store.model import Inventory, RestoreResult
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from ..builders.captured import Capture, parents
from ..builders.edits import TEXTS, Edit, paths, work, works
from ..builders.folder import Thing, file, lay
from ..builders.folders import git
from ..builders.forecast import Choice, Forecast
from ..builders.model import Act, Moment
from ..builders.predicting import restored, taken_back
from ..builders.world import Did, Place, same, stamps

places = st.sampled_from([0, 0, 0, 0, 0, 1])
numbers = st.integers(0, 30)
chosen = st.one_of(st.just([]), st.just([]), st.lists(paths, min_size=1, max_size=2))
choices: st.SearchStrategy[Choice] = st.sampled_from(["keep", "keep", "checkpoint", "merge"])


@cache
def seed() -> Path:
    """A repository with another one in it, and an empty folder; made once and copied."""
    top = Path(tempfile.mkdtemp(prefix="seed-"))
    atexit.register(shutil.rmtree, top)
    kept = {b"nest/a": file(b"nested\n"), b"x.log": file(b"kept in git\n"), b"build/a": file(b"so is this\n")}
    lay(top / "shop", kept)
    (top / "notes").mkdir()
    for repository in (top / "shop/nest", top / "shop"):
        git(repository, "init", "-q", "--template=", "-b", "main")
    git(top / "shop", "add", "-f", "x.log", "build/a")
    return top


class Story(RuleBasedStateMachine):
    """People, two agents and the store at work in two folders of one home."""

    def __init__(self) -> None:
        super().__init__()
        self.top = Path(tempfile.mkdtemp(prefix="story-"))
        self.environment = dict(os.environ)
        os.environ["FORKPOINT_HOME"] = str(self.top / "forkpoint")
        os.environ["CLAUDE_CONFIG_DIR"] = str(self.top / "claude")
        shutil.copytree(seed(), self.top, dirs_exist_ok=True)
        self.places = [Place(self.top / "shop", {b"x.log", b"build/a"}, b"nest"), Place(self.top / "notes")]

    def teardown(self) -> None:
        for place in self.places:
            for point in place.points:
                place.holds(point)
            self.sound(place)
        os.environ.clear()
        os.environ.update(self.environment)
        for path in self.top.rglob("*"):
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o700)
        shutil.rmtree(self.top)

    # ---- people and agents

    @rule(where=places, works=works)
    def somebody_edits(self, where: int, works: list[Edit]) -> None:
        """A person, or an agent when one of its calls is open."""
        work(self.places[where].path, works)

    @rule(where=places, who=st.integers(0, 1), text=st.sampled_from(["Fold lines", "Add a page", "Go on"]))
    def somebody_asks(self, where: int, who: int, text: str) -> None:
        place = self.places[where]
        agent = place.agent(who)
        place.turn_over(agent)
        agent.asked(text)
        place.look(agent.session.id, must=True)

    @rule(where=places, who=st.integers(0, 1), works=works)
    def an_agent_works(self, where: int, who: int, works: list[Edit]) -> None:
        place = self.places[where]
        call = place.begins(place.agent(who), "Bash")
        work(place.path, works)
        place.ends(call)

    @rule(
        where=places,
        who=st.integers(0, 1),
        path=st.sampled_from(["a", "b", "x.log", "a/b", "nest/b", "build/c"]),
        n=numbers,
    )
    def an_agent_writes(self, where: int, who: int, path: str, n: int) -> None:
        place = self.places[where]
        disk = place.disk()
        name = path.encode()
        old = disk.get(name)
        above = [disk.get(folder) for folder in parents(name)]
        if any(thing is not None and thing.kind != "folder" for thing in above):
            return
        if old is not None and (old.kind != "file" or b"\0" in old.data or b"\r" in old.data):
            return
        call = place.begins(place.agent(who), "Write", path)
        place.ends(call, TEXTS[n % len(TEXTS)].decode())

    @rule(where=places, who=st.integers(0, 1))
    def a_call_begins(self, where: int, who: int) -> None:
        place = self.places[where]
        if len(place.calls) < 3:
            place.begins(place.agent(who), "Bash")

    @precondition(lambda self: any(place.calls for place in self.places))
    @rule(n=numbers)
    def a_call_ends(self, n: int) -> None:
        place = next(place for place in self.places if place.calls)
        place.ends(place.calls[n % len(place.calls)])

    @rule(where=places, who=st.integers(0, 1))
    def an_agent_stops(self, where: int, who: int) -> None:
        place = self.places[where]
        agent = place.agent(who)
        place.turn_over(agent)
        agent.stops()
        place.look(agent.session.id)

    # ---- checkpoints

    @rule(where=places, inside=st.booleans())
    def a_save(self, where: int, inside: bool) -> None:
        place = self.places[where]
        known = [agent.session.id for agent in place.agents if agent.session.id in place.session_of.values()]
        session = known[0] if inside and known else ""
        saved = place.store.save(session=session)
        assert place.look(session, must=True) == saved.id

    @rule(where=places, n=numbers, everything=st.booleans(), some=chosen, choice=choices)
    def a_restore(self, where: int, n: int, everything: bool, some: list[bytes], choice: Choice) -> None:
        place = self.places[where]
        if not place.points:
            return
        point = list(place.points)[-1 - n % len(place.points)]
        now = place.now()
        there = [path for path in some if path in now.tree or path in place.points[point].tree]
        plan = place.store.plan_restore(point, "files", everything=everything, paths=there, choices=choice)
        expected = restored(place, point, everything, there, choice)
        self.told(plan.inventory, expected)
        again = place.store.plan_restore(point, "files", everything=everything, paths=there, choices=choice)
        assert again.inventory == plan.inventory
        session = place.session_of[point]
        self.carried_out(place, "restore", session, expected, lambda live: place.store.restore(plan, live=live))

    def carried_out(
        self,
        place: Place,
        kind: str,
        session: str,
        expected: Forecast,
        act: Callable[[bool], RestoreResult],
        of: Did | None = None,
    ) -> RestoreResult:
        before, disk, untouched = place.now(), place.disk(), stamps(place.path)
        others = [(other, stamps(other.path)) for other in self.places if other is not place]
        live = False
        if place.busy() and expected.changes:
            with raises(Refused):
                act(False)
            live = True
        result = act(live)
        assert result.failed == ()
        assert result.late_conflicts == ()
        assert {change.path for change in result.done} == set(expected.changes)
        same(place.disk(), expected.disk)
        changed = {path for path in disk.keys() | expected.disk.keys() if disk.get(path) != expected.disk.get(path)}
        now = stamps(place.path)
        assert {path for path in untouched.keys() | now.keys() if untouched.get(path) != now.get(path)} == changed
        assert all(stamps(other.path) == was for other, was in others)
        gone = {path: disk[path] for path in expected.changes if path in disk and disk[path].kind != "folder"}
        besides = {path: thing for path, thing in gone.items() if path not in before.tree}
        self.guarded(place, session, before, besides, result.guard)
        if expected.changes:
            place.history.items.append(Act(session, expected.changes, expected.merged))
        built = place.store.tree(session or "files")
        assert built.here.dirty == place.unrecorded()
        held = place.points[result.guard]
        place.operations.insert(0, result.operation)
        if of is None:
            place.done.append(Did(kind, result.operation, session, expected.changes, held, guard=result.guard))
            place.undone.clear()
        elif kind == "undo":
            of.undone_from, of.undo_guard = held, result.guard
        return result

    def guarded(self, place: Place, session: str, before: Capture, besides: Mapping[bytes, Thing], guard: str) -> None:
        """Before anything was changed everything was stored, also what no other checkpoint would hold."""
        new = [point for point in place.ids() if point not in place.points]
        assert new == [guard]
        place.points[guard] = Capture({**before.tree, **besides}, before.rules, before.special, frozenset(besides))
        place.session_of[guard] = session
        place.holds(guard)
        place.history.items.append(Moment(before, session, session, guard))

    def told(self, inventory: Inventory, expected: Forecast) -> None:
        """The inventory names every differing path once, in its class."""
        parts = {
            "restored": inventory.restored,
            "kept": inventory.kept,
            "conflicts": inventory.conflicts,
            "failed": inventory.failed,
        }
        rows = [row.path for part in parts.values() for row in part]
        assert len(rows) == len(set(rows))
        same({name: {row.path for row in part} for name, part in parts.items()}, {"failed": set(), **expected.classes})
        acting = {row.path for row in (*inventory.restored, *inventory.conflicts) if row.action != "none"}
        assert acting == set(expected.changes)

    # ---- undo, redo, marks

    @precondition(lambda self: any(place.done for place in self.places))
    @rule()
    def an_undo(self) -> None:
        place = next(place for place in self.places if place.done)
        plan = place.store.plan_undo()
        did = place.done[-1]
        assert plan.operation.id == did.id
        if did.fork in place.continued:
            disk = place.disk()
            with raises(Refused):
                place.store.undo(plan, live=True)
            assert place.disk() == disk
            return
        self.taken_back(place, did, "undo", plan.inventory, lambda live: place.store.undo(plan, live=live))
        place.undone.append(place.done.pop())
        self.marked(place)

    @precondition(lambda self: any(place.undone for place in self.places))
    @rule()
    def a_redo(self) -> None:
        place = next(place for place in self.places if place.undone)
        plan = place.store.plan_redo()
        did = place.undone[-1]
        assert plan.operation.id == did.id
        self.taken_back(place, did, "redo", plan.inventory, lambda live: place.store.redo(plan, live=live))
        place.done.append(place.undone.pop())
        self.marked(place)

    def taken_back(
        self, place: Place, did: Did, kind: str, inventory: Inventory, act: Callable[[bool], RestoreResult]
    ) -> None:
        redo = kind == "redo"
        self.files_taken_back(place, did, redo, inventory, act)
        if did.file is not None:
            assert did.file.exists() == redo

    def files_taken_back(
        self, place: Place, did: Did, redo: bool, inventory: Inventory, act: Callable[[bool], RestoreResult]
    ) -> None:
        if not did.changes:
            disk = stamps(place.path)
            result = act(False)
            assert stamps(place.path) == disk
            assert result.guard == ""
            place.operations.insert(0, result.operation)
            return
        expected = taken_back(place, did, redo)
        self.told(inventory, expected)
        self.carried_out(place, "redo" if redo else "undo", did.session, expected, act, did)

    @rule(where=places, n=numbers, kind=st.sampled_from(["label", "pin", "unpin"]))
    def a_mark(self, where: int, n: int, kind: str) -> None:
        self.mark(self.places[where], kind, n, *([("", "green", "before lunch")[n % 3]] if kind == "label" else []))

    @rule(where=places, some=st.lists(numbers, min_size=1, max_size=3))
    def a_deletion(self, where: int, some: list[int]) -> None:
        """Nothing goes that somebody may still need, and what goes is missed by nobody else."""
        place = self.places[where]
        if not place.points:
            return
        chosen = {list(place.points)[n % len(place.points)] for n in some}
        disk = stamps(place.path)
        try:
            done = place.store.delete(sorted(chosen))
        except Refused:
            assert stamps(place.path) == disk
            return
        assert not chosen & place.needed()
        assert stamps(place.path) == disk
        place.operations.insert(0, done.operation)
        place.history.forget(chosen)
        for point in chosen:
            del place.points[point]

    @rule(where=places, n=numbers, both=st.booleans())
    def a_fork(self, where: int, n: int, both: bool) -> None:
        """The conversation goes on from there in a session of its own; with `both` the files go back as well."""
        place = self.places[where]
        talks = [point for point in place.points if place.session_of[point]]
        if not talks:
            return
        point = talks[-1 - n % len(talks)]
        session, disk = place.session_of[point], stamps(place.path)
        try:
            if not both:
                made = place.store.fork(place.store.plan_fork(point))
                assert stamps(place.path) == disk
                place.operations.insert(0, made.operation)
                place.done.append(Did("fork", made.operation, session))
                place.undone.clear()
                place.forked(session, made.session)
                return
            plan = place.store.plan_restore(point, "both")
        except (Refused, UsageError):  # nothing was said yet, so there is nothing to fork
            return
        point = plan.inventory.target.checkpoint or ""
        expected = restored(place, point)
        self.told(plan.inventory, expected)
        result = self.carried_out(
            place, "restore", session, expected, lambda live: place.store.restore(plan, live=live)
        )
        assert result.fork is not None
        place.forked(session, result.fork.session)

    @rule(where=places, n=numbers)
    def an_agent_goes_on_in_a_fork(self, where: int, n: int) -> None:
        place = self.places[where]
        forks = [did.fork for did in place.done if did.file and did.fork not in place.continued]
        if forks:
            place.goes_on(forks[n % len(forks)])

    def mark(self, place: Place, kind: str, n: int, *text: str) -> None:
        if place.points:
            point = list(place.points)[-1 - n % len(place.points)]
            made = getattr(place.store, kind)(point, *text)
            place.done.append(Did(kind, made.id, mark=(point, "".join(text))))
            place.undone.clear()
            place.operations.insert(0, made.id)
            self.marked(place)

    # ---- trouble

    @rule(where=places, what=st.sampled_from(["opened anew", "catalog", "index", "verified"]))
    def something_else(self, where: int, what: str) -> None:
        """A new process, lost caches, a look at the whole store."""
        place = self.places[where]
        if what == "opened anew":
            place.store = type(place.store).open(place.path)
        elif what == "verified":
            self.sound(place)
        else:
            name = "catalog.json" if what == "catalog" else "roots/*/index"
            for cache in (self.top / "forkpoint").glob(f"workspaces/*/{name}"):
                cache.unlink()

    def sound(self, place: Place) -> None:
        if place.points:
            findings = place.store.verify()
            assert all(finding.ok for finding in findings), findings

    # ---- what holds after every step

    @invariant()
    def the_log_is_in_order(self) -> None:
        assert not (self.top / "forkpoint/trouble.json").exists()
        for place in self.places:
            assert place.ids() == list(place.points)
            assert [act.id for act in place.store.operations()] == place.operations

    def marked(self, place: Place) -> None:
        """Marks stand as they were set, those that were taken back left out."""
        labels, pins = place.marks()
        sessions = {place.session_of[point] or "files" for point in place.points}
        points = [point for session in sessions for point in place.store.tree(session).points]
        assert {point.id: point.label for point in points if point.label} == labels
        assert {point.id for point in points if point.pinned} == pins


@contextmanager
def raises(kind: type[ForkpointError]) -> Iterator[None]:
    try:
        yield
    except kind:
        return
    raise AssertionError(f"{kind.__name__} was not raised")


def test_any_story_goes_as_the_model_says() -> None:
    long = os.environ.get("FORKPOINT_TEST_PROFILE") == "long"
    run_state_machine_as_test(
        Story,
        settings=settings(
            max_examples=1000 if long else 40,
            stateful_step_count=40 if long else 25,
            deadline=None,
            derandomize=not long,
            print_blob=True,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )
