"""Forks: where they are cut; and their files, put in place as a whole, for their owner alone, never over anything."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

from ...durable import beside, give_name, sync_folder, write_all
from ...errors import ForkpointError, Refused, StoreUnwritable, UnknownId
from ...model import Conversation, Entry
from ..base import Fork, Source
from .belonging import is_under

EMPTY = "nothing was said before this prompt: going on starts a new session"
BATCH = "the cut was moved to the end of the calls that ran in parallel"
NO_RECORD = "the record of this row is not in its file any more"

_SECOND = 1_000_000_000


def is_recorded(entry: Entry) -> bool:
    """Whether an agent could read the record of an entry."""
    return entry.span is not None and entry.flavour != "unreadable"


def point_of(conversation: Conversation, entry: str, recorded: Callable[[Entry], bool] = is_recorded) -> Entry:
    """The entry to cut at: for one without a record of its own the one before it. Raises UnknownId, Refused."""
    by_id = {item.id: item for item in conversation.entries}
    if entry not in by_id:
        raise UnknownId("there is no such row in this session", todo="forkpoint log")
    found = by_id[entry]
    if found.under:
        raise inside_of_a_call()
    while not recorded(found):
        if found.parent is None:
            raise Refused("there is nothing before this row", todo="choose a later one")
        found = by_id[found.parent]
    return found


def inside_of_a_call() -> Refused:
    """For a row of a sub-agent."""
    what = "this row is a sub-agent's: its work is a part of one tool call"
    return Refused(what, todo="fork at the call that started it")


@dataclass(frozen=True, slots=True)
class Move:
    """What changes from a session to its fork: the id, and the folder where that goes on."""

    old: str
    new: str
    old_cwd: str
    new_cwd: str

    @property
    def elsewhere(self) -> bool:
        return self.old_cwd != self.new_cwd

    def path(self, path: object) -> str | None:
        """Where a path of the old folder is in the new one; None when it stays."""
        if not self.elsewhere or not isinstance(path, str) or not is_under(path, self.old_cwd):
            return None
        return moved(path, self.old_cwd, self.new_cwd)


def moved(path: str, old: str, new: str) -> str:
    """Where a path of the folder that a session was begun in is in the one where the fork goes on."""
    return new + path[len(old) :] if is_under(path, old) else path


def write_fork(fork: Fork, first: Callable[[], None] | None = None) -> None:
    """Writes a planned fork; nothing for an empty one. Raises ForkpointError, StoreUnwritable.

    first: what is to be written before it, once its folder is there.
    """
    if not fork.data:
        return
    folder = os.path.dirname(fork.file)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if first is not None:
            first()
        with beside(folder) as (temporary, descriptor):
            os.fchmod(descriptor, 0o600)
            write_all(descriptor, fork.data)
            if fork.mtime:
                os.utime(descriptor, ns=(fork.mtime, fork.mtime))
            os.fsync(descriptor)
            give_name(temporary, fork.file)
        sync_folder(folder)
    except FileExistsError:
        raise ForkpointError("a session with this id is already there", path=fork.file, todo="try again") from None
    except OSError as error:
        raise StoreUnwritable(
            f"the fork cannot be written ({error.strerror})", path=fork.file, todo="free space, or check permissions"
        ) from None


def untouched(fork_file: str, digest: str) -> bool:
    """Whether a fork's file is still byte for byte what we wrote."""
    try:
        with open(fork_file, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == digest
    except OSError:
        return False


def opened(source: Source) -> BinaryIO:
    """The bytes to fork from. Raises ForkpointError."""
    try:
        return source.open()
    except OSError as error:
        raise unreadable(error, source.name) from None


def unreadable(error: OSError, file: str) -> ForkpointError:
    """For a session's file that cannot be read."""
    what = f"the session's file cannot be read ({error.strerror or type(error).__name__})"
    return ForkpointError(what, path=file, todo="choose another row")


def just_before(source: str, otherwise: int) -> int:
    """A moment just before the source's time: what goes on with the newest session must not take the fork."""
    try:
        return os.stat(source).st_mtime_ns - _SECOND
    except OSError:
        return otherwise
