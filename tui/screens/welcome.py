"""The first open where nothing is recorded: what was found, what is not known, and what can be done about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import work

from ...store.errors import ForkpointError
from ..widgets.choices import Told
from ..widgets.sheet import Paragraph, text
from ..words import agents, count
from .moving import Moving

if TYPE_CHECKING:
    from ...store.api import Store

MOST_READ = 20
"""Sessions that are read for counting; more would take long."""


@dataclass(frozen=True, slots=True)
class Found:
    """What agents have left in their own files."""

    sessions: int
    prompts: int
    more: bool
    """Not every session was counted."""
    files: int
    """How many files have earlier states in the agent's own copies."""


class Welcome(Moving):
    """Greets where no checkpoint is stored yet."""

    @property
    def nothing_recorded(self) -> bool:
        return self.status is not None and not self.status.checkpoints

    @work(exclusive=True, group="found")
    async def look_for_history(self) -> None:
        """Counts what there is, and offers what can be done."""
        try:
            found = await self.ask(count_history)
        except ForkpointError as error:
            self.failed(error)
            return
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


def count_history(store: Store) -> Found:
    """Counts sessions, prompts, and files with earlier states."""
    sessions = [info for info in store.sessions() if info.id != "files"]
    prompts = 0
    files: set[bytes] = set()
    for info in sessions[:MOST_READ]:
        tree = store.tree(info.key)
        prompts += sum(1 for entry in tree.entries if entry.kind == "prompt" and not entry.under)
        partial = [point for point in tree.points if not point.complete]
        if partial:
            files.update(known_paths(store, partial[-1].id))
    return Found(len(sessions), prompts, len(sessions) > MOST_READ, len(files))


def known_paths(store: Store, point: str) -> set[bytes]:
    """The paths that a partial checkpoint speaks of."""
    return set(store.known(point))


def welcome_told(found: Found, recording: bool, in_use: Sequence[str] = ()) -> list[Paragraph]:
    """The greeting."""
    head = "Recording is on; no checkpoint yet." if recording else "Nothing is recorded here yet."
    paragraphs = [text(head, "strong")]
    if found.sessions:
        more = " at least" if found.more else ""
        words = f"Found: {count(found.sessions, 'session')},{more} {count(found.prompts, 'prompt')}"
        if found.files:
            words += f"; {count(found.files, 'file')} {'has' if found.files == 1 else 'have'} earlier states"
        paragraphs.append(text(f"{words}.", hang=2))
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
