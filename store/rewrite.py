"""Changes to files that belong to other programs: what stood there is kept, the new bytes take its place at once."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from .durable import beside, sync_folder, write_all, write_atomic
from .errors import ForkpointError, Refused


@dataclass(frozen=True, slots=True)
class Change:
    """What is done, or was done, to a file."""

    file: str
    """The file's path; a link's own, not its target's."""
    before: bytes | None
    """None: the file did not exist."""
    after: bytes | None
    """None: the file goes, since nothing but what we made stood in it."""
    lines: tuple[str, ...]
    """The change as lines of a unified diff."""
    backup: str = ""
    """Where the old file was copied to; "" in a dry run, or when there was none."""

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        return self.before != self.after


def whole(file: str, before: bytes | None, after: bytes | None) -> Change:
    """The change of a file that is written or taken away as a whole."""
    if before == after:
        return Change(file, before, after, ())
    head = (f"--- {'/dev/null' if before is None else file}", f"+++ {'/dev/null' if after is None else file}")
    return Change(file, before, after, (*head, *_signed("-", before), *_signed("+", after)))


def _signed(sign: str, data: bytes | None) -> list[str]:
    return [sign + line for line in data.decode("utf-8", "replace").splitlines()] if data else []


def read(file: str) -> bytes | None:
    """The bytes of a file, None when there is none. Raises ForkpointError."""
    try:
        if not stat.S_ISREG(os.stat(file).st_mode):
            raise ForkpointError("this is no regular file", path=file, todo="nothing was changed")
        return Path(file).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ForkpointError(f"cannot read: {error.strerror}", path=file, todo="nothing was changed") from error


def carry_out(change: Change, backups: Path) -> Change:
    """Keeps the old file in `backups`, then puts the new one in its place by a rename in the same folder.

    A link stays a link: the file that it points to is replaced. Raises ForkpointError, and Refused when the file is not
    what `change` was made from; then nothing is written.
    """
    target = os.path.realpath(change.file)
    try:
        backup = _keep(change, backups)
        if change.after is None:
            _unchanged(target, change)
            os.unlink(target)
            _remove_made_folders(change.file, backups)
        else:
            made = _make_folders(Path(target).parent)
            _replace(target, change)
            _note_made_folders(change.file, backups, made)
    except OSError as error:
        where = str(error.filename or change.file)
        raise ForkpointError(f"cannot write: {error.strerror}", path=where, todo="the file is as it was") from error
    return replace(change, backup=backup)


def _keep(change: Change, backups: Path) -> str:
    if change.before is None:
        return ""
    backups.mkdir(parents=True, exist_ok=True, mode=0o700)
    stamp = time.strftime("%Y%m%d-%H%M%S")
    handle, name = tempfile.mkstemp(prefix=f"{stamp}-", suffix=f"-{os.path.basename(change.file)}", dir=backups)
    with open(handle, "wb") as file:
        file.write(change.before)
        file.flush()
        os.fsync(file.fileno())
    return name


def _unchanged(target: str, change: Change) -> None:
    """The agent writes this file too: what is replaced must be what was read."""
    if read(target) != change.before:
        raise Refused("the file changed while it was edited", path=change.file, todo="nothing was written; try again")


def _replace(target: str, change: Change) -> None:
    assert change.after is not None
    folder = os.path.dirname(target)
    with beside(folder) as (temporary, descriptor):
        write_all(descriptor, change.after)
        _take_over_owner(descriptor, target)
        os.fsync(descriptor)
        _unchanged(target, change)
        os.replace(temporary, target)
    sync_folder(folder)


def _take_over_owner(handle: int, target: str) -> None:
    """The new file gets mode and owner of the old one; a new one is as private as the agent makes its own."""
    try:
        old = os.stat(target)
    except FileNotFoundError:
        os.fchmod(handle, 0o600)
        return
    if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
        with contextlib.suppress(PermissionError):  # a group that we are not in: the mode decides what is left
            os.fchown(handle, old.st_uid, old.st_gid)
    os.fchmod(handle, stat.S_IMODE(old.st_mode))


def _make_folders(folder: Path) -> list[str]:
    """Makes the folder with its parents, and tells which were made, the innermost first."""
    missing = [str(f) for f in (folder, *folder.parents) if not f.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return missing


def _made_folders_note(file: str, backups: Path) -> Path:
    return backups / f"made-{hashlib.sha256(os.fsencode(file)).hexdigest()[:16]}"


def _note_made_folders(file: str, backups: Path, made: Sequence[str]) -> None:
    if made:
        backups.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomic(_made_folders_note(file, backups), b"\n".join(os.fsencode(m) for m in made))


def _remove_made_folders(file: str, backups: Path) -> None:
    """Folders that we made for the file go with it while they are empty."""
    note = _made_folders_note(file, backups)
    try:
        for folder in note.read_bytes().split(b"\n"):
            os.rmdir(folder)
    except OSError:  # somebody uses it by now, or we made none
        pass
    note.unlink(missing_ok=True)
