"""Workspaces and their roots: which folder a command or hook speaks of, and where its data is."""

from __future__ import annotations

import os
import sys

from . import lightjson as json
from .durable import sync_folder, sync_tree, write_atomic
from .errors import Busy, NoWorkspace, Refused, StoreDamaged, StoreUnwritable, UnsafePlace, storing
from .home import make_folder, settings
from .light import Generator, NamedTuple, Path, contextmanager, lru_cache, suppress
from .locks import held
from .text import path_text
from .waiting import note

UNFINISHED = ".new"
"""How the name of a workspace ends that is being made."""


MADE_ANEW = "this folder was deleted and made anew since it was recorded"


class Root(NamedTuple):
    """A folder that is recorded."""

    id: str
    path: str
    """Its real path."""
    device: int
    inode: int
    birth: str = ""
    """When the folder was made, where the system tells; "" otherwise."""
    role: str = "main"


class Place(NamedTuple):
    """Where everything of one root is."""

    home: Path
    workspace: Path
    root: Root

    @property
    def git_dir(self) -> Path:
        """The object store of the workspace."""
        return self.workspace / "objects.git"

    @property
    def folder(self) -> Path:
        """What belongs to this root alone: stat index, open calls, journal, lock."""
        return self.workspace / "roots" / self.root.id

    @property
    def index_file(self) -> Path:
        """The stat index."""
        return self.folder / "index"

    @property
    def lock_file(self) -> Path:
        """The lock of the root, signed by who holds it."""
        return self.folder / "lock"

    @property
    def journal_file(self) -> Path:
        """The journal of a restore under way."""
        return self.folder / "journal.json"

    @property
    def fork_file(self) -> Path:
        """Names a fork that is being written."""
        return self.folder / "fork.json"

    @property
    def operations_file(self) -> Path:
        """The ref of the operations: replaced by each of them."""
        return self.git_dir / "refs" / "operations"

    @property
    def deleting_file(self) -> Path:
        """Names a deletion of points that is under way."""
        return self.workspace / "deleting"

    @property
    def unreachable_file(self) -> Path:
        """Is there while the store holds what a deletion let go."""
        return self.workspace / "unreachable"

    @property
    def open_calls_file(self) -> Path:
        """What hooks know of running sessions."""
        return self.folder / "open-calls.json"

    @contextmanager
    def locked(self, who: str, wait: float | None = None) -> Generator[None]:
        """Holds the root: no save and no restore of it runs meanwhile. Raises Busy after `wait` seconds."""
        with held(self.lock_file, who=who, wait=settings(self.home).wait if wait is None else wait):
            yield

    @contextmanager
    def writing(self, who: str, wait: float | None = None) -> Generator[None]:
        """Holds the object store for writing. Raises Busy after `wait` seconds."""
        with held(self.workspace / "lock", who=who, wait=settings(self.home).wait if wait is None else wait):
            yield


def real(folder: str | os.PathLike[str]) -> str:
    """The folder's real path; raises UnsafePlace when it is no folder."""
    path = os.path.realpath(folder)
    if not os.path.isdir(path):
        raise UnsafePlace("this is not a folder", path=path, todo="name a project folder with -C")
    return path


def choose(folder: str, home: Path) -> str:
    """The folder that would be the root of `folder`: the nearest root upwards, else the git work tree, else itself.

    A home folder that is a git work tree (people keep their settings so) makes none of the projects below it its own.
    """
    known = places(home)
    paths = {place.root.path for place in known}
    inodes = {(place.root.device, place.root.inode) for place in known}
    never = (os.path.realpath(os.path.expanduser("~")), os.sep)
    work_tree = ""
    at = folder
    while True:
        if at in paths or (_inode_of(at) in inodes and find(at, home) is not None):
            return at
        if not work_tree and at not in never and os.path.lexists(os.path.join(at, ".git")):
            work_tree = at
        parent = os.path.dirname(at)
        if parent == at:
            return work_tree or folder
        at = parent


def refuse_unsafe(root: str) -> None:
    """Raises UnsafePlace for / and the home folder (rule 8)."""
    if root == os.path.dirname(root):
        raise UnsafePlace("forkpoint never records the whole disk", path=root, todo="run it in a project folder")
    if root == os.path.realpath(os.path.expanduser("~")):
        raise UnsafePlace("forkpoint never records the home folder", path=root, todo="run it in a project folder")


def places(home: Path) -> list[Place]:
    """Every root of every workspace that can be read: a damaged one is told, and keeps nobody from the others."""
    found: list[Place] = []
    for workspace in _workspaces(home):
        try:
            found += [Place(home, workspace, root) for root in _roots_of(workspace)]
        except StoreDamaged as error:
            note(str(error))
    return found


def unreadable(home: Path) -> list[StoreDamaged]:
    """Why workspaces cannot be read whose folders nobody knows any more, one error each."""
    found: list[StoreDamaged] = []
    for workspace in _workspaces(home):
        try:
            _roots_of(workspace)
        except StoreDamaged as error:
            found.append(error)
    return found


def _workspaces(home: Path) -> list[Path]:
    try:
        found = (home / "workspaces").iterdir()
        return sorted(workspace for workspace in found if workspace.suffix != UNFINISHED)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except PermissionError as error:
        raise StoreUnwritable("the store cannot be read", path=str(error.filename), todo="check its owner") from None


def _roots_of(workspace: Path) -> list[Root]:
    file = workspace / "roots.json"
    try:
        found = os.stat(file)
        return list(_listed(file, (found.st_ino, found.st_size, found.st_mtime_ns)))
    except (FileNotFoundError, NotADirectoryError):
        if not (workspace / "objects.git").is_dir():
            return []
        raise _nobodys(workspace, "is gone") from None
    except OSError as error:
        raise StoreDamaged(
            f"a workspace cannot be read ({error.strerror})", path=str(file), todo="check its owner"
        ) from None
    except (ValueError, KeyError, TypeError):
        raise _nobodys(workspace, "cannot be read") from None


@lru_cache(maxsize=256)
def _listed(file: Path, stamp: tuple[int, ...]) -> tuple[Root, ...]:
    """What a list of roots holds that looked so: the app asks for it whenever it looks for something new."""
    del stamp
    data = json.loads(file.read_bytes())
    return tuple(Root(**item) for item in data["roots"])


def _nobodys(workspace: Path, how: str) -> StoreDamaged:
    return StoreDamaged(
        f"the list of roots of a workspace {how}, so what it holds is not found",
        path=str(workspace / "roots.json"),
        todo="bring that file back; else its folder is recorded anew, in another workspace",
    )


def find(root: str, home: Path) -> Place | None:
    """The place of a root: by path and inode, else by inode alone: a folder that was moved, or has two names.

    Two names are those that differ in case on a disk that does not care, and a folder that is mounted twice. Raises
    NoWorkspace when the folder is not there any more.
    """
    found = _stat_of(root)
    mine = [place for place in places(home) if (place.root.device, place.root.inode) == (found.st_dev, found.st_ino)]
    for place in mine:
        if place.root.path == root and not _made_anew(place, found):
            return place
    for place in mine:
        if place.root.path != root and _born_alike(place.root, root):
            there = _inode_of(place.root.path) == (found.st_dev, found.st_ino)
            return place if there else _moved(place, root)
    return None


def _stat_of(root: str) -> os.stat_result:
    try:
        return os.stat(root)
    except (FileNotFoundError, NotADirectoryError):
        raise NoWorkspace("the folder is not there any more", path=root, todo="name another one: -C") from None
    except OSError as error:
        what = f"the folder cannot be looked at ({error.strerror})"
        raise NoWorkspace(what, path=root, todo="check its owner, and that of the folders above") from None


def _inode_of(folder: str) -> tuple[int, int] | None:
    try:
        found = os.stat(folder)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _born_alike(root: Root, folder: str) -> bool:
    """Whether a folder with the root's inode was made when the root was; what the system does not tell counts as so."""
    return not root.birth or birth_of(folder) in ("", root.birth)


def replaced(root: str, home: Path) -> Place | None:
    """The place of a root that had this path but another inode: deleted and cloned anew. The one used last, of several.

    Raises NoWorkspace when the folder is not there any more.
    """
    stat = _stat_of(root)
    found = [place for place in places(home) if place.root.path == root and not _is_of(place, stat)]
    return max(found, key=_last_used, default=None)


def former(root: str, home: Path) -> list[Place]:
    """Records of folders that stood at this path before the one that is recorded now; that used last comes first."""
    now = find(root, home)
    found = [place for place in places(home) if now is not None and place.root.path == root and place != now]
    return sorted(found, key=_last_used, reverse=True)


def take_over(root: str, home: Path) -> Place | None:
    """Lets the record of a folder that had this path go on in the one that stands there; None where there is none.

    The record that the folder has by now is one of a former folder from then on: nothing of it is lost, and it can be
    taken up again. Of several the one is taken that was laid aside first. Raises StoreUnwritable, Busy.
    """
    make_folder(home)
    with held(home / "lock", who="a folder made anew"):
        now = find(root, home)
        others = former(root, home)
        old = replaced(root, home) if now is None else min(others, key=_laid_aside, default=None)
        if old is None:
            return None
        if now is not None:
            # This one first: a crash in between leaves a folder that nobody knows, and that can be asked about again.
            _bind(now, now.root._replace(device=0, inode=0, birth=""))
        stat = _stat_of(root)
        return _bind(old, old.root._replace(device=stat.st_dev, inode=stat.st_ino, birth=birth_of(root)))


def _bind(place: Place, root: Root) -> Place:
    """Writes down which folder a record belongs to."""
    with place.locked("a folder made anew"), storing(place.workspace):
        place.index_file.unlink(missing_ok=True)  # it is about another folder's files
        known = _roots_of(place.workspace)
        _write(place.workspace, [root if item.id == root.id else item for item in known])
    return place._replace(root=root)


def _last_used(place: Place) -> float:
    return _time_of(place.workspace / "ledger")


def _laid_aside(place: Place) -> float:
    return _time_of(place.workspace / "roots.json")


def _time_of(file: Path) -> float:
    try:
        return os.stat(file).st_mtime
    except OSError:
        return 0.0


def _is_of(place: Place, stat: os.stat_result) -> bool:
    """Whether a place is that of the very folder which stands at its path."""
    return (place.root.device, place.root.inode) == (stat.st_dev, stat.st_ino) and not _made_anew(place, stat)


def _made_anew(place: Place, stat: os.stat_result) -> bool:
    """Whether the folder is another one under the same path and a reused inode.

    A folder that did not change since the last checkpoint was taken cannot be: then nobody has to be asked.
    """
    try:
        if stat.st_ctime_ns <= os.stat(place.index_file).st_mtime_ns:
            return False
    except FileNotFoundError:
        pass
    born = birth_of(place.root.path) if place.root.birth else ""
    # What the system does not tell now (there is no stat on PATH) is no other folder.
    return bool(born) and born != place.root.birth


def _moved(place: Place, root: str) -> Place:
    """The place of a folder that was moved: written down where that is possible, and told."""
    moved = place._replace(root=place.root._replace(path=root))
    with suppress(StoreUnwritable, Busy, OSError), held(place.home / "lock", who="a moved folder", wait=1.0):
        known = _roots_of(place.workspace)
        _write(place.workspace, [moved.root if item.id == moved.root.id else item for item in known])
        note(f"{path_text(root)} was {path_text(place.root.path)} before: its record goes on here")
    return moved


def adopt(root: str, home: Path, *, anew: bool = False) -> Place:
    """The place of a root, made if there is none. Raises UnsafePlace, StoreUnwritable.

    A folder that was deleted and made anew under a recorded path is another one: a person is asked (Refused) before
    it gets a record of its own, unless `anew`.
    """
    refuse_unsafe(root)
    existing = find(root, home)
    if existing is not None:
        return existing
    if not anew and replaced(root, home) is not None:
        raise Refused(
            MADE_ANEW,
            path=root,
            todo="forkpoint recover goes on with its record; forkpoint save --yes begins another, the old one stays",
        )
    try:
        make_folder(home)
        with held(home / "lock", who="a new workspace"):
            existing = find(root, home)
            if existing is not None:
                return existing
            return _make(root, home)
    except OSError as error:
        raise StoreUnwritable(
            "the store cannot be written", path=str(error.filename or home), todo=f"{error.strerror}: forkpoint doctor"
        ) from None


def _make(root: str, home: Path) -> Place:
    """Makes a workspace under a name that nobody looks at, and gives it its own when it is whole and on the disk."""
    folder = make_folder(home / "workspaces")
    _clear_unfinished(folder)
    stat = os.stat(root)
    workspace = folder / os.urandom(8).hex()
    made = Root(os.urandom(4).hex(), root, stat.st_dev, stat.st_ino, birth_of(root))
    place = Place(home, make_folder(workspace.with_suffix(UNFINISHED)), made)
    make_folder(place.folder)
    from .git import process  # once in the life of a workspace

    process.create(place.git_dir)
    _write(place.workspace, [place.root])
    sync_tree(place.workspace)
    os.rename(place.workspace, workspace)
    sync_folder(folder)
    return place._replace(workspace=workspace)


def _clear_unfinished(folder: Path) -> None:
    """Removes what a killed maker left; the caller holds the lock of all makers."""
    for left in folder.glob(f"*{UNFINISHED}"):
        import shutil  # no hook's, unless there was such a one

        shutil.rmtree(left, ignore_errors=True)


def _write(workspace: Path, roots: list[Root]) -> None:
    data = json.dumps({"roots": [root._asdict() for root in roots]}, indent=1).encode()
    write_atomic(workspace / "roots.json", data)


def birth_of(folder: str) -> str:
    """When a folder was made; "" where the system does not tell. os.stat has it on macOS only."""
    found = os.stat(folder)
    made = getattr(found, "st_birthtime", None)
    if made is not None or not sys.platform.startswith("linux"):
        return str(made or "")
    return _asked_birth(folder, found.st_dev, found.st_ino, found.st_ctime_ns)


@lru_cache(maxsize=64)
def _asked_birth(folder: str, *unchanged: int) -> str:
    """The answer of stat(1), asked once while the folder is `unchanged`: some look every second."""
    import subprocess

    try:
        done = subprocess.run(["stat", "-c", "%W", folder], capture_output=True, check=False)
    except OSError:
        return ""
    text = done.stdout.decode().strip()
    return "" if text in ("0", "-") else text
