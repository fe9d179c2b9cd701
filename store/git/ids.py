"""Git's ids of objects."""

from __future__ import annotations

from ..light import TYPE_CHECKING, Protocol

COMMIT, TREE, BLOB = 1, 2, 3
KINDS = {COMMIT: b"commit", TREE: b"tree", BLOB: b"blob"}
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
FEW = 1 << 19
"""Bytes: hashing so many without OpenSSL takes as long as loading it."""

if TYPE_CHECKING:
    from hashlib import sha1 as _light_sha1
else:
    try:
        from _sha1 import sha1 as _light_sha1
    except ImportError:
        from hashlib import sha1 as _light_sha1

_hashed = 0


class Digest(Protocol):
    """A hash that is being made."""

    def update(self, data: bytes, /) -> None: ...

    def digest(self) -> bytes: ...


def begun(data: bytes, size: int = 0) -> Digest:
    """A SHA-1 of `data`, to be gone on with; `size` tells how many bytes there will be."""
    global _hashed
    _hashed += max(size, len(data))
    if _hashed < FEW:
        return _light_sha1(data)
    from hashlib import sha1

    return sha1(data, usedforsecurity=False)


def object_id(kind: int, data: bytes) -> bytes:
    """The id of an object, as 20 bytes."""
    return begun(b"%b %d\0%b" % (KINDS[kind], len(data), data)).digest()


def blob_id(data: bytes) -> str:
    """The id of a blob with these bytes."""
    return object_id(BLOB, data).hex()
