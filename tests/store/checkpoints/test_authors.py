"""Who changed which path, told of real files, transcripts and hooks."""

from __future__ import annotations

from pathlib import Path

import pytest
from forkpoint.store import naming
from forkpoint.store.agents.forms.background import detaches
from forkpoint.store.model import Inventory, Who
from forkpoint.store.saving import save

from ...builders.folders import make
from ...builders.recorded import Recorded

SHELL = {"tool_name": "Bash", "tool_input": {"command": "make"}}


@pytest.fixture
def agent(tmp_path: Path) -> Recorded:
    """A session whose first prompt was asked."""
    found = Recorded(make(tmp_path, {"shop/a.txt": "one\n", "shop/b.txt": "one\n"}) / "shop")
    found.starts()
    found.asked("Change them")
    return found


@pytest.fixture
def other(agent: Recorded) -> Recorded:
    """Another session in the same folder."""
    found = Recorded(agent.project)
    found.starts()
    found.asked("Change the other one")
    return found


def told(agent: Recorded, path: str) -> list[Who]:
    """Who changed a path, the oldest first, told from the session's tree."""
    store = agent.store()
    return [touch.who for touch in store.touches(path.encode(), store.tree(agent.session.id))]


def back_to_the_prompt(agent: Recorded) -> Inventory:
    store = agent.store()
    built = store.tree(agent.session.id)
    return store.plan_restore(next(point.id for point in built.points if point.reason == "prompt"), "files").inventory


def test_an_edit_tool_is_told_by_its_call(agent: Recorded) -> None:
    call = agent.writes("a.txt", "two\n")
    (who,) = told(agent, "a.txt")
    assert (who.kind, who.agent, who.session, who.tool, who.text) == (
        "tool", "claude", agent.session.id, "Write", "Write a.txt",
    )  # fmt: skip
    assert who.call and call


def test_what_the_shell_of_a_call_changed_is_the_shell_s(agent: Recorded) -> None:
    agent.runs("make", lambda root: make(root, {"a.txt": "two\n"}))
    (who,) = told(agent, "a.txt")
    assert (who.kind, who.text, naming.who(who)) == ("shell", "Bash make", "the shell in Bash make")


def test_what_an_edit_set_off_beside_the_path_that_it_names_is_the_shell_s_too(agent: Recorded) -> None:
    fields = {"tool_name": "Write", "tool_use_id": "c1", "tool_input": {"file_path": str(agent.project / "a.txt")}}
    agent.tell("PreToolUse", **fields)
    make(agent.project, {"a.txt": "two\n", "b.txt": "formatted\n"})
    agent.tell("PostToolUse", **fields)
    assert [told(agent, path)[0].kind for path in ("a.txt", "b.txt")] == ["tool", "shell"]


def test_a_sub_agent_is_told_by_its_id(agent: Recorded) -> None:
    fields = {"tool_use_id": "c1", "agent_id": "agent-7", **SHELL}
    agent.tell("PreToolUse", **fields)
    make(agent.project, {"a.txt": "two\n"})
    agent.tell("PostToolUse", **fields)
    (who,) = told(agent, "a.txt")
    assert (who.kind, who.subagent, who.shell) == ("subagent", "agent-7", True)
    assert naming.who(who) == "sub-agent agent-7: the shell in Bash make"


def test_another_session_is_told_with_its_agent(agent: Recorded, other: Recorded) -> None:
    other.runs("make", lambda root: make(root, {"a.txt": "two\n"}))
    (who,) = told(agent, "a.txt")
    assert (who.kind, who.session, who.call != "") == ("session", other.session.id, True)
    assert naming.who(who) == f"another session (Claude Code {other.session.id[:8]}): the shell in Bash make"
    assert told(other, "a.txt")[0].kind == "shell"


def test_each_of_two_sessions_at_once_has_its_own_checkpoints_and_changes(agent: Recorded, other: Recorded) -> None:
    for number in range(3):
        agent.runs("make", lambda root, n=number: make(root, {"a.txt": f"mine {n}\n"}))
        other.runs("make", lambda root, n=number: make(root, {"b.txt": f"theirs {n}\n"}))
    assert [who.kind for who in told(agent, "a.txt")] == ["shell"] * 3
    assert [who.kind for who in told(agent, "b.txt")] == ["session"] * 3
    for one in (agent, other):
        points = one.store().tree(one.session.id).points
        assert sum(point.reason == "tool" and point.side == "after" for point in points) == 3


def test_calls_of_two_sessions_at_one_time_are_unsure_where_neither_names_the_path(
    agent: Recorded, other: Recorded
) -> None:
    agent.tell("PreToolUse", tool_use_id="mine", **SHELL)
    other.tell("PreToolUse", tool_use_id="theirs", **SHELL)
    make(agent.project, {"a.txt": "two\n"})
    other.tell("PostToolUse", tool_use_id="theirs", **SHELL)
    agent.tell("PostToolUse", tool_use_id="mine", **SHELL)
    (who,) = told(agent, "a.txt")
    assert (who.kind, who.session, who.call) == ("unsure", "", "")
    kept = {change.path: change.why for change in back_to_the_prompt(agent).kept}
    assert kept[b"a.txt"] == "unsure who changed it"


def test_calls_of_one_session_at_one_time_are_unsure_but_the_session_is_not(agent: Recorded) -> None:
    agent.tell("PreToolUse", tool_use_id="one", tool_name="Bash", tool_input={"command": "make one"})
    agent.tell("PreToolUse", tool_use_id="two", tool_name="Bash", tool_input={"command": "make two"})
    make(agent.project, {"a.txt": "two\n"})
    agent.tell("PostToolUse", tool_use_id="one", tool_name="Bash", tool_input={"command": "make one"})
    agent.tell("PostToolUse", tool_use_id="two", tool_name="Bash", tool_input={"command": "make two"})
    (who,) = told(agent, "a.txt")
    assert (who.kind, who.session) == ("unsure", agent.session.id)
    assert set(who.maybe) == {"Bash make one", "Bash make two"}
    assert [change.path for change in back_to_the_prompt(agent).restored] == [b"a.txt"]


def both_name(agent: Recorded, other: Recorded, writes: Recorded | None) -> None:
    """Two sessions whose edit tools name one path at one time; the transcript of one proves what it left."""
    fields = {"tool_name": "Write", "tool_input": {"file_path": str(agent.project / "a.txt")}}
    agent.tell("PreToolUse", tool_use_id="mine", **fields)
    other.tell("PreToolUse", tool_use_id="theirs", **fields)
    if writes is None:
        make(agent.project, {"a.txt": "two\n"})
    else:
        made = writes.session.write("a.txt", "two\n")
        writes.renames(made, "mine" if writes is agent else "theirs")
    agent.tell("PostToolUse", tool_use_id="mine", **fields)
    other.tell("PostToolUse", tool_use_id="theirs", **fields)


def test_of_two_sessions_that_name_a_path_the_content_decides_where_it_is_proven(
    agent: Recorded, other: Recorded
) -> None:
    both_name(agent, other, writes=other)
    (who,) = told(agent, "a.txt")
    assert (who.kind, who.session) == ("session", other.session.id)
    kept = {change.path: change.why for change in back_to_the_prompt(agent).kept}
    assert kept[b"a.txt"] == "changed only by others"


def test_of_two_sessions_that_name_a_path_none_is_told_where_nothing_is_proven(
    agent: Recorded, other: Recorded
) -> None:
    both_name(agent, other, writes=None)
    assert [who.kind for who in told(agent, "a.txt")] == ["unsure"]


def test_a_change_outside_of_any_call_in_a_turn_is_unsure(agent: Recorded) -> None:
    make(agent.project, {"a.txt": "two\n"})
    agent.runs("make", lambda root: None)
    (who,) = told(agent, "a.txt")
    assert (who.kind, who.maybe) == ("unsure", ("outside of any call",))


def test_a_change_while_every_agent_was_between_two_turns_is_a_person_s(agent: Recorded) -> None:
    agent.runs("make", lambda root: make(root, {"a.txt": "two\n"}))
    agent.stops()
    make(agent.project, {"a.txt": "mine\n", "b.txt": "mine\n"})
    agent.asked("Go on")
    assert [naming.who(who) for who in told(agent, "a.txt")] == ["the shell in Bash make", "a person"]
    found = back_to_the_prompt(agent)
    assert {change.path: change.why for change in found.conflicts} == {b"a.txt": "changed since by a person"}
    assert {change.path: change.why for change in found.kept} == {b"b.txt": "changed only by others"}


def test_while_one_of_two_sessions_is_in_its_turn_nothing_is_a_person_s(agent: Recorded, other: Recorded) -> None:
    agent.stops()
    make(agent.project, {"a.txt": "whose\n"})
    agent.asked("Go on")
    assert [who.kind for who in told(agent, "a.txt")] == ["unsure"]


@pytest.mark.parametrize(
    "fields",
    [{"command": "make &"}, {"command": "make", "run_in_background": True}, {"command": "nohup make >log 2>&1 &"}],
)
def test_with_a_shell_in_the_background_nothing_is_a_person_s(agent: Recorded, fields: dict[str, object]) -> None:
    agent.tell("PreToolUse", tool_use_id="c1", tool_name="Bash", tool_input=fields)
    agent.tell("PostToolUse", tool_use_id="c1", tool_name="Bash", tool_input=fields)
    agent.stops()
    make(agent.project, {"a.txt": "whose\n"})
    agent.asked("Go on")
    make(agent.project, {"b.txt": "whose\n"})
    agent.runs("make", lambda root: make(root, {"b.txt": "two\n"}))
    assert told(agent, "a.txt")[0].maybe == ("a shell in the background",)
    assert told(agent, "b.txt")[-1].kind == "unsure", "that call, or the shell in the background"


def test_a_shell_that_the_agent_knows_to_be_over_at_the_end_of_a_turn_writes_no_more(agent: Recorded) -> None:
    fields = {"command": "make", "run_in_background": True}
    agent.tell("PreToolUse", tool_use_id="c1", tool_name="Bash", tool_input=fields)
    agent.tell("PostToolUse", tool_use_id="c1", tool_name="Bash", tool_input=fields)
    agent.tell("Stop", background_tasks=[])
    make(agent.project, {"a.txt": "mine\n"})
    agent.asked("Go on")
    assert [who.kind for who in told(agent, "a.txt")] == ["person"]
    agent.tell("Stop", background_tasks=[{"id": "b1"}])
    make(agent.project, {"a.txt": "whose\n"})
    agent.asked("Go on")
    assert told(agent, "a.txt")[-1].kind == "unsure"


def test_a_rewind_of_the_agent_s_own_is_no_person_s_work(agent: Recorded) -> None:
    agent.writes("a.txt", "two\n")
    agent.stops()
    make(agent.project, {"a.txt": "one\n"})
    agent.asked("Once more")
    assert told(agent, "a.txt")[-1].kind == "unsure"


def test_an_agent_without_hooks_that_was_at_work_leaves_nothing_to_a_person(agent: Recorded) -> None:
    agent.stops()
    silent = Recorded(agent.project, hooked=False)
    silent.asked("Change it")
    silent.writes("a.txt", "whose\n")
    agent.asked("Go on")
    assert [who.kind for who in told(agent, "a.txt")] == ["unsure"]


def test_where_what_hooks_knew_is_lost_nothing_is_a_person_s(agent: Recorded) -> None:
    agent.stops()
    for file in Path(agent.store().home).rglob("open-calls.json"):
        file.unlink()
    make(agent.project, {"a.txt": "whose\n"})
    agent.store().save()
    assert [who.kind for who in told(agent, "a.txt")] == ["unsure"]


def test_during_a_run_of_forkpoint_s_own_it_is_unsure_and_names_the_command(tmp_path: Path) -> None:
    root = make(tmp_path, {"shop/a.txt": "one\n"}) / "shop"
    save(str(root), reason="start", text="make all", run="run-1")
    make(root, {"a.txt": "two\n"})
    save(str(root), reason="end", text="make all", run="run-1")
    make(root, {"a.txt": "three\n"})
    save(str(root))
    store = Recorded(root).store()
    found = [naming.who(touch.who) for touch in store.touches(b"a.txt", store.tree("files"))]
    assert found == ["unsure: during make all", "a person"]


def test_a_restore_and_its_undo_are_a_person_s_acts(agent: Recorded) -> None:
    agent.writes("a.txt", "two\n")
    agent.stops()
    store = agent.store()
    prompt = next(point.id for point in store.tree(agent.session.id).points if point.reason == "prompt")
    store.restore(store.plan_restore(prompt, "files"))
    store.undo(store.plan_undo())
    agent.asked("Go on")
    tool, restored, undone = told(agent, "a.txt")
    assert tool.kind == "tool"
    assert [restored.kind, undone.kind] == ["person", "person"]
    assert [restored.operation, undone.operation] == [act.id for act in store.operations()[::-1]]


def test_between_two_points_it_is_told_who_did_so_last_first(agent: Recorded, other: Recorded) -> None:
    agent.writes("a.txt", "two\n")
    other.writes("a.txt", "three\n")
    agent.writes("a.txt", "four\n")
    store = agent.store()
    tree = store.tree(agent.session.id)
    found = store.authors(tree.points[0].id, tree.points[-1].id, tree)
    assert [who.kind for who in found[b"a.txt"]] == ["tool", "session", "tool"]


@pytest.mark.parametrize(
    ("command", "leaves"),
    [
        ("make", False),
        ("make && make install", False),
        ("make 2>&1 | tee log", False),
        ("make &>log", False),
        ("make >&2", False),
        ("grep 'a & b' x", False),
        ('echo "a & b"', False),
        ("echo a \\& b", False),
        ("make &", True),
        ("(sleep 5; make)& wait", True),
        ("nohup make >log 2>&1 &", True),
        ("setsid make", True),
        ("tmux new -d make", True),
    ],
)
def test_which_commands_leave_something_in_the_background(command: str, leaves: bool) -> None:
    assert detaches(command) is leaves
