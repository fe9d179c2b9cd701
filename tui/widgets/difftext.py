"""The lines of a diff as flat lists: made once, in a worker, and painted one at a time."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import cached_property

from ...store.model import Diff, FileDiff, Line
from ...store.text import clean, path_text
from ..words import count, signed

BLANK, FILE, NOTE, PROBLEM, HUNK, SAME, OLD, NEW, END = range(9)
"""Kinds of lines; END says that the line before has no line feed."""
LONGEST = 4_000
"""Characters of a line that are shown."""

STATUS = {
    "added": "added",
    "deleted": "deleted",
    "modified": "changed",
    "renamed": "renamed",
    "mode": "mode changed",
    "type": "became something else",
}
LETTERS = {"added": "A", "deleted": "D", "modified": "M", "renamed": "R", "mode": "m", "type": "T"}


def shown_text(text: str) -> str:
    """A line as it can be shown: cleaned, tabs as blanks, of a bounded length."""
    cut = text[: LONGEST + 1]
    shown = cut if cut.isprintable() else clean(cut, keep_lines=True).replace("\n", "␊").expandtabs(4)
    return shown if len(text) <= LONGEST else shown[:LONGEST] + "…"


def file_name(file: FileDiff) -> str:
    """A file's name, with the former one of a rename."""
    name = path_text(file.path)
    return f"{path_text(file.old_path)} → {name}" if file.old_path is not None else name


def file_notes(file: FileDiff) -> list[str]:
    """What is to be said of a file besides its lines, in words."""
    notes = list(file.notes)
    if file.status not in ("modified", "mode") and not (file.status == "type" and notes):
        notes.insert(0, STATUS[file.status])
    if not file.hunks and not notes:
        notes = [STATUS[file.status]]
    if not file.hunks and file.status in ("added", "deleted") and not file.notes and not file.problem:
        notes = [f"{STATUS[file.status]}, an empty file"]
    return notes


class DiffText:
    """All lines of a diff, which file and hunk each is of, and which old line answers which new one."""

    def __init__(self, diff: Diff) -> None:
        self.diff = diff
        self.kinds = bytearray()
        self.lines: list[Line | str] = []
        self.of_file = array("i")
        self.pairs = array("i")
        """For a changed line the one that it replaces or is replaced by, else -1."""
        self.files: list[int] = []
        """Line at which each file begins."""
        self.hunks: list[int] = []
        """Line at which each hunk begins."""
        self.highest = 0
        """The highest line number."""
        for number, file in enumerate(diff.files):
            self._add_file(number, file)

    def __len__(self) -> int:
        return len(self.lines)

    def _add(self, kind: int, line: Line | str, file: int) -> None:
        self.kinds.append(kind)
        self.lines.append(line)
        self.of_file.append(file)
        self.pairs.append(-1)

    def _add_file(self, number: int, file: FileDiff) -> None:
        if number:
            self._add(BLANK, "", number - 1)
        self.files.append(len(self.lines))
        self._add(FILE, file_name(file), number)
        for note in file_notes(file):
            self._add(NOTE, note, number)
        if file.problem:
            self._add(PROBLEM, file.problem, number)
        for hunk in file.hunks:
            self.hunks.append(len(self.lines))
            self._add(HUNK, hunk.header, number)
            self._add_lines(hunk.lines, number)
        if not file.hunks:
            self.hunks.append(self.files[-1])

    def _add_lines(self, lines: Sequence[Line], number: int) -> None:
        gone: list[int] = []
        came: list[int] = []
        for line in lines:
            at = len(self.lines)
            if line.kind == "-":
                if came:
                    self._pair(gone, came)
                gone.append(at)
                self._add(OLD, line, number)
            elif line.kind == "+":
                came.append(at)
                self._add(NEW, line, number)
            elif line.kind == "\\":
                self._add(END, "no line feed at the end", number)
            else:
                self._pair(gone, came)
                self._add(SAME, line, number)
            self.highest = max(self.highest, line.old or 0, line.new or 0)
        self._pair(gone, came)

    def _pair(self, gone: list[int], came: list[int]) -> None:
        """Lines answer each other where as many came as went."""
        if len(gone) == len(came):
            for old, new in zip(gone, came, strict=True):
                self.pairs[old], self.pairs[new] = new, old
        gone.clear()
        came.clear()

    def text(self, at: int) -> str:
        """A line as it can be shown."""
        line = self.lines[at]
        return line if isinstance(line, str) else shown_text(line.text)

    @cached_property
    def lengths(self) -> array[int]:
        """Cells of every line, near enough for wrapping and scrolling: control characters and tabs count as drawn."""
        from rich.cells import cell_len

        lengths = array("i")
        for line in self.lines:
            text = line if isinstance(line, str) else line.text
            if text.isascii() and text.isprintable() and len(text) <= LONGEST:
                lengths.append(len(text))
            else:
                lengths.append(cell_len(shown_text(text)))
        return lengths

    @cached_property
    def sides(self) -> list[tuple[int, int]]:
        """Old and new line of every line that is drawn side by side, -1 for a gap; a heading stands on both sides."""
        out: list[tuple[int, int]] = []
        gone: list[int] = []
        came: list[int] = []

        def flush() -> None:
            for at in range(max(len(gone), len(came))):
                out.append((gone[at] if at < len(gone) else -1, came[at] if at < len(came) else -1))
            gone.clear()
            came.clear()

        for at, kind in enumerate(self.kinds):
            if kind == OLD:
                if came:
                    flush()
                gone.append(at)
            elif kind == NEW:
                came.append(at)
            elif kind == END:
                (came if came else gone).append(at)
            else:
                flush()
                out.append((at, at))
        flush()
        return out

    def hunk_of(self, at: int) -> tuple[int, int] | None:
        """First line of the hunk that a line is in, and the line after its last."""
        start = at
        while start >= 0 and self.kinds[start] != HUNK:
            if self.kinds[start] in (FILE, BLANK):
                return None
            start -= 1
        if start < 0:
            return None
        end = start + 1
        while end < len(self) and self.kinds[end] in (SAME, OLD, NEW, END):
            end += 1
        return start, end

    def patch(self, start: int, end: int) -> str:
        """Lines as a patch tool reads them, for copying."""
        signs = {OLD: "-", NEW: "+", SAME: " "}
        out: list[str] = []
        for at in range(start, end):
            line = self.lines[at]
            if isinstance(line, Line):
                out.append(signs[self.kinds[at]] + clean(line.text, keep_lines=True))
            else:
                out.append("\\ No newline at end of file" if self.kinds[at] == END else line)
        return "\n".join(out)


def totals(files: Sequence[FileDiff]) -> str:
    """How much a diff is, in words: "3 files  +23 −6"."""
    added, removed = sum(file.added for file in files), sum(file.removed for file in files)
    return f"{count(len(files), 'file')}  {signed(added, removed)}".rstrip()
