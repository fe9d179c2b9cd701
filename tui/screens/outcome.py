"""What was done, where one line is not enough: paths that were not, and how to go on in the agent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.binding import Binding
from textual.widget import Widget

from ...store.model import ForkResult, Live, RestoreResult
from ...store.text import clean, path_text
from ..actions import Where
from ..commands.inventory_text import go_on
from ..inventory import live_words
from ..running import editor
from ..widgets.choices import Press
from ..widgets.sheet import BLANK, Paragraph, text
from ..words import agent, count, one_line
from .dialog import Dialog

MOST_LINES = 6
"""Lines of the prompt that are shown."""


class GoOnDialog(Dialog[ForkResult]):
    """Tells how to go on with a branch; continuing now gives the terminal to the agent."""

    PLACES: ClassVar[tuple[Where, ...]] = ("dialog",)
    BINDINGS: ClassVar[list[Binding]] = [  # type: ignore[assignment]
        Binding("y", "copy_command", show=False),
        Binding("p", "copy_prompt", show=False),
    ]
    verb = "Continue now"

    def __init__(self, fork: ForkResult | None) -> None:
        super().__init__()
        self.fork = fork
        if fork is None:
            self.verb = ""

    def compose_buttons(self) -> Iterable[Widget]:
        if self.fork is not None:
            yield Press("Copy command", "y", ident="copy")

    def begin(self) -> None:
        super().begin()
        self.query_one("#cancel", Press).name_it("Stay")
        if self.fork is not None and self.fork.prompt_text:
            self.app.copy_to_clipboard(self.fork.prompt_text)

    def fork_told(self, live: Sequence[Live] = ()) -> list[Paragraph]:
        """The prompt that is handed back, and the command to go on: what still has the old conversation last."""
        fork = self.fork
        if fork is None:
            return []
        paragraphs: list[Paragraph] = []
        if fork.prompt_text:
            paragraphs += [*self.prompt_told(fork), BLANK]
        if not live:
            return [*paragraphs, text("To go on with it:"), text(go_on(fork), "strong", indent=2)]
        for one in live:
            words = f"{live_words(one, self.app.now())}: it still has the old conversation."
            paragraphs.append(text(words, "attention", hang=2))
        return [*paragraphs, text("To go on with this one:"), text(go_on(fork), "strong", indent=2)]

    def prompt_told(self, fork: ForkResult) -> list[Paragraph]:
        """The prompt that was left out, and where it goes."""
        lines = clean(fork.prompt_text, keep_lines=True).strip().split("\n")
        told = [text("The prompt that was left out is in the clipboard (p copies it again):")]
        told += [text(line, "said", indent=2) for line in lines[:MOST_LINES]]
        if len(lines) > MOST_LINES:
            told.append(text(f"{count(len(lines) - MOST_LINES, 'more line', 'more lines')}", "muted", indent=2))
        words = editor()
        if words and fork.takes_prompt:
            gets = f"{agent(fork.agent)} gets what you leave there"
            told.append(text(f"Continue opens it in {one_line(words[0])} first, then {gets}.", "muted"))
        elif words:
            takes = f"{agent(fork.agent)} takes no prompt with its command, so it is to be pasted there"
            told.append(text(f"Continue opens it in {one_line(words[0])} first; {takes}.", "muted"))
        return told

    def paragraphs(self) -> list[Paragraph]:
        """All that the dialog tells."""
        return self.fork_told()

    def action_copy_command(self) -> None:
        if self.fork is not None:
            self.app.copy_to_clipboard(go_on(self.fork))
            self.aside(f"The command is copied, {self.app.copied_how}.")

    def action_copy_prompt(self) -> None:
        if self.fork is not None and self.fork.prompt_text:
            self.app.copy_to_clipboard(self.fork.prompt_text)
            self.aside(f"The prompt is copied, {self.app.copied_how}.")

    def on_press_pressed(self, event: Press.Pressed) -> None:
        if event.press.id == "copy":
            self.action_copy_command()

    def may_act(self) -> bool:
        return self.fork is not None

    def act(self) -> object:
        return self.leave(self.fork)


class ForkedDialog(GoOnDialog):
    """After a fork."""

    def __init__(self, fork: ForkResult) -> None:
        super().__init__(fork)
        self.heading = f"Branch {one_line(fork.branch)} is ready"

    def begin(self) -> None:
        super().begin()
        self.tell(self.paragraphs())


class OutcomeDialog(GoOnDialog):
    """After a restore, an undo or a redo that has more to tell than one line."""

    def __init__(self, line: str, way_back: str, result: RestoreResult) -> None:
        super().__init__(result.fork)
        self.result = result
        self.line = line
        self.heading = line.partition(":")[0].rstrip(".")
        self.way_back = way_back

    def begin(self) -> None:
        super().begin()
        self.tell(self.paragraphs())

    def paragraphs(self) -> list[Paragraph]:
        result = self.result
        paragraphs = [text(self.line)]
        if result.failed:
            paragraphs.append(text(f"{count(len(result.failed), 'file')} did not go back:", "attention"))
            paragraphs += [
                text(f"{path_text(change.path)}: {one_line(change.why)}", indent=2, hang=2) for change in result.failed
            ]
        if result.late_conflicts:
            paragraphs.append(text("Changed while this dialog was open, and left as it is:", "attention"))
            paragraphs += [text(path_text(change.path), indent=2) for change in result.late_conflicts]
        if result.guard:
            words = f"What was here before is kept as checkpoint {result.guard[:4]}: {self.way_back}."
            paragraphs.append(text(words, "muted"))
        if result.fork is not None:
            paragraphs += [BLANK, *self.fork_told(result.inventory.live)]
        return paragraphs
