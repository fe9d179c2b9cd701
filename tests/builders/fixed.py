"""A demo session that is the same at every run: its times and its ids are told, not taken from the machine."""

from __future__ import annotations

import itertools
import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from forkpoint.store import operations
from forkpoint.store.api import Store
from forkpoint.store.checkpoints import capture, points
from forkpoint.tui.demo import build
from forkpoint.tui.demo_shop import AFTERNOON

SECOND = 1_000_000_000
NOW = 1_773_500_400 * SECOND
"""14 March 2026, 15:00 UTC: when the demo's afternoon ends."""
LATER = NOW + 90 * SECOND
"""When the app looks at it."""


@contextmanager
def told_times_and_ids(first: int = 1) -> Iterator[None]:
    """Whatever the store and the demo would take from the clock or by chance is counted up."""
    numbers, moments = itertools.count(first), itertools.count(NOW, SECOND)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(uuid, "uuid4", lambda: uuid.UUID(bytes=_bytes(next(numbers), 16), version=4))
        patch.setattr(points, "new_id", lambda: _bytes(next(numbers), 8).hex())
        patch.setattr(operations, "new_id", lambda: _bytes(next(numbers), 6).hex())
        patch.setattr(operations, "moment", lambda: next(moments))
        patch.setattr(capture, "time", SimpleNamespace(**(vars(time) | {"time_ns": lambda: next(moments)})))
        yield


def _bytes(number: int, length: int) -> bytes:
    """Bytes that look as if they came by chance: each number has others, and even their beginnings differ."""
    return (number * 0x9E3779B97F4A7C15F39CC0605CEDC835 % (1 << 128)).to_bytes(16, "big")[:length]


def a_told_afternoon(folder: Path) -> Path:
    """The demo's session with two forks and a restore that was undone."""
    project = build(folder, NOW)
    store = Store.open(project)
    prompts = {point.entry: point.id for point in store.tree().points if point.reason == "prompt"}
    asked = [entry for entry in store.tree().entries if entry.kind == "prompt" and entry.id in prompts]
    redesign = next(entry for entry in asked if "redesign" in entry.text)
    total = next(entry for entry in asked if "shipping" in entry.text)
    store.fork(store.plan_fork(prompts[total.id], name="shipping-by-weight"))
    store.fork(store.plan_fork(prompts[redesign.id]))
    store.restore(store.plan_restore(prompts[redesign.id], "files"))
    store.undo(store.plan_undo())
    for path in AFTERNOON.by_hand:
        os.utime(project / path, ns=(NOW, NOW))
    return project
