"""Writes sessions as Claude Code 2.1.332 writes them, line by line, with its file backups.

A ClaudeSession appends each line to its file at once, so that a test can look at any moment of it. Calls of edit tools
change the files in the folder for real and leave backups, snapshots and deltas as Claude does.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import unicodedata
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

VERSION = "2.1.332"
MODEL = "claude-opus-5-5"
START = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
NOBODY = "00000000-0000-0000-0000-000000000000"

Json = dict[str, Any]


def project_name(cwd: str | os.PathLike[str]) -> str:
    """The name of a folder's project folder (short names only)."""
    real = unicodedata.normalize("NFC", os.path.realpath(cwd))
    return "".join(char if char.isascii() and char.isalnum() else "-" for char in real)


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that was written."""

    uuid: str
    """Uuid of the assistant record with the call."""
    id: str
    """The tool-use id."""
    result: str
    """Uuid of the record with its result; "" when it has none."""


@dataclass(slots=True)
class Job:
    """A call of a batch: what `parallel` takes."""

    tool: str
    input: Json
    output: str = "ok"
    result: object = None
    error: bool = False
    act: Callable[[], None] | None = None
    edits: str = ""
    """Absolute path that the call edits; it is backed up before `act`."""
    answered: bool = True


@dataclass
class ClaudeSession:
    """One session file that grows."""

    home: Path
    """The config home (CLAUDE_CONFIG_DIR)."""
    cwd: Path
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    now: datetime = START
    pace: timedelta = timedelta(seconds=1)
    """How long each record takes."""
    history: bool = True
    """Whether Claude's own file checkpoints are on."""
    attachments: bool = True
    """Whether the first prompt is followed by its hidden attachments."""
    leaf: str | None = None
    lineage: str = ""
    """The session id that the lineage began with; "" for its own."""
    file: Path = field(init=False)
    prompt_id: str = ""
    snapshots: dict[str, Json] = field(default_factory=dict)
    """Prompt uuid → trackedFileBackups, in order."""
    parents: dict[str, str | None] = field(default_factory=dict)
    agent: str = ""
    """Set in a sub-agent's file."""
    last_prompt: str = ""
    messages: int = 0

    def __post_init__(self) -> None:
        self.cwd = Path(os.path.realpath(self.cwd))
        folder = self.home / "projects" / project_name(self.cwd)
        folder.mkdir(parents=True, exist_ok=True)
        self.file = folder / f"{self.id}.jsonl"

    # ---- what a person and an agent do

    def prompt(self, text: str | list[Json], *, source: str = "typed", **more: Any) -> str:
        """A prompt of the person, with its snapshot; returns its uuid."""
        self.prompt_id = str(uuid.uuid4())
        first = not self.parents
        record = self._chain(
            "user",
            message={"role": "user", "content": text},
            promptId=self.prompt_id,
            permissionMode="bypassPermissions",
            origin={"kind": "human"},
            promptSource=source,
            turnOrigin="human",
            **more,
        )
        self.last_prompt = text if isinstance(text, str) else ""
        if first and self.attachments:
            for kind in ("environment", "deferred_tools_delta", "session_context"):
                self.attachment(kind)
        self._snapshot(record)
        return record

    def reply(self, text: str, *, thinking: str = "", message: str = "") -> str:
        """A text of the agent; returns its uuid."""
        message = message or self._message_id()
        if thinking:
            self._assistant(message, {"type": "thinking", "thinking": thinking, "signature": "c2ln"})
        return self._assistant(message, {"type": "text", "text": text})

    def tool(
        self,
        name: str,
        tool_input: Json,
        output: str | list[Json] = "ok",
        *,
        result: object = None,
        error: bool = False,
        answered: bool = True,
    ) -> Call:
        """A call and its result."""
        uid, call = self._call(self._message_id(), name, tool_input)
        answer = self.result(uid, call, output, result=result, error=error) if answered else ""
        return Call(uid, call, answer)

    def result(
        self, source: str, call: str, output: str | list[Json] = "ok", *, result: object = None, error: bool = False
    ) -> str:
        """The result of a call whose record is `source`; returns its uuid."""
        block: Json = {"tool_use_id": call, "type": "tool_result", "content": output}
        if error:
            block["is_error"] = True
        return self._chain(
            "user",
            parent=source,
            message={"role": "user", "content": [block]},
            promptId=self.prompt_id,
            toolUseResult=output if result is None else result,
            sourceToolAssistantUUID=source,
            session_id=self.lineage or self.id,
        )

    def write(self, path: str, content: str) -> Call:
        """The Write tool: makes or replaces a file of the folder."""
        target = self.cwd / path
        original = target.read_text("utf-8") if target.exists() else None
        uid, call = self._call(self._message_id(), "Write", {"file_path": str(target), "content": content})
        self._track(uid, target)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content, "utf-8")
        result = {
            "type": "create" if original is None else "update",
            "filePath": str(target),
            "content": content,
            "structuredPatch": [] if original is None else patch(original, content),
            "originalFile": original,
            "userModified": False,
        }
        return Call(uid, call, self.result(uid, call, f"File written: {target}", result=result))

    def edit(self, path: str, old: str, new: str, *, every: bool = False) -> Call:
        """The Edit tool: replaces a text in a file of the folder."""
        job = self.edit_job(path, old, new, every=every)
        return self.parallel(job)[0]

    def edit_job(self, path: str, old: str, new: str, *, every: bool = False) -> Job:
        """An Edit call for `parallel`."""
        target = self.cwd / path
        original = target.read_text("utf-8")
        changed = original.replace(old, new) if every else original.replace(old, new, 1)
        result = {
            "filePath": str(target),
            "oldString": old,
            "newString": new,
            "originalFile": original,
            "structuredPatch": patch(original, changed),
            "userModified": False,
            "replaceAll": every,
        }
        return Job(
            "Edit",
            {"replace_all": every, "file_path": str(target), "old_string": old, "new_string": new},
            f"The file {target} has been updated successfully.",
            result,
            act=lambda: _write(target, changed),
            edits=str(target),
        )

    def bash(self, command: str, act: Callable[[Path], object] | None = None, *, changed: Sequence[str] = ()) -> Call:
        """The Bash tool; `act` does to the folder what the command would; `changed` is what Claude noticed of it."""
        uid, call = self._call(self._message_id(), "Bash", {"command": command, "description": command[:20]})
        if act is not None:
            act(self.cwd)
        result: Json = {"stdout": "", "stderr": "", "interrupted": False, "isImage": False}
        if changed:
            names = [str(self.cwd / path) for path in changed]
            result["bashEditDiff"] = {"files": [], "moreFiles": 0, "changedFiles": names}
        return Call(uid, call, self.result(uid, call, "(Bash completed with no output)", result=result))

    def parallel(self, *jobs: Job, text: str = "", order: Sequence[int] | None = None) -> list[Call]:
        """Several calls of one message: each call hangs on the one before, each result on its own call."""
        message = self._message_id()
        if text:
            self._assistant(message, {"type": "text", "text": text}, stop="tool_use")
        calls = [self._call(message, job.tool, job.input) for job in jobs]
        results = [""] * len(jobs)
        for index in order or range(len(jobs)):
            (uid, call), job = calls[index], jobs[index]
            if job.edits:
                self._track(uid, Path(job.edits))
            if job.act is not None:
                job.act()
            if job.answered:
                results[index] = self.result(uid, call, job.output, result=job.result, error=job.error)
        return [Call(uid, call, results[index]) for index, (uid, call) in enumerate(calls)]

    def end_turn(self) -> str:
        """What stands at the end of a turn; returns the uuid of its last record."""
        self._chain("system", subtype="stop_hook_summary", hookCount=1, hookInfos=[], hookErrors=[], level="suggestion")
        last = self._chain("system", subtype="turn_duration", durationMs=1200, messageCount=self.messages, isMeta=False)
        self.line({"type": "last-prompt", "lastPrompt": self.last_prompt, "leafUuid": last, "sessionId": self.id})
        return last

    def turn(self, prompt: str, reply: str = "Done.") -> str:
        """A whole turn without tools; returns the uuid of its prompt."""
        uid = self.prompt(prompt)
        self.reply(reply)
        self.end_turn()
        return uid

    def rewind(self, prompt: str) -> None:
        """Claude's /rewind to before a prompt: nothing is written, but the next prompt becomes its sibling."""
        self.leaf = self.parents[prompt]

    def interrupt(self, *, tool: bool = False) -> str:
        """The person pressed Esc."""
        text = "[Request interrupted by user for tool use]" if tool else "[Request interrupted by user]"
        return self._chain(
            "user",
            message={"role": "user", "content": [{"type": "text", "text": text}]},
            promptId=self.prompt_id,
            rowSource="harness",
        )

    def queued(self, text: str) -> str:
        """A prompt that was typed while the agent worked, and given to it in the middle of its turn."""
        return self.attachment("queued_command", prompt=text, commandMode="prompt", origin={"kind": "human"})

    def command(self, name: str, output: str = "", arguments: str = "") -> str:
        """A slash command that the agent runs by itself; returns the uuid of its record."""
        self._chain("user", message=_text("<local-command-caveat>Not sent.</local-command-caveat>"), isMeta=True)
        text = (
            f"<command-name>/{name}</command-name>\n            <command-message>{name}</command-message>\n"
            f"            <command-args>{arguments}</command-args>"
        )
        uid = self._chain("user", message=_text(text), rowSource="local")
        if output:
            self._chain("user", message=_text(f"<local-command-stdout>{output}</local-command-stdout>"))
        return uid

    def command_prompt(self, name: str, expansion: str, arguments: str = "") -> str:
        """A slash command from a file: it becomes a prompt."""
        text = f"<command-message>{name}</command-message>\n<command-name>/{name}</command-name>"
        if arguments:
            text += f"\n<command-args>{arguments}</command-args>"
        self.prompt_id = str(uuid.uuid4())
        uid = self._chain(
            "user", message=_text(text), promptId=self.prompt_id, origin={"kind": "human"}, turnOrigin="human"
        )
        self._chain("user", message=_text([{"type": "text", "text": expansion}]), isMeta=True, promptId=self.prompt_id)
        self._snapshot(uid)
        return uid

    def shell(self, command: str, output: str) -> str:
        """The `!` mode: a command of the person."""
        uid = self._chain("user", message=_text(f"<bash-input>{command}</bash-input>"))
        self._chain("user", message=_text(f"<bash-stdout>{output}</bash-stdout><bash-stderr></bash-stderr>"))
        return uid

    def api_error(self, text: str = "API Error: 500 overloaded") -> str:
        """An answer that the program made up because the service failed."""
        message = self._assistant_message("msg_" + uuid.uuid4().hex[:24], {"type": "text", "text": text})
        message["model"] = "<synthetic>"
        return self._chain("assistant", message=message, isApiErrorMessage=True, error="unknown", apiErrorStatus=500)

    def compact(self, summary: str = "The summary.", *, trigger: str = "manual", tokens: int = 15000) -> str:
        """A compaction: boundary and summary; returns the uuid of the summary."""
        before = self.leaf
        self.leaf = None
        self._chain(
            "system",
            subtype="compact_boundary",
            content="Conversation compacted",
            logicalParentUuid=before,
            level="info",
            isMeta=False,
            compactMetadata={"trigger": trigger, "preTokens": tokens},
        )
        text = f"This session is being continued from a previous conversation.\n\n{summary}"
        return self._chain("user", message=_text(text), isCompactSummary=True, isVisibleInTranscriptOnly=True)

    def subagent(self, prompt: str, *, description: str = "small job", kind: str = "general-purpose") -> ClaudeSession:
        """Starts a sub-agent; write into what is returned, then call `finish_subagent` with it."""
        uid, call = self._call(
            self._message_id(), "Agent", {"description": description, "prompt": prompt, "subagent_type": kind}
        )
        agent = "a" + uuid.uuid4().hex[:16]
        inner = ClaudeSession(self.home, self.cwd, id=self.id, now=self.now, history=False, attachments=False)
        inner.agent = agent
        inner.file = self.file.parent / self.id / "subagents" / f"agent-{agent}.jsonl"
        inner.file.parent.mkdir(parents=True, exist_ok=True)
        meta = {"agentType": kind, "description": description, "toolUseId": call, "spawnDepth": 1}
        inner.file.with_suffix(".meta.json").write_text(json.dumps(meta), "utf-8")
        inner.prompt_id = self.prompt_id
        inner._chain("user", message=_text(prompt), promptId=self.prompt_id)
        inner.parents["call"] = uid
        inner.last_prompt = call
        return inner

    def finish_subagent(self, inner: ClaudeSession, text: str = "The job is done.") -> str:
        """The result of the call that started it; returns its uuid."""
        self.now = max(self.now, inner.now)
        result = {"agentId": inner.agent, "status": "completed", "content": [{"type": "text", "text": text}]}
        source = inner.parents["call"]
        assert source is not None
        return self.result(source, inner.last_prompt, [{"type": "text", "text": text}], result=result)

    # ---- lines of other kinds

    def attachment(self, kind: str, **content: object) -> str:
        """An attachment record; most kinds are hidden."""
        return self._chain("attachment", attachment={"type": kind, **content})

    def system(self, subtype: str, **content: Any) -> str:
        return self._chain("system", subtype=subtype, **content)

    def progress(self) -> str:
        """A progress record of old versions: a link of the chain that nobody sees."""
        return self._chain("progress", data={"type": "hook_progress"}, toolUseID="x", parentToolUseID="x")

    def title(self, title: str) -> None:
        self.line({"type": "custom-title", "customTitle": title, "sessionId": self.id})

    def bookkeeping(self) -> None:
        """What stands between the records of a turn."""
        self.line({"type": "mode", "mode": "normal", "sessionId": self.id})
        self.line({"type": "api-request", "id": str(uuid.uuid4()), "params": {}, "sessionId": self.id})

    def line(self, record: Json) -> None:
        """Appends any record."""
        text = json.dumps(record, separators=(",", ":"), ensure_ascii=False)
        # JavaScript escapes half a surrogate pair and nothing else.
        self.raw(re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", text).encode() + b"\n")

    def raw(self, data: bytes) -> None:
        """Appends bytes as they are: junk, a torn tail, NULs."""
        with open(os.open(self.file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as file:
            file.write(data)

    def torn(self, text: str = "This was being writ") -> None:
        """A last line that was cut in the middle."""
        record = json.dumps({"parentUuid": self.leaf, "type": "assistant", "message": {"content": text}})
        self.raw(record[: record.index("writ")].encode())

    # ---- copies

    def branch(self, title: str = "alt", *, mark: bool = True) -> ClaudeSession:
        """What /branch makes (mark=False: what --fork-session makes): a new file with the same uuids."""
        other = ClaudeSession(self.home, self.cwd, now=self.now, history=self.history)
        other.attachments = self.attachments
        records = [json.loads(line) for line in self.file.read_bytes().splitlines()]
        # Claude folds deltas into the snapshots of a copy.
        snapshots = [self._snapshot_record(prompt, files) for prompt, files in self.snapshots.items()]
        chain = [record for record in records if "uuid" in record]
        if not mark:
            other.line({"type": "mode", "mode": "normal", "sessionId": other.id})
            for record in snapshots:
                other.line(record)
        for record in chain:
            for name in ("sessionId", "session_id"):
                if name in record:
                    record[name] = other.id
            if mark:
                record["forkedFrom"] = {"sessionId": self.id, "messageUuid": record["uuid"]}
            other.line(record)
        if mark:
            for record in snapshots:
                other.line(record)
            other.line({"type": "custom-title", "customTitle": title, "sessionId": other.id})
            other.line({"type": "agent-name", "agentName": title, "sessionId": other.id})
        backups = self.home / "file-history" / self.id
        if backups.is_dir():
            shutil.copytree(backups, self.home / "file-history" / other.id)
        other.leaf, other.parents, other.snapshots = self.leaf, dict(self.parents), dict(self.snapshots)
        return other

    # ---- how it is done

    def _chain(self, kind: str, *, parent: str | None = None, **content: object) -> str:
        uid = str(uuid.uuid4())
        parent = self.leaf if parent is None else parent
        record: Json = {"parentUuid": parent}
        if "logicalParentUuid" in content:
            record["logicalParentUuid"] = content.pop("logicalParentUuid")
        record["isSidechain"] = bool(self.agent)
        record["type"] = kind
        record.update({name: value for name, value in content.items() if value is not None})
        if self.agent:
            record["agentId"] = self.agent
        record.update(
            uuid=uid,
            timestamp=self.now.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            userType="external",
            entrypoint="cli",
            cwd=str(self.cwd),
            sessionId=self.id,
            version=VERSION,
            gitBranch="main",
        )
        self.now += self.pace
        self.line(record)
        self.parents[uid] = parent
        self.leaf = uid
        self.messages += 1
        return uid

    def _assistant_message(self, message: str, block: Json, stop: str = "end_turn") -> Json:
        return {
            "id": message,
            "type": "message",
            "role": "assistant",
            "model": MODEL,
            "content": [block],
            "stop_reason": "tool_use" if block["type"] == "tool_use" else stop,
            "stop_sequence": None,
            "usage": {"input_tokens": 14326, "cache_read_input_tokens": 12000, "output_tokens": 20},
        }

    def _assistant(self, message: str, block: Json, stop: str = "end_turn") -> str:
        return self._chain(
            "assistant",
            message=self._assistant_message(message, block, stop),
            requestId="req_" + message[4:],
            session_id=self.lineage or self.id,
        )

    def _call(self, message: str, name: str, tool_input: Json) -> tuple[str, str]:
        call = "toolu_" + uuid.uuid4().hex[:24]
        return self._assistant(message, {"type": "tool_use", "id": call, "name": name, "input": tool_input}), call

    @staticmethod
    def _message_id() -> str:
        return "msg_" + uuid.uuid4().hex[:24]

    def _stamp(self) -> str:
        return self.now.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def _backup(self, target: Path, version: int) -> Json:
        name = None
        if target.is_file():
            name = f"{hashlib.sha256(str(target).encode()).hexdigest()[:16]}@v{version}"
            folder = self.home / "file-history" / self.id
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(target, folder / name)
            shutil.copymode(target, folder / name)
        return {
            "backupFileName": name,
            "version": version,
            "backupTime": self._stamp(),
            "realParentDir": str(target.parent),
        }

    def _key(self, target: Path) -> str:
        return str(target.relative_to(self.cwd)) if target.is_relative_to(self.cwd) else str(target)

    def _snapshot(self, prompt: str) -> None:
        """The state of every tracked file just before a prompt."""
        if not self.history:
            return
        before = list(self.snapshots.values())[-1] if self.snapshots else {}
        files: Json = {}
        for key, kept in before.items():
            target = self.cwd / key
            old = self.home / "file-history" / self.id / kept["backupFileName"] if kept["backupFileName"] else None
            same = target.is_file() == (old is not None) and (
                old is None or not old.exists() or old.read_bytes() == target.read_bytes()
            )
            files[key] = kept if same else self._backup(target, self._next_version(key))
        self.snapshots[prompt] = files
        self.line(self._snapshot_record(prompt, files))

    def _snapshot_record(self, prompt: str, files: Json) -> Json:
        snapshot = {"messageId": prompt, "trackedFileBackups": files, "timestamp": self._stamp()}
        return {"type": "file-history-snapshot", "messageId": prompt, "snapshot": snapshot, "isSnapshotUpdate": False}

    def _next_version(self, key: str) -> int:
        return 1 + max(files[key]["version"] for files in self.snapshots.values() if key in files)

    def _track(self, message: str, target: Path) -> None:
        """Before an edit: the first backup of a file that is not tracked yet, as a delta."""
        key = self._key(target)
        if not self.history or not self.snapshots or any(key in files for files in self.snapshots.values()):
            return
        prompt = list(self.snapshots)[-1]
        backup = self._backup(target, 1)
        self.snapshots[prompt] = {**self.snapshots[prompt], key: backup}
        self.line(
            {
                "type": "file-history-delta",
                "messageId": message,
                "snapshotMessageId": prompt,
                "trackingPath": key,
                "backup": backup,
                "timestamp": self._stamp(),
            }
        )


def patch(old: str, new: str) -> list[Json]:
    """A structuredPatch with one hunk around all that differs."""
    before, after = old.split("\n"), new.split("\n")
    if before[-1] == "":
        before.pop()
    if after[-1] == "":
        after.pop()
    same = 0
    while same < min(len(before), len(after)) and before[same] == after[same]:
        same += 1
    tail = 0
    while tail < min(len(before), len(after)) - same and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    start, end = max(0, same - 3), max(0, tail - 3)
    lead = [" " + line for line in before[start:same]]
    rest = [" " + line for line in before[len(before) - tail : len(before) - end]]
    gone = ["-" + line for line in before[same : len(before) - tail]]
    come = ["+" + line for line in after[same : len(after) - tail]]
    if not gone and not come:
        return []
    counts = len(lead) + len(rest)
    return [
        {
            "oldStart": start + 1,
            "oldLines": counts + len(gone),
            "newStart": start + 1,
            "newLines": counts + len(come),
            "lines": lead + gone + come + rest,
        }
    ]


def _text(content: str | list[Json]) -> Json:
    return {"role": "user", "content": content}


def _write(target: Path, content: str) -> None:
    target.write_text(content, "utf-8")
