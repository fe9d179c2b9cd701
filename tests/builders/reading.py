"""What a test asks of a conversation: its lines from the beginning to an entry, and single rows."""

from __future__ import annotations

from pathlib import Path

from forkpoint.store import agents
from forkpoint.store.model import Conversation, Entry, SessionInfo


def only(agent: str, root: Path) -> SessionInfo:
    """The one session that an agent has of a root."""
    (info,) = agents.get(agent).sessions(str(root))
    return info


def read_only(agent: str, root: Path) -> Conversation:
    """The conversation of it."""
    return agents.get(agent).read(only(agent, root))


def path(conversation: Conversation, entry: str | None) -> list[Entry]:
    """From the beginning to an entry."""
    by_id = {item.id: item for item in conversation.entries}
    found: list[Entry] = []
    while entry is not None:
        found.append(by_id[entry])
        entry = by_id[entry].parent
    return found[::-1]


def texts(conversation: Conversation, entry: str | None = None) -> list[str]:
    """The texts from the beginning to an entry, by default to the one that the agent goes on from."""
    return [item.text for item in path(conversation, conversation.leaf if entry is None else entry)]


def row(conversation: Conversation, text: str) -> Entry:
    """The one entry with a text."""
    (found,) = [item for item in conversation.entries if item.text == text]
    return found


def rows(conversation: Conversation) -> list[tuple[str, str]]:
    """All of it, as kind and text."""
    return [(entry.kind, entry.text) for entry in conversation.entries]


def by_text(conversation: Conversation) -> dict[str, Entry]:
    """The entries by their texts; of equal ones the last."""
    return {entry.text: entry for entry in conversation.entries}


def forks(conversation: Conversation) -> list[str]:
    """Entries after which two lines go on; "" for the beginning."""
    children: dict[str, int] = {}
    for entry in conversation.entries:
        if not entry.under:
            children[entry.parent or ""] = children.get(entry.parent or "", 0) + 1
    return [place for place, count in children.items() if count > 1]
