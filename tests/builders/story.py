"""What happened in a root, told act by act."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from forkpoint.store.restore.coverage import Coverage, differences
from forkpoint.store.restore.scope import Author, Decision, Transition, decide

from .folder import Thing, state

MINE = "session-mine"
THEIRS = "session-theirs"


@dataclass
class Story:
    """What happened in a root, told act by act; the present is what the last act left unless `edit` changes it."""

    tree: dict[bytes, Thing]
    transitions: list[Transition] = field(default_factory=list)
    past: list[dict[bytes, Thing]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.tree = dict(self.tree)
        self.transitions.append(Transition("p0", 0, "base", "", {}))
        self.past.append(dict(self.tree))

    def step(self, changes: Mapping[bytes, Thing | None], session: str = MINE) -> int:
        return self._record("step", session, changes)

    def drift(self, changes: Mapping[bytes, Thing | None], session: str = MINE) -> int:
        return self._record("outside", session, changes)

    def edits(self, changes: Mapping[bytes, Thing | None], session: str = MINE) -> int:
        """A person's edit, seen while no agent was at work."""
        return self._record("person", session, changes)

    def begins(self, session: str = MINE) -> None:
        """The first checkpoint of a session, of what stands there already."""
        self.transitions.append(Transition(f"p{len(self.transitions)}", len(self.transitions), "base", session, {}))

    def restore(self, moment: int, session: str = MINE) -> int:
        then = self.past[moment]
        return self._record("restore", session, {path: then.get(path) for path in self.tree.keys() | then.keys()})

    def edit(self, changes: Mapping[bytes, Thing | None]) -> None:
        """Changes the folder after the last recorded moment."""
        for path, thing in changes.items():
            if thing is None:
                self.tree.pop(path, None)
            else:
                self.tree[path] = thing

    def go_to(self, moment: int, session: str = MINE, **options: object) -> dict[bytes, Decision]:
        then, now = state(self.past[moment]), state(self.tree)
        pairs = differences(then, Coverage(), now, Coverage())
        return decide(pairs, state(self.past[-1]), self.transitions, session, **options)  # type: ignore[arg-type]

    def _record(self, author: Author, session: str, changes: Mapping[bytes, Thing | None]) -> int:
        before = state(self.tree)
        self.edit(changes)
        after = state(self.tree)
        changed = {
            path: (before.get(path), after.get(path))
            for path in sorted(before.keys() | after.keys())
            if before.get(path) != after.get(path)
        }
        number = len(self.transitions)
        self.transitions.append(Transition(f"p{number}", number, author, session, changes=changed))
        self.past.append(dict(self.tree))
        return number
