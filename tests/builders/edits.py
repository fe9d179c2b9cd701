"""What people and agents do to folders: any sequence of edits, drawn by hypothesis and carried out for real."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from hypothesis import strategies as st

from .captured import parents
from .folder import Thing, file, folder, lay, link

SHUT = [0o555, 0o500] if os.getuid() == 0 else []
"""Modes of folders that only root can change something in."""

LINES = [b"1\n", b"2\n", b"3\n", b"4\n", b"5\n", b"6\n", b"7\n"]
TEXTS = [b"".join(LINES), *(b"".join([*LINES[:odd], b"new\n", *LINES[odd + 1 :]]) for odd in (0, 3, 6))]
"""Texts that can be merged, since their changes lie apart."""
DATA = [*TEXTS, b"", b"no end", b"\xef\xbb\xbfcr\rlf\r\n", b"\0\xff"]


class Edit(NamedTuple):
    """One change of a folder."""

    what: Literal["put", "sly", "drop", "move", "mode"]
    """sly: the file's time does not tell that it changed."""
    path: bytes
    thing: Thing | None = None
    other: bytes = b""
    bits: int = 0


OFTEN = [b"a", b"b", b"x.log", b"a/b"]
SELDOM = [b"build/a", b"nest/b", b"a/b/c", b'-d "\\/\xff\t', b"c\n/d ", b"build", b"c\n"]
paths = st.sampled_from([*OFTEN, *OFTEN, *SELDOM])
files = st.builds(file, st.sampled_from(DATA), st.sampled_from([0o644, 0o644, 0o755, 0o600, 0o444]))
links = st.builds(link, st.sampled_from([b"a", b"../..", b"/nowhere", b"c\n"]))
folders = st.builds(folder, st.sampled_from([0o755, 0o700, 0o2775, *SHUT]))
things = st.one_of(files, files, files, links, folders, st.just(Thing("special", 0o644)))
rules = st.lists(st.sampled_from([b"*.log", b"build/", b"/a", b"b", b"!x.log", b"!b", b"/build/a"]), max_size=2)
rule_files = st.builds(
    lambda base, name, lines: Edit("put", base + name, file(b"".join(line + b"\n" for line in lines))),
    st.sampled_from([b"", b"", b"a/", b"nest/"]),
    st.sampled_from([b".gitignore", b".forkpointignore"]),
    rules,
)
modes = st.sampled_from([0o644, 0o755, 0o700, 0o640])
edits = st.one_of(
    st.tuples(paths, things).map(lambda drawn: Edit("put", *drawn)),
    st.tuples(paths, files).map(lambda drawn: Edit("put", *drawn)),
    st.tuples(paths, files).map(lambda drawn: Edit("sly", *drawn)),
    paths.map(lambda path: Edit("drop", path)),
    st.tuples(paths, paths).map(lambda drawn: Edit("move", drawn[0], other=drawn[1])),
    st.tuples(paths, modes).map(lambda drawn: Edit("mode", drawn[0], bits=drawn[1])),
    rule_files,
)
works = st.lists(edits, min_size=1, max_size=3)


def work(top: Path, works: Sequence[Edit]) -> None:
    """Carries edits out, but for those that would take the nested repository itself away."""
    nested = os.path.isdir(top / "nest")
    for what, path, thing, other, bits in works:
        if b"nest" in (path, other) or (not nested and path.startswith(b"nest/")):
            continue
        if thing is not None:
            put(top, path, thing, sly=what == "sly")
        elif what == "move":
            move(top, path, other)
        elif what == "mode":
            mode(top, path, bits)
        else:
            drop(top, path)


def put(top: Path, path: bytes, thing: Thing, *, sly: bool = False) -> None:
    """Makes a thing stand at a path, whatever stands in its way. sly: its time does not tell that it changed."""
    whole = os.path.join(os.fsencode(top), path)
    for above in reversed(list(parents(path))):
        place = os.path.join(os.fsencode(top), above)
        if not os.path.isdir(place) or os.path.islink(place):
            drop(top, above)
            os.mkdir(place)
            os.chmod(place, 0o755)
    if thing.kind == "folder":
        if not os.path.isdir(whole) or os.path.islink(whole):
            drop(top, path)
            os.mkdir(whole)
        os.chmod(whole, thing.mode)
        return
    old = os.lstat(whole) if os.path.lexists(whole) else None
    in_place = thing.kind == "file" and old is not None and stat.S_ISREG(old.st_mode) and os.access(whole, os.W_OK)
    if not in_place:
        drop(top, path)
    if thing.kind == "special":
        os.mkfifo(whole, 0o644)
    elif in_place:
        with open(whole, "r+b") as stream:
            stream.truncate()
            stream.write(thing.data)
        os.chmod(whole, thing.mode)
    else:
        lay(top, {path: thing})
    if sly and old is not None and thing.kind == "file":
        os.utime(whole, ns=(old.st_atime_ns, old.st_mtime_ns))


def drop(top: Path, path: bytes) -> None:
    """Takes away whatever stands at a path, with all that is in it."""
    whole = os.path.join(os.fsencode(top), path)
    if os.path.isdir(whole) and not os.path.islink(whole):
        shutil.rmtree(whole)
    elif os.path.lexists(whole):
        os.unlink(whole)


def move(top: Path, old: bytes, new: bytes) -> None:
    """Renames, replacing what stands there; nothing where that cannot be."""
    source, target = (os.path.join(os.fsencode(top), path) for path in (old, new))
    if not os.path.lexists(source) or (new + b"/").startswith(old + b"/") or (old + b"/").startswith(new + b"/"):
        return
    if not os.path.isdir(os.path.dirname(target)):
        return
    drop(top, new)
    os.rename(source, target)


def mode(top: Path, path: bytes, bits: int) -> None:
    """chmod of what is no link."""
    whole = os.path.join(os.fsencode(top), path)
    if os.path.lexists(whole) and not os.path.islink(whole):
        os.chmod(whole, bits)
