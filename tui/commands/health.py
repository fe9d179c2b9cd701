"""Whether the store is whole and recording can work: `verify`, `rebuild`, `doctor`, `recover`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

from ...store.text import path_text
from .. import words
from ..output import Cell, Row
from ..quick import progress
from .call import Call, command

if TYPE_CHECKING:
    from ...store.api import Finding


@command("verify")
def verify(call: Call) -> int:
    """Hashes all that is stored again, and names what is not as it was; exit 1 when anything is."""
    store = call.need_workspace()
    with progress("verifying") as counter:
        found = store.verify(progress=counter)
    return _findings(call, found)


@command("rebuild")
@click.option("-y", "--yes", is_flag=True, help="Without asking.")
def rebuild(call: Call, yes: bool) -> int:
    """Makes the catalog anew from what is stored; puts back what was moved or taken away, after asking."""
    store = call.need_workspace()
    plan = store.plan_rebuild()
    if plan.lines and not yes:
        if not call.json:
            call.say_root()
            call.output.say(*map(words.one_line, plan.lines))
        call.confirm("Put the store right?")
    return _findings(call, store.rebuild(plan))


@command("doctor")
def doctor(call: Call) -> int:
    """What keeps forkpoint from recording here, and what to do about it."""
    call.tells_itself = True
    return _findings(call, [*call.store().doctor(), *_of_settings()])


def _of_settings() -> list[Finding]:
    """What of the person's keys and colours is not followed."""
    from textual.theme import BUILTIN_THEMES

    from ...store.api import Finding
    from ..keys import read
    from ..theme import themes

    there = [*(theme.name for theme in themes()), *BUILTIN_THEMES]
    return [Finding(False, f"settings: {wrong.what}", wrong.todo) for wrong in read(themes=there).wrong]


@command("recover")
@click.option("--forward", is_flag=True, help="Finishes what was interrupted, instead of taking it back.")
@click.option("--former", is_flag=True, help="Goes on with the record of a folder that stood here before.")
@click.option("-y", "--yes", is_flag=True, help="Without asking.")
def recover(call: Call, forward: bool, former: bool, yes: bool) -> int:
    """Settles a restore that was interrupted: takes it back, or finishes it. In a folder made anew: goes on there."""
    call.tells_itself = True
    if former or call.store().made_anew:
        return _take_over(call, yes)
    store = call.need_workspace()
    if store.interrupted and not yes:
        if not call.json:
            found = store.status()
            call.say_root()
            call.output.say(words.one_line(found.interrupted))
            call.output.table(Row((Cell(path_text(path)),), (Cell(how, "dim"),)) for path, how in found.unsettled)
            call.output.say(_counts(how for _, how in found.unsettled))
            call.output.say("--forward finishes it; without it all goes back to what was before.")
        call.confirm("Finish it?" if forward else "Take it back?")
    return _findings(call, store.recover(back=not forward))


def _take_over(call: Call, yes: bool) -> int:
    store = call.store()
    if not yes and (store.made_anew or store.status().former):
        if not call.json:
            call.say_root()
            call.output.say("This folder was made anew since it was recorded. Its record would go on here.")
            if not store.made_anew:
                call.output.say("What was recorded of the new one is laid aside: the same command brings it back.")
        call.confirm("Go on with the record of the folder that stood here before?")
    return _findings(call, store.take_over())


def _counts(standing: Iterable[str]) -> str:
    """How many paths stand how, in one line: what a long list of them comes to."""
    counted = Counter(standing)
    return "; ".join(f"{words.count(number, 'path')} {how}" for how, number in counted.most_common())


def _findings(call: Call, findings: Sequence[Finding]) -> int:
    """Writes them; exit code 1 when one of them is bad."""
    if call.json:
        call.output.document([{"ok": this.ok, "what": this.what, "todo": this.todo} for this in findings])
    else:
        call.say_root()
        call.output.table(_row(this) for this in findings)
    return 0 if all(this.ok for this in findings) else 1


def _row(finding: Finding) -> Row:
    sign = Cell("✓", "green") if finding.ok else Cell("✗", "red")
    todo = (Cell(f"→ {words.one_line(finding.todo)}", "yellow"),) if finding.todo else ()
    return Row((sign,), (Cell(words.one_line(finding.what)),), todo, wraps=True)
