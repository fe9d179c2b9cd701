"""What a person did: one chain of commits on refs/operations, each with one operation.json; never rewritten.

An operation names points by id and keeps none alive (design.md section 4).
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, overload

import msgspec

from .errors import StoreDamaged
from .git.refs import OPERATIONS as REF
from .git.stream import Stream, put_inline
from .proof import ledger
from .proof.witness import check_head
from .roots import Place
from .states import Node

if TYPE_CHECKING:
    from .git.reader import Objects

FILE = "operation.json"
MARKS = frozenset({"label", "pin", "unpin"})
FINAL = frozenset({"delete", "expire", "purge"})
"""Operations that nothing takes back."""
Changed = tuple[str, list[Any] | None, list[Any] | None]
"""Path (surrogate escapes), node before, node after."""


class Unread(Sequence[Changed]):
    """The changes of an operation with many paths: how many is known, they are read when somebody asks for them."""

    def __init__(self, count: int, read: Callable[[], Sequence[Changed]]) -> None:
        self._count = count
        self._read = read
        self._held: Sequence[Changed] | None = None

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Changed: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Changed]: ...
    def __getitem__(self, index: int | slice) -> Changed | Sequence[Changed]:
        return self._all()[index]

    def __iter__(self) -> Iterator[Changed]:
        return iter(self._all())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self._all()) == tuple(other)  # pyright: ignore[reportUnknownArgumentType]

    __hash__ = None  # type: ignore[assignment]

    def _all(self) -> Sequence[Changed]:
        if self._held is None:
            self._held = self._read()
        return self._held


@dataclass(frozen=True, slots=True)
class Record:
    """One operation as it is stored."""

    id: str
    kind: str
    time: int
    root: str
    session: str = ""
    summary: str = ""
    point: str = ""
    """The checkpoint that it is about: a restore's target, what was labelled or pinned."""
    entry: str = ""
    """Where the conversation went, or where the row belongs."""
    scope: str = ""
    guard: str = ""
    changes: Sequence[Changed] = ()
    """What became of each path that was changed."""
    merged: tuple[str, ...] = ()
    """Those of the paths whose new content was merged from somebody else's and the checkpoint's."""
    text: str = ""
    """A label, or a branch's name."""
    was: str = ""
    """A mark's former value."""
    of: str = ""
    """Undo and redo: the operation that it takes back or does again."""
    fork: dict[str, Any] = field(default_factory=dict[str, Any])
    """Forks: agent, session (the new id), source (the old id), file, digest, cwd, head, command."""
    failed: int = 0
    rows: tuple[dict[str, Any], ...] = ()
    """Deletions: what is still to be seen of each point (see deleting)."""
    sessions: tuple[str, ...] = ()
    """Deletions: the conversations that went with their last point."""


_KEYS = frozenset(item.name for item in fields(Record))


def new_id() -> str:
    """A random id: 12 hexadecimal digits, so that it is never taken for a checkpoint's."""
    return os.urandom(6).hex()


def append(place: Place, objects: Objects, record: Record, *, locked: bool = False) -> Record:
    """Adds a record to the chain; returns when it is on the disk. With `locked` the caller holds the store.

    Raises StoreDamaged where the chain does not end where it was seen last.
    """
    with nullcontext() if locked else place.writing(record.kind):
        head = check_head(place, objects, REF)
        stream = Stream(place.git_dir)
        try:
            stream.commit(REF, record.time, [put_inline(encode(record), FILE.encode())], parent=head)
        except BaseException:
            stream.abandon()
            raise
        stream.close()
        ledger.moved(place, REF)
    return record


def encode(record: Record) -> bytes:
    """operation.json."""
    found = ((item.name, getattr(record, item.name)) for item in fields(record))
    plain = {name: value for name, value in found if value not in ("", (), {}, 0)}
    # Without indent: with it json has no C encoder, and a restore of 1,000 files takes a tenth of a second longer.
    return json.dumps(plain, ensure_ascii=True).encode() + b"\n"


def decode(data: bytes, where: str) -> Record:
    """Reads operation.json; keys of a newer version are passed over. Raises StoreDamaged."""
    try:
        plain: dict[str, Any] = _read(data)
        plain["changes"] = tuple(tuple(item) for item in plain.get("changes", ()))
        for name in ("merged", "rows", "sessions"):
            plain[name] = tuple(plain.get(name, ()))
        return Record(**{name: value for name, value in plain.items() if name in _KEYS})
    except (ValueError, TypeError) as error:
        raise StoreDamaged(f"an operation cannot be read ({error})", path=where, todo="forkpoint verify") from None


def _read(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError:
        return json.loads(data)  # a path that is not UTF-8 has half a surrogate pair in it


def with_changes_of(record: Record, count: int, objects: Objects, commit: str) -> Record:
    """A record whose changes stand in its commit alone. To look at them may raise StoreDamaged."""
    return replace(record, changes=Unread(count, lambda: read(objects, commit).changes))


def commits(objects: Objects, head: str | None = None) -> Iterator[str]:
    """The commits of all operations up to `head` or the newest, the newest first."""
    commit = head or objects.ref(REF)
    while commit is not None:
        yield commit
        commit = next(iter(objects.parents(commit)), None)


def read(objects: Objects, commit: str) -> Record:
    """The operation of a commit. Raises StoreDamaged."""
    return decode(objects.file(commit, FILE), commit)


def newest_first(objects: Objects) -> Iterator[tuple[str, Record]]:
    """All operations with their commits; each is read when its turn comes. Raises StoreDamaged."""
    return ((commit, read(objects, commit)) for commit in commits(objects))


def changes_of(pairs: dict[bytes, tuple[Node | None, Node | None]]) -> tuple[Any, ...]:
    """Node pairs as a record holds them."""
    return tuple(
        (os.fsdecode(path), list(old) if old else None, list(new) if new else None)
        for path, (old, new) in sorted(pairs.items())
    )


def pairs_of(record: Record) -> dict[bytes, tuple[Node | None, Node | None]]:
    """The node pairs of a record."""
    return {
        os.fsencode(path): (Node(*old) if old else None, Node(*new) if new else None)
        for path, old, new in record.changes
    }


def taken_back(records: Sequence[Record], root: str) -> tuple[list[Record], list[Record]]:
    """What undo and redo would act on in a root: (operations not taken back, undone ones that can be redone).

    The newest stands last in both. An undo moves its operation to the second list, a redo moves it back, and a new
    operation of a person clears the second list, as in an editor.
    """
    done: dict[str, Record] = {}
    undone: dict[str, Record] = {}
    for record in records:
        if record.root != root or record.kind in FINAL:
            continue
        if record.kind in ("undo", "redo"):
            here, there = (done, undone) if record.kind == "undo" else (undone, done)
            if record.of in here:
                there[record.of] = here.pop(record.of)
        else:
            done[record.id] = record
            undone = {}
    return list(done.values()), list(undone.values())


def moment() -> int:
    """Now, in nanoseconds."""
    return time.time_ns()
