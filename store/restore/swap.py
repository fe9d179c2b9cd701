"""Changing one path below a root by compare-and-swap (rules 3, 4 and 5).

What is to come is built beside the path, complete and fsynced, and then exchanged with what stands there in one step.
What comes out is hashed; if it is not what the guard holds it goes back. Names beside the path:

    .forkpoint-<token>-<n>.new   under construction, or not yet on the disk: bytes that the store holds
    .forkpoint-<token>-<n>       complete, on the disk and about to go in, or just come out
    .forkpoint-<token>-<n>.old   just come out, where the file system cannot exchange
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress

from ..errors import Refused
from ..states import Node
from .below import CONTENT, GONE, Nearby, look_in, node_of, open_folder
from .build import Blobs, Place, build, complete, discard, make_durable, set_mode, sync_mode
from .change import Change
from .paths import refused, spare_name
from .rename import CannotExchange, exchange, move

TAKEN = (errno.EEXIST, errno.ENOTEMPTY)


class Changed(Exception):
    """The path is not what the guard holds: what stands there is somebody's new work, and stays (rule 3)."""


class Swapper:
    """Changes paths of one root, one at a time; remembers which inodes it wrote."""

    def __init__(self, root: int, blobs: Blobs, token: str) -> None:
        self.root = root
        self.blobs = blobs
        self.token = token
        self.written: set[tuple[int, int]] = set()

    def carry(self, number: int, change: Change) -> None:
        """Carries out one change.

        Raises Changed when the path is not `change.before`; OSError, Refused or StoreDamaged when it cannot be done.
        In each case what stood at the path stands there again.
        """
        before, after = change.before, change.after
        with Nearby(self.root) as nearby:
            place = self.place(nearby, number, change)
            if after is None:
                assert before is not None
                self._take(place, before)
            elif before is not None and before.kind == after.kind == "folder":
                _change_folder_mode(place, before, after)
            elif is_change_of_mode(change) and before is not None and not _is_shared(place):
                _change_file_mode(place, before, after)
            else:
                self.prepare(place, change)
                make_durable(place, change)
                self.put_in(place, change)

    def place(self, nearby: Nearby, number: int, change: Change) -> Place:
        """Where a change happens. Raises Changed when its folder is not there any more, Refused for a hostile path."""
        if why := refused(change.path):
            raise Refused(why)
        try:
            folder, name = nearby.of(change.path)
        except OSError as error:
            if error.errno == errno.ENOENT and change.before is None:
                raise FileNotFoundError(errno.ENOENT, "its folder is not there") from None
            if error.errno in GONE:
                raise Changed("its folder is gone, or a link or a file stands in its place") from None
            raise
        return Place(folder, name, spare_name(self.token, number))

    def prepare(self, place: Place, change: Change) -> int:
        """Builds what is to come beside the path, complete and checked, though not yet on the disk; gives its bytes."""
        expect(place, change.before)
        return build(place, change, self.blobs)

    def put_in(self, place: Place, change: Change) -> None:
        """Gives what was built its place, and takes away what stood there if that is what the guard holds."""
        before, after = change.before, change.after
        assert after is not None
        complete(place)
        found = os.lstat(place.spare, dir_fd=place.folder)
        self.written.add((found.st_dev, found.st_ino))
        if before is None:
            self._bring(place)
        else:
            self._exchange(place, before, after)

    def _bring(self, place: Place) -> None:
        """Makes what is not there yet; replaces nothing."""
        try:
            move(place.folder, place.spare, place.name)
        except OSError as error:
            discard(place, place.spare)
            if error.errno in TAKEN:
                raise Changed("something stands there by now") from None
            raise

    def _take(self, place: Place, before: Node) -> None:
        """Removes what is there, once it has been seen to be what the guard holds."""
        expect(place, before)
        if before.kind == "folder":
            os.rmdir(place.name, dir_fd=place.folder)
            return
        if self._wrote(place):
            raise Refused("it is the very file that was just written, under another name")
        move(place.folder, place.name, place.spare)
        if came_out(place, place.spare) != before:
            put_back(place, place.spare)
            raise Changed("it changed at the last moment")
        try:
            os.unlink(place.spare, dir_fd=place.folder)
        except OSError:
            put_back(place, place.spare)
            raise

    def _exchange(self, place: Place, before: Node, after: Node) -> None:
        """Replaces what is there by what is to come, in one step where the file system can."""
        try:
            exchange(place.folder, place.spare, place.name)
        except CannotExchange:
            _exchange_by_moves(place, before)
            return
        except OSError:
            discard(place, place.spare)
            raise
        came = came_out(place, place.spare)
        if came == before and discard(place, place.spare):
            return
        exchange(place.folder, place.spare, place.name)
        if came_out(place, place.spare) != after or not discard(place, place.spare):
            raise stranded(place.spare)
        raise Changed("the folder is not empty" if came == before else "it changed at the last moment")

    def _wrote(self, place: Place) -> bool:
        found = os.lstat(place.name, dir_fd=place.folder)
        return (found.st_dev, found.st_ino) in self.written


def is_change_of_mode(change: Change) -> bool:
    """Whether a file keeps its bytes and only changes its mode."""
    before, after = change.before, change.after
    return before is not None and after is not None and before.kind == after.kind == "file" and before.oid == after.oid


def expect(place: Place, node: Node | None) -> None:
    """Raises Changed unless exactly this stands at the path."""
    found = look_in(place.folder, place.name)
    if found == node:
        return
    if found is None:
        raise Changed("it is gone")
    if node is None:
        raise Changed("something stands there by now")
    if found.kind != node.kind:
        raise Changed(f"it is a {found.kind} now" if found.kind != "special" else "it is no file now")
    raise Changed("its mode changed" if found.oid == node.oid else "it changed since it was looked at")


def came_out(place: Place, name: bytes) -> Node | None:
    """What stands beside the path; None also when it cannot be read, for that is not what the guard holds either."""
    with suppress(OSError):
        return look_in(place.folder, name)
    return None


def put_back(place: Place, name: bytes) -> None:
    """Gives what came out its place again; raises Changed, with its name, when that is taken."""
    try:
        move(place.folder, name, place.name)
    except OSError as error:
        if error.errno not in TAKEN:
            raise
        raise stranded(name) from None


def stranded(name: bytes) -> Changed:
    """Two versions, one place: neither is lost."""
    return Changed(f"it changed twice meanwhile; one version is kept beside it as {os.fsdecode(name)}")


def _exchange_by_moves(place: Place, before: Node) -> None:
    """Replaces in two steps: for a moment nothing stands at the path."""
    try:
        move(place.folder, place.name, place.old)
        came = came_out(place, place.old)
        if came != before or not _is_empty(place, before):
            put_back(place, place.old)
            raise Changed("the folder is not empty" if came == before else "it changed at the last moment")
        _move_in(place)
    except BaseException:
        discard(place, place.spare)
        raise
    if not discard(place, place.old):
        raise stranded(place.old)


def _move_in(place: Place) -> None:
    try:
        move(place.folder, place.spare, place.name)
    except OSError as error:
        if error.errno not in TAKEN:
            put_back(place, place.old)
            raise
        if not discard(place, place.old):
            raise stranded(place.old) from None
        raise Changed("something else was put there meanwhile") from None


def _is_empty(place: Place, before: Node) -> bool:
    """Whether what came out, if it is a folder, holds nothing."""
    if before.kind != "folder":
        return True
    descriptor = open_folder(place.old, place.folder)
    try:
        return not os.listdir(descriptor)
    finally:
        os.close(descriptor)


def _change_folder_mode(place: Place, before: Node, after: Node) -> None:
    expect(place, before)
    descriptor = open_folder(place.name, place.folder)
    try:
        set_mode(descriptor, after.mode)
        sync_mode(descriptor)
    finally:
        os.close(descriptor)


def _is_shared(place: Place) -> bool:
    """Whether the file has further names, which are to keep their mode."""
    with suppress(FileNotFoundError):
        return os.lstat(place.name, dir_fd=place.folder).st_nlink > 1
    return False


def _change_file_mode(place: Place, before: Node, after: Node) -> None:
    """Changes the mode alone; bytes and time stay as they are."""
    try:
        descriptor = os.open(place.name, CONTENT, dir_fd=place.folder)
    except OSError as error:
        if error.errno in GONE:
            raise Changed("it is gone, or a link") from None
        raise
    try:
        if node_of(descriptor) != before:
            raise Changed("it changed since it was looked at")
        os.fchmod(descriptor, after.mode)
        os.fsync(descriptor)
        if not _names(place, descriptor):
            os.fchmod(descriptor, before.mode)
            raise Changed("it was replaced at the last moment")
        if stat.S_IMODE(os.fstat(descriptor).st_mode) != after.mode:
            os.fchmod(descriptor, before.mode)
            raise PermissionError(errno.EPERM, f"mode {after.mode:o} cannot be set")
    finally:
        os.close(descriptor)


def _names(place: Place, descriptor: int) -> bool:
    with suppress(OSError):
        return os.path.samestat(os.lstat(place.name, dir_fd=place.folder), os.fstat(descriptor))
    return False
