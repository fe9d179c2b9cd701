"""`forkpoint resume`: goes on with a branch in its agent."""

from __future__ import annotations

import shlex
import time

import click

from ...store.text import clean, path_text
from .. import words
from .becoming import become
from .call import Call, command
from .documents import resume_document
from .inventory_text import live_line


@command("resume")
@click.argument("branch", required=False, default="")
@click.option("--print", "only_print", is_flag=True, help="The command only, to be run elsewhere.")
@click.option("-y", "--yes", is_flag=True, help="Without asking, though the session is open somewhere.")
def resume(call: Call, branch: str, only_print: bool, yes: bool) -> int:
    """Goes on with a branch, or with a session by its id, in its agent; without a name where you are.

    The agent takes the terminal over, in the folder of its session. Without a terminal the command is printed. Where
    it has no session that ends with the branch, it goes on with a copy, which is made first.
    """
    store = call.need_workspace()
    planned = store.plan_resume(branch)
    ready = store.resume(planned)
    if call.json:
        call.output.document(resume_document(planned, ready))
        return 0
    line = clean(f"cd {shlex.quote(ready.cwd)} && {shlex.join(ready.command)}")
    if only_print:
        call.output.say(line)
        return 0
    call.output.say(path_text(store.root))
    of = f" with branch {words.one_line(ready.branch)}" if ready.branch else ""
    call.output.say(f"Going on{of} in {words.agent(ready.agent)}:", f"  {line}")
    if planned.note:
        call.output.say(words.one_line(planned.note))
    call.output.say(*(live_line(live, time.time_ns()) for live in ready.live))
    if not call.asks:
        return 0
    if ready.live and not yes:
        call.confirm("Two of them would write into one session. Go on all the same?")
    become(ready.command, ready.cwd)
