"""Stored paths are hostile (rule 5): which of them are refused, and which cannot stand side by side."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache

SPARE = re.compile(rb"\.forkpoint-[0-9a-f]{16}-[0-9]+(\.new|\.old)?")
"""The names that a restore uses beside the paths it changes."""

INVISIBLE = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
"""Characters that some file systems leave out of a name, so that ".g\u200cit" opens ".git"."""


@lru_cache(maxsize=2048)
def refused(path: bytes) -> str:
    """Why a stored path is never written (rules 1 and 5); "" when nothing speaks against it."""
    if not path:
        return "the path is empty"
    if path.startswith(b"/"):
        return "the path is absolute"
    if b"\0" in path:
        return "the path holds a NUL"
    for part in path.split(b"/"):
        if part in (b"", b".", b".."):
            return "the path has an empty part" if not part else f'the path has the part "{part.decode()}"'
        if folded(part) == b".git":
            return "the path leads into a .git"
        if SPARE.fullmatch(part):
            return "the name is one that a restore uses for itself"
    return ""


def folded(path: bytes) -> bytes:
    """The path as a file system sees it that tells neither case nor Unicode's spellings apart."""
    if path.isascii():
        return path.lower()
    text = INVISIBLE.sub("", path.decode("utf-8", "surrogateescape"))
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).casefold()).encode(
        "utf-8", "surrogateescape"
    )


def parents(path: bytes) -> Iterator[bytes]:
    """The folders above a path, the nearest first; the root is not among them."""
    while (cut := path.rfind(b"/")) >= 0:
        path = path[:cut]
        yield path


def twins(paths: Iterable[bytes]) -> frozenset[bytes]:
    """Those of some paths that differ from another one only in case or in Unicode's spellings."""
    groups: dict[bytes, set[bytes]] = {}
    for path in paths:
        groups.setdefault(folded(path), set()).add(path)
    return frozenset(path for group in groups.values() if len(group) > 1 for path in group)


def spare_name(token: str, number: int) -> bytes:
    """The name that change `number` of the restore `token` uses beside its path."""
    return b".forkpoint-%s-%d" % (token.encode(), number)
