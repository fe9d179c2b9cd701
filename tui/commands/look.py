"""Commands that only look: `sessions`, `show`, `branches`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

import click

from ...store import naming
from ...store.errors import UnsafePlace, UsageError
from ...store.model import Branch, Diff, Entry, FileDiff, Overview, Point, SessionInfo, SessionTree, Who
from ...store.naming import gone, title
from ...store.text import clean, path_text
from .. import words
from ..output import Cell, Row, Style, shortened
from .call import Call, command
from .documents import (
    authored_document,
    branch_document,
    covered_document,
    entry_document,
    gone_document,
    point_document,
    session_document,
)

FORKS = 6
"""Branches that are listed below their session."""
STATUS_SIGNS: dict[str, tuple[str, Style]] = {
    "added": ("A", "green"),
    "deleted": ("D", "red"),
    "modified": ("M", ""),
    "renamed": ("R", ""),
    "mode": ("m", ""),
    "type": ("T", "yellow"),
}


@command("sessions")
@click.option("--everywhere", is_flag=True, help="Of all folders, as in / and in the home folder.")
def sessions(call: Call, everywhere: bool) -> int:
    """Sessions of every agent found for this workspace, or everywhere."""
    if everywhere or _is_everywhere(call):
        return show_everywhere(call)
    store = call.need_workspace()
    found = store.counted()
    if call.json:
        call.output.document([session_document(info) for info in found])
        return 0
    call.say_root()
    if not found:
        call.output.say("No agent's session is here; forkpoint log shows what was saved by hand.")
        return 0
    short, now = shortened(info.id for info in found), time.time_ns()
    told = store.overviews(found)
    call.output.table(row for info in found for row in _session_rows(info, told.get(info.key), short, now))
    return 0


def _is_everywhere(call: Call) -> bool:
    """Whether it is asked in / or in the home folder, which are no workspaces."""
    try:
        call.root()
    except UnsafePlace:
        return True
    return False


def show_everywhere(call: Call) -> int:
    """The sessions of all folders, under the names of these; each has its folder in the document."""
    from ...store import api

    found = api.everywhere()
    if call.json:
        call.output.document([{**session_document(item.info), "folder": item.root} for item in found])
        return 0
    if not found:
        call.output.say("No agent has worked on this machine yet.")
    short, now = shortened(item.info.id for item in found), time.time_ns()
    folders: dict[str, list[SessionInfo]] = {}
    for item in found:
        folders.setdefault(item.root, []).append(item.info)
    for number, (folder, infos) in enumerate(folders.items()):
        call.output.say(*([""] if number else []), path_text(folder))
        call.output.table(row for info in infos for row in _session_rows(info, None, short, now))
    return 0


def _session_rows(info: SessionInfo, told: Overview | None, short: dict[str, str], now: int) -> list[Row]:
    """A session, and below it the branches that were left, as far as they are known."""
    rows = [_session_row(info, told.last if told else "", short, now)]
    for branch in told.shown[1 : FORKS + 1] if told else ():
        title = words.one_line(branch.title)
        rows.append(
            Row(
                (Cell(""), Cell(""), Cell(words.moment(branch.updated, now), "dim", right=True)),
                (Cell(f"├╴ {words.one_line(branch.name)}", "blue"), Cell(f"  {title}" if title else "", "dim")),
            )
        )
    return rows


def _session_row(info: SessionInfo, last: str, short: dict[str, str], now: int) -> Row:
    title, last = words.one_line(info.title), words.one_line(last)
    notes = [
        words.count(info.branches, "branch", "branches") if info.branches > 1 else "",
        "live" if info.live else "",
        f"! {words.one_line(info.problem)}" if info.problem else "",
    ]
    return Row(
        (
            Cell(short[info.id], "cyan"),
            Cell(words.agent(info.agent)),
            Cell(words.moment(info.updated, now), "dim", right=True),
            Cell(words.count(info.entries, "entry", "entries") if info.branches else "", right=True),
            Cell(words.size(info.bytes) if info.bytes else "", right=True),
        ),
        (Cell(title, "bold"), Cell(f"  last: {last}" if last and last != title else "", "dim")),
        (Cell(" · ".join(filter(None, notes)), "yellow"),),
    )


@command("branches")
@click.argument("session", required=False)
def branches(call: Call, session: str | None) -> int:
    """The branches of a session: active, left."""
    tree = call.need_workspace().tree(session)
    if call.json:
        call.output.document([branch_document(branch) for branch in tree.branches])
        return 0
    call.say_root()
    if not tree.branches:
        call.output.say("This session has no branches.")
        return 0
    short, now = shortened(branch.head for branch in tree.branches), time.time_ns()
    ordered = sorted(tree.branches, key=lambda branch: (branch.state != "active", -branch.updated))
    call.output.table(_branch_row(branch, short, now) for branch in ordered)
    return 0


def _branch_row(branch: Branch, short: dict[str, str], now: int) -> Row:
    return Row(
        (Cell(words.one_line(branch.name), "blue"), Cell(branch.state), Cell(short[branch.head], "cyan")),
        (Cell(words.one_line(branch.title)),),
        (Cell(words.moment(branch.updated, now), "dim"),),
    )


@command("show")
@click.argument("id")
def show(call: Call, id: str) -> int:  # noqa: A002
    """One checkpoint or entry."""
    store = call.need_workspace()
    resolved = store.resolve(id)
    if resolved.point is None and resolved.entry is None:
        raise UsageError('"now" is neither a checkpoint nor an entry', todo="forkpoint diff ID compares with it")
    tree = store.tree(resolved.session)
    entries = {entry.id: entry for entry in tree.entries}
    point = next((point for point in tree.points if point.id == resolved.point), None)
    lost = next((point for point in tree.gone if point.id == resolved.point), None)
    if lost is not None:
        _show_gone(call, lost, entries.get(lost.entry or ""))
    elif point is not None:
        _show_point(call, point, entries.get(point.entry or ""), tree)
    else:
        _show_entry(call, entries[resolved.entry or ""], tree)
    return 0


def _show_point(call: Call, point: Point, entry: Entry | None, tree: SessionTree) -> None:
    changes = call.store().changes(point.id)
    authors = call.store().authors(changes.left, point.id, tree) if changes.files else {}
    if call.json:
        document = {"checkpoint": point_document(point), "entry": entry_document(entry) if entry else None}
        covered = covered_document(call.store().covered(point.id))
        call.output.document({**document, "changes": authored_document(changes, authors), "covered": covered})
        return
    call.say_root()
    covered = words.covered_facts(call.store().covered(point.id), 5)
    facts = [*_point_facts(point, entry), *covered, ("changed since", _earlier(changes.left, tree))]
    call.output.table(Row((Cell(name, "dim"),), (Cell(value),), wraps=True) for name, value in facts if value)
    call.output.say("")
    call.output.table(change_row(file, authors) for file in changes.files)
    if not changes.files:
        call.output.say("No file changed." if changes.left else "It is the first one: nothing to compare it with.")


def _show_gone(call: Call, point: Point, entry: Entry | None) -> None:
    """What is left of a checkpoint whose files were deleted."""
    if call.json:
        call.output.document(
            {"checkpoint": gone_document(point), "entry": entry_document(entry) if entry else None, "changes": None}
        )
        return
    call.say_root()
    facts = _point_facts(point, entry)
    call.output.table(Row((Cell(name, "dim"),), (Cell(value),), wraps=True) for name, value in facts if value)
    call.output.say("", f"Its files were {gone(point)} on {words.full_time(point.gone)}.")


def _point_facts(point: Point, entry: Entry | None) -> list[tuple[str, str]]:
    kind = "complete" if point.complete else f"partial: knows {words.count(point.known, 'file')}"
    return [
        ("checkpoint", point.id),
        ("made", f"{words.full_time(point.time)}, reason {point.reason}{', late' if point.late else ''}"),
        ("stands", words.one_line(title(replace(point, label=""), entry))),
        ("branch", words.one_line(point.branch)),
        ("label", words.one_line(point.label)),
        ("pinned", "yes" if point.pinned else ""),
        ("files", f"{point.files:,}, {kind}{', inferred' if point.inferred else ''}"),
    ]


def _earlier(name: str, tree: SessionTree) -> str:
    """The checkpoint that the changes are counted from, in words where it is one of this tree."""
    point = next((point for point in tree.points if point.id == name), None)
    if point is None:
        return words.one_line(name)
    entry = next((entry for entry in tree.entries if entry.id == point.entry), None)
    return f"{name} {words.one_line(title(point, entry))}"


def change_row(file: FileDiff, authors: Mapping[bytes, list[Who]] | None = None) -> Row:
    """A changed file in one line: how, what, how much, and who changed it where that was asked."""
    letter, style = STATUS_SIGNS[file.status]
    name = path_text(file.path)
    if file.old_path is not None:
        name = f"{path_text(file.old_path)} → {name}"
    those = (authors or {}).get(file.path, [])
    told = [*file.notes, file.problem, *([f"by {naming.who(those[0])}"] if those else [])]
    notes = ", ".join(words.one_line(note) for note in told if note)
    return Row(
        (Cell(letter, style), Cell(words.signed(file.added, file.removed), right=True)),
        (Cell(name),),
        (Cell(notes, "dim"),),
    )


def _show_entry(call: Call, entry: Entry, tree: SessionTree) -> None:
    blocks = call.store().blocks(entry)
    points = [point for point in tree.points if point.entry == entry.id]
    ended = next((point for point in points[::-1] if (point.reason, point.side) == ("tool", "after")), None)
    changes = call.store().changes(ended.id) if ended is not None else Diff("", "", ())
    authors = call.store().authors(changes.left, ended.id, tree) if ended is not None and changes.files else {}
    if call.json:
        texts = [{"kind": block.kind, "title": block.title, "text": block.text} for block in blocks]
        documents = [point_document(point) for point in points]
        document = {"entry": entry_document(entry), "blocks": texts, "checkpoints": documents}
        call.output.document({**document, "changes": authored_document(changes, authors)})
        return
    call.say_root()
    facts = [
        ("entry", entry.id),
        ("written", words.full_time(entry.time)),
        ("kind", entry.kind.replace("_", " ") + (f", {entry.flavour}" if entry.flavour else "")),
        ("branch", words.one_line(tree.branch_of.get(entry.id, ""))),
        ("checkpoints", ", ".join(point.id for point in points)),
    ]
    call.output.table(Row((Cell(name, "dim"),), (Cell(value),), wraps=True) for name, value in facts if value)
    if changes.files:
        call.output.say("")
        call.output.table(change_row(file, authors) for file in changes.files)
    for block in blocks:
        title = [words.one_line(block.title)] if block.title else []
        call.output.say("", *title, *clean(block.text, keep_lines=True).rstrip("\n").split("\n"))
