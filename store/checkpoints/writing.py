"""Writing a checkpoint: what is new of a walk goes into the object store, then one ref moves."""

from __future__ import annotations

import io
import os

from ..errors import GitFailed, StoreUnwritable
from ..git.known import Contents, where
from ..git.stream import EMPTY_TREE, Put, Stream, blob_id, put, put_inline, put_tree
from ..light import TYPE_CHECKING, Callable, ExitStack, Iterable, Iterator
from ..proof import ledger
from ..roots import Place
from ..states import FOLDER_MODE, Node
from ..upkeep.space import Room
from ..walk.scan import Scan
from ..walk.statindex import Index
from . import points
from .points import Checkpoint
from .trees import LINK, Trees, file_mode

if TYPE_CHECKING:
    from typing import IO

LARGE = 256 << 10
"""Bytes of a content from which on it is asked whether the store has it: asking takes less than compressing it."""
Progress = Callable[[int], None]
"""Called now and then with the number of files stored so far."""


class Writer:
    """Opens the stream when the first new bytes come, holding the store's lock from then on.

    With `anew` everything is stored, whatever the store seems to have.
    """

    def __init__(
        self, place: Place, stack: ExitStack, wait: float | None, progress: Progress | None, anew: bool = False
    ) -> None:
        self._place = place
        self._known = None if anew else Contents(place.git_dir)
        self._stack = stack
        self._wait = wait
        self._progress = progress
        self._stream: Stream | None = None
        self._room: Room | None = None
        self._sent: set[str] = set()
        self._ref = ""
        self._stands = ""
        self.parts: dict[str, str] = {}
        """Ids of the checkpoint's parts beside its files, by name."""
        self.pack = ""
        """The pack that the tree of the files was written into."""

    def blob(self, oid: str, data: bytes) -> None:
        if oid not in self._sent:
            if not self._has(oid, len(data)):
                self.open(len(data)).blob(data, oid)
            self._count(oid)

    def large(self, oid: str, stream: IO[bytes], size: int) -> None:
        if oid not in self._sent:
            if not self._has(oid, size):
                self.open(size).blob_from(oid, stream.read, size)
            self._count(oid)

    def commit(
        self,
        checkpoint: Checkpoint,
        found: Scan,
        index: Index,
        extra: list[tuple[bytes, Node]],
        beside: Iterable[Put] = (),
    ) -> str:
        """Sends the checkpoint, which `close` makes durable; gives the id of its `files` tree.

        The walk's folders get their trees' ids. `beside` are other parts of the checkpoint's tree.
        """
        stream = self.open()
        stands: str | None = ""
        if index.tree not in ("", EMPTY_TREE):
            stands = where(self._place.git_dir, index.tree, index.pack)
            if stands is None:
                raise GitFailed("the newest checkpoint's files are not in the store", todo="forkpoint verify")
        self._ref = checkpoint.ref
        tree = Trees(found, index, stream, self._extra(extra)).write()
        self.parts = {}
        changes = [put_tree(tree, points.FILES.encode())] if tree != EMPTY_TREE else []
        for part in (*_parts(found, extra), *beside):
            changes.append(self._part(part, index))
        changes.append(put_inline(points.encode(checkpoint), points.RECORD.encode()))
        stream.commit(checkpoint.ref, checkpoint.time, changes)
        self._stands = stands if tree == index.tree else ""
        return tree

    def close(self) -> None:
        """Returns once the checkpoint is on the disk."""
        stream, self._stream = self._stream, None
        if stream is not None:
            name = stream.close()
            self.pack = self._stands or name
            ledger.moved(self._place, self._ref)

    def _has(self, oid: str, size: int) -> bool:
        """Whether a large content is stored. Nothing reached it maybe; but the lock keeps it until the ref does."""
        if size < LARGE or self._known is None:
            return False
        self.open()
        return self._known.hold(oid, size)

    def _part(self, part: Put, index: Index) -> Put:
        """A part of the checkpoint, by its id alone where the checkpoint before has the same."""
        if part.data is None:
            return part
        path, oid = os.fsdecode(part.path), blob_id(part.data)
        self.parts[path] = oid
        return put(part.mode, oid, part.path) if index.parts.get(path) == oid else part

    def _extra(self, extra: list[tuple[bytes, Node]]) -> Iterator[Put]:
        if not extra:
            return
        from ..restore.below import CONTENT, opened_parent, opened_root  # only guards need it, and they are no hook's

        with opened_root(self._place.root.path) as top:
            for path, node in extra:
                if node.kind == "folder":
                    continue
                try:
                    with opened_parent(top, path) as (folder, name):
                        if node.kind == "link":
                            target = os.readlink(name, dir_fd=folder)
                            self.large(node.oid, io.BytesIO(target), len(target))
                        else:
                            with open(os.open(name, CONTENT, dir_fd=folder), "rb") as stream:
                                self.large(node.oid, stream, os.fstat(stream.fileno()).st_size)
                except GitFailed:
                    raise StoreUnwritable(
                        "a path changed while its guard was taken", path=os.fsdecode(path), todo="try again"
                    ) from None
                yield put(LINK if node.kind == "link" else file_mode(node.mode), node.oid, path)

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


def _parts(found: Scan, extra: list[tuple[bytes, Node]]) -> Iterator[Put]:
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
