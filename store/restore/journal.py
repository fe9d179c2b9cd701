"""The journal of a restore: what is about to be done, durable before the first write (rule 3).

One JSON document in one line, then a line for each change that was begun. The first line alone says what each path was
and will be; together with what stands on disk a crash at any moment can be judged by it (see `recovery`). The further
lines only tell how far it got, so they are not fsynced, and a torn one is passed over.
"""

from __future__ import annotations

import base64
import json
import secrets
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..durable import sync_folder, write_atomic
from ..errors import Refused, StoreDamaged, storing
from ..states import Node
from .change import Change


@dataclass(frozen=True, slots=True)
class Journal:
    """A restore that is under way, or was interrupted."""

    file: Path
    operation: str
    guard: str
    """Id of the checkpoint that holds what was there before."""
    target: str
    """Id of the checkpoint that the paths go to."""
    root: str
    """Absolute path of the root."""
    started: int
    token: str
    """What the names of its spare files have in common."""
    changes: tuple[Change, ...]
    begun: int = 0
    """How many of the changes were begun, as far as is known."""
    about: str = ""
    """What the caller has to know of the operation when it is settled; opaque here."""

    def note(self, number: int) -> None:
        """Records that change `number` is begun; a disk that is full stops no restore for this."""
        with suppress(OSError), open(self.file, "ab") as stream:
            stream.write(b'{"begun": %d}\n' % number)


def begin(
    file: Path, *, operation: str, guard: str, target: str, root: str, changes: Sequence[Change], about: str = ""
) -> Journal:
    """Writes the journal, fsynced. Raises StoreUnwritable; Refused when there is one that has to be recovered first."""
    if file.exists():
        raise Refused("a restore was interrupted here", path=root, todo="forkpoint recover")
    journal = Journal(
        file, operation, guard, target, root, time.time_ns(), secrets.token_hex(8), tuple(changes), about=about
    )
    with storing(file):
        try:
            write_atomic(file, _encode(journal))
        except OSError:
            # It may stand there all the same, but nothing was changed.
            file.unlink(missing_ok=True)
            raise
    return journal


def pending(file: Path) -> Journal | None:
    """The restore that was interrupted, or None. Raises StoreDamaged when its journal cannot be read."""
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        return None
    first, _, rest = data.partition(b"\n")
    try:
        return _decode(file, json.loads(first), _last_begun(rest))
    except (ValueError, TypeError, KeyError) as error:
        raise StoreDamaged(
            f"the journal of a restore cannot be read ({error})",
            path=str(file),
            todo="what was here before it is in the newest guard: forkpoint log files; then remove the journal",
        ) from None


def close(journal: Journal) -> None:
    """Takes the journal away, durably: the restore is over. What it wrote has been fsynced by then."""
    journal.file.unlink(missing_ok=True)
    sync_folder(journal.file.parent)


def _last_begun(lines: bytes) -> int:
    """How many changes were begun by the lines below the first."""
    for line in reversed(lines.split(b"\n")):
        try:
            return int(json.loads(line)["begun"]) + 1
        except (ValueError, TypeError, KeyError):
            continue
    return 0


def _encode(journal: Journal) -> bytes:
    plain = {name: getattr(journal, name) for name in ("operation", "guard", "target", "started", "token", "about")}
    plain["root"] = journal.root
    plain["changes"] = [_plain(change) for change in journal.changes]
    return json.dumps(plain, ensure_ascii=True).encode() + b"\n"


def _plain(change: Change) -> dict[str, Any]:
    found: dict[str, Any] = {
        "path": change.path.decode("utf-8", "surrogateescape"),
        "before": change.before,
        "after": change.after,
    }
    if change.content is not None:
        found["content"] = base64.b64encode(change.content).decode()
    if change.implied:
        found["implied"] = True
    return found


def _decode(file: Path, plain: dict[str, Any], begun: int) -> Journal:
    return Journal(
        file,
        str(plain["operation"]),
        str(plain["guard"]),
        str(plain["target"]),
        str(plain["root"]),
        int(plain["started"]),
        str(plain["token"]),
        tuple(_change(item) for item in plain["changes"]),
        begun,
        str(plain.get("about", "")),
    )


def _change(plain: dict[str, Any]) -> Change:
    content = base64.b64decode(plain["content"]) if "content" in plain else None
    return Change(
        str(plain["path"]).encode("utf-8", "surrogateescape"),
        _node(plain["before"]),
        _node(plain["after"]),
        content,
        bool(plain.get("implied")),
    )


def _node(plain: list[Any] | None) -> Node | None:
    return None if plain is None else Node(str(plain[0]), int(plain[1]), str(plain[2]))
