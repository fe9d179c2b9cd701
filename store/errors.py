"""The errors a person can meet; each says what happened, to what, and what to do.

Exit codes are those of design.md section 6: 1 failed or done in part, 2 wrong usage or id, 3 refused.
"""

from __future__ import annotations

import os

from .light import Generator, contextmanager


class ForkpointError(Exception):
    """Something that the person can be told in one line."""

    exit_code = 1

    def __init__(self, what: str, *, path: str = "", todo: str = "") -> None:
        self.what = what
        self.path = path
        self.todo = todo
        super().__init__(what)

    def __str__(self) -> str:
        where = f": {self.path}" if self.path else ""
        todo = f"; {self.todo}" if self.todo else ""
        return f"{self.what}{where}{todo}"


class UsageError(ForkpointError):
    """The command, option or id does not fit."""

    exit_code = 2


class UnknownId(UsageError):
    """No checkpoint, entry, branch or label has this name."""


class AmbiguousId(UsageError):
    """Several things begin with this prefix."""


class Refused(ForkpointError):
    """It could be done, but not now, not here, or not without a confirmation."""

    exit_code = 3


class Busy(Refused):
    """Somebody else holds the lock that is needed."""


class UnsafePlace(Refused):
    """The folder is one that forkpoint never records (home, /)."""


class NoWorkspace(ForkpointError):
    """The folder is no workspace, and the command makes none."""


class StoreUnwritable(ForkpointError):
    """The store cannot be written: disk full, permissions, a limit."""


class Interrupted(ForkpointError):
    """A restore stopped in the middle: its journal tells how far it got, and `recover` settles it."""


class StoreDamaged(ForkpointError):
    """Something that the store holds is missing or not what it says it is."""


class GitMissing(ForkpointError):
    """There is no usable git on PATH."""


class GitFailed(ForkpointError):
    """A git call of ours failed."""


@contextmanager
def storing(at: str | os.PathLike[str]) -> Generator[None]:
    """Tells what the system refuses in this block as a store that cannot be written."""
    try:
        yield
    except OSError as error:
        where = os.fsdecode(error.filename or at)
        raise StoreUnwritable(
            "the store cannot be written", path=where, todo=f"{error.strerror}: forkpoint doctor"
        ) from None
