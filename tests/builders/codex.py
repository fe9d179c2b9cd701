"""Writes sessions as Codex CLI 0.171.0 writes them, line by line; its older forms too.

A CodexSession appends each line to its file at once, so that a test can look at any moment of it. Patches change the
files in the folder for real and tell what they changed, as Codex does.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

START = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that was written."""

    entry: str
    """Id of its record."""
    id: str
    """The call id."""


@dataclass
class CodexSession:
    """One session file that grows."""

    home: Path
    """Codex's home (CODEX_HOME)."""
    cwd: Path
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    now: datetime = START
    pace: timedelta = timedelta(seconds=1)
    """How long each record takes."""
    segment: str = ""
    """Id of a further file of a thread."""
    paginated: bool = True
    """The form of 2026: ordinals, items. Otherwise that of 2025."""
    meta: Json = field(default_factory=dict)
    """What else the first line says."""
    ordinal: int = 0
    turn: str = ""
    ids: bool = True
    """Items have ids of their own."""
    file: Path = field(init=False)

    def __post_init__(self) -> None:
        self.cwd = Path(os.path.realpath(self.cwd))
        folder = self.home / "sessions" / f"{self.now:%Y}" / f"{self.now:%m}" / f"{self.now:%d}"
        folder.mkdir(parents=True, exist_ok=True)
        end = f"_{self.segment}" if self.segment else ""
        self.file = folder / f"rollout-{self.now:%Y-%m-%dT%H-%M-%S}-{self.id}{end}.jsonl"
        first = {
            "session_id": self.id,
            "id": self.id,
            "cwd": str(self.cwd),
            "originator": "codex-tui",
            "cli_version": "0.171.0",
            "source": "cli",
            "base_instructions": {"text": "You are Codex. " * 20},
            **({"history_mode": "paginated"} if self.paginated else {}),
            **self.meta,
        }
        self.line("session_meta", first)

    # ---- what a person and an agent do

    def prompt(self, text: str | list[Json], *, same_turn: bool = False) -> str:
        """A prompt of the person with what Codex writes around it; returns the id of its record."""
        if not same_turn:
            self.begin()
        content = [{"type": "input_text", "text": text}] if isinstance(text, str) else text
        entry = self.item("message", role="user", content=content, **self.passed("user.text"))
        shown = text if isinstance(text, str) else ""
        if self.paginated:
            self.done("UserMessage", content=[{"type": "text", "text": shown}])
        else:
            self.event("user_message", message=shown)
        return entry

    def begin(self) -> None:
        """The beginning of a turn, with the messages that Codex itself puts before the prompt."""
        self.turn = str(uuid.uuid4())
        self.event("task_started", turn_id=self.turn)
        environment = f"<environment_context>\n  <cwd>{self.cwd}</cwd>\n</environment_context>"
        self.item("message", role="developer", content=[{"type": "input_text", "text": "<skills_instructions>"}])
        content = [{"type": "input_text", "text": environment}]
        self.item("message", role="user", content=content, **self.passed("environments.environment_context"))
        self.line("world_state", {"full": True, "state": {}})
        self.line("turn_context", {"turn_id": self.turn, "cwd": str(self.cwd), "model": "gpt-5.5"})

    def about(self, text: str) -> int:
        """A turn of a prompt and an answer; gives the ordinal behind it."""
        self.prompt(text)
        self.reply(f"about {text}")
        self.end()
        return self.ordinal

    def reply(self, text: str) -> str:
        if self.paginated:
            self.done("AgentMessage", content=[{"type": "Text", "text": text}])
        else:
            self.event("agent_message", message=text)
        content = [{"type": "output_text", "text": text}]
        return self.item("message", role="assistant", content=content, **self.passed("unknown"))

    def think(self, text: str) -> str:
        return self.item("reasoning", summary=[{"type": "summary_text", "text": text}], encrypted_content="x" * 40)

    def call(self, name: str, arguments: Json, **more: Any) -> Call:
        call = f"call_{uuid.uuid4().hex[:24]}"
        entry = self.item("function_call", name=name, arguments=json.dumps(arguments), call_id=call, **more)
        self.line("token_usage_record", {"turn_id": self.turn, "usage": {"input_tokens": 10}})
        return Call(entry or call, call)

    def output(self, call: Call, text: object) -> str:
        return self.item("function_call_output", call_id=call.id, output=text)

    def shell(self, command: str, output: str = "", code: int = 0) -> Call:
        """A command that was run, with its result."""
        call = self.call("exec_command", {"cmd": command, "yield_time_ms": 1000})
        if self.paginated:
            self.done("CommandExecution", id=call.id, command=["/bin/bash", "-lc", command], exit_code=code)
        head = f"Chunk ID: 1a2b3c\nWall time: 0.1 seconds\nProcess exited with code {code}\nOriginal token count: 1\n"
        self.output(call, f"{head}Output:\n{output}")
        return call

    def patch(self, changes: Mapping[str, Json], *, success: bool = True, act: bool = True) -> Call:
        """A patch, given as what it changed: path in the folder → {type, content | unified_diff, move_path}."""
        text = "\n".join(
            ("*** Begin Patch", *(_head(path, change) for path, change in changes.items()), "*** End Patch")
        )
        call = f"call_{uuid.uuid4().hex[:24]}"
        entry = self.item("custom_tool_call", name="apply_patch", input=text, call_id=call, status="completed")
        if act and success:
            self._act(changes)
        told = {str(self.cwd / path): self._absolute(change) for path, change in changes.items()}
        if self.paginated:
            self.done("FileChange", id=call, changes=told, status="completed" if success else "failed")
        else:
            self.event("patch_apply_end", call_id=call, turn_id=self.turn, success=success, changes=told)
        self.item("custom_tool_call_output", call_id=call, output=f"Exit code: {0 if success else 1}\nOutput:\nok\n")
        return Call(entry or call, call)

    def end(self) -> None:
        self.event("token_count", info=None)
        self.event("task_complete", turn_id=self.turn, last_agent_message=None)

    def abort(self, reason: str = "interrupted") -> None:
        content = [{"type": "input_text", "text": "<turn_aborted>\nby the person\n</turn_aborted>"}]
        self.item("message", role="user", content=content, **self.passed("turn_aborted"))
        self.event("turn_aborted", turn_id=self.turn, reason=reason)

    def roll_back(self, turns: int) -> None:
        self.event("thread_rolled_back", num_turns=turns)

    def compact(self, summary: str) -> None:
        self.event("task_started", turn_id=str(uuid.uuid4()))
        self.item("message", role="assistant", content=[{"type": "output_text", "text": summary}])
        history = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "kept"}]}]
        self.line("compacted", {"message": f"So far:\n{summary}", "replacement_history": history})
        if self.paginated:
            self.done("ContextCompaction")

    # ---- further files

    def rewound(self, ordinal: int, **more: Any) -> CodexSession:
        """The file that a rewind in Codex's own screen begins: it goes on before a record of this one."""
        return self.pointer(ordinal, id=self.id, segment=str(uuid.uuid4()), **more)

    def pointer(self, ordinal: int, **more: Any) -> CodexSession:
        """A file that goes on from this one, cut before a record."""
        base = {"thread_id": self.segment or self.id, "end_ordinal_exclusive": ordinal, "end_byte_offset": 0}
        meta: Json = {"history_base": base}
        if more.get("id", "") != self.id:
            meta["forked_from_id"] = self.id
        values: Json = {"home": self.home, "cwd": self.cwd, "now": self.now + timedelta(minutes=1), **more}
        return CodexSession(ordinal=ordinal, meta={**meta, **values.pop("meta", {})}, **values)

    def copy(self, lines: int, **more: Any) -> CodexSession:
        """A fork as Codex wrote them in 2025: an own first line, then a copy of the first lines of this one."""
        values: Json = {"home": self.home, "cwd": self.cwd, "now": self.now + timedelta(minutes=1), **more}
        values["meta"] = {"forked_from_id": self.id, **values.get("meta", {})}
        made = CodexSession(paginated=self.paginated, ids=self.ids, **values)
        with self.file.open("rb") as source, made.file.open("ab") as target:
            for _, line in zip(range(lines), source, strict=False):
                target.write(line)
        return made

    def sub_agent(self, call: Call, *, link: str = "CollabAgentToolCall") -> CodexSession:
        """A sub-agent that a call started; link: how the call's own session tells which one it is."""
        thread = str(uuid.uuid4())
        if link == "CollabAgentToolCall":
            self.done(link, id=call.id, tool="spawn_agent", status="completed", receiver_thread_ids=[thread])
        elif link == "SubAgentActivity":
            self.done(link, id=call.id, kind="started", agent_thread_id=thread, agent_path="/root/small")
        self.output(
            call, json.dumps({"agent_id": thread} if link != "SubAgentActivity" else {"task_name": "/root/small"})
        )
        spawn = {"parent_thread_id": self.id, "depth": 1, "agent_nickname": "Planck"}
        meta: Json = {
            "session_id": self.id,
            "parent_thread_id": self.id,
            "source": {"subagent": {"thread_spawn": spawn}},
        }
        return CodexSession(self.home, self.cwd, thread, self.now, meta=meta)

    # ---- lines

    def line(self, kind: str, payload: Json, **more: Any) -> int:
        """A line; returns its ordinal."""
        self.now += self.pace
        stamp = f"{self.now:%Y-%m-%dT%H:%M:%S}.{self.now.microsecond // 1000:03}Z"
        record: Json = {"timestamp": stamp}
        if self.paginated:
            record["ordinal"] = self.ordinal
        self.raw(
            json.dumps({**record, "type": kind, "payload": payload, **more}, separators=(",", ":")).encode() + b"\n"
        )
        self.ordinal += 1
        return self.ordinal - 1

    def raw(self, data: bytes) -> None:
        with self.file.open("ab") as file:
            file.write(data)

    def item(self, kind: str, **members: Any) -> str:
        """What goes to the model; returns its id, "" when it has none."""
        own = f"{kind[:3]}_{uuid.uuid4()}" if self.ids else ""
        self.line("response_item", {"type": kind, **({"id": own} if own else {}), **members})
        return own

    def event(self, kind: str, **members: Any) -> None:
        self.line("event_msg", {"type": kind, **members})

    def done(self, shape: str, **members: Any) -> None:
        item = {"type": shape, "id": str(uuid.uuid4()), **members}
        self.event("item_completed", thread_id=self.id, turn_id=self.turn, item=item)

    def passed(self, *kinds: str) -> Json:
        """What newer versions note of a message."""
        if not self.paginated:
            return {}
        about = {"turn_id": self.turn, "content_item_kinds": list(kinds)}
        return {"internal_chat_message_metadata_passthrough": about}

    def _absolute(self, change: Json) -> Json:
        to = change.get("move_path")
        return {**change, "move_path": str(self.cwd / to)} if to else change

    def _act(self, changes: Mapping[str, Json]) -> None:
        for path, change in changes.items():
            file = self.cwd / path
            if change["type"] == "add":
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(change["content"])
            elif change["type"] == "delete":
                file.unlink()
            else:
                lines = file.read_text().splitlines(keepends=True)
                text = "".join(_patched(lines, change["unified_diff"].splitlines(keepends=True)))
                target = self.cwd / (change.get("move_path") or path)
                file.unlink()
                target.write_text(text)


def update(old: Sequence[str], new: Sequence[str], at: int = 1, to: str = "") -> Json:
    """A change of whole lines at a line number, told as Codex tells it."""
    diff = [f"@@ -{at},{len(old)} +{at},{len(new)} @@", *(f"-{line}" for line in old), *(f"+{line}" for line in new)]
    return {"type": "update", "unified_diff": "\n".join(diff) + "\n", "move_path": to or None}


def _patched(lines: list[str], diff: list[str]) -> list[str]:
    """The lines with the one hunk of `update` made."""
    at = int(diff[0].split(" ")[1][1:].partition(",")[0]) - 1
    old = [line[1:] for line in diff[1:] if line[0] == "-"]
    assert lines[at : at + len(old)] == old
    return [*lines[:at], *(line[1:] for line in diff[1:] if line[0] == "+"), *lines[at + len(old) :]]


def _head(path: str, change: Json) -> str:
    words = {"add": "Add", "delete": "Delete", "update": "Update"}
    to = change.get("move_path")
    return f"*** {words[change['type']]} File: {path}" + (f"\n*** Move to: {to}" if to else "")
