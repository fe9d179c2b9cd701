"""Which paths are ignored: .gitignore at every level, .git/info/exclude, the person's excludes, .forkpointignore.

The order in which sources speak is git's (gitignore(5)), with .forkpointignore before all others. A path that the
project's index tracks is not ignored, unless .forkpointignore names it. A source that cannot be read is as if it were
empty, and noted as unanswered: a save stands and says so, a restore stops before its first write.
"""

from __future__ import annotations

import errno
import os
import stat

from ..errors import GitFailed
from ..git.process import call_in, personal_setting
from ..light import Iterable, NamedTuple, blake2b
from .patterns import returns_below, speaking, verdict

GIT_FILE = ".gitignore"
OUR_FILE = ".forkpointignore"
NESTED = "nested"
"""Name of a source without patterns, which tells that a repository of its own begins in its folder."""
SETTING = "core.excludesFile"
DAMAGED = (0, 0, -1)
"""Stands for a project's index that could not be read: never that of one that could."""
READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
LARGEST = 4 << 20
"""Bytes: a larger file of patterns is not read."""

Unanswered = dict[str, str]
"""What could not be asked → why: a source's path, relative to the root where it stands in it, or what of git's."""


class Source(NamedTuple):
    """One file of ignore patterns."""

    base: str
    """The folder that its patterns are relative to: "" or "a/b/"; "/a/b/" for one above, which calls the root a/b."""
    name: str
    """.gitignore, .forkpointignore, exclude, global, or nested."""
    text: str


class Rules:
    """The patterns in force in one folder: the weakest source first."""

    __slots__ = ("fingerprint", "sources")

    def __init__(self, sources: tuple[Source, ...] = ()) -> None:
        self.sources = sources
        self.fingerprint = blake2b(repr(sources).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()

    def extended(self, more: Iterable[Source]) -> Rules:
        """These rules and those of a folder below, each kind in its place."""
        ours = [source for source in (*self.sources, *more) if source.name == OUR_FILE]
        others = [source for source in (*self.sources, *more) if source.name != OUR_FILE]
        return Rules((*others, *ours))

    def restarted(self, more: Iterable[Source]) -> Rules:
        """The rules in a nested repository: git's begin anew there, what is said to forkpoint alone goes on."""
        return Rules(tuple(source for source in self.sources if source.name == OUR_FILE)).extended(more)

    def ignore(self, path: str, is_folder: bool) -> bool:
        """Whether the last pattern that speaks of `path` ignores it; its parents are not asked."""
        return self.judge(path, is_folder) is not None

    def judge(self, path: str, is_folder: bool) -> Source | None:
        """The source that ignores `path`, or None."""
        for source in reversed(self.sources):
            name = _called(path, source)
            ignored = verdict(source.text, name, is_folder) if name else None
            if ignored is not None:
                return source if ignored else None
        return None

    def returns(self, path: str, is_folder: bool) -> bool:
        """Whether .forkpointignore brings back this very path, though a folder above it is ignored."""
        for source in reversed(self.sources):
            if source.name == OUR_FILE and (name := _called(path, source)):
                pattern = speaking(source.text, name, is_folder)
                if pattern is not None:
                    return not pattern.ignores and not pattern.names
        return False

    def returns_below(self, folder: str) -> bool:
        """Whether .forkpointignore brings back something in this ignored folder, so that it is to be walked."""
        ours = ((source, _called(folder, source)) for source in self.sources if source.name == OUR_FILE)
        return any(name and returns_below(source.text, name) for source, name in ours)

    def excluded_by_us(self, folder: str) -> bool:
        """Whether it was .forkpointignore that ignores a folder, or the first one above it that is ignored."""
        parts = folder.rstrip("/").split("/")
        for count in range(1, len(parts) + 1):
            source = self.judge("/".join(parts[:count]), True)
            if source is not None:
                return source.name == OUR_FILE
        return False


def _called(path: str, source: Source) -> str:
    """How a path is called where a source stands; "" when it speaks of other folders."""
    if source.base.startswith("/"):
        return source.base[1:] + path
    return path[len(source.base) :] if path.startswith(source.base) else ""


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
        return _ignored(*self._in_folder(parent + "/" if parent else ""), path, is_folder)

    def _in_folder(self, folder: str) -> tuple[Rules, bool]:
        steps: list[str] = []
        while folder not in self._at and folder:
            steps.append(folder)
            folder = folder[: folder.rstrip("/").rfind("/") + 1]
        if folder not in self._at:
            self._at[folder] = (Rules(tuple(self._by_base.get("", ()))), False)
        for step in reversed(steps):
            rules, excluded = self._at[folder]
            excluded = _ignored(rules, excluded, step.rstrip("/"), True)
            own = self._by_base.get(step, ())
            nested = any(source.name == NESTED for source in own)
            self._at[step] = ((rules.restarted if nested else rules.extended)(own) if own else rules, excluded)
            folder = step
        return self._at[folder]


def _ignored(rules: Rules, excluded: bool, path: str, is_folder: bool) -> bool:
    """Whether a path is ignored, in a folder that is (excluded) or is not."""
    return not rules.returns(path, is_folder) if excluded else rules.ignore(path, is_folder)


class Repository:
    """A git repository of the person's at or above a folder, read only (rule 1)."""

    def __init__(self, top: str, prefix: str, unanswered: Unanswered | None = None) -> None:
        self.unanswered: Unanswered = {} if unanswered is None else unanswered
        self.top = top
        """Absolute path of its work tree."""
        self.prefix = prefix
        """The work tree's path relative to our root: "" at or above the root, "a/b/" for one inside."""
        self.git_dir = git_folder(top)
        self._damaged = False
        self._tracked: frozenset[str] | None = None
        self._folders: frozenset[str] = frozenset()

    @property
    def stamp(self) -> tuple[int, int, int]:
        """Changes when the project's index does; one that could not be read has none that lasts."""
        if self._damaged:
            return DAMAGED
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
        listed = call_in(self.top, "ls-files", "-z", "--cached")
        index = os.path.join(self.git_dir, "index")
        if listed is None and os.path.lexists(index):
            self._damaged = True
            self.unanswered[index] = "git cannot read what is tracked"
        listed = listed or b""
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
        common = _common_folder(self.git_dir)
        chosen = _personal_excludes(self.top, {self.git_dir, common}, self.unanswered)
        found = (("global", chosen), ("exclude", os.path.join(common, "info", "exclude")))
        return [Source(base, name, text) for name, file in found if (text := read_text(file, self.unanswered))]


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


def _personal_excludes(folder: str, git_dirs: Iterable[str], unanswered: Unanswered) -> str:
    """The file of the person's global excludes; "" when git does not say which."""
    try:
        chosen = personal_setting(folder, SETTING, git_dirs)
    except GitFailed as error:
        unanswered[SETTING] = error.what
        return ""
    if chosen:
        return os.path.join(folder, chosen)
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(base, "git", "ignore")


def read_text(file: str, unanswered: Unanswered | None = None) -> str:
    """A small text file as it is, or "" when there is none; one that cannot be read is noted."""
    try:
        return _text(os.open(file, READ))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        pass
    except OSError as error:
        if unanswered is not None:
            unanswered[file] = _why(error)
    return ""


def read_text_in(folder: int | None, name: str, path: str, unanswered: Unanswered) -> str:
    """An ignore file in an open folder, as `read_text`; `path` is how it is noted. No link is followed.

    Nor does git follow one: to it a link called .gitignore says nothing. Of one that is called .forkpointignore nobody
    knows what the person expects.
    """
    try:
        return _text(os.open(name, READ | os.O_NOFOLLOW, dir_fd=folder))
    except FileNotFoundError:
        pass
    except OSError as error:
        if error.errno != errno.ELOOP:
            unanswered[path] = _why(error)
        elif name == OUR_FILE:
            unanswered[path] = "a link, which is not followed"
    return ""


def _text(opened: int) -> str:
    """All of an open file, which is closed. Raises OSError for what is no file, or no small one."""
    try:
        kind = stat.S_IFMT(os.fstat(opened).st_mode)
        if kind != stat.S_IFREG:
            raise OSError(errno.EINVAL, "a folder" if kind == stat.S_IFDIR else "no file")
        pieces: list[bytes] = []
        left = LARGEST
        while piece := os.read(opened, left + 1):
            pieces.append(piece)
            left -= len(piece)
            if left < 0:
                raise OSError(errno.EFBIG, f"larger than {LARGEST >> 20} MiB")
        return b"".join(pieces).decode("utf-8", "surrogateescape")
    finally:
        os.close(opened)


def _why(error: OSError) -> str:
    return "not readable" if error.errno == errno.EACCES else error.strerror or "not readable"


def repository_of(root: str, unanswered: Unanswered) -> Repository | None:
    """The git repository whose work tree holds `root`."""
    top = root
    while not os.path.lexists(os.path.join(top, ".git")):
        parent = os.path.dirname(top)
        if parent == top:
            return None
        top = parent
    return Repository(top, "", unanswered)


def outermost(root: str, repository: Repository | None, unanswered: Unanswered) -> Rules:
    """The rules that hold before the root's own files are read: excludes, and .gitignore of folders above the root."""
    if repository is None:
        text = read_text(_personal_excludes(root, (), unanswered), unanswered)
        return Rules((Source("", "global", text),) if text else ())
    sources = list(repository.excludes(_climb(root, repository.top)))
    if repository.top != root:
        sources += _above(root, repository.top, unanswered)
    return Rules(tuple(sources))


def _above(root: str, top: str, unanswered: Unanswered) -> list[Source]:
    """Sources of folders between the work tree's top and the root."""
    found: list[Source] = []
    folder = top
    for part in os.path.relpath(root, top).split(os.sep):
        file = os.path.join(folder, GIT_FILE)
        text = read_text_in(None, file, file, unanswered)
        if text:
            found.append(Source(_climb(root, folder), GIT_FILE, text))
        folder = os.path.join(folder, part)
    return found


def _climb(root: str, folder: str) -> str:
    """The base of a source in a folder at or above the root: how the root is called from there."""
    return "" if folder == root else f"/{os.path.relpath(root, folder)}/"
