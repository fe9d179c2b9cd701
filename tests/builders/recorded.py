"""A recorded session: Claude's transcript and its hooks played together over real files."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from forkpoint.store import recording
from forkpoint.store.api import Store

from .claude import Call, ClaudeSession


@dataclass
class Recorded:
    """An agent at work in a folder, with recording on."""

    project: Path
    session: ClaudeSession = field(init=False)
    hooked: bool = True
    calls: int = 0

    def __post_init__(self) -> None:
        self.project.mkdir(parents=True, exist_ok=True)
        home = Path(os.environ["CLAUDE_CONFIG_DIR"])
        self.session = ClaudeSession(home, self.project, now=datetime.now(UTC), pace=timedelta(milliseconds=1))

    def goes_on(self, session: str) -> Recorded:
        """The agent again, resumed in another session of the same folder: a fork that was written."""
        resumed = Recorded(self.project, hooked=self.hooked)
        file = self.session.file.with_name(f"{session}.jsonl")
        records = [json.loads(line) for line in file.read_text().splitlines()]
        resumed.session.id, resumed.session.file = session, file
        resumed.session.parents = {record["uuid"]: record.get("parentUuid") for record in records if "uuid" in record}
        resumed.session.leaf = list(resumed.session.parents)[-1]
        resumed.tell("SessionStart", source="resume")
        return resumed

    def starts(self) -> None:
        self.tell("SessionStart", source="startup")

    def asked(self, text: str) -> str:
        """A prompt; gives the uuid of its record."""
        record = self.session.prompt(text)
        self.tell("UserPromptSubmit", prompt=text, prompt_id=self.session.prompt_id)
        return record

    def does(self, name: str, work: Callable[[], Call], call: str = "", **fields: Any) -> Call:
        """A tool call, bracketed by its hooks."""
        self.calls += 1
        fields = {"tool_name": name, "tool_use_id": call or f"toolu_{self.session.id[:8]}_{self.calls}"} | fields
        self.tell("PreToolUse", **fields)
        made = work()
        self.renames(made, fields["tool_use_id"])
        self.tell("PostToolUse", **fields)
        return made

    def writes(self, path: str, content: str) -> Call:
        full = str(self.project / path)
        return self.does("Write", lambda: self.session.write(path, content), tool_input={"file_path": full})

    def runs(self, command: str, act: Callable[[Path], object]) -> Call:
        return self.does("Bash", lambda: self.session.bash(command, act), tool_input={"command": command})

    def stops(self, text: str = "Done.") -> None:
        self.session.reply(text)
        self.session.end_turn()
        self.tell("Stop")

    def tell(self, event: str, **fields: Any) -> None:
        """A hook fires: it and the transcript go by the same clock."""
        self.session.now = max(self.session.now, datetime.now(UTC))
        if not self.hooked:
            return
        payload = {"session_id": self.session.id, "transcript_path": str(self.session.file), "cwd": str(self.project)}
        payload |= {"hook_event_name": event} | fields
        recording.record("claude", json.dumps(payload).encode(), dict(os.environ), budget=30.0)

    def store(self) -> Store:
        return Store.open(self.project)

    def renames(self, made: Call, wanted: str) -> None:
        """Gives the call in the transcript the id that its hooks named: both are the agent's in real life."""
        text = self.session.file.read_text().replace(made.id, wanted)
        self.session.file.write_text(text)
