"""The command `forkpoint`: takes the command line apart and answers with an exit code.

`forkpoint hook` runs inside of an agent's every call, and `forkpoint save` in scripts' and editors' hooks: both are
answered before anything else is imported.
"""

from __future__ import annotations

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Runs the command line of this process; always ends it."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["hook"] and arguments[1:] not in (["--help"], ["-h"]):
        _hook(arguments[1:])
    if arguments[:1] == ["save"]:
        from .quick import answer

        code = answer(arguments[1:])
        if code is not None:
            sys.exit(code)
    from .commands.program import run

    sys.exit(run(arguments))


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
    import os

    os._exit(0)


if __name__ == "__main__":
    main()
