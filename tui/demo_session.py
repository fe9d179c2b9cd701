"""Plays the demo's afternoon: real files and commands, a transcript in Claude Code's own form, and its hooks' payloads.

Everything goes the way it goes with the real agent: a hook first, then the file, then a hook, then the transcript.
Only the time is told instead of waited for.
"""

from __future__ import annotations

import json
import os
import subprocess
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .demo_shop import SHOP, Act, Afternoon, Edit, Look, Say, Shell, Turn, Write
from .values import iso

SECOND = 1_000_000_000
VERSION = "2.1.332"
MODEL = "claude-opus-5-5"

Json = dict[str, Any]
Hook = Callable[[Json, int], None]
"""Takes a hook's payload and the time in nanoseconds at which it came."""


@dataclass(slots=True)
class Claude:
    """The transcript of one session, appended to as Claude Code does."""

    project: Path
    config: Path
    """The agent's config home (CLAUDE_CONFIG_DIR)."""
    hook: Hook
    now: int
    session: str = field(default_factory=lambda: str(uuid.uuid4()))
    leaf: str | None = None
    prompt: str = ""
    turns: int = 0

    @property
    def file(self) -> Path:
        """Claude names a project's folder by its path, every other character a dash."""
        folder = "".join(char if char.isascii() and char.isalnum() else "-" for char in str(self.project))
        return self.config / "projects" / folder / f"{self.session}.jsonl"

    def wait(self, seconds: int) -> None:
        self.now += seconds * SECOND

    def line(self, record: Json) -> None:
        """Appends one record."""
        self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(self.file, "ab") as file:
            file.write(json.dumps(record, separators=(",", ":")).encode() + b"\n")

    def chain(self, kind: str, **content: object) -> str:
        """Appends a record of the conversation after the last one; returns its uuid."""
        made = str(uuid.uuid4())
        record: Json = {"parentUuid": self.leaf, "isSidechain": False, "type": kind, **content, "uuid": made}
        record |= {
            "timestamp": iso(self.now)[:-4] + "Z",
            "userType": "external",
            "entrypoint": "cli",
            "cwd": str(self.project),
            "sessionId": self.session,
            "version": VERSION,
            "gitBranch": "main",
        }
        self.line(record)
        self.leaf = made
        return made

    def assistant(self, block: Json) -> str:
        """One block of a reply."""
        reason = "tool_use" if block["type"] == "tool_use" else "end_turn"
        message: Json = {"id": f"msg_{uuid.uuid4().hex[:24]}", "type": "message", "role": "assistant", "model": MODEL}
        message |= {"content": [block], "stop_reason": reason, "stop_sequence": None}
        message["usage"] = {"input_tokens": 14302, "output_tokens": 20}
        return self.chain("assistant", message=message, requestId=f"req_{uuid.uuid4().hex[:24]}")

    def tell(self, event: str, **more: object) -> None:
        """Calls the hook of an event."""
        payload: Json = {
            "session_id": self.session,
            "transcript_path": str(self.file),
            "cwd": str(self.project),
            "hook_event_name": event,
            "permission_mode": "acceptEdits",
            **more,
        }
        self.hook({**payload, "prompt_id": self.prompt} if self.prompt else payload, self.now)


def play(afternoon: Afternoon, project: Path, config: Path, hook: Hook, now: int) -> Claude:
    """Makes the project, then plays the session so that it ends a little before `now` (nanoseconds)."""
    first = afternoon.turns[0].minutes
    prepare(project, now - (first * 60 + 3600) * SECOND)
    claude = Claude(project, config, hook, now - (first * 60 + 20) * SECOND)
    claude.tell("SessionStart", source="startup", model=MODEL)
    claude.line({"type": "mode", "mode": "normal", "sessionId": claude.session})
    for turn in afternoon.turns:
        claude.now = now - turn.minutes * 60 * SECOND
        _turn(claude, turn)
    claude.line({"type": "ai-title", "aiTitle": afternoon.title, "sessionId": claude.session})
    for path, (old, new) in afternoon.by_hand.items():
        replace(project / path, old, new)
    return claude


def prepare(project: Path, moment: int) -> None:
    """The shop as it is before the session: committed at that time, with a remote beside it to push to."""
    for path, content in SHOP.items():
        file = project / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, "utf-8")
    remote = project.parent / "remote.git"
    for command in (
        ["init", "-q", "--initial-branch=main", "."],
        ["config", "user.name", "Ada"],
        ["config", "user.email", "ada@example.org"],
        ["add", "-A"],
        ["commit", "-q", "-m", "A small tea shop"],
        ["init", "-q", "--bare", "--initial-branch=main", str(remote)],
        ["remote", "add", "origin", os.path.join(os.pardir, remote.name)],
    ):
        environment = _environment(project, moment)
        subprocess.run(["git", *command], cwd=project, env=environment, check=True, capture_output=True)


def _turn(claude: Claude, turn: Turn) -> None:
    before = claude.leaf
    files = _contents(claude.project) if turn.rewound else {}
    claude.prompt = str(uuid.uuid4())
    claude.turns += 1
    claude.tell("UserPromptSubmit", prompt=turn.prompt)
    claude.chain(
        "user",
        message={"role": "user", "content": turn.prompt},
        promptId=claude.prompt,
        permissionMode="acceptEdits",
        origin={"kind": "human"},
        promptSource="typed",
        turnOrigin="human",
        turnPosition={"promptIndex": claude.turns, "turnIndex": claude.turns},
    )
    for act in turn.acts:
        claude.wait(11)
        _act(claude, act)
    last = turn.acts[-1]
    claude.wait(1)
    claude.tell("Stop", stop_hook_active=False, last_assistant_message=last.text if isinstance(last, Say) else "")
    claude.chain("system", subtype="stop_hook_summary", hookCount=1, hookInfos=[], hookErrors=[], level="suggestion")
    claude.chain("system", subtype="turn_duration", durationMs=11_000 * len(turn.acts), isMeta=False)
    claude.line(
        {"type": "last-prompt", "lastPrompt": turn.prompt, "leafUuid": claude.leaf, "sessionId": claude.session}
    )
    if turn.rewound:
        # Claude's own rewind restores what its edit tools changed and writes nothing: no line, no hook.
        claude.leaf = before
        _put_back(claude.project, files)


def _act(claude: Claude, act: Act) -> None:
    if isinstance(act, Say):
        claude.assistant({"type": "text", "text": act.text})
        return
    name, tool_input = _input(claude.project, act)
    call = f"toolu_{uuid.uuid4().hex[:24]}"
    about: Json = {"tool_name": name, "tool_input": tool_input, "tool_use_id": call}
    claude.tell("PreToolUse", **about)
    made = claude.assistant({"type": "tool_use", "id": call, "name": name, "input": tool_input})
    content, result, failed = _carry_out(claude.project, act, claude.now)
    claude.wait(3)
    if failed:
        claude.tell("PostToolUseFailure", **about, error=content, is_interrupt=False)
    else:
        claude.tell("PostToolUse", **about, tool_response=result, duration_ms=140)
    block: Json = {"tool_use_id": call, "type": "tool_result", "content": content}
    block |= {"is_error": True} if failed else {}
    claude.chain(
        "user",
        message={"role": "user", "content": [block]},
        promptId=claude.prompt,
        toolUseResult=f"Error: {content}" if failed else result,
        sourceToolAssistantUUID=made,
    )


def _input(project: Path, act: Look | Write | Edit | Shell) -> tuple[str, Json]:
    """The tool's name and what it is called with."""
    if isinstance(act, Shell):
        return "Bash", {"command": act.command, "description": act.why}
    path = str(project / act.path)
    if isinstance(act, Look):
        return "Read", {"file_path": path}
    if isinstance(act, Write):
        return "Write", {"file_path": path, "content": act.content}
    return "Edit", {"file_path": path, "old_string": act.old, "new_string": act.new, "replace_all": False}


def _carry_out(project: Path, act: Look | Write | Edit | Shell, moment: int) -> tuple[str, Json, bool]:
    """Does it; returns the text for the agent, the structured result, and whether it failed."""
    if isinstance(act, Shell):
        return _run(project, act.command, moment)
    file = project / act.path
    before = file.read_text("utf-8") if file.exists() else None
    if isinstance(act, Look):
        text = before or ""
        shown = {"filePath": str(file), "content": text, "numLines": text.count("\n"), "startLine": 1}
        return text, {"type": "text", "file": {**shown, "totalLines": text.count("\n")}}, False
    if isinstance(act, Write):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(act.content, "utf-8")
        done: Json = {"type": "update" if before is not None else "create", "content": act.content}
        told = f"The file {file} has been written."
    else:
        replace(file, act.old, act.new)
        done = {"oldString": act.old, "newString": act.new, "replaceAll": False}
        told = f"The file {file} has been updated."
    hunks = [] if before is None else [_hunk(before, file.read_text("utf-8"))]
    return (
        told,
        {"filePath": str(file), **done, "structuredPatch": hunks, "originalFile": before, "userModified": False},
        False,
    )


def _run(project: Path, command: str, moment: int) -> tuple[str, Json, bool]:
    ran = subprocess.run(
        ["sh", "-c", command],
        cwd=project,
        env=_environment(project, moment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    text = "\n".join(part for part in (ran.stdout.strip(), ran.stderr.strip()) if part) or "(no output)"
    result = {"stdout": ran.stdout.strip(), "stderr": ran.stderr.strip(), "interrupted": False, "isImage": False}
    return (f"Exit code {ran.returncode}\n{text}" if ran.returncode else text), result, ran.returncode != 0


def replace(file: Path, old: str, new: str) -> None:
    """Puts one piece of a file in another's place, as the Edit tool does."""
    text = file.read_text("utf-8")
    if old not in text:
        raise ValueError(f"{file.name} does not hold {old!r}")
    file.write_text(text.replace(old, new, 1), "utf-8")


def _hunk(before: str, after: str) -> Json:
    """One hunk around all that differs, in the form of a structuredPatch."""
    old, new = before.splitlines(), after.splitlines()
    shortest = min(len(old), len(new))
    same = next((n for n in range(shortest) if old[n] != new[n]), shortest)
    rest = next((n for n in range(shortest - same) if old[-1 - n] != new[-1 - n]), shortest - same)
    lines = [f"-{line}" for line in old[same : len(old) - rest]] + [f"+{line}" for line in new[same : len(new) - rest]]
    return {
        "oldStart": same + 1,
        "oldLines": len(old) - rest - same,
        "newStart": same + 1,
        "newLines": len(new) - rest - same,
        "lines": lines,
    }


def _contents(project: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in _files(project)}


def _put_back(project: Path, contents: dict[Path, bytes]) -> None:
    for file in list(_files(project)):
        if file not in contents:
            file.unlink()
    for file, data in contents.items():
        if not file.exists() or file.read_bytes() != data:
            file.write_bytes(data)


def _files(project: Path) -> Iterator[Path]:
    return (file for file in project.rglob("*") if file.is_file() and ".git" not in file.parts)


def _environment(project: Path, moment: int) -> dict[str, str]:
    """What the shop's commands see: no settings of the person's git, and the time that is told."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    own = {"HOME": str(project.parent), "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    when = f"@{moment // SECOND} +0000"
    return {**kept, **own, "GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
