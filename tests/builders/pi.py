"""Writes sessions as Pi 1.6.0 writes them, record by record.

A PiSession appends each line to its file at once, so that a test can look at any moment of it. Calls of the write and
edit tools change the files in the folder for real, and tell of it as Pi does.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

START = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
CONTEXT = 4

Json = dict[str, Any]


def folder_name(cwd: str | os.PathLike[str]) -> str:
    """The name of the folder that keeps a start folder's sessions."""
    return f"--{os.fspath(cwd).lstrip('/').replace('/', '-')}--"


@dataclass(slots=True)
class Job:
    """A call of an answer: what `calls` takes."""

    tool: str
    arguments: Json
    output: str = "ok"
    details: Json | None = None
    error: bool = False
    answered: bool = True


@dataclass
class PiSession:
    """One session file that grows."""

    home: Path
    """Pi's own folder (PI_CODING_AGENT_DIR)."""
    cwd: Path
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    version: int = 3
    now: datetime = START
    pace: timedelta = timedelta(seconds=1)
    """How long each record takes."""
    leaf: str | None = None
    parent: str = ""
    """The file that the header names as its origin."""
    folder: Path | None = None
    """Where its file is; by default where Pi puts it."""
    header: bool = True
    file: Path = field(init=False)
    records: list[Json] = field(default_factory=list[Json])
    """Everything after the header, as it was written."""

    def __post_init__(self) -> None:
        folder = self.folder or self.home / "sessions" / folder_name(self.cwd)
        folder.mkdir(parents=True, exist_ok=True)
        self.file = folder / f"{self._stamp().replace(':', '-').replace('.', '-')}_{self.id}.jsonl"
        head: Json = {"type": "session", "version": self.version, "id": self.id, "timestamp": self._stamp()}
        if self.version == 1:
            del head["version"]
        head["cwd"] = str(self.cwd)
        if self.parent:
            head["branchedFrom" if self.version == 1 else "parentSession"] = self.parent
        if self.header:
            self.raw(_line(head))

    def raw(self, data: bytes) -> None:
        """Bytes as they are."""
        with open(self.file, "ab") as file:
            file.write(data)

    def append(self, kind: str, /, *, parent: str | None = "", **fields: Any) -> str:
        """A record on the leaf (or another parent), which it becomes; gives its id."""
        record: Json = {"type": kind}
        uid = uuid.uuid4().hex[:8]
        if self.version > 1:
            record |= {"id": uid, "parentId": self.leaf if parent == "" else parent}
        record |= {"timestamp": self._stamp(), **fields}
        self.leaf = record.get("id", uid)
        self.records.append(record)
        self.raw(_line(record))
        self.now += self.pace
        return self.leaf or uid

    def message(self, role: str, **fields: Any) -> str:
        """A message of a role, with its time."""
        return self.append("message", message={"role": role, **fields, "timestamp": self._milliseconds()})

    # --- what a conversation is made of

    def begin(self) -> None:
        """What stands before the first prompt."""
        self.append("model_change", provider="stub", modelId="stub-model")
        self.append("thinking_level_change", thinkingLevel="off")
        tool = {"name": "read", "description": "Reads", "parameters": {"type": "object", "properties": {}}}
        self.message("system", content="", sections={"preamble": "You are …"}, toolsAdded=[tool])

    def prompt(self, text: str) -> str:
        if not self.records:
            self.begin()
        return self.message("user", content=[{"type": "text", "text": text}])

    def reply(self, text: str, *, thinking: str = "", stop: str = "stop", **fields: Any) -> str:
        content: list[Json] = [{"type": "thinking", "thinking": thinking}] if thinking else []
        content += [{"type": "text", "text": text}] if text else []
        return self.message("assistant", **self._answer(content, stop), **fields)

    def calls(self, *jobs: Job, text: str = "") -> list[str]:
        """An answer with calls that run side by side, and their results; gives the ids of answer and results."""
        content: list[Json] = [{"type": "text", "text": text}] if text else []
        names = [f"call_{uuid.uuid4().hex[:12]}" for _ in jobs]
        for name, job in zip(names, jobs, strict=True):
            content.append({"type": "toolCall", "id": name, "name": job.tool, "arguments": job.arguments})
        made = [self.message("assistant", **self._answer(content, "toolUse"))]
        for name, job in zip(names, jobs, strict=True):
            if job.answered:
                made.append(self._result(name, job))
        return made

    def call(self, tool: str, arguments: Json, output: str = "ok", **more: Any) -> list[str]:
        """One call and its result; gives the ids of both records."""
        return self.calls(Job(tool, arguments, output, **more))

    def write(self, path: str, content: str) -> list[str]:
        """A write call that writes."""
        file = self.cwd / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, newline="")
        return self.call("write", {"path": path, "content": content}, f"Successfully wrote to {path}")

    def read(self, path: str) -> list[str]:
        """A read call of a whole file."""
        with open(self.cwd / path, newline="") as file:
            return self.call("read", {"path": path}, file.read())

    def edit(self, path: str, *pairs: tuple[str, str], patch: bool = True) -> list[str]:
        """An edit call that edits; older versions told no patch."""
        file = self.cwd / path
        with open(file, newline="") as opened:
            before = opened.read()
        after = before
        for old, new in pairs:
            assert after.count(old) == 1
            after = after.replace(old, new)
        file.write_text(after, newline="")
        plain, edited = before.replace("\r\n", "\n"), after.replace("\r\n", "\n")
        details = {"diff": shown(plain, edited), "firstChangedLine": 1}
        if patch:
            details["patch"] = f"--- {path}\n+++ {path}\n{hunk(plain, edited)}"
        edits = [{"oldText": old, "newText": new} for old, new in pairs]
        arguments: Json = {"path": path, "edits": edits}
        return self.call("edit", arguments, f"Successfully replaced {len(pairs)} block(s) in {path}.", details=details)

    def shell(self, command: str, act: Callable[[], object] | None = None, output: str = "(no output)") -> list[str]:
        if act is not None:
            act()
        return self.call("bash", {"command": command}, output)

    def turn(self, text: str = "Do it", answer: str = "Done.") -> str:
        """A prompt and an answer; gives the prompt's id."""
        uid = self.prompt(text)
        self.reply(answer)
        return uid

    # --- what is besides

    def label(self, target: str, label: str | None) -> str:
        return self.append("label", targetId=target, **({} if label is None else {"label": label}))

    def name(self, name: str) -> str:
        return self.append("session_info", name=name)

    def compact(self, summary: str, first_kept: str, tokens: int = 50_000) -> str:
        return self.append("compaction", summary=summary, firstKeptEntryId=first_kept, tokensBefore=tokens)

    def rewind(self, to: str | None) -> None:
        """What /tree does: nothing is written, what comes next hangs on another record."""
        self.leaf = to

    def fork(self, at: str, cwd: Path | None = None) -> PiSession:
        """What /fork does: the records up to one of them in a new file."""
        by_id = {record["id"]: record for record in self.records}
        path: list[Json] = []
        step: str | None = at
        while step is not None:
            path.append(by_id[step])
            step = by_id[step]["parentId"]
        made = PiSession(self.home, cwd or self.cwd, now=self.now, pace=self.pace, parent=str(self.file))
        for record in reversed(path):
            made.records.append(record)
            made.raw(_line(record))
        made.leaf = at
        return made

    def _answer(self, content: list[Json], stop: str) -> Json:
        cost = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0.25}
        usage = {"input": 1392, "output": 20, "cacheRead": 7, "cacheWrite": 3, "totalTokens": 1412, "cost": cost}
        return {
            "content": content,
            "api": "openai-completions",
            "provider": "stub",
            "model": "stub-model",
            "usage": usage,
            "stopReason": stop,
        }

    def _result(self, call: str, job: Job) -> str:
        more = {} if job.details is None else {"details": job.details}
        content = [{"type": "text", "text": job.output}]
        return self.message(
            "toolResult", toolCallId=call, toolName=job.tool, content=content, **more, isError=job.error
        )

    def _stamp(self) -> str:
        return self.now.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def _milliseconds(self) -> int:
        return int(self.now.timestamp() * 1000) - 5


def _line(record: Json) -> bytes:
    return json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


def hunk(before: str, after: str) -> str:
    """The one hunk of a unified diff that makes the one text of the other."""
    old, new, start, end = _difference(before, after)
    first, last = max(0, start - CONTEXT), min(end, CONTEXT)
    olds, news = old[first : len(old) - end + last], new[first : len(new) - end + last]
    middle = slice(start - first, None)
    lines = [f" {line}" for line in olds[: start - first]]
    lines += [f"-{line}" for line in olds[middle][: len(olds) - (start - first) - last]]
    lines += [f"+{line}" for line in news[middle][: len(news) - (start - first) - last]]
    lines += [f" {line}" for line in olds[len(olds) - last :]] if last else []
    return f"@@ -{first + 1},{len(olds)} +{first + 1},{len(news)} @@\n" + "\n".join(lines) + "\n"


def shown(before: str, after: str) -> str:
    """The same as Pi's screen shows it: each line with its number."""
    old, new, start, end = _difference(before, after)
    lines = [f" {number + 1} {old[number]}" for number in range(max(0, start - CONTEXT), start)]
    lines += [f"-{number + 1} {old[number]}" for number in range(start, len(old) - end)]
    lines += [f"+{number + 1} {new[number]}" for number in range(start, len(new) - end)]
    first = len(old) - end
    return "\n".join([*lines, *(f" {number + 1} {old[number]}" for number in range(first, min(len(old), first + 4)))])


def _difference(before: str, after: str) -> tuple[list[str], list[str], int, int]:
    """The lines of both texts, and how many at the start and at the end are the same; both end with a line feed."""
    assert before.endswith("\n")
    assert after.endswith("\n")
    old, new = before.split("\n")[:-1], after.split("\n")[:-1]
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    return old, new, start, end
