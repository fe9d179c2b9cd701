"""Session trees written line by line, as a test would tell them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from forkpoint.store.model import (
    Branch,
    BranchState,
    Entry,
    Here,
    Kind,
    Live,
    Operation,
    Point,
    Reason,
    SessionInfo,
    SessionTree,
    Side,
)
from msgspec import structs

MINUTE = 60_000_000_000
START = 1_796_000_000_000_000_000 // MINUTE * MINUTE
"""A quiet morning: every tree begins here and takes a minute an entry."""


@dataclass
class Conversation:
    """A conversation that is being told; each call adds an entry after the last one."""

    title: str = "Accept empty header values"
    session: str = "5f2c9100-0000-4000-8000-000000000001"
    agent: str = "claude"
    clock: int = START
    entries: list[Entry] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)
    branches: list[Branch] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    branch_of: dict[str, str] = field(default_factory=dict)
    tip: str | None = None
    branch: str = "main"
    turn: int = 0
    files: str | None = None
    talk: str | None = None
    dirty: int | None = None
    live: tuple[Live, ...] = ()

    def entry(self, kind: Kind, text: str, **more: object) -> str:
        """One more entry; returns its id."""
        self.clock += MINUTE
        made_id = f"e{len(self.entries) + 1:04}"
        parent = more.pop("parent", self.tip)
        made = Entry(made_id, parent, kind, self.clock, text, self.session, turn=self.turn)  # type: ignore[arg-type]
        made = structs.replace(made, **more)  # type: ignore[arg-type]
        self.entries.append(made)
        self.branch_of[made_id] = self.branch
        if not made.under:
            self.tip = made_id
            self.talk = made_id
        return made_id

    def prompt(self, text: str, *, point: bool = True, **more: object) -> str:
        """A prompt, with the checkpoint before it."""
        self.turn += 1
        made_id = self.entry("prompt", text)
        if point:
            self.point(made_id, "prompt", "before", **more)
        return made_id

    def reply(self, text: str, **more: object) -> str:
        return self.entry("reply", text, **more)

    def call(
        self,
        text: str,
        added: int | None = None,
        removed: int | None = None,
        *,
        error: bool = False,
        result: str = "done",
        under: str = "",
        **more: object,
    ) -> str:
        """A tool call with its result; with counted lines it has a checkpoint after it."""
        tool = text.partition(" ")[0]
        call = f"toolu_{len(self.entries) + 1:04}"
        made_id = self.entry("tool_call", text, tool=tool, call=call, under=under)
        self.entry("tool_result", result, tool=tool, call=call, error=error, under=under)
        if added is not None or removed is not None:
            self.point(made_id, "tool", "after", added=added, removed=removed, **more)
        return made_id

    def point(self, entry: str | None, reason: Reason, side: Side, **more: object) -> str:
        """A checkpoint; returns its id."""
        made_id = f"{len(self.points) + 1:016x}"
        if entry is None:
            self.clock += MINUTE
        made = Point(made_id, entry, self.branch, side, reason, self.clock, files=214)
        self.points.append(replace(made, **more))  # type: ignore[arg-type]
        self.files = made_id
        return made_id

    def operation(self, kind: str, summary: str, **data: object) -> str:
        self.clock += MINUTE
        made_id = f"o{len(self.operations) + 1:03}"
        self.operations.insert(
            0,
            Operation(
                made_id, kind, self.clock, "/code/headers", self.session, summary, True, entry=self.tip, data=dict(data)
            ),
        )
        return made_id

    def back_to(self, entry: str | None, branch: str) -> None:
        """What follows goes on from this entry (a call: from its result), on a new branch."""
        call = next((known.call for known in self.entries if known.id == entry), "")
        entry = next((known.id for known in self.entries if call and known.call == call and known.id != entry), entry)
        self._name(self.branch, "left")
        self.tip, self.branch = entry, branch
        self.turn = next((known.turn for known in self.entries if known.id == entry), 0)

    def _name(self, name: str, state: BranchState) -> None:
        own = [entry for entry in self.entries if self.branch_of[entry.id] == name and not entry.under]
        if not own:
            return
        first = next((entry.text for entry in own if entry.kind == "prompt"), own[0].text)
        known = Branch(name, own[-1].id, state, own[0].parent, self.session, own[0].id, self.clock, first)
        self.branches = [*(branch for branch in self.branches if branch.name != name), known]

    def tree(self) -> SessionTree:
        """All that was told, the present at its end."""
        self._name(self.branch, "active")
        info = SessionInfo(
            self.session,
            self.agent,
            self.title,
            self.clock,
            4096,
            ("/home/ann/.claude/projects/-code-headers/5f2c.jsonl",),
            (self.session,),
            "/code/headers",
            len(self.entries),
            len(self.branches),
            bool(self.live),
        )
        here = Here(self.files, self.talk, self.dirty)
        return SessionTree(
            info,
            tuple(self.entries),
            tuple(self.points),
            tuple(self.branches),
            tuple(self.operations),
            here,
            dict(self.branch_of),
            live=self.live,
        )


def headers_session() -> Conversation:
    """The session of the mock-ups: five prompts, two branches that were left, a label and failing tests."""
    told = Conversation()
    told.prompt("Read the header parser and tell me how it splits lines")
    told.call("Read src/headers/parse.py")
    told.reply('It splits on b"\\r\\n" and drops what follows a blank line.')
    told.prompt("Accept empty header values")
    told.call("Edit src/headers/parse.py", 31, 9)
    told.call("Write src/headers/empty.py", 17, 0)
    told.call("Bash pytest -q", error=True, result="exit 1, 2 failed")
    fork = told.call("Edit tests/test_parse.py", 0, 3)
    fork = told.reply("Empty values pass now, but two tests still fail.")
    told.prompt("Use a regular expression instead")
    told.call("Edit src/headers/parse.py", 112, 74, label="dead end")
    told.reply("Done, though it backtracks on long lines.")
    told.back_to(fork, "keep-loop")
    told.prompt("Keep the loop, handle the blank line first")
    told.call("Edit src/headers/parse.py", 14, 5)
    told.call("Edit src/headers/cli.py", 8, 0)
    told.call("Bash pytest -q", 0, 0, result="148 passed", label="green", pinned=True)
    told.operation("restore", "files went back to before prompt 3; u undoes")
    told.prompt("Now fold continuation lines as RFC 9112 says")
    told.call("Edit src/headers/parse.py", 40, 22)
    told.call("Write src/headers/fold.py", 24, 0)
    told.call("Bash rm docs/old.md", 0, 9)
    told.call("Bash pytest -q", error=True, result="exit 1, 5 failed")
    told.prompt("Fix those five")
    told.call("Edit src/headers/fold.py", 9, 31)
    told.call("Edit tests/test_fold.py", 8, 9)
    told.reply("Five tests asserted the old split; two still do, for bare CR.")
    return told


def long_session(turns: int, steps: int) -> SessionTree:
    """A conversation in one line: every entry hangs on the one before."""
    told = Conversation(title="A long one")
    for number in range(turns):
        told.prompt(f"prompt {number:05} make the parser accept empty headers")
        for step in range(steps):
            told.call(f"Edit src/module_{step:03}.py", step, 3)
    return told.tree()
