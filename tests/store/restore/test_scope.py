from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from forkpoint.store.restore.coverage import Coverage, differences
from forkpoint.store.restore.scope import Decision, Transition, decide, take_back
from forkpoint.store.states import Node

from ...builders.folder import Thing, file, folder, state
from ...builders.story import MINE, THEIRS, Story

A, B, C, P = (file(name) for name in "ABCP")


def verdicts(decisions: Mapping[bytes, Decision]) -> dict[bytes, str]:
    return {path: decision.verdict for path, decision in decisions.items()}


def test_what_the_session_changed_is_restored() -> None:
    story = Story({b"a": A, b"b": A, b"c": A})
    story.step({b"a": B, b"b": None, b"new": B})
    assert verdicts(story.go_to(0)) == {b"a": "restore", b"b": "restore", b"new": "restore"}


def test_what_the_session_never_changed_is_kept() -> None:
    story = Story({b"a": A, b"b": A, b"c": A})
    story.step({b"a": B})
    story.drift({b"b": P})
    story.step({b"c": B}, THEIRS)
    story.edit({b"d": P})
    decisions = story.go_to(0)
    assert verdicts(decisions) == {b"a": "restore", b"b": "keep", b"c": "keep", b"d": "keep"}
    assert [decisions[path].why for path in (b"b", b"c", b"d")] == [
        "unsure who changed it",
        "changed only by others",
        "unsure who changed it",
    ]


def test_a_persons_edit_between_two_hooks_is_a_conflict() -> None:
    story = Story({b"a": A})
    story.step({b"a": B})
    when = story.drift({b"a": P})
    assert story.go_to(0) == {b"a": Decision("conflict", "changed since, unsure by whom", when, B.node)}


def test_a_persons_edit_after_the_last_checkpoint_is_a_conflict_of_unknown_time() -> None:
    story = Story({b"a": A})
    story.step({b"a": B})
    story.edit({b"a": P})
    assert story.go_to(0) == {b"a": Decision("conflict", "changed since, unsure by whom", None, B.node)}


def test_what_a_person_changed_for_sure_is_told_as_theirs() -> None:
    story = Story({b"a": A, b"b": A})
    story.step({b"a": B})
    when = story.edits({b"a": P, b"b": P})
    decisions = story.go_to(0)
    assert decisions[b"a"] == Decision("conflict", "changed since by a person", when, B.node)
    assert decisions[b"b"] == Decision("keep", "changed only by others")


def test_an_edit_stays_a_conflict_after_a_step_elsewhere() -> None:
    story = Story({b"a": A, b"b": A})
    story.step({b"a": B})
    story.drift({b"a": P})
    story.step({b"b": B})
    assert verdicts(story.go_to(0)) == {b"a": "conflict", b"b": "restore"}


def test_an_edit_that_the_session_wrote_over_is_its_own_work_again() -> None:
    story = Story({b"a": A})
    story.drift({b"a": P})
    story.step({b"a": B})
    assert verdicts(story.go_to(0)) == {b"a": "restore"}


def test_another_sessions_change_since_is_a_conflict() -> None:
    story = Story({b"a": A})
    story.step({b"a": B})
    when = story.step({b"a": C}, THEIRS)
    assert story.go_to(0) == {b"a": Decision("conflict", "changed since by another session", when, B.node)}


def test_a_persons_edit_of_the_mode_alone_is_a_conflict() -> None:
    story = Story({b"a": file("A")})
    story.step({b"a": file("B")})
    story.edit({b"a": file("B", 0o755)})
    assert verdicts(story.go_to(0)) == {b"a": "conflict"}


@pytest.mark.parametrize("recorded", [False, True])
def test_a_rewind_of_the_agents_own_is_nobodys_new_work(recorded: bool) -> None:
    """It puts back contents that were stored, and fires no hook: drift, or not seen at all."""
    story = Story({b"a": A, b"gone": A})
    first = story.step({b"a": B, b"gone": None, b"new": B})
    story.step({b"a": C, b"new": C})
    rewound: dict[bytes, Thing | None] = {b"a": A, b"gone": A, b"new": None}
    if recorded:
        story.drift(rewound)
    else:
        story.edit(rewound)
    assert verdicts(story.go_to(first)) == {b"a": "restore", b"gone": "keep", b"new": "restore"}
    assert story.go_to(first)[b"gone"].why == "this session did not make it"


def test_a_rewind_to_what_stood_there_when_the_session_began_is_nobodys_new_work() -> None:
    story = Story({b"a": A})
    story.drift({b"a": P}, session="")
    story.begins()
    first = story.step({b"a": B})
    story.step({b"a": C})
    story.edit({b"a": P})
    assert verdicts(story.go_to(first)) == {b"a": "restore"}


def test_a_persons_own_content_put_back_by_the_person_is_a_conflict() -> None:
    story = Story({b"a": A})
    story.drift({}, MINE)
    story.drift({b"a": P})
    story.step({b"a": B})
    story.drift({b"a": P})
    assert verdicts(story.go_to(0)) == {b"a": "conflict"}


def test_a_file_that_a_person_deleted_is_a_conflict() -> None:
    story = Story({b"a": A})
    story.step({b"a": B})
    story.edit({b"a": None})
    assert story.go_to(0) == {b"a": Decision("conflict", "deleted since, unsure by whom", None, B.node)}


def test_what_our_own_restore_put_there_is_no_conflict() -> None:
    story = Story({b"a": A})
    first = story.step({b"a": B})
    story.drift({b"a": P})
    story.restore(0)
    assert verdicts(story.go_to(first)) == {b"a": "restore"}
    story.restore(first)
    assert verdicts(story.go_to(0)) == {b"a": "restore"}


def test_a_person_s_work_that_our_own_restore_or_undo_brought_back_is_theirs_as_before() -> None:
    story = Story({b"a": A})
    story.step({b"a": B})
    edited = story.drift({b"a": P})
    story.restore(0)
    story.restore(edited)
    assert verdicts(story.go_to(0)) == {b"a": "conflict"}


def test_a_file_of_a_person_that_our_own_restore_brought_back_is_not_deleted() -> None:
    story = Story({})
    made = story.drift({b"a": P})
    story.step({b"a": None})
    story.restore(made)
    assert story.go_to(0) == {b"a": Decision("keep", "this session did not make it")}


def test_a_file_of_the_session_that_our_own_restore_brought_back_is_deleted_again() -> None:
    story = Story({})
    made = story.step({b"a": B})
    story.step({b"a": None})
    story.restore(made)
    assert verdicts(story.go_to(0)) == {b"a": "restore"}


def test_a_file_that_somebody_else_made_is_not_deleted_though_the_session_changed_it() -> None:
    story = Story({})
    story.drift({b"a": P})
    story.step({b"a": B})
    assert story.go_to(0) == {b"a": Decision("keep", "this session did not make it")}


def test_a_file_that_a_person_made_where_the_session_had_deleted_its_own_is_not_deleted() -> None:
    story = Story({})
    story.step({b"a": B})
    story.step({b"a": None})
    story.edit({b"a": P})
    assert verdicts(story.go_to(0)) == {b"a": "keep"}


def test_a_file_of_the_session_that_a_rewind_brought_back_is_still_its_own() -> None:
    story = Story({})
    story.step({b"a": B})
    story.step({b"a": None})
    story.drift({b"a": B})
    assert verdicts(story.go_to(0)) == {b"a": "restore"}


def test_a_file_of_the_session_that_a_person_edited_is_a_conflict_not_a_deletion() -> None:
    story = Story({})
    story.step({b"a": B})
    story.edit({b"a": P})
    assert verdicts(story.go_to(0)) == {b"a": "conflict"}


def test_a_folder_goes_with_its_files_only_when_the_session_made_it() -> None:
    story = Story({})
    story.drift({b"theirs/note": P})
    first = story.step({})
    story.step({b"mine/x": B, b"theirs/x": B, b"mine/empty": folder()})
    assert verdicts(story.go_to(first)) == {
        b"mine": "restore",
        b"mine/empty": "restore",
        b"mine/x": "restore",
        b"theirs/x": "restore",
    }
    story.edit({b"theirs/note": None})
    assert verdicts(story.go_to(0))[b"theirs"] == "keep"


def test_a_folder_that_was_only_filled_by_the_session_stays() -> None:
    story = Story({})
    story.drift({b"docs": folder()})
    story.step({b"docs/x": B})
    decisions = story.go_to(0)
    assert (decisions[b"docs"].verdict, decisions[b"docs/x"].verdict) == ("keep", "restore")


def test_a_folders_mode_is_restored_when_the_session_changed_it() -> None:
    story = Story({b"d": folder(), b"d/x": A, b"e": folder(), b"e/x": A})
    story.step({b"d": folder(0o700)})
    story.drift({b"e": folder(0o700)})
    assert verdicts(story.go_to(0)) == {b"d": "restore", b"e": "keep"}


def test_a_folder_that_the_session_emptied_comes_back_as_it_was() -> None:
    story = Story({b"d": folder(0o700), b"d/x": A})
    story.step({b"d": None, b"d/x": None})
    assert verdicts(story.go_to(0)) == {b"d": "restore", b"d/x": "restore"}


def test_a_link_in_place_of_a_file_is_the_sessions_when_it_made_it() -> None:
    story = Story({b"a": A})
    story.step({b"a": Thing("link", 0, b"b")})
    assert verdicts(story.go_to(0)) == {b"a": "restore"}


def everything_differs() -> Story:
    story = Story({b"a": A, b"src/b": A, b"src/c": A})
    story.step({b"a": B})
    story.drift({b"a": P, b"src/b": P})
    story.edit({b"src/c": P, b"new": P})
    return story


@pytest.mark.parametrize(("session", "everything"), [(MINE, True), ("", False)])
def test_as_it_was_then_takes_the_whole_root_without_conflicts(session: str, everything: bool) -> None:
    decisions = everything_differs().go_to(0, session, everything=everything)
    assert verdicts(decisions) == dict.fromkeys([b"a", b"new", b"src/b", b"src/c"], "restore")


@pytest.mark.parametrize("named", [b"src", b"src/"])
def test_what_was_not_chosen_is_left_out(named: bytes) -> None:
    decisions = everything_differs().go_to(0, everything=True, paths=[named])
    assert verdicts(decisions) == {b"a": "keep", b"new": "keep", b"src/b": "restore", b"src/c": "restore"}
    assert decisions[b"a"].why == "left out by choice"


def test_a_chosen_folder_still_keeps_what_only_others_changed() -> None:
    assert verdicts(everything_differs().go_to(0, paths=[b"src"]))[b"src/b"] == "keep"


def test_a_file_chosen_by_its_name_that_only_others_changed_is_a_conflict() -> None:
    decision = everything_differs().go_to(0, paths=[b"src/b"])[b"src/b"]
    assert (decision.verdict, decision.why, decision.base) == ("conflict", "unsure who changed it", A.node)


def test_a_file_chosen_by_its_name_that_is_gone_comes_back() -> None:
    story = Story({b"a": A})
    story.drift({b"a": None})
    assert verdicts(story.go_to(0)) == {b"a": "keep"}
    assert verdicts(story.go_to(0, paths=[b"a"])) == {b"a": "restore"}


def test_a_file_chosen_by_its_name_that_others_made_is_not_deleted() -> None:
    story = Story({})
    story.drift({b"a": P})
    assert story.go_to(0, paths=[b"a"])[b"a"].why == "this session did not make it"


class TestBeforeForkpointWasThere:
    """A partial checkpoint from the agent's own backups, and what its records prove of that time."""

    def go(self, then: Thing | None, now: Thing | None, left: Sequence[Thing]) -> str:
        old: dict[bytes, Node] = {b"a": then.node} if then else {}
        new: dict[bytes, Node] = {b"a": now.node} if now else {}
        pairs = differences(old, Coverage(complete=False, known=frozenset([b"a"])), new, Coverage())
        base = Transition("p0", 0, "base", "", {})
        found = decide(
            pairs, new, [base], MINE, left={b"a": frozenset(thing.node.oid for thing in left)}, touched=[b"a"]
        )
        return found[b"a"].verdict

    def test_what_a_call_left_is_restored(self) -> None:
        assert self.go(A, B, [B]) == "restore"

    def test_what_no_call_is_known_to_have_left_is_a_conflict(self) -> None:
        assert self.go(A, P, [B]) == "conflict"

    def test_a_file_that_a_call_made_is_deleted(self) -> None:
        assert self.go(None, B, [B]) == "restore"

    def test_a_file_that_is_gone_is_a_conflict(self) -> None:
        assert self.go(A, None, [B]) == "conflict"


class TestTakingBack:
    """Undo and redo: exactly the paths of one operation."""

    def go(self, guard: Mapping[bytes, Thing], now: Mapping[bytes, Thing], left: Mapping[bytes, Thing | None]):
        pairs = differences(state(guard), Coverage(), state(now), Coverage())
        return verdicts(take_back(pairs, {path: thing.node if thing else None for path, thing in left.items()}))

    def test_only_what_the_operation_changed_is_in_question(self) -> None:
        left = {b"a": A, b"gone": None}
        guard = {b"a": B, b"gone": B, b"other": A}
        assert self.go(guard, {b"a": A, b"other": P}, left) == {b"a": "restore", b"gone": "restore"}

    def test_what_changed_since_is_a_conflict(self) -> None:
        assert self.go({b"a": B}, {b"a": P}, {b"a": A}) == {b"a": "conflict"}

    def test_folders_come_and_go_with_the_files_of_the_operation(self) -> None:
        guard = {b"old/deep/x": A}
        now = {b"new/deep/x": A, b"elsewhere/y": P}
        assert self.go(guard, now, {b"old/deep/x": None, b"new/deep/x": A}) == dict.fromkeys(
            [b"old", b"old/deep", b"old/deep/x", b"new", b"new/deep", b"new/deep/x"], "restore"
        )


def test_where_a_folder_stood_something_stood() -> None:
    story = Story({b"build/a": A})
    story.step({b"build/a": None, b"build": B})
    story.edit({b"build": None})
    assert verdicts(story.go_to(1)) == {b"build": "conflict"}


def test_a_folder_that_somebody_replaced_unseen_was_still_taken_away_by_the_session() -> None:
    story = Story({b"b": A})
    story.step({b"a/x": A}, THEIRS)
    story.step({b"a/x": None})
    story.edit({b"a": P})
    assert verdicts(story.go_to(1)) == {b"a": "conflict", b"a/x": "restore"}


def test_what_nobody_recorded_yet_is_no_base_of_a_merge() -> None:
    story = Story({b"a": A})
    story.step({b"b": B})
    story.drift({b"a": C})
    story.edit({b"a": P})
    assert story.go_to(0, paths=[b"a"])[b"a"] == Decision(
        "conflict", "unsure who changed it", None, A.node, chosen=True
    )


def test_a_folder_that_a_session_made_is_its_own_also_when_it_was_emptied_unseen() -> None:
    story = Story({b"b": A})
    story.step({b"a/x": A})
    story.edit({b"a/x": None, b"a": folder()})
    assert verdicts(story.go_to(0)) == {b"a": "restore"}


@pytest.mark.parametrize("later", [P, C])
def test_a_persons_work_that_an_undo_brought_back_is_no_base_of_a_merge(later: Thing) -> None:
    story = Story({b"a": A})
    story.step({b"a": B})
    edited = story.drift({b"a": P})
    story.restore(0)
    story.restore(edited)
    story.edit({b"a": later})
    assert story.go_to(0)[b"a"].base == B.node


def test_lines_that_a_restore_merged_are_no_base_of_the_next_merge() -> None:
    story = Story({b"a": A})
    story.step({b"a": B})
    story.drift({b"a": P})
    merged = story.drift({b"a": file("merged")})
    story.transitions[merged] = replace(story.transitions[merged], author="restore")
    story.edit({b"a": C})
    assert story.go_to(0)[b"a"].base == B.node


def test_what_a_restore_brought_back_is_the_base_of_an_edit_on_top_of_it() -> None:
    story = Story({b"a": A})
    story.step({b"a": B})
    story.drift({b"a": P})
    story.restore(0)
    story.edit({b"a": C})
    assert story.go_to(1)[b"a"].base == A.node
