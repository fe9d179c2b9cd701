"""What holds for an agent that has no function of its own for it. Light: hooks may ask."""

from __future__ import annotations

import os

from ...light import TYPE_CHECKING, Callable, Mapping, Sequence

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO, NoReturn

    from ...hook import HookEvent, Step
    from ...model import Block, Conversation, Entry, Live, SessionInfo
    from ...rewrite import Change
    from ..base import Evidence, Fork, PartialState, Source, Wanted

NO_HOOKS = "not known to forkpoint: record it with forkpoint run -- COMMAND"


class Usual:
    """The functions of an agent of which only the sessions are known: files of their own that nobody else writes."""

    def __init__(self, name: str, title: str) -> None:
        self._name = name
        self._title = title

    def own_data(self) -> tuple[str, ...]:
        return ()

    def watched(self, root: str) -> tuple[str, ...]:
        return ()

    def written(self, root: str) -> tuple[str, ...]:
        return ()

    def has(self, file: str) -> bool:
        """Whether the file is there."""
        return os.path.exists(file)

    def sources(self, info: SessionInfo) -> list[Source]:
        """The session's files as they stand."""
        from .regular import on_disk

        return [on_disk(file) for file in info.files]

    def blocks(self, entry: Entry, open_file: Callable[[str], BinaryIO] | None = None) -> list[Block]:
        """What the reader gave of it."""
        from ...model import Block

        return [Block("text", entry.text)]

    def facts(self, entry: Entry, open_file: Callable[[str], BinaryIO] | None = None) -> dict[str, str]:
        """Where it stands."""
        from ...text import clean

        return {} if entry.span is None else {"file": clean(entry.span.file)}

    def file_states(
        self, conversation: Conversation, root: str, sources: Sequence[Source] | None = None
    ) -> list[PartialState]:
        return []

    def evidence(self, conversation: Conversation, root: str, sources: Sequence[Source] | None = None) -> Evidence:
        from ..base import Evidence

        return Evidence()

    def live(self, root: str) -> list[Live]:
        return []

    def keeps_days(self) -> int:
        """Never deleted."""
        return 0

    def hooks_problem(self, root: str) -> str:
        return NO_HOOKS

    def install(self, *, everywhere: bool, root: str, executable: str, backups: Path, dry_run: bool = False) -> Change:
        """Changes nothing: `hooks_problem` tells why."""
        return self.uninstall(everywhere=everywhere, root=root, backups=backups, dry_run=dry_run)

    def uninstall(self, *, everywhere: bool, root: str, backups: Path, dry_run: bool = False) -> Change:
        """Changes nothing."""
        from ...rewrite import Change

        return Change("", None, None, ())

    def parse(self, payload: bytes, env: Mapping[str, str]) -> HookEvent:
        """An event of which nothing is known."""
        from ...hook import HookEvent

        return HookEvent(self._name)

    def step(self, event: HookEvent) -> Step:
        """Records nothing."""
        from ...hook import Step

        return Step()

    def has_ended(self, transcript: str, call: str) -> bool:
        return True

    def plan_fork(self, conversation: Conversation, entry: str, wanted: Wanted) -> NoReturn:
        """Raises Refused: how such a session is written nobody knows."""
        from ...errors import Refused

        raise Refused(f"forkpoint cannot write sessions of {self._title}", todo="restore the files only")

    def write_fork(self, fork: Fork) -> None:
        """Writes a planned fork as one new file; never over anything."""
        from .newfile import write_fork

        write_fork(fork)

    def untouched(self, fork_file: str, digest: str) -> bool:
        """Whether a fork's file is still byte for byte what we wrote."""
        from .newfile import untouched

        return untouched(fork_file, digest)

    def with_prompt(self, command: Sequence[str], prompt: str) -> None:
        """It is not known whether it takes one."""
