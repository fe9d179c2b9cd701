"""An inventory as text: what a restore will do, what is lost first said in words; and what it did."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator, Sequence

from ...store.model import ForkResult, Inventory, Live, PathChange, RestoreResult
from ...store.text import clean, path_text
from .. import words
from ..output import Cell, Row, Style

SCOPES = {"files": "files", "conversation": "conversation", "both": "files and conversation"}
HEADINGS: dict[str, tuple[str, Style]] = {
    "restored": ("Restored", "bold"),
    "kept": ("Kept", "bold"),
    "conflict": ("Conflict !", "yellow"),
    "discarded": ("Discarded", "red"),
    "effects": ("Cannot be undone", "red"),
}


def live_line(live: Live, now: int) -> str:
    """Claude Code is working here now (pid 4711, Bash, 12 s)."""
    title = words.agent(live.agent)
    if live.doing:
        doing = f"{words.one_line(live.doing)}, {words.duration(now - live.doing_since)}"
        state = "is working here now"
    else:
        doing = f"since {words.moment(live.since, now)}" if live.since else ""
        state = "is open here now"
    facts = ", ".join(filter(None, [f"pid {live.pid}" if live.pid else "", doing]))
    return f"{title} {state}" + (f" ({facts})" if facts else "")


def inventory_rows(inventory: Inventory, *, titled: bool = True) -> Iterator[Row]:
    """The whole inventory, every path by name; what is lost last and in words."""
    now = time.time_ns()
    for live in inventory.live:
        yield Row(rest=(Cell(live_line(live, now), "yellow"),), wraps=True)
    if inventory.note:
        yield Row(rest=(Cell(words.one_line(inventory.note), "yellow"),), wraps=True)
    if titled:
        yield Row(rest=(Cell(_title(inventory, now), "bold"),), wraps=True)
    only_told = inventory.note and not (inventory.restored or inventory.kept or inventory.conflicts)
    if inventory.scope != "conversation" and not only_told:
        yield from _group("restored", inventory.restored)
        yield from _group("kept", inventory.kept)
        yield from _group("conflict", inventory.conflicts)
    if lost := _discarded(inventory, now):
        yield _head("discarded", lost)
    for effect in inventory.effects:
        yield _head("effects", words.one_line(effect))
    if inventory.uncaptured:
        count = words.count(inventory.uncaptured, "path")
        yield Row(rest=(Cell(f"{count} could not be captured then: left alone", "dim"),), wraps=True)


def _title(inventory: Inventory, now: int) -> str:
    target = inventory.target
    back = f"Go back to {words.one_line(target.title)}: {SCOPES[inventory.scope]}"
    if inventory.scope == "conversation" or not target.files_as_of:
        return back
    everything = ", everything as it was then" if inventory.everything else ""
    return f"{back}, files as of {words.moment(target.files_as_of, now)}{everything}"


def _discarded(inventory: Inventory, now: int) -> str:
    """What exists now and will not: prompts by their words, files by number, and where both can be found again."""
    discarded = inventory.discarded
    parts: list[str] = []
    if inventory.scope != "files" and discarded.turns:
        prompts = ", ".join(f"“{words.one_line(prompt)}”" for prompt in discarded.prompts)
        since = f" ({words.duration(now - discarded.since)})" if discarded.since else ""
        branch = f", still on branch {words.one_line(discarded.branch)}" if discarded.branch else ""
        parts.append(f"{words.count(discarded.turns, 'turn')}{since}: {prompts}{branch}")
    if inventory.scope != "conversation" and discarded.files:
        parts.append(f"{words.count(len(discarded.files), 'file')} as they are now, still in the guard")
    return "; ".join(parts)


def _group(name: str, changes: Sequence[PathChange]) -> Iterator[Row]:
    if not changes and name != "restored":
        return
    yield _head(name, words.count(len(changes), "file") if changes else "nothing")
    for change in changes:
        lines = words.signed(change.added, change.removed)
        why = ", ".join(filter(None, [words.one_line(change.why), words.one_line(change.note)]))
        yield Row((Cell(""), Cell(lines, right=True)), (Cell(path_text(change.path)),), (Cell(why, "dim"),), wraps=True)


def _head(name: str, summary: str) -> Row:
    title, style = HEADINGS[name]
    return Row((Cell(title, style),), (Cell(summary),), wraps=True)


def result_lines(result: RestoreResult) -> Iterator[str]:
    """What was done: n of m, each path that was not, and the way back."""
    scope = result.inventory.scope
    failed = [*result.failed, *result.late_conflicts]
    if scope != "conversation":
        whole = len(result.done) + len(failed)
        yield (
            f"Restored {len(result.done):,} of {words.count(whole, 'file')}."
            if whole
            else "Done; no file had to change."
        )
        for change in result.failed:
            yield f"Not restored: {path_text(change.path)} ({words.one_line(change.why)})"
        for change in result.late_conflicts:
            yield f"Changed meanwhile, left as it is: {path_text(change.path)}"
    if result.guard:
        yield f"What was here before is checkpoint {result.guard}; forkpoint undo brings it back."
    if result.fork is not None:
        yield from fork_lines(result.fork)
        for live in result.inventory.live:
            title = words.agent(live.agent)
            yield f"{title} still has the old conversation where it is open; to go on with this one:"
            yield f"  {go_on(result.fork)}"


def fork_lines(fork: ForkResult) -> Iterator[str]:
    """The branch, the prompt that was left out, and the exact command to go on with."""
    yield f"Branch {words.one_line(fork.branch)}. To go on with it:"
    yield f"  {go_on(fork)}"
    if fork.prompt_text:
        yield "The prompt that was left out:"
        yield from (f"  {line}" for line in clean(fork.prompt_text, keep_lines=True).rstrip("\n").split("\n"))


def go_on(fork: ForkResult) -> str:
    """The shell command that goes on with a fork."""
    return clean(f"cd {shlex.quote(fork.cwd)} && {shlex.join(fork.command)}")
