"""A process whose writing calls are numbered, and which is killed, cut short or refused at one of them.

Python's own calls are wrapped in a forked child, so that nothing has to be compiled and a run costs a fork. What the
wrappers would not see (a call that was bound before, a library that writes by itself) is noticed in two ways: by
Python's audit events, which name every opening, renaming and removing, and by `powercut`, whose replay of the
recorded calls has to end in what stands on the disk.
"""

from __future__ import annotations

import builtins
import errno
import io
import mmap
import os
import pickle
import signal
import stat
import struct
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from forkpoint.store.errors import ForkpointError
from forkpoint.store.restore import rename, writeout

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
ROOM = 32 << 20
"""Bytes of shared memory for what a child tells; pages that are not touched cost nothing."""
HEAD = struct.Struct("QQ")

FULL = (errno.ENOSPC, errno.EIO)
SHUT = (errno.EACCES, errno.EROFS, errno.EIO)
ERRORS: dict[str, tuple[int, ...]] = {
    "create": (errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EMFILE, errno.EIO),
    "open": (errno.EACCES, errno.EROFS, errno.EMFILE, errno.EIO),
    "write": FULL,
    "truncate": FULL,
    "fsync": FULL,
    "syncfs": FULL,
    "rename": (errno.ENOSPC, *SHUT),
    "exchange": (errno.ENOSPC, *SHUT),
    "link": (errno.ENOSPC, *SHUT),
    "symlink": (errno.ENOSPC, *SHUT),
    "mkdir": (errno.ENOSPC, *SHUT),
    "unlink": SHUT,
    "rmdir": SHUT,
    "chmod": SHUT,
    "chown": SHUT,
    "utime": SHUT,
    "xattr": (errno.ENOSPC, *SHUT),
    "start": (errno.EMFILE, errno.EAGAIN),
    "feed": (errno.EPIPE,),
    "wait": (),
}
"""By kind of call, how the system may refuse it."""
TAKES_ROOM = ("create", "write", "rename", "link", "symlink", "mkdir", "xattr")
"""What fails on a full disk; the rest goes on there."""

_real_open = io.open
_NAMES = (
    *("open", "write", "pwrite", "writev", "pwritev", "ftruncate", "truncate", "posix_fallocate", "fsync", "fdatasync"),
    *(
        "rename",
        "replace",
        "link",
        "symlink",
        "unlink",
        "remove",
        "mkdir",
        "rmdir",
        "chmod",
        "fchmod",
        "lchown",
        "chown",
    ),
    *("fchown", "utime", "setxattr", "removexattr", "sendfile", "copy_file_range", "kill", "getpid", "fstat", "stat"),
)
_real = {name: getattr(os, name) for name in _NAMES if hasattr(os, name)}


class Step(NamedTuple):
    """One call that writes."""

    kind: str
    path: str
    """What it is about, as far as that can be told."""
    size: int = 0
    seen: bool = True
    """False for a call that no wrapper saw."""

    def __str__(self) -> str:
        return f"{self.kind} {self.path}" + (f" ({self.size} bytes)" if self.size else "")


class Fault(NamedTuple):
    """What happens at one of the calls."""

    how: str
    """`before` or `after`: killed there; `torn`: killed after half of the bytes; `error`: refused once; `from`: refused
    from there on; `shut`: a folder may not be written to from there on, which root takes no notice of."""
    step: int
    code: int = 0
    below: str = ""
    """With `from`: only what is about a path below this one is refused. With `shut`: the folder."""

    def __str__(self) -> str:
        code = f" {errno.errorcode[self.code]}" if self.code else ""
        return f"{self.how}{code} {self.step}" + (f" below {self.below}" if self.below else "")


class Ended(NamedTuple):
    """How the process ended."""

    killed: bool
    value: Any = None
    """What the act gave."""
    error: str = ""
    """The sentence of a ForkpointError, or the whole traceback of anything else."""
    known: bool = True
    """Whether what it raised, if anything, was a ForkpointError."""
    exit: int = 0
    struck: bool = False
    """Whether the fault came to pass at all."""
    steps: tuple[Step, ...] = ()
    records: tuple[Any, ...] = ()
    """What a recorder kept of each call (see `powercut`)."""


class Shared:
    """What a child, and its children, tell even when they are killed: pickles in shared memory."""

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, ROOM)
        HEAD.pack_into(self.memory, 0, HEAD.size, 0)

    def next(self) -> int:
        """The number of the next call."""
        end, count = HEAD.unpack_from(self.memory, 0)
        HEAD.pack_into(self.memory, 0, end, count + 1)
        return count

    def add(self, thing: object) -> None:
        data = pickle.dumps(thing)
        end, count = HEAD.unpack_from(self.memory, 0)
        struct.pack_into("Q", self.memory, end, len(data))
        self.memory[end + 8 : end + 8 + len(data)] = data
        HEAD.pack_into(self.memory, 0, end + 8 + len(data), count)

    def all(self) -> Iterator[Any]:
        end, _ = HEAD.unpack_from(self.memory, 0)
        at = HEAD.size
        while at < end:
            (length,) = struct.unpack_from("Q", self.memory, at)
            yield pickle.loads(self.memory[at + 8 : at + 8 + length])
            at += 8 + length


class Armed:
    """The wrappers of one child."""

    def __init__(self, shared: Shared, fault: Fault | None, recorder: Callable[..., Any] | None, sync: bool) -> None:
        self.shared = shared
        self.fault = fault
        self.recorder = recorder
        self.sync = sync
        self.inside = 0

    def call(self, step: Step, real: Callable[..., Any], arguments: Any, named: Any, half: Any = None) -> Any:
        """Makes the call, or does at it what the fault says."""
        if self.inside:
            return real(*arguments, **named)
        number = self.shared.next()
        fault = self.fault
        if fault is None:
            self.shared.add(step)
            return self._record(step, real, arguments, named)
        if fault.step == number and fault.how in ("before", "torn"):
            if fault.how == "torn" and half is not None:
                self._make(half, (), {})
            self._die()
        if self._refused(fault, number, step):
            self.shared.add("struck")
            if half is not None and fault.code == errno.ENOSPC:
                self._make(half, (), {})
            raise OSError(fault.code, os.strerror(fault.code), step.path or None)
        if fault.how == "shut" and fault.step == number:
            self.shared.add("struck")
            self._make(os.chmod, (fault.below, 0o500), {})
        result = self._make(real, arguments, named)
        if fault.step == number and fault.how == "after":
            self._die()
        return result

    def _die(self) -> None:
        """Ends this process as `kill -9` does."""
        self.shared.add("struck")
        _real["kill"](_real["getpid"](), signal.SIGKILL)

    def _refused(self, fault: Fault, number: int, step: Step) -> bool:
        if fault.how == "error":
            # The steps of this run may be a few more or less than those that were counted.
            fitting = number >= fault.step and fault.code in ERRORS[step.kind]
            if fitting:
                self.fault = Fault("none", -1, fault.code)
            return fitting
        if fault.how != "from" or number < fault.step or not step.path.startswith(fault.below):
            return False
        if fault.code == errno.ENOSPC:
            return step.kind in TAKES_ROOM
        return step.kind not in ("start", "feed", "wait", "fsync", "syncfs")

    def _make(self, real: Callable[..., Any], arguments: Any, named: Any) -> Any:
        self.inside += 1
        try:
            return real(*arguments, **named)
        finally:
            self.inside -= 1

    def _record(self, step: Step, real: Callable[..., Any], arguments: Any, named: Any) -> Any:
        if self.recorder is None:
            return self._make(real, arguments, named)
        self.inside += 1
        try:
            record = self.recorder(step, real, arguments, named)
            result = next(record)
            self.shared.add(("record", list(record)))
        finally:
            self.inside -= 1
        return result

    def unseen(self, event: str, arguments: Any) -> None:
        """Takes an audit event; what writes and was not wrapped is told."""
        if self.inside:
            return
        if event == "open":
            path, _, flags = arguments
            if isinstance(path, int) or not (flags or 0) & WRITING or str(path).startswith("/dev/"):
                return
        elif event not in AUDITED:
            return
        self.shared.add(Step(event, repr(arguments[:2]), seen=False))


_CHANGING = ("rename", "remove", "rmdir", "mkdir", "link", "symlink", "chmod", "chown", "utime", "truncate", "setxattr")
AUDITED = frozenset(
    {*(f"os.{name}" for name in _CHANGING), "os.removexattr", "os.posix_spawn", "os.system", "subprocess.Popen"}
)


def run(
    act: Callable[[], Any],
    fault: Fault | None = None,
    *,
    recorder: Callable[..., Any] | None = None,
    sync: bool = False,
) -> Ended:
    """Runs `act` in a forked child; without a fault tells its steps. fsync is real only with `sync`."""
    shared = Shared()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        _live(act, Armed(shared, fault, recorder, sync))
    _, status = os.waitpid(child, 0)
    told = list(shared.all())
    steps = tuple(item for item in told if isinstance(item, Step))
    records = tuple(part for item in told if isinstance(item, tuple) and item[0] == "record" for part in item[1])
    end = next((item[1] for item in told if isinstance(item, tuple) and item[0] == "ended"), {})
    shared.memory.close()
    killed = os.WIFSIGNALED(status)
    assert killed or end, "the process ended without a word"
    return Ended(killed, struck="struck" in told, steps=steps, records=records, **end)


def _live(act: Callable[[], Any], armed: Armed) -> None:
    """The life of the child."""
    end: dict[str, Any] = {}
    try:
        sys.addaudithook(armed.unseen)
        with wrapped(armed):
            try:
                end = {"value": act()}
            except ForkpointError as error:
                end = {"error": str(error), "exit": error.exit_code}
            except BaseException:
                end = {"error": traceback.format_exc(), "known": False}
        armed.inside += 1
        armed.shared.add(("ended", end))
    except BaseException:
        armed.inside += 1
        armed.shared.add(("ended", {"error": traceback.format_exc(), "known": False}))
    finally:
        os._exit(0)


@contextmanager
def wrapped(armed: Armed) -> Iterator[None]:
    """Puts the wrappers in place; only ever in a child that ends."""
    for name in _real:
        make = _WRAPPERS.get(name)
        if make is not None:
            setattr(os, name, make(armed, _real[name]))
    io.open = builtins.open = _opening()  # type: ignore[assignment]
    low = rename._rename  # pyright: ignore[reportPrivateUsage]

    def renamed(folder: int, old: bytes, new: bytes, flags: int) -> bool:
        kind = "exchange" if flags == rename._flags()[0] else "rename"  # pyright: ignore[reportPrivateUsage]
        return armed.call(Step(kind, _named(old, folder)), low, (folder, old, new, flags), {})

    rename._rename = renamed  # pyright: ignore[reportPrivateUsage]
    _wrap_processes(armed)
    _wrap_sync_of_all(armed)
    yield


def _wrap_sync_of_all(armed: Armed) -> None:
    begin, sync = writeout._system_calls()  # pyright: ignore[reportPrivateUsage]

    def synced(descriptor: int) -> int:
        try:
            real = sync if sync is not None and armed.sync else lambda _: 0
            return armed.call(Step("syncfs", _of_descriptor(descriptor)), real, (descriptor,), {})
        except OSError:
            return -1

    writeout._system_calls = lambda: (begin, synced if sync else None)  # pyright: ignore[reportPrivateUsage]


def _wrap_processes(armed: Armed) -> None:
    begin, wait = subprocess.Popen.__init__, subprocess.Popen.wait

    def started(self: Any, args: Any, *rest: Any, **named: Any) -> None:
        armed.call(Step("start", " ".join(map(str, args))), begin, (self, args, *rest), named)

    def waited(self: Any, *rest: Any, **named: Any) -> int:
        if self.returncode is not None:
            return wait(self, *rest, **named)
        return armed.call(Step("wait", " ".join(map(str, self.args))), wait, (self, *rest), named)

    subprocess.Popen.__init__ = started  # type: ignore[method-assign]
    subprocess.Popen.wait = waited  # type: ignore[method-assign]


def _named(path: Any, dir_fd: int | None = None) -> str:
    """A path as text, absolute where that can be found out."""
    if isinstance(path, int):
        return _of_descriptor(path)
    text = os.fsdecode(path)
    if os.path.isabs(text):
        return text
    return os.path.join(_of_descriptor(dir_fd) if dir_fd is not None else os.getcwd(), text)


def _of_descriptor(descriptor: int) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return f"descriptor {descriptor}"


def _simple(kind: str) -> Callable[..., Any]:
    """A wrapper of a call whose first argument is what it is about."""

    def make(armed: Armed, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any, *rest: Any, **named: Any) -> Any:
            where = named.get("dir_fd", named.get("src_dir_fd"))
            return armed.call(Step(kind, _named(path, where)), real, (path, *rest), named)

        return call

    return make


def _open(armed: Armed, real: Callable[..., Any]) -> Callable[..., Any]:
    def call(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if not flags & WRITING or os.fsdecode(path).startswith("/dev/"):
            return real(path, flags, mode, dir_fd=dir_fd)
        kind = "open"
        if flags & os.O_CREAT:
            try:
                _real["stat"](path, dir_fd=dir_fd)
            except OSError:
                kind = "create"
        return armed.call(Step(kind, _named(path, dir_fd)), real, (path, flags, mode), {"dir_fd": dir_fd})

    return call


def _write(armed: Armed, real: Callable[..., Any]) -> Callable[..., Any]:
    def call(descriptor: int, data: Any, *rest: Any) -> int:
        kind = _real["fstat"](descriptor).st_mode
        if not (stat.S_ISREG(kind) or stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind)):
            return real(descriptor, data, *rest)
        size = memoryview(data).nbytes
        step = Step("write" if stat.S_ISREG(kind) else "feed", _of_descriptor(descriptor), size)

        def half() -> None:
            if size > 1:
                real(descriptor, memoryview(data).cast("B")[: size // 2], *rest)

        return armed.call(step, real, (descriptor, data, *rest), {}, half)

    return call


def _fsync(armed: Armed, real: Callable[..., Any]) -> Callable[..., Any]:
    def call(descriptor: Any) -> None:
        number = descriptor if isinstance(descriptor, int) else descriptor.fileno()
        step = Step("fsync", _of_descriptor(number))
        armed.call(step, real if armed.sync else _no_sync, (number,), {})

    return call


def _no_sync(descriptor: int) -> None:
    _real["fstat"](descriptor)


_WRAPPERS: dict[str, Callable[..., Any]] = {
    "open": _open,
    "write": _write,
    "pwrite": _write,
    "fsync": _fsync,
    "fdatasync": _fsync,
    **dict.fromkeys(("writev", "pwritev", "sendfile", "copy_file_range", "posix_fallocate"), _simple("write")),
    **dict.fromkeys(("ftruncate", "truncate"), _simple("truncate")),
    **dict.fromkeys(("rename", "replace"), _simple("rename")),
    **dict.fromkeys(("chmod", "fchmod"), _simple("chmod")),
    **dict.fromkeys(("chown", "fchown", "lchown"), _simple("chown")),
    **dict.fromkeys(("setxattr", "removexattr"), _simple("xattr")),
    **dict.fromkeys(("unlink", "remove"), _simple("unlink")),
    **{name: _simple(name) for name in ("link", "symlink", "mkdir", "rmdir", "utime")},
}


class _Raw(io.FileIO):
    """A file whose bytes go through the wrapped calls."""

    def write(self, data: Any) -> int:
        return os.write(self.fileno(), data)

    def truncate(self, size: int | None = None) -> int:
        wanted = self.tell() if size is None else size
        os.ftruncate(self.fileno(), wanted)
        return wanted


def _opening() -> Callable[..., Any]:
    """`open` whose writing goes through the wrapped calls; reading is left as it is."""
    flags_of = {"w": os.O_CREAT | os.O_TRUNC, "x": os.O_CREAT | os.O_EXCL, "a": os.O_CREAT | os.O_APPEND, "r": 0}

    def opened(
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool = True,
        opener: Callable[[Any, int], int] | None = None,
    ) -> Any:
        if not set(mode) & set("wax+"):
            return _real_open(file, mode, buffering, encoding, errors, newline, closefd, opener)
        kind = next(letter for letter in mode if letter in "wxar")
        flags = flags_of[kind] | (os.O_RDWR if "+" in mode else os.O_WRONLY) | os.O_CLOEXEC
        descriptor = file
        if not isinstance(file, int):
            descriptor = opener(file, flags) if opener else os.open(file, flags, 0o666)
        raw = _Raw(descriptor, "r+" if "+" in mode else "w", closefd)
        if kind == "a":
            raw.seek(0, os.SEEK_END)
        if buffering == 0:
            return raw
        buffered = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        if "b" in mode:
            return buffered
        text = io.TextIOWrapper(buffered, encoding, errors, newline)
        text.mode = mode  # type: ignore[misc]
        return text

    return opened
