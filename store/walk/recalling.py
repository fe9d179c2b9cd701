"""What agents named in a root, read back from its newest checkpoints: for the case that its stat index was lost."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import Any, NamedTuple

from ..checkpoints import points
from ..errors import ForkpointError
from ..git.process import call
from ..roots import Place

NEWEST = 50
"""So many of the workspace's checkpoints are asked; each holds all that was named before it."""


class Recalled(NamedTuple):
    """What a lost stat index knew."""

    inside: list[str]
    """Paths in the root that agents' edit tools named …"""
    outside: list[str]
    """… and absolute ones outside of it."""
    newest: int
    """Time of the root's newest checkpoint."""


def recalled(place: Place) -> Recalled:
    """What can be read back; nothing when no checkpoint can be read."""
    inside: dict[str, None] = {}
    outside: dict[str, None] = {}
    newest = 0
    with suppress(ForkpointError, OSError, ValueError):
        for record, named in reversed(_newest(place)):
            plain: dict[str, Any] = json.loads(record)
            if plain.get("root") == place.root.id:
                inside |= dict.fromkeys(map(os.fsdecode, points.decode_paths(named)))
                outside |= dict.fromkeys(plain.get("outside", ()))
                newest = max(newest, int(plain.get("time", 0)))
    return Recalled(list(inside), list(outside), newest)


def _newest(place: Place) -> list[tuple[bytes, bytes]]:
    """Record and named paths of the newest checkpoints of the workspace, the newest first."""
    if not os.path.exists(place.git_dir / "packed-refs") and not os.path.exists(place.git_dir / points.REFS):
        return []
    form = ("--sort=-committerdate", f"--count={NEWEST}", "--format=%(objectname)")
    commits = call(place.git_dir, "for-each-ref", *form, points.REFS).split()
    asked = b"".join(b"%s:%s\n" % (commit, part) for commit in commits for part in _PARTS)
    answers = _blobs(call(place.git_dir, "cat-file", "--batch", data=asked))
    return list(zip(answers[::2], answers[1::2], strict=True))


_PARTS = (points.RECORD.encode(), points.NAMED.encode())


def _blobs(output: bytes) -> list[bytes]:
    """The answers of `cat-file --batch`; b"" for what is missing."""
    found: list[bytes] = []
    while output:
        head, _, output = output.partition(b"\n")
        if head.endswith(b" missing"):
            found.append(b"")
            continue
        size = int(head.rpartition(b" ")[2])
        found.append(output[:size])
        output = output[size + 1 :]
    return found
