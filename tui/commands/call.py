"""What every command is given: where it was called, how it answers, and the store when it asks for it.

The parser of the command line is imported where it is needed: a plain restore does without.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...store.errors import NoWorkspace, Refused
from ...store.text import path_text
from ..output import Output, Terminal
from ..words import INTERRUPTED, one_line

if TYPE_CHECKING:
    import click

    from ...store.api import Store


SPARE = 1.0
"""Seconds that a command takes behind its answer for conversations that have no checkpoint."""


@dataclass(slots=True)
class Call:
    """One run of a command."""

    folder: str | None = None
    """The folder given by -C."""
    json: bool = False
    terminal: Terminal = field(default_factory=Terminal.of_process)
    opened: Store | None = None
    tells_itself: bool = False
    """The command says itself what was interrupted here."""

    @property
    def output(self) -> Output:
        """Where the answer goes."""
        return Output(self.terminal)

    @property
    def asks(self) -> bool:
        """A person is there to answer, and the answer is not for a program."""
        return self.terminal.person and not self.json

    def store(self) -> Store:
        """The store, opened on the root that is meant; opening writes nothing."""
        if self.opened is None:
            # Imported here: `--help` and a wrong option need no engine.
            from ...store.api import Store

            self._need_folder()
            self.opened = Store.open(self.folder)
            if self.opened.interrupted and not self.tells_itself:
                self.warn_of_interruption()
        return self.opened

    def keep_conversations(self) -> None:
        """Once the answer is out, reads into the store what agents wrote since, where the answer was about that."""
        if self.opened is not None and self.opened.unkept:
            if sys.stdout is not None:
                sys.stdout.flush()
            self.opened.keep(seconds=SPARE)

    def warn_of_interruption(self) -> None:
        """A line on the error output, so that no command passes over it; the answer of the command stays as it is."""
        print(INTERRUPTED, file=sys.stderr)

    def root(self) -> str:
        """The root that is meant, found without opening the store."""
        from ...store.saving import root_of

        self._need_folder()
        return root_of(self.folder)

    def _need_folder(self) -> None:
        if self.folder is not None and not os.path.isdir(self.folder):
            raise NoWorkspace("there is no such folder", path=self.folder, todo="give -C a folder that exists")

    def need_workspace(self) -> Store:
        """The store of a folder where something can be seen. Raises NoWorkspace elsewhere."""
        store = self.store()
        if store.made_anew:
            todo = "forkpoint recover goes on with its record"
            anew = NoWorkspace(
                "this folder was deleted and made anew since it was recorded", path=store.root, todo=todo
            )
            if not store.sessions():
                raise anew
            print(f"forkpoint: {one_line(str(anew))}", file=sys.stderr)
        elif not store.exists and not store.sessions():
            raise NoWorkspace("nothing is recorded here", path=store.root, todo="forkpoint save, or forkpoint install")
        return store

    def path(self, name: str, *, outside: bool = False) -> bytes:
        """A path given on the command line, relative to the root; links in it are not followed at its end.

        `outside`: one that is not in the root is told by its absolute path. Raises click's usage error for such a path
        otherwise, and for an empty one.
        """
        if not name:
            import click

            raise click.UsageError("the path is empty")  # "$FILE" that is not set must not mean everything
        root = os.fsencode(self.store().root)
        full = os.path.normpath(os.path.join(self.folder or os.getcwd(), name))
        folder, last = os.path.split(os.fsencode(full))
        path = os.path.join(os.path.realpath(folder), last)
        if path == root or os.path.realpath(full) == os.fsdecode(root):
            return b""
        if not path.startswith(os.path.join(root, b"")):
            if outside:
                return path
            import click

            raise click.UsageError(f"{name} is outside of {self.store().root}")
        return os.path.relpath(path, root)

    def say_root(self) -> None:
        """The first line of every text answer."""
        self.output.say(path_text(self.store().root))

    def confirm(self, question: str) -> None:
        """Asks; returns on yes. Raises Refused on anything else, and where nobody is there to answer."""
        if not self.asks:
            raise Refused("nothing was done: this needs a confirmation", todo="add --yes")
        import click

        if not click.confirm(one_line(question), default=False):
            raise Refused("nothing was done")


def _set_folder(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    if value is not None:
        call_of(context).folder = value


def _set_json(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        call_of(context).json = True


def call_of(context: click.Context) -> Call:
    """The one call that the whole command line is about."""
    return context.find_root().ensure_object(Call)


def place(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds -C DIR and --json, which stand before or after a command's name."""
    import click

    function = click.option(
        "--json", is_flag=True, expose_value=False, callback=_set_json, help="One JSON document instead of text."
    )(function)
    return click.option(
        "-C", "folder", metavar="DIR", expose_value=False, callback=_set_folder, help="The root; else the one here."
    )(function)


def command(name: str, **settings: object) -> Callable[[Callable[..., int | None]], click.Command]:
    """Makes a command of a function whose first argument is the call and whose answer is the exit code.

    `settings` are those of click's context.
    """

    import click

    def make(function: Callable[..., int | None]) -> click.Command:
        @functools.wraps(function)
        def start(**arguments: Any) -> int:
            call = call_of(click.get_current_context())
            code = function(call, **arguments) or 0
            call.keep_conversations()
            return code

        return click.command(name, context_settings=settings)(place(start))

    return make
