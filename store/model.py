"""What the engine tells its callers: entries, sessions, branches, inventories, operations.

Times are integers: nanoseconds since the epoch, UTC. Paths are bytes, relative to their root, with "/" between parts.
The words are those of design.md section 2. What there are very many of is made by msgspec: ten times as quickly.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from msgspec import Struct

from .hook import session_key
from .states import Node

Kind = Literal["prompt", "reply", "tool_call", "tool_result", "summary", "notice"]
Reason = Literal["prompt", "tool", "start", "stop", "end", "manual", "guard", "import"]
Side = Literal["before", "after"]
BranchState = Literal["active", "left", "expiring", "trash"]
By = Literal["tool", "shell", "subagent", "person", "session", "unsure"]
"""Who changed a path: an edit tool's call, the shell in a call, a sub-agent, a person, another session, or unsure."""
Scope = Literal["files", "conversation", "both"]
OnConflict = Literal["keep", "checkpoint", "merge"]


class Span(Struct, frozen=True, gc=False):
    """Where the agent's own record of an entry stands."""

    file: str
    """Path of the agent's file."""
    offset: int
    """Bytes from the start of the file."""
    length: int
    """Bytes of the line, without its line feed."""


class Entry(Struct, frozen=True, gc=False):
    """One record of a conversation."""

    id: str
    """Unique in its tree: the agent's own record id, with "#2", "#3" … for further blocks of one record."""
    parent: str | None
    """The entry before this one; hidden records are skipped; None at a root."""
    kind: Kind
    time: int
    text: str
    """One cleaned line that stands for the entry in a list, at most 300 characters (a tool call: "Edit src/a.py")."""
    session: str
    """The agent's session id whose file owns the record."""
    turn: int = 0
    """Number of the prompt this entry follows on its own path, from 1; 0 before the first prompt."""
    flavour: str = ""
    """A finer kind where it matters: thinking, command, compaction, interrupted, api-error, unreadable, detached …"""
    tool: str = ""
    """The tool's name (calls and results)."""
    call: str = ""
    """The tool-use id (calls and results)."""
    prompt: str = ""
    """The agent's own id of the prompt that this entry belongs to, where the agent has one."""
    error: bool = False
    paths: tuple[str, ...] = ()
    """Absolute paths that the call of an edit tool names."""
    under: str = ""
    """Entries of a sub-agent: the id of the tool call that started it."""
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """A part of an entry in full, for the detail pane; text is cleaned, its line feeds and tabs kept."""

    kind: Literal["text", "thinking", "tool_input", "tool_output", "image", "diff", "raw"]
    text: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in a session's files that could not be read as it should."""

    what: str
    file: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A session as a list shows it."""

    id: str
    """The session id of the oldest file of the family: what copies of the history have in common."""
    agent: str
    title: str
    updated: int
    bytes: int
    files: tuple[str, ...]
    """The agent's files, the oldest first."""
    ids: tuple[str, ...]
    """Session ids of those files, in the same order."""
    cwd: str = ""
    entries: int = 0
    branches: int = 0
    live: bool = False
    problem: str = ""

    @property
    def key(self) -> str:
        """Its id, with its agent where that is needed to tell it from others'."""
        return session_key(self.agent, self.id)

    @property
    def keys(self) -> tuple[str, ...]:
        """The same for all of its ids."""
        return tuple(session_key(self.agent, session) for session in self.ids)


@dataclass(frozen=True, slots=True)
class Conversation:
    """All of one session that could be read."""

    info: SessionInfo
    entries: tuple[Entry, ...]
    """A parent stands before its children; otherwise in the order of time and file."""
    leaf: str | None
    """The newest entry that the agent would go on from."""
    leaves: dict[str, str]
    """For each session id of the family the entry that the agent would go on from."""
    problems: tuple[Problem, ...] = ()
    titles: dict[str, str] = field(default_factory=dict[str, str])
    """For each session id that a person named: the newest name, cleaned."""


@dataclass(frozen=True, slots=True)
class Live:
    """An agent that is running in the workspace now."""

    agent: str
    session: str
    pid: int = 0
    since: int = 0
    doing: str = ""
    """Name of the tool whose call is open, or ""."""
    doing_since: int = 0


@dataclass(frozen=True, slots=True)
class Branch:
    """A named line of entries from the root to a head."""

    name: str
    head: str
    """The last entry's id."""
    state: BranchState
    fork: str | None
    """The entry where it leaves the branch it came from; None for the first."""
    session: str
    """The agent's session id to resume for this branch; "" when going on needs a fork."""
    first: str | None = None
    """The first entry that is only this branch's."""
    updated: int = 0
    title: str = ""
    """First line of the first prompt that is only this branch's."""
    origin: str = ""
    """How it came to be: "agent", "forkpoint", or "" for the first."""


@dataclass(frozen=True, slots=True)
class Point:
    """A checkpoint placed in a tree."""

    id: str
    entry: str | None
    """The entry it is bound to; None while that is not readable yet, or for saves outside of a session."""
    branch: str
    side: Side
    reason: Reason
    time: int
    label: str = ""
    pinned: bool = False
    files: int = 0
    complete: bool = True
    inferred: bool = False
    stored: bool = True
    """False: computed from the agent's own backups on reading, not yet in the store."""
    added: int | None = None
    removed: int | None = None
    """Lines against the point before; None where not counted (yet)."""
    known: int = 0
    """Partial points: how many paths it knows."""
    whole: bool = False
    """Partial points: of a whole tree that the agent's own snapshots hold, what the shell did included."""
    text: str = ""
    """How the moment is named when its entry is not readable."""
    late: bool = False
    uncaptured: int = 0
    gone: int = 0
    """When its files were deleted; 0 while they are kept."""
    gone_by: str = ""
    """The kind of the operation that did it: delete, expire, purge."""


@dataclass(frozen=True, slots=True)
class Covered:
    """What a checkpoint says of paths that are not as all the others."""

    uncaptured: tuple[tuple[str, str], ...] = ()
    """Path and why."""
    moving: tuple[str, ...] = ()
    """Files that changed while they were read."""
    outside: tuple[str, ...] = ()
    """Absolute paths outside of the root that an agent's edit tool named."""
    secrets: tuple[str, ...] = ()
    """Captured files that look like secrets."""
    unanswered: tuple[tuple[str, str], ...] = ()
    """Where it could not be asked what is ignored, and why."""
    bytes: int = 0
    """What its files take in the folder."""
    largest_file: int = 0
    """Bytes above which a file was left out; 0 where no limit was in force."""
    rules: tuple[str, ...] = ()
    """Where the ignore rules stood that were in force."""
    known: tuple[str, ...] = ()
    """Of one that knows some paths only: those …"""
    inferred: tuple[str, ...] = ()
    """… and which of them were concluded from later evidence."""


@dataclass(frozen=True, slots=True)
class Here:
    """Where files and talk stand."""

    files: str | None
    """Id of the point whose files the folder has (or had, when dirty)."""
    talk: str | None
    """Id of the entry that the conversation would go on from."""
    dirty: int | None
    """How many paths differ from that point; None: not looked at."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One recorded act of a person."""

    id: str
    kind: str
    """restore, fork, switch, adopt, label, pin, unpin, delete, expire, purge, undo, redo."""
    time: int
    root: str
    session: str
    summary: str
    undoable: bool = False
    until: int | None = None
    why: str = ""
    """Why it cannot be undone, when it cannot."""
    redoable: bool = False
    """It was undone, and can be done again."""
    entry: str | None = None
    """The entry after which its row stands in the tree."""
    data: dict[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True)
class Who:
    """Who changed a path from one recorded moment to the next, as far as that is known."""

    kind: By
    agent: str = ""
    session: str = ""
    """The agent's session id; "" where it was none, or unsure which."""
    call: str = ""
    """The tool-use id."""
    tool: str = ""
    subagent: str = ""
    """Id of the sub-agent whose call it was."""
    shell: bool = False
    """The call's shell did it, or what the call set off: not the edit tool that names the path."""
    text: str = ""
    """One line: the call, or the person's act."""
    operation: str = ""
    """The person's act with forkpoint: a restore, an undo …"""
    maybe: tuple[str, ...] = ()
    """Unsure: a line for each who could have done it."""


UNRECORDED = Who("unsure", maybe=("since the newest checkpoint",))
"""Who changed what no checkpoint has seen yet."""


@dataclass(frozen=True, slots=True)
class Touch:
    """One moment at which one path changed."""

    path: bytes
    status: Literal["added", "deleted", "modified", "mode", "type"]
    time: int
    who: Who
    point: Point | None
    """The checkpoint that saw it first, of whichever session; None for what a restore or undo did."""
    added: int = 0
    removed: int = 0
    session: str = ""
    """Key of the session in which it was seen; "" for what was saved or done outside of any."""
    branch: str = ""
    """The branch of that session on which it was seen, where that is known."""
    old: Node | None = None
    """What had stood there …"""
    new: Node | None = None
    """… and what stood there then."""


@dataclass(frozen=True, slots=True)
class SessionTree:
    """A conversation with its checkpoints, branches and operations."""

    info: SessionInfo
    entries: tuple[Entry, ...]
    points: tuple[Point, ...]
    branches: tuple[Branch, ...]
    operations: tuple[Operation, ...]
    here: Here
    branch_of: dict[str, str]
    """Entry id → name of the branch it first stood on."""
    problems: tuple[Problem, ...] = ()
    live: tuple[Live, ...] = ()
    gone: tuple[Point, ...] = ()
    """Checkpoints whose files were deleted: only their rows are left."""


@dataclass(frozen=True, slots=True)
class Hit:
    """Where a search found all its words: an entry of a conversation, or a file of a checkpoint."""

    kind: Kind | Literal["file"]
    time: int
    """When it was said or done; of a file when the checkpoint was made that saw this version first."""
    session: str
    """Key of the session in whose tree it stands."""
    agent: str
    title: str
    """Of the session."""
    branch: str
    line: int
    """On which line of its text, from 1; 0 where only a file's name holds the words."""
    text: str
    """That line, or a part of it, cleaned."""
    marks: tuple[tuple[int, int], ...]
    """Where the words stand in it."""
    before: tuple[str, ...]
    """The lines above it, cleaned and cut …"""
    after: tuple[str, ...]
    """… and those below."""
    entry: str = ""
    flavour: str = ""
    tool: str = ""
    turn: int = 0
    path: bytes = b""
    name: str = ""
    """The path as it is shown, and where the words stand in that."""
    name_marks: tuple[tuple[int, int], ...] = ()
    point: str = ""
    until: int = 0
    """Time of the newest checkpoint that has the file so."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found."""

    query: str
    hits: tuple[Hit, ...]
    """What was said and done, the newest first; then files."""
    more: bool
    """Whether there is more than was asked for."""


@dataclass(frozen=True, slots=True)
class Overview:
    """What only reading a session tells of it, for a list."""

    entries: int
    prompts: int
    last: str
    """The first line of the newest prompt."""
    branches: int
    shown: tuple[Branch, ...]
    """The active one first, then the newest; not all where there are very many."""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Located:
    """A session and the root in whose tree it is."""

    root: str
    info: SessionInfo


@dataclass(frozen=True, slots=True)
class Moment:
    """A checkpoint or an operation of a workspace, of whichever root and session."""

    id: str
    kind: Literal["point", "operation"]
    time: int
    root: str
    """Path of the root."""
    session: str
    """Key of the session, "files" where it is of none."""
    title: str
    """Of the session."""
    text: str
    """In words."""
    before: str = ""
    """Id of the checkpoint that a checkpoint is compared with; "" where there is none."""
    added: int | None = None
    removed: int | None = None
    complete: bool = True


@dataclass(frozen=True, slots=True)
class FileText:
    """A file as it was at a checkpoint, to be shown."""

    lines: tuple[str, ...]
    """Cleaned, with blanks for tabs."""
    marks: dict[int, tuple[tuple[int, int], ...]]
    """Where the words of a query stand, by the number of the line, from 0."""


@dataclass(frozen=True, slots=True)
class PathChange:
    """One path of an inventory."""

    path: bytes
    why: str
    action: Literal["write", "create", "delete", "mode", "none"]
    added: int | None = None
    """Lines that come when the restore is done; None for what has no lines."""
    removed: int | None = None
    note: str = ""
    """What a person should know: "binary", "mode 644 → 755", "link → a.txt", "moving when it was read" …"""
    preselected: bool = True
    when: int | None = None
    """Conflicts: when the change by somebody else was seen, where a checkpoint recorded it."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a restore goes."""

    checkpoint: str | None
    entry: str | None
    side: Side
    files_as_of: int
    title: str
    """In words: 'before prompt 4 "Now fold…"'."""
    prompt_text: str = ""
    """The prompt that is left out and handed back, in full; "" otherwise."""


@dataclass(frozen=True, slots=True)
class Discarded:
    """Work that exists now and will not after; recoverable from guard and left branch."""

    files: tuple[PathChange, ...] = ()
    turns: int = 0
    prompts: tuple[str, ...] = ()
    """First lines of the prompts that leave the conversation."""
    since: int | None = None
    """When the first of them was written."""
    branch: str = ""
    """The name under which they stay."""


@dataclass(frozen=True, slots=True)
class Inventory:
    """What a restore will do, told before it does it."""

    target: Target
    scope: Scope
    everything: bool
    restored: tuple[PathChange, ...]
    kept: tuple[PathChange, ...]
    conflicts: tuple[PathChange, ...]
    discarded: Discarded
    effects: tuple[str, ...] = ()
    live: tuple[Live, ...] = ()
    uncaptured: int = 0
    note: str = ""
    """One sentence that must be read first, or ""."""
    failed: tuple[PathChange, ...] = ()
    """Refused, or impossible on this file system: known before the start."""


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """What a restore did."""

    operation: str
    guard: str
    inventory: Inventory
    done: tuple[PathChange, ...]
    failed: tuple[PathChange, ...]
    late_conflicts: tuple[PathChange, ...] = ()
    """Paths that changed between the inventory and the write: left as they are."""
    fork: ForkResult | None = None


@dataclass(frozen=True, slots=True)
class ForkResult:
    """A new branch, and how to go on with it."""

    operation: str
    branch: str
    session: str
    agent: str
    command: tuple[str, ...]
    cwd: str
    prompt_text: str = ""
    takes_prompt: bool = False
    """Whether the command can begin with a prompt (`Store.with_prompt`)."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a hunk."""

    kind: Literal[" ", "+", "-", "\\"]
    text: str
    """Without its line feed; not cleaned."""
    old: int | None
    new: int | None


@dataclass(frozen=True, slots=True)
class Hunk:
    header: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class FileDiff:
    """How one path differs between two points."""

    path: bytes
    old_path: bytes | None
    """The former name of a rename, else None."""
    status: Literal["added", "deleted", "modified", "renamed", "mode", "type"]
    added: int
    removed: int
    hunks: tuple[Hunk, ...] = ()
    notes: tuple[str, ...] = ()
    """In words: "binary, 12 kB → 14 kB", "mode 644 → 755", "was a link to a.txt" …"""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Diff:
    """How the files differ between two points; partial: over the paths that both know."""

    left: str
    right: str
    """Names of both ends, in words."""
    files: tuple[FileDiff, ...]
    unknown: int = 0
    """Paths outside of the intersection of the two coverages (rule 16)."""
    known: int | None = None
    """Paths that are compared where an end is partial; None: both know all that they captured."""
    whole: bool = True
    """False: the beginning of a comparison, told while the rest is being compared."""
