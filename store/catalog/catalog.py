"""The catalog: what the app and the commands query. A cache over the object store, in TinyDB; hooks never open it.

It knows which refs it was made from, and how far it read the ledger. A reader who finds other refs catches up with
those alone, and a catalog that cannot be read, or that something else changed, is made anew. So its storage needs no
journal (see jsonlines, and design.md section 4).
"""

# TinyDB tells no types of its documents.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, cast

import msgspec

from .. import operations
from ..checkpoints import points
from ..checkpoints.points import Checkpoint
from ..conversation import transcripts
from ..conversation.transcripts import Kept
from ..errors import Busy, StoreDamaged, StoreUnwritable
from ..git.reader import Objects, Stored
from ..git.refs import Refs
from ..locks import held
from ..operations import Record
from ..proof import ledger
from ..proof.ledger import Mark
from ..proof.witness import Judgement, Moved, heads, judge
from ..roots import Place
from .content import Content, Row
from .counting import counted
from .jsonlines import JsonLines, uncollected

if TYPE_CHECKING:
    from tinydb import TinyDB

FILE = "catalog.json"
ODD = (KeyError, TypeError, ValueError, msgspec.MsgspecError, StoreDamaged)
"""What documents raise that do not hold what they should."""
MANY = 50
"""Paths: what an operation did to more of them stays in its commit, so that the catalog does not grow with it."""
ANEW = "the catalog was changed by something other than forkpoint: it was made anew from the objects"
REPLACED = "the ledger, which tells where the refs stood, was taken away or replaced"


class _Point(TypedDict, total=False):
    row: Row
    text: str
    """The row as JSON text with escapes, where a path in it is not UTF-8."""


class _Kept(TypedDict):
    commit: str
    record: str


class _Act(_Kept, total=False):
    changed: int
    """How many paths were changed, where the record is kept without them."""


class _Session(_Kept):
    name: str


class _Meta(TypedDict):
    ledger: Mark
    witness: dict[str, str]
    """Where the ledger saw refs that the other tables tell otherwise; "" where it did not see one, or saw it go."""
    damaged: list[str]


class _Tables(TypedDict, total=False):
    points: dict[str, _Point | None]
    operations: dict[str, _Act | None]
    transcripts: dict[str, _Session | None]
    meta: dict[str, _Meta | None]


_SHAPE = repr([kind._fields for kind in (Checkpoint, Stored, Row, Mark)] + [field.name for field in fields(Record)])
VERSION = "4-" + hashlib.blake2b(_SHAPE.encode(), digest_size=4).hexdigest()
_BLANK: _Meta = {"ledger": Mark("", 0, ""), "witness": {}, "damaged": []}


def load(place: Place, objects: Objects, held_content: Content | None = None) -> Content:
    """The catalog, caught up with the store; `held_content` itself while nothing has changed since.

    A store that cannot be written is read all the same.
    """
    said = ledger.size(place.workspace)
    refs = objects.listed()
    if held_content is not None and held_content.refs == refs.commits and not held_content.damaged:
        return held_content
    storage = JsonLines(place.workspace / FILE, VERSION, _Tables)
    try:
        return _current(place, objects, storage, refs, said)
    except ODD:
        # Somebody edited it, and its sums as well: a cache is not worth a question.
        storage.forget("changed")
        return _current(place, objects, storage, refs, said)


def _current(place: Place, objects: Objects, storage: JsonLines, refs: Refs, said: int) -> Content:
    with uncollected():
        found = _as_it_stands(storage, objects, refs, said)
    if found is not None:
        return found
    with _database(storage) as database:
        catalog = _Catalog(place, objects, storage, database, refs)
        _write(place, storage, catalog)
        with uncollected():
            return catalog.content()


def _database(storage: JsonLines) -> TinyDB:
    from tinydb import TinyDB  # not where the file is read as it stands

    return TinyDB(storage=lambda: storage)


def _as_it_stands(storage: JsonLines, objects: Objects, refs: Refs, said: int) -> Content | None:
    """What the file tells; None where there is anything to catch up with."""
    tables = storage.read() or {}
    about = next(iter(tables.get("meta", {}).values()), _BLANK)
    current = storage.state == "whole" and about["ledger"].end == said
    if not current or about["damaged"] or about["witness"]:
        return None
    rows = [_row(document) for document in tables.get("points", {}).values()]
    sessions = list(tables.get("transcripts", {}).values())
    acts = list(tables.get("operations", {}).values())
    known = {points.ref_of(row.stored.checkpoint.id): row.stored.commit for row in rows}
    known |= {transcripts.REFS + item["name"]: item["commit"] for item in sessions}
    known |= {operations.REF: acts[-1]["commit"]} if acts else {}
    if known != refs.commits:
        return None
    return Content(
        tuple(sorted(rows, key=lambda row: row.stored.checkpoint.time)),
        tuple(_act(act, objects) for act in acts),
        kept={item["name"]: _session(item) for item in sessions},
        refs=refs.commits,
    )


class Written(NamedTuple):
    """What stands in the catalog's file, whatever it is worth."""

    state: str
    rows: tuple[Row, ...] = ()
    operations: tuple[tuple[str, Record], ...] = ()
    """With their commits, the oldest first."""
    kept: Mapping[str, Kept] = {}


def as_written(place: Place, objects: Objects) -> Written:
    """Reads the file and compares it with nothing."""
    storage = JsonLines(place.workspace / FILE, VERSION, _Tables)
    with _database(storage) as database, suppress(*ODD):
        return Written(
            storage.state,
            tuple(_row(document) for document in database.table("points")),
            tuple((act["commit"], _act(act, objects)) for act in database.table("operations")),
            {item["name"]: _session(item) for item in database.table("transcripts")},
        )
    return Written("changed")


def rebuild(place: Place, objects: Objects) -> Content:
    """Makes the catalog anew from the objects; until that is done the old one stays. Raises StoreUnwritable."""
    storage = JsonLines(place.workspace / FILE, VERSION, _Tables)
    storage.forget()
    with (
        held(place.workspace / "catalog.lock", who="rebuild"),
        storage.batch(),
        _database(storage) as database,
    ):
        catalog = _Catalog(place, objects, storage, database, Refs({}))
        catalog.catch_up()
        return catalog.content()


def _write(place: Place, storage: JsonLines, catalog: _Catalog) -> None:
    try:
        with held(place.workspace / "catalog.lock", who="catalog"):
            if storage.outdated:
                storage.load()
                catalog.look_again()
            with storage.batch():
                catalog.catch_up()
    except (OSError, StoreUnwritable, Busy):
        with storage.batch(keep=False):
            catalog.catch_up()


class _Catalog:
    """The catalog while it is open."""

    def __init__(self, place: Place, objects: Objects, storage: JsonLines, database: TinyDB, refs: Refs) -> None:
        self._refs = refs
        self._place = place
        self._objects = objects
        self._storage = storage
        self._points = database.table("points")
        self._acts = database.table("operations")
        self._sessions = database.table("transcripts")
        self._meta = database.table("meta")
        self._notices = [ANEW] if storage.state == "changed" else []
        self._judgement = Judgement({}, ())
        self._held: list[tuple[int, Row]] | None = None
        self._done: list[tuple[str, Record]] | None = None

    def look_again(self) -> None:
        """Somebody else wrote the tables."""
        self._held = self._done = None

    def catch_up(self) -> None:
        """Reads what is new, and lets go what is gone."""
        # In this order: a ref is told of after it moved, and before it is deleted. So nobody who is just writing looks
        # like somebody who took something away.
        witnessed, mark = self._witnessed()
        refs = self._refs = self._objects.listed()
        judgement = judge(self._objects, witnessed, refs.commits)
        if judgement.moved:
            _, _, since = ledger.read(self._place.workspace, mark)
            witnessed = heads((line for line in since if line.sign == "-"), witnessed)
            judgement = judge(self._objects, witnessed, refs.commits)
        if judgement.ahead:
            self._heal(judgement.ahead)
        self._judgement = judgement
        wrong = {item.ref for item in judgement.moved}
        damaged = [
            *refs.broken,
            *self._read_points({ref: oid for ref, oid in refs.commits.items() if ref not in wrong}),
            *self._read_sessions(refs.commits, judgement.moved),
            *self._read_acts(refs.commits, judgement.moved),
        ]
        known = self._known()
        witness = {ref: oid for ref, oid in witnessed.items() if known.get(ref) != oid}
        witness |= {ref: "" for ref in known if ref not in witnessed}
        if mark != self._about()["ledger"]:
            with suppress(OSError):
                ledger.sync(self._place.workspace)
        meta: _Meta = {"ledger": mark, "witness": witness, "damaged": damaged}
        if meta != self._about():
            self._meta.truncate()
            self._meta.insert(meta)

    def content(self) -> Content:
        """All that is known now."""
        rows = [row for _, row in self._rows()]
        return Content(
            tuple(sorted(rows, key=lambda row: row.stored.checkpoint.time)),
            tuple(record for _, record in self._operations()),
            tuple(self._about()["damaged"]),
            self._judgement.moved,
            tuple(dict.fromkeys(self._notices)),
            {item["name"]: _session(item) for item in self._sessions},
            self._refs.commits,
        )

    def _about(self) -> _Meta:
        found = self._meta.all()
        return cast(_Meta, dict(found[0])) if found else _BLANK

    def _rows(self) -> list[tuple[int, Row]]:
        """Each row with its document's number; TinyDB copies every document that it gives, so it is asked once."""
        if self._held is None:
            self._held = [(document.doc_id, _row(document)) for document in self._points]
        return self._held

    def _operations(self) -> list[tuple[str, Record]]:
        """Each operation with its commit, the oldest first; asked once, as the rows are."""
        if self._done is None:
            self._done = [(document["commit"], _act(document, self._objects)) for document in self._acts]
        return self._done

    def _known(self) -> dict[str, str]:
        """Ref → commit of all that the tables hold."""
        known = {points.ref_of(row.stored.checkpoint.id): row.stored.commit for _, row in self._rows()}
        known |= {transcripts.REFS + item["name"]: item["commit"] for item in self._sessions}
        done = self._operations()
        return known | ({operations.REF: done[-1][0]} if done else {})

    def _witnessed(self) -> tuple[dict[str, str], Mark]:
        """Where the refs were seen last: what is known here, and what the ledger tells since."""
        meta = self._about()
        before = meta["ledger"]
        mark, goes_on_from, lines = ledger.read(self._place.workspace, before)
        known = {ref: oid for ref, oid in (self._known() | meta["witness"]).items() if oid}
        if before.id in ("", goes_on_from):
            return heads(lines), mark
        if mark.id != before.id or (mark.end < before.end):
            self._notices.append(REPLACED)
            return heads(lines, known), before
        return heads(lines, known), mark

    def _heal(self, ahead: Mapping[str, str]) -> None:
        """Writes down what a killed writer did not. Nobody who holds the store is disturbed: he may just be writing."""
        with suppress(Busy, StoreUnwritable), self._place.writing("look", 0.0):
            mark, _, lines = ledger.read(self._place.workspace)
            told = heads(lines) if mark.id else {}
            standing = self._objects.listed().commits
            wanting = [(ref, oid) for ref, oid in ahead.items() if standing.get(ref) == oid != told.get(ref)]
            ledger.healed(self._place, wanting)

    def _read_points(self, refs: Mapping[str, str]) -> list[str]:
        """Takes in the checkpoints that are new; gives the refs of those that cannot be read."""
        wanted = {ref: commit for ref, commit in refs.items() if ref.startswith(points.REFS)}
        have: dict[str, Stored] = {}
        gone: set[int] = set()
        for number, row in self._rows():
            stored = row.stored
            if wanted.get(points.ref_of(stored.checkpoint.id)) == stored.commit:
                have[stored.checkpoint.id] = stored
            else:
                gone.add(number)
        if gone:
            self._points.remove(doc_ids=gone)
            self._held = [pair for pair in self._rows() if pair[0] not in gone]
        fresh, damaged = self._fresh(wanted, have)
        have |= {stored.checkpoint.id: stored for stored in fresh}
        if fresh:
            rows = [Row(stored, *counted(self._objects, stored, have)) for stored in fresh]
            numbers = self._points.insert_multiple(map(_document, rows))
            self._held = [*self._rows(), *zip(numbers, rows, strict=True)]
        return damaged

    def _fresh(self, wanted: Mapping[str, str], have: Mapping[str, Stored]) -> tuple[list[Stored], list[str]]:
        fresh: list[Stored] = []
        damaged: list[str] = []
        for ref, commit in wanted.items():
            name = ref.rpartition("/")[2]
            if name not in have:
                try:
                    stored = self._objects.stored(commit)
                except StoreDamaged:
                    damaged.append(ref)
                    continue
                if stored.checkpoint.id == name:
                    fresh.append(stored)
                else:
                    damaged.append(ref)
        return sorted(fresh, key=lambda stored: stored.checkpoint.time), damaged

    def _read_sessions(self, refs: Mapping[str, str], moved: Iterable[Moved]) -> list[str]:
        """Takes in transcripts that are new or grew; one that was moved is read as it was known."""
        wanted = {ref: commit for ref, commit in refs.items() if ref.startswith(transcripts.REFS)}
        wanted |= {item.ref: item.known for item in moved if item.ref.startswith(transcripts.REFS)}
        have = {transcripts.REFS + item["name"]: item for item in self._sessions}
        gone = [item.doc_id for ref, item in have.items() if wanted.get(ref) != item["commit"]]
        if gone:
            self._sessions.remove(doc_ids=gone)
        damaged: list[str] = []
        for ref, commit in wanted.items():
            if ref not in have or have[ref]["commit"] != commit:
                try:
                    record = self._objects.file(commit, transcripts.RECORD)
                    transcripts.decode(record, commit)
                except StoreDamaged:
                    damaged.append(ref)
                else:
                    name = ref.removeprefix(transcripts.REFS)
                    self._sessions.insert({"name": name, "commit": commit, "record": record.decode()})
        return damaged

    def _read_acts(self, refs: Mapping[str, str], moved: Iterable[Moved]) -> list[str]:
        """Takes in new operations; where they were moved or cannot be read, those that are known stay."""
        head = next((item.known for item in moved if item.ref == operations.REF), refs.get(operations.REF))
        done = self._operations()
        last = done[-1][0] if done else None
        if head is None or last == head:
            return []
        new: list[str] = []
        goes_on = False
        try:
            for commit in operations.commits(self._objects, head):
                goes_on = commit == last
                if goes_on:
                    break
                new.append(commit)
            read = [(commit, operations.read(self._objects, commit)) for commit in reversed(new)]
        except StoreDamaged:
            return [operations.REF]
        if not goes_on:
            self._acts.truncate()
        self._acts.insert_multiple(_kept(*item) for item in read)
        self._done = [*done, *read] if goes_on else read
        return []


def _document(row: Row) -> _Point:
    try:
        msgspec.json.encode(row)
    except UnicodeEncodeError:
        return {"text": json.dumps(msgspec.to_builtins(row))}
    return {"row": row}


def _kept(commit: str, record: Record) -> _Act:
    if len(record.changes) <= MANY:
        return {"commit": commit, "record": operations.encode(record).decode()}
    text = operations.encode(replace(record, changes=())).decode()
    return {"commit": commit, "record": text, "changed": len(record.changes)}


def _act(document: Mapping[str, Any], objects: Objects) -> Record:
    record = operations.decode(document["record"].encode(), document["commit"])
    count = document.get("changed", 0)
    return operations.with_changes_of(record, count, objects, document["commit"]) if count else record


def _session(document: Mapping[str, Any]) -> Kept:
    return transcripts.decode(document["record"].encode(), document["commit"])


def _row(document: Mapping[str, Any]) -> Row:
    if "row" in document:
        return document["row"]
    return msgspec.convert(json.loads(document["text"]), Row)
