"""Codex CLI as an Agent. Each function imports what it needs: a hook comes through here and must stay light."""

from __future__ import annotations

import os

from ...light import TYPE_CHECKING, Callable, Sequence

if TYPE_CHECKING:
    from typing import BinaryIO

    from ...model import Block, Conversation, Entry, Live, SessionInfo
    from ..base import Evidence, Fork, PartialState, Source
    from ..forms.following import Following

NAME = "codex"
TITLE = "Codex CLI"

OWN = (
    "sessions",
    "archived_sessions",
    "history.jsonl",
    "session_index.jsonl",
    "shell_snapshots",
    "thread-writer-locks",
    "log",
    "tmp",
    ".tmp",
    "packages",
    "auth.json",
    "installation_id",
    "models_cache.json",
    "version.json",
)
"""Names in the home. What is not among them a person writes: configuration, hooks, prompts, rules, skills."""
DATABASES = ("state", "logs", "goals", "memories", "queue", "thread_history")
"""Names of its databases, before the number of their form."""


def config_home() -> str:
    """`$CODEX_HOME`, else `~/.codex`; it need not exist."""
    chosen = os.environ.get("CODEX_HOME")
    return os.path.abspath(os.path.expanduser(chosen)) if chosen else os.path.expanduser("~/.codex")


def detect() -> bool:
    """Whether Codex CLI has ever been used here."""
    return os.path.isdir(config_home())


def own_data() -> tuple[str, ...]:
    """Real paths of what the program keeps for itself, its sessions above all (rule 14)."""
    home = os.path.realpath(config_home())
    return (*(os.path.join(home, name) for name in OWN), *_databases(home))


def _databases(home: str) -> list[str]:
    """Its databases with what belongs to them: the numbers in their names change between versions."""
    beginnings = tuple(f"{name}_" for name in DATABASES)
    try:
        names = os.listdir(home)
    except OSError:
        return []
    return [os.path.join(home, name) for name in names if ".sqlite" in name and name.startswith(beginnings)]


def watched(root: str) -> tuple[str, ...]:
    """Folders whose times change when a session begins: those of the newest year, month and day, and that of all."""
    from .places import watched

    return watched()


def written(root: str) -> tuple[str, ...]:
    """Folders into which forks are written, and hooks."""
    from .places import day_of, watched
    from .settings import settings_file

    settings = (settings_file(everywhere=everywhere, root=root) for everywhere in (True, False))
    return (*watched(), day_of(), *(os.path.dirname(file) for file in settings))


def sessions(root: str, nested: Sequence[str] = ()) -> list[SessionInfo]:
    """Sessions that were started in the root or under it, but not under a nested root; the newest first."""
    from .places import sessions

    return sessions(root, nested)


def has(file: str) -> bool:
    """Whether Codex CLI still has a session's file."""
    return os.path.exists(file)


def sources(info: SessionInfo) -> list[Source]:
    """Every file that `read` needs for this session."""
    from .places import sources_of

    return sources_of(info)


def read(info: SessionInfo, sources: Sequence[Source] | None = None) -> Conversation:
    """All of a session that can be read."""
    from .places import sources_of
    from .reader import read

    return read(info, sources_of(info) if sources is None else sources)


def follow() -> Following:
    """What reads a session again and again, of its files only what is new."""
    from .reader import Following

    return Following()


def blocks(entry: Entry, open_file: Callable[[str], BinaryIO] | None = None) -> list[Block]:
    """The whole text of an entry."""
    from .detail import blocks

    return blocks(entry, open_file)


def facts(entry: Entry, open_file: Callable[[str], BinaryIO] | None = None) -> dict[str, str]:
    """What else an entry's record tells."""
    from .detail import facts

    return facts(entry, open_file)


def file_states(conversation: Conversation, root: str, sources: Sequence[Source] | None = None) -> list[PartialState]:
    """States of files from Codex's own records, one for each prompt at which any is known, the oldest first."""
    from .states import file_states

    return file_states(conversation, root, sources)


def evidence(conversation: Conversation, root: str, sources: Sequence[Source] | None = None) -> Evidence:
    """What the session's own records prove about the files of a root."""
    from .states import evidence

    return evidence(conversation, root, sources)


def live(root: str) -> list[Live]:
    """Processes of Codex CLI that are at work in the root or under it now."""
    from .running import live

    return live(root)


def keeps_days() -> int:
    """After how many days Codex CLI deletes a session: never."""
    return 0


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
