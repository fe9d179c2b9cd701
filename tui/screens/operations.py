"""What a person did in this folder, the newest first; u and U take it back and do it again, up to the row."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from textual import work
from textual.binding import Binding

from ...store.errors import ForkpointError
from ...store.model import ForkResult, Operation, RestoreResult
from ..actions import Where
from ..widgets.choices import Told
from ..widgets.lines import Lines, bindings
from ..widgets.listing import Column, Item
from ..widgets.sheet import Paragraph, text
from ..words import count, day, moment, one_line
from .headline import home_relative
from .lists import ListScreen
from .outcomes import Outcomes
from .ways import TakeBack, Way

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.widget import Widget


class OperationsScreen(ListScreen, Outcomes):
    """Restores, forks, marks, undos and redos, under the days on which they were done.

    The sign is where one is along them: what is above it is undone.
    """

    PLACES: ClassVar[tuple[Where, ...]] = ("list", "operations")
    BINDINGS: ClassVar[list[Binding]] = bindings("operations")  # type: ignore[assignment]
    HEADING = "Operations"
    EMPTY = "Nothing was restored, forked, labelled or pinned here yet."
    COLUMNS: ClassVar = (
        Column("", ink="here"),
        Column("Time", ink="muted"),
        Column("Kind", ink="strong"),
        Column("What", grows=True),
        Column("Undo", ink="muted", least=60),
    )

    def __init__(self) -> None:
        super().__init__()
        self.operations: dict[str, Operation] = {}
        """The newest first."""
        self._to = ""
        """The operation up to which one after the other is undone, or done again."""

    @property
    def about(self) -> str:
        return home_relative(self.app.store.root)

    def compose_below(self) -> Iterable[Widget]:
        yield Told(ident="about")

    @work(exclusive=True, group="read")
    async def load(self) -> None:
        try:
            found = await self.ask(lambda store: store.operations())
        except ForkpointError as error:
            self.failed(error)
            return
        at = self.list.item.key if self.list.item else ""
        self.operations = {operation.id: operation for operation in found}
        self.filled(self._items(found), at=at)
        self.tell_row()

    def _items(self, found: list[Operation]) -> list[Item]:
        now = self.app.now()
        items: list[Item] = []
        heading = ""
        here = next((operation.id for operation in found if operation.undoable), "")
        for operation in found:
            if heading != (heading := day(operation.time, now)):
                items.append(Item(f"day {heading}", (heading,), heading=True))
            at, summary = moment(operation.time, now)[-5:], _said(operation)
            sign = self.app.signs.here if operation.id == here else ""
            stands = operation.undoable or not (operation.redoable or operation.kind in ("undo", "redo"))
            inks = () if stands else ("", "muted", "muted", "muted", "muted")
            items.append(Item(operation.id, (sign, at, operation.kind, summary, self._undo(operation)), inks))
        return items

    def _undo(self, operation: Operation) -> str:
        """What u or U would do here."""
        steps = len(self.steps(operation))
        if operation.undoable:
            return "u undoes" if steps == 1 else f"u undoes {steps:,}"
        if operation.redoable:
            return "undone, U" if steps == 1 else f"undone, U: {steps:,}"
        return ""

    def steps(self, operation: Operation) -> list[Operation]:
        """What has to be undone, or done again, to have that of an operation, in this order: itself last."""
        every = list(self.operations.values())
        if operation.undoable:
            newer = every[: every.index(operation) + 1]
            return [one for one in newer if one.undoable]
        if operation.redoable:
            older = every[every.index(operation) :]
            return [one for one in reversed(older) if one.redoable]
        return []

    def tell_row(self) -> None:
        """The row in full: the list may have had no room for it."""
        operation = self.operations.get(self.list.item.key) if self.list.item else None
        told: list[Paragraph] = []
        if operation is not None:
            told.append(Paragraph([(f"{operation.kind}  ", "strong"), (_said(operation), "text")], hang=2))
            told.append(text(self._way(operation), "muted"))
        self.query_one("#about", Told).show(told)

    def _way(self, operation: Operation) -> str:
        steps = self.steps(operation)
        if operation.undoable:
            until = f", until {moment(operation.until, self.app.now())}" if operation.until else ""
            if len(steps) == 1:
                return f"u undoes it{until}."
            return f"u undoes it and the {count(len(steps) - 1, 'act')} after it, one after the other{until}."
        if operation.redoable:
            if len(steps) == 1:
                return "It is undone; U does it again."
            return f"It is undone; U does it again, after {count(len(steps) - 1, 'act')} before it."
        return f"Not to be undone: {one_line(operation.why)}."

    def on_lines_moved(self, message: Lines.Moved) -> None:
        if message.lines is self.list:
            self.tell_row()

    def opened(self, item: Item) -> None:
        operation = self.operations[item.key]
        self.leave((operation.session or None, operation.id))

    # Undo and redo along the list

    def action_undo_here(self) -> None:
        self._walk("undo")

    def action_redo_here(self) -> None:
        self._walk("redo")

    def _walk(self, kind: Literal["undo", "redo"]) -> None:
        """Opens the dialog of the first act that has to be undone, or done again, to come to the row."""
        operation = self.operations.get(self.list.item.key) if self.list.item else None
        if operation is None:
            self.notice.say(self.EMPTY if not self.operations else "This row is a day.")
            return
        fits = operation.undoable if kind == "undo" else operation.redoable
        if not fits:
            other = operation.undoable or operation.redoable
            self.notice.say(self._way(operation) if not other else self._other(operation))
            return
        self._to = operation.id
        self._step(kind, 1, len(self.steps(operation)))

    def _other(self, operation: Operation) -> str:
        return "It is undone already; U does it again." if operation.redoable else "It is not undone; u undoes it."

    def _step(self, kind: Literal["undo", "redo"], at: int, of: int) -> None:
        from .restore import RestoreDialog

        self.open(RestoreDialog(TakeBack(kind, at, of)), self.acted)

    def done_something(self, way: Way | None, result: RestoreResult | ForkResult | None) -> None:
        """Shows where one is now, and goes on to the next one of several."""
        self.load()
        if isinstance(way, TakeBack) and way.at < way.of and isinstance(result, RestoreResult):
            missed = result.failed or result.late_conflicts
            if not missed:
                self.call_after_refresh(self._step, way.kind, way.at + 1, way.of)


def _said(operation: Operation) -> str:
    """What was done, without its kind, which stands before it."""
    summary = one_line(operation.summary)
    for beginning in (" of: ", ": ", " "):
        summary = summary.removeprefix(f"{operation.kind}{beginning}")
    return summary
