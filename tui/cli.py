"""The command `forkpoint`: takes the command line apart and answers with an exit code.

`forkpoint hook` runs inside of an agent's every call, and `forkpoint save` in scripts' and editors' hooks: both are
answered before anything else is imported.
"""

from __future__ import annotations

import gc
import os
import sys

LOOKING = (["restore"], ["undo"], ["redo"])
"""What begins with a look at the whole folder."""
TYPE_CHECKING = False
if TYPE_CHECKING:  # typing itself may be a project's own until `_leave_out_the_project`
    from typing import NoReturn


def main() -> NoReturn:
    """Runs the command line of this process; always ends it."""
    _let_the_owner_in()
    _fill_standard_files()
    _leave_out_the_project()
    arguments = sys.argv[1:]
    if arguments[:1] in (["hook"], ["save"], ["restore"]):
        gc.disable()  # so short a process has nothing to free
    if arguments[:1] == ["hook"] and arguments[1:] not in (["--help"], ["-h"]):
        _hook(arguments[1:])
    from .waiting import told

    with told():
        if arguments[:1] in LOOKING:
            from .quick import begin

            begin(arguments[1:])
        if arguments[:1] == ["save"]:
            from .quick import answer

            code = answer(arguments[1:])
            if code is not None:
                _end(code)
        if arguments[:1] == ["restore"]:
            from .plain_restore import answer

            code = answer(arguments[1:])
            if code is not None:
                _end(code)
        if arguments[:1] in ([], ["-C"]):
            code = _app(arguments)
            if code is not None:
                sys.exit(code)
        from .commands.program import run

        code = run(arguments)
        if arguments[:1] == ["restore"]:
            _end(code)
        sys.exit(code)


def _app(arguments: list[str]) -> int | None:
    """The exit code of the app; None where it is not for this terminal, or not what was asked for."""
    from ..store.errors import ForkpointError
    from .start import answer

    try:
        return answer(arguments)
    except (ForkpointError, KeyboardInterrupt, BrokenPipeError) as error:
        from .commands.call import Call
        from .commands.program import guarded

        met = error

        def fail() -> int:
            raise met

        return guarded(Call(), fail)


def _end(code: int) -> NoReturn:
    """Ends the process now: all is on the disk, and clearing up the memory of a walk takes a while."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            code = code or 1
    os._exit(code)


def _let_the_owner_in() -> None:
    """What we write must be readable for us: an umask that takes bits from the owner leaves them; others' stay."""
    mask = os.umask(0o077)
    os.umask(mask & 0o077)
    if mask & 0o700:
        from . import given

        given.umask = mask


def _fill_standard_files() -> None:
    """Opens on nothing what was closed: else a file of the store would get its number, and what is printed with it."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
            stream = os.fdopen(number, "r" if name == "stdin" else "w", closefd=False)
            setattr(sys, name, stream)
            from . import given

            given.closed = (*given.closed, number)


def _leave_out_the_project() -> None:
    """Lets nothing be imported from the current folder, whatever PYTHONPATH says: a project's json.py is not ours."""
    try:
        here = os.getcwd()
    except FileNotFoundError:
        return
    named = {os.path.abspath(entry) for entry in (".", *os.environ.get("PYTHONPATH", ".").split(os.pathsep))}
    theirs = {entry for entry in named if f"{entry}/".startswith(f"{here.rstrip('/')}/")}
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) not in theirs or _holds_us(entry)]


def _holds_us(entry: str) -> bool:
    return os.path.isdir(os.path.join(entry, "forkpoint"))


def _hook(arguments: list[str]) -> NoReturn:
    """Whatever happens, the agent sees success: a hook that fails can block its every call."""
    try:
        from ..store.recording import run_hook

        run_hook(arguments)
        sys.stdout.flush()
    except BaseException:
        # Nothing is swallowed silently here: the recorder notes its own failures where `status` finds them.
        pass
    finally:
        _leave()


def _leave() -> NoReturn:
    """Ends the process with 0 though its output may be gone or an interrupt may come in between."""
    os._exit(0)


if __name__ == "__main__":
    main()
