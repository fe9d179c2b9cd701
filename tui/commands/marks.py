"""Marks on points, which touch no file: `label`, `pin`, `unpin`."""

from __future__ import annotations

import click

from ...store.model import Operation
from .. import words
from .call import Call, command
from .documents import operation_document


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
