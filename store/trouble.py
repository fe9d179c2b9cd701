"""That and why a hook could not record: kept until the person was told (rule 17).

It is written where it can be: into the store, else (a full disk, a store that cannot be read) into a private folder of
the system's temporary one.
"""

from __future__ import annotations

import errno
import os
import stat
import time

from . import lightjson as json
from .durable import write_atomic
from .errors import Busy, ForkpointError, GitMissing
from .home import make_folder
from .light import TYPE_CHECKING, NamedTuple, Path
from .text import first_line

if TYPE_CHECKING:
    from typing import Any

NAME = "trouble.json"
HOUR = 3600 * 1_000_000_000
_DISK_FULL = ("No space left", "Out of diskspace", "Disk quota", os.strerror(errno.ENOSPC), os.strerror(errno.EDQUOT))


class Trouble(NamedTuple):
    """Hooks of a root could not record, for one cause."""

    root: str
    cause: str
    """In words, without names or numbers that differ from time to time."""
    since: int
    last: int
    recovered: int = 0
    """When a hook recorded again; 0 while none has."""
    told: int = 0
    """When the person was last told; 0 for never."""


def cause_of(error: BaseException) -> str:
    """The cause in a few words that stay the same from one failure to the next."""
    words = str(error)
    number = error.errno if isinstance(error, OSError) else 0
    if number in (errno.ENOSPC, errno.EDQUOT) or any(sign in words for sign in _DISK_FULL):
        return "disk is full"
    if isinstance(error, Busy):
        return "another forkpoint was at work for too long"
    if isinstance(error, GitMissing):
        return "git was not found"
    if any(sign in words for sign in ("Permission denied", "Read-only file system")):
        return "the store cannot be written"
    if isinstance(error, ForkpointError):
        return first_line(error.what, 80)
    if isinstance(error, OSError):
        return f"the store cannot be used ({os.strerror(number or 0)})"
    return f"forkpoint failed ({type(error).__name__})"


def note(home: Path, root: str, cause: str) -> bool:
    """Writes down that a hook of this root failed; False when there is nowhere to write it."""
    now = time.time_ns()
    old = next((t for t in _all(home) if (t.root, t.cause) == (root, cause)), None)
    if old is None or old.recovered:
        new = Trouble(root, cause, now, now, told=old.told if old else 0)
    else:
        new = old._replace(last=now)
    return _put(home, new)


def recovered(home: Path, root: str) -> None:
    """Writes down that a hook of this root recorded."""
    for one in _all(home):
        if one.root == root and not one.recovered:
            _put(home, one._replace(recovered=time.time_ns()))


def open_troubles(home: Path, root: str) -> tuple[Trouble, ...]:
    """Why hooks of this root do not record now, the oldest first; empty when the last one did."""
    return tuple(sorted((t for t in _all(home) if t.root == root and not t.recovered), key=lambda t: t.since))


def message(home: Path, root: str) -> str:
    """What the person has to be told now, "" for nothing; marks it as told, once per cause and hour."""
    now = time.time_ns()
    due = [t for t in _all(home) if t.root == root and t.recovered < now and _due(t, now)]
    if not due:
        return ""
    worst = max(due, key=lambda t: (not t.recovered, t.last))
    for one in due:
        _put(home, one._replace(told=now))
    if worst.recovered:
        span = f"from {_clock(worst.since)} to {_clock(worst.recovered)}"
        return f"forkpoint: could not record {span}, {worst.cause}: forkpoint doctor"
    return f"forkpoint: not recording since {_clock(worst.since)}, {worst.cause}: forkpoint doctor"


def _due(trouble: Trouble, now: int) -> bool:
    if now - trouble.told < HOUR:
        return False
    return not trouble.recovered or (trouble.told <= trouble.since and now - trouble.recovered < 24 * HOUR)


def _clock(moment: int) -> str:
    then = time.localtime(moment / 1e9)
    today = time.localtime()[:3] == then[:3]
    return time.strftime("%H:%M" if today else "%d %b %H:%M", then)


def _places(home: Path) -> tuple[Path, ...]:
    return (home, Path(os.environ.get("TMPDIR") or "/tmp") / f"forkpoint-{os.getuid()}")


def _all(home: Path) -> list[Trouble]:
    """Everything that is written down, the newest word on each cause."""
    found: dict[tuple[str, str], Trouble] = {}
    for folder in _places(home):
        for one in _read(folder):
            old = found.get((one.root, one.cause))
            if old is None or (one.last, one.recovered, one.told) > (old.last, old.recovered, old.told):
                found[one.root, one.cause] = one
    return list(found.values())


def _read(folder: Path) -> list[Trouble]:
    try:
        if os.lstat(folder).st_uid != os.getuid():
            return []
        plain: list[dict[str, Any]] = json.loads((folder / NAME).read_bytes())
        return [Trouble(**item) for item in plain]
    except (OSError, ValueError, TypeError):
        return []


def _put(home: Path, trouble: Trouble) -> bool:
    """Writes to the first place that takes it; what the other place still says is older and does not count."""
    for folder in _places(home):
        others = [t for t in _read(folder) if (t.root, t.cause) != (trouble.root, trouble.cause)]
        data = json.dumps([t._asdict() for t in [*others, trouble][-20:]], ensure_ascii=True).encode()
        try:
            make_folder(folder)
            found = os.lstat(folder)
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
                continue
            write_atomic(folder / NAME, data, sync=False)
        except OSError:
            continue
        return True
    return False
