"""`forkpoint fork`: a new branch of the conversation, and how to go on with it in the agent."""

from __future__ import annotations

import shutil
import sys

import click

from ...store.model import ForkResult
from .. import clipboard, words
from .becoming import become
from .call import Call, command
from .documents import fork_document
from .inventory_text import fork_lines


@command("fork")
@click.argument("id")
@click.option("--name", default="", metavar="N", help="The new branch's name.")
def fork(call: Call, id: str, name: str) -> int:  # noqa: A002
    """A new branch, and how to go on with it in the agent."""
    store = call.need_workspace()
    plan = store.plan_fork(id, name=name)
    result = store.fork(plan)
    if call.json:
        call.output.document(fork_document(result))
        return 0
    call.say_root()
    call.output.say(
        f"Forked from {words.one_line(plan.target.title)}: {words.count(plan.entries, 'entry', 'entries')}."
    )
    if plan.note:
        call.output.say(words.one_line(plan.note))
    call.output.say(*fork_lines(result))
    return _offer(call, result) if call.asks else 0


def _offer(call: Call, result: ForkResult) -> int:
    """Asks whether to go on at once; the agent then takes this process's place."""
    program = shutil.which(result.command[0])
    if program is None:
        call.output.say(f"There is no {result.command[0]} on PATH to start here.")
        return 0
    if not click.confirm("Go on with it now?", default=False):
        return 0
    if result.prompt_text:
        call.output.say(f"The prompt is copied, {_to_clipboard(result.prompt_text)}.")
    become(result.command, result.cwd)


def _to_clipboard(text: str) -> str:
    """Copies; gives the way in words."""
    if clipboard.way() == clipboard.IN_TMUX and clipboard.give_to_tmux(text):
        return clipboard.IN_TMUX
    sys.stdout.write(clipboard.sequence(text))
    sys.stdout.flush()
    return clipboard.BY_TERMINAL
