"""What a folder holds at one moment, as data: a path → node mapping."""

from __future__ import annotations

from .light import Callable, Iterator, Mapping, NamedTuple

FILE_MODE = 0o644
EXECUTABLE_MODE = 0o755
FOLDER_MODE = 0o755


class Node(NamedTuple):
    """A file, link or folder; two nodes are equal when nothing would have to be written."""

    kind: str
    """"file", "link" or "folder"."""
    mode: int
    """Permission bits 0o7777 of a file or folder; 0 for a link."""
    oid: str
    """Git blob id of a file's bytes or a link's target; "" for a folder."""


State = Mapping[bytes, Node]
"""Every file and link by its path relative to the root; folders only when empty or when their mode is not 0o755."""


def usual_mode(mode: int) -> int:
    """The permission bits that git's own mode stands for."""
    return EXECUTABLE_MODE if mode & 0o100 else FILE_MODE


class Later(Mapping[bytes, Node]):
    """A state that is made when somebody asks for it: of a large folder it takes a tenth of a second."""

    def __init__(self, make: Callable[[], State]) -> None:
        self._make = make
        self._held: State | None = None

    def made(self) -> State:
        """The state itself, whose look-ups are quicker."""
        if self._held is None:
            self._held = self._make()
        return self._held

    def __getitem__(self, path: bytes) -> Node:
        return self.made()[path]

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.made())

    def __len__(self) -> int:
        return len(self.made())


def made(state: State) -> State:
    """A state that is there, of one that may only be made when it is asked for."""
    return state.made() if isinstance(state, Later) else state
