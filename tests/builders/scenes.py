"""What forkpoint does that writes: each act with the stage that it is done on.

An act gives what it reported: `points` that it made with their files, `acts` that it recorded, paths that it `named` as
not changed, points that are `gone`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from forkpoint.store import recording
from forkpoint.store.agents.claude import settings
from forkpoint.store.api import Store
from forkpoint.store.model import RestoreResult
from forkpoint.store.restore import apply

from .faults import Fault, run
from .folders import Link, make, seen
from .recorded import Recorded
from .stage import Stage, emptied

Reported = Mapping[str, Any]


class Scene(NamedTuple):
    """An act and how it comes to it."""

    prepare: Callable[[Stage], object]
    act: Callable[[Stage], Reported]


def then(stage: Stage) -> None:
    """A folder with a checkpoint, and changes of every kind since."""
    make(stage.project, {"a": "then\n", "sub/b": "then b\n", "gone": "gone\n", "run": "#!\n", "link": Link("a")})
    make(stage.project, {"shut/in": "in\n", ".git/HEAD": "ref: refs/heads/main\n"})
    (stage.project / "run").chmod(0o755)
    stage.save("then")
    make(stage.project, {"a": "now, longer\n", "sub/c": "new\n", "fresh/d/e": "new\n", "link": "a file now\n"})
    (stage.project / "gone").unlink()
    (stage.project / "run").chmod(0o600)
    (stage.project / "shut").chmod(0o700)


def never_saved(stage: Stage) -> None:
    """The same folder, and nothing was ever recorded."""
    then(stage)
    emptied(stage.data)
    stage.known.clear()


def saves(stage: Stage) -> Reported:
    saved = stage.store().save(label="reported")
    return {"points": {saved.id: seen(stage.project)}}


def restored(result: RestoreResult) -> Reported:
    named = [*result.failed, *result.late_conflicts, *result.inventory.kept]
    return {"acts": [result.operation], "named": [os.fsdecode(change.path) for change in named]}


def restores(stage: Stage) -> Reported:
    store = stage.store()
    return restored(store.restore(store.plan_restore("then", "files")))


def restores_many(stage: Stage) -> Reported:
    """A restore that is large enough to be brought to the disk as a whole."""
    apply.MANY = 2
    return restores(stage)


def with_restore(stage: Stage) -> None:
    then(stage)
    restores(stage)


def undoes(stage: Stage) -> Reported:
    store = stage.store()
    return restored(store.undo(store.plan_undo()))


def with_undo(stage: Stage) -> None:
    with_restore(stage)
    undoes(stage)


def redoes(stage: Stage) -> Reported:
    store = stage.store()
    return restored(store.redo(store.plan_redo()))


def interrupted(stage: Stage) -> None:
    """A restore was killed half way."""
    then(stage)
    stage.before = seen(stage.project)
    steps = run(lambda: restores(stage)).steps
    stage.asked = seen(stage.project)
    undoes(stage)
    assert seen(stage.project) == stage.before
    middle = [number for number, step in enumerate(steps) if step.path.startswith(str(stage.project))]
    run(lambda: restores(stage), Fault("before", middle[len(middle) * 2 // 3]))
    assert stage.store().interrupted


def rolls_back(stage: Stage) -> Reported:
    return {"settled": [finding.what for finding in stage.store().recover(back=True)]}


def finishes(stage: Stage) -> Reported:
    return {"settled": [finding.what for finding in stage.store().recover(back=False)]}


def working(stage: Stage) -> None:
    """An agent that made and changed files."""
    make(stage.project, {"a": "0\n"})
    agent = stage.agent = Recorded(stage.project)
    agent.starts()
    agent.asked("Make it")
    agent.writes("b", "1\n")
    agent.runs("make", lambda root: make(root, {"a": "1\n", "c/d": "1\n"}))
    agent.stops()
    agent.asked("Once more")
    agent.runs("make", lambda root: make(root, {"a": "2\n", "e": "2\n"}))
    agent.stops()
    stage.store().tree()


def in_a_call(stage: Stage) -> None:
    """An agent in the middle of a call that has changed files."""
    working(stage)
    assert stage.agent is not None
    stage.agent.asked("Another")
    stage.agent.tell("PreToolUse", tool_name="Bash", tool_use_id="toolu_last", tool_input={"command": "make"})
    make(stage.project, {"a": "3\n", "f/g": "3\n"})


def hooks(stage: Stage) -> Reported:
    assert stage.agent is not None
    payload = {
        "session_id": stage.agent.session.id,
        "transcript_path": str(stage.agent.session.file),
        "cwd": str(stage.project),
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_use_id": "toolu_last",
        "tool_input": {"command": "make"},
    }
    recording.record("claude", json.dumps(payload).encode(), dict(os.environ), budget=30.0)
    return {}


def first_tool(store: Store) -> str:
    return next(point.id for point in store.tree().points if point.reason == "tool")


def goes_back(stage: Stage) -> Reported:
    store = stage.store()
    return restored(store.restore(store.plan_restore(first_tool(store), "both")))


def went_back(stage: Stage) -> None:
    working(stage)
    goes_back(stage)


def went_forth(stage: Stage) -> None:
    went_back(stage)
    undoes(stage)


def forks(stage: Stage) -> Reported:
    store = stage.store()
    return {"acts": [store.fork(store.plan_fork(first_tool(store), name="other")).operation]}


def unhooked(stage: Stage) -> None:
    """An agent that worked before anything was recorded: what its own backups know can be brought in."""
    make(stage.project, {"a": "0\n", "b": "0\n"})
    agent = stage.agent = Recorded(stage.project, hooked=False)
    agent.asked("Make it")
    agent.writes("a", "1\n")
    agent.asked("Once more")
    agent.writes("a", "2\n")
    agent.stops()
    stage.save("now")


def brings_in(stage: Stage) -> Reported:
    store = stage.store()
    return {"acts": [store.pin(next(point.id for point in store.tree().points if not point.complete)).id]}


def labels(stage: Stage) -> Reported:
    return {"acts": [stage.store().label("then", "named").id]}


def pins(stage: Stage) -> Reported:
    return {"acts": [stage.store().pin("then").id]}


def looks(stage: Stage) -> Reported:
    """Reads transcripts into the store and makes the catalog anew."""
    return {"rows": len(stage.store().tree().points)}


def unread(stage: Stage) -> None:
    working(stage)
    for file in stage.data.glob("workspaces/*/catalog*"):
        file.unlink()
    assert stage.agent is not None
    stage.agent.session.reply("One word more.")


def several(stage: Stage) -> None:
    """Checkpoints that nothing needs."""
    then(stage)
    for number in range(3):
        make(stage.project, {"a": f"{number}\n"})
        stage.save(f"number {number}")
    make(stage.project, {"a": "last\n"})


def deletes(stage: Stage) -> Reported:
    store = stage.store()
    ids = [point for number in range(2) if (point := store.resolve(f"number {number}").point)]
    done = store.delete(ids, anyway=True)
    return {"acts": [done.operation], "gone": ids}


def deleted(stage: Stage) -> None:
    several(stage)
    for point in deletes(stage)["gone"]:
        del stage.known[point]


def repacks(stage: Stage) -> Reported:
    stage.store().repack()
    return {}


def rebuilds(stage: Stage) -> Reported:
    store = stage.store()
    return {"found": len(store.rebuild(store.plan_rebuild()))}


def unset(stage: Stage) -> None:
    then(stage)
    file = Path(settings.settings_file(everywhere=True, root=stage.project, env=os.environ))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('{\n  "model": "opus"\n}\n')


def installs(stage: Stage) -> Reported:
    settings.install(everywhere=True, root=stage.project, executable="/opt/forkpoint", backups=stage.data / "backups")
    return {}


SCENES: dict[str, Scene] = {
    "first save": Scene(never_saved, saves),
    "save": Scene(then, saves),
    "hook": Scene(in_a_call, hooks),
    "restore": Scene(then, restores),
    "large restore": Scene(then, restores_many),
    "undo": Scene(with_restore, undoes),
    "redo": Scene(with_undo, redoes),
    "restore of files and conversation": Scene(working, goes_back),
    "undo of files and conversation": Scene(went_back, undoes),
    "redo of files and conversation": Scene(went_forth, redoes),
    "rolling back": Scene(interrupted, rolls_back),
    "finishing": Scene(interrupted, finishes),
    "fork": Scene(working, forks),
    "label": Scene(then, labels),
    "pin": Scene(then, pins),
    "look": Scene(unread, looks),
    "import": Scene(unhooked, brings_in),
    "deletion": Scene(several, deletes),
    "repacking": Scene(deleted, repacks),
    "rebuild": Scene(unread, rebuilds),
    "install": Scene(unset, installs),
}
