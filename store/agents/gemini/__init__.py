"""Gemini CLI as an Agent. Each function imports what it needs: a hook comes through here and must stay light."""

from __future__ import annotations

import os

from ...light import TYPE_CHECKING, Callable, Sequence

if TYPE_CHECKING:
    from typing import BinaryIO

    from ...model import Block, Conversation, Entry, Live, SessionInfo
    from ..base import Evidence, Fork, PartialState, Source
    from ..forms.following import Following

NAME = "gemini"
TITLE = "Gemini CLI"

OWN = (
    "tmp",
    "history",
    "projects.json",
    "google_accounts.json",
    "oauth_creds.json",
    "gemini-credentials.json",
    "mcp-oauth-tokens.json",
    "mcp-oauth-tokens-v2.json",
    "installation_id",
    "state.json",
    "user_id",
)
"""Names in the folder. What is not among them a person writes: settings, commands, agents, skills, GEMINI.md."""


def gemini_folder() -> str:
    """`.gemini` in `$GEMINI_CLI_HOME`, else in the home folder; it need not exist."""
    home = os.environ.get("GEMINI_CLI_HOME")
    return os.path.join(os.path.abspath(home) if home else os.path.expanduser("~"), ".gemini")


def detect() -> bool:
    """Whether Gemini CLI has ever been used here: other programs keep things in its folder too."""
    folder = gemini_folder()
    return any(os.path.exists(os.path.join(folder, name)) for name in ("tmp", "projects.json", "settings.json"))


def own_data() -> tuple[str, ...]:
    """Real paths of what the program keeps for itself, its sessions above all (rule 14)."""
    home = os.path.realpath(gemini_folder())
    return tuple(os.path.join(home, name) for name in OWN)


def watched(root: str) -> tuple[str, ...]:
    """Folders whose times change when a session of a root begins: those of all projects, and of this one."""
    from .filenames import CHATS
    from .places import folder_of, temporary

    folder = folder_of(root)
    return (temporary(), os.path.join(folder, CHATS)) if folder else (temporary(),)


def written(root: str) -> tuple[str, ...]:
    """Folders into which forks are written, and settings."""
    from .forks import chats_of
    from .settings import settings_file

    settings = (settings_file(everywhere=everywhere, root=root) for everywhere in (True, False))
    return (chats_of(root), *(os.path.dirname(file) for file in settings))


def sessions(root: str, nested: Sequence[str] = ()) -> list[SessionInfo]:
    """Sessions that were started in the root or under it, but not under a nested root; the newest first."""
    from .places import sessions

    return sessions(root, nested)


def has(file: str) -> bool:
    """Whether Gemini CLI still has a session's file."""
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


def follow() -> Following:
    """Reads one session again and again, of its files only what is new."""
    from .reader import Following

    return Following()


def blocks(entry: Entry, open_file: Callable[[str], BinaryIO] | None = None) -> list[Block]:
    """The whole text of an entry."""
    from .detail import blocks

    return blocks(entry, open_file)


def facts(entry: Entry, open_file: Callable[[str], BinaryIO] | None = None) -> dict[str, str]:
    """What else an entry's message tells."""
    from .detail import facts

    return facts(entry, open_file)


def file_states(conversation: Conversation, root: str, sources: Sequence[Source] | None = None) -> list[PartialState]:
    """States of files from its records and its shadow repository, for each prompt that has any, the oldest first."""
    from .history import file_states

    return file_states(conversation, root, sources)


def evidence(conversation: Conversation, root: str, sources: Sequence[Source] | None = None) -> Evidence:
    """What the session's own records prove about the files of a root."""
    from .history import evidence

    return evidence(conversation, root, sources)


def live(root: str) -> list[Live]:
    """Processes of Gemini CLI that are at work in the root or under it now."""
    from .running import live

    return live(root)


def keeps_days() -> int:
    """After how many days Gemini CLI deletes a session (general.sessionRetention)."""
    from .places import kept_days

    return kept_days()


def hooks_problem(root: str) -> str:
    """Why its hooks do not tell us what it does in a root, in words; "" when they do."""
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
    from .forks import write_fork

    write_fork(fork)


def untouched(fork_file: str, digest: str) -> bool:
    """Whether a fork's file is still byte for byte what we wrote."""
    from ..forms import newfile

    return newfile.untouched(fork_file, digest)


def resume_command(session: str, cwd: str, *, fresh: bool = False) -> tuple[tuple[str, ...], str]:
    """The command that goes on with a session, and the folder to run it in."""
    from .forks import resume_command

    return resume_command(session, cwd, fresh=fresh)
