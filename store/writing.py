"""Writing a checkpoint: what is new of a walk goes into the object store, then one ref moves."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import IO

from . import ledger, points
from .errors import StoreUnwritable
from .git.stream import EMPTY_TREE, Stream, blob_id, put, put_inline, put_tree, quoted, remove
from .points import Checkpoint
from .roots import Place
from .scan import Scan
from .space import Room
from .states import FOLDER_MODE, Node
from .statindex import FileInfo, Index

Progress = Callable[[int], None]
"""Called now and then with the number of files stored so far."""


class Writer:
    """Opens the stream when the first new bytes come, holding the store's lock from then on."""

    def __init__(self, place: Place, stack: ExitStack, wait: float | None, progress: Progress | None) -> None:
        self._place = place
        self._stack = stack
        self._wait = wait
        self._progress = progress
        self._stream: Stream | None = None
        self._room: Room | None = None
        self._sent: set[str] = set()
        self._ref = ""

    def blob(self, oid: str, data: bytes) -> None:
        if oid not in self._sent:
            self.open(len(data)).blob(data)
            self._count(oid)

    def large(self, oid: str, stream: IO[bytes], size: int) -> None:
        if oid not in self._sent:
            self.open(size).blob_from(stream.read, size)
            self._count(oid)

    def commit(
        self,
        checkpoint: Checkpoint,
        found: Scan,
        index: Index,
        extra: list[tuple[bytes, Node]],
        beside: Iterable[bytes] = (),
    ) -> str:
        """Sends the checkpoint, which `close` makes durable; gives the id of its `files` tree.

        `beside` are lines that put other parts into the checkpoint's tree.
        """
        stream = self.open()
        self._ref = checkpoint.ref
        lines = (*_files(found, index), *self._extra(extra), *_parts(checkpoint, found, extra), *beside)
        mark = stream.commit(checkpoint.ref, checkpoint.time, lines)
        tree = stream.tree_of(mark, points.FILES)
        stream.end()
        return tree

    def close(self) -> None:
        """Waits until the checkpoint is on the disk."""
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()
            ledger.moved(self._place, self._ref)

    def _extra(self, extra: list[tuple[bytes, Node]]) -> Iterator[bytes]:
        if not extra:
            return
        from .sides import on_disk  # only guards need it, and they are no hook's

        for path, node in extra:
            if node.kind != "folder":
                git_mode = 0o120000 if node.kind == "link" else (0o100755 if node.mode & 0o100 else 0o100644)
                data = on_disk(self._place.root.path, path, node)
                if blob_id(data) != node.oid:
                    raise StoreUnwritable(
                        "a path changed while its guard was taken", path=os.fsdecode(path), todo="try again"
                    )
                self.open(len(data))
                yield b"M %06o inline %s\ndata %d\n" % (git_mode, quoted(b"files/" + path), len(data)) + data + b"\n"

    def _count(self, oid: str) -> None:
        self._sent.add(oid)
        if self._progress is not None and len(self._sent) % 256 == 0:
            self._progress(len(self._sent))

    def open(self, size: int = 0) -> Stream:
        """The stream, for `size` bytes more.

        Its trouble is the store's, and must not look like that of the file that is being read.
        """
        if self._room is None:
            self._room = Room(self._place.home, size)
        elif size:
            self._room.take(size)
        if self._stream is None:
            try:
                self._stack.enter_context(self._place.writing("save", self._wait))
                self._stream = Stream(self._place.git_dir)
            except OSError as error:
                at = str(error.filename or self._place.git_dir)
                raise StoreUnwritable("the store cannot be written", path=at, todo=str(error.strerror)) from None
            self._stack.callback(self._drop)
        return self._stream

    def _drop(self) -> None:
        if self._stream is not None:
            self._stream.abandon()


def _files(found: Scan, index: Index) -> Iterator[bytes]:
    """The lines that turn the index's tree into the one that was found: removals first, for file ↔ folder swaps."""
    if index.tree and index.tree != EMPTY_TREE:
        yield put_tree(index.tree, points.FILES.encode())
    if not index.tree:
        for folder, record in found.folders.items():
            for name, info in record.files.items():
                yield _put_file(folder + name, info)
        return
    for path, change in found.changed.items():
        if change.new is None:
            yield remove(b"files/" + os.fsencode(path))
    for path, change in found.changed.items():
        if change.new is not None:
            yield _put_file(path, change.new)


def _put_file(path: str, info: FileInfo) -> bytes:
    executable = 0o100755 if info[0] & 0o100 else 0o100644
    return put(0o120000 if stat.S_ISLNK(info[0]) else executable, info[5], b"files/" + os.fsencode(path))


def _parts(checkpoint: Checkpoint, found: Scan, extra: list[tuple[bytes, Node]]) -> Iterator[bytes]:
    modes = {path + name: mode for path, folder in found.folders.items() for name, mode in folder.odd.items()}
    folders = [(path, folder) for path, folder in found.folders.items() if path and path not in found.hollow]
    modes |= {path: folder.mode for path, folder in folders if folder.mode != FOLDER_MODE}
    modes |= {os.fsdecode(path): node.mode for path, node in extra if node.kind == "file"}
    empty = [path[:-1] for path, folder in folders if found.is_empty(folder, path)]
    if modes:
        yield put_inline(points.encode_modes(modes), points.MODES.encode())
    if empty:
        yield put_inline(points.encode_paths(empty), points.EMPTY.encode())
    if found.sources:
        yield put_inline(points.encode_rules(found.sources), points.RULES.encode())
    yield put_inline(points.encode(checkpoint), points.RECORD.encode())
