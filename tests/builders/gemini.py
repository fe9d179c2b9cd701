"""Writes sessions as Gemini CLI 0.61.0 writes them, line by line.

A GeminiSession appends each line to its file at once, so that a test can look at any moment of it. Calls of the edit
tools change the files in the folder for real, and tell of it as Gemini CLI does.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

START = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
CONTEXT = "d04923d38bb0f6017037e74183378ef4"
"""The id of the message that tells the model of the folder: the same in every session."""

Json = dict[str, Any]


def project(home: Path, cwd: Path, name: str = "") -> Path:
    """The folder of a project, with its mark, as the program makes it. home: what holds `.gemini`."""
    folder = home / ".gemini" / "tmp" / (name or cwd.name)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".project_root").write_text(str(cwd))
    return folder


@dataclass(slots=True)
class Job:
    """A call of an answer: what `calls` takes."""

    tool: str
    args: Json
    output: str = "ok"
    shown: object = ""
    status: str = "success"
    agent: str = ""


@dataclass
class GeminiSession:
    """One session file that grows."""

    home: Path
    """What holds `.gemini`."""
    cwd: Path
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    now: datetime = START
    pace: timedelta = timedelta(seconds=1)
    """How long each line takes."""
    kind: str = "main"
    parent: str = ""
    """Sub-agents: the session that started it."""
    folder: Path | None = None
    """The project's folder; by default the one that the program makes."""
    header: bool = True
    file: Path = field(init=False)
    listed: list[Json] = field(default_factory=list[Json])
    """The agent's own list of messages."""

    def __post_init__(self) -> None:
        chats = (self.folder or project(self.home, self.cwd)) / "chats"
        name = f"session-{self.now:%Y-%m-%dT%H-%M}-{self.id[:8]}.jsonl"
        self.file = chats / self.parent / f"{self.id}.jsonl" if self.parent else chats / name
        self.file.parent.mkdir(parents=True, exist_ok=True)
        if self.header:
            self.begin()

    # --- lines ------------------------------------------------------------------------------------------------------

    def raw(self, data: bytes) -> None:
        """Bytes as they are."""
        with open(self.file, "ab") as file:
            file.write(data)

    def line(self, record: Json) -> None:
        """One line as JavaScript writes it."""
        text = json.dumps(record, separators=(",", ":"), ensure_ascii=False)
        self.raw(re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", text).encode() + b"\n")

    def set(self, **changes: object) -> None:
        """Changes of the header."""
        self.line({"$set": changes})

    def begin(self) -> None:
        """A header, as a start or a resume writes it."""
        hashed = hashlib.sha256(os.fsencode(self.cwd)).hexdigest()
        stamp = self.stamp()
        self.line(
            {"sessionId": self.id, "projectHash": hashed, "startTime": stamp, "lastUpdated": stamp, "kind": self.kind}
        )
        if self.kind == "main":
            self.set(messages=[self.context()], lastUpdated=stamp)

    def stamp(self) -> str:
        """The time, one pace later at each call."""
        text = self.now.strftime("%Y-%m-%dT%H:%M:%S.") + f"{self.now.microsecond // 1000:03d}Z"
        self.now += self.pace
        return text

    def context(self) -> Json:
        """The message that tells the model of the folder."""
        text = f"<session_context>\nThis is the Gemini CLI.\n  - {self.cwd}\n</session_context>"
        return {"id": CONTEXT, "timestamp": self.stamp(), "type": "user", "content": [{"text": text}]}

    def message(self, kind: str, content: object, uid: str = "", **more: object) -> str:
        """A message, and the time of it; gives its id."""
        uid = uid or str(uuid.uuid4())
        record = {"id": uid, "timestamp": self.stamp(), "type": kind, "content": content, **more}
        self.listed.append(record)
        self.line(record)
        self.set(lastUpdated=record["timestamp"])
        return uid

    # --- what a person sees -----------------------------------------------------------------------------------------

    def prompt(self, text: str, **more: Any) -> str:
        """What a person typed."""
        return self.message("user", [{"text": text}], **more)

    def reply(self, text: str, **more: object) -> str:
        """An answer without calls."""
        return self.message("gemini", text, **{"thoughts": [], "tokens": tokens(), "model": "gemini-2.5-flash", **more})

    def info(self, text: str, kind: str = "info") -> str:
        """What the program told the person."""
        return self.message(kind, text)

    def tool(self, tool: str, args: Json, output: str = "ok", text: str = "", **more: Any) -> str:
        """An answer with one call; gives the id of its message."""
        return self.calls([Job(tool, args, output, **more)], text)

    def calls(self, jobs: Sequence[Job], text: str = "") -> str:
        """An answer whose calls run side by side: the message again with its calls, then what the model was given."""
        uid = self.reply(text)
        made = [self.call_record(job) for job in jobs]
        self.listed[-1]["toolCalls"] = made
        self.line(self.listed[-1])
        self.message("user", [part for call in made for part in call["result"]])
        return uid

    def write(self, path: str, content: str, text: str = "") -> str:
        """A call of write_file that is carried out."""
        return self.calls([self.writing(path, content)], text)

    def replace(self, path: str, old: str, new: str, text: str = "") -> str:
        """A call of replace that is carried out."""
        file = self.cwd / path
        before = file.read_text()
        args = {"file_path": str(file), "instruction": "edit", "old_string": old, "new_string": new}
        after = before.replace(old, new, 1)
        file.write_text(after)
        return self.calls(
            [Job("replace", args, f"Successfully modified file: {file}", shown_edit(file, before, after))], text
        )

    def writing(self, path: str, content: str) -> Job:
        """The job of writing a file, which is done at once."""
        file = self.cwd / path
        before = file.read_text() if file.exists() else None
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
        args = {"file_path": str(file), "content": content}
        return Job("write_file", args, f"Successfully wrote to file: {file}", shown_edit(file, before, content))

    def sub_agent(self, name: str, prompt: str, result: str = "done") -> GeminiSession:
        """A call that starts a sub-agent; gives the sub-agent's own session, which is to be filled first."""
        agent = GeminiSession(self.home, self.cwd, now=self.now, kind="subagent", parent=self.id, folder=self.folder)
        agent.message("user", [{"text": prompt}])
        self.calls([Job("invoke_agent", {"agent_name": name, "prompt": prompt}, result, agent=agent.id)])
        return agent

    # --- what the program does with its list ------------------------------------------------------------------------

    def resume(self) -> None:
        """Writes what a resume writes: the id, and the whole list, with answers and functionCalls in the contents."""
        self.set(sessionId=self.id)
        told = [self.context()]
        for message in self.listed:
            told += self._told_again(message)
        self.set(messages=told, lastUpdated=self.stamp())
        self.listed = told[1:]

    def rewind(self, uid: str) -> None:
        """Goes back to before a message."""
        at = next(place for place, message in enumerate(self.listed) if message["id"] == uid)
        self.line({"$rewindTo": uid})
        self.listed = self.listed[:at]
        self.set(messages=self.listed, lastUpdated=self.stamp())

    def restore(self, count: int) -> None:
        """/restore: the first messages are written again under new ids, then the list is theirs alone."""
        kept = [again for message in self.listed[:count] for again in self._told_again(message)[:1]]
        copies = [{**message, "id": str(uuid.uuid4()), "timestamp": self.stamp()} for message in kept]
        # The context and the first prompt become one message.
        copies[0]["content"] = [*self.context()["content"], *copies[0]["content"]]
        for copy in copies:
            self.line(copy)
            self.set(lastUpdated=self.stamp())
        self.set(messages=copies, lastUpdated=self.stamp())
        self.listed = copies
        self.info("Restored project to the state before the tool call.")

    def compress(self, summary: str, keep: int) -> None:
        """/compress: a summary takes the place of the list but for its end, which gets new ids."""
        kept = [again for message in self.listed[len(self.listed) - keep :] for again in self._told_again(message)[:1]]
        told = [
            self.context(),
            self._new("user", [{"text": summary}]),
            self._new("gemini", [{"text": "Got it. Thanks for the additional context!"}]),
            *({**message, "id": str(uuid.uuid4()), "timestamp": self.stamp()} for message in kept),
        ]
        self.set(messages=told, lastUpdated=self.stamp())
        self.listed = told[1:]

    def _new(self, kind: str, content: object) -> Json:
        return {"id": str(uuid.uuid4()), "timestamp": self.stamp(), "type": kind, "content": content}

    def _told_again(self, message: Json) -> list[Json]:
        """A message as the program tells it again: with the calls among the parts, and their answers behind it."""
        content = message["content"]
        parts = [{"text": content}] if isinstance(content, str) and content else list(content or [])
        calls = message.get("toolCalls", [])
        parts += [{"functionCall": {"id": call["id"], "name": call["name"], "args": call["args"]}} for call in calls]
        again = {"id": message["id"], "timestamp": self.stamp(), "type": message["type"], "content": parts}
        if not calls:
            return [again]
        answers = [part for call in calls for part in call["result"]]
        return [again, {**self._new("user", answers), "id": f"{message['id']}_response"}]

    def call_record(self, job: Job) -> Json:
        """A call as the program records it."""
        uid = f"{job.tool}__{uuid.uuid4().hex[:10]}"
        answer = {"functionResponse": {"id": uid, "name": job.tool, "response": {"output": job.output}}}
        call: Json = {"id": uid, "name": job.tool, "args": job.args, "result": [answer], "status": job.status}
        call |= {
            "timestamp": self.stamp(),
            "resultDisplay": job.shown,
            "description": job.tool,
            "displayName": job.tool,
        }
        return {**call, "agentId": job.agent} if job.agent else call


def tokens() -> Json:
    return {"input": 12_000, "output": 20, "cached": 0, "thoughts": 0, "tool": 0, "total": 12_020}


def shown_edit(file: Path, before: str | None, after: str) -> Json:
    """What an edit shows: the whole texts and their difference."""
    return {
        "fileDiff": f"Index: {file.name}\n@@ -1,1 +1,1 @@\n-{(before or '').strip()}\n+{after.strip()}\n",
        "fileName": file.name,
        "filePath": str(file),
        "originalContent": before or "",
        "newContent": after,
        "diffStat": {"model_added_lines": 1, "model_removed_lines": 1},
        "isNewFile": before is None,
    }


def as_json(session: GeminiSession) -> Path:
    """The same session in the form before 0.40: one object, written anew; the file of lines goes."""
    header = json.loads(session.file.read_bytes().partition(b"\n")[0])
    file = session.file.with_suffix(".json")
    file.write_text(json.dumps({**header, "messages": session.listed}, indent=2))
    session.file.unlink()
    return file


def payload(name: str, session: GeminiSession, **more: object) -> bytes:
    """What a hook of Gemini CLI is given on standard input."""
    told = {
        "session_id": session.id,
        "transcript_path": str(session.file),
        "cwd": str(session.cwd),
        "hook_event_name": name,
        "timestamp": session.stamp(),
        **more,
    }
    return json.dumps(told).encode()
