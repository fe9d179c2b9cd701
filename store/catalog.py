"""The catalog: what the app and the commands query. A cache over the object store, in TinyDB; hooks never open it.

It is stamped with the refs that it was made from; a reader whose stamp differs catches up, and a catalog that cannot
be read is made anew. So its storage needs no journal: temporary file, fsync, rename, a lock (design.md section 4).
"""

# TinyDB tells no types of its documents.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tinydb import TinyDB
from tinydb.storages import Storage

from . import operations, points
from .diff import count
from .durable import write_atomic
from .errors import Busy, StoreDamaged, StoreUnwritable
from .git.compare import compare
from .git.reader import Objects, Stored
from .locks import held
from .operations import Record
from .roots import Place
from .states import Node

VERSION = 1
DAMAGED = "damaged"
COUNTED = 400
"""Points that change more files than this are not counted line by line."""


@dataclass(frozen=True, slots=True)
class Row:
    """A checkpoint as the catalog holds it."""

    stored: Stored
    added: int | None
    removed: int | None
    changed: int | None
    """Paths that differ from the checkpoint before it; None when there is none to compare with."""


@dataclass(frozen=True, slots=True)
class Content:
    """All that the catalog knows."""

    rows: tuple[Row, ...]
    """By time, the oldest first."""
    operations: tuple[Record, ...]
    """The oldest first."""
    damaged: tuple[str, ...] = ()
    """Refs whose checkpoint cannot be read."""
    stamp: str = ""
    """What it was made from: the refs of the store."""


class AtomicStorage(Storage):
    """TinyDB's storage over one file that is replaced whole; `batch` gathers several writes into one."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._held: dict[str, dict[str, Any]] | None = None
        self._gathering = False

    def read(self) -> dict[str, dict[str, Any]] | None:
        if self._held is None:
            try:
                data = json.loads(self._file.read_bytes())
            except (OSError, ValueError):
                return None
            self._held = data if _is_sound(data) else None
        return self._held

    def write(self, data: dict[str, dict[str, Any]]) -> None:
        self._held = data
        if not self._gathering:
            write_atomic(self._file, json.dumps(data).encode())

    @contextmanager
    def batch(self) -> Generator[None]:
        self._gathering = True
        try:
            yield
        finally:
            self._gathering = False
        if self._held is not None:
            self.write(self._held)

    @contextmanager
    def in_memory(self) -> Generator[None]:
        """Keeps all that is written to itself: the file cannot be."""
        self._gathering = True
        try:
            yield
        finally:
            self._gathering = False


def load(place: Place, objects: Objects, held_content: Content | None = None) -> Content:
    """The catalog, caught up with the store; `held_content` itself while nothing has changed since.

    A store that cannot be written is read all the same.
    """
    refs = objects.refs(points.REFS)
    try:
        head = objects.ref(operations.REF) or ""
    except StoreDamaged:
        head = DAMAGED
    stamp = _stamp(refs, head)
    if held_content is not None and held_content.stamp == stamp:
        return held_content
    file = place.workspace / "catalog.json"
    storage = AtomicStorage(file)
    with TinyDB(storage=lambda: storage) as database:
        try:
            return _current(database, place, storage, objects, refs, head, stamp)
        except (KeyError, TypeError, ValueError, StoreDamaged):
            # Somebody edited it: a cache is not worth a question.
            database.drop_tables()
            return _current(database, place, storage, objects, refs, head, stamp)


def _current(
    database: TinyDB,
    place: Place,
    storage: AtomicStorage,
    objects: Objects,
    refs: dict[str, str],
    head: str,
    stamp: str,
) -> Content:
    meta = database.table("meta").all()
    if not meta or meta[0].get("stamp") != stamp:
        try:
            with held(place.workspace / "catalog.lock", who="catalog"), storage.batch():
                return _catch_up(database, objects, refs, head, stamp)
        except (OSError, StoreUnwritable, Busy):
            with storage.in_memory():
                return _catch_up(database, objects, refs, head, stamp)
    return _content(database)


def _is_sound(data: Any) -> bool:
    """Whether it has the form that TinyDB takes for granted: tables of documents by number."""
    return isinstance(data, dict) and all(
        isinstance(table, dict)
        and all(str(number).isdigit() and isinstance(row, dict) for number, row in table.items())
        for table in data.values()
    )


def _stamp(refs: dict[str, str], head: str) -> str:
    digest = hashlib.blake2b(f"{VERSION}{head}".encode(), digest_size=16)
    for name, commit in sorted(refs.items()):
        digest.update(f"{name}{commit}".encode())
    return digest.hexdigest()


def _catch_up(database: TinyDB, objects: Objects, refs: dict[str, str], head: str, stamp: str) -> Content:
    meta = database.table("meta")
    state: dict[str, Any] = dict(meta.all()[0]) if meta.all() else {}
    if state.get("version") != VERSION:
        database.drop_tables()
        state = {}
    table = database.table("points")
    have = {row["commit"]: row.doc_id for row in table.all()}
    wanted = set(refs.values())
    table.remove(doc_ids=[doc for commit, doc in have.items() if commit not in wanted])
    damaged: list[str] = []
    fresh: list[Stored] = []
    for ref, commit in refs.items():
        if commit not in have:
            try:
                fresh.append(objects.stored(commit))
            except StoreDamaged:
                damaged.append(ref)
    by_id = {row["record"]["id"]: _row(row).stored for row in table.all()} | {
        item.checkpoint.id: item for item in fresh
    }
    table.insert_multiple([_document(objects, stored, by_id) for stored in fresh])
    if state.get("head") != head:
        damaged += _read_operations(database, objects)
    meta.truncate()
    # What could not be read may be readable again at the next look: out of memory or out of open files is no damage.
    meta.insert({"version": VERSION, "stamp": "" if damaged else stamp, "head": head, "damaged": damaged})
    return _content(database)


def _read_operations(database: TinyDB, objects: Objects) -> list[str]:
    """Reads the operations anew; where that fails those that are known stay. Gives the refs that are damaged."""
    try:
        chain = operations.chain(objects)
    except StoreDamaged:
        return [operations.REF]
    acts = database.table("operations")
    acts.truncate()
    acts.insert_multiple([{"record": operations.encode(record).decode()} for _, record in chain])
    return []


def _document(objects: Objects, stored: Stored, by_id: dict[str, Stored]) -> dict[str, Any]:
    checkpoint = stored.checkpoint
    base = by_id.get(checkpoint.before) or by_id.get(checkpoint.previous)
    changed: int | None = None
    lines: tuple[int | None, int | None] = (None, None)
    if base is not None and checkpoint.complete:
        with suppress(StoreDamaged):
            pairs = compare(objects, base, stored)
            changed = len(pairs)
            if changed <= COUNTED:
                lines = _lines(objects, pairs)
    return {
        "commit": stored.commit,
        "parts": list(stored[2:]),
        "record": {key: value for key, value in checkpoint._asdict().items() if value not in ("", (), {})},
        "added": lines[0],
        "removed": lines[1],
        "changed": changed,
    }


def _lines(objects: Objects, pairs: dict[bytes, tuple[Node | None, Node | None]]) -> tuple[int, int]:
    def read(_: bytes, node: Node) -> bytes:
        return objects.read(node.oid)

    added = removed = 0
    for path, (old, new) in pairs.items():
        came, went = count(path, old, new, read, read) or (0, 0)
        added, removed = added + came, removed + went
    return added, removed


def _row(document: Any) -> Row:
    record = points.from_plain(dict(document["record"]))
    stored = Stored(record, document["commit"], *document["parts"])
    return Row(stored, document["added"], document["removed"], document["changed"])


def _content(database: TinyDB) -> Content:
    rows: Sequence[Row] = [_row(document) for document in database.table("points").all()]
    acts = [operations.decode(row["record"].encode(), "catalog") for row in database.table("operations").all()]
    meta = database.table("meta").all()
    damaged: tuple[str, ...] = tuple(meta[0].get("damaged", ())) if meta else ()
    stamp = str(meta[0].get("stamp", "")) if meta else ""
    return Content(tuple(sorted(rows, key=lambda row: row.stored.checkpoint.time)), tuple(acts), damaged, stamp)
