"""What the engine asks of an agent: one module each, which alone knows that agent's files.

A module under `store/agents/` has the functions of Agent at its top level, a package has them in its modules, and what
it does not have `forms/usual.py` has; the registry puts them together. It gives to an agent's own `read` the sources
in any case, and to its `plan_fork` all options as one `Wanted`. An agent knows nothing of git or of our store; it turns
the agent's files into the words of the model, and writes nothing but new files of forks, and hooks where a person
wants them. Light: the hook path may import this.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO, Literal, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from ..hook import HookEvent, Step
    from ..model import Block, Conversation, Entry, Live, SessionInfo
    from ..rewrite import Change


@dataclass(frozen=True, slots=True)
class Source:
    """One file of an agent: on disk, or the copy of it that the store keeps."""

    name: str
    """Path of the agent's own file, wherever the bytes come from: spans name it.

    What is a part of a file, as a session of a database is, has the file's path, "#" and the name of the part.
    """
    opener: Callable[[], BinaryIO]
    """Opens the bytes from the start; they can be sought, from their end too. Raises OSError."""
    grows: bool = True
    """Whether the agent only ever adds whole lines to it; what it writes anew is kept as a whole."""
    stamper: Callable[[], tuple[int, int]] | None = None
    """Gives two numbers that change when these bytes do, for what is no file of its own; asked at every look: cheap."""
    former: str = ""
    """Set by the store alone: the name of the file of which this is a former version, which the agent rewrote since.

    The newest version stands behind its former ones. `read` joins them by the ids of what they hold: a newer version
    outranks an older one, and what only an older one has (messages that a revert deleted) is a branch that was left.
    """
    ids: Callable[[BinaryIO], frozenset[str]] | None = None
    """Names of all that a version of these bytes tells of (messages by their ids). A former version of which a newer
    one tells everything is kept no longer. Without it: of what grows each line, and of others every version stays."""

    @property
    def file(self) -> str:
        """Path of the agent's own file, of a former version too: what its name tells stands there."""
        return self.former or self.name

    def open(self) -> BinaryIO:
        return self.opener()

    def stamp(self) -> tuple[int, int]:
        """Two numbers that change when the bytes do: size and time of the file; zeros when there is none."""
        if self.stamper is not None:
            return self.stamper()
        try:
            found = os.stat(self.name)
        except OSError:
            return (0, 0)
        return (found.st_size, found.st_mtime_ns)


Sources = Sequence[Source]


@dataclass(frozen=True, slots=True)
class FileState:
    """What the agent's own backups say of one path at one moment."""

    kind: Literal["file", "absent"]
    source: str = ""
    """Path of the backup that holds the bytes; "" when absent, or when they stand in no file of their own."""
    mode: int = 0o644
    """Permission bits that the backup was given."""
    inferred: bool = False
    """Concluded from later evidence: the first backup of a path that was not tracked yet at that moment (rule 16)."""
    reader: Callable[[], bytes] | None = None
    """Reads bytes that stand in a transcript or in the agent's own repository; raises OSError when they are gone."""
    oid: str = ""
    """Git blob id of the bytes where it is known without reading them."""

    def data(self) -> bytes:
        """The bytes. Raises OSError when they are gone."""
        if self.reader is not None:
            return self.reader()
        with open(self.source, "rb") as stream:
            return stream.read()


class LazyFiles(Mapping[bytes, FileState]):
    """The files of a whole tree, made when one of them is asked for; how many there are is known before."""

    def __init__(self, make: Callable[[], dict[bytes, FileState]], present: int, absent: int = 0) -> None:
        self._make = make
        self._made: dict[bytes, FileState] | None = None
        self.present = present
        """How many of them are files …"""
        self.absent = absent
        """… and how many are known not to be there."""

    def __getitem__(self, path: bytes) -> FileState:
        return self._all()[path]

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._all())

    def __len__(self) -> int:
        return self.present + self.absent if self._made is None else len(self._made)

    def without(self, refused: Callable[[bytes], bool]) -> LazyFiles:
        """The same but for paths that are refused; these still count until the files are asked for."""
        make = self._make
        return LazyFiles(
            lambda: {path: file for path, file in make().items() if not refused(path)}, self.present, self.absent
        )

    def _all(self) -> dict[bytes, FileState]:
        if self._made is None:
            self._made = self._make()
        return self._made


@dataclass(frozen=True, slots=True)
class PartialState:
    """What the agent's own backups say of the files just before a prompt (rule 16)."""

    id: str
    """Stable: the first 16 hexadecimal digits of a SHA-256 over agent, session and the record's id."""
    entry_id: str
    session: str
    prompt: str
    """The agent's id of the prompt, where it has one."""
    time: int
    files: Mapping[bytes, FileState]
    """By path relative to the root. Every other path is unknown."""
    outside: int = 0
    """How many paths of it lie outside of the root."""
    missing: tuple[bytes, ...] = ()
    """Paths whose backup is gone: unknown, but worth telling."""

    @property
    def whole(self) -> bool:
        """Whether it is that of a whole tree, in which is what the shell did too."""
        return isinstance(self.files, LazyFiles)

    @property
    def present(self) -> int:
        """How many of the paths are files."""
        if isinstance(self.files, LazyFiles):
            return self.files.present
        return sum(1 for file in self.files.values() if file.kind == "file")


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a session is known to have done to the files of a root, from its own records alone (for rule 15)."""

    left: dict[bytes, frozenset[str]] = field(default_factory=dict[bytes, frozenset[str]])
    """Path relative to the root → git blob ids of contents that its edit tools are proven to have left there; "" where
    they deleted the file, or moved it away."""
    touched: dict[bytes, tuple[tuple[int, str], ...]] = field(default_factory=dict[bytes, tuple[tuple[int, str], ...]])
    """Path → (time, id of the tool call's entry) of each step that is known to have changed it, the oldest first."""
    outside: int = 0
    """How many paths outside of the root it touched."""


@dataclass(frozen=True, slots=True)
class Fork:
    """A new session file, not yet written: all that is needed to write it, and what to say of it."""

    session: str
    """The new session id."""
    file: str
    """Where it goes; "" when it would be empty: nothing is written, and going on starts a fresh session."""
    data: bytes
    source: str
    """The agent's file that it was cut from."""
    last: str
    """Id of the entry that the fork ends with; "" when nothing is before it."""
    entries: int
    prompt_text: str = ""
    """The prompt that is left out and handed back, in full."""
    note: str = ""
    """What a person should know: a cut that moved to the end of a batch of calls …"""
    title: str = ""
    backups: tuple[tuple[str, str], ...] = ()
    """Files to copy along: (from, to)."""
    mtime: int = 0
    """Nanoseconds; just before the source's, so that "continue the newest" does not pick the fork."""

    @property
    def digest(self) -> str:
        """SHA-256 of the data, in hexadecimal: undo removes the file only while it still has it."""
        import hashlib

        return hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a fork is to be, for the agent's own `plan_fork`."""

    title: str
    sources: Sequence[Source]
    before: bool | None = None
    session: str | None = None
    cwd: str | None = None

    def leaves_out(self, point: Entry) -> bool:
        """Whether the fork ends before the entry that it is cut at."""
        return self.before if self.before is not None else point.kind == "prompt"

    def hands_back(self, point: Entry) -> bool:
        """Whether that is a prompt, whose text the person gets back."""
        return point.kind == "prompt" and self.leaves_out(point)


class Agent(Protocol):
    """The functions of an agent; `follow`, which a package may have besides, stands in `forms/following.py`."""

    @property
    def NAME(self) -> str:
        """The word that commands and records use: "claude"."""
        ...

    @property
    def TITLE(self) -> str:
        """What people call it: "Claude Code"."""
        ...

    def detect(self) -> bool:
        """Whether this agent has ever been used here."""
        ...

    def own_data(self) -> tuple[str, ...]:
        """Real paths of the files and folders where it keeps its sessions and its state: none of them is captured.

        Called at every hook, so it imports nothing heavy.
        """
        ...

    def watched(self, root: str) -> tuple[str, ...]:
        """Folders whose times change when a session of a root begins."""
        ...

    def written(self, root: str) -> tuple[str, ...]:
        """Folders into which `write_fork` and the installing of hooks write."""
        ...

    def sessions(self, root: str, nested: Sequence[str] = ()) -> list[SessionInfo]:
        """Sessions that were started in the root or under it, but not under a nested root; the newest first.

        Cheap: looks at beginnings and ends of files only. Files of one origin are one session.
        """
        ...

    def has(self, file: str) -> bool:
        """Whether the agent still has a file that `SessionInfo.files` names."""
        ...

    def sources(self, info: SessionInfo) -> list[Source]:
        """Every file that `read` needs for this session, those of its sub-agents included."""
        ...

    def read(self, info: SessionInfo, sources: Sequence[Source] | None = None) -> Conversation:
        """All of a session that can be read; never raises for what is inside of the files."""
        ...

    def blocks(self, entry: Entry, open_file: Callable[[str], BinaryIO] | None = None) -> list[Block]:
        """The whole text of an entry, read at its span; open_file opens what the span's file name stands for."""
        ...

    def facts(self, entry: Entry, open_file: Callable[[str], BinaryIO] | None = None) -> dict[str, str]:
        """What else its record tells: model, tokens, version, folder …; keys are words for people."""
        ...

    def file_states(
        self, conversation: Conversation, root: str, sources: Sequence[Source] | None = None
    ) -> list[PartialState]:
        """States of files from the agent's own backups, one for each prompt that has any, the oldest first."""
        ...

    def evidence(self, conversation: Conversation, root: str, sources: Sequence[Source] | None = None) -> Evidence:
        """What the session's own records prove about the files of a root."""
        ...

    def plan_fork(
        self,
        conversation: Conversation,
        entry: str,
        *,
        title: str,
        before: bool | None = None,
        session: str | None = None,
        cwd: str | None = None,
        sources: Sequence[Source] | None = None,
    ) -> Fork:
        """A fork that ends with an entry.

        before: end just before it instead; None does so for prompts. session: the new id, random by default. cwd: the
        folder in which it will be resumed, by default where the session was started. Raises ForkpointError.
        """
        ...

    def write_fork(self, fork: Fork) -> None:
        """Writes a planned fork; never over anything. Raises ForkpointError."""
        ...

    def untouched(self, fork_file: str, digest: str) -> bool:
        """Whether a fork's file is still byte for byte what we wrote."""
        ...

    def resume_command(self, session: str, cwd: str, *, fresh: bool = False) -> tuple[tuple[str, ...], str]:
        """The command that goes on with a session, and the folder to run it in.

        fresh: nothing was said yet, so that a session with this id begins (a fork before the first prompt).
        """
        ...

    def with_prompt(self, command: Sequence[str], prompt: str) -> tuple[str, ...] | None:
        """The command of `resume_command`, which says a prompt first; None where its command line takes none."""
        ...

    def live(self, root: str) -> list[Live]:
        """Processes of this agent that are at work in the root or under it now."""
        ...

    def keeps_days(self) -> int:
        """After how many days the agent deletes a session and its backups; 0 for never."""
        ...

    def hooks_problem(self, root: str) -> str:
        """Why its hooks do not tell us what it does in a root ("not installed" …), in words; "" when they do.

        What `install` does not cure has behind ": " what a person is to do.
        """
        ...

    def install(self, *, everywhere: bool, root: str, executable: str, backups: Path, dry_run: bool = False) -> Change:
        """Writes hooks that call an executable, into the person's settings or into those of a root.

        backups: a folder for what stood there before. Raises ForkpointError; then nothing was changed.
        """
        ...

    def uninstall(self, *, everywhere: bool, root: str, backups: Path, dry_run: bool = False) -> Change:
        """Takes away what `install` wrote, and nothing else. Raises ForkpointError; then nothing was changed."""
        ...

    def parse(self, payload: bytes, env: Mapping[str, str]) -> HookEvent:
        """Reads what the agent gave to its hook; what is none is an event without a name. Light."""
        ...

    def step(self, event: HookEvent) -> Step:
        """What is to be recorded at this event."""
        ...

    def has_ended(self, transcript: str, call: str) -> bool:
        """Whether the transcript tells how a tool call ended, for one whose hook never fired."""
        ...
