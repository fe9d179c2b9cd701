"""What workers tell the screens: every answer names the question that it answers, so that a stale one is dropped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

from ..store.model import RestoreResult
from .outline import Outline

if TYPE_CHECKING:
    from ..store.api import Status


@dataclass
class TreeRead(Message):
    """The tree of a session as it is now."""

    session: str | None
    """What was asked for: the beginning of a session's id, or None for the newest."""
    outline: Outline
    status: Status
    token: str
    sessions: int = 0
    """How many conversations there are here."""


@dataclass
class Progress(Message):
    """How far a long act is; only the newest of several counts."""

    done: int

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, Progress)


@dataclass
class WentBack(Message):
    """A restore, an undo or a redo was carried out."""

    result: RestoreResult
    verb: str
