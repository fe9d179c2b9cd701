"""`forkpoint search`: where words stand, over all sessions, branches and checkpoints."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from itertools import groupby

import click

from ...store.errors import Busy, UsageError
from ...store.model import Found, Hit
from .. import words
from ..found import KINDS, kind, line
from ..output import Cell, Row, shortened
from ..values import iso, path_keys
from .call import Call, command
from .documents import Document

ROOM = 240
"""Columns of a line where nobody says how many there are."""


@command("search")
@click.argument("text", nargs=-1, required=True)
@click.option(
    "--kind", "kinds", multiple=True, metavar="KIND", help=f"Only these: {', '.join(KINDS)}. May be repeated."
)
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(1),
    default=100,
    help="At most so many entries, and as many files (100).",
)
def search(call: Call, text: Sequence[str], kinds: Sequence[str], limit: int) -> int:
    """Prompts, replies, calls, outputs and files that hold all the words, over all branches.

    Words are found inside of longer ones; '"two words"' in quotes are one. Capital letters count where there is one in
    TEXT. --json answers {query, more, hits: [{kind, time, session, agent, title, branch, entry, turn, tool, line, text,
    marks, path, checkpoint, until}]}; `marks` are beginnings and ends in `text`.
    """
    query = " ".join(text)
    if not query.strip(' "'):
        raise UsageError("nothing to search for", todo="forkpoint search TEXT")
    store = call.need_workspace()
    whole, tells = True, call.asks and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    try:
        store.catch_up(progress=_progress if tells else None)
    except Busy as error:
        whole = False
        print(f"forkpoint: {error.what}; what it has not read yet was not searched", file=sys.stderr)
    finally:
        if tells:
            sys.stderr.write("\r\x1b[K")
    found = store.search(query, kinds=kinds, limit=limit)
    if call.json:
        call.output.document(search_document(found))
    else:
        call.say_root()
        _show(call, found)
    return 0 if whole else 1


def _progress(done: int, total: int) -> None:
    if done % 20 == 0:
        sys.stderr.write(f"\r\x1b[Kreading {done:,} of {total:,}…")
        sys.stderr.flush()


def _show(call: Call, found: Found) -> None:
    if not found.hits:
        call.output.say(f"Nothing holds {words.one_line(found.query)}.")
        return
    short = shortened(_name(hit) for hit in found.hits)
    now = time.time_ns()
    for (is_file, _, title), hits in groupby(found.hits, key=lambda hit: (hit.kind == "file", hit.session, hit.title)):
        if not is_file:
            call.output.say("", words.one_line(title) or "Untitled")
            call.output.table(_row(call, hit, short, now) for hit in hits)
    files = [hit for hit in found.hits if hit.kind == "file"]
    if files:
        call.output.say("", "Files of checkpoints")
        call.output.table(_row(call, hit, short, now) for hit in files)
    if found.more:
        call.output.say("", "There is more: --limit N shows it.")


def _row(call: Call, hit: Hit, short: dict[str, str], now: int) -> Row:
    room = max(20, (call.terminal.width or ROOM) - 42)
    pieces = line(hit, room)
    return Row(
        (
            Cell(f"  {kind(hit)}", "dim"),
            Cell(words.moment(hit.time, now), "dim", right=True),
            Cell(short[_name(hit)], "cyan"),
            Cell(words.one_line(hit.branch), "blue"),
        ),
        tuple(Cell(text, "yellow" if marked else "") for text, marked in pieces),
    )


def _name(hit: Hit) -> str:
    return hit.point or hit.entry


def search_document(found: Found) -> Document:
    """What `--json` answers."""
    return {"query": found.query, "more": found.more, "hits": [_hit_document(hit) for hit in found.hits]}


def _hit_document(hit: Hit) -> Document:
    is_file = hit.kind == "file"
    return {
        "kind": hit.kind,
        "time": iso(hit.time),
        "session": hit.session,
        "agent": hit.agent,
        "title": hit.title,
        "branch": hit.branch,
        "entry": None if is_file else hit.entry,
        "turn": None if is_file else hit.turn,
        "tool": hit.tool,
        "line": hit.line or None,
        "text": hit.text,
        "marks": [list(mark) for mark in hit.marks],
        **(path_keys(hit.path) if is_file else {"path": None}),
        "checkpoint": hit.point or None,
        "until": iso(hit.until) if is_file else None,
    }
