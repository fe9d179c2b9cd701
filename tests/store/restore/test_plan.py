from __future__ import annotations

from collections.abc import Mapping

import pytest
from forkpoint.store.model import OnConflict, PathChange
from forkpoint.store.restore.change import Change
from forkpoint.store.restore.coverage import Coverage, differences
from forkpoint.store.restore.paths import folded
from forkpoint.store.restore.plan import Plan, plan
from forkpoint.store.restore.scope import Decision
from forkpoint.store.states import Node

from ...builders.folder import Thing, Tree, file, folder, link, state

A, B, P = file("A\n"), file("B\n"), file("P\n")
MERGED = b"A\nP\n"
CONFLICT = Decision("conflict", "changed since by somebody else", 7, B.node)
KEEP = Decision("keep", "changed only by others")
RESTORE = Decision("restore", "changed by this session")


def go(
    then: Tree,
    now: Tree,
    decisions: Mapping[bytes, Decision] | None = None,
    *,
    knows: Coverage | None = None,
    present: Coverage | None = None,
    choices: Mapping[bytes, OnConflict] | OnConflict = "keep",
    merged: bytes | None = MERGED,
    on_disk: Mapping[bytes, str] = {},
    ignores_case: bool = False,
) -> Plan:
    """The plan; a path without a decision of its own is restored."""
    knows, present = knows or Coverage(), present or Coverage()
    pairs = differences(state(then), knows, state(now), present)
    return plan(
        pairs,
        knows,
        state(now),
        present,
        {path: (decisions or {}).get(path, RESTORE) for path in pairs},
        choices=choices,
        count=lambda path, old, new: (int(new is not None), int(old is not None)),
        merge=lambda path, base, mine, theirs: merged,
        standing=lambda path: on_disk.get(path, ""),
        fold=folded if ignores_case else None,
    )


def classes(found: Plan) -> dict[str, list[bytes]]:
    """Class → paths, without the empty classes."""
    named = {name: [row.path for row in getattr(found, name)] for name in ("restored", "kept", "conflicts", "failed")}
    return {name: paths for name, paths in named.items() if paths}


def steps(found: Plan) -> list[tuple[bytes, Node | None, Node | None]]:
    return [change[:3] for change in found.changes]


def test_only_what_differs_is_in_a_plan() -> None:
    found = go({b"same": A, b"a": A, b"d/gone": A}, {b"same": A, b"a": B, b"new": B})
    assert classes(found) == {"restored": [b"a", b"d/gone", b"new"]}
    assert [(row.path, row.action, row.added, row.removed) for row in found.restored] == [
        (b"a", "write", 1, 1),
        (b"d/gone", "create", 1, 0),
        (b"new", "delete", 0, 1),
    ]


def test_deletes_come_before_writes_and_folders_around_their_files() -> None:
    found = go({b"in/deep/a": A, b"z": A}, {b"out/deep/b": B, b"z": B, b"out/c": B})
    assert [change.path for change in found.changes] == [
        b"out/c",
        b"out/deep/b",
        b"out/deep",
        b"out",
        b"in",
        b"in/deep",
        b"in/deep/a",
        b"z",
    ]
    assert [change.path for change in found.changes if change.implied] == [b"out/deep", b"out", b"in", b"in/deep"]


def test_a_folder_in_place_of_a_file_comes_before_what_stands_in_it() -> None:
    usual = folder().node
    assert steps(go({b"p/x": A}, {b"p": B})) == [(b"p", B.node, usual), (b"p/x", None, A.node)]
    assert steps(go({b"p": A}, {b"p/x": B})) == [(b"p/x", B.node, None), (b"p", usual, A.node)]
    assert steps(go({b"p": folder()}, {b"p": link("x")})) == [(b"p", link("x").node, usual)]


def test_a_read_only_folder_is_opened_up_for_what_goes_with_it() -> None:
    shut, opened = folder(0o555).node, folder(0o755).node
    made = steps(go({b"d": folder(0o555), b"d/x": A}, {}))
    assert made == [(b"d", None, opened), (b"d/x", None, A.node), (b"d", opened, shut)]
    removed = steps(go({}, {b"d": folder(0o555), b"d/x": A}))
    assert removed == [(b"d", shut, opened), (b"d/x", A.node, None), (b"d", opened, None)]


def test_folder_modes_are_loosened_first_and_tightened_last() -> None:
    found = go({b"a": folder(0o555), b"a/x": A, b"b": folder(), b"b/x": A}, {b"a/x": B, b"b": folder(0o500), b"b/x": B})
    assert [change.path for change in found.changes] == [b"b", b"a/x", b"b/x", b"a"]


def test_a_folder_is_named_only_where_it_is_empty_or_unusual() -> None:
    found = go({b"usual/x": A, b"private": folder(0o700), b"private/x": A, b"empty": folder()}, {})
    assert classes(found) == {"restored": [b"empty", b"private", b"private/x", b"usual/x"]}


def test_filling_an_empty_folder_is_no_change_of_the_folder() -> None:
    assert classes(go({b"d": folder()}, {b"d/x": A})) == {"restored": [b"d/x"]}


class TestWhatIsLeftAlone:
    def test_a_partial_checkpoint_speaks_only_of_what_it_knows(self) -> None:
        knows = Coverage(complete=False, known=frozenset([b"a", b"d/made", b"d/back"]))
        found = go({b"a": A, b"d/back": A}, {b"a": B, b"d/made": B, b"other": B}, knows=knows)
        assert classes(found) == {"restored": [b"a", b"d/back", b"d/made"]}

    def test_a_partial_checkpoint_brings_folders_back_and_takes_none_away(self) -> None:
        knows = Coverage(complete=False, known=frozenset([b"in/a", b"out/b"]))
        found = go({b"in/a": A}, {b"out/b": B}, knows=knows)
        assert [change.path for change in found.changes] == [b"out/b", b"in", b"in/a"]

    def test_what_could_not_be_captured_on_either_side(self) -> None:
        knows = Coverage(uncaptured={b"big": "too large", b"secret": "permission denied"})
        present = Coverage(uncaptured={b"pipe": "not a file"})
        found = go({b"pipe": A}, {b"big": B, b"secret/x": B}, knows=knows, present=present)
        assert [(row.path, row.why) for row in found.kept] == [
            (b"big", "not captured then: too large"),
            (b"pipe", "cannot be captured now: not a file"),
            (b"secret/x", "not captured then: permission denied"),
        ]
        assert found.changes == ()

    @pytest.mark.parametrize(("then", "now", "why"), [(True, False, "ignored then"), (False, True, "ignored now")])
    def test_a_new_file_that_the_rules_of_then_or_now_ignore_is_not_deleted(
        self, then: bool, now: bool, why: str
    ) -> None:
        def ignored(path: bytes, is_folder: bool) -> bool:
            return path == b".env" and not is_folder

        rules, none = Coverage(ignored=ignored), Coverage()
        found = go({}, {b".env": B, b"a": B}, knows=rules if then else none, present=rules if now else none)
        assert classes(found) == {"restored": [b"a"], "kept": [b".env"]}
        assert found.kept[0].why == why

    def test_what_stands_there_but_is_ignored_now_is_not_overwritten(self) -> None:
        present = Coverage(ignored=lambda path, is_folder: path == b".env")
        found = go({b".env": A, b"odd": A}, {}, present=present, on_disk={b".env": "other", b"odd": "other"})
        assert [(row.path, row.why) for row in found.kept] == [(b".env", "ignored now"), (b"odd", "not captured now")]

    def test_an_ignored_file_that_is_gone_comes_back(self) -> None:
        present = Coverage(ignored=lambda path, is_folder: True)
        assert classes(go({b"build/x": A}, {}, present=present)) == {"restored": [b"build/x"]}

    def test_what_our_own_operation_made_is_taken_back_though_it_is_ignored(self) -> None:
        rules = Coverage(ignored=lambda path, is_folder: True)
        own = Decision("restore", "changed by that operation", chosen=True, ours=True)
        found = go({}, {b"build/x": A}, {b"build/x": own, b"build": own}, knows=rules, present=rules)
        assert [change.path for change in found.changes] == [b"build/x", b"build"]

    @pytest.mark.parametrize(
        "unsettled",
        [
            {"knows": Coverage(moving=frozenset([b"a"]))},
            {"present": Coverage(moving=frozenset([b"a"]))},
            {"knows": Coverage(inferred=frozenset([b"a"]))},
        ],
    )
    def test_what_is_unsettled_is_named_and_not_preselected(self, unsettled: dict[str, Coverage]) -> None:
        found = go({b"a": A}, {b"a": B}, **unsettled)  # type: ignore[arg-type]
        assert [(row.path, row.preselected) for row in found.kept] == [(b"a", False)]
        assert found.changes == ()
        chosen = Decision("restore", "changed by this session", chosen=True)
        assert classes(go({b"a": A}, {b"a": B}, {b"a": chosen}, **unsettled)) == {"restored": [b"a"]}  # type: ignore[arg-type]
        picked = go({b"a": A}, {b"a": B}, choices={b"a": "checkpoint"}, **unsettled)  # type: ignore[arg-type]
        assert classes(picked) == {"restored": [b"a"]}

    def test_a_path_that_is_deselected_stays(self) -> None:
        found = go({b"a": A, b"b": A}, {b"a": B, b"b": B}, choices={b"a": "keep"})
        assert classes(found) == {"restored": [b"b"], "kept": [b"a"]}


class TestFoldersAndWhatStays:
    def test_a_folder_in_which_something_stays_is_left(self) -> None:
        found = go({}, {b"d/mine": B, b"d/theirs": P}, {b"d/theirs": KEEP})
        assert classes(found) == {"restored": [b"d/mine"], "kept": [b"d/theirs"]}
        assert [change.path for change in found.changes] == [b"d/mine"]

    def test_an_unusual_folder_in_which_something_stays_is_told(self) -> None:
        found = go({}, {b"d": folder(0o700), b"d/theirs": P}, {b"d/theirs": KEEP})
        assert [(row.path, row.why) for row in found.kept] == [
            (b"d", "the folder holds something that stays"),
            (b"d/theirs", "changed only by others"),
        ]

    def test_a_folder_with_something_uncaptured_is_left(self) -> None:
        found = go({}, {b"d/x": B}, present=Coverage(uncaptured={b"d/pipe": "not a file"}))
        assert [change.path for change in found.changes] == [b"d/x"]

    def test_a_folder_with_something_that_is_never_captured_is_left_and_told(self) -> None:
        found = go({}, {b"d/e": folder(), b"f": folder()}, present=Coverage(holding=frozenset({b"d/e"})))
        assert classes(found) == {"restored": [b"f"], "kept": [b"d/e"]}
        assert [change.path for change in found.changes] == [b"f"]

    def test_nothing_comes_back_below_what_is_no_folder_and_not_captured(self) -> None:
        found = go({b"d/x": A, b"d/e/y": A}, {}, on_disk={b"d": "other"})
        assert (found.changes, classes(found)) == ((), {"kept": [b"d/e/y", b"d/x"]})
        assert found.kept[0].why == "d is no folder now, and not captured"

    def test_a_folder_of_others_that_becomes_empty_is_told(self) -> None:
        found = go({}, {b"d/x": B}, {b"d": Decision("keep", "this session did not make it")})
        assert classes(found) == {"restored": [b"d/x"], "kept": [b"d"]}

    def test_a_file_does_not_come_back_in_place_of_a_folder_that_holds_something(self) -> None:
        found = go({b"p": A}, {b"p/theirs": P}, {b"p/theirs": KEEP})
        assert classes(found) == {"kept": [b"p", b"p/theirs"]}
        assert found.changes == ()

    def test_nothing_comes_back_below_a_file_that_stays(self) -> None:
        found = go({b"p/x": A, b"p/d/y": A}, {b"p": P}, {b"p": CONFLICT})
        assert classes(found) == {"kept": [b"p/d/y", b"p/x"], "conflicts": [b"p"]}
        assert [row.why for row in found.kept] == ["p stays a file", "p stays a file"]
        chosen = go({b"p/x": A, b"p/d/y": A}, {b"p": P}, {b"p": CONFLICT}, choices="checkpoint")
        assert [change.path for change in chosen.changes] == [b"p", b"p/d", b"p/d/y", b"p/x"]

    def test_a_folder_that_is_needed_comes_back_though_others_removed_it(self) -> None:
        found = go({b"d": folder(0o700), b"d/x": A}, {}, {b"d": KEEP})
        assert classes(found) == {"restored": [b"d", b"d/x"]}
        assert found.restored[0].why == "needed for what comes back in it"

    def test_a_folder_that_is_there_though_no_state_says_so_is_not_made(self) -> None:
        assert [change.path for change in go({b"d/x": A}, {}, on_disk={b"d": "folder"}).changes] == [b"d/x"]


class TestConflicts:
    def test_stay_unless_chosen_and_tell_what_would_happen(self) -> None:
        found = go({b"a": A}, {b"a": P}, {b"a": CONFLICT})
        assert found.conflicts == (PathChange(b"a", "changed since by somebody else", "none", 1, 1, when=7),)
        assert found.changes == ()

    @pytest.mark.parametrize("choices", ["checkpoint", {b"a": "checkpoint"}])
    def test_give_way_to_the_checkpoint_when_chosen(self, choices: Mapping[bytes, OnConflict] | OnConflict) -> None:
        found = go({b"a": A}, {b"a": P}, {b"a": CONFLICT}, choices=choices)
        assert [(row.path, row.action, row.note) for row in found.conflicts] == [(b"a", "write", "the checkpoint's")]
        assert found.changes == (Change(b"a", P.node, A.node),)

    def test_are_merged_when_both_fit(self) -> None:
        mine = file("P\n", 0o755)
        found = go({b"a": A}, {b"a": mine}, {b"a": CONFLICT}, choices="merge")
        assert found.changes == (Change(b"a", mine.node, file(MERGED, 0o755).node, MERGED),)

    def test_stay_when_the_merge_overlaps(self) -> None:
        found = go({b"a": A}, {b"a": P}, {b"a": CONFLICT}, choices="merge", merged=None)
        assert (found.changes, found.conflicts[0].action) == ((), "none")
        assert "cannot be merged" in found.conflicts[0].note

    def test_stay_when_the_merge_brings_nothing(self) -> None:
        found = go({b"a": A}, {b"a": P}, {b"a": CONFLICT}, choices="merge", merged=b"P\n")
        assert (found.changes, found.conflicts[0].action) == ((), "none")

    @pytest.mark.parametrize("now", [link("x"), None])
    def test_are_merged_only_between_files(self, now: Thing | None) -> None:
        found = go({b"a": A}, {b"a": now} if now else {}, {b"a": CONFLICT}, choices="merge")
        assert found.changes == ()


class TestRefused:
    @pytest.mark.parametrize(
        "path",
        [
            b"../x",
            b"a/../x",
            b"/etc/x",
            b"a//x",
            b"./x",
            b".git/hooks/x",
            b"sub/.git",
            b"sub/.GiT/x",
            b".g\xe2\x80\x8cit/x",
        ],
    )
    def test_hostile_paths_are_named_and_not_carried_out(self, path: bytes) -> None:
        knows = Coverage(complete=False, known=frozenset([path, b"good"]))
        found = go({path: A, b"good": A}, {}, knows=knows)
        assert classes(found) == {"restored": [b"good"], "failed": [path]}
        assert [change.path for change in found.changes if not change.implied] == [b"good"]

    def test_names_that_begin_with_git_are_nothing_special(self) -> None:
        names = [b".gitignore", b".github/x", b"a.git/x", b"git/x"]
        assert classes(go(dict.fromkeys(names, A), {})) == {"restored": sorted(names)}


class TestWhereCaseIsIgnored:
    def test_names_that_collide_fail_before_the_start(self) -> None:
        found = go({b"README": A, b"readme": B, b"other": A}, {}, ignores_case=True)
        assert classes(found) == {"restored": [b"other"], "failed": [b"README", b"readme"]}
        assert "readme" in found.failed[0].why

    def test_a_name_that_stands_there_in_another_case_is_not_overwritten(self) -> None:
        found = go({b"README": A}, {b"readme": P}, {b"readme": KEEP}, ignores_case=True, on_disk={b"README": "other"})
        assert classes(found) == {"kept": [b"readme"], "failed": [b"README"]}

    def test_what_would_stand_in_a_colliding_folder_fails(self) -> None:
        found = go(
            {b"SRC/a": A}, {b"src/b": P}, {b"src/b": KEEP, b"src": KEEP}, ignores_case=True, on_disk={b"SRC": "folder"}
        )
        assert classes(found) == {"kept": [b"src/b"], "failed": [b"SRC/a"]}
        assert found.changes == ()

    def test_a_change_of_case_is_a_deletion_and_a_creation(self) -> None:
        found = go({b"README": A}, {b"readme": A}, ignores_case=True, on_disk={b"README": "other"})
        assert steps(found) == [(b"readme", A.node, None), (b"README", None, A.node)]

    def test_elsewhere_case_tells_names_apart(self) -> None:
        assert classes(go({b"README": A, b"readme": B}, {})) == {"restored": [b"README", b"readme"]}


def test_notes_say_what_lines_do_not() -> None:
    then = {b"mode": A, b"kind": link("x"), b"link": link("x"), b"folder": folder(), b"d": folder(0o700)}
    now = {b"mode": file("A\n", 0o755), b"kind": A, b"link": link("y"), b"d": folder(0o750)}
    found = go(then, now)
    assert {row.path: (row.action, row.note) for row in found.restored} == {
        b"mode": ("mode", "mode 755 → 644"),
        b"kind": ("write", "file → link"),
        b"link": ("write", "link"),
        b"folder": ("create", "folder"),
        b"d": ("mode", "mode 750 → 700"),
    }
