"""The files of a row: three ways to look at them, who changed each, and what is special about them."""

from __future__ import annotations

from forkpoint.store.model import Diff, FileDiff, Who
from forkpoint.tui.detail.asked import Asked, after
from forkpoint.tui.detail.files import by, ends, files, files_changed
from forkpoint.tui.theme import Signs
from forkpoint.tui.widgets.flow import Link

from tests.builders.page import at, lines, links

SIGNS = Signs()
EDIT = Who("tool", "claude", "s", "c", "Edit", text="Edit a.py")
SHELL = Who("shell", "claude", "s", "c", "Bash", shell=True, text="Bash rm a.py")


def told(asked: Asked, width: int = 120) -> list[str]:
    between = ends(asked.outline, asked.row, "row")
    diff = asked.store.diff(*between) if between else None
    return [line for line in lines(files(asked, diff), width) if line]


def test_by_this_row_each_file_has_its_lines_and_who_changed_it(asked: Asked) -> None:
    shown = told(at(asked, "Please fold"))
    assert shown[0].split("   ")[0] == " by this row"
    assert shown[1].startswith('2 files  +3 −1   before prompt 1 "Please fold the headers."')
    assert shown[2:] == ["A fold.py  +2     by Write", "M parse.py +1 −1  by Edit"]
    assert told(at(asked, "And what"))[2:] == ["D docs/notes.txt −2  by the shell in Bash rm docs/notes.txt"]


def test_since_here_goes_to_the_end_of_the_row_s_branch(asked: Asked) -> None:
    shown = told(at(asked, "Edit parse.py", mode="since"))
    assert shown[1].startswith("1 file  −2   after Edit parse.py · ")
    assert shown[2:] == ["D docs/notes.txt −2  by the shell in Bash rm docs/notes.txt"]
    last = told(at(asked, "A picture", mode="since"))
    assert last[1:] == ["Nothing was recorded after this row on its branch."]


def test_against_now_other_sessions_and_what_no_checkpoint_has_seen_are_told_apart(asked: Asked) -> None:
    shown = told(at(asked, "A picture", mode="now"))
    assert shown[1].endswith("→ now")
    new, changed = shown[2:]
    assert new.startswith("A docs/folding.md +1     by another session (Claude Code ")
    assert new.endswith("): Write")
    assert changed == "M parse.py        +1 −2  by unsure: since the newest checkpoint"


def test_where_there_is_no_room_beside_them_files_stand_below_their_author(asked: Asked) -> None:
    shown = told(at(asked, "Please fold"), 50)
    assert shown[1] == "2 files  +3 −1"
    assert shown[2:6] == [
        "by Write",
        f"A fold.py{'+2':>38}",
        "by Edit",
        f"M parse.py{'+1 −1':>40}",
    ]
    assert shown[6].startswith("before prompt 1 ")
    assert shown[7].startswith("→ after Edit parse.py")


def test_a_file_leads_to_its_history_and_each_way_to_look_is_clicked(asked: Asked) -> None:
    page = list(files(at(asked, "Please fold", mode="now"), None))
    assert links(page)[0] == Link("file", "docs/folding.md", b"docs/folding.md")
    (modes, *_) = page[0].lines(80)
    assert [spot.link.name for spot in modes.spots] == ["row", "since", "now"]
    words = [modes.text[spot.start : spot.end].strip() for spot in modes.spots]
    assert words == ["by this row", "since here", "against now"]
    assert [after("row"), after("since"), after("now")] == ["since", "now", "row"]


def test_files_are_listed_with_what_is_special_about_them() -> None:
    those = (
        FileDiff(b"a.py", None, "modified", 3, 1),
        FileDiff(b"b.bin", None, "modified", 0, 0, (), ("binary, 12 kB → 14 kB",)),
        FileDiff(b"new", b"old", "renamed", 0, 0),
        FileDiff(b"c", None, "modified", 0, 0, problem="its content is missing"),
        FileDiff(b"/etc/app/.env", None, "modified", 1, 0, (), ("outside of the folder", "secret?")),
    )
    assert lines(files_changed(Diff("a", "b", those, unknown=2), SIGNS))[2:] == [
        "M a.py          +3 −1  not known by whom",
        "M b.bin                not known by whom",
        "  binary, 12 kB → 14 kB",
        "R old → new            not known by whom",
        "M c                    not known by whom",
        "  ✗ its content is missing",
        "M /etc/app/.env +1     not known by whom",
        "  outside of the folder, secret?",
        "",
        "2 paths known to one side only: not compared.",
    ]
    assert lines(files_changed(Diff("a", "b", ()), SIGNS)) == ["No file changed.   a → b"]
    assert "not known" in lines(files_changed(None, SIGNS))[0]


def test_who_changed_it_leaves_out_the_file_s_own_name_but_never_part_of_a_command() -> None:
    assert by([EDIT, EDIT, Who("person"), SHELL], "a.py") == (
        "Edit (2 times), before that a person, before that the shell in Bash rm a.py"
    )
    assert by([EDIT], "b.py") == "Edit a.py"
