"""The table of commands, the options before them, and how errors become a line and an exit code."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence

import click

from ...store.errors import ForkpointError
from ..output import Output, Terminal, silence
from ..words import one_line
from .call import Call, call_of, place

COMMANDS: dict[str, dict[str, str]] = {
    "Look": {
        "sessions": "look",
        "log": "log",
        "show": "look",
        "diff": "diff",
        "search": "search",
        "branches": "look",
        "status": "status",
    },
    "Go back and on": {
        "save": "save",
        "restore": "restore",
        "fork": "fork",
        "resume": "resume",
        "undo": "undo",
        "redo": "undo",
        "operations": "undo",
        "label": "marks",
        "pin": "marks",
        "unpin": "marks",
    },
    "Record": {
        "install": "recording",
        "uninstall": "recording",
        "hook": "recording",
        "run": "run",
    },
    "Health": {
        "verify": "health",
        "rebuild": "health",
        "doctor": "health",
        "recover": "health",
        "usage": "usage",
    },
    "Try": {
        "demo": "opening",
    },
}
"""By heading: a command's name → the module of this package that holds it."""

BEGIN_WITH = ("palette", "confirm", "cancel")
"""Keys of the app that the help names beside those of the tree's footer."""


class Program(click.Group):
    """The group of all commands; a command's module is imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for section in COMMANDS.values() for name in section]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        for section in COMMANDS.values():
            if cmd_name in section:
                module = importlib.import_module(f".{section[cmd_name]}", __package__)
                return getattr(module, cmd_name)
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, section in COMMANDS.items():
            with formatter.section(heading):
                formatter.write_dl([(name, _summary(self.get_command(ctx, name))) for name in section])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The keys with which one begins, as this person has them."""
        from ..actions import help_lines
        from ..keys import read

        actions = read().keys.actions_of("tree", "dialog", "everywhere")
        said = {action.text for action in actions if action.footer or action.id in BEGIN_WITH}
        told = [action for action in actions if action.text in said]
        with formatter.section("Keys in the app (? shows those of each screen)"):
            formatter.write_dl(help_lines(told))


def _summary(command: click.Command | None) -> str:
    return command.get_short_help_str(limit=200) if command else ""


@click.command(
    "forkpoint", cls=Program, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(package_name="forkpoint", message="%(prog)s %(version)s")
@place
@click.pass_context
def program(context: click.Context) -> int:
    """Shows a coding agent's conversation and its checkpoints as one tree; goes back, forks, undoes.

    Without a command: opens the app on this folder; without a terminal prints the tree.
    """
    if context.invoked_subcommand is not None:
        return 0
    from .opening import open_app

    return open_app(call_of(context))


def run(arguments: Sequence[str]) -> int:
    """Runs the command line; answers with the exit code of design.md section 6."""
    call = Call()
    call.json = "--json" in arguments[: [*arguments, "--"].index("--")]

    def work() -> int:
        code = program.main(list(arguments), prog_name="forkpoint", standalone_mode=False, obj=call)
        return code if isinstance(code, int) else 0

    return guarded(call, work)


def guarded(call: Call, work: Callable[[], int]) -> int:
    """Does the work; an error that a person can be told becomes a line, or a document, and its exit code."""
    try:
        return work()
    except ForkpointError as error:
        return _fail(call, error.what, error.path, error.todo, error.exit_code)
    except click.UsageError as error:
        return _fail(call, *_usage(error), 2)
    except click.ClickException as error:
        return _fail(call, _sentence(error.format_message()), "", "", error.exit_code)
    except click.Abort as error:
        # click turns ctrl+c during the work into an Abort with a cause; without one a question was left unanswered.
        in_the_middle = isinstance(error.__cause__, KeyboardInterrupt)
        return _fail(call, "interrupted" if in_the_middle else "nothing was done", "", "", 1 if in_the_middle else 3)
    except KeyboardInterrupt:
        return _fail(call, "interrupted", "", "", 1)
    except BrokenPipeError:
        silence(sys.stdout)
        return 1


def _usage(error: click.UsageError) -> tuple[str, str, str]:
    path = error.ctx.command_path if error.ctx else "forkpoint"
    return _sentence(error.format_message()), "", f"see {path} --help"


def _sentence(text: str) -> str:
    """click's message as the middle of a line of ours."""
    text = one_line(text).rstrip(".")
    return text[:1].lower() + text[1:]


def _fail(call: Call, what: str, path: str, todo: str, code: int) -> int:
    """Tells the error once: a document where one was asked for, else one line on the error output."""
    if call.json:
        Output(call.terminal).document({"error": {"what": what, "path": path, "todo": todo}, "exit": code})
        return code
    parts = [one_line(what) + (f": {one_line(path)}" if path else ""), one_line(todo)]
    Output(Terminal(), sys.stderr).say("forkpoint: " + "; ".join(part for part in parts if part))
    return code
