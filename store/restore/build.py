"""Making what is to come: complete, durable and checked before it takes its place (rules 3 and 4)."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from typing import NamedTuple, Protocol

from ..errors import StoreDamaged
from ..states import Node
from .below import CONTENT, look_in, node_of, open_folder
from .change import Change
from .rename import move
from .writeout import write_out

NEW_FILE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
CARRIED = ("user.", "system.posix_acl_")
"""Beginnings of the names of the extended attributes that a replaced file hands on."""


class Blobs(Protocol):
    """Where the bytes come from."""

    def read(self, oid: str) -> bytes:
        """The bytes of a blob."""
        ...

    def copy(self, oid: str, descriptor: int) -> None:
        """Writes the bytes of a blob to an open file."""
        ...


class Place(NamedTuple):
    """Where a change happens: a name in an open folder, and the names beside it that the change may use."""

    folder: int
    """Descriptor of the folder that holds the path."""
    name: bytes
    spare: bytes

    @property
    def new(self) -> bytes:
        """The name of what is under construction."""
        return self.spare + b".new"

    @property
    def old(self) -> bytes:
        """The name of what came out, where names cannot be exchanged."""
        return self.spare + b".old"


def build(place: Place, change: Change, blobs: Blobs) -> int:
    """Makes `change.after` beside its place, where `complete` finds it; gives its bytes.

    Leaves nothing behind when it fails. Raises OSError, or StoreDamaged when the store gives other bytes than asked.
    """
    try:
        return _construct(place, change, blobs)
    except BaseException:
        discard(place, place.new)
        raise


def make_durable(place: Place, change: Change) -> None:
    """Returns when a file that was built is on the disk; what it is called is made durable with its folder."""
    if change.after is None or change.after.kind != "file" or not _can_be_opened(change.after):
        return
    try:
        descriptor = os.open(place.new, CONTENT, dir_fd=place.folder)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except BaseException:
        discard(place, place.new)
        raise


def complete(place: Place) -> None:
    """Gives what was built and is on the disk the name by which a recovery knows that it is whole."""
    try:
        move(place.folder, place.new, place.spare)
    except BaseException:
        discard(place, place.new)
        raise


def discard(place: Place, name: bytes) -> bool:
    """Removes a file, a link or an empty folder beside the path; False when it is a folder that holds something."""
    try:
        os.unlink(name, dir_fd=place.folder)
    except FileNotFoundError:
        return True
    except (IsADirectoryError, PermissionError) as error:
        # Some systems say of a folder that it may not be unlinked.
        try:
            return _discard_folder(place, name)
        except NotADirectoryError:
            raise error from None
    return True


def set_mode(descriptor: int, mode: int) -> None:
    """Sets the exact mode of an open folder, also of one that may only be passed through."""
    try:
        os.fchmod(descriptor, mode)
    except OSError as error:
        if error.errno != errno.EBADF:
            raise
        os.chmod(f"/proc/self/fd/{descriptor}", mode)


def sync_mode(descriptor: int) -> None:
    """Makes the mode of an open folder durable, where the system lets anybody."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EBADF):
            raise


def _discard_folder(place: Place, name: bytes) -> bool:
    try:
        os.rmdir(name, dir_fd=place.folder)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        return False
    return True


def _construct(place: Place, change: Change, blobs: Blobs) -> int:
    after = change.after
    assert after is not None
    if after.kind == "link":
        target = blobs.read(after.oid) if change.content is None else change.content
        os.symlink(target, place.new, dir_fd=place.folder)
        if look_in(place.folder, place.new) != after:
            raise StoreDamaged("the store gave another link than the checkpoint holds", todo="forkpoint verify")
        return len(target)
    if after.kind == "folder":
        os.mkdir(place.new, 0o700, dir_fd=place.folder)
        descriptor = open_folder(place.new, place.folder)
    else:
        descriptor = os.open(place.new, NEW_FILE, 0o600, dir_fd=place.folder)
    try:
        if after.kind == "folder":
            set_mode(descriptor, after.mode)
            sync_mode(descriptor)
            return 0
        return _fill(descriptor, place, change, after, blobs)
    finally:
        os.close(descriptor)


def _fill(descriptor: int, place: Place, change: Change, after: Node, blobs: Blobs) -> int:
    if change.content is None:
        blobs.copy(after.oid, descriptor)
    else:
        _write_all(descriptor, change.content)
    if change.before is not None and change.before.kind == "file":
        _hand_on(place, descriptor)
    os.fchmod(descriptor, after.mode)
    write_out(descriptor)
    found = node_of(descriptor)
    if found is None or found.oid != after.oid:
        raise StoreDamaged("the store gave other bytes than the checkpoint holds", todo="forkpoint verify")
    if found.mode != after.mode:
        raise PermissionError(errno.EPERM, f"mode {after.mode:o} cannot be set")
    if not _can_be_opened(after):
        os.fsync(descriptor)
    return os.fstat(descriptor).st_size


def _can_be_opened(after: Node) -> bool:
    """Whether its owner may read it; one that he may not is made durable while it is still open."""
    return bool(after.mode & stat.S_IRUSR)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _hand_on(place: Place, descriptor: int) -> None:
    """Gives the new file the owner and attributes of the one it replaces, as far as that is allowed.

    The mode is set after this: a change of owner clears bits, and an access list changes those of the group.
    """
    with suppress(OSError):
        old = os.open(place.name, CONTENT, dir_fd=place.folder)
        try:
            _hand_on_owner(os.fstat(old), descriptor)
            _hand_on_attributes(old, descriptor)
        finally:
            os.close(old)


def _hand_on_owner(old: os.stat_result, descriptor: int) -> None:
    new = os.fstat(descriptor)
    if new.st_gid != old.st_gid:
        with suppress(OSError):
            os.fchown(descriptor, -1, old.st_gid)
    if new.st_uid != old.st_uid:
        with suppress(OSError):
            os.fchown(descriptor, old.st_uid, -1)


def _hand_on_attributes(old: int, descriptor: int) -> None:
    if not hasattr(os, "listxattr"):
        return
    for name in os.listxattr(old):
        if name.startswith(CARRIED):
            with suppress(OSError):
                os.setxattr(descriptor, name, os.getxattr(old, name))
