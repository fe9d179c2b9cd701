"""A walk that serves whoever asked before it began: of many hooks behind a long save one looks, all record.

What the stat index does not hold of a walk is kept beside it, but only while somebody waits for the root. It is bound
to the very bytes of that index, and forgotten when somebody holds the root who changes files.
"""

from __future__ import annotations

import marshal
import time

from ..durable import write_atomic
from ..light import TYPE_CHECKING, NamedTuple, Path, suppress
from ..locks import somebody_waits
from ..processes import boot
from ..roots import Place
from .ahead import Moment
from .ignore import Source
from .scan import Limits, Scan
from .statindex import DIGEST, Encoded, Index

if TYPE_CHECKING:
    from typing import Any

OF_THE_INDEX = ("folders", "changed", "stamps", "modes_changed", "named", "outside")


class Walk(NamedTuple):
    """What was found, and when: moments of the steady clock of this run of the system, in nanoseconds."""

    found: Scan
    began: int
    ended: int


class Look(NamedTuple):
    """A walk that was only looked at, with the moment it belongs to."""

    walk: Walk
    moment: Moment


def keep(place: Place, walk: Walk, limits: Limits, encoded: Encoded) -> None:
    """Keeps a walk beside the index that was made of it (`encoded`), when somebody waits for the root."""
    run = boot()
    if not run or not somebody_waits(place.folder / "lock"):
        return
    plain = {name: value for name, value in walk.found._asdict().items() if name not in OF_THE_INDEX}
    plain["sources"] = [tuple(source) for source in walk.found.sources]
    record: Any = (run, walk.began, walk.ended, encoded.digest, _chosen(limits), plain)
    with suppress(OSError):
        write_atomic(_file(place), marshal.dumps(record), sync=False)


def serving(place: Place, asked: int, limits: Limits, index: Index) -> Walk | None:
    """The walk that the index was made of, when it began after the moment `asked`; None: look for yourself."""
    try:
        run, began, ended, digest, chosen, plain = marshal.loads(_file(place).read_bytes())
        with open(place.index_file, "rb") as stream:
            same = stream.read(DIGEST) == digest
    except (OSError, ValueError, EOFError, TypeError):
        return None
    if not same or run != boot() or not asked < began < time.monotonic_ns() or chosen != _chosen(limits):
        return None
    plain["sources"] = tuple(Source(*source) for source in plain["sources"])
    held: dict[str, Any] = {"folders": index.folders, "stamps": index.stamps, "outside": index.outside}
    found = Scan(**plain, **held, changed={}, modes_changed=False, named=index.named)
    return Walk(found, began, ended)


def forget(place: Place) -> None:
    """Lets no walk of before serve anybody: the files are about to be changed."""
    with suppress(OSError):
        _file(place).unlink(missing_ok=True)


def _file(place: Place) -> Path:
    return place.folder / "walk"


def _chosen(limits: Limits) -> tuple[object, ...]:
    return (limits.largest_file, limits.secrets, sorted(limits.own), sorted(limits.skip))
