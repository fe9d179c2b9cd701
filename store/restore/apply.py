"""Carrying a plan out: every change under rule 3, then looking again whether it is as it was asked (rule 6)."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from ..errors import ForkpointError
from ..states import Node, State
from . import sharing
from .below import GONE, Nearby, Sight, look_in, opened_parent, opened_root
from .build import Blobs, Place, discard, make_durable
from .change import Change
from .journal import Journal
from .paths import spare_name
from .swap import Changed, Swapper, is_change_of_mode
from .writeout import MANY, all_synced

MOST = 1000
HEAVIEST = 64 << 20
"""Files and bytes that are written before they are waited for: a disk that is nearly full has room for little more."""
UNSYNCABLE = (*GONE, errno.EINVAL, errno.EBADF, errno.EACCES, errno.EPERM)
"""Folders that are gone again, or that the system lets nobody sync."""

WORDS = {
    errno.EACCES: "permission denied",
    errno.EPERM: "not permitted",
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the quota is used up",
    errno.EROFS: "the file system is read-only",
    errno.EBUSY: "it is in use, perhaps a mount point",
    errno.ENAMETOOLONG: "the name is too long for this file system",
    errno.ENOENT: "its folder is not there",
}


PASSING = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
"""Trouble that may be over when it is tried again."""


Trouble = tuple[dict[bytes, str], dict[bytes, str], dict[bytes, str], set[bytes]]
"""What a run failed at, its conflicts, what it kept, and where the trouble may pass."""
Built = tuple[set[int], set[int], Trouble]
"""Numbers of the changes that are ready, and of those that are left."""
Done = tuple[set[int], set[tuple[int, int]], Trouble]
"""Numbers of the changes that were carried out, and the inodes that were written."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of each path: every one that was to change stands in exactly one of the first four.

    Folders that come or go with their files are named only where that failed, or where they stay.
    """

    done: tuple[bytes, ...] = ()
    """Changed, and seen to be as asked."""
    failed: tuple[tuple[bytes, str], ...] = ()
    """(path, why)."""
    conflicts: tuple[tuple[bytes, str], ...] = ()
    """(path, why): changed since it was shown; left as it is."""
    kept: tuple[tuple[bytes, str], ...] = ()
    """(path, why): folders that hold more than what was captured, and paths that the guard could not store."""
    left: tuple[bytes, ...] = ()
    """Failed paths beside which something stands under a spare name: only a recovery can settle those."""
    passing: tuple[bytes, ...] = ()
    """Failed paths that may not fail when they are tried again."""
    changed: Mapping[bytes, tuple[Node | None, Node | None]] = field(
        default_factory=dict[bytes, tuple[Node | None, Node | None]]
    )
    """Before and after of every path that was changed; folders that came or went with their files are left out."""


def carry_out(journal: Journal, blobs: Blobs, guard: State) -> Outcome:
    """Carries out the journal's changes, verifies them by hashing and makes them durable; closing is the caller's.

    `guard` is what the guard holds: a path that it does not hold as the change expects it is not touched (rule 2).
    One path's trouble never stops the rest.
    """
    with opened_root(journal.root) as root:
        run = Run(root, blobs, journal)
        for numbers in chained(journal.changes).values():
            run.check(journal.changes[numbers[0]], guard)
        run.carry_out()
        run.shut_again()
        return run.finished()


class Run:
    """A restore under way: what became of each change so far."""

    def __init__(self, root: int, blobs: Blobs, journal: Journal) -> None:
        self.root = root
        self.journal = journal
        self.swapper = Swapper(root, blobs, journal.token)
        self.did: dict[int, Change] = {}
        self.failed: dict[bytes, str] = {}
        self.passing: set[bytes] = set()
        self.conflicts: dict[bytes, str] = {}
        self.kept: dict[bytes, str] = {}
        self.sight = Sight(root, [change.path for change in journal.changes])

    def check(self, change: Change, guard: State) -> None:
        """Names a path that the guard does not hold as its first change expects it, so that it is left."""
        held = guard.get(change.path)
        if held is not None and held.kind == "folder":
            held = None
        expected = change.before if change.before is None or change.before.kind != "folder" else None
        if held == expected:
            return
        with suppress(OSError):
            if held is None and self.sight.look(change.path) == expected:
                self.kept[change.path] = "it could not be stored in the guard first"
                return
        self.conflicts[change.path] = "it changed since it was looked at"

    def carry_out(self) -> None:
        """Carries out all changes in their order; files that are written, many of them together."""
        files: list[tuple[int, Change]] = []
        for number, change in enumerate(self.journal.changes):
            if change.after is not None and change.after.kind == "file" and not is_change_of_mode(change):
                files.append((number, change))
                continue
            if _is_opening(change):
                # A folder is shut behind the files that come into it.
                files = self._together(files)
            self.step(number, change)
        self._together(files)

    def step(self, number: int, change: Change) -> None:
        """Carries out one change, unless its path has been named already; whatever goes wrong is named."""
        if not self.is_named(change.path):
            self.journal.note(number)
            if self._try(change, lambda: self.swapper.carry(number, change)):
                self.did[number] = change

    def _together(self, files: Sequence[tuple[int, Change]]) -> list[tuple[int, Change]]:
        """Builds files, makes all of them durable, and only then gives each its place; some at a time."""
        left = [item for item in files if not self.is_named(item[1].path)]
        while left:
            built, left = self._built(left)
            self._put_in(built)
        return []

    def _built(self, files: list[tuple[int, Change]]) -> tuple[list[tuple[int, Change]], list[tuple[int, Change]]]:
        """Builds the first files, as many as are worth waiting for; gives those that are ready, and what is left."""
        files, later = files[:MOST], files[MOST:]
        if not sharing.is_worth(len(files)):
            ready, left = self._built_here(files, HEAVIEST)
            return ready, [*left, *later]
        half = len(files) // 2
        mine, told = sharing.both(
            lambda: self._built_here(files[:half], HEAVIEST // 2), lambda alone: self._built_apart(files[half:], alone)
        )
        theirs = self._taken_over(files[half:], told)
        return [*mine[0], *theirs[0]], [*mine[1], *theirs[1], *later]

    def _built_apart(self, files: list[tuple[int, Change]], alone: Callable[[], bool]) -> Built:
        """Builds files in a second process; what became of each, for the first."""
        ready, left = self._built_here(files, HEAVIEST // 2, alone)
        return {number for number, _ in ready}, {number for number, _ in left}, self._trouble()

    def _taken_over(
        self, files: list[tuple[int, Change]], told: Built | None
    ) -> tuple[list[tuple[int, Change]], list[tuple[int, Change]]]:
        """What a second process built. Where it did not end well, nothing: what it may have left is taken away."""
        if told is None:
            with Nearby(self.root) as nearby:
                for number, change in files:
                    with suppress(OSError, Changed, ForkpointError):
                        place = self.swapper.place(nearby, number, change)
                        discard(place, place.new)
            return self._built_here(files, HEAVIEST // 2)
        ready, left, trouble = told
        self._meet(trouble)
        return [item for item in files if item[0] in ready], [item for item in files if item[0] in left]

    def _built_here(
        self, files: list[tuple[int, Change]], room: int, alone: Callable[[], bool] = sharing.never_alone
    ) -> tuple[list[tuple[int, Change]], list[tuple[int, Change]]]:
        """Builds files until there is no more room; gives those that are ready, and what is left."""
        ready: list[tuple[int, Change]] = []
        with Nearby(self.root) as nearby:
            for at, (number, change) in enumerate(files):
                if room <= 0:
                    return ready, files[at:]
                if alone():
                    raise InterruptedError("the restore was killed")

                def build(number: int = number, change: Change = change) -> None:
                    nonlocal room
                    room -= self.swapper.prepare(self.swapper.place(nearby, number, change), change)

                if self._try(change, build):
                    ready.append((number, change))
        return ready, []

    def _put_in(self, built: Sequence[tuple[int, Change]]) -> None:
        durable = built if self._all_synced(built) else self._each_synced(built)
        if durable:
            self.journal.note(max(number for number, _ in durable))
        if not sharing.is_worth(len(durable)):
            self._put_in_here(durable)
            return
        half = len(durable) // 2
        _, told = sharing.both(
            lambda: self._put_in_here(durable[:half]), lambda alone: self._put_in_apart(durable[half:], alone)
        )
        if told is None:
            raise OSError("its second process was ended")  # how far it came only a recovery can tell
        done, written, trouble = told
        self._meet(trouble)
        self.swapper.written.update(written)
        self.did |= {number: change for number, change in durable if number in done}

    def _put_in_apart(self, files: Sequence[tuple[int, Change]], alone: Callable[[], bool]) -> Done:
        """Gives files their places in a second process; what became of each, for the first."""
        self._put_in_here(files, alone)
        done = {number for number, _ in files if number in self.did}
        return done, self.swapper.written, self._trouble()

    def _put_in_here(
        self, files: Sequence[tuple[int, Change]], alone: Callable[[], bool] = sharing.never_alone
    ) -> None:
        with Nearby(self.root) as nearby:
            for number, change in files:
                if alone():
                    raise InterruptedError("the restore was killed")

                def put_in(number: int = number, change: Change = change) -> None:
                    self.swapper.put_in(self.swapper.place(nearby, number, change), change)

                if self._try(change, put_in):
                    self.did[number] = change

    def _trouble(self) -> Trouble:
        return self.failed, self.conflicts, self.kept, self.passing

    def _meet(self, trouble: Trouble) -> None:
        """Takes over what a second process met."""
        failed, conflicts, kept, passing = trouble
        self.failed |= failed
        self.conflicts |= conflicts
        self.kept |= kept
        self.passing |= passing

    def _all_synced(self, built: Sequence[tuple[int, Change]]) -> bool:
        if len(built) < MANY:
            return False
        with Nearby(self.root) as nearby:
            try:
                return all_synced(self.root, (nearby.of(change.path)[0] for _, change in built))
            except OSError:
                return False

    def _each_synced(self, built: Sequence[tuple[int, Change]]) -> list[tuple[int, Change]]:
        """Those that could be brought to the disk."""
        with Nearby(self.root) as nearby:

            def make(number: int, change: Change) -> Callable[[], None]:
                return lambda: make_durable(self.swapper.place(nearby, number, change), change)

            return [(number, change) for number, change in built if self._try(change, make(number, change))]

    def _try(self, change: Change, act: Callable[[], object]) -> bool:
        """Whether something could be done for a change; whatever went wrong is named."""
        try:
            act()
        except Changed as changed:
            if not change.implied:
                self.conflicts[change.path] = str(changed)
        except OSError as error:
            if change.after is None and error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                self.kept[change.path] = "the folder holds something that stays"
            else:
                self.fail(change.path, error)
        except (ForkpointError, LookupError, ValueError) as error:
            self.failed[change.path] = str(error)
        else:
            return True
        return False

    def shut_again(self) -> None:
        """Gives folders that were opened up their mode back where what was to follow did not happen."""
        last = {change.path: number for number, change in enumerate(self.journal.changes)}
        for number, change in sorted(self.did.items(), reverse=True):
            if number != last[change.path] and last[change.path] not in self.did and _is_opening(change):
                back = Change(change.path, change.after, change.before)
                with suppress(Changed, OSError):
                    self.swapper.carry(number, back)
                    del self.did[number]

    def finished(self) -> Outcome:
        """Verifies what was done, makes it durable and says what became of each path."""
        changed: dict[bytes, tuple[Node | None, Node | None]] = {}
        whole: list[tuple[bytes, Node | None]] = []
        for path, numbers in chained(self.journal.changes).items():
            carried = [self.did[number] for number in numbers if number in self.did]
            if not carried or carried[-1].implied:
                continue
            changed[path] = carried[0].before, carried[-1].after
            if not self.is_named(path) and len(carried) == len(numbers):
                whole.append((path, carried[-1].after))
        with Nearby(self.root) as nearby:
            told = sharing.each(lambda item: self._differs(nearby, *item), whole)
        found = dict(zip((path for path, _ in whole), told, strict=True))
        self.failed |= {path: why for path, why in found.items() if why}
        done = [path for path, why in found.items() if not why]
        sync(self.root, [change.path for change in self.did.values()])
        return self.outcome(done, changed)

    def outcome(self, done: Sequence[bytes], changed: Mapping[bytes, tuple[Node | None, Node | None]]) -> Outcome:
        """What became of each path."""
        left = tuple(sorted(path for path in self.failed if self._is_left_beside(path)))
        return Outcome(
            tuple(sorted(done)),
            _pairs(self.failed),
            _pairs(self.conflicts),
            _pairs(self.kept),
            left,
            tuple(sorted(self.passing)),
            changed,
        )

    def _is_left_beside(self, path: bytes) -> bool:
        """Whether something stands under one of the path's spare names, or nobody can tell."""
        try:
            with opened_parent(self.root, path) as (folder, name):
                return any(
                    look_in(folder, beside) is not None
                    for number in chained(self.journal.changes)[path]
                    for beside in _spares(Place(folder, name, spare_name(self.journal.token, number)))
                )
        except OSError as error:
            return error.errno not in GONE

    def fail(self, path: bytes, error: OSError) -> None:
        """Names a path with what the system said of it."""
        self.failed[path] = in_words(error)
        if error.errno in PASSING:
            self.passing.add(path)

    def is_named(self, path: bytes) -> bool:
        """Whether something is said of the path already."""
        return path in self.failed or path in self.conflicts or path in self.kept

    def _differs(self, nearby: Nearby, path: bytes, node: Node | None) -> str:
        """Why a path is not what was asked, looked at afresh; "" when it is."""
        try:
            found = self.sight.look(path, nearby)
        except OSError as error:
            return f"it was written, but cannot be verified: {in_words(error)}"
        return "" if found == node else "it was written, but something else stands there now"


def chained(changes: Sequence[Change]) -> dict[bytes, list[int]]:
    """The numbers of the changes of each path, in order."""
    chains: dict[bytes, list[int]] = {}
    for number, change in enumerate(changes):
        chains.setdefault(change.path, []).append(number)
    return chains


def sync(root: int, paths: Iterable[bytes]) -> None:
    """Makes the names of changed paths durable: one fsync a folder. Raises OSError when the disk fails."""
    folders = sorted({path[: path.rfind(b"/") + 1] for path in paths})
    if len(folders) >= MANY:
        with Nearby(root) as nearby, suppress(OSError):
            if all_synced(root, (nearby.of(folder + b".")[0] for folder in folders)):
                return
    for folder in folders:
        try:
            with opened_parent(root, folder + b".") as (descriptor, _):
                os.fsync(descriptor)
        except OSError as error:
            if error.errno not in UNSYNCABLE:
                raise


def in_words(error: OSError) -> str:
    """What went wrong, for a person; a text of our own is taken as it is."""
    code = error.errno or 0
    text = error.strerror or str(error)
    if code in WORDS and text == os.strerror(code):
        return WORDS[code]
    return text[:1].lower() + text[1:]


def _spares(place: Place) -> tuple[bytes, ...]:
    return place.spare, place.new, place.old


def _is_opening(change: Change) -> bool:
    before, after = change.before, change.after
    return before is not None and after is not None and before.kind == after.kind == "folder"


def _pairs(named: Mapping[bytes, str]) -> tuple[tuple[bytes, str], ...]:
    return tuple(sorted(named.items()))
