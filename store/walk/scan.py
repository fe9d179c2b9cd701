"""Walking a root: what is there now, against what the stat index knows.

Links are never followed: folders are opened by descriptor with O_NOFOLLOW, so that a path swapped for a link while
we walk leads nowhere (rule 5). A file that changes while it is read is read again (rule 7).
"""

from __future__ import annotations

import os
import stat

from ..errors import Refused
from ..light import Collection
from ..states import usual_mode
from .found import Change, Limits, Scan
from .ignore import (
    DAMAGED,
    GIT_FILE,
    NESTED,
    OUR_FILE,
    Repository,
    Source,
    Unanswered,
    outermost,
    read_text_in,
    repository_of,
)
from .judging import Ground, Judge
from .levels import OPEN_FOLDER, OPEN_LEVELS, Level
from .reading import Reader, Sink, why
from .secrets import LEFT_OUT, looks_secret
from .sighting import sight, within
from .statindex import FileInfo, Folder, Index, packed_files
from .vouching import Vouching, begun

RULES = frozenset((".git", GIT_FILE, OUR_FILE))
"""Names that say what is ignored in their folder."""
SPARE = ".forkpoint-"
"""How the names begin that a restore uses beside the paths it changes."""


def scan(
    root: str,
    index: Index,
    limits: Limits,
    sink: Sink | None = None,
    temporary: str | None = None,
    vouching: Vouching | None = None,
) -> Scan:
    """Walks `root`, reading what the index does not vouch for; new bytes go to `sink`.

    `temporary` is a folder for copies of files too large for memory. `vouching` looks through the folders of this index
    already. Raises OSError when the root itself cannot be opened.
    """
    return _Walk(root, index, limits, sink, temporary, vouching).run()


class _Walk:
    def __init__(
        self,
        root: str,
        index: Index,
        limits: Limits,
        sink: Sink | None,
        temporary: str | None,
        vouching: Vouching | None,
    ) -> None:
        self.root = root
        self.index = index
        self.limits = limits
        self.own = within(root, limits.own)
        self.folders: dict[str, Folder] = {}
        self.changed: dict[str, Change] = {}
        self.reader = Reader(limits.largest_file, sink, temporary)
        self.sources: list[Source] = []
        self.stamps: dict[str, tuple[int, int, int]] = {}
        self.repositories: list[Repository] = []
        self.unanswered: Unanswered = {}
        self.modes_changed = False
        self.holding: set[str] = set()
        self.passed: list[str] = []
        """Ignored folders that hold something tracked or named."""
        self.read = 0
        """Files that the index did not vouch for."""
        self.vouching = vouching

    def run(self) -> Scan:
        repository = repository_of(self.root, self.unanswered)
        rules = outermost(self.root, repository, self.unanswered)
        self.sources += rules.sources
        if repository is not None:
            self.repositories.append(repository)
            self.stamps[""] = repository.stamp
        self.vouching = self.vouching or begun(self.root, self.index, lambda: self.own, self.limits.skip)
        try:
            top = os.open(self.root, OPEN_FOLDER & ~os.O_NOFOLLOW)
            self._descend(top, Ground("", rules, repository, False))
        finally:
            if self.vouching is not None:
                self.vouching.end()
        for path in self.index.folders.keys() - self.folders.keys():
            self.modes_changed = True
            for name, info in self.index.folders[path].files.items():
                self.changed[path + name] = Change(info, None)
        # What was judged with an index that could not be read is judged again next time.
        self.stamps |= {item.prefix: item.stamp for item in self.repositories if item.stamp == DAMAGED}
        return Scan(
            self.folders,
            self.changed,
            self.reader.uncaptured,
            frozenset(self.reader.moving),
            tuple(self.sources),
            self.stamps,
            self.modes_changed,
            frozenset(self.holding),
            self._hollow(),
            self.limits.named,
            unanswered=self.unanswered,
        )

    def _hollow(self) -> frozenset[str]:
        found: set[str] = set()
        for path in sorted(self.passed, reverse=True):
            folder = self.folders.get(path)
            if folder and not folder.file_count and all(f"{path}{name}/" in found for name in folder.folders):
                found.add(path)
        return frozenset(found)

    def _descend(self, top: int, place: Ground) -> None:
        """Depth first. Only the deepest folders on the way stay open: there are few descriptors and deep trees."""
        stack = [Level(top, self._list(top, place))]
        while stack:
            level = stack[-1]
            if level.below:
                self._go_down(stack, level.below.pop())
                continue
            stack.pop()
            if stack and not stack[-1].reopened(level.descriptor):
                self._give_up(stack)
            os.close(level.descriptor)

    def _go_down(self, stack: list[Level], inner: Ground) -> None:
        name = inner.path[:-1].rpartition("/")[2]
        old = self.index.folders.get(inner.path)
        if old is not None and not old.folders and self._vouched_for(inner, old):
            if inner.excluded:
                self.passed.append(inner.path)
            self._as_before(old.mode, inner, old)
            return
        try:
            opened = os.open(name, OPEN_FOLDER, dir_fd=stack[-1].descriptor)
        except OSError as error:
            self._keep_unread(inner.path, why(error))
            return
        try:
            stack.append(Level(opened, self._list(opened, inner)))
        except OSError as error:
            os.close(opened)
            self._keep_unread(inner.path, why(error))
        if len(stack) > OPEN_LEVELS:
            stack[-1 - OPEN_LEVELS].shut()

    def _give_up(self, stack: list[Level]) -> None:
        """The way back is another one: what was not walked yet is not known."""
        for level in stack:
            for inner in level.below:
                self._keep_unread(inner.path, "moved while it was read")
        stack.clear()

    def _keep_unread(self, path: str, reason: str) -> None:
        """A folder that cannot be read is uncaptured, with all below it: nothing is said of its files (rule 7)."""
        self.reader.uncaptured[path[:-1]] = reason

    def _list(self, descriptor: int, place: Ground) -> list[Ground]:
        """Captures one folder's files; gives the folders below it that are to be walked."""
        if place.excluded:
            self.passed.append(place.path)
        old = self.index.folders.get(place.path)
        if old is not None and self._vouched_for(place, old):
            return self._as_before(stat.S_IMODE(os.fstat(descriptor).st_mode), place, old)
        seen = sight(descriptor, place.path, self.own, self.limits.skip)
        for name in seen.own:
            self.reader.uncaptured[place.path + name] = "the agent's own"
            self.holding.add(place.path)
        place = self._own_rules(descriptor, place, seen.stats)
        judge = self._judge(place, old)
        if old is not None and seen.mark and old.seen == seen.mark and judge.holds:
            return self._as_before(stat.S_IMODE(os.fstat(descriptor).st_mode), place, old)
        return self._anew(descriptor, place, old, judge, seen.stats, seen.mark)

    def _vouched_for(self, place: Ground, old: Folder) -> bool:
        """Whether the second process saw the folder as it was, and what was judged of its names holds."""
        if self.vouching is None or old.rules_inside or not self.vouching.same(place.path):
            return False
        return self._judge(place, old).holds

    def _judge(self, place: Ground, old: Folder | None) -> Judge:
        prefix = place.repository.prefix if place.repository else ""
        same_index = self.stamps.get(prefix) == self.index.stamps.get(prefix)
        named = self.limits.named.get(place.path, ())
        return Judge(place, old, self.root, named, self.limits.secrets, same_index)

    def _as_before(self, mode: int, place: Ground, old: Folder) -> list[Ground]:
        """A folder that is listed as it was: nothing in it has to be looked at."""
        if mode != old.mode:
            self.modes_changed = True
        self.folders[place.path] = old if mode == old.mode else old._replace(mode=mode)
        if old.holds:
            self.holding.add(place.path)
        return [place._replace(path=f"{place.path}{name}/", excluded=f"{name}/" in old.forced) for name in old.folders]

    def _anew(
        self,
        descriptor: int,
        place: Ground,
        old: Folder | None,
        judge: Judge,
        stats: dict[str, os.stat_result],
        seen: bytes,
    ) -> list[Ground]:
        """A folder of which something changed: each name is judged, and read unless the index vouches for it."""
        known = old.files if old else {}
        files: dict[str, FileInfo] = {}
        odd: dict[str, int] = {}
        below: list[Ground] = []
        secrets: list[str] = []
        for name, found in stats.items():
            is_folder = stat.S_ISDIR(found.st_mode)
            excluded = None if self._never(name, found) else judge.ignored(name, is_folder)
            if excluded is None:
                self.holding.add(place.path)
                continue
            if is_folder:
                below.append(place._replace(path=f"{place.path}{name}/", excluded=excluded))
                continue
            info = known.get(name)
            if looks_secret(name) and stat.S_ISREG(found.st_mode):
                if not self.limits.secrets:
                    self.reader.uncaptured[place.path + name] = LEFT_OUT
                    seen = b""
                    continue
                secrets.append(name)
            if info is None or not _vouched(info, found):
                info = self._changed(descriptor, place.path + name, name, found, info)
            if info is None:
                seen = b""
                continue
            files[name] = info
            if info[3] == 0:
                seen = b""
            if stat.S_ISREG(found.st_mode) and stat.S_IMODE(info[0]) != usual_mode(info[0]):
                odd[name] = stat.S_IMODE(info[0])
        for name in known.keys() - files.keys():
            self.changed[place.path + name] = Change(known[name], None)
        secrets = [name for name in secrets if name in files]
        self._finish(descriptor, place, old, judge, files, odd, below, seen, secrets, stats)
        return below

    def _never(self, name: str, found: os.stat_result) -> bool:
        """Whether no checkpoint captures this, whatever the rules say: a `.git`, our own store, a restore's spare."""
        if name.lower() == ".git" or (name.startswith(SPARE) and _is_spare(name)):
            return True
        return stat.S_ISDIR(found.st_mode) and (found.st_dev, found.st_ino) in self.limits.skip

    def _changed(
        self, descriptor: int, path: str, name: str, found: os.stat_result, old: FileInfo | None
    ) -> FileInfo | None:
        """Reads what the index does not vouch for, and notes how it differs from the index."""
        new = self.reader.info(descriptor, path, name, found, old)
        self.read += 1
        if 0 < self.limits.ceiling < self.read:
            raise Refused(
                f"this folder holds more than {self.limits.ceiling:,} files that are not ignored",
                path=self.root,
                todo="ignore some in .forkpointignore, or take the first checkpoint with: forkpoint save --yes",
            )
        if new is not None and (old is None or old[5] != new[5] or _git_mode(old[0]) != _git_mode(new[0])):
            self.changed[path] = Change(old, new)
        if new is not None and old is not None and old[0] != new[0]:
            self.modes_changed = True
        return new

    def _finish(
        self,
        descriptor: int,
        place: Ground,
        old: Folder | None,
        judge: Judge,
        files: dict[str, FileInfo],
        odd: dict[str, int],
        below: list[Ground],
        seen: bytes,
        secrets: list[str],
        names_seen: Collection[str],
    ) -> None:
        mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
        names = tuple(inner.path[len(place.path) : -1] for inner in below)
        self.folders[place.path] = Folder(
            mode,
            judge.fingerprint,
            packed_files(files),
            len(files),
            sum(info[1] for info in files.values()),
            tuple(judge.out),
            tuple(judge.forced),
            names,
            odd,
            place.path in self.holding,
            seen,
            tuple(secrets),
            old.tree if old is not None else b"",
            not RULES.isdisjoint(names_seen),
        )
        if old is None or old.mode != mode or bool(files or names) != bool(old.file_count or old.folders):
            self.modes_changed = True

    def _own_rules(self, descriptor: int, place: Ground, dotted: Collection[str]) -> Ground:
        """The rules inside this folder: a nested repository starts anew, ignore files add theirs."""
        rules, repository = place.rules, place.repository
        if ".git" in dotted and place.path:
            repository = Repository(os.path.join(self.root, place.path[:-1]), place.path, self.unanswered)
            self.repositories.append(repository)
            self.stamps[place.path] = repository.stamp
            begun = [Source(place.path, NESTED, ""), *repository.excludes(repository.prefix)]
            self.sources += begun
            rules = rules.restarted(begun)
        own = [
            Source(place.path, name, text)
            for name in (GIT_FILE, OUR_FILE)
            if name in dotted and (text := read_text_in(descriptor, name, place.path + name, self.unanswered))
        ]
        if own:
            self.sources += own
            rules = rules.extended(own)
        return place._replace(rules=rules, repository=repository)


def _vouched(info: FileInfo, found: os.stat_result) -> bool:
    """Whether the index knows the bytes of a file that looks like this."""
    return info[:5] == (found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


def _is_spare(name: str) -> bool:
    """Whether it is exactly such a name: people's own files may begin like that."""
    from ..restore.paths import SPARE as spare  # rarely needed, and a hook has to start quickly

    return spare.fullmatch(os.fsencode(name)) is not None


def _git_mode(mode: int) -> int:
    return stat.S_IFMT(mode) | (mode & 0o100)
