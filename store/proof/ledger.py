"""A witness beside git: a line for each move of a ref, so that a ref which was moved back or taken away is noticed.

    <chain> # <id> <id of the ledger before>     the first line
    <chain> + <ref> <commit>                      it was moved there
    <chain> - <ref> <commit>                      it is about to be deleted
    <chain> ! <ref> <commit or ->                 a person accepted that it is there, or gone

`chain` is a hash of the chain of the line before and the rest of the line. A line is written right after its ref
moved, with one write and no fsync: after a crash refs may be ahead of the ledger, which is healed, never behind it.
A deletion is on the disk before the ref goes. Whoever calls holds the store for writing.
"""

from __future__ import annotations

import os

from ..errors import StoreUnwritable
from ..light import TYPE_CHECKING, Callable, Iterable, Iterator, NamedTuple, blake2b, suppress

if TYPE_CHECKING:
    from pathlib import Path

    from ..roots import Place

MOVED, REMOVED, ACCEPTED, BEGUN = b"+", b"-", b"!", b"#"
CHAIN = 24
"""Hexadecimal digits of a chained hash."""
TAIL = 4096
"""Bytes that hold the last line in any case."""
NOTHING = "-"


class Mark(NamedTuple):
    """How far a ledger was read."""

    id: str
    """The chain of its first line; "" where there is no ledger."""
    end: int
    """Bytes that were read."""
    chain: str


class Line(NamedTuple):
    """One line as it was read."""

    sign: str
    ref: str
    oid: str
    """"" where a ref was accepted as gone."""
    sound: bool
    """Whether its chain follows from the line before."""
    number: int


def moved(place: Place, *refs: str) -> None:
    """Writes down where refs stand that were just moved. What cannot be written now is healed by the next reader."""
    with suppress(OSError):
        found = ((ref, _standing(place.git_dir, ref)) for ref in refs)
        _append(file_of(place.workspace), [(MOVED, ref, oid) for ref, oid in found if oid])


def healed(place: Place, refs: Iterable[tuple[str, str]]) -> None:
    """Writes down refs whose move was not, since their writer was killed or the disk was full."""
    with suppress(OSError):
        _append(file_of(place.workspace), [(MOVED, ref, oid) for ref, oid in refs])


def removed(place: Place, refs: Iterable[tuple[str, str]]) -> None:
    """Writes down, to the disk, that refs (name, commit) are about to be deleted. Raises StoreUnwritable."""
    _durably(place, [(REMOVED, ref, oid) for ref, oid in refs])


def accepted(place: Place, refs: Iterable[tuple[str, str]]) -> None:
    """Writes down, to the disk, that a person took refs as they are ("": gone). Raises StoreUnwritable."""
    _durably(place, [(ACCEPTED, ref, oid) for ref, oid in refs])


def file_of(workspace: Path) -> Path:
    """The ledger of a workspace."""
    return workspace / "ledger"


def size(workspace: Path) -> int:
    """Bytes of the ledger; 0 where there is none."""
    try:
        return os.stat(file_of(workspace)).st_size
    except OSError:
        return 0


def begin(place: Place, refs: Iterable[tuple[str, str]]) -> None:
    """Replaces the ledger by one that tells where refs stand now, and which ledger it goes on from."""
    from ..durable import write_atomic  # no hook's

    file = file_of(place.workspace)
    lines = [_first(_id_of(file)), *((MOVED, ref, oid) for ref, oid in refs)]
    try:
        write_atomic(file, b"".join(_chained(lines, "")))
    except OSError as error:
        raise _unwritable(file, error) from None


def sync(workspace: Path) -> None:
    """Brings what was written to the disk: before a ref is deleted, and before somebody remembers how far he read."""
    for name in (file_of(workspace), workspace):
        descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def read(workspace: Path, since: Mark | None = None) -> tuple[Mark, str, list[Line]]:
    """The lines after a mark, how far that is, and which ledger this one goes on from.

    From the beginning where the mark is not in it any more. A last line that is not whole is left out: its writer was
    killed, or is just writing.
    """
    try:
        with open(file_of(workspace), "rb") as stream:
            known = _confirmed(stream.read, stream.seek, since) if since is not None and since.id else None
            if known is None:
                stream.seek(0)
            data = stream.read()
    except OSError:
        return Mark("", 0, ""), "", []
    data = data[: data.rfind(b"\n") + 1]
    if known is not None:
        lines, chain = _parsed(data, known.chain)
        return Mark(known.id, known.end + len(data), chain), "", lines
    lines, chain = _parsed(data, "")
    begun = lines[0] if lines and lines[0].sign == "#" else None
    return Mark(data[:CHAIN].decode("ascii", "replace"), len(data), chain), begun.oid if begun else "", lines


def last(workspace: Path, ref: str) -> str | None:
    """The commit that a ref was moved to last; None when the ledger does not know it, or saw it go."""
    try:
        with open(file_of(workspace), "rb") as stream:
            data = stream.read()
    except OSError:
        return None
    at = data.rfind(b" %s " % ref.encode("utf-8", "surrogateescape"), 0, data.rfind(b"\n") + 1)
    sign, end = data[at - 1 : at], data.find(b"\n", at)
    oid = data[data.rfind(b" ", at, end) + 1 : end].decode("ascii", "replace")
    return oid if at > 0 and sign in (MOVED, ACCEPTED) and oid != NOTHING else None


def _confirmed(read: Callable[[int], bytes], seek: Callable[[int], int], mark: Mark) -> Mark | None:
    """The mark, when it is in this ledger; then what comes next is what was written since."""
    if read(CHAIN) != mark.id.encode():
        return None
    start = max(0, mark.end - TAIL)
    seek(start)
    before = read(mark.end - start)
    last = _last_line(before)
    whole = len(before) == mark.end - start and before.endswith(b"\n")
    return mark if whole and last[:CHAIN] == mark.chain.encode() else None


def _parsed(data: bytes, chain: str) -> tuple[list[Line], str]:
    found: list[Line] = []
    for number, line in enumerate(data.split(b"\n")[:-1]):
        # A power cut may leave a hole where lines were not on the disk yet: those are ahead again.
        after_hole = b"\0" in line
        line = line[line.rfind(b"\0") + 1 :] if after_hole else line
        if not line:
            continue
        right = _next(chain.encode(), line[CHAIN:])
        parts = line.decode("utf-8", "surrogateescape").split(" ")
        sound = (after_hole or line[:CHAIN] == right) and len(parts) == 4
        sign, ref, oid = parts[1:] if len(parts) == 4 else ("", "", "")
        found.append(Line(sign, ref, "" if oid == NOTHING else oid, sound, number))
        chain = line[:CHAIN].decode("ascii", "replace")
    return found, chain


def _last_line(data: bytes) -> bytes:
    return data[max(data.rfind(b"\n", 0, -1), data.rfind(b"\0")) + 1 :]


def _next(chain: bytes, rest: bytes) -> bytes:
    return blake2b(chain + rest, digest_size=CHAIN // 2).hexdigest().encode()


def _chained(said: Iterable[tuple[bytes, str, str]], chain: str) -> Iterator[bytes]:
    at = chain.encode()
    for sign, ref, oid in said:
        rest = b" %s %s %s" % (sign, ref.encode("utf-8", "surrogateescape"), (oid or NOTHING).encode())
        at = _next(at, rest)
        yield at + rest + b"\n"


def _first(before: str) -> tuple[bytes, str, str]:
    return BEGUN, os.urandom(8).hex(), before


def _append(file: Path, said: list[tuple[bytes, str, str]]) -> None:
    """Adds lines; what a killed writer left unfinished at the end is cut off first."""
    if not said:
        return
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        tail = os.pread(descriptor, TAIL, max(0, size - TAIL))
        whole = tail[: tail.rfind(b"\n") + 1]
        if whole != tail:
            os.ftruncate(descriptor, size - len(tail) + len(whole) if whole else 0)
        if whole:
            lines = _chained(said, _last_line(whole)[:CHAIN].decode("ascii", "replace"))
        else:
            lines = _chained([_first(""), *said], "")
        os.write(descriptor, b"".join(lines))
    finally:
        os.close(descriptor)


def _durably(place: Place, said: list[tuple[bytes, str, str]]) -> None:
    file = file_of(place.workspace)
    try:
        _append(file, said)
        sync(place.workspace)
    except OSError as error:
        raise _unwritable(file, error) from None


def _unwritable(file: Path, error: OSError) -> StoreUnwritable:
    return StoreUnwritable("the store cannot be written", path=str(file), todo=f"{error.strerror}: forkpoint doctor")


def _id_of(file: Path) -> str:
    try:
        with open(file, "rb") as stream:
            return stream.read(CHAIN).decode("ascii", "replace").strip()
    except OSError:
        return ""


def _standing(git_dir: Path, ref: str) -> str:
    """Where a ref that was just moved stands: it has a file of its own then."""
    with suppress(OSError), open(f"{git_dir}/{ref}", "rb") as stream:
        return stream.read(40).decode("ascii", "replace")
    return ""
