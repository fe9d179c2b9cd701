"""What a hook of any agent tells the recorder, in words of ours."""

from __future__ import annotations

from .light import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Literal

    Save = Literal["nothing", "drift", "always"]
    """drift: only when the files are not those of the root's newest checkpoint."""

if TYPE_CHECKING:  # the model's classes would cost a hook a tenth of its time
    from .model import Reason, Side


def session_key(agent: str, session: str) -> str:
    """What tells a session from all others: ids of two agents may be equal. Claude Code's are as they are."""
    return session if agent in ("", "claude") or not session else f"{agent}:{session}"


def session_id(agent: str, key: str) -> str:
    """The agent's own id of a session that is called by its key."""
    return key.removeprefix(f"{agent}:")


class HookEvent(NamedTuple):
    """One call of a hook; what the agent did not tell is empty."""

    agent: str
    name: str = ""
    """The agent's own name of the event."""
    session: str = ""
    transcript: str = ""
    """Path of the session's file; it need not exist yet."""
    folder: str = ""
    """Where the session was started."""
    cwd: str = ""
    """Where the agent stands now: a shell may have gone elsewhere."""
    prompt: str = ""
    """The agent's id of the prompt."""
    call: str = ""
    """The tool-use id."""
    tool: str = ""
    subagent: str = ""
    """Id of the sub-agent that the event comes from."""
    source: str = ""
    """How a session started (startup, resume, fork, clear, compact) or ended."""
    text: str = ""
    """One cleaned line that names the moment."""
    named: tuple[str, ...] = ()
    """Absolute paths that the tool's input names as those it writes."""
    pid: int = 0
    """The agent's process; 0 where it is not known."""
    background: str = ""
    """A shell goes on in the background: "managed" by the agent, "detached" from it; "none" of the agent's does; ""
    where it does not tell."""
    entry: str = ""
    """The agent's id of the record at which the conversation stands now, where it tells that."""


class Step(NamedTuple):
    """What the recorder has to do at an event."""

    save: Save = "nothing"
    reason: Reason = "tool"
    side: Side = "after"
    call: Literal["", "opens", "ends"] = ""
    """A tool call begins or is over."""
    over: Literal["", "turn", "subagent", "session"] = ""
    """Whose open calls are over without having ended: the main conversation's, the sub-agent's, or the session's."""
    tells: bool = False
    """The agent shows the person what the hook answers here."""
