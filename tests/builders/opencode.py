"""Writes sessions as OpenCode 1.18.33 writes them: into its database, its event log and its snapshot repository.

An OpenCode is one data folder. Its sessions write each row at once, so that a test can look at any moment of it; what
calls change in the folder is changed for real, and each step is bracketed by trees as OpenCode takes them.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import subprocess
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

VERSION = "1.18.33"
START = 1_796_000_000_000
"""Milliseconds: when the first session begins."""
PROJECT = "4e291544e52e01e4a368c1be53a89b9360635d9b"

Json = dict[str, Any]

SCHEMA = """
CREATE TABLE project (id text PRIMARY KEY, worktree text NOT NULL, vcs text);
CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, workspace_id text, parent_id text,
  slug text NOT NULL, directory text NOT NULL, path text, title text NOT NULL, version text NOT NULL, share_url text,
  summary_additions integer, summary_deletions integer, summary_files integer, summary_diffs text, metadata text,
  cost real DEFAULT 0 NOT NULL, tokens_input integer DEFAULT 0 NOT NULL, tokens_output integer DEFAULT 0 NOT NULL,
  tokens_reasoning integer DEFAULT 0 NOT NULL, tokens_cache_read integer DEFAULT 0 NOT NULL,
  tokens_cache_write integer DEFAULT 0 NOT NULL, revert text, permission text, agent text, model text,
  time_created integer NOT NULL, time_updated integer NOT NULL, time_compacting integer, time_archived integer);
CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL,
  time_updated integer NOT NULL, data text NOT NULL);
CREATE INDEX message_session_time_created_id_idx ON message (session_id, time_created, id);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL,
  time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE INDEX part_message_id_id_idx ON part (message_id, id);
CREATE INDEX part_session_idx ON part (session_id);
CREATE TABLE event_sequence (aggregate_id text PRIMARY KEY, seq integer NOT NULL, owner_id text);
CREATE TABLE event (id text PRIMARY KEY, aggregate_id text NOT NULL, seq integer NOT NULL, type text NOT NULL,
  data text NOT NULL);
CREATE UNIQUE INDEX event_aggregate_seq_idx ON event (aggregate_id, seq);
CREATE INDEX event_aggregate_type_seq_idx ON event (aggregate_id, type, seq);
"""


@dataclass
class OpenCode:
    """A data folder with a database."""

    home: Path
    """The folder `opencode` in the data home."""
    logs: bool = True
    """Whether this version keeps an event log."""
    snapshots: bool = True
    name: str = "opencode.db"
    now: int = START
    _ids: int = 0

    def __post_init__(self) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        with closing(self.connected()) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(SCHEMA)
            if not self.logs:
                connection.executescript("DROP TABLE event; DROP TABLE event_sequence;")

    @property
    def database(self) -> Path:
        return self.home / self.name

    def connected(self) -> sqlite3.Connection:
        """A connection of the program's own, which writes at once; no test cuts the power here."""
        connection = sqlite3.connect(self.database, isolation_level=None)
        connection.execute("PRAGMA synchronous = OFF")
        return connection

    def new_id(self, kind: str) -> str:
        """An id that sorts by time."""
        self.now += 1
        self._ids += 1
        moment = self.now * 4096 % (1 << 48)
        if kind == "ses":
            moment = ((1 << 48) - 1) ^ moment
        return f"{kind}_{moment:012x}{self._ids:014d}"

    def session(self, cwd: Path, **more: Any) -> OpenCodeSession:
        """A new session in a folder."""
        return OpenCodeSession(self, cwd, **more)

    def run(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Runs a query and commits it."""
        with closing(self.connected()) as connection:
            return connection.execute(query, values).fetchall()

    # --- snapshots

    def git(self, worktree: Path, *arguments: str) -> str:
        """Git in the snapshot repository of a work tree."""
        named = hashlib.sha1(os.fsencode(worktree), usedforsecurity=False).hexdigest()
        git_dir = self.home / "snapshot" / PROJECT / named
        if not git_dir.exists():
            git_dir.mkdir(parents=True)
            self._git(git_dir, worktree, "init", "-q")
        return self._git(git_dir, worktree, *arguments)

    def tree(self, worktree: Path) -> str:
        """The work tree as a tree of the repository, as OpenCode takes it."""
        if not self.snapshots:
            return ""
        self.git(worktree, "add", "-A", ".")
        return self.git(worktree, "write-tree").strip()

    def _git(self, git_dir: Path, worktree: Path, *arguments: str) -> str:
        command = ["git", "--git-dir", str(git_dir), "--work-tree", str(worktree), *arguments]
        return subprocess.run(command, cwd=worktree, capture_output=True, text=True, check=True).stdout


@dataclass(frozen=True)
class Act:
    """A tool call: what it is called with, what it does, what it says."""

    tool: str
    input: Json
    output: str = "ok"
    does: Callable[[], object] | None = None
    metadata: Json = field(default_factory=dict[str, Any])
    status: str = "completed"
    call: str = ""


@dataclass
class OpenCodeSession:
    """One session that grows."""

    opencode: OpenCode
    cwd: Path
    parent: str = ""
    title: str = "New session - 2026-12-01T00:00:00.000Z"
    worktree: Path | None = None
    id: str = ""

    def __post_init__(self) -> None:
        self.id = self.id or self.opencode.new_id("ses")
        self.prompts: list[str] = []
        self.opencode.run(
            "INSERT INTO session (id, project_id, parent_id, slug, directory, path, title, version, time_created,"
            " time_updated) VALUES (?, ?, ?, 'quiet-star', ?, '', ?, ?, ?, ?)",
            *(self.id, PROJECT, self.parent or None, str(self.cwd), self.title, VERSION),
            *(self.opencode.now, self.opencode.now),
        )

    # --- rows

    def message(self, data: Json, uid: str = "") -> str:
        """A message's row, new or anew."""
        uid = uid or self.opencode.new_id("msg")
        data = {"time": {"created": self.opencode.now}, **data}
        self._put("message", (uid, self.id, data["time"]["created"], self.opencode.now, json.dumps(data)))
        self._log("message.updated.1", {"info": {"id": uid, "sessionID": self.id, **data}})
        return uid

    def part(self, message: str, data: Json, uid: str = "") -> str:
        """A part's row, new or anew."""
        uid = uid or self.opencode.new_id("prt")
        self._put("part", (uid, message, self.id, self.opencode.now, self.opencode.now, json.dumps(data)))
        self._log("message.part.updated.1", {"part": {"id": uid, "messageID": message, "sessionID": self.id, **data}})
        return uid

    def remove(self, *messages: str) -> None:
        """Deletes messages with their parts."""
        for uid in messages:
            self.opencode.run("DELETE FROM part WHERE message_id = ?", uid)
            self.opencode.run("DELETE FROM message WHERE id = ?", uid)
            self._log("message.removed.1", {"messageID": uid})

    def remove_part(self, message: str, part: str) -> None:
        """Deletes one part."""
        self.opencode.run("DELETE FROM part WHERE id = ?", part)
        self._log("message.part.removed.1", {"messageID": message, "partID": part})

    def revert(self, message: str, part: str = "") -> None:
        """A pending revert, as /undo leaves it."""
        told = {"messageID": message, **({"partID": part} if part else {}), "snapshot": "0" * 40, "diff": ""}
        self.opencode.run("UPDATE session SET revert = ? WHERE id = ?", json.dumps(told), self.id)
        self._touch()

    def clean_up(self) -> None:
        """What the next prompt does to what a revert hides: it is deleted."""
        told = json.loads(self.opencode.run("SELECT revert FROM session WHERE id = ?", self.id)[0][0])
        rows = self.opencode.run("SELECT id FROM message WHERE session_id = ? ORDER BY time_created, id", self.id)
        messages = [uid for (uid,) in rows]
        at = messages.index(told["messageID"])
        self.remove(*messages[at + ("partID" in told) :])
        if "partID" in told:
            rows = self.opencode.run("SELECT id FROM part WHERE message_id = ? ORDER BY id", told["messageID"])
            parts = [uid for (uid,) in rows]
            for uid in parts[parts.index(told["partID"]) :]:
                self.remove_part(told["messageID"], uid)
        self.opencode.run("UPDATE session SET revert = NULL WHERE id = ?", self.id)

    # --- turns

    def prompt(self, text: str, *parts: Json) -> str:
        """What a person typed; gives the message's id."""
        model = {"providerID": "stub", "modelID": "stub-model"}
        uid = self.message({"role": "user", "agent": "build", "model": model})
        for data in ({"type": "text", "text": text}, *parts) if text else parts:
            self.part(uid, data)
        self.prompts.append(uid)
        return uid

    def answer(self, text: str, *acts: Act, **more: Any) -> str:
        """One step of the model: text, then calls; gives the message's id."""
        tree = self.opencode.tree(self._tree)
        uid = self.message(self._answering(more))
        self.part(uid, {"type": "step-start", **({"snapshot": tree} if tree else {})})
        if text:
            self.part(uid, {"type": "text", "text": text, "time": {"start": self.opencode.now}})
        for act in acts:
            self.call(uid, act)
        after = self.opencode.tree(self._tree)
        reason = "tool-calls" if acts else "stop"
        self.part(uid, {"type": "step-finish", "reason": reason, **({"snapshot": after} if after else {})})
        if tree != after:
            self.part(uid, {"type": "patch", "hash": tree, "files": []})
        self._touch()
        return uid

    def call(self, message: str, act: Act) -> str:
        """One tool call; gives its part's id."""
        start = self.opencode.now
        if act.does is not None:
            act.does()
        call = act.call or f"call_{self.opencode.new_id('c')[2:]}"
        state: Json = {"status": act.status, "input": act.input}
        if act.status == "completed":
            state |= {"output": act.output, "title": act.tool, "metadata": act.metadata}
        elif act.status == "error":
            state |= {"error": act.output}
        if act.status != "pending":
            state["time"] = {"start": start, **({"end": self.opencode.now} if act.status != "running" else {})}
        return self.part(message, {"type": "tool", "tool": act.tool, "callID": call, "state": state})

    def turn(self, text: str, answer: str = "Done.", *acts: Act) -> str:
        """A prompt and its answer; gives the prompt's id."""
        uid = self.prompt(text)
        if acts:
            self.answer("I work.", *acts)
        self.answer(answer)
        return uid

    def write(self, name: str, content: str) -> Act:
        """A call of the tool that writes a file, which does so."""
        file = self.cwd / name

        def does() -> None:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content)

        return Act("write", {"filePath": str(file), "content": content}, "Wrote file successfully.", does)

    def shell(self, command: str) -> Act:
        """A call of the shell, which runs."""
        return Act(
            "bash",
            {"command": command, "description": "a command"},
            "(no output)",
            lambda: subprocess.run(command, shell=True, cwd=self.cwd, check=True),
        )

    # --- what OpenCode does with a whole session

    def fork(self, before: str = "") -> OpenCodeSession:
        """OpenCode's own fork: copies of the messages before one, under new ids, without a pointer to the source."""
        made = self.opencode.session(self.cwd, title=f"{self.title} (fork #1)", worktree=self.worktree)
        ids: dict[str, str] = {}
        rows = self.opencode.run("SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id", self.id)
        for uid, text in rows:
            if uid == before:
                break
            data = json.loads(text)
            if "parentID" in data:
                data["parentID"] = ids.get(data["parentID"], data["parentID"])
            ids[uid] = made.message(data)
            if data["role"] == "user":
                made.prompts.append(ids[uid])
            parts = self.opencode.run("SELECT data FROM part WHERE message_id = ? ORDER BY id", uid)
            for (part,) in parts:
                made.part(ids[uid], json.loads(part))
        return made

    def as_files(self, top: Path) -> Path:
        """The session as the JSON storage of earlier versions; gives the session's file."""
        (info,) = self.opencode.run(
            "SELECT id, directory, title, version, time_created, time_updated FROM session WHERE id = ?", self.id
        )
        uid, directory, title, version, created, updated = info
        times = {"created": created, "updated": updated}
        plain = {"id": uid, "directory": directory, "title": title, "version": version, "time": times}
        file = top / "session" / PROJECT / f"{uid}.json"
        _write(file, {**plain, "projectID": PROJECT})
        for message, data in self.opencode.run("SELECT id, data FROM message WHERE session_id = ?", self.id):
            head = {"id": message, "sessionID": uid, **json.loads(data)}
            _write(top / "message" / uid / f"{message}.json", head)
            for part, inner in self.opencode.run("SELECT id, data FROM part WHERE message_id = ?", message):
                told = {"id": part, "messageID": message, "sessionID": uid, **json.loads(inner)}
                _write(top / "part" / message / f"{part}.json", told)
        return file

    @property
    def _tree(self) -> Path:
        return self.worktree or self.cwd

    def _answering(self, more: Json) -> Json:
        return {
            "role": "assistant",
            "parentID": self.prompts[-1] if self.prompts else "",
            "modelID": "stub-model",
            "providerID": "stub",
            "mode": "build",
            "agent": "build",
            "path": {"cwd": str(self.cwd), "root": str(self._tree)},
            "cost": 0,
            "tokens": {"input": 10, "output": 20, "reasoning": 0, "cache": {"read": 3, "write": 4}},
            "time": {"created": self.opencode.now, "completed": self.opencode.now + 5},
            "finish": "stop",
            **more,
        }

    def _put(self, table: str, row: Sequence[object]) -> None:
        self.opencode.run(f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * len(row))})", *row)
        self._touch()

    def _log(self, kind: str, data: Json) -> None:
        if not self.opencode.logs:
            return
        found = self.opencode.run("SELECT seq FROM event_sequence WHERE aggregate_id = ?", self.id)
        seq = found[0][0] + 1 if found else 0
        self.opencode.run("INSERT OR REPLACE INTO event_sequence VALUES (?, ?, NULL)", self.id, seq)
        told = json.dumps({"sessionID": self.id, **data})
        self.opencode.run("INSERT INTO event VALUES (?, ?, ?, ?, ?)", f"{self.id}-{seq}", self.id, seq, kind, told)

    def _touch(self) -> None:
        self.opencode.now += 1
        self.opencode.run("UPDATE session SET time_updated = ? WHERE id = ?", self.opencode.now, self.id)


def _write(file: Path, plain: Json) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(plain, indent=2))
