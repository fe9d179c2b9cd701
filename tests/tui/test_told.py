"""Sentences of the dialogs and bars: what is lost is told by name and count, in words."""

from __future__ import annotations

from dataclasses import replace

from forkpoint.store.model import Discarded, Inventory, Live, PathChange, Target
from forkpoint.store.status import Status
from forkpoint.tui import inventory
from forkpoint.tui.outline import Outline
from forkpoint.tui.screens import headline
from forkpoint.tui.theme import Signs
from forkpoint.tui.widgets.sheet import Paragraph

from tests.builders.tree import MINUTE, START, headers_session

NOW = START + 60 * MINUTE
SIGNS = Signs()


def change(
    path: str, action: str = "write", added: int | None = None, removed: int | None = None, **more: object
) -> PathChange:
    return PathChange(path.encode(), str(more.pop("why", "")), action, added, removed, **more)  # type: ignore[arg-type]


def told(paragraphs: list[Paragraph]) -> list[str]:
    return "\n".join("".join(words for words, _ in paragraph.spans) for paragraph in paragraphs).split("\n")


def of(**parts: object) -> Inventory:
    target = Target("a" * 16, "e1", "before", START, 'before prompt 4 "Now fold" · 09:41')
    empty = Inventory(target, "both", False, (), (), (), Discarded())
    return replace(empty, **parts)  # type: ignore[arg-type]


def lines(of_it: Inventory, room: int = 3) -> list[str]:
    return told(inventory.told(of_it, row_time=START, now=NOW, signs=SIGNS, room=room))


def test_files_that_go_back_are_told_by_what_happens_to_their_lines() -> None:
    restored = (
        change("parse.py", removed=40, added=22),
        change("one.py", removed=1, added=1),
        change("fold.py", "delete", removed=24),
        change("notes.md", "create", added=1),
        change("run.sh", "mode", note="mode 755 → 644"),
    )
    lost = "Goes away  fold.py · 41 lines of parse.py and 1 more file"
    assert lines(of(restored=restored), room=9) == [
        lost,
        "Restored   5 files  fold.py: goes, 24 lines",
        "                    parse.py: 40 lines go, 22 come back",
        "                    one.py: 1 line goes, 1 comes back",
        "                    notes.md: comes back, 1 line",
        "                    run.sh (mode 755 → 644)",
    ]
    assert lines(of(restored=restored), room=1) == [lost, "Restored   5 files  fold.py: goes, 24 lines · 4 more"]


def test_kept_conflicts_and_failures_say_why() -> None:
    shown = lines(
        of(
            kept=(change(".env", why="ignored"), change("data.bin", why="too large", note="1.2 GB")),
            conflicts=(change("cli.py", "none", why="your 4 lines", when=NOW - 2 * MINUTE),),
            failed=(change("a:b", why="this file system has no such name"),),
            uncaptured=2,
        )
    )
    assert shown == [
        "Restored   no file",
        "Kept       2 files  .env (ignored)",
        "                    data.bin (too large, 1.2 GB)",
        "Conflict ! 1 file   cli.py, your 4 lines, 2 min ago: stays as it is",
        "Fails !    1 file   a:b (this file system has no such name)",
        "           2 paths could not be captured then: left alone",
    ]


def test_what_is_discarded_stays_under_a_name() -> None:
    discarded = Discarded(
        (change("a"), change("b")), 2, ("Now fold lines", "Fix those"), NOW - 31 * MINUTE, "fold-lines"
    )
    lost = "Goes away  prompts “Now fold lines”, “Fix those” (31 min)"
    both = lines(of(discarded=discarded))
    assert both[0] == lost
    assert both[-1] == "Discarded  2 prompts stay as branch fold-lines · 2 files in the guard: u undoes"
    assert lines(of(scope="files", discarded=discarded))[-1] == "Discarded  2 files in the guard: u undoes"
    assert lines(of(scope="conversation", discarded=discarded)) == [
        lost,
        "Discarded  2 prompts stay as branch fold-lines: u undoes",
    ]


def test_who_is_at_work_stands_first_and_what_cannot_be_undone_last() -> None:
    live = Live("claude", "s", 4711, NOW - 9 * MINUTE, "Bash", NOW - 12_000_000_000)
    shown = lines(of(live=(live,), note="Its state is partial.", effects=("git push origin main 09:52",)))
    assert shown[:2] == ["Claude Code is working here now (pid 4711, Bash, 12 s)", "Its state is partial."]
    assert shown[-1] == "Cannot be undone  git push origin main 09:52"


def test_a_row_without_a_checkpoint_says_how_old_its_files_are() -> None:
    shown = told(inventory.told(of(), row_time=START + 3 * MINUTE, now=NOW, signs=SIGNS, room=3))
    assert shown[0].strip() == f"files as of {inventory.moment(START, NOW)}, 3 min before this row"


# Bars

STATUS = Status("/code", True, "hooks of claude", ("claude",), None, (), "", 14, 48_000_000)


def bar(spans: list[tuple[str, str]]) -> str:
    return "".join(text for text, _ in spans)


def test_the_bottom_line_tells_whether_anything_is_recorded() -> None:
    outline = Outline(headers_session().tree())
    told_so = bar(headline.recording(outline, STATUS, SIGNS))
    assert told_so == "● recording Claude Code · 14 checkpoints, 48 MB · branch keep-loop"
    off = replace(STATUS, recording=False, why="disk is full", checkpoints=0, bytes=0)
    assert bar(headline.recording(outline, off, SIGNS)) == (
        "○ not recording · disk is full · 0 checkpoints · branch keep-loop"
    )
    damaged = replace(STATUS, problems=("checkpoint 7c1e was taken away",))
    assert bar(headline.recording(outline, damaged, SIGNS)) == f"! damaged · {told_so}"


def test_the_header_shortens_the_folder_first() -> None:
    outline = Outline(headers_session().tree())
    whole = bar(headline.header(outline, "/x", SIGNS, 120))
    assert whole == "Accept empty header values  Claude Code · /code/headers · 6 prompts, 18 ●"
    assert bar(headline.header(outline, "/x", SIGNS, 70)) == "Accept empty header values  …/headers · 6 prompts, 18 ●"


def test_the_header_tells_who_is_at_work() -> None:
    busy = Live("claude", "s", doing="Bash", doing_since=NOW - 12_000_000_000)
    assert bar(headline.at_work((busy, busy), SIGNS, NOW)) == "● Claude Code is here: Bash, 12 s, 1 more"
    assert headline.at_work((), SIGNS, NOW) == []
