"""Restores of real folders, and processes that are killed in the middle of them."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Collection, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from forkpoint.store.restore import journal as journals
from forkpoint.store.restore import rename
from forkpoint.store.restore.apply import Outcome, carry_out
from forkpoint.store.restore.below import ignores_case, opened_root, standing
from forkpoint.store.restore.build import Blobs
from forkpoint.store.restore.coverage import Coverage, Pair, differences
from forkpoint.store.restore.journal import Journal
from forkpoint.store.restore.paths import folded
from forkpoint.store.restore.plan import Plan, plan
from forkpoint.store.restore.scope import Decision

from .folder import Tree, seen, state

WHOLE = Decision("restore", "as it was then")
EFFECTS = ("rename", "replace", "unlink", "rmdir", "mkdir", "symlink", "link", "write", "fchmod", "fchown", "fsync")


def planned(
    root: Path, target: Tree, decide: Callable[[Mapping[bytes, Pair]], Mapping[bytes, Decision]] | None = None
) -> Plan:
    """The plan that brings a folder, as it is, to a tree; without `decide` as it was then."""
    now = state(seen(root))
    pairs = differences(state(target), Coverage(), now, Coverage())
    with opened_root(root) as descriptor:
        return plan(
            pairs,
            Coverage(),
            now,
            Coverage(),
            decide(pairs) if decide else dict.fromkeys(pairs, WHOLE),
            count=lambda path, old, new: None,
            merge=lambda path, base, mine, theirs: None,
            standing=lambda path: standing(descriptor, path),
            fold=folded if ignores_case(descriptor) else None,
        )


def begun(root: Path, made: Plan, file: Path | None = None) -> Journal:
    """The journal of a plan, beside the folder."""
    return journals.begin(
        file or root.parent / "journal.json",
        operation="op",
        guard="guard",
        target="target",
        root=str(root),
        changes=made.changes,
    )


def restored(root: Path, target: Tree, blobs: Blobs, guard: Tree | None = None) -> Outcome:
    """Brings a folder to a tree, as it was then, and closes the journal."""
    held = state(seen(root) if guard is None else guard)
    journal = begun(root, planned(root, target))
    outcome = carry_out(journal, blobs, held)
    journals.close(journal)
    return outcome


def named(outcome: Outcome) -> list[bytes]:
    """Every path that an outcome names, sorted."""
    troubled = (*outcome.failed, *outcome.conflicts, *outcome.kept)
    return sorted([*outcome.done, *(path for path, _ in troubled)])


def reasons(pairs: Collection[tuple[bytes, str]]) -> dict[bytes, str]:
    """Path → why."""
    return dict(pairs)


def killed_at(moment: int, act: Callable[[], object]) -> bool:
    """Runs `act` in a process that kills itself around its nth effect on the disk; False when it ends first."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            with pytest.MonkeyPatch.context() as patch:
                _arm(patch, moment)
                act()
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0, "the act failed in the process that was to be killed"
    return False


@contextmanager
def all_ended() -> Generator[None]:
    """Waits at its end until every process that was begun in it has ended, also one whose parent was killed."""
    ending, held = os.pipe()
    try:
        yield
    finally:
        os.close(held)
        assert os.read(ending, 1) == b""
        os.close(ending)


def _arm(patch: pytest.MonkeyPatch, moment: int) -> None:
    count = 0

    def tick() -> None:
        nonlocal count
        if count == moment:
            os.kill(os.getpid(), signal.SIGKILL)
        count += 1

    def armed(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named_arguments: Any) -> Any:
            tick()
            result = real(*arguments, **named_arguments)
            tick()
            return result

        return call

    for name in EFFECTS:
        patch.setattr(os, name, armed(getattr(os, name)))
    patch.setattr(rename, "_rename", armed(rename._rename))  # pyright: ignore[reportPrivateUsage]
