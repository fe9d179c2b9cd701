"""The demo is a session like any other, agrees with itself, and leaves nothing behind."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest
from forkpoint.store.api import Store
from forkpoint.store.model import SessionTree
from forkpoint.tui.demo import PROJECT, build

from tests.builders.cli import COMMAND, Talk, forkpoint, process

LEAVES_THE_SCREEN = "\x1b[?1049l"
MINUTE = 60 * 1_000_000_000


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """The demo's project, with its session recorded."""
    return build(tmp_path, time.time_ns())


@pytest.fixture
def tree(shop: Path) -> SessionTree:
    return Store.open(shop).tree()


def test_the_session_is_read_without_a_complaint(tree: SessionTree) -> None:
    assert tree.problems == ()
    assert tree.info.title == "Payment page for the tea shop"
    kinds = [entry.kind for entry in tree.entries]
    assert (kinds.count("prompt"), kinds.count("tool_call")) == (7, kinds.count("tool_result"))


def test_two_branches_were_abandoned_and_a_moment_got_a_name(tree: SessionTree) -> None:
    left = [branch for branch in tree.branches if branch.state == "left"]
    assert sorted(branch.title for branch in left) == [
        "Could the form open in a popup instead of a page of its own?",
        "Offer gift wrapping on the payment page, for 2 €.",
    ]
    assert tree.branch_of[tree.here.talk or ""] not in [branch.name for branch in left]
    labelled = next(point for point in tree.points if point.label)
    redesign = next(entry for entry in tree.entries if entry.id == labelled.entry)
    assert (labelled.label, redesign.kind, "redesign" in redesign.text) == ("works", "prompt", True)


def test_every_checkpoint_stands_at_its_entry_in_time_and_place(tree: SessionTree) -> None:
    entries = {entry.id: entry for entry in tree.entries}
    bound = [point for point in tree.points if point.reason in ("prompt", "tool")]
    assert len(bound) > 15
    for point in bound:
        assert point.entry in entries
        assert abs(point.time - entries[point.entry].time) < MINUTE / 4


def test_it_happened_within_the_last_two_hours(tree: SessionTree) -> None:
    now = time.time_ns()
    moments = [item.time for item in (*tree.entries, *tree.points)]
    assert now - 120 * MINUTE < min(moments) < now - 90 * MINUTE
    assert max(moments) < now


def test_the_push_was_a_real_one(shop: Path) -> None:
    def head(folder: Path) -> str:
        done = subprocess.run(["git", "rev-parse", "main"], cwd=folder, capture_output=True, text=True, check=True)
        return done.stdout

    assert head(shop) == head(shop.parent / "remote.git")


def test_going_back_before_the_redesign_undoes_what_the_shell_did_and_keeps_what_the_person_did(shop: Path) -> None:
    answer = forkpoint("-C", shop, "--json", "log")
    redesign = next(entry for entry in answer.json["entries"] if "redesign" in entry["text"])
    plain = (shop / "templates/base.html").read_text()
    assert not (shop / "templates/receipt.html").exists()

    answer = forkpoint("-C", shop, "restore", redesign["id"], "--both", "--yes", "--json")

    assert answer.code == 0
    assert {item["path"] for item in answer.json["restored"]} == {
        "templates/payment.html",
        "templates/receipt.html",
        "static/shop.css",
        "cart.py",
    }
    assert [item["path"] for item in answer.json["conflicts"]] == ["templates/base.html"]
    assert "Thank you" in (shop / "templates/receipt.html").read_text()
    assert (shop / "templates/base.html").read_text() == plain
    assert answer.json["fork"]["prompt"].startswith("Now redesign")

    assert forkpoint("-C", shop, "undo", "--yes").code == 0
    assert not (shop / "templates/receipt.html").exists()


def _environment(folder: Path) -> dict[str, str]:
    folder.mkdir()
    return {**os.environ, "TMPDIR": str(folder)}


def test_without_a_terminal_it_prints_the_tree_and_what_to_try(tmp_path: Path) -> None:
    env = _environment(tmp_path / "temporary")
    answer = process("demo", env=env)
    assert answer.code == 0, answer.err
    assert "Now redesign the payment page" in answer.out
    assert "forkpoint restore ID --both --dry-run" in answer.out
    assert list((tmp_path / "temporary").iterdir()) == []
    assert not Path(os.environ["FORKPOINT_HOME"]).exists()


def test_a_kept_demo_can_be_tried_on(tmp_path: Path) -> None:
    answer = process("demo", "--keep", tmp_path / "kept")
    exports = [line for line in answer.lines if line.startswith(("export ", "cd "))]
    script = "\n".join([*exports, "forkpoint() { " + shlex.join(COMMAND) + ' "$@"; }', "forkpoint log --json"])
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert '"Now redesign the payment page' in done.stdout


def test_a_kept_demo_needs_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    answer = forkpoint("demo", "--keep", tmp_path)
    assert answer.code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.parametrize("when", ["while it is built", "while it is open"])
def test_ended_by_a_signal_it_leaves_nothing_behind(number: signal.Signals, when: str, tmp_path: Path) -> None:
    talk = Talk("demo", env=_environment(tmp_path / "temporary"))
    talk.until("Playing" if when == "while it is built" else "Now redesign")
    talk.child.send_signal(number)
    assert talk.close() == 128 + number
    assert list((tmp_path / "temporary").iterdir()) == []
    if when == "while it is open":
        assert LEAVES_THE_SCREEN in talk.seen, "the terminal is given back"


def test_the_project_of_the_demo_is_no_link(shop: Path) -> None:
    assert shop.name == PROJECT
    assert os.path.realpath(shop) == str(shop)
