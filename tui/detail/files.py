"""The files that changed: by a row, since it, or against the folder as it is; and who changed each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby

from rich.cells import cell_len

from ...store import naming
from ...store.errors import Busy
from ...store.model import UNRECORDED, Diff, FileDiff, Who
from ...store.text import path_text
from ..outline import Outline
from ..rows import Row
from ..theme import Signs
from ..widgets.difftext import LETTERS, file_name, file_notes
from ..widgets.flow import Line, Link, Part, Spot
from ..widgets.lines import Span, clip, clip_title, spans_length
from ..widgets.sheet import BLANK, Paragraph, text
from ..words import count, one_line
from .asked import MODES, Asked, Mode
from .heading import line_spans

BESIDE = 66
"""Cells from which who changed a file stands beside its name; below, it stands over all files of the same author."""

Authors = Mapping[bytes, Sequence[Who]]


def ends(outline: Outline, row: Row, mode: Mode) -> tuple[str, str | None] | None:
    """The two checkpoints that are compared; the right one None: the folder as it is. None: there are no two."""
    if mode == "row":
        found = outline.ends(row)
        return (found[0].id, found[1].id) if found else None
    left = row.point if row.kind == "prompt" and row.point else outline.checkpoint_at(row)
    if left is None:
        return None
    if mode == "now":
        return (left.id, None)
    head = _head(outline, row)
    right = outline.checkpoint_at(outline.rows[outline.index[head]]) if head in outline.index else None
    return (left.id, right.id) if right is not None and right.id != left.id else None


def _head(outline: Outline, row: Row) -> str:
    """The last entry of the branch that a row stands on."""
    if row.branch is not None:
        return row.branch.head
    if row.at in outline.path and outline.tree.here.talk:
        return outline.tree.here.talk
    branch = outline.tree.branch_of.get(row.at, "")
    return next((known.head for known in outline.tree.branches if known.name == branch), "")


def files(asked: Asked, diff: Diff | None) -> Iterator[Part]:
    """What differs in the way that was chosen; `diff` is what the row itself changed."""
    outline, row, mode = asked.outline, asked.row, asked.mode
    yield Modes(mode)
    asked.check()
    between = ends(outline, row, mode)
    if mode != "row" and between is not None:
        diff = asked.store.diff(*between, hunks=False)
    elif mode != "row":
        yield text(_nothing_since(outline, row) if mode == "since" else NO_CHECKPOINT, "muted")
        return
    asked.check()
    authors = _authors(asked, between, diff) if diff is not None else {}
    yield from files_changed(diff, asked.signs, authors)


NO_CHECKPOINT = "No checkpoint stands at or before this row, so there is nothing to compare with."
NOT_KNOWN = "No two checkpoints stand around this row, so what changed in it is not known."


def _nothing_since(outline: Outline, row: Row) -> str:
    return "Nothing was recorded after this row on its branch." if outline.checkpoint_at(row) else NO_CHECKPOINT


def _authors(asked: Asked, between: tuple[str, str | None] | None, diff: Diff) -> Authors:
    """Path → who changed it, who did so last first."""
    row, store = asked.row, asked.store
    if row.operation is not None:
        person = Who("person", text=row.operation.summary, operation=row.operation.id)
        return {file.path: [person] for file in diff.files}
    if between is None:
        return {}
    found: dict[bytes, list[Who]] = dict(store.authors(*between, asked.outline.tree))
    if between[1] is None and asked.outline.tree.here.dirty != 0:
        asked.check()
        # While a save is under way it is not known, and will be when it is done.
        with suppress(Busy):
            for file in store.unrecorded([file.path for file in diff.files], hunks=False).files:
                found[file.path] = [UNRECORDED, *found.get(file.path, [])]
    return found


@dataclass(frozen=True, slots=True)
class Modes:
    """The three ways to look, the current one set off; each is clicked, and `2` goes round."""

    mode: Mode

    def lines(self, width: int) -> Iterator[Line]:
        spans: list[Span] = []
        spots: list[Spot] = []
        for mode, words in MODES.items():
            at = spans_length(spans)
            spans.append((f" {words} ", "row-idle strong" if mode == self.mode else "muted"))
            spots.append(Spot(at, spans_length(spans), Link("mode", mode)))
            spans.append((" ", "text"))
        if width >= spans_length(spans) + 14:
            spans += [(" 2", "key"), (" the next", "muted")]
        yield Line(spans, spots=tuple(spots))


def files_changed(diff: Diff | None, signs: Signs, authors: Authors | None = None) -> Iterator[Part]:
    """The files that differ, and who changed each."""
    if diff is None:
        yield text(NOT_KNOWN, "muted")
        return
    yield Ends(diff, signs)
    if diff.files:
        yield BLANK
        yield Files(tuple(told_file(file, signs, (authors or {}).get(file.path, ())) for file in diff.files), signs)
    yield Ends(diff, signs, under=True)
    if diff.unknown:
        yield BLANK
        yield text(f"{count(diff.unknown, 'path')} known to one side only: not compared.", "muted")


@dataclass(frozen=True, slots=True)
class Ends:
    """How much differs between which two ends: in one line where there is room, else the ends stand below the files."""

    diff: Diff
    signs: Signs
    under: bool = False

    def _much(self) -> list[Span]:
        those = self.diff.files
        if not those:
            return [("No file changed.", "muted")]
        lines = line_spans(sum(file.added for file in those), sum(file.removed for file in those), self.signs)
        return [(count(len(those), "file"), "muted"), ("  ", "text"), *lines]

    def lines(self, width: int) -> Iterator[Line]:
        much, left, right = self._much(), one_line(self.diff.left), one_line(self.diff.right)
        named: list[Span] = [(left, "muted"), (f" {self.signs.arrow} ", "faint"), (right, "muted")]
        beside = spans_length(much) + 3 + spans_length(named) <= width
        if not self.under:
            yield Line([*much, ("   ", "text"), *named] if beside and left and right else much)
        elif not beside and left and right:
            yield Line()
            yield Line([(clip_title(left, width, self.signs.more), "muted")])
            arrow = f"{self.signs.arrow} "
            yield Line([(arrow, "faint"), (clip_title(right, width - 2, self.signs.more), "muted")])


@dataclass(frozen=True, slots=True)
class ToldFile:
    """One file of the list."""

    letter: str
    name: str
    path: bytes
    added: str
    removed: str
    notes: str
    problem: str
    by: str


def told_file(file: FileDiff, signs: Signs, those: Sequence[Who]) -> ToldFile:
    """A file as it stands in the list."""
    return ToldFile(
        LETTERS[file.status],
        file_name(file),
        file.path,
        f"+{file.added}" if file.added else "",
        f"{signs.minus}{file.removed}" if file.removed else "",
        ", ".join(file_notes(file) if file.notes or file.status == "mode" else []),
        one_line(file.problem),
        f"by {by(those, path_text(file.path))}" if those else "not known by whom",
    )


def by(those: Sequence[Who], path: str) -> str:
    """Who changed a file, the last one first; where an edit tool's call names it alone, its name is left out."""
    told = (one_line(naming.who(who)).removesuffix("" if who.shell else f" {path}") for who in those)
    runs = [(words, len(list(same))) for words, same in groupby(told)]
    return ", before that ".join(f"{words} ({times} times)" if times > 1 else words for words, times in runs)


@dataclass(frozen=True, slots=True)
class Files:
    """A list of files: in columns where there is room, else below a line that tells the author."""

    files: Sequence[ToldFile]
    signs: Signs

    def lines(self, width: int) -> Iterator[Line]:
        counts = (max(len(file.added) for file in self.files), max(len(file.removed) for file in self.files))
        names = max(cell_len(file.name) for file in self.files)
        if width < BESIDE:
            yield from self._below_authors(width, counts)
            return
        room = min(names, (width - sum(counts) - 8) * 3 // 5)
        for file in self.files:
            spans = self._named(file, room, counts)
            spans.append((f"  {clip(file.by, width - spans_length(spans) - 2, self.signs.more)}", "muted"))
            yield from self._with_notes(file, spans, width)

    def _below_authors(self, width: int, counts: tuple[int, int]) -> Iterator[Line]:
        told = ""
        for file in self.files:
            if file.by != told:
                yield from Paragraph([(file.by, "muted")], hang=3).lines(width)
                told = file.by
            yield from self._with_notes(file, self._named(file, width - sum(counts) - 4, counts), width)

    def _named(self, file: ToldFile, room: int, counts: tuple[int, int]) -> list[Span]:
        name = _clip_path(file.name, room, self.signs.more)
        spans: list[Span] = [(f"{file.letter} ", "chip"), (name + " " * (room - cell_len(name)), "text")]
        for words, ink, wide in ((file.added, "added", counts[0]), (file.removed, "removed", counts[1])):
            if wide:
                spans.append((f" {words:>{wide}}", ink))
        return spans

    def _with_notes(self, file: ToldFile, spans: list[Span], width: int) -> Iterator[Line]:
        link = Link("file", file.name, file.path)
        yield Line(spans, link=link)
        problem = f"{self.signs.error} {file.problem}" if file.problem else ""
        for words, ink in ((file.notes, "muted"), (problem, "attention")):
            if words:
                yield from Paragraph([(words, ink)], indent=2, hang=2, link=link).lines(width)


def _clip_path(name: str, room: int, more: str) -> str:
    """A path in so many cells; its end says most."""
    if cell_len(name) <= room:
        return name
    kept = name
    while kept and cell_len(kept) > room - 1:
        kept = kept[max(1, (len(kept) - room) // 2) :]
    return more + kept
