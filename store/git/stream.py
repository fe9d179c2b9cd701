"""Writing into the object store: one pack, one or more refs, all or nothing.

A ref moves only when the pack that holds its commit is on the disk (design.md section 4).
"""

from __future__ import annotations

import os
import time

from ..durable import sync_files, sync_folder, write_all
from ..errors import GitFailed
from ..light import Callable, ExitStack, Iterable, NamedTuple, Path, Sequence, suppress
from . import pack
from .ids import BLOB, COMMIT, EMPTY_TREE, TREE, blob_id, object_id
from .pack import FOLDER, Pack, tree_object

__all__ = ["EMPTY_TREE", "Put", "Stream", "blob_id", "free", "put", "put_inline", "put_tree", "remove"]

PARTING = 1.0
"""Seconds: a lock that is still there after them belongs to no living process."""
TOGETHER = 16
"""So many refs have their new files open at a time."""
Tree = dict[bytes, "tuple[int, bytes] | Tree"]
"""Name → git mode and id, or a folder that is being changed."""
ReadTree = Callable[[str], Iterable[tuple[bytes, int, str]]]
"""Gives name, git mode and id of what stands in a stored tree."""


class Put(NamedTuple):
    """One change of a commit's tree; see `put`, `put_tree`, `put_inline`, `remove`."""

    path: bytes
    mode: int
    """Git's; 0 takes the path out."""
    oid: str
    data: bytes | None = None


def put(git_mode: int, oid: str, path: bytes) -> Put:
    """Puts a known blob at a path."""
    return Put(path, git_mode, oid)


def put_tree(oid: str, path: bytes) -> Put:
    """Puts a known tree at a path; b"" is the top."""
    return Put(path, FOLDER, oid)


def put_inline(data: bytes, path: bytes, git_mode: int = 0o100644) -> Put:
    """Puts new bytes at a path."""
    return Put(path, git_mode, "", data)


def remove(path: bytes) -> Put:
    """Takes a path out, with all below it."""
    return Put(path, 0, "")


class Stream:
    """A pack with its refs. Nothing that was sent exists for anyone before `close` has returned.

    Whoever begins one holds the store for writing. Raises StoreUnwritable and GitFailed.
    """

    def __init__(self, git_dir: Path) -> None:
        self._git_dir = git_dir
        self._pack = Pack(git_dir)
        self._refs: list[tuple[str, str, str | None]] = []

    def blob(self, data: bytes, oid: str = "") -> str:
        """Sends a blob; gives its id, which may be told where it is known."""
        return self._pack.add(BLOB, data, bytes.fromhex(oid)).hex()

    def blob_from(self, oid: str, read: Callable[[int], bytes], size: int) -> None:
        """Sends a blob of `size` bytes piece by piece; `read` must give exactly the bytes of this id."""
        self._pack.add_from(bytes.fromhex(oid), read, size)

    def tree(self, entries: Iterable[tuple[bytes, int, bytes]], known: bytes = b"") -> bytes:
        """Sends a tree of names, git modes and ids (20 bytes each), unless it is the `known` one; gives its id."""
        data = tree_object(entries)
        oid = object_id(TREE, data)
        return oid if oid == known else self._pack.add(TREE, data, oid)

    def commit(
        self,
        ref: str,
        moment: int,
        changes: Iterable[Put],
        *,
        message: bytes = b"",
        parent: str | None = None,
        read: ReadTree | None = None,
    ) -> str:
        """Sends a commit on `ref` whose tree is made by `changes`, one after the other; gives its id.

        `read` is needed where something is put below a stored tree.
        """
        lines = [b"tree " + self._top(changes, read).hex().encode()]
        if parent is not None:
            lines.append(b"parent " + parent.encode())
        who = b"forkpoint <forkpoint@localhost> %d +0000" % (moment // 10**9)
        lines += [b"author " + who, b"committer " + who, b"", message]
        commit = self._pack.add(COMMIT, b"\n".join(lines)).hex()
        self._refs.append((ref, commit, parent))
        return commit

    def close(self) -> str:
        """Makes the pack durable, then moves the refs; gives the pack's name."""
        for ref, _, parent in self._refs:
            self._may_move(ref, parent)
        name = ""
        for at in range(0, max(1, len(self._refs)), TOGETHER):
            name = self._close_with(self._refs[at : at + TOGETHER], name)
        return name

    def _close_with(self, refs: Sequence[tuple[str, str, str | None]], name: str) -> str:
        """Moves some refs; their files come to the disk together, with the pack unless that has its name already."""
        with ExitStack() as stack:
            with pack.telling(f"{self._git_dir}/refs"):
                files = [stack.enter_context(self._pack.temporary("ref")) for _ in refs]
                for (_, commit, _), (_, descriptor) in zip(refs, files, strict=True):
                    write_all(descriptor, commit.encode() + b"\n")
                if name:
                    sync_files([descriptor for _, descriptor in files])
            name = name or self._pack.close([descriptor for _, descriptor in files])
            for (ref, _, _), (temporary, _) in zip(refs, files, strict=True):
                with pack.telling(f"{self._git_dir}/{ref}"):
                    self._move(ref, temporary)
        return name

    def abandon(self) -> None:
        """Drops all that was sent."""
        self._pack.abandon()

    def _top(self, changes: Iterable[Put], read: ReadTree | None) -> bytes:
        top: Tree = {}
        for change in changes:
            oid = change.oid if change.data is None else self.blob(change.data)
            *above, name = change.path.split(b"/")
            if not change.path:
                top = _opened(oid, read)
                continue
            node = top
            for part in above:
                node = _below(node, part, read)
            if change.mode:
                node[name] = (change.mode, bytes.fromhex(oid))
            else:
                node.pop(name, None)
        return self._written(top)

    def _written(self, top: Tree) -> bytes:
        """Sends the trees of what was changed, the innermost first."""
        order: list[tuple[Tree, bytes, Tree]] = []
        pending = [top]
        while pending:
            node = pending.pop()
            for name, inner in node.items():
                if isinstance(inner, dict):
                    order.append((node, name, inner))
                    pending.append(inner)
        for node, name, inner in reversed(order):
            if inner:
                node[name] = (FOLDER, self.tree(_entries(inner)))
            else:
                del node[name]
        return self.tree(_entries(top))

    def _may_move(self, ref: str, parent: str | None) -> None:
        free(self._git_dir / f"{ref}.lock")
        standing = _standing(self._git_dir, ref)
        if standing != parent:
            raise GitFailed(
                f"{ref} stands at {standing or 'nothing'}: the new commit does not contain it", todo="try again"
            )

    def _move(self, ref: str, written: str) -> None:
        """Replaces the ref's file by one that is on the disk, and makes that durable."""
        *above, name = ref.split("/")
        folder = str(self._git_dir)
        for part in above:
            outer, folder = folder, f"{folder}/{part}"
            with suppress(FileExistsError):
                os.mkdir(folder, 0o700)
                sync_folder(outer)
        os.rename(written, f"{folder}/{name}")
        sync_folder(folder)


def free(*locks: Path) -> None:
    """Removes the locks that a killed git left on refs; one that is just ending without its parent may do so."""
    until = time.monotonic() + PARTING
    while standing := [lock for lock in locks if lock.exists()]:
        if time.monotonic() >= until:
            for lock in standing:
                lock.unlink(missing_ok=True)
            return
        time.sleep(0.02)


def _standing(git_dir: Path, ref: str) -> str | None:
    """The commit that a ref names; its own file outranks `packed-refs`."""
    with suppress(FileNotFoundError, NotADirectoryError), open(f"{git_dir}/{ref}", "rb") as stream:
        return stream.read(40).decode("ascii", "replace")
    with suppress(FileNotFoundError), open(f"{git_dir}/packed-refs", "rb") as stream:
        text = stream.read()
        at = text.find(b" %b\n" % os.fsencode(ref))
        if at >= 40:
            return text[at - 40 : at].decode("ascii", "replace")
    return None


def _below(node: Tree, name: bytes, read: ReadTree | None) -> Tree:
    """The folder of this name to change, made or opened."""
    found = node.get(name)
    if isinstance(found, dict):
        return found
    made: Tree = _opened(found[1].hex(), read) if found is not None and found[0] == FOLDER else {}
    node[name] = made
    return made


def _opened(oid: str, read: ReadTree | None) -> Tree:
    if oid == EMPTY_TREE:
        return {}
    if read is None:
        raise GitFailed("a stored tree cannot be changed unread", todo="see: forkpoint doctor")
    return {name: (mode, bytes.fromhex(inner)) for name, mode, inner in read(oid)}


def _entries(node: Tree) -> Iterable[tuple[bytes, int, bytes]]:
    return ((name, *found) for name, found in node.items() if not isinstance(found, dict))
