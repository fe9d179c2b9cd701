"""What a screen does once a dialog has changed something: it says so in one line, and goes on in the agent if asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import work

from ...store.errors import ForkpointError, UnknownId
from ...store.model import ForkResult, RestoreResult, SessionTree
from ...store.text import path_text
from ..words import agent, count, one_line
from .page import Page
from .ways import Done, GoBack, Way

if TYPE_CHECKING:
    from ...store.api import Store


class Outcomes(Page):
    """A screen over which things are done."""

    def done_something(self, way: Way | None, result: RestoreResult | ForkResult | None) -> None:
        """What is shown has changed: by an act, or, without one, by the agent that was gone on with."""

    def show_session(self, key: str) -> None:
        """Shows the session that was gone on with, where that is another one: it began before the first prompt."""

    def known_entries(self) -> frozenset[str]:
        """The entries that were there before the agent was gone on with."""
        return frozenset()

    def acted(self, done: Done | None) -> None:
        """Tells what was done in one line, each path that was not by name, and how to go on in the agent."""
        from .outcome import ForkedDialog, OutcomeDialog

        if done is None:
            return
        way, result = done
        self.done_something(way, result)
        if isinstance(result, ForkResult):
            self.tell(f"Branch {one_line(result.branch)} is ready.", then=way.way_back)
            self.app.push_screen(ForkedDialog(result), self.go_on)
            return
        line = result_line(way.done, result)
        missed = [*result.failed, *result.late_conflicts]
        self.tell(line, "attention" if missed else "text", then=way.way_back)
        if missed or result.fork is not None:
            dialog = OutcomeDialog(line, way.way_back, result)
            self.app.push_screen(dialog, lambda fork: self._after(way, result, fork))

    def tell(self, words: str, ink: str = "text", *, then: str = "") -> None:
        """Says it here, and in the screen that is in front of this one."""
        front = self.app.screen
        for page in {self, front if isinstance(front, Page) else self}:
            page.notice.say(words, ink, then=then)

    def _after(self, way: Way, result: RestoreResult, fork: ForkResult | None) -> None:
        """Goes on in the agent; or shows the inventory again, where files changed between it and the act."""
        from .restore import RestoreDialog

        if fork is not None:
            self.go_on(fork)
        elif result.late_conflicts and isinstance(way, GoBack):
            self.open(RestoreDialog(way), self.acted)

    def go_on(self, fork: ForkResult | None) -> None:
        """Gives the terminal to the agent, where the person wants that."""
        if fork is not None:
            self._run_agent(fork)

    @work(exclusive=True, group="agent")
    async def _run_agent(self, fork: ForkResult) -> None:
        """Runs the agent on a branch, with the prompt as the person leaves it in the editor; the app comes back after.

        Where the editor fails nothing is started.
        """
        from ..running import edited, editor, run_in_terminal

        command = fork.command
        if fork.prompt_text and editor():
            text, problem = edited(self.app, fork.prompt_text)
            if problem:
                self.app.copy_to_clipboard(fork.prompt_text)
                self.notice.say(problem, "attention", then="the prompt is in the clipboard")
                return
            if text.strip():
                longer = await self.ask(lambda store: store.with_prompt(fork, text))
                command = longer or command
                if longer is None:
                    self.app.copy_to_clipboard(text)
        known = self.known_entries()
        problem = run_in_terminal(self.app, command, fork.cwd)
        if problem:
            self.notice.say(problem, "attention")
        else:
            await self._tell_what_came(fork, known)
        self.done_something(None, fork)

    async def _tell_what_came(self, fork: ForkResult, known: frozenset[str]) -> None:
        def came(store: Store) -> SessionTree | None:
            try:
                return store.tree(fork.session)
            except UnknownId:
                return None

        try:
            tree = await self.ask(came)
        except ForkpointError as error:
            self.failed(error)
            return
        new = [entry for entry in tree.entries if entry.id not in known] if tree is not None else []
        prompts = sum(1 for entry in new if entry.kind == "prompt")
        told = f"{count(prompts, 'prompt')}, {count(len(new), 'entry', 'entries')} came" if new else "nothing was said"
        self.notice.say(f"Back from {agent(fork.agent)}: {told}.")
        if tree is not None and new:
            self.show_session(tree.info.key)


def result_line(verb: str, result: RestoreResult) -> str:
    """What a restore did, in one line: "5 of 6 files went back"."""
    whole = len(result.done) + len(result.failed) + len(result.late_conflicts)
    scope = result.inventory.scope
    parts: list[str] = []
    if whole:
        parts.append(f"{len(result.done)} of {count(whole, 'file')} went back")
    elif scope != "conversation":
        parts.append("no file had to change")
    if result.fork is not None:
        parts.append(f"the conversation goes on as branch {one_line(result.fork.branch)}")
    for change in result.failed[:1]:
        parts.append(f"not {path_text(change.path)}: {one_line(change.why)}")
    return f"{verb}: {', '.join(parts)}." if parts else f"{verb}."
