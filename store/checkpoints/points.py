"""The record of a checkpoint: what stands in its checkpoint.json, and where its parts are in its tree.

A checkpoint is a parentless commit with a ref of its own, `refs/points/ab/<id>` (design.md section 4). Its tree:

    files/            the captured files and links
    checkpoint.json   this record
    modes             permission bits that are not 644/755, where there are any
    empty-folders     folders without anything captured in them, where there are any
    ignore-rules      the text of every ignore source in force, where there are any
    named-paths       paths in the root that agents' edit tools named, where there are any
    outside/          files outside of the root that they named, by their absolute paths
    outside-modes     permission bits of those that are not 644/755
"""

from __future__ import annotations

import os

from .. import lightjson as json
from ..errors import StoreDamaged
from ..light import TYPE_CHECKING, Iterable, Mapping, NamedTuple
from ..walk.ignore import Source

if TYPE_CHECKING:
    from typing import Any

REFS = "refs/points/"
FILES = "files"
RECORD = "checkpoint.json"
MODES = "modes"
EMPTY = "empty-folders"
RULES = "ignore-rules"
NAMED = "named-paths"
OUTSIDE = "outside"
OUTSIDE_MODES = "outside-modes"
RUN = "forkpoint run"
"""The tool of checkpoints that `forkpoint run` makes; their call is the id of the run."""


class Checkpoint(NamedTuple):
    """A save point: the files of a root at one moment, bound to an entry, with the reason it was made."""

    id: str = ""
    """"" in a draft: what is to be taken, before there is anything."""
    root: str = ""
    """Id of the root."""
    reason: str = ""
    side: str = "after"
    time: int = 0
    agent: str = ""
    session: str = ""
    prompt: str = ""
    """The agent's id of the prompt; with `call`, what binds the checkpoint to its entry."""
    call: str = ""
    """The tool-use id."""
    entry: str = ""
    """The entry's id, where it is known when the checkpoint is made (imports, saves in a session)."""
    subagent: str = ""
    tool: str = ""
    text: str = ""
    """How the moment is named while its entry cannot be read."""
    label: str = ""
    before: str = ""
    """Tool checkpoints: the one that holds the files as they were before the call; "" when that is not known."""
    previous: str = ""
    """The newest checkpoint of the root when this one was made."""
    shared: tuple[str, ...] = ()
    """Other sessions that had a call open during this one's."""
    named: tuple[str, ...] = ()
    """Paths relative to the root that the call's own input names."""
    late: bool = False
    operation: str = ""
    """Guards: the operation that they were taken for."""
    files: int = 0
    bytes: int = 0
    complete: bool = True
    known: tuple[str, ...] = ()
    """Partial checkpoints: the paths that they speak of, those that were absent included."""
    whole: bool = False
    """Partial checkpoints: of a whole tree that the agent's own snapshots hold, what the shell did included."""
    inferred: tuple[str, ...] = ()
    """Those of them whose state was concluded from later evidence (rule 16)."""
    uncaptured: Mapping[str, str] = {}
    moving: tuple[str, ...] = ()
    largest_file: int = 0
    """The size limit in force, in bytes."""
    outside: tuple[str, ...] = ()
    """Absolute paths outside of the root of which it can speak, those that were absent included."""
    secrets: tuple[str, ...] = ()
    """Captured paths that look like secrets."""
    unanswered: Mapping[str, str] = {}
    """Where it could not be asked what is ignored → why."""
    quiet: str = ""
    """No agent that hooks tell of was at work since the checkpoint before: "none" is known here, "idle": all are
    between two turns. "": somebody was, or may have been."""
    open: tuple[str, ...] = ()
    """Tool-use ids of all calls that were open when it was taken, apart from its own: they may never end."""
    behind: tuple[str, ...] = ()
    """Sessions that had left a shell in the background, which may write at any time."""

    @property
    def ref(self) -> str:
        """The ref that keeps it."""
        return ref_of(self.id)


def new_id() -> str:
    """A random id: 16 hexadecimal digits."""
    return os.urandom(8).hex()


def ref_of(point: str) -> str:
    """The ref of a checkpoint."""
    return f"{REFS}{point[:2]}/{point}"


def encode(checkpoint: Checkpoint) -> bytes:
    """checkpoint.json; paths that are not UTF-8 are kept as surrogate escapes in \\u notation."""
    plain = {name: value for name, value in checkpoint._asdict().items() if value not in ("", (), {}, False)}
    plain["complete"] = checkpoint.complete
    return json.dumps(plain, ensure_ascii=True, indent=1).encode() + b"\n"


def decode(data: bytes, where: str) -> Checkpoint:
    """Reads checkpoint.json; keys of a newer version are passed over. Raises StoreDamaged."""
    try:
        return from_plain(json.loads(data))
    except (ValueError, TypeError) as error:
        raise StoreDamaged(
            f"a checkpoint's record cannot be read ({error})", path=where, todo="forkpoint verify"
        ) from None


def from_plain(plain: dict[str, Any]) -> Checkpoint:
    """A record from the mapping that JSON gives."""
    for name in ("shared", "named", "known", "inferred", "moving", "outside", "secrets", "open", "behind"):
        if name in plain:
            plain[name] = tuple(plain[name])
    return Checkpoint(**{name: value for name, value in plain.items() if name in Checkpoint._fields})


def encode_modes(modes: dict[str, int]) -> bytes:
    """`modes`: octal permission bits, a space, the path (folders end in "/"), NUL; sorted."""
    return b"".join(b"%o %s\0" % (mode, os.fsencode(path)) for path, mode in sorted(modes.items()))


def decode_modes(data: bytes) -> dict[bytes, int]:
    """Reads `modes`."""
    pairs = (line.partition(b" ") for line in data.split(b"\0") if line)
    return {path: int(mode, 8) for mode, _, path in pairs}


def encode_paths(paths: Iterable[str]) -> bytes:
    """`empty-folders` and `named-paths`: paths, each ended by NUL; sorted."""
    return b"".join(os.fsencode(path) + b"\0" for path in sorted(paths))


def decode_paths(data: bytes) -> list[bytes]:
    """Reads `empty-folders` or `named-paths`."""
    return [path for path in data.split(b"\0") if path]


def encode_rules(sources: tuple[Source, ...]) -> bytes:
    """`ignore-rules`: a JSON list of [base, name, text]."""
    return json.dumps([list(source) for source in sources], ensure_ascii=True).encode()


def decode_rules(data: bytes) -> tuple[Source, ...]:
    """Reads `ignore-rules`."""
    return tuple(Source(*item) for item in json.loads(data))
