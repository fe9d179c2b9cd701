"""What the catalog tells, as all others read it: rows, operations, conversations, and what is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ..conversation.transcripts import Kept
from ..git.reader import Stored
from ..operations import Record
from ..proof.witness import REMEDY, Moved, subject


class Row(NamedTuple):
    """A checkpoint as the catalog holds it."""

    stored: Stored
    added: int | None
    removed: int | None
    changed: int | None
    """Paths that differ from the checkpoint before it; None when there is none to compare with."""


@dataclass(frozen=True, slots=True)
class Content:
    """All that the catalog knows."""

    rows: tuple[Row, ...]
    """By time, the oldest first."""
    operations: tuple[Record, ...]
    """The oldest first."""
    damaged: tuple[str, ...] = ()
    """Refs whose checkpoint, transcript or operations cannot be read."""
    moved: tuple[Moved, ...] = ()
    """Refs that do not stand where they were seen last; their checkpoints are not among the rows."""
    notices: tuple[str, ...] = ()
    """What else was found to be wrong with the store's own files."""
    kept: Mapping[str, Kept] = field(default_factory=dict[str, Kept])
    """What the store has of conversations, by session id."""
    refs: Mapping[str, str] = field(default_factory=dict[str, str])
    """What it was made from."""

    @property
    def wrong(self) -> dict[str, str]:
        """Ref → what is wrong with it, in words."""
        found = {ref: f"{subject(ref)} cannot be read" for ref in self.damaged}
        return found | {item.ref: item.what for item in self.moved}

    @property
    def problems(self) -> tuple[str, ...]:
        """Everything that a person has to know of the store before he trusts what it shows."""
        return (*self.notices, *(f"{what}: {REMEDY}" for what in self.wrong.values()))
