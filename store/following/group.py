"""Which signals reached our whole process group, and so the command as well.

What comes from the terminal, or from a shell that ends a job, reaches all processes of a group; what a supervisor
sends to our process id reaches us alone, and is passed on. A process that takes no signal tells the two apart: what
came to it too came to the group.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress

from ..processes import let_go


class Group:
    """The process that listens; it ends when we do."""

    def __init__(self) -> None:
        asked, self._ask = os.pipe()
        self._answers, answer = os.pipe()
        # Blocked from its first moment on: it must miss none.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        self.pid = os.fork()
        if self.pid == 0:
            _listen(asked, answer)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.close(asked)
        os.close(answer)

    def heard(self) -> frozenset[int]:
        """The signals that came to the group since this was asked last; none when the listener is gone."""
        with suppress(OSError):
            os.write(self._ask, b"?")
            count = os.read(self._answers, 1)
            return frozenset(os.read(self._answers, count[0])) if count and count[0] else frozenset()
        return frozenset()

    def end(self) -> None:
        """Lets it go, and waits for its end."""
        for descriptor in (self._ask, self._answers):
            os.close(descriptor)
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def _listen(asked: int, answer: int) -> None:
    """The listener's whole life."""
    try:
        let_go(asked, answer)
        while os.read(asked, 1):
            pending = signal.sigpending()
            for number in pending:
                signal.sigwait({number})
            os.write(answer, bytes([len(pending), *pending]))
    finally:
        os._exit(0)
