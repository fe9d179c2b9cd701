"""What the main screen does besides looking: everything that changes something opens a dialog first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import work

from ...store.errors import ForkpointError
from ...store.model import ForkResult, Operation, Point, RestoreResult
from ..detail.copying import whole_text
from ..messages import Progress
from ..rows import Row
from ..words import count, listing, moment, one_line
from .outcomes import Outcomes

if TYPE_CHECKING:
    from ...store.api import Saved, Status, Store
    from ..widgets.timeline import Timeline
    from .ways import Way

NO_MOMENT = "This row is an operation: u undoes the newest one, o lists all."


class Acting(Outcomes):
    """The actions of the tree that save, mark, compare, go back, fork and list."""

    status: Status | None

    if TYPE_CHECKING:

        @property
        def timeline(self) -> Timeline: ...

        def read_tree(self) -> object: ...

        def open_session(self, session: str | None, go_to: str = "") -> None: ...

        def go_to_name(self, name: str) -> bool: ...

    def _target(self) -> tuple[Row, str] | None:
        """The row under the cursor and what the engine calls it; tells why when it is no moment."""
        row = self.timeline.row
        if row is None:
            self.notice.say("There is nothing here yet.", then="c saves a checkpoint")
            return None
        if not row.target:
            self.notice.say(NO_MOMENT)
            return None
        return row, row.target

    # Comparing

    def action_diff(self) -> None:
        """From the mark to this row, or what this row changed."""
        from .diff import DiffScreen

        found = self._target()
        outline = self.timeline.outline
        if found is None or outline is None:
            return
        row, _ = found
        marked = self.app.marked
        if marked is not None:
            right = outline.checkpoint_at(row)
            if right is None:
                self.notice.say("No checkpoint stands at or before this row.")
            elif marked.root != self.app.store.root:
                self.notice.say("The mark is in another folder.", then="space marks this row instead")
            elif marked.point == right.id:
                self.notice.say("Both rows stand for the same checkpoint.", then="@ goes to where the files are")
            else:
                self.open(DiffScreen(marked.point, right.id, older=marked.older(right.id, right.time)))
            return
        ends = outline.ends(row)
        if ends is None:
            own = outline.checkpoint_at(row)
            why = "No file changed here" if own else "No checkpoint stands at or before this row"
            if own and not row.points:
                why += f": it stands for the checkpoint of {moment(own.time, self.app.now())}"
            elif own and row.heads and not row.moved:
                why = "No checkpoint was taken in this turn, so what it changed is not known"
            self.notice.say(f"{why}.", then="ctrl+p Diff to now · space marks one side")
        else:
            self.open(DiffScreen(ends[0].id, ends[1].id))

    def action_compare_now(self) -> None:
        from .diff import DiffScreen

        found = self._target()
        if found is not None:
            self.open(DiffScreen(found[1], None))

    # Going back, undo, redo

    def action_restore(self) -> None:
        from .restore import RestoreDialog
        from .ways import GoBack

        found = self._target()
        if found is not None:
            row, target = found
            self.open(RestoreDialog(GoBack(target, row.time)), self.acted)

    def action_undo(self) -> None:
        from .restore import RestoreDialog
        from .ways import TakeBack

        self.open(RestoreDialog(TakeBack("undo")), self.acted)

    def action_redo(self) -> None:
        from .restore import RestoreDialog
        from .ways import TakeBack

        self.open(RestoreDialog(TakeBack("redo")), self.acted)

    def done_something(self, way: Way | None, result: RestoreResult | ForkResult | None) -> None:
        """Reads the tree again; after an undo or the agent one wants to see where one is now.

        Who goes back stands there already.
        """
        self.timeline.seeks_here = way is None or not way.asks_scope
        self.read_tree()

    def show_session(self, key: str) -> None:
        if self.timeline.outline is not None and self.timeline.outline.tree.info.key != key:
            self.open_session(key)

    def known_entries(self) -> frozenset[str]:
        outline = self.timeline.outline
        return frozenset(entry.id for entry in outline.tree.entries) if outline is not None else frozenset()

    # Forks

    def action_fork(self) -> None:
        from .fork import ForkDialog

        found = self._target()
        if found is not None:
            row, target = found
            self.open(ForkDialog(target, row.time), self.acted)

    def action_resume(self) -> None:
        from .resume import ResumeDialog

        row, outline = self.timeline.row, self.timeline.outline
        if outline is None or not outline.tree.info.agent:
            self.notice.say("No agent's conversation is shown: s chooses one.")
            return
        branch = outline.tree.branch_of.get(row.at, "") if row is not None else ""
        if row is not None and row.branch is not None:
            branch = row.branch.name
        self.open(ResumeDialog(outline.tree.info.key, branch), self.go_on)

    # Checkpoints and marks

    @work(exclusive=True, group="save")
    async def action_checkpoint(self) -> None:
        """Saves the files as they are, in the conversation that is shown."""
        outline = self.timeline.outline
        session = outline.tree.info.key if outline and outline.tree.entries else ""
        self.notice.say("Saving a checkpoint …")

        def progress(done: int, total: int) -> None:
            self.post_message(Progress(done))

        def save(store: Store) -> Saved:
            return store.save(session=session, progress=progress)

        try:
            saved = await self.ask(save)
        except ForkpointError as error:
            self.failed(error)
            return
        left_out = [f"{path} ({why})" for path, why in saved.uncaptured]
        words = f"Checkpoint saved: {count(saved.files, 'file')}."
        if left_out:
            words += f" Not captured: {listing(left_out, 2)}"
        unanswered = [f"{path} ({why})" for path, why in saved.unanswered]
        if unanswered:
            words += f" What is ignored could not be asked: {listing(unanswered, 2)}"
        self.notice.say(words, "attention" if left_out or unanswered else "text", then="t names it")
        self.open_session(getattr(self, "session", None))

    def on_progress(self, message: Progress) -> None:
        if message.done:
            self.notice.say(f"Saving a checkpoint … {count(message.done, 'file')}")

    def _own_point(self) -> Point | None:
        """The checkpoint of the row, or of the last one that it sums up; tells why when there is none."""
        row = self.timeline.row
        point = row.point or (row.moved[-1] if row and row.moved else None) if row else None
        if point is None:
            self.notice.say("This row has no checkpoint of its own.", then="] goes to the next one")
        return point

    def action_label(self) -> None:
        from .label import LabelDialog

        point = self._own_point()
        if point is not None:
            self.open(LabelDialog(point), self._labelled)

    def _labelled(self, operation: Operation | None) -> None:
        if operation is not None:
            self.notice.say(one_line(operation.summary), then="u undoes")
            self.read_tree()

    def action_pin(self) -> None:
        from .asking import AskDialog

        point = self._own_point()
        if point is None:
            return
        if not point.pinned:
            self._pin(point)
            return
        why = "It would no longer be kept for good: later it can expire by the rules, after being announced."
        dialog = AskDialog("Take the pin away", why, "Take away", lambda store: store.unpin(point.id))
        self.open(dialog, self._labelled)

    @work(exclusive=True, group="mark")
    async def _pin(self, point: Point) -> None:
        try:
            operation = await self.ask(lambda store: store.pin(point.id))
        except ForkpointError as error:
            self.failed(error)
            return
        self._labelled(operation)

    # Copying

    @work(exclusive=True, group="copy")
    async def action_copy(self) -> None:
        row, outline = self.timeline.row, self.timeline.outline
        if row is None or outline is None:
            return
        try:
            text = await self.ask(lambda store: whole_text(store, outline, row))
        except ForkpointError as error:
            self.failed(error)
            return
        self.app.copy_to_clipboard(text)
        self.notice.say(f"Copied {count(text.count(chr(10)) + 1, 'line')}.", then=self.app.copied_how)

    def action_copy_id(self) -> None:
        found = self._target()
        if found is not None:
            self.app.copy_to_clipboard(found[1])
            self.notice.say(f"Copied {found[1]}.", then=self.app.copied_how)

    # Lists

    def action_branches(self) -> None:
        from .branches import BranchesScreen

        if self.timeline.outline is not None:
            self.open(BranchesScreen(self.timeline.outline), self._chosen)

    def action_operations(self) -> None:
        from .operations import OperationsScreen

        self.open(OperationsScreen(), self._chosen)

    def action_search_all(self) -> None:
        from .search import SearchScreen

        self.open(SearchScreen(), self._chosen)

    def action_sessions(self) -> None:
        from .sessions import SessionsScreen

        current = self.timeline.outline.tree.info.key if self.timeline.outline else ""
        self.open(SessionsScreen(current), self._chosen)

    def _chosen(self, place: object) -> None:
        """A list answers with a session and a name in it."""
        if isinstance(place, tuple):
            session, name = place
            if session is None or (self.timeline.outline and self.timeline.outline.tree.info.key == session):
                if name and not self.go_to_name(name):
                    self.notice.say("That row is not in this session's tree.")
            else:
                self.open_session(session, name)
