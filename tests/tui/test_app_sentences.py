"""Rule 11: a person who believes to be in another window types English into the app, and nothing is lost.

Sentences, each ended by Enter, go through a real terminal into every screen: in the long profile two hundred, else each
screen gets its share of them. Letters may look, move, open dialogs, save checkpoints and pin; the folder, the agent's
files, branches, labels and restores stay as they were.
"""

from __future__ import annotations

import os
import time
from itertools import islice, product
from pathlib import Path

import pytest
from forkpoint.store.api import Store

from tests.builders.app import a_parser, contents
from tests.builders.terminal import Terminal

SCREENS = {
    "the tree": "",
    "the detail": "\r",
    "the files of a row": "K2",
    "a file's history": "K2\r",
    "the search line": "/",
    "the line for ids": ":",
    "the diff": "Kd",
    "the files of the diff": "Kdb",
    "the search in the diff": "Kd/",
    "going back": "Kr",
    "going back, a scope chosen": "Krb",
    "going back, at its diff": "Krd",
    "forking": "Kf",
    "undoing": "u",
    "redoing": "U",
    "labelling": "Kt",
    "taking a pin away": "gp",
    "recording": "i",
    "the sessions": "s",
    "everything by time": "sg\r",
    "the sessions of all folders": "sa",
    "the line of the search": "S",
    "what a search found": "Sfold\t",
    "a file that a search found": "Syield\tvvvvv\r",
    "the branches": "b",
    "the operations": "o",
    "the help": "?",
    "the palette": "\x10",
}
ANSWERS = ("yes", "no", "y", "n", "ok", "go on", "do it", "yes please", "restore both files", "fork from here")
WHO = ("the parser", "my file", "this test", "your branch", "a bug")
DOES = (
    "fails on empty lines",
    "drops a header",
    "is undone",
    "can be deleted",
    "goes back",
    "must be kept",
    "is fixed",
)
WHEN = ("now.", "again!", "today?", "and works.", "since friday.", "for both of us.")
LONG = os.environ.get("FORKPOINT_TEST_PROFILE") == "long"
ROUNDS = 2
"""How often the screen is opened anew."""
SHARES = 5
"""Among so many screens that follow each other the sentences are dealt out."""


def sentences() -> list[str]:
    made = [f"{who} {does} {when}".capitalize() for who, does, when in product(WHO, DOES, WHEN)]
    return [*ANSWERS, *islice(made, 188), "A quick question: quit?", "Save it, then quit."]


def marks(store: Store) -> list[object]:
    """What letters may not change."""
    tree = store.tree()
    acts = [operation.id for operation in store.operations() if operation.kind != "pin"]
    labels = sorted(point.label for point in tree.points if point.label)
    return [sorted((branch.name, branch.head, branch.state) for branch in tree.branches), acts, labels]


@pytest.mark.parametrize("screen", SCREENS)
def test_sentences_change_nothing(screen: str, tmp_path: Path) -> None:
    agent = a_parser(tmp_path / "headers")
    store = agent.store()
    newest = store.tree().points[-1].id
    store.label(newest, "green")
    store.label(newest, "greener")
    store.undo(store.plan_undo())
    store.pin(store.tree().points[0].id)
    watched = [agent.project, Path(os.environ["CLAUDE_CONFIG_DIR"])]
    before, marked = [contents(folder) for folder in watched], marks(store)
    first = 0 if LONG else list(SCREENS).index(screen) % SHARES
    typed = sentences()[first :: 1 if LONG else SHARES]
    assert len(typed) == (200 if LONG else 200 // SHARES)
    for number in range(ROUNDS):
        type_into(agent.project, SCREENS[screen], typed[number::ROUNDS])
    assert [contents(folder) for folder in watched] == before
    assert marks(agent.store()) == marked


def type_into(folder: Path, keys: str, typed: list[str]) -> None:
    """Opens the screen and types; the app is started again whenever a letter ended it."""
    pending = list(typed)
    while pending:
        terminal = Terminal(folder)
        terminal.until("Folded lines")
        for key in keys:
            terminal.type(key)
            time.sleep(0.02)
        terminal.quiet(0.15)
        while pending and terminal.runs:
            terminal.type(pending.pop(0) + "\r")
        terminal.quiet()
        assert terminal.close() == 0, terminal.output[-6000:].decode(errors="replace")
