"""What Gemini CLI's own records and its shadow repository tell of files."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from forkpoint.store import agents
from forkpoint.store.agents.base import PartialState
from forkpoint.store.model import Conversation

from tests.builders.gemini import GeminiSession, Job

gemini = agents.get("gemini")

Read = Callable[[], Conversation]


def blob(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def states(found: Conversation, shop: Path) -> dict[str, PartialState]:
    """By the prompt that they stand before."""
    texts = {entry.id: entry.text for entry in found.entries}
    return {texts[state.entry_id]: state for state in gemini.file_states(found, str(shop))}


def shown(state: PartialState) -> dict[str, tuple[bytes | None, bool]]:
    """Path → content, and whether it is only concluded."""
    return {
        os.fsdecode(path): (file.data() if file.kind == "file" else None, file.inferred)
        for path, file in state.files.items()
    }


def test_an_edit_tells_what_the_file_held_before_the_prompt(session: GeminiSession, read: Read, shop: Path) -> None:
    (shop / "a.txt").write_text("one\ntwo\n")
    session.prompt("First")
    session.replace("a.txt", "two", "TWO")
    session.write("new.txt", "new\n")
    session.prompt("Second")
    session.replace("a.txt", "one", "ONE")
    found = states(read(), shop)
    assert shown(found["First"]) == {"a.txt": (b"one\ntwo\n", False), "new.txt": (None, False)}
    assert shown(found["Second"]) == {"a.txt": (b"one\nTWO\n", False), "new.txt": (b"new\n", True)}
    for state in found.values():
        for file in state.files.values():
            assert file.kind == "absent" or file.oid == blob(file.data())


def test_what_only_a_later_turn_touched_is_concluded(session: GeminiSession, read: Read, shop: Path) -> None:
    (shop / "a.txt").write_text("one\n")
    session.prompt("First")
    session.reply("Yes")
    session.prompt("Second")
    session.replace("a.txt", "one", "two")
    assert shown(states(read(), shop)["First"]) == {"a.txt": (b"one\n", True)}


def test_another_branch_tells_nothing(session: GeminiSession, read: Read, shop: Path) -> None:
    session.prompt("First")
    session.reply("Yes")
    second = session.prompt("Second")
    session.write("a.txt", "a\n")
    session.rewind(second)
    session.prompt("Third")
    session.write("b.txt", "b\n")
    found = states(read(), shop)
    assert set(shown(found["Second"])) == {"a.txt"}
    assert set(shown(found["Third"])) == {"b.txt"}


def test_a_sub_agent_s_edits_belong_to_the_turn_of_its_call(session: GeminiSession, read: Read, shop: Path) -> None:
    session.prompt("Do")
    agent = session.sub_agent("generalist", "Write sub.txt")
    agent.write("sub.txt", "s\n")
    assert shown(states(read(), shop)["Do"]) == {"sub.txt": (None, False)}


def test_line_ends_are_those_of_the_file(session: GeminiSession, read: Read, shop: Path) -> None:
    (shop / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    session.prompt("First")
    # "replace" tells texts without CR, and writes the file with them.
    shown_texts = {
        "filePath": str(shop / "a.txt"),
        "originalContent": "one\ntwo\n",
        "newContent": "one\nTWO\n",
        "isNewFile": False,
    }
    session.calls([Job("replace", {"file_path": str(shop / "a.txt")}, "ok", shown_texts)])
    (shop / "a.txt").write_bytes(b"one\r\nTWO\r\n")
    found = read()
    assert shown(states(found, shop)["First"]) == {"a.txt": (b"one\r\ntwo\r\n", False)}
    assert blob(b"one\r\nTWO\r\n") in gemini.evidence(found, str(shop)).left[b"a.txt"]


def test_records_prove_what_edits_left_and_when(session: GeminiSession, read: Read, shop: Path) -> None:
    session.prompt("First")
    session.write("a.txt", "a\n")
    session.write("../outside.txt", "o\n")
    session.calls([Job("write_file", {"file_path": str(shop / "b.txt")}, "Denied", {"filePath": "b"}, status="error")])
    found = read()
    proof = gemini.evidence(found, str(shop))
    calls = {entry.text: entry.id for entry in found.entries if entry.kind == "tool_call"}
    assert blob(b"a\n") in proof.left[b"a.txt"]
    assert [step[1] for step in proof.touched[b"a.txt"]] == [calls["write_file a.txt"]]
    assert set(proof.left) == {b"a.txt"}
    assert proof.outside == 1


def test_a_record_that_went_meanwhile_is_told_as_an_error(session: GeminiSession, read: Read, shop: Path) -> None:
    (shop / "a.txt").write_text("one\n")
    session.prompt("First")
    session.replace("a.txt", "one", "two")
    (file,) = states(read(), shop)["First"].files.values()
    session.file.unlink()
    try:
        file.data()
    except OSError:
        return
    raise AssertionError("the bytes came from nowhere")


# --- the shadow repository --------------------------------------------------------------------------------------------


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", f"--git-dir={folder}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def snapshot(session: GeminiSession, shop: Path, tool: str, args: dict[str, object]) -> Path:
    """What the program does before a call that it asks for; gives its repository."""
    repository = session.home / ".gemini" / "history" / "shop" / ".git"
    if not repository.exists():
        repository.parent.mkdir(parents=True)
        git(repository, "init", "-q", "--bare")
    git(repository, f"--work-tree={shop}", "add", "-A")
    git(repository, f"--work-tree={shop}", "commit", "-q", "--allow-empty", "-m", f"Snapshot for {tool}")
    record = {
        "history": [],
        "toolCall": {"name": tool, "args": args},
        "commitHash": git(repository, "rev-parse", "HEAD"),
        "messageId": f"{session.id}########0",
    }
    folder = session.home / ".gemini" / "tmp" / "shop" / "checkpoints"
    folder.mkdir(exist_ok=True)
    stamp = session.stamp().replace(":", "-").replace(".", "_")
    (folder / f"{stamp}-a.txt-{tool}.json").write_text(json.dumps(record))
    return repository


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_checkpoint_of_the_program_s_own_tells_the_whole_folder(
    session: GeminiSession, read: Read, shop: Path
) -> None:
    (shop / "a.txt").write_text("one\n")
    (shop / "deep" / "er").mkdir(parents=True)
    (shop / "deep" / "er" / "run.sh").write_text("#!/bin/sh\n")
    (shop / "deep" / "er" / "run.sh").chmod(0o755)
    session.prompt("First")
    uid = session.reply("I write")
    args: dict[str, object] = {"file_path": str(shop / "new.txt"), "content": "new\n"}
    repository = snapshot(session, shop, "write_file", args)
    before = everything(repository)
    job = session.writing("new.txt", "new\n")
    session.line({**session.listed[-1], "toolCalls": [session.call_record(job)]})
    found = read()
    assert any(entry.id.startswith(uid) and entry.kind == "tool_call" for entry in found.entries)
    state = states(found, shop)["First"]
    assert state.present == 2
    assert shown(state) == {
        "a.txt": (b"one\n", False),
        "deep/er/run.sh": (b"#!/bin/sh\n", False),
        "new.txt": (None, False),
    }
    assert state.files[b"deep/er/run.sh"].mode == 0o755
    assert everything(repository) == before, "the program's repository is only read"


def test_a_checkpoint_in_the_middle_of_a_turn_is_concluded(session: GeminiSession, read: Read, shop: Path) -> None:
    session.prompt("First")
    session.tool("run_shell_command", {"command": "echo x > made.txt"})
    (shop / "made.txt").write_text("x\n")
    session.reply("I write")
    snapshot(session, shop, "write_file", {"file_path": str(shop / "new.txt"), "content": "new\n"})
    job = session.writing("new.txt", "new\n")
    session.line({**session.listed[-1], "toolCalls": [session.call_record(job)]})
    assert shown(states(read(), shop)["First"])["made.txt"] == (b"x\n", True)


def test_a_repository_that_is_gone_leaves_what_the_records_tell(session: GeminiSession, read: Read, shop: Path) -> None:
    session.prompt("First")
    args: dict[str, object] = {"file_path": str(shop / "new.txt"), "content": "new\n"}
    repository = snapshot(session, shop, "write_file", args)
    session.write("new.txt", "new\n")
    for name in ("objects", "HEAD"):
        os.rename(repository / name, repository / f"{name}-away")
    assert shown(states(read(), shop)["First"]) == {"new.txt": (None, False)}
