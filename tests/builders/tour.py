"""How every screen of the app is reached by keys, from the tree of `a_parser`'s session and back to it."""

from __future__ import annotations

from typing import NamedTuple


class Stop(NamedTuple):
    """A screen, and the keys that open it from the tree."""

    screen: str
    keys: tuple[str, ...]
    typed: str = ""
    """What is typed into the field that comes up then."""
    after: tuple[str, ...] = ()


LAST = ("G", "K")
"""To the last prompt."""
TOUR = (
    Stop("MainScreen", ()),
    Stop("HelpScreen", ("question_mark",)),
    Stop("DiffScreen", (*LAST, "d")),
    Stop("FileHistoryScreen", (*LAST, "2", "enter")),
    Stop("RestoreDialog", (*LAST, "r")),
    Stop("ForkDialog", (*LAST, "f")),
    Stop("LabelDialog", (*LAST, "t")),
    Stop("RecordDialog", ("i",)),
    Stop("BranchesScreen", ("b",)),
    Stop("OperationsScreen", ("o",)),
    Stop("SessionsScreen", ("s",)),
    Stop("EverythingScreen", ("s", "g", "enter")),
    Stop("SearchScreen", ("S",), "yield"),
    Stop("FileScreen", ("S",), "yield", ("tab", "v", "v", "v", "v", "v", "enter")),
    Stop("AskDialog", ("g", "p", "p")),
    Stop("ResumeDialog", ("G", "ctrl+p"), "go on with", ("enter",)),
    Stop("ForkedDialog", (*LAST, "f", "ctrl+s")),
    Stop("OutcomeDialog", (*LAST, "r", "b", "ctrl+s")),
)
"""The last ones change the conversation and the files."""
ELSEWHERE = {
    "FirstScreen": "stands until the program that was started in a terminal has read the tree",
    "RecoverDialog": "needs a restore that was interrupted",
}
