"""`save`: a checkpoint of now. It imports little, since scripts and editors call it on every change."""

from __future__ import annotations

import os

import click

from ...store.saving import Saved
from ...store.saving import save as save_root
from ...store.text import path_text
from .. import words
from ..output import path_keys
from .call import Call, command


@command("save")
@click.option("-m", "--label", default="", help="A label for the checkpoint.")
@click.option("--session", default="", metavar="S", help="The session it belongs to; else the workspace's own.")
def save(call: Call, label: str, session: str) -> int:
    """A checkpoint of now; prints its id."""
    root = call.root()
    saved = _saved(call, root, label, session)
    if call.json:
        uncaptured = [{**path_keys(os.fsencode(path)), "why": why} for path, why in saved.uncaptured]
        call.output.document({"id": saved.id, "label": saved.label, "files": saved.files, "uncaptured": uncaptured})
        return 0
    call.output.say(path_text(root))
    named = f" [{words.one_line(saved.label)}]" if saved.label else ""
    call.output.say(f"{saved.id}  {words.count(saved.files, 'file')} saved{named}")
    call.output.say(*(f"not captured: {path_text(path)} ({words.one_line(why)})" for path, why in saved.uncaptured))
    return 0


def _saved(call: Call, root: str, label: str, session: str) -> Saved:
    if session:
        return call.store().save(label=label, session=session, progress=call.progress("saving"))
    return save_root(root, label=label, progress=call.progress("saving"))
