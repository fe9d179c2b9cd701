"""The lines of a diff as flat lists: made once, in a worker, and painted one at a time."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cached_property, lru_cache

from ...store.model import Diff, FileDiff, Line
from ...store.text import clean, path_text
from ..words import count, signed
from .pairing import MOST, paired

BLANK, FILE, NOTE, PROBLEM, HUNK, SAME, OLD, NEW, END = range(9)
"""Kinds of lines; END says that the line before has no line feed."""
CODE = (SAME, OLD, NEW)
LONGEST = 4_000_000
"""Characters of a line that are shown."""
LONG = 1_000
"""Characters from which on a line is not made ready to be shown twice."""

STATUS = {
    "added": "added",
    "deleted": "deleted",
    "modified": "",
    "renamed": "renamed",
    "mode": "",
    "type": "",
}
LETTERS = {"added": "A", "deleted": "D", "modified": "M", "renamed": "R", "mode": "m", "type": "T"}


def shown_text(text: str) -> str:
    """A line as it can be shown: cleaned, tabs as blanks, of a bounded length."""
    return _shown(text) if len(text) < LONG else _long(text)


def _shown(text: str) -> str:
    if len(text) > LONGEST:
        return f"{_shown(text[:LONGEST])}… and {count(len(text) - LONGEST, 'character')} more"
    return text if text.isprintable() else clean(text, keep_lines=True).replace("\n", "␊").expandtabs(4)


_long = lru_cache(maxsize=8)(_shown)


def file_name(file: FileDiff) -> str:
    """A file's name, with the former one of a rename."""
    name = path_text(file.path)
    return f"{path_text(file.old_path)} → {name}" if file.old_path is not None else name


def file_notes(file: FileDiff) -> list[str]:
    """What is to be said of a file besides its lines and what its heading says, in words."""
    notes = list(file.notes)
    if file.hunks or notes or file.problem:
        return notes
    if file.status in ("added", "deleted"):
        return ["an empty file"]
    return ["only white space differs"] if file.status == "modified" else []


def not_compared(diff: Diff) -> str:
    """That paths are outside of what both ends know (rule 16), in words; "" where there are none."""
    if diff.known is not None:
        return f"A partial checkpoint knows {count(diff.known, 'file')} only: of all others nothing is known here."
    if not diff.unknown:
        return ""
    which = "it" if diff.unknown == 1 else "them"
    return f"{count(diff.unknown, 'path')} not compared: only one of the two ends knows of {which}."


class DiffText:
    """All lines of a diff, which file and hunk each is of, and which old line answers which new one."""

    def __init__(self, diff: Diff) -> None:
        self.diff = diff
        self.kinds = bytearray()
        self.lines: list[Line | str] = []
        self.of_file = array("i")
        """For each line the number of its file; -1 for what stands before the first."""
        self.files: list[int] = []
        """Line at which each file begins."""
        self.hunks: list[int] = []
        """Line at which each hunk begins; of a file without any its first line."""
        self.highest = 0
        """The highest line number."""
        self._runs: list[tuple[Sequence[int], Sequence[int]]] = []
        """Lines that went and lines that came in their place."""
        self._run_of = array("i")
        self._pairs: dict[int, dict[int, int]] = {}
        self._with_cr: set[int] = set()
        """Files all of whose lines end in CR LF: there is nothing to be shown of it."""
        if diff.files and (told := not_compared(diff)):
            self._add(NOTE, told, -1)
            self._add(BLANK, "", -1)
        for number, file in enumerate(diff.files):
            self._add_file(number, file)

    def __len__(self) -> int:
        return len(self.lines)

    def _add(self, kind: int, line: Line | str, file: int) -> None:
        self.kinds.append(kind)
        self.lines.append(line)
        self.of_file.append(file)
        self._run_of.append(-1)

    def _add_file(self, number: int, file: FileDiff) -> None:
        if number:
            self._add(BLANK, "", number - 1)
        self.files.append(len(self.lines))
        self._add(FILE, file_name(file), number)
        for note in file_notes(file):
            self._add(NOTE, note, number)
        if file.problem:
            self._add(PROBLEM, file.problem, number)
        if all(line.text.endswith("\r") for hunk in file.hunks for line in hunk.lines if line.kind != "\\"):
            self._with_cr.add(number)
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
                    self._add_run(gone, came)
                    gone, came = [], []
                gone.append(at)
                self._add(OLD, line, number)
            elif line.kind == "+":
                came.append(at)
                self._add(NEW, line, number)
            elif line.kind == "\\":
                self._add(END, "no line feed at the end", number)
            else:
                if gone or came:
                    self._add_run(gone, came)
                    gone, came = [], []
                self._add(SAME, line, number)
        self._add_run(gone, came)
        last_old = next((line.old for line in reversed(lines) if line.old is not None), 0)
        last_new = next((line.new for line in reversed(lines) if line.new is not None), 0)
        self.highest = max(self.highest, last_old, last_new)

    def _add_run(self, gone: list[int], came: list[int]) -> None:
        if gone and came:
            for at in (*gone, *came):
                self._run_of[at] = len(self._runs)
            self._runs.append((gone, came))

    def text(self, at: int) -> str:
        """A line as it can be shown."""
        line = self.lines[at]
        if isinstance(line, str):
            return shown_text(line)
        return shown_text(line.text.removesuffix("\r") if self.of_file[at] in self._with_cr else line.text)

    @cached_property
    def lengths(self) -> array[int]:
        """Cells of every line: control characters and tabs count as they are drawn."""
        from rich.cells import cell_len

        lengths = array("i")
        for at, line in enumerate(self.lines):
            text = line if isinstance(line, str) else line.text
            plain = text.isascii() and text.isprintable() and len(text) <= LONGEST
            lengths.append(len(text) if plain else cell_len(self.text(at)))
        return lengths

    @cached_property
    def widest(self) -> int:
        """Cells of the longest line of a file."""
        return max((cells for kind, cells in zip(self.kinds, self.lengths, strict=True) if kind in CODE), default=0)

    # Old and new

    def pair_of(self, at: int) -> int:
        """For a changed line the one that it replaces or is replaced by, else -1."""
        run = self._run_of[at]
        if run < 0:
            return -1
        pairs = self._pairs.get(run)
        if pairs is None:
            pairs = self._pairs[run] = self._paired(*self._runs[run])
        return pairs.get(at, -1)

    def _paired(self, gone: Sequence[int], came: Sequence[int]) -> dict[int, int]:
        if max(len(gone), len(came)) > MOST:
            found = list(zip(gone, came, strict=True)) if len(gone) == len(came) else []
        else:
            places = paired([self.text(at) for at in gone], [self.text(at) for at in came])
            found = [(gone[old], came[new]) for old, new in places]
        return {one: other for pair in found for one, other in (pair, pair[::-1])}

    @cached_property
    def sides(self) -> list[tuple[int, int]]:
        """Old and new line of every line that is drawn side by side, -1 for a gap; a heading stands on both sides."""
        out: list[tuple[int, int]] = []
        gone: list[int] = []
        came: list[int] = []

        def flush() -> None:
            at = 0
            for old in gone:
                # Only where one side has more lines than the other, they could be put beside the wrong ones.
                new = self.pair_of(old) if len(gone) != len(came) else -1
                if new >= 0 and at < len(came) and new >= came[at]:
                    stop = came.index(new, at)
                    out.extend((-1, one) for one in came[at:stop])
                    out.append((old, new))
                    at = stop + 1
                else:
                    waits = at < len(came) and (len(gone) == len(came) or self.pair_of(came[at]) < 0)
                    out.append((old, came[at] if waits else -1))
                    at += waits
            out.extend((-1, one) for one in came[at:])
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
                if gone or came:
                    flush()
                out.append((at, at))
        flush()
        return out

    @cached_property
    def side_of(self) -> array[int]:
        """For each line the number of its line in `sides`."""
        found = array("i", bytes(4 * len(self)))
        for number, (old, new) in enumerate(self.sides):
            for at in (old, new):
                if at >= 0:
                    found[at] = number
        return found

    # Hunks

    def hunk_of(self, at: int) -> tuple[int, int] | None:
        """First line of the hunk that a line is in, and the line after its last."""
        number = bisect_right(self.hunks, at) - 1
        if number < 0 or self.kinds[self.hunks[number]] != HUNK or self.kinds[at] in (FILE, BLANK, NOTE, PROBLEM):
            return None
        start = self.hunks[number]
        end = self.hunks[number + 1] if number + 1 < len(self.hunks) else len(self)
        while self.kinds[end - 1] not in (SAME, OLD, NEW, END):
            end -= 1
        return start, end

    def end_of(self, at: int) -> int:
        """The last line of what begins at a line: of a file, a hunk, or of nothing but itself."""
        if self.kinds[at] == FILE:
            file = self.of_file[at]
            return self.files[file + 1] - 2 if file + 1 < len(self.files) else len(self) - 1
        hunk = self.hunk_of(at)
        return hunk[1] - 1 if hunk and self.kinds[at] == HUNK else at

    def hunk_place(self, at: int) -> tuple[int, int]:
        """Which hunk of its file a line is in, and how many there are; 0 above the first."""
        file = self.of_file[at]
        if file < 0:
            return 0, 0
        end = self.files[file + 1] if file + 1 < len(self.files) else len(self)
        first, last = bisect_left(self.hunks, self.files[file]), bisect_left(self.hunks, end)
        if self.kinds[self.hunks[first]] != HUNK:
            return 0, 0
        return bisect_right(self.hunks, at) - first, last - first

    def patch(self, start: int, end: int) -> str:
        """Lines as a patch tool reads them, for copying."""
        signs = {OLD: "-", NEW: "+", SAME: " "}
        out: list[str] = []
        for at in range(start, end):
            line = self.lines[at]
            if isinstance(line, Line):
                text = line.text.removesuffix("\r")
                out.append(signs[self.kinds[at]] + clean(text, keep_lines=True) + line.text[len(text) :])
            else:
                out.append("\\ No newline at end of file" if self.kinds[at] == END else clean(line))
        return "\n".join(out) + "\n"

    def holding(self, needle: str) -> list[int]:
        """The lines that hold some words; capitals count only where there are some in the words."""
        exact = needle != needle.lower()
        found: list[int] = []
        for at, line in enumerate(self.lines):
            if self.kinds[at] in (BLANK, HUNK, END):
                continue
            text = line if isinstance(line, str) else line.text
            if needle in (text if exact else text.lower()):
                found.append(at)
        return found


def totals(files: Sequence[FileDiff]) -> str:
    """How much a diff is, in words: "3 files  +23 −6"."""
    added, removed = sum(file.added for file in files), sum(file.removed for file in files)
    return f"{count(len(files), 'file')}  {signed(added, removed)}".rstrip()
