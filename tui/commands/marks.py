"""Commands that add to the record and touch no file: `save`, `label`, `pin`, `unpin`."""

from __future__ import annotations

import os

import click

from ...store.model import Operation
from ...store.text import path_text
from .. import words
from ..output import path_keys
from .call import Call, command
from .documents import operation_document


@command("save")
@click.option("-m", "--label", default="", help="A label for the checkpoint.")
@click.option("--session", default="", metavar="S", help="The session it belongs to; else the workspace's own.")
def save(call: Call, label: str, session: str) -> int:
    """A checkpoint of now; prints its id."""
    store = call.store()
    saved = store.save(label=label, session=session, progress=call.progress("saving"))
    if call.json:
        uncaptured = [{**path_keys(os.fsencode(path)), "why": why} for path, why in saved.uncaptured]
        call.output.document({"id": saved.id, "label": saved.label, "files": saved.files, "uncaptured": uncaptured})
        return 0
    call.say_root()
    named = f" [{words.one_line(saved.label)}]" if saved.label else ""
    call.output.say(f"{saved.id}  {words.count(saved.files, 'file')} saved{named}")
    call.output.say(*(f"not captured: {path_text(path)} ({words.one_line(why)})" for path, why in saved.uncaptured))
    return 0


@command("label")
@click.argument("id")
@click.argument("text")
def label(call: Call, id: str, text: str) -> int:  # noqa: A002
    """Names a point; an empty TEXT takes the name away."""
    return _marked(call, call.need_workspace().label(id, text))


@command("pin")
@click.argument("id")
def pin(call: Call, id: str) -> int:  # noqa: A002
    """Keeps a point for good."""
    return _marked(call, call.need_workspace().pin(id))


@command("unpin")
@click.argument("id")
def unpin(call: Call, id: str) -> int:  # noqa: A002
    """Takes a pin away."""
    return _marked(call, call.need_workspace().unpin(id))


def _marked(call: Call, operation: Operation) -> int:
    if call.json:
        call.output.document(operation_document(operation))
        return 0
    call.say_root()
    call.output.say(words.one_line(operation.summary))
    return 0
