"""What Codex CLI's records tell of files before forkpoint saw them: known forwards, inferred backwards."""

from __future__ import annotations

from pathlib import Path

import pytest
from forkpoint.store import agents
from forkpoint.store.agents.base import Evidence, PartialState
from forkpoint.store.agents.codex.changes import applied, taken_back
from forkpoint.store.agents.forms.contents import blob
from hypothesis import given
from hypothesis import strategies as st

from tests.builders.codex import CodexSession, update

codex = agents.get("codex")


@pytest.fixture(params=[True, False], ids=["items", "events"])
def session(request: pytest.FixtureRequest, tmp_path: Path, machine: Path) -> CodexSession:
    """Told by items as in 2026, and by events as before."""
    folder = tmp_path / "project"
    folder.mkdir()
    return CodexSession(machine / ".codex", folder, paginated=request.param)


def states(session: CodexSession) -> list[PartialState]:
    (info,) = codex.sessions(str(session.cwd))
    return codex.file_states(codex.read(info), str(session.cwd))


def proof(session: CodexSession) -> Evidence:
    (info,) = codex.sessions(str(session.cwd))
    return codex.evidence(codex.read(info), str(session.cwd))


def told(state: PartialState) -> dict[str, object]:
    """Path → content, or None where there is no file; "~" before what is inferred."""
    found: dict[str, object] = {}
    for path, file in state.files.items():
        content = file.data().decode() if file.kind == "file" else None
        found[path.decode()] = ("~", content) if file.inferred else content
    return found


def test_a_file_that_was_made_is_known_from_then_on(session: CodexSession) -> None:
    session.prompt("one")
    session.patch({"a.txt": {"type": "add", "content": "a1\n"}})
    session.prompt("two")
    session.patch({"a.txt": update(["a1"], ["a2"])})
    session.prompt("three")
    session.patch({"a.txt": {"type": "delete", "content": "a2\n"}})
    session.prompt("four")
    assert [told(state) for state in states(session)] == [
        {"a.txt": ("~", None)},
        {"a.txt": "a1\n"},
        {"a.txt": "a2\n"},
        {"a.txt": None},
    ]


def test_a_file_that_was_there_is_concluded_from_what_it_is_now(session: CodexSession) -> None:
    (session.cwd / "a.txt").write_text("a1\nkept\n")
    session.prompt("one")
    session.patch({"a.txt": update(["a1"], ["a2"])})
    session.prompt("two")
    session.patch({"a.txt": update(["a2"], ["a3", "new"])})
    session.prompt("three")
    assert [told(state) for state in states(session)] == [
        {"a.txt": ("~", "a1\nkept\n")},
        {"a.txt": ("~", "a2\nkept\n")},
        {"a.txt": ("~", "a3\nnew\nkept\n")},
    ]
    (session.cwd / "a.txt").write_text("something else\n")
    assert states(session) == []


def test_a_file_that_was_deleted_later_is_concluded_from_that(session: CodexSession) -> None:
    (session.cwd / "a.txt").write_text("a1\n")
    session.prompt("one")
    session.patch({"a.txt": update(["a1"], ["a2"])})
    session.prompt("two")
    session.patch({"a.txt": {"type": "delete", "content": "a2\n"}})
    session.prompt("three")
    assert [told(state) for state in states(session)] == [
        {"a.txt": ("~", "a1\n")},
        {"a.txt": ("~", "a2\n")},
        {"a.txt": None},
    ]


def test_a_move_takes_the_content_along(session: CodexSession) -> None:
    session.prompt("one")
    session.patch({"a.txt": {"type": "add", "content": "a1\n"}})
    session.prompt("two")
    session.patch({"a.txt": update(["a1"], ["b1"], to="b.txt")})
    session.prompt("three")
    assert told(states(session)[-1]) == {"a.txt": None, "b.txt": "b1\n"}


def test_what_something_else_changed_in_between_is_not_sure_any_more(session: CodexSession) -> None:
    session.prompt("one")
    session.patch({"a.txt": {"type": "add", "content": "a1\n"}})
    session.prompt("two")
    (session.cwd / "a.txt").write_text("by a person\n")
    session.patch({"a.txt": update(["by a person"], ["a3"])})
    session.prompt("three")
    assert [told(state) for state in states(session)][1:] == [{"a.txt": ("~", "a1\n")}, {"a.txt": ("~", "a3\n")}]
    assert proof(session).left == {b"a.txt": frozenset({blob("a1\n")})}


def test_a_patch_that_failed_changed_nothing(session: CodexSession) -> None:
    session.prompt("one")
    session.patch({"a.txt": {"type": "add", "content": "a1\n"}}, success=False)
    session.prompt("two")
    assert states(session) == []
    assert proof(session) == Evidence()


def test_paths_outside_of_the_root_are_counted_alone(session: CodexSession) -> None:
    session.prompt("one")
    session.patch({"../away.txt": {"type": "add", "content": "x\n"}, "a.txt": {"type": "add", "content": "a\n"}})
    session.prompt("two")
    assert [(set(state.files), state.outside) for state in states(session)] == [({b"a.txt"}, 1)] * 2
    assert proof(session).outside == 1


def test_the_present_mode_is_taken_for_that_of_then(session: CodexSession) -> None:
    session.prompt("one")
    session.patch({"run.sh": {"type": "add", "content": "#!/bin/sh\n"}})
    session.prompt("two")
    (session.cwd / "run.sh").chmod(0o755)
    assert states(session)[-1].files[b"run.sh"].mode == 0o755


def test_a_link_or_something_large_on_the_disk_is_not_read(session: CodexSession, tmp_path: Path) -> None:
    (session.cwd / "a.txt").write_text("a1\n")
    session.prompt("one")
    session.patch({"a.txt": update(["a1"], ["a2"])})
    (session.cwd / "a.txt").write_text("a2\n" + "x" * (5 << 20))
    assert states(session) == []
    (session.cwd / "a.txt").unlink()
    (session.cwd / "a.txt").mkdir()
    assert states(session) == []


def test_evidence_names_contents_deletions_and_steps(session: CodexSession) -> None:
    (session.cwd / "old.txt").write_text("old\n")
    session.prompt("one")
    made = session.patch({"a.txt": {"type": "add", "content": "a1\n"}})
    gone = {"type": "delete", "content": "old\n"}
    moved = session.patch({"a.txt": update(["a1"], ["b1"], to="b.txt"), "old.txt": gone})
    found = proof(session)
    assert found.left == {
        b"a.txt": frozenset({blob("a1\n"), ""}),
        b"b.txt": frozenset({blob("b1\n")}),
        b"old.txt": frozenset({""}),
    }
    assert [entry for _, entry in found.touched[b"a.txt"]] == [made.entry, moved.entry]
    assert [entry for _, entry in found.touched[b"b.txt"]] == [moved.entry]


def test_a_sub_agent_s_patches_count_and_copies_of_a_history_do_not(session: CodexSession) -> None:
    session.prompt("one")
    call = session.call("spawn_agent", {"message": "job"})
    helper = session.sub_agent(call, link="result")
    helper.patch({"a.txt": {"type": "add", "content": "a1\n"}})
    session.now = helper.now
    session.patch({"b.txt": {"type": "add", "content": "b1\n"}})
    session.copy(100)
    assert set(proof(session).touched) == {b"a.txt", b"b.txt"}
    assert [len(steps) for steps in proof(session).touched.values()] == [1, 1]


def test_the_same_prompt_has_the_same_id_at_each_look(session: CodexSession) -> None:
    session.prompt("one")
    session.patch({"a.txt": {"type": "add", "content": "a1\n"}})
    assert [state.id for state in states(session)] == [state.id for state in states(session)]
    assert len(states(session)[0].id) == 16


def test_changes_of_an_older_form_have_their_kind_for_a_key(session: CodexSession) -> None:
    session.prompt("one")
    call = session.call("apply_patch", {"input": "*** Begin Patch\n*** Add File: a.txt\n*** End Patch"})
    changes = {str(session.cwd / "a.txt"): {"add": {"content": "a1\n"}}, "/x": 3, "/y": {"update": []}}
    session.event("patch_apply_end", call_id=call.id, success=True, changes=changes)
    session.prompt("two")
    assert told(states(session)[-1]) == {"a.txt": "a1\n"}


@pytest.mark.parametrize(
    ("before", "diff", "after"),
    [
        ("a\nb\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", "a\nB\nc\n"),
        ("", "@@ -0,0 +1,2 @@\n+a\n+b\n", "a\nb\n"),
        ("a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n", "a\nb\n"),
        ("a\nb\nc\nd\n", "@@ -1 +1 @@\n-a\n+A\n@@ -4 +4,2 @@\n-d\n+D\n+e\n", "A\nb\nc\nD\ne\n"),
        ("a\r\nb\r\n", "@@ -1,2 +1,1 @@\n a\r\n-b\r\n", "a\r\n"),
        ("a\n\nb\n", "@@ -1,3 +1,2 @@\n a\n \n-b\n", "a\n\n"),
    ],
)
def test_a_diff_is_made_and_taken_back(before: str, diff: str, after: str) -> None:
    assert applied(before, diff) == after
    assert taken_back(after, diff) == before
    assert applied(f"x\n{before}", diff) is None or before == ""


@given(st.lists(st.sampled_from("abc"), max_size=12), st.data())
def test_any_change_of_lines_comes_back(lines: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(lines)))
    end = data.draw(st.integers(start, len(lines)))
    new = data.draw(st.lists(st.sampled_from("abcd"), max_size=4))
    before = "".join(f"{line}\n" for line in lines)
    after = "".join(f"{line}\n" for line in [*lines[:start], *new, *lines[end:]])
    old = lines[start:end]
    place = f"-{start + bool(old)},{len(old)} +{start + bool(new)},{len(new)}"
    diff = "".join([f"@@ {place} @@\n", *(f"-{line}\n" for line in old), *(f"+{line}\n" for line in new)])
    assert applied(before, diff) == after
    assert taken_back(after, diff) == before
