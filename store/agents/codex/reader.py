"""Reads all files of a Codex CLI session into one conversation (formats 2.5).

Each file is one line of records. What makes a tree of them: a file that goes on from a place in another one
(`history_base`), one that begins with a copy of another one (a fork), and turns that were taken back
(`thread_rolled_back`). A sub-agent's files stand under the call that started it. Whatever is broken is shown as what it
is and named among the problems; the rest stays whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from msgspec import structs

from ...model import Conversation, Entry, Problem, SessionInfo, Span
from ..base import PartialState, Source
from ..forms.face import Face
from ..forms.growing import Followed, Growing
from ..forms.uncollected import uncollected
from .faces import UNKNOWN
from .history import Changes
from .notes import COMPACTION, ROLLBACK, Noted, Notes

ROOT = -1


class Following:
    """Reads a session again and again, of its files only what is new."""

    def __init__(self) -> None:
        self._files = Growing(Notes, Notes.read_on)
        self._changes = Changes()

    def read(self, info: SessionInfo, sources: Sequence[Source]) -> Conversation:
        """All of the session that its sources hold now."""
        with uncollected():
            return _Reading(info).read(self._files.read(sources, info.cwd), sources)

    def file_states(
        self, conversation: Conversation, root: str, sources: Sequence[Source] | None = None
    ) -> list[PartialState]:
        """States of files from Codex's own records, the oldest first."""
        return self._changes.file_states(conversation, root, sources)


follow = Following


@dataclass
class _File:
    """One file while its notes become entries, and afterwards what others that go on from it ask."""

    notes: Notes
    side: str = ""
    """The thread of the sub-agent that the file is of; "" for the main conversation."""
    former: bool = False
    """It is what the file was before the agent wrote it anew: what only this one has was left."""
    path: list[int] = field(default_factory=list[int])
    """The entries of its line in the order of the records, those that it goes on from included."""
    ordinals: list[int] = field(default_factory=list[int])
    """Of each entry of the path: its record's ordinal, or -1."""
    leaf: int = ROOT
    prompts: list[int] = field(default_factory=list[int])
    """Prompts on the path to the leaf, as long as they can be rolled back."""
    copied: list[list[int]] = field(default_factory=list[list[int]])
    """Paths of other files that all of this one, so far, is a copy of."""
    by_id: bool = False
    """Only a record with an id can be known as a copy."""
    unknown: Counter[str] = field(default_factory=Counter[str])
    """Unknown kind → how many records of it there are, as long as none was shown."""
    newest: int = 0


class _Reading:
    """The entries of one session, file by file."""

    def __init__(self, info: SessionInfo) -> None:
        self.info = info
        self.entries: list[Entry] = []
        self.parents: list[int] = []
        self.ids: set[str] = set()
        self.problems: list[Problem] = []
        self.files: dict[str, _File] = {}
        """By the id that a `history_base` calls a file."""
        self.calls: dict[str, int] = {}
        self.callers: dict[str, str] = {}
        """Thread of a sub-agent → id of the call that started it."""

    def read(self, followed: Sequence[Followed[Notes]], sources: Sequence[Source]) -> Conversation:
        own = set(self.info.files)
        former = {source.name for source in sources if source.former}
        found: list[Notes] = []
        for item in followed:
            if item.failure:
                self.problems.append(Problem(item.failure, item.state.file))
            else:
                found.append(item.state)
        old = [notes for notes in found if notes.name in former]
        found = [notes for notes in found if notes.name not in former]
        threads = {notes.thread for notes in found}
        sides = [n for n in found if n.file not in own and n.link.parent and n.link.parent in threads]
        for notes in self._in_order([notes for notes in found if notes not in sides]):
            self._read_file(_File(notes))
        for notes in self._in_order(sides):
            self._read_file(_File(notes, side=notes.thread))
        for notes in reversed(old):
            self._read_file(_File(notes, former=True))
        return self._conversation(found)

    def _in_order(self, found: Sequence[Notes]) -> list[Notes]:
        """A file stands behind the one that it goes on from; otherwise the oldest first."""
        waiting = {notes.id: notes for notes in sorted(found, key=lambda notes: (notes.stamp, notes.id))}
        order: list[Notes] = []
        while waiting:
            threads = {notes.thread for notes in waiting.values()}
            ready = [
                name
                for name, notes in waiting.items()
                if notes.link.base not in waiting
                and (notes.link.base or notes.link.forked_from not in threads - {notes.thread})
            ]
            if not ready:
                ready = [next(iter(waiting))]
                self.problems.append(Problem("files name each other as their beginning", waiting[ready[0]].file))
            order += [waiting.pop(name) for name in ready]
        return order

    # ---- one file

    def _read_file(self, file: _File) -> None:
        notes = file.notes
        for thread, call in notes.callers.items():
            self.callers.setdefault(thread, call)
        if file.former and notes.id in self.files:
            file.copied = [self.files[notes.id].path]
        elif notes.link.base:
            self._begin_from(file)
        elif not file.side:
            self._may_be_copy(file)
        self.files[notes.name if file.former else notes.id] = file
        file.unknown = Counter(n.face.text for n in notes.noted if n.face is not None and n.face.flavour == UNKNOWN)
        own_from = notes.link.own_from if file.side else 0
        for noted in (*notes.noted, *notes.tail):
            if 0 <= noted.ordinal < own_from:
                continue
            if noted.unreadable is not None:
                self._unreadable(file, noted)
            elif noted.effect == ROLLBACK:
                self._roll_back(file, noted.turns)
            elif noted.face is not None:
                if noted.effect == COMPACTION:
                    # A rollback cannot reach before it.
                    file.prompts = []
                self._shown(file, noted, noted.face)

    def _begin_from(self, file: _File) -> None:
        """The line of the file that it goes on from, up to the cut."""
        link = file.notes.link
        base = self.files.get(link.base)
        if base is None:
            self.problems.append(Problem(f"the file that it goes on from is gone ({link.base})", file.notes.file))
            return
        end = len(base.path)
        while link.ordinal is not None and end and base.ordinals[end - 1] >= link.ordinal:
            end -= 1
        file.path, file.ordinals = base.path[:end], base.ordinals[:end]
        file.leaf = base.leaf if end == len(base.path) else (base.path[end - 1] if end else ROOT)
        line = set(self._line(file.leaf))
        file.prompts = [index for index in file.path if self.entries[index].kind == "prompt" and index in line]

    def _may_be_copy(self, file: _File) -> None:
        """Files whose beginning this one may repeat: those of the session that it names, else any with the same ids."""
        others = [other for other in self.files.values() if not (other.side or other.former) and other.path]
        named = [other.path for other in others if other.notes.thread == file.notes.link.forked_from]
        file.copied = named or [other.path for other in others if other.notes.thread != file.notes.thread]
        file.by_id = not named

    def _roll_back(self, file: _File, turns: int) -> None:
        """The newest turns are left behind: what follows hangs on what was before them."""
        file.copied = []
        for _ in range(min(turns, len(file.prompts))):
            file.leaf = self.parents[file.prompts.pop()]

    def _shown(self, file: _File, noted: Noted, shown: Face) -> None:
        file.newest = max(file.newest, noted.time)
        if shown.flavour == UNKNOWN:
            # The first one stands for all.
            count = file.unknown.pop(shown.text, 0)
            if not count:
                return
            shown = structs.replace(shown, text=f"{shown.text} ({count} of them)" if count > 1 else shown.text)
        same = self._copy_of(file, noted.uid, shown) if file.copied else None
        index = self._add(file, noted, shown) if same is None else same
        file.path.append(index)
        file.ordinals.append(noted.ordinal)
        file.leaf = index
        if shown.kind == "prompt":
            file.prompts.append(index)

    def _copy_of(self, file: _File, uid: str, shown: Face) -> int | None:
        """The entry that this record is a copy of, while all before it were copies too."""
        place = len(file.path)
        still: list[list[int]] = []
        for path in file.copied:
            if place < len(path):
                entry = self.entries[path[place]]
                if _same(entry, shown) and (uid == entry.id.partition("~")[0] if uid else not file.by_id):
                    still.append(path)
        file.copied = still
        return still[0][place] if still else None

    def _add(self, file: _File, noted: Noted, shown: Face) -> int:
        uid = noted.uid or f"{file.notes.id}:{noted.offset}"
        if uid in self.ids:
            uid = f"{uid}~{file.notes.id}:{noted.offset}"
            while uid in self.ids:  # a copy of the file has another record there
                uid += "~"
        self.ids.add(uid)
        parent = file.leaf
        above = self.entries[parent] if parent >= 0 else None
        under = self._under(file) if file.side else None
        tool = shown.tool
        if shown.kind == "tool_result" and shown.call in self.calls:
            tool = self.entries[self.calls[shown.call]].tool
        flavour = shown.flavour
        if file.side and above is None:
            flavour = "sub-agent" if under is not None else "detached"
        turn = above.turn if above is not None else (under.turn if under is not None else 0)
        self.entries.append(
            Entry(
                uid,
                above.id if above is not None else None,
                shown.kind,
                noted.time or (above.time if above is not None else 0),
                shown.text,
                file.notes.thread if not file.side else under.session if under is not None else self.info.id,
                turn + (shown.kind == "prompt" and not file.side),
                flavour,
                tool,
                shown.call,
                noted.turn,
                shown.error,
                shown.paths,
                under.id if under is not None else "",
                Span(file.notes.name, noted.offset, noted.length),
            )
        )
        self.parents.append(parent)
        index = len(self.entries) - 1
        if shown.kind == "tool_call" and shown.call:
            self.calls.setdefault(shown.call, index)
        return index

    def _under(self, file: _File) -> Entry | None:
        """The call that started a sub-agent; hooks name the session of that one for all that the sub-agent does."""
        call = self.calls.get(self.callers.get(file.side, ""))
        return self.entries[call] if call is not None else None

    def _unreadable(self, file: _File, noted: Noted) -> None:
        line = noted.unreadable
        assert line is not None
        self.problems.append(Problem(line.why, file.notes.file, line.number))
        if line.last:
            return
        shown = Face.unreadable(line.number, noted.length)
        index = self._add(file, noted, shown)
        file.path.append(index)
        file.ordinals.append(file.ordinals[-1] if file.ordinals else -1)
        file.leaf = index

    # ---- all together

    def _line(self, at: int) -> list[int]:
        found: list[int] = []
        while at >= 0:
            found.append(at)
            at = self.parents[at]
        return found

    def _conversation(self, found: Sequence[Notes]) -> Conversation:
        leaves: dict[str, str] = {}
        newest, leaf = -1, None
        for file in sorted(self.files.values(), key=lambda file: (file.notes.stamp, file.notes.id)):
            if file.side or file.former or file.leaf == ROOT:
                continue
            # The newest file of a thread is the one that the agent goes on with.
            leaves[file.notes.thread] = self.entries[file.leaf].id
            if file.newest >= newest:
                newest, leaf = file.newest, leaves[file.notes.thread]
        inner = set(self.parents)
        ends = sum(1 for index, entry in enumerate(self.entries) if index not in inner and not entry.under)
        info = replace(
            self.info,
            entries=len(self.entries),
            branches=ends,
            problem=self.problems[0].what if self.problems else self.info.problem,
        )
        titles = {notes.thread: notes.title for notes in found if notes.title}
        return Conversation(info, tuple(self.entries), leaf, leaves, tuple(self.problems), titles)


def _same(entry: Entry, shown: Face) -> bool:
    if UNKNOWN == entry.flavour == shown.flavour:
        # Their number is that of one file.
        return entry.text.partition(" (")[0] == shown.text.partition(" (")[0]
    return (entry.kind, entry.text, entry.call) == (shown.kind, shown.text, shown.call)
