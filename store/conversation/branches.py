"""The branches of a conversation: which entries each owns, how it is called, which one is active."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from ..model import Branch, Conversation, Entry
from ..operations import Record

WORDS = 3
SMALL_WORDS = re.compile(
    "(a|an|and|as|at|be|by|can|do|for|from|i|in|into|is|it|make|me|my|new|now|of|on|or|our|please|so|that|the|then|this"
    "|to|us|use|want|we|with|you|your)$"
)


def branches(
    conversation: Conversation, talk: str | None, done: Sequence[Record]
) -> tuple[list[Branch], dict[str, str]]:
    """All branches, the active one first, and of each entry the branch that owns it; `talk` is where it goes on."""
    main = [entry for entry in conversation.entries if not entry.under]
    by_id = {entry.id: entry for entry in main}
    children: dict[str, list[str]] = {}
    for entry in main:
        if entry.parent is not None:
            children.setdefault(entry.parent, []).append(entry.id)
    heads = [entry.id for entry in main if entry.id not in children]
    own = {entry.session for entry in main}
    tails = {session: _tail(leaf, children) for session, leaf in conversation.leaves.items() if leaf in by_id}
    empty = [session for session in tails if session not in own]
    names = _Names(done)
    order = sorted(heads, key=lambda head: by_id[head].time, reverse=True)
    active_head = _tail(talk, children) if talk is not None and talk in by_id else (order[0] if order else "")
    moved = next((act for act in reversed(done) if act.fork.get("switch")), None)
    waiting = (
        str(moved.fork["session"]) if moved and talk == moved.fork.get("head") and talk != conversation.leaf else ""
    )
    if active_head in order:
        order.remove(active_head)
        order.insert(0, active_head)
    session_of = {_tail(leaf, children): session for session, leaf in conversation.leaves.items() if session in own}
    branch_of: dict[str, str] = {}
    found: list[Branch] = []
    for head in order:
        path, fork = _own_path(head, by_id, branch_of)
        session = session_of.get(head, "")
        title = _title(head, fork, by_id, children)
        name = names.of(session, conversation.titles.get(session) or title or conversation.info.title)
        branch_of.update(dict.fromkeys(path, name))
        state = "active" if head == active_head and not waiting else "left"
        first = path[-1] if path else None
        origin = names.origin(session) or ("agent" if fork else "")
        updated = by_id[head].time
        found.append(Branch(name, head, state, fork, session, first, updated, title, origin))
    for session in empty:
        leaf = conversation.leaves[session]
        act = names.act(session)
        name = names.of(session, by_id[leaf].text)
        state = "active" if session == waiting else "left"
        updated = act.time if act else by_id[leaf].time
        found.append(Branch(name, leaf, state, leaf, session, None, updated, "", "forkpoint" if act else "agent"))
    found.sort(key=lambda branch: branch.state != "active")
    return found, branch_of


def _tail(entry: str, children: Mapping[str, list[str]]) -> str:
    """The end of the linear run that an entry stands on."""
    while len(below := children.get(entry, ())) == 1:
        entry = below[0]
    return entry


def _own_path(head: str, by_id: Mapping[str, Entry], taken: Mapping[str, str]) -> tuple[list[str], str | None]:
    """Entries from the head up to the branch that it left, the newest first, and the entry where it left."""
    path: list[str] = []
    at: str | None = head
    while at is not None and at in by_id and at not in taken:
        path.append(at)
        at = by_id[at].parent
    return path, at if at in by_id else None


def _title(head: str, fork: str | None, by_id: Mapping[str, Entry], children: Mapping[str, list[str]]) -> str:
    """The first prompt after the last fork on the way to the head: what tells this branch from its siblings."""
    title = ""
    at: str | None = head
    while at is not None and at in by_id:
        entry = by_id[at]
        if entry.kind == "prompt":
            title = entry.text
        if entry.parent is not None and len(children.get(entry.parent, ())) > 1 and title:
            break
        at = entry.parent
    return title


class _Names:
    """Hands out branch names: what the person chose, else words of the first prompt; each only once."""

    def __init__(self, done: Sequence[Record]) -> None:
        self._acts = {str(act.fork["session"]): act for act in done if act.fork.get("session")}
        self._taken: set[str] = {act.text for act in self._acts.values() if act.text}

    def act(self, session: str) -> Record | None:
        return self._acts.get(session)

    def origin(self, session: str) -> str:
        return "forkpoint" if session in self._acts else ""

    def of(self, session: str, title: str) -> str:
        act = self._acts.get(session)
        if act is not None and act.text:
            return act.text
        name = fresh_name(title, self._taken)
        self._taken.add(name)
        return name


def fresh_name(title: str, taken: Iterable[str]) -> str:
    """A short name from a prompt's words, with a number where it is taken."""
    held = set(taken)
    words = re.findall(r"[^\W_]+", re.sub(r"['’]\w+", "", title.lower()))
    chosen = [word for word in words if not SMALL_WORDS.match(word)][:WORDS] or words[:WORDS] or ["conversation"]
    name = "-".join(word[:16] for word in chosen)
    candidate, number = name, 2
    while candidate in held:
        candidate, number = f"{name}-{number}", number + 1
    return candidate
