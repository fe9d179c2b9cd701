"""A plan being made: one row a differing path, and what rows do to each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from ..git.stream import blob_id
from ..model import OnConflict
from ..states import Node, State
from .coverage import Coverage, Pair, folders
from .paths import parents, refused
from .scope import LEFT_OUT, Decision

Merge = Callable[[bytes, Node, Node, Node], bytes | None]
"""(path, base, mine, theirs) → the merged bytes; None when both changed the same lines."""

OCCUPIED = "the folder holds something that stays"
NEEDED = "needed for what comes back in it"


@dataclass(slots=True)
class Row:
    """What a plan says of one path."""

    pair: Pair
    """An inventory names the row when the pair is listed."""
    place: Literal["restored", "kept", "conflicts", "failed"]
    why: str
    act: bool = False
    """Whether the path is changed."""
    note: str = ""
    when: int | None = None
    preselected: bool = True
    content: bytes | None = None
    """The result of a merge."""
    after: Node | None = None

    @property
    def final(self) -> Node | None:
        """What will stand there."""
        return self.after if self.act else self.pair.now

    def block(self, why: str) -> None:
        """Leaves the path as it is after all."""
        self.act = False
        if self.place == "restored":
            self.place, self.why = "kept", why
        else:
            self.note = why


@dataclass(frozen=True, slots=True)
class Classifier:
    """Puts one path into its class, before others are looked at."""

    then: Coverage
    present: Coverage
    choices: Mapping[bytes, OnConflict] | OnConflict
    merge: Merge
    standing: Callable[[bytes], str]

    def row(self, path: bytes, pair: Pair, decision: Decision) -> Row:
        """The row of a path."""
        if why := refused(path):
            return Row(pair, "failed", f"refused: {why}")
        if why := self._unknown(path, pair, decision.ours) or (decision.why if decision.verdict == "keep" else ""):
            return Row(pair, "kept", why)
        own = None if isinstance(self.choices, str) else self.choices.get(path)
        if pair.now is None and not pair.listed:
            return Row(pair, "kept", decision.why)
        if decision.verdict == "restore" and own == "keep":
            return Row(pair, "kept", LEFT_OUT)
        if not decision.chosen and own != "checkpoint" and (why := self._unsettled(path)):
            return Row(pair, "kept", why, preselected=False)
        if decision.verdict == "restore":
            return Row(pair, "restored", decision.why, act=True, after=pair.then)
        return self._conflict(path, pair, decision)

    def _unknown(self, path: bytes, pair: Pair, ours: bool) -> str:
        """Why one side cannot be spoken of, so that the path is left alone (rules 2 and 7)."""
        is_folder = any(node is not None and node.kind == "folder" for node in pair[:2])
        if pair.then is None and (why := self.then.why_uncaptured(path)):
            return f"not captured then: {why}"
        if pair.now is None and (why := self.present.why_uncaptured(path)):
            return f"cannot be captured now: {why}"
        if pair.now is None and self.standing(path):
            return "ignored now" if self.present.ignored(path, is_folder) else "not captured now"
        if pair.then is None and not ours:
            if self.then.is_unanswered(path):
                return "not known whether it was ignored then"
            for coverage, when in ((self.then, "then"), (self.present, "now")):
                if coverage.ignored(path, is_folder):
                    return f"ignored {when}"
        return ""

    def _unsettled(self, path: bytes) -> str:
        """Why a path is not preselected (rules 7 and 16)."""
        if path in self.then.moving:
            return "it was being written when it was stored"
        if path in self.present.moving:
            return "it is being written now"
        return "its state then is inferred" if path in self.then.inferred else ""

    def _conflict(self, path: bytes, pair: Pair, decision: Decision) -> Row:
        row = Row(pair, "conflicts", decision.why, when=decision.when)
        choice = self.choices if isinstance(self.choices, str) else self.choices.get(path, "keep")
        if choice == "checkpoint":
            row.act, row.after, row.note = True, pair.then, "the checkpoint's"
        elif choice == "merge":
            self._merge(row, path, decision.base)
        return row

    def _merge(self, row: Row, path: bytes, base: Node | None) -> None:
        then, now = row.pair.then, row.pair.now
        if base is None or then is None or now is None or not base.kind == then.kind == now.kind == "file":
            row.note = "nothing to merge: not three versions of a file"
            return
        merged = self.merge(path, base, now, then)
        if merged is None:
            row.note = "cannot be merged: both changed the same lines"
            return
        after = Node("file", then.mode if now.mode == base.mode else now.mode, blob_id(merged))
        row.act, row.after, row.note = after != now, after, "merged"
        if after.oid not in (then.oid, base.oid):
            row.content = merged


def settle_removals(rows: Mapping[bytes, Row], now: State, present: Coverage) -> None:
    """Leaves every folder in which something stays; names folders that stay empty since somebody else made them."""
    leaving = [path for path, row in rows.items() if _is_folder(row.pair.now) and not _is_folder(row.pair.then)]
    if not leaving:
        return
    occupied = {parent for path in present.uncaptured for parent in parents(path)}
    occupied.update(above for path in present.holding for above in (path, *parents(path)))
    for path in {**folders(now), **now}:
        if path not in rows or rows[path].final is not None:
            occupied.update(parents(path))
    for path in sorted(leaving, reverse=True):
        row = rows[path]
        if path in occupied and row.act:
            row.block(OCCUPIED)
            occupied.update(parents(path))
        elif path not in occupied and not row.act and row.place == "kept":
            row.pair = row.pair._replace(listed=True)


def settle_parents(rows: dict[bytes, Row], pairs: Mapping[bytes, Pair], standing: Callable[[bytes], str]) -> None:
    """Brings back the folders that something comes back in, and no others; leaves what would stand below a file.

    Also below one that the present state does not hold, since it is ignored or cannot be captured.
    """
    for path, row in sorted(rows.items()):
        if not row.act or row.after is None:
            continue
        for parent in reversed(list(parents(path))):
            if parent not in pairs:
                continue
            above = rows.get(parent) or Row(pairs[parent], "kept", "")
            there = standing(parent) if above.final is None else ""
            if above.final is None and not there:
                above.place, above.why, above.act, above.after = "restored", NEEDED, True, pairs[parent].then
                rows[parent] = above
            elif there == "other":
                row.block(f"{parent.decode('utf-8', 'replace')} is no folder now, and not captured")
                break
            elif above.final is not None and above.final.kind != "folder":
                row.block(f"{parent.decode('utf-8', 'replace')} stays a {above.final.kind}")
                break


def settle_collisions(rows: Mapping[bytes, Row], now: State, fold: Callable[[bytes], bytes]) -> None:
    """Fails what this file system would take for another name that is there as well (rule 4)."""
    standing = {path for path in {**folders(now), **now} if path not in rows or rows[path].final is not None}
    coming = {path for path, row in rows.items() if row.act and row.after is not None}
    clashes = _clashes(standing | coming, fold)
    for path in coming:
        row = rows[path]
        for place in (path, *parents(path)):
            if place in clashes and (place in coming and rows[place].pair.now is None):
                other = clashes[place].decode("utf-8", "replace")
                row.act, row.place, row.why = False, "failed", f"this file system takes it for {other}"


def _clashes(paths: Iterable[bytes], fold: Callable[[bytes], bytes]) -> dict[bytes, bytes]:
    """Each path that is another one to the file system → that other one."""
    groups: dict[bytes, list[bytes]] = {}
    for path in sorted(paths):
        groups.setdefault(fold(path), []).append(path)
    return {
        path: next(other for other in group if other != path)
        for group in groups.values()
        if len(group) > 1
        for path in group
    }


def _is_folder(node: Node | None) -> bool:
    return node is not None and node.kind == "folder"
