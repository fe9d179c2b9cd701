"""The first open where nothing is recorded: what was found, what is not known, and what can be done about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from textual import work

from ...store.errors import ForkpointError
from ..widgets.choices import Told
from ..widgets.sheet import Paragraph, text
from ..words import agents, count
from .moving import Moving

if TYPE_CHECKING:
    from ...store.api import Store
    from ...store.model import SessionInfo

MOST_READ = 20
"""Sessions that are read for counting; more would take long."""


@dataclass(frozen=True, slots=True)
class Found:
    """What agents have left in their own files."""

    sessions: int
    prompts: int = 0
    more: bool = False
    """Not every session was counted."""
    files: frozenset[bytes] = frozenset()
    """Those that have earlier states in the agent's own copies."""
    counting: bool = False
    """Sessions are still being read."""


class Welcome(Moving):
    """Greets where no checkpoint is stored yet."""

    _history: Found | None = None
    """What was counted last."""

    @property
    def nothing_recorded(self) -> bool:
        return self.status is not None and not self.status.checkpoints

    @work(exclusive=True, group="found")
    async def look_for_history(self) -> None:
        """Counts what there is, and offers what can be done: first what is known at once, then what reading tells."""
        try:
            sessions = await self.ask(lambda store: [info for info in store.sessions() if info.id != "files"])
            found = Found(len(sessions), counting=bool(sessions))
            again = self._history is not None
            self._greet(self._history or found)
            for number, info in enumerate(sessions[:MOST_READ], 1):
                prompts, files = await self.ask(partial(_left_by, info))
                more = len(sessions) > number
                counting = more and number < MOST_READ
                found = Found(len(sessions), found.prompts + prompts, more, found.files | files, counting)
                if not again or not counting:
                    self._greet(found)
        except ForkpointError as error:
            self.failed(error)

    def _greet(self, found: Found) -> None:
        self._history = found
        recording = bool(self.status and self.status.recording)
        welcome = self.query_one("#welcome", Told)
        welcome.show(welcome_told(found, recording, self.status.in_use if self.status else ()))
        welcome.set_class(self.nothing_recorded, "-on")

    def action_record(self) -> None:
        from .record import RecordDialog

        if self.status is not None and self.status.recording:
            self.notice.say(
                f"Recording {agents(self.status.agents)} is on.", then="forkpoint uninstall switches it off"
            )
            return
        self.open(RecordDialog(), self._recording)

    def _recording(self, done: object) -> None:
        if done:
            self.notice.say(str(done), then="the agent's next step is recorded")
            self.read_tree()

    def action_recover(self) -> None:
        from .asking import RecoverDialog

        self.open(RecoverDialog(), self._recovered)

    def _recovered(self, done: object) -> None:
        if done:
            self.notice.say(str(done))
            self.read_tree()


def _left_by(info: SessionInfo, store: Store) -> tuple[int, frozenset[bytes]]:
    return store.left_by(info)


def _counted(found: Found) -> str:
    words = count(found.sessions, "session")
    if found.prompts or not found.counting:
        words += f",{' at least' if found.more else ''} {count(found.prompts, 'prompt')}"
    if found.files:
        files = len(found.files)
        words += f"; {count(files, 'file')} {'has' if files == 1 else 'have'} earlier states"
    return f"{words} …" if found.counting else f"{words}."


def welcome_told(found: Found, recording: bool, in_use: Sequence[str] = ()) -> list[Paragraph]:
    """The greeting."""
    head = "Recording is on; no checkpoint yet." if recording else "Nothing is recorded here yet."
    paragraphs = [text(head, "strong")]
    if found.sessions:
        paragraphs.append(text(f"Found: {_counted(found)}", hang=2))
        paragraphs.append(text("Not known: what the shell changed.", "muted", hang=2))
    else:
        paragraphs.append(text("No agent's session was found for this folder.", hang=2))
    if in_use and not recording:
        paragraphs.append(text(f"In use on this machine: {agents(in_use)}.", "muted", hang=2))
    spans = [("c", "key"), (" saves the files now", "text")]
    if not recording:
        spans += [("   i", "key"), (" shows what recording adds, and switches it on", "text")]
    paragraphs.append(Paragraph(spans, hang=2))
    return paragraphs
