"""Whether the refs stand where the ledger says, and what it means when they do not.

A checkpoint's ref never moves. Operations and transcripts are chains: a commit that goes on from the one that is known
is ahead of the ledger (its writer was killed before the line was written), every other one was put there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from ..checkpoints import points
from ..errors import StoreDamaged
from ..git.refs import OPERATIONS, TRANSCRIPTS
from . import ledger

if TYPE_CHECKING:
    from ..git.reader import Objects
    from ..roots import Place
    from .ledger import Line

Kind = Literal["gone", "back", "elsewhere", "edited"]
REMEDY = "forkpoint verify"
SPARE = 500
"""Lines that a ledger may be longer than it need be."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A ref that does not stand where the ledger saw it last."""

    ref: str
    kind: Kind
    known: str
    """The commit that the ledger knows."""
    found: str
    """The commit that it names now; "" when it is gone."""

    @property
    def what(self) -> str:
        """What happened to it, in a person's words."""
        return f"{subject(self.ref)} {_HAPPENED[_class(self.ref)][self.kind]}"


class Judgement(NamedTuple):
    """What was found."""

    ahead: dict[str, str]
    """Refs that the ledger does not know yet."""
    moved: tuple[Moved, ...]


_HAPPENED: dict[str, dict[Kind, str]] = {
    "point": {
        "gone": "was taken away: its ref is gone, and no deletion is recorded",
        "back": "was replaced by another one",
        "elsewhere": "was replaced by another one",
        "edited": "was replaced by another one",
    },
    "operations": {
        "gone": "were taken away: their ref is gone",
        "back": "were moved back: the newest of them are missing",
        "elsewhere": "were rewritten: some of them were dropped, changed or put in another order",
        "edited": "were rewritten: some of them were dropped, changed or put in another order",
    },
    "transcript": {
        "gone": "was taken away: its ref is gone",
        "back": "was moved back: its newest lines are missing",
        "elsewhere": "was rewritten",
        "edited": "was edited: lines that were stored are not there any more",
    },
}


def subject(ref: str) -> str:
    """What a ref stands for, in a person's words."""
    kind = _class(ref)
    name = ref.rpartition("/")[2]
    return {"point": f"checkpoint {name}", "operations": OPERATIONS, "transcript": f"transcript {name}"}.get(kind, ref)


def _class(ref: str) -> str:
    if ref == OPERATIONS:
        return "operations"
    if ref.startswith(points.REFS):
        return "point"
    return "transcript" if ref.startswith(TRANSCRIPTS) else ""


def is_watched(ref: str) -> bool:
    """Whether the ledger speaks of it."""
    return ref == OPERATIONS or ref.startswith((points.REFS, TRANSCRIPTS))


def heads(lines: Iterable[Line], known: Mapping[str, str] | None = None) -> dict[str, str]:
    """Where refs stand after these lines; deleted ones are left out."""
    found = dict(known or {})
    for line in lines:
        _follow(found, line)
    return found


def _follow(at: dict[str, str], line: Line) -> None:
    if line.sign == "+" or (line.sign == "!" and line.oid):
        at[line.ref] = line.oid
    elif line.sign in ("-", "!"):
        at.pop(line.ref, None)


def judge(objects: Objects, known: Mapping[str, str], refs: Mapping[str, str]) -> Judgement:
    """Compares the refs with what is known of them."""
    ahead: dict[str, str] = {}
    moved = [Moved(ref, "gone", commit, "") for ref, commit in known.items() if ref not in refs and is_watched(ref)]
    for ref, commit in refs.items():
        before = known.get(ref)
        if before == commit or not is_watched(ref):
            continue
        kind = _kind(objects, ref, before, commit) if before is not None else None
        if kind is None:
            ahead[ref] = commit
        else:
            moved.append(Moved(ref, kind, before or "", commit))
    return Judgement(ahead, tuple(moved))


def _kind(objects: Objects, ref: str, known: str, found: str) -> Kind | None:
    """What became of a ref that stood at `known`; None when it only went on from there."""
    if _class(ref) == "point":
        return "elsewhere"
    if goes_on(objects, found, known):
        if _class(ref) == "transcript" and not only_grew(objects, known, found):
            return "edited"
        return None
    return "back" if goes_on(objects, known, found) else "elsewhere"


def goes_on(objects: Objects, commit: str, before: str) -> bool:
    """Whether a chain that ends at `commit` goes through another one; False where it cannot be read that far."""
    at: str | None = commit
    try:
        while at is not None and at != before:
            at = next(iter(objects.parents(at)), None)
    except StoreDamaged:
        return False
    return at is not None


def compact(place: Place) -> bool:
    """Makes the ledger as short as what it knows; gives whether it was long, and sound. The caller holds the store.

    It tells where it saw the refs, not where they are: what was moved behind its back stays noticed.
    """
    _, _, lines = ledger.read(place.workspace)
    known = heads(lines)
    if len(lines) < 2 * len(known) + SPARE or not all(line.sound for line in lines):
        return False
    ledger.begin(place, sorted(known.items()))
    return True


def check_head(place: Place, objects: Objects, ref: str) -> str | None:
    """The commit that a chain goes on from; raises StoreDamaged when it does not stand where the ledger saw it."""
    known, found = ledger.last(place.workspace, ref), objects.ref(ref)
    if known is not None and known != found:
        kind = "gone" if found is None else _kind(objects, ref, known, found)
        if kind is not None:
            raise StoreDamaged(Moved(ref, kind, known, found or "").what, todo=REMEDY)
    return found


def jumps(objects: Objects, lines: Iterable[Line]) -> list[str]:
    """Moves in the ledger itself that no ref of their kind makes, in words: somebody wrote them for it."""
    found: list[str] = []
    at: dict[str, str] = {}
    for line in lines:
        before = at.get(line.ref)
        if line.sign == "+" and before is not None and before != line.oid:
            is_point = _class(line.ref) == "point"
            if is_point or (objects.holds(before) and not goes_on(objects, line.oid, before)):
                found.append(f"{subject(line.ref)} was put elsewhere: it was {before[:12]}")
        _follow(at, line)
    return found


def only_grew(objects: Objects, before: str, after: str) -> bool:
    """Whether every segment of a transcript is still there as it was."""
    try:
        old, new = _folders(objects, before), _folders(objects, after)
        return all(_holds(objects, new.get(name, ""), folder) for name, folder in old.items())
    except StoreDamaged:
        return True  # what cannot be read is told as such


def _folders(objects: Objects, commit: str) -> dict[bytes, str]:
    top = {name: oid for name, _, oid in objects.entries(commit)}
    return {name: oid for name, _, oid in objects.entries(top[b"files"])} if b"files" in top else {}


def _holds(objects: Objects, new: str, old: str) -> bool:
    return new == old or (bool(new) and set(objects.entries(old)) <= set(objects.entries(new)))
