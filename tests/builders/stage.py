"""A project with its store and its agent, put back as it was for every fault; and the laws that hold after each.

A fault may strike anywhere. Whatever is left of it, the next command finds: a store that verifies, every checkpoint
that was reported as made, byte for byte, and the workspace as before, as asked, or as an interrupted restore that says
so of itself.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from forkpoint.store.api import Store
from forkpoint.store.git import process
from forkpoint.store.states import Node

from .faults import Ended
from .folder import blob_id
from .folders import seen
from .powercut import Image
from .recorded import Recorded

Files = dict[bytes, tuple[str, int, bytes]]
"""Path → kind, permission bits, bytes or target: see `folders.seen`."""
TOPS = ("project", "data", "claude", "temporary")


@dataclass
class Stage:
    """Everything that forkpoint may write to."""

    top: Path
    known: dict[str, Files] = field(default_factory=dict[str, Files])
    """Checkpoints that were reported as made, and what they hold."""
    acts: list[str] = field(default_factory=list[str])
    """Operations that were reported as done."""
    before: Files = field(default_factory=Files)
    """The workspace before the act, which is as it was kept unless a scene says otherwise …"""
    asked: Files = field(default_factory=Files)
    """… and as the act leaves it when nothing happens to it."""
    agent: Recorded | None = None

    @property
    def project(self) -> Path:
        return self.top / "project"

    @property
    def data(self) -> Path:
        return self.top / "data"

    @property
    def claude(self) -> Path:
        return self.top / "claude"

    @property
    def tops(self) -> list[Path]:
        return [self.top / name for name in TOPS]

    def store(self) -> Store:
        return Store.open(self.project)

    def save(self, label: str = "") -> str:
        """A checkpoint that the laws know of."""
        saved = self.store().save(label=label)
        self.known[saved.id] = seen(self.project)
        return saved.id

    def keep(self) -> None:
        """Remembers everything as it is now: each `reset` leads back here."""
        kept = self.top / "kept"
        shutil.rmtree(kept, ignore_errors=True)
        for top in self.tops:
            shutil.copytree(top, kept / top.name, symlinks=True)
        self.before = self.before or seen(self.project)
        self.acts = [act.id for act in self.store().operations()] if self.store().exists else []

    def reset(self) -> None:
        """Everything as it was kept; the folders themselves stay, since a root is known by its inode."""
        self.clear()
        for top in self.tops:
            shutil.copytree(self.top / "kept" / top.name, top, symlinks=True, dirs_exist_ok=True)

    def lay(self, image: Image) -> None:
        """Everything as a power cut left it."""
        self.clear()
        image.lay()

    def clear(self) -> None:
        for top in self.tops:
            emptied(top)

    def files(self) -> Files:
        """The workspace without what a restore keeps beside its paths."""
        return {path: thing for path, thing in seen(self.project).items() if b".forkpoint-" not in path}

    def all(self) -> Files:
        """Everything there is, by absolute path: as `powercut.Image.tree` tells it."""
        found: Files = {}
        for top in self.tops:
            base = os.fsencode(top)
            found[base] = ("folder", stat.S_IMODE(os.stat(top).st_mode), b"")
            found |= {os.path.join(base, path): thing for path, thing in everything(base).items()}
        return found


def made_stage(top: Path, patch: pytest.MonkeyPatch) -> Stage:
    """An empty stage; git and Python sync nothing on it, since only processes die."""
    for name in (*TOPS, "person"):
        (top / name).mkdir(parents=True)
    patch.setenv("FORKPOINT_HOME", str(top / "data"))
    patch.setenv("CLAUDE_CONFIG_DIR", str(top / "claude"))
    patch.setenv("TMPDIR", str(top / "temporary"))
    patch.setattr("tempfile.tempdir", None)
    patch.setattr(os, "fsync", lambda descriptor: None)
    patch.setattr(process, "SETTINGS", tuple(s.replace("fsync=all", "fsync=none") for s in process.SETTINGS))
    return Stage(top)


def emptied(folder: Path) -> None:
    """Empties a folder, whatever the modes of what it holds."""
    for name in os.listdir(folder):
        full = folder / name
        if full.is_dir() and not full.is_symlink():
            for inner, _, _ in os.walk(full):
                os.chmod(inner, 0o700)
            shutil.rmtree(full)
        else:
            full.unlink()


def everything(base: bytes) -> Files:
    """All that stands in a folder, a `.git` too."""
    found: Files = {}
    for folder, folders, files in os.walk(base):
        for name in folders + files:
            full = os.path.join(folder, name)
            mode = os.lstat(full).st_mode
            path = os.path.relpath(full, base)
            if stat.S_ISLNK(mode):
                found[path] = ("link", 0, os.readlink(full))
            elif stat.S_ISDIR(mode):
                found[path] = ("folder", stat.S_IMODE(mode), b"")
            else:
                found[path] = ("file", stat.S_IMODE(mode), Path(os.fsdecode(full)).read_bytes())
    return found


@dataclass(frozen=True)
class Laws:
    """What has to hold whatever happened to one act."""

    stage: Stage
    asked: Files
    """The workspace when the act was done to its end."""
    theirs: Files
    """The agent's files then."""
    going: tuple[str, ...] = ()
    """Checkpoints that the act deletes: all or none."""
    whole: bool = True
    """Whether the workspace is wholly as before or as asked; else single paths may have failed by name."""
    reopened: Callable[[Stage], Path] | None = None
    """A folder that was shut, and is opened again before anything is looked at."""

    def check(self, ended: Ended, back: bool) -> None:
        """Looks at what is left by the next commands; `back`: what was interrupted is rolled back, else finished."""
        assert ended.known, ended.error
        if ended.error:
            assert "Traceback" not in ended.error and "\n" not in ended.error
            assert ended.exit in (1, 3)
        if self.reopened is not None:
            self.reopened(self.stage).chmod(0o755 if self.stage.project in _above(self.reopened(self.stage)) else 0o700)
        reported: Mapping[str, Any] = ended.value or {}
        self._next_save(seen(self.stage.project))
        store = self.stage.store()
        if store.interrupted:
            self._recover(store, back)
        else:
            self._as_before_or_as_asked(ended, reported)
            assert all(finding.ok for finding in store.recover())
        self._store_is_whole(reported)
        self._nothing_left_over()
        self._nothing_of_others_lost()
        self._no_branch_that_nobody_asked_for(store)

    def _next_save(self, present: Files) -> None:
        """It works at once, and touches no file of the workspace, whatever was interrupted (rule 3)."""
        stage = self.stage
        saved = stage.store().save(label="after")
        assert seen(stage.project) == present, "a save changed the workspace"
        expected = {path: thing for path, thing in present.items() if b".forkpoint-" not in path}
        assert held_by(stage.store(), saved.id) == nodes(expected), "the next checkpoint holds something else"

    def _recover(self, store: Store, back: bool) -> None:
        """What is left of an interrupted restore is named path by path, and then settled."""
        told = dict(store.status().unsettled)
        found, wanted = self.stage.files(), self.stage.before if back else self.asked
        differing = {path for path in found.keys() | wanted.keys() if found.get(path) != wanted.get(path)}
        assert not {path for path in differing if not _is_around(path, told.keys())}
        findings = store.recover(back=back)
        assert not store.interrupted
        bad = [finding.what for finding in findings if not finding.ok]
        assert not bad, bad
        assert self.stage.files() == wanted, difference(self.stage.files(), wanted)

    def _as_before_or_as_asked(self, ended: Ended, reported: Mapping[str, Any]) -> None:
        found, before, asked = self.stage.files(), self.stage.before, self.asked
        if self.whole:
            assert found in ([asked] if reported.get("acts") else [before, asked]), difference(found, asked)
            return
        told = {os.fsencode(path) for path in reported.get("named", ())}
        for path in found.keys() | before.keys() | asked.keys():
            thing = found.get(path)
            assert thing in (before.get(path), asked.get(path)), path
            if reported.get("acts") and thing != asked.get(path):
                assert _is_around(path, told), f"{path!r} is not as asked and nobody said so"
        # What was recorded, though nobody can be sure that it is on the disk, is told as an error, and is done.
        stopped = "stopped in the middle" in ended.error and found == asked
        assert not ended.error or stopped or found == before, "refused, and yet something was changed"

    def _nothing_left_over(self) -> None:
        spares = [path for path in seen(self.stage.project) if b".forkpoint-" in path]
        loose = [path for path in everything(os.fsencode(self.stage.data)) if _is_temporary(path)]
        strays = [path for path in everything(os.fsencode(self.stage.claude)) if path.endswith(b".tmp")]
        assert not [*spares, *loose, *strays], [*spares, *loose, *strays]

    def _nothing_of_others_lost(self) -> None:
        """The project's own git and the agent's files are as they were, or as the act leaves them."""
        kept = self.stage.top / "kept"
        git = b"project/.git"
        assert everything(os.path.join(os.fsencode(self.stage.top), git)) == everything(
            os.path.join(os.fsencode(kept), git)
        )
        now = everything(os.fsencode(self.stage.claude))
        trash = {file.read_bytes() for file in self.stage.data.glob("workspaces/*/trash/*")}
        for path, thing in everything(os.fsencode(kept / "claude")).items():
            assert now.get(path) in (thing, self.theirs.get(path)), path
            assert path in now or thing[2] in trash, path

    def _no_branch_that_nobody_asked_for(self, store: Store) -> None:
        """A new session file stands only where a recorded fork names it."""
        acts = store._workspace.acts()  # pyright: ignore[reportPrivateUsage]
        forks = {os.fsencode(os.path.relpath(act.fork["file"], self.stage.claude)) for act in acts if act.fork}
        kept = everything(os.fsencode(self.stage.top / "kept" / "claude"))
        new = everything(os.fsencode(self.stage.claude)).keys() - kept.keys() - self.theirs.keys() - forks
        assert not [path for path in new if path.endswith(b".jsonl")], new
        assert not list(self.stage.data.glob("workspaces/*/roots/*/fork.json"))

    def _store_is_whole(self, reported: Mapping[str, Any]) -> None:
        store = self.stage.store()
        bad = [finding for finding in store.verify() if not finding.ok]
        assert not bad, bad
        known = {**self.stage.known, **reported.get("points", {})}
        there = {act.id: act for act in store.operations()}
        left = [point for point in self.going if is_there(store, point)]
        assert left in ([], list(self.going)), "some of the points were deleted"
        assert left or not self.going or any(act.kind == "delete" for act in there.values())
        assert not left or not reported.get("gone"), "points were reported as deleted, and are there"
        for point, files in known.items():
            if point not in self.going or left:
                assert held_by(store, point) == nodes(files), f"checkpoint {point} is not what it was"
        missing = {*self.stage.acts, *reported.get("acts", ())} - there.keys()
        assert not missing, f"operations {missing} were reported and are not there"


def _above(folder: Path) -> tuple[Path, ...]:
    return (folder, *folder.parents)


def is_there(store: Store, point: str) -> bool:
    """Whether a checkpoint's files are kept."""
    return store._workspace.stored(point) is not None  # pyright: ignore[reportPrivateUsage]


def held_by(store: Store, point: str) -> dict[bytes, Node]:
    """What a checkpoint holds; its bytes are hashed by `verify`."""
    workspace = store._workspace  # pyright: ignore[reportPrivateUsage]
    stored = workspace.stored(point)
    assert stored is not None, f"checkpoint {point} is gone"
    return {path: node for path, node in workspace.objects().state(stored).items() if node.kind != "folder"}


def nodes(files: Files) -> dict[bytes, Node]:
    """Files and links as the engine speaks of them."""
    return {
        path: Node(kind, mode if kind == "file" else 0, blob_id(data))
        for path, (kind, mode, data) in files.items()
        if kind in ("file", "link")
    }


def difference(one: Files, other: Files) -> str:
    """The paths that two folders do not have alike."""
    return repr(sorted(path for path in one.keys() | other.keys() if one.get(path) != other.get(path)))


def _is_around(path: bytes, told: Collection[bytes]) -> bool:
    """Whether a path was named, or is a folder that comes or goes with what was named in it."""
    return path in told or any(other.startswith(path + b"/") or path.startswith(other + b"/") for other in told)


def _is_temporary(path: bytes) -> bool:
    name = os.path.basename(path)
    ours = name.endswith((b".tmp", b".new")) or name.startswith(b"tmp_")
    return ours or (name.endswith(b".lock") and b"objects.git" in path)
