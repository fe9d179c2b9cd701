"""What the bars of the main screen say: where one is, how recording stands, and what is looked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len

from ..outline import Outline
from ..spans import Span
from ..theme import Signs
from ..words import agent, count, duration, home_relative, one_line, size

if TYPE_CHECKING:
    from ...store.api import Status
    from ...store.model import Live
    from ..widgets.timeline import Timeline

TABS = {"conversation": "1", "files": "2", "facts": "4"}
"""What the detail can tell, and the keys."""


def header(outline: Outline, root: str, signs: Signs, width: int) -> list[Span]:
    """Title, agent, folder, and how much there is; what there is no room for gives way."""
    info = outline.tree.info
    title = one_line(info.title) or "No session yet"
    folder = home_relative(info.cwd or root)
    partial = len(outline.tree.points) - outline.whole
    counted = f"{outline.whole} {signs.checkpoint}" + (f" {partial} {signs.partial}" if partial else "")
    if info.id != "files":
        counted = f"{count(outline.prompts, 'prompt')}, {counted}"
    facts = [agent(info.agent) if info.id != "files" else "", folder, counted]
    if _is_too_long(title, facts, width):
        facts[1] = f"{signs.more}/{folder.rpartition('/')[2]}"
    for least in (0, 1):  # the agent gives way first, then the folder: how much there is stays
        if _is_too_long(title, facts, width):
            facts[least] = ""
    told = f" {signs.dot} ".join(fact for fact in facts if fact)
    return [(title, "strong"), (f"  {told}", "muted")]


def _is_too_long(title: str, facts: list[str], width: int) -> bool:
    return cell_len(title) + sum(cell_len(fact) + 3 for fact in facts if fact) + 1 > width


def filtered(timeline: Timeline) -> list[Span]:
    """What the tree shows only."""
    if timeline.filter == "all":
        return []
    found = count(len(timeline.shown), "row") if timeline.shown else "none"
    return [(f"only {timeline.filter}", "attention"), (f", {found}  ", "muted")]


def at_work(live: tuple[Live, ...], signs: Signs, now: int) -> list[Span]:
    """Which agent is here, and what it is doing."""
    for first in live[:1]:
        doing = f"{one_line(first.doing)}, {duration(now - first.doing_since)}" if first.doing else "open"
        more = f", {len(live) - 1} more" if len(live) > 1 else ""
        return [(f"{signs.checkpoint} {agent(first.agent)} is here: {doing}{more}", "attention")]
    return []


def recording(outline: Outline, status: Status, signs: Signs) -> list[Span]:
    """Whether anything is recorded, how much is stored, and on which branch one is."""
    spans: list[Span] = [(f"! damaged {signs.dot} ", "attention")] if status.problems else []
    if status.recording:
        spans += [(f"{signs.checkpoint} ", "added"), (f"recording {', '.join(map(agent, status.agents))}", "text")]
    else:
        spans.append((f"{signs.idle} not recording", "attention"))
        spans.append((f" {signs.dot} {one_line(status.why)}", "muted"))
    stored = f", {size(status.bytes)}" if status.bytes else ""
    spans.append((f" {signs.dot} {count(status.checkpoints, 'checkpoint')}{stored}", "muted"))
    branch = next((branch.name for branch in outline.tree.branches if branch.state == "active"), "")
    if branch:
        spans.append((f" {signs.dot} branch {one_line(branch)}", "muted"))
    return spans


def looked_for(timeline: Timeline, signs: Signs) -> list[Span]:
    """Hits of a search, a mark, and what came out of sight."""
    spans: list[Span] = []
    if timeline.needle:
        number = f"{timeline.hit_number} of " if timeline.hit_number else ""
        spans.append((f"/{one_line(timeline.needle)}  {number}{count(len(timeline.hits), 'hit')}", "muted"))
    if timeline.app.marked:
        spans.append((f"  {signs.mark} marked", "muted"))
    if timeline.unseen:
        spans.append((f"  {timeline.unseen:,} new below, G goes there", "attention"))
    return spans


def tabs(current: str) -> list[Span]:
    """The tabs of the detail, the current one set off."""
    spans: list[Span] = []
    for tab, key in TABS.items():
        ground, ink = ("row-idle ", "strong") if tab == current else ("", "muted")
        spans += [(f" {key}", f"{ground}key"), (f" {tab.capitalize()} ", f"{ground}{ink}"), (" ", "text")]
    return spans
