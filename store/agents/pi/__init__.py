"""Pi as an Agent. Each function imports what it needs: a hook comes through here and must stay light."""

from __future__ import annotations

import os

from ...light import TYPE_CHECKING, Callable, Sequence

if TYPE_CHECKING:
    from typing import BinaryIO

    from ...model import Block, Conversation, Entry, Live, SessionInfo
    from ..base import Evidence, Fork, PartialState, Source
    from .reader import Reading

NAME = "pi"
TITLE = "Pi"


def detect() -> bool:
    """Whether Pi has ever been used here."""
    from .home import agent_home

    return os.path.isdir(agent_home())


def own_data() -> tuple[str, ...]:
    """What Pi keeps in its folder for itself; settings, extensions, skills and the like are the person's."""
    from .home import own_data

    return own_data()


def watched(root: str) -> tuple[str, ...]:
    """Folders whose times change when a session of a root begins: those of all projects, and of this one."""
    from .places import session_folder, sessions_home

    return (sessions_home(), session_folder(root))


def written(root: str) -> tuple[str, ...]:
    """Folders into which forks are written, and our extension."""
    from .places import session_folder
    from .settings import settings_file

    files = (settings_file(everywhere=everywhere, root=root) for everywhere in (True, False))
    return (session_folder(root), *(os.path.dirname(file) for file in files))


def sessions(root: str, nested: Sequence[str] = ()) -> list[SessionInfo]:
    """Sessions that were started in the root or under it, but not under a nested root; the newest first."""
    from .places import sessions

    return sessions(root, nested)


def has(file: str) -> bool:
    """Whether Pi still has a session's file."""
    return os.path.exists(file)


def sources(info: SessionInfo) -> list[Source]:
    """Every file that `read` needs for this session."""
    from .places import sources

    return sources(info)


def read(info: SessionInfo, sources: Sequence[Source] | None = None) -> Conversation:
    """All of a session that can be read."""
    from . import places
    from .reader import read

    return read(info, places.sources(info) if sources is None else sources)


def follow() -> Reading:
    """Reads one session again and again, of its files only what is new."""
    from .reader import Reading

    return Reading()


def blocks(entry: Entry, open_file: Callable[[str], BinaryIO] | None = None) -> list[Block]:
    """The whole text of an entry."""
    from .detail import blocks

    return blocks(entry, open_file)


def facts(entry: Entry, open_file: Callable[[str], BinaryIO] | None = None) -> dict[str, str]:
    """What else an entry's record tells."""
    from .detail import facts

    return facts(entry, open_file)


def file_states(conversation: Conversation, root: str, sources: Sequence[Source] | None = None) -> list[PartialState]:
    """States of files as the calls of Pi's own tools tell them, one for each prompt that has any, the oldest first."""
    from .history import file_states

    return file_states(conversation, root, sources)


def evidence(conversation: Conversation, root: str, sources: Sequence[Source] | None = None) -> Evidence:
    """What the session's own records prove about the files of a root."""
    from .history import evidence

    return evidence(conversation, root, sources)


def live(root: str) -> list[Live]:
    """Processes of Pi that are at work in the root or under it now."""
    from .running import live

    return live(root)


def keeps_days() -> int:
    """Pi never deletes a session by itself."""
    return 0


def hooks_problem(root: str) -> str:
    """Why our extension does not tell us what Pi does in a root, in words; "" when it does."""
    from .settings import hooks_problem

    return hooks_problem(root)


def plan_fork(
    conversation: Conversation,
    entry: str,
    *,
    title: str,
    before: bool | None = None,
    session: str | None = None,
    cwd: str | None = None,
    sources: Sequence[Source] | None = None,
) -> Fork:
    """A fork that ends with an entry, or just before it."""
    from .forks import plan_fork

    return plan_fork(conversation, entry, title=title, before=before, session=session, cwd=cwd, sources=sources)


def write_fork(fork: Fork) -> None:
    """Writes a planned fork; never over anything."""
    from ..forms import newfile

    newfile.write_fork(fork)


def untouched(fork_file: str, digest: str) -> bool:
    """Whether a fork's file is still byte for byte what we wrote."""
    from ..forms import newfile

    return newfile.untouched(fork_file, digest)


def resume_command(session: str, cwd: str, *, fresh: bool = False) -> tuple[tuple[str, ...], str]:
    """The command that goes on with a session, and the folder to run it in."""
    from .forks import resume_command

    return resume_command(session, cwd, fresh=fresh)
