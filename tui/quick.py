"""`forkpoint save` without the parser of the command line, whose import alone would take as long as the save.

Only the plainest forms are answered here; whatever else stands on the line is left to the parser.
"""

from __future__ import annotations

import os
import sys
import time

from ..store.errors import Busy, ForkpointError, Refused
from ..store.light import Callable, Iterator, NamedTuple, Sequence, contextmanager, suppress
from ..store.saving import Saved, look_early, root_of, save
from ..store.text import path_text


class Request(NamedTuple):
    """What a plain `save` asks for."""

    label: str = ""
    folder: str | None = None
    json: bool = False


def requested(arguments: Sequence[str]) -> Request | None:
    """Reads what stands behind `save`; None when it is not for this module."""
    found: dict[str, str | bool] = {}
    rest = iter(arguments)
    for word in rest:
        if word == "--json":
            found["json"] = True
            continue
        value = next(rest, None)
        name = {"-m": "label", "--label": "label", "-C": "folder"}.get(word)
        if name is None or value is None:
            return None
        found[name] = value
    return Request(**found)  # type: ignore[arg-type]


def begin(arguments: Sequence[str]) -> None:
    """Begins to look through the folder that a command speaks of, which takes as long as importing what it needs."""
    if {"--conversation", "--help", "-h"}.isdisjoint(arguments):
        at = arguments.index("-C") + 1 if "-C" in arguments else len(arguments)
        with suppress(ForkpointError, OSError):  # the command itself will meet it
            look_early(arguments[at] if at < len(arguments) else None)


def answer(arguments: Sequence[str]) -> int | None:
    """Saves and answers; gives the exit code, None when the parser has to do it."""
    request = requested(arguments)
    plain = (sys.stdout.encoding or "").lower().startswith("utf")
    if request is None or not plain or (request.folder is not None and not os.path.isdir(request.folder)):
        return None
    try:
        root = root_of(request.folder)
        with progress("saving") as counter:
            saved = save(root, label=request.label, progress=counter)
        if saved.interrupted:
            from . import words

            sys.stderr.write(f"{words.INTERRUPTED}\n")
        sys.stdout.write(document(saved) if request.json else report(root, saved))
        sys.stdout.flush()
    except Refused as refused:
        # Somebody may have to be asked, which is the parser's part; a store that is at work answers the same twice.
        return _failed(refused, request) if isinstance(refused, Busy) else None
    except (ForkpointError, KeyboardInterrupt, BrokenPipeError) as error:
        return _failed(error, request)
    return 0


def _failed(error: BaseException, request: Request) -> int:
    from .commands.call import Call
    from .commands.program import guarded

    def fail() -> int:
        raise error

    return guarded(Call(folder=request.folder, json=request.json), fail)


def report(root: str, saved: Saved) -> str:
    """The answer as text: the root, the id, and what could not be captured."""
    if saved.files > 1 and not (saved.label or saved.uncaptured or saved.unanswered):
        return f"{path_text(root)}\n{saved.id}  {saved.files:,} files saved\n"
    from . import words  # which takes longer than to write a plain line

    label = f" [{words.one_line(saved.label)}]" if saved.label else ""
    lines = [path_text(root), f"{saved.id}  {words.count(saved.files, 'file')} saved{label}"]
    lines += [f"not captured: {path_text(path)} ({words.one_line(why)})" for path, why in saved.uncaptured]
    unanswered = ((path_text(path), words.one_line(why)) for path, why in saved.unanswered)
    lines += [f"what is ignored could not be asked: {path} ({why})" for path, why in unanswered]
    return "".join(f"{line}\n" for line in lines)


def document(saved: Saved) -> str:
    """The answer as the document of design.md section 6."""
    import json

    from .values import path_keys

    uncaptured = [{**path_keys(os.fsencode(path)), "why": why} for path, why in saved.uncaptured]
    unanswered = [{**path_keys(os.fsencode(path)), "why": why} for path, why in saved.unanswered]
    keys = {"id": saved.id, "label": saved.label, "files": saved.files, "uncaptured": uncaptured}
    keys["unanswered"] = unanswered
    return json.dumps(keys, indent=2) + "\n"


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A counter on the error output for the time of the block; None where nobody sees it."""
    if not sys.stderr.isatty():
        yield None
        return
    counter = _Counter(what)
    try:
        yield counter
    finally:
        counter.clear()


class _Counter:
    """Writes "what 1,200 of 5,000" over itself, at most ten times a second."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._shown = 0.0

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._shown >= 0.1:
            self._shown = now
            self._write(f"{self._what} {done:,} of {total:,}" if total else f"{self._what} {done:,}")

    def clear(self) -> None:
        if self._shown:
            self._write("")

    def _write(self, text: str) -> None:
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()
