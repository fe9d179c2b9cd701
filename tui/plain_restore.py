"""`forkpoint restore ID --files --yes` without the parser of the command line, whose import takes a while.

Only forms that ask nothing are answered here; whatever else stands on the line is left to the parser.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..store.errors import ForkpointError
from ..store.model import Scope
from .commands.call import Call
from .commands.going_back import Asked, go_back

SCOPES: dict[str, Scope] = {"--files": "files", "--conversation": "conversation", "--both": "both"}
FLAGS = {"--all": "everything", "--dry-run": "dry_run", "--yes": "yes", "-y": "yes", "--live": "live"}


def requested(arguments: Sequence[str]) -> tuple[Call, Asked] | None:
    """Reads what stands behind `restore`; None when it is not for this module."""
    call, ids, scopes = Call(), list[str](), list[Scope]()
    flags: dict[str, bool] = {}
    rest = iter(arguments)
    for word in rest:
        if word == "-C":
            call.folder = next(rest, None)
            if call.folder is None:
                return None
        elif word == "--json":
            call.json = True
        elif word in SCOPES:
            scopes.append(SCOPES[word])
        elif word in FLAGS:
            flags[FLAGS[word]] = True
        elif word.startswith("-"):
            return None
        else:
            ids.append(word)
    if len(ids) != 1 or len(set(scopes)) != 1 or not flags.get("yes"):
        return None
    return call, Asked(ids[0], scopes[:1], **flags)  # type: ignore[arg-type]


def answer(arguments: Sequence[str]) -> int | None:
    """Goes back and answers; gives the exit code, None when the parser has to do it."""
    found = requested(arguments)
    if found is None:
        return None
    call, asked = found
    try:
        return go_back(call, asked)
    except (ForkpointError, KeyboardInterrupt, BrokenPipeError) as error:
        return _failed(call, error)


def _failed(call: Call, error: BaseException) -> int:
    from .commands.program import guarded

    def fail() -> int:
        raise error

    return guarded(call, fail)
