"""Which paths are ignored: .gitignore at every level, .git/info/exclude, the person's excludes, .forkpointignore.

The order in which sources speak is git's (gitignore(5)), with .forkpointignore before all others. A path that the
project's index tracks is not ignored, unless .forkpointignore names it.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable
from typing import NamedTuple

from .git.process import call_in, personal_setting
from .patterns import verdict

GIT_FILE = ".gitignore"
OUR_FILE = ".forkpointignore"
READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Source(NamedTuple):
    """One file of ignore patterns."""

    base: str
    """The folder that its patterns are relative to: "" or "a/b/"; "/a/b/" for one above, which calls the root a/b."""
    name: str
    """.gitignore, .forkpointignore, exclude, or global."""
    text: str


class Rules:
    """The patterns in force in one folder: the weakest source first."""

    __slots__ = ("fingerprint", "sources")

    def __init__(self, sources: tuple[Source, ...] = ()) -> None:
        self.sources = sources
        self.fingerprint = hashlib.blake2b(repr(sources).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()

    def extended(self, more: Iterable[Source]) -> Rules:
        """These rules and those of a folder below, each kind in its place."""
        ours = [source for source in (*self.sources, *more) if source.name == OUR_FILE]
        others = [source for source in (*self.sources, *more) if source.name != OUR_FILE]
        return Rules((*others, *ours))

    def ignore(self, path: str, is_folder: bool) -> bool:
        """Whether the last pattern that speaks of `path` ignores it; its parents are not asked."""
        return self.judge(path, is_folder) is not None

    def judge(self, path: str, is_folder: bool) -> Source | None:
        """The source that ignores `path`, or None."""
        for source in reversed(self.sources):
            if source.base.startswith("/"):
                name = source.base[1:] + path
            elif path.startswith(source.base):
                name = path[len(source.base) :]
            else:
                continue
            ignored = verdict(source.text, name, is_folder)
            if ignored is not None:
                return source if ignored else None
        return None


class RuleBook:
    """All ignore sources of a checkpoint, asked about any path: the rules of then (rule 2)."""

    def __init__(self, sources: Iterable[Source]) -> None:
        self._by_base: dict[str, list[Source]] = {}
        for source in sources:
            self._by_base.setdefault("" if source.base.startswith("/") else source.base, []).append(source)
        self._at: dict[str, tuple[Rules, bool]] = {}

    def ignores(self, path: str, is_folder: bool = False) -> bool:
        """Whether `path`, or a folder above it, was ignored."""
        parent = path.rpartition("/")[0]
        rules, excluded = self._in_folder(parent + "/" if parent else "")
        return excluded or rules.ignore(path, is_folder)

    def _in_folder(self, folder: str) -> tuple[Rules, bool]:
        steps: list[str] = []
        while folder not in self._at and folder:
            steps.append(folder)
            folder = folder[: folder.rstrip("/").rfind("/") + 1]
        if folder not in self._at:
            self._at[folder] = (Rules(tuple(self._by_base.get("", ()))), False)
        for step in reversed(steps):
            rules, excluded = self._at[folder]
            excluded = excluded or rules.ignore(step.rstrip("/"), True)
            own = self._by_base.get(step, ())
            self._at[step] = (rules.extended(own) if own else rules, excluded)
            folder = step
        return self._at[folder]


class Repository:
    """A git repository of the person's at or above a folder, read only (rule 1)."""

    def __init__(self, top: str, prefix: str) -> None:
        self.top = top
        """Absolute path of its work tree."""
        self.prefix = prefix
        """The work tree's path relative to our root: "" at or above the root, "a/b/" for one inside."""
        self.git_dir = git_folder(top)
        self._tracked: frozenset[str] | None = None
        self._folders: frozenset[str] = frozenset()

    @property
    def stamp(self) -> tuple[int, int, int]:
        """Changes when the project's index does."""
        try:
            found = os.stat(os.path.join(self.git_dir, "index"))
        except OSError:
            return (0, 0, 0)
        return (found.st_mtime_ns, found.st_size, found.st_ino)

    def tracks(self, path: str, root: str, is_folder: bool) -> bool:
        """Whether the index holds `path` (relative to `root`), or something below it."""
        if self._tracked is None:
            self._load(root)
        return path in self._folders if is_folder else path in (self._tracked or ())

    def _load(self, root: str) -> None:
        listed = call_in(self.top, "ls-files", "-z", "--cached") or b""
        above = os.path.relpath(root, self.top) + "/" if not self.prefix and root != self.top else ""
        names = (os.fsdecode(name) for name in listed.split(b"\0") if name)
        inside = [self.prefix + name[len(above) :] for name in names if name.startswith(above)]
        folders: set[str] = set()
        for name in inside:
            while (name := name.rpartition("/")[0]) and name not in folders:
                folders.add(name)
        self._tracked, self._folders = frozenset(inside), frozenset(folders)

    def excludes(self, base: str) -> list[Source]:
        """The person's global excludes and the repository's own exclude file; `base` as in Source."""
        chosen = (
            personal_setting(self.top, "core.excludesFile", {self.git_dir, _common_folder(self.git_dir)})
            or _default_excludes()
        )
        exclude = os.path.join(_common_folder(self.git_dir), "info", "exclude")
        found = (("global", chosen), ("exclude", exclude))
        return [Source(base, name, text) for name, file in found if (text := read_text(file))]


def git_folder(top: str) -> str:
    """The git folder of a work tree, also where `.git` is a file that names it."""
    path = os.path.join(top, ".git")
    if os.path.isdir(path):
        return path
    text = read_text(path).strip()
    return os.path.normpath(os.path.join(top, text.removeprefix("gitdir:").strip())) if text else path


def _common_folder(git_dir: str) -> str:
    text = read_text(os.path.join(git_dir, "commondir")).strip()
    return os.path.normpath(os.path.join(git_dir, text)) if text else git_dir


def _default_excludes() -> str:
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(base, "git", "ignore")


def read_text(file: str, folder: int | None = None, flags: int = 0) -> str:
    """A small text file as it is (a name in an open folder, if one is given), or "" when there is none to read.

    Nothing but a file has a text: a folder or a FIFO of that name neither stops nor breaks anything.
    """
    try:
        opened = os.open(file, READ | flags, dir_fd=folder)
    except (OSError, ValueError):
        return ""
    try:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            return ""
        pieces: list[bytes] = []
        while piece := os.read(opened, 1 << 20):
            pieces.append(piece)
        return b"".join(pieces).decode("utf-8", "surrogateescape")
    except OSError:
        return ""
    finally:
        os.close(opened)


def repository_of(root: str) -> Repository | None:
    """The git repository whose work tree holds `root`."""
    top = root
    while not os.path.lexists(os.path.join(top, ".git")):
        parent = os.path.dirname(top)
        if parent == top:
            return None
        top = parent
    return Repository(top, "")


def outermost(root: str, repository: Repository | None) -> Rules:
    """The rules that hold before the root's own files are read: excludes, and .gitignore of folders above the root."""
    if repository is None:
        chosen = personal_setting(root, "core.excludesFile") or _default_excludes()
        text = read_text(chosen)
        return Rules((Source("", "global", text),) if text else ())
    sources = list(repository.excludes(_climb(root, repository.top)))
    if repository.top != root:
        sources += _above(root, repository.top)
    return Rules(tuple(sources))


def _above(root: str, top: str) -> list[Source]:
    """Sources of folders between the work tree's top and the root."""
    found: list[Source] = []
    folder = top
    for part in os.path.relpath(root, top).split(os.sep):
        text = read_text(os.path.join(folder, GIT_FILE))
        if text:
            found.append(Source(_climb(root, folder), GIT_FILE, text))
        folder = os.path.join(folder, part)
    return found


def _climb(root: str, folder: str) -> str:
    """The base of a source in a folder at or above the root: how the root is called from there."""
    return "" if folder == root else f"/{os.path.relpath(root, folder)}/"
