"""What a restore has to say and to do, path by path (rules 2, 4 and 7 of the design): without the code under test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from .captured import Capture, Things, differing, parents
from .folder import Thing, Tree
from .model import Verdict

Choice = Literal["keep", "checkpoint", "merge"]


@dataclass
class Row:
    then: Thing | None
    now: Thing | None
    place: str
    act: bool = False
    after: Thing | None = None
    merged: bool = False
    named: bool = True

    @property
    def final(self) -> Thing | None:
        return self.after if self.act else self.now


class Forecast(NamedTuple):
    """What a restore has to say and to do."""

    classes: dict[str, set[bytes]]
    changes: dict[bytes, tuple[Thing | None, Thing | None]]
    merged: frozenset[bytes]
    disk: Things
    """Everything in the folder afterwards, `.git` and ignored things too."""


def forecast(
    then: Capture,
    now: Capture,
    disk: Tree,
    verdict: Callable[[bytes, Thing | None, Thing | None], Verdict | None],
    choice: Choice = "keep",
    *,
    ours: bool = False,
) -> Forecast:
    """What becomes of every differing path; one without a verdict is not in question. `ours`: taking an act back."""
    lists = then.lists.keys() | now.lists.keys()
    rows: dict[bytes, Row] = {}
    for path in sorted(differing(then.tree, now.tree)):
        old, new = then.tree.get(path), now.tree.get(path)
        said = verdict(path, old, new)
        if said is not None:
            rows[path] = row = _row(path, old, new, then, now, disk, said, choice, ours)
            row.named = path in lists
            if not row.named and new is None and row.place == "restored":
                row.place, row.act = "kept", False
    _stay_where_something_stays(rows, disk)
    _make_room(rows, disk)
    acts = {path: row for path, row in rows.items() if row.act}
    after = {path: thing for path, thing in disk.items() if path not in acts}
    after |= {path: row.after for path, row in acts.items() if row.after is not None}
    return Forecast(
        {
            place: {path for path, row in rows.items() if row.named and row.place == place}
            for place in ("restored", "kept", "conflicts")
        },
        {path: (row.now, row.after) for path, row in acts.items() if row.named},
        frozenset(path for path, row in acts.items() if row.merged),
        after,
    )


def _row(
    path: bytes,
    old: Thing | None,
    new: Thing | None,
    then: Capture,
    now: Capture,
    disk: Tree,
    said: Verdict,
    choice: Choice,
    ours: bool,
) -> Row:
    is_folder = any(thing is not None and thing.kind == "folder" for thing in (old, new))
    unknown = (old is None and then.cannot(path)) or (new is None and (now.cannot(path) or path in disk))
    ignored = old is None and not ours and (then.rules.ignores(path, is_folder) or now.rules.ignores(path, is_folder))
    if unknown or ignored or said.what == "keep":
        return Row(old, new, "kept")
    if said.what == "restore":
        return Row(old, new, "restored", act=True, after=old)
    row = Row(old, new, "conflicts")
    if choice == "checkpoint":
        row.act, row.after = True, old
    elif choice == "merge" and said.base and old and new and said.base.kind == old.kind == new.kind == "file":
        data = merged(said.base.data, new.data, old.data)
        if data is not None:
            row.after = Thing("file", old.mode if new.mode == said.base.mode else new.mode, data)
            row.act = row.after != new
            row.merged = data not in (old.data, said.base.data)
    return row


def _stay_where_something_stays(rows: dict[bytes, Row], disk: Tree) -> None:
    """A folder goes only with all that is in it."""
    for path in sorted(rows, reverse=True):
        row = rows[path]
        if not (row.now and row.now.kind == "folder") or (row.then and row.then.kind == "folder"):
            continue
        inside = [other for other in disk if other.startswith(path + b"/")]
        stays = any(other not in rows or rows[other].final is not None for other in inside)
        if stays and row.act:
            row.act = False
            row.place = "kept" if row.place == "restored" else row.place
        elif not stays and not row.act and row.place == "kept":
            row.named = True


def _make_room(rows: dict[bytes, Row], disk: Tree) -> None:
    """What comes back needs its folders; it does not come back below what is no folder."""
    for path in sorted(rows):
        row = rows[path]
        if not row.act or row.after is None:
            continue
        for above in reversed(list(parents(path))):
            there = rows[above].final if above in rows else disk.get(above)
            if there is None and above in rows and above not in disk:
                rows[above].place, rows[above].act, rows[above].after = "restored", True, rows[above].then
            elif there is None or there.kind != "folder":
                row.act = False
                row.place = "kept" if row.place == "restored" else row.place
                break


def merged(base: bytes, mine: bytes, theirs: bytes) -> bytes | None:
    """Line by line, for texts of as many lines; None when both sides changed a line, or for what is no text."""
    if any(b"\0" in data for data in (base, mine, theirs)):
        return None
    for one, other in ((mine, theirs), (theirs, mine)):
        if one in (base, other):
            return other
    split = [data.splitlines(keepends=True) for data in (base, mine, theirs)]
    if len({len(lines) for lines in split}) > 1:
        return None
    found: list[bytes] = []
    for old, my, their in zip(*split, strict=True):
        if my not in (old, their) and their != old:
            return None
        found.append(their if my == old else my)
    return b"".join(found)
