"""OpenCode as an Agent. Each function imports what it needs: a hook comes through here and must stay light."""

from __future__ import annotations

import os

from ...light import TYPE_CHECKING, Callable, Mapping, Sequence

if TYPE_CHECKING:
    from typing import BinaryIO

    from ...model import Block, Conversation, Entry, Live, SessionInfo
    from ..base import Evidence, Fork, PartialState, Source

NAME = "opencode"
TITLE = "OpenCode"


def data_home(env: Mapping[str, str] = os.environ) -> str:
    """`$XDG_DATA_HOME/opencode`, else `~/.local/share/opencode` on every system; it need not exist."""
    return os.path.join(_base(env, "XDG_DATA_HOME", ".local/share"), NAME)


def config_home(env: Mapping[str, str] = os.environ) -> str:
    """The person's settings: `$XDG_CONFIG_HOME/opencode`, else `~/.config/opencode`."""
    return os.path.join(_base(env, "XDG_CONFIG_HOME", ".config"), NAME)


def detect() -> bool:
    """Whether OpenCode has ever been used here."""
    return os.path.isdir(data_home())


def own_data() -> tuple[str, ...]:
    """What OpenCode keeps for itself: sessions and snapshots, state, cache (rule 14); its settings are the person's."""
    # Every hook of every agent asks for it: it stands here, so that no further module is read.
    env = os.environ
    folders = [
        data_home(env),
        os.path.join(_base(env, "XDG_STATE_HOME", ".local/state"), NAME),
        os.path.join(_base(env, "XDG_CACHE_HOME", ".cache"), NAME),
    ]
    chosen = env.get("OPENCODE_DB", "")
    if os.path.isabs(chosen):
        folders += [chosen, f"{chosen}-wal", f"{chosen}-shm"]
    return tuple(os.path.realpath(folder) for folder in folders)


def watched(root: str) -> tuple[str, ...]:
    """What changes when a session of a root begins or goes on: the databases with their logs, and the older files."""
    from .home import databases

    home = data_home()
    logs = (f"{path}{ending}" for path in databases() for ending in ("", "-wal"))
    folders = (os.path.join(home, "storage", "session"), os.path.join(home, "forkpoint"))
    return (home, *logs, *folders)


def written(root: str) -> tuple[str, ...]:
    """Folders into which forks are written, and our plugin."""
    from .places import pending_folder
    from .settings import settings_file

    files = (settings_file(everywhere=everywhere, root=root) for everywhere in (True, False))
    return (pending_folder(), *(os.path.dirname(file) for file in files))


def sessions(root: str, nested: Sequence[str] = ()) -> list[SessionInfo]:
    """Sessions that were started in the root or under it, but not under a nested root; the newest first."""
    from .places import sessions

    return sessions(root, nested)


def has(file: str) -> bool:
    """Whether OpenCode still has a session: in its database, or as a file."""
    from .places import has

    return has(file)


def sources(info: SessionInfo) -> list[Source]:
    """All that `read` needs of this session, its sub-agents' sessions included."""
    from .places import sources

    return sources(info)


def read(info: SessionInfo, sources: Sequence[Source] | None = None) -> Conversation:
    """All of a session that can be read."""
    from . import places
    from .reader import read

    return read(info, places.sources(info) if sources is None else sources)


def blocks(entry: Entry, open_file: Callable[[str], BinaryIO] | None = None) -> list[Block]:
    """The whole text of an entry."""
    from .detail import blocks

    return blocks(entry, open_file)


def facts(entry: Entry, open_file: Callable[[str], BinaryIO] | None = None) -> dict[str, str]:
    """What else an entry's record tells."""
    from .detail import facts

    return facts(entry, open_file)


def file_states(conversation: Conversation, root: str, sources: Sequence[Source] | None = None) -> list[PartialState]:
    """Whole trees from OpenCode's own snapshots, one for each prompt that has one, the oldest first."""
    from .history import file_states

    return file_states(conversation, root, sources)


def evidence(conversation: Conversation, root: str, sources: Sequence[Source] | None = None) -> Evidence:
    """What the session's own records prove about the files of a root."""
    from .history import evidence

    return evidence(conversation, root, sources)


def live(root: str) -> list[Live]:
    """Processes of OpenCode that are at work in the root or under it now."""
    from .running import live

    return live(root)


def keeps_days() -> int:
    """OpenCode never deletes a session by itself; its snapshots go after about a week."""
    return 0


def hooks_problem(root: str) -> str:
    """Why our plugin does not tell us what OpenCode does in a root, in words; "" when it does."""
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
    """Whether a fork's file is still byte for byte what we wrote, and OpenCode has not imported it."""
    from .forks import untouched

    return untouched(fork_file, digest)


def resume_command(session: str, cwd: str, *, fresh: bool = False) -> tuple[tuple[str, ...], str]:
    """The command that goes on with a session, and the folder to run it in."""
    from .forks import resume_command

    return resume_command(session, cwd, fresh=fresh)


def _base(env: Mapping[str, str], name: str, otherwise: str) -> str:
    chosen = env.get(name, "")
    home = env.get("HOME") or os.path.expanduser("~")
    return os.path.abspath(chosen) if chosen else os.path.join(home, otherwise)
