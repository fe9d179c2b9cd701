"""Following a session: its conversation again and again, while its files grow.

An agent's module may have a function `follow` that gives a Following of its own, which keeps what it read and goes on
where it ended (`growing`). A session of any other agent is read anew each time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from ...model import Conversation, SessionInfo
    from ..base import Agent, PartialState, Source

FOLLOWED = 4
"""How many sessions are followed at once: each takes memory for all that was read of it."""


class Following(Protocol):
    """Reads one session; what it gives is what the agent's `read` and `file_states` would give then."""

    def read(self, info: SessionInfo, sources: Sequence[Source]) -> Conversation:
        """All of the session that its sources hold now."""
        ...

    def file_states(
        self, conversation: Conversation, root: str, sources: Sequence[Source] | None = None
    ) -> list[PartialState]:
        """States of files from the agent's own backups, the oldest first."""
        ...


class Followed:
    """The sessions that were looked at last."""

    def __init__(self) -> None:
        self._followed: OrderedDict[tuple[str, str], Following] = OrderedDict()

    def of(self, agent: Agent, info: SessionInfo) -> Following:
        """The one that reads a session."""
        key = (info.agent, info.id)
        if key not in self._followed:
            self._followed[key] = _follow(agent)
        self._followed.move_to_end(key)
        while len(self._followed) > FOLLOWED:
            self._followed.popitem(last=False)
        return self._followed[key]


def _follow(agent: Agent) -> Following:
    own = cast("Callable[[], Following] | None", getattr(agent, "follow", None))
    # A module has the functions that a Following has, and keeps nothing.
    return own() if own is not None else agent
