"""Which sessions belong to a folder, and what a list shows of them."""

from __future__ import annotations

import json
import os
import uuid
from datetime import timedelta
from pathlib import Path

import pytest
from forkpoint.store import agents
from forkpoint.store.agents.claude import config_home
from forkpoint.store.agents.claude.listing import WINDOW
from forkpoint.store.agents.claude.places import project_folder, project_name
from forkpoint.store.agents.claude.records import nanoseconds

from tests.builders.claude import START, ClaudeSession
from tests.builders.reading import only

claude = agents.get("claude")


@pytest.fixture
def home(machine: Path) -> Path:
    return machine / "claude"


def folder(base: Path, name: str) -> Path:
    made = base / name
    made.mkdir(parents=True, exist_ok=True)
    return made


def session(home: Path, cwd: Path, prompt: str = "Do it") -> ClaudeSession:
    made = ClaudeSession(home, cwd)
    made.turn(prompt)
    return made


def listed(root: Path, *nested: Path) -> list[str]:
    return [info.id for info in claude.sessions(str(root), [str(item) for item in nested])]


def test_the_config_home_can_be_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert config_home() == os.environ["CLAUDE_CONFIG_DIR"]
    monkeypatch.delenv("CLAUDE_CONFIG_DIR")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert config_home() == str(tmp_path / ".claude")
    assert not claude.detect()


def test_sessions_of_the_folder_and_of_folders_in_it_belong_to_it(home: Path, tmp_path: Path) -> None:
    root = folder(tmp_path, "shop")
    ours = [session(home, root), session(home, folder(root, "web/ui"))]
    session(home, folder(tmp_path, "shop-old"))
    session(home, folder(tmp_path, "other"))
    session(home, tmp_path)
    assert sorted(listed(root)) == sorted(item.id for item in ours)


def test_folders_whose_names_look_alike_are_told_apart(home: Path, tmp_path: Path) -> None:
    """/a-b, /a/b and /a.b have the same project folder."""
    made = {name: session(home, folder(tmp_path, name)) for name in ("a-b", "a/b", "a.b")}
    assert len({item.file.parent for item in made.values()}) == 1
    for name, item in made.items():
        assert listed(tmp_path / name) == [item.id]


def test_sessions_of_a_root_inside_belong_to_that_one(home: Path, tmp_path: Path) -> None:
    root, inner = folder(tmp_path, "shop"), folder(tmp_path, "shop/lib")
    outer = session(home, root)
    session(home, folder(inner, "src"))
    assert listed(root, inner) == [outer.id]


def test_a_folder_reached_by_a_link_is_the_same_folder(home: Path, tmp_path: Path) -> None:
    made = session(home, folder(tmp_path, "shop"))
    (tmp_path / "link").symlink_to("shop")
    assert listed(tmp_path / "link") == [made.id]


def test_a_session_that_was_moved_belongs_to_where_it_went(home: Path, tmp_path: Path) -> None:
    old, new = folder(tmp_path, "old"), folder(tmp_path, "new")
    made = session(home, old)
    moved = home / "projects" / project_name(str(new)) / made.file.name
    moved.parent.mkdir()
    made.file.rename(moved)
    made.file = moved
    made.line({"type": "relocated", "relocatedCwd": str(new), "sessionId": made.id})
    assert listed(new) == [made.id]
    assert listed(old) == []
    assert only("claude", new).cwd == str(new)


def test_a_long_folder_is_found_by_the_beginning_of_its_name(home: Path, tmp_path: Path) -> None:
    root = folder(tmp_path, "/".join(["a" * 60] * 5))
    name = project_name(str(root))
    assert len(name) > 201
    written = home / "projects" / (name[:201] + "anotherhash")
    written.mkdir(parents=True)
    short = session(home, folder(tmp_path, "short"))
    data = short.file.read_text().replace(json.dumps(str(tmp_path / "short"))[1:-1], str(root))
    (written / f"{uuid.uuid4()}.jsonl").write_text(data)
    assert len(listed(root)) == 1
    assert project_folder(str(root)) == str(written)


def test_names_of_project_folders_are_those_of_the_program() -> None:
    assert project_name("/tmp/my project_1") == "-tmp-my-project-1"
    assert project_name("/tmp/caf\u00e9") == project_name("/tmp/cafe\u0301") == "-tmp-caf-"
    assert project_name("/tmp/\U0001f600") == "-tmp---"


def test_broken_files_hide_no_session_and_are_told(home: Path, tmp_path: Path) -> None:
    root = folder(tmp_path, "shop")
    made = session(home, root)
    place = made.file.parent
    (place / "empty.jsonl").touch()
    (place / "nuls.jsonl").write_bytes(b"\0" * 5000)
    (place / "junk.jsonl").write_text("not json\n")
    (place / "large.jsonl").write_bytes(b"\xff" * 3 * WINDOW)
    (place / "folder.jsonl").mkdir()
    (place / "dangling.jsonl").symlink_to("nowhere")
    (place / "circle.jsonl").symlink_to("circle.jsonl")
    os.mkfifo(place / "fifo.jsonl")
    assert listed(root)[0] == made.id
    assert {info.id: info.problem for info in claude.sessions(str(root))} == {
        made.id: "",
        "empty": "its file is empty",
        "nuls": "nothing in its file can be read",
        "junk": "nothing in its file can be read",
        "large": "its beginning and its end cannot be read",
        "folder": "its file cannot be read (it is a folder)",
        "dangling": "its file cannot be read (No such file or directory)",
        "circle": "its file cannot be read (Too many levels of symbolic links)",
        "fifo": "its file cannot be read (it is no regular file)",
    }


def test_what_holds_no_conversation_is_no_session(home: Path, tmp_path: Path) -> None:
    root = folder(tmp_path, "shop")
    made = session(home, root)
    place = made.file.parent
    (place / f"{uuid.uuid4()}.jsonl.orphaned-1796062825878").write_bytes(made.file.read_bytes())
    snapshot = [line for line in made.file.read_text().splitlines() if "file-history-snapshot" in line]
    (place / f"{uuid.uuid4()}.jsonl").write_text("\n".join(snapshot) + "\n")
    assert listed(root) == [made.id]


@pytest.mark.parametrize("cwd", ["/Users/ann/shop", "C:\\Users\\ann\\shop", "/with\0nul", "/half\ud83d"])
def test_a_session_of_another_machine_is_told_where_its_file_was_put(home: Path, tmp_path: Path, cwd: str) -> None:
    root = folder(tmp_path, "shop")
    made = session(home, root)
    data = made.file.read_bytes().replace(json.dumps(str(root)).encode(), json.dumps(cwd).encode())
    made.file.write_bytes(data)
    info = only("claude", root)
    assert info.id == made.id
    assert "not on this machine" in info.problem
    assert info.problem.isprintable()
    assert [entry.text for entry in claude.read(info).entries if entry.kind == "prompt"] == ["Do it"]
    assert listed(folder(tmp_path, "other")) == []


def test_without_any_session_there_is_none(tmp_path: Path) -> None:
    assert claude.sessions(str(tmp_path)) == []


def test_the_newest_session_comes_first_by_what_its_records_say(home: Path, tmp_path: Path) -> None:
    first, second = session(home, tmp_path, "first"), ClaudeSession(home, tmp_path, now=START + timedelta(hours=1))
    second.turn("second")
    os.utime(first.file, (2_000_000_000, 2_000_000_000))
    assert listed(tmp_path) == [second.id, first.id]
    newest = json.loads(second.file.read_bytes().splitlines()[-2])["timestamp"]
    assert claude.sessions(str(tmp_path))[0].updated == nanoseconds(newest)


def test_titles_are_taken_as_claude_does(home: Path, tmp_path: Path) -> None:
    made = ClaudeSession(home, tmp_path)
    made.prompt("The first \x1b[1mprompt\nand more")
    assert only("claude", tmp_path).title == "The first ␛[1mprompt"
    made.line({"type": "summary", "summary": "Of another session", "leafUuid": str(uuid.uuid4())})
    assert only("claude", tmp_path).title == "The first ␛[1mprompt"
    made.line({"type": "last-prompt", "lastPrompt": "The last prompt", "sessionId": made.id})
    assert only("claude", tmp_path).title == "The last prompt"
    made.line({"type": "ai-title", "aiTitle": "By the model", "sessionId": made.id})
    assert only("claude", tmp_path).title == "By the model"
    made.title("One")
    made.title("By the person")
    made.line({"type": "ai-title", "aiTitle": "By the model again", "sessionId": made.id})
    assert only("claude", tmp_path).title == "By the person"


def test_a_list_reads_only_the_beginning_and_the_end(home: Path, tmp_path: Path) -> None:
    made = session(home, tmp_path)
    for _ in range(40):
        made.reply("x" * 10_000)
    made.title("At the end")
    data = made.file.read_bytes()
    middle = len(data) - 2 * WINDOW
    made.file.write_bytes(data[:WINDOW] + b"\xff" * middle + data[WINDOW + middle :])
    info = only("claude", tmp_path)
    assert info.title == "At the end"
    assert info.bytes == len(data)


def test_a_first_prompt_larger_than_the_window_is_found(home: Path, tmp_path: Path) -> None:
    made = ClaudeSession(home, tmp_path, history=False)
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * (5 * WINDOW)}}
    made.prompt([{"type": "text", "text": "Look at this"}, image])
    made.reply("I see.")
    other = made.branch()
    info = only("claude", tmp_path)
    assert info.title == "alt" or info.title == "Look at this [image]"
    assert info.ids == (made.id, other.id)
    assert info.cwd == str(tmp_path)


def test_copies_of_one_origin_are_one_session_named_by_the_oldest(home: Path, tmp_path: Path) -> None:
    made = session(home, tmp_path)
    first = made.branch("one")
    second = first.branch("two")
    second.turn("further")
    info = only("claude", tmp_path)
    assert info.id == made.id
    assert info.files[0] == str(made.file)
    assert set(info.ids) == {made.id, first.id, second.id}
    assert info.title == "Do it"


def test_a_branch_that_begins_at_a_compaction_is_known_by_its_origin(home: Path, tmp_path: Path) -> None:
    made = session(home, tmp_path)
    made.compact()
    other = made.branch()
    kept = other.file.read_bytes().splitlines(keepends=True)
    start = next(number for number, line in enumerate(kept) if b"compact_boundary" in line)
    other.file.write_bytes(b"".join(kept[start:]))
    assert only("claude", tmp_path).ids == (made.id, other.id)


def test_sources_are_all_files_of_a_session(home: Path, tmp_path: Path) -> None:
    made = session(home, tmp_path)
    inner = made.subagent("look")
    beside = made.file.parent / "agent-old.jsonl"
    beside.write_bytes(inner.file.read_bytes())
    (made.file.parent / "agent-foreign.jsonl").write_text(json.dumps({"uuid": "x", "sessionId": str(uuid.uuid4())}))
    names = {source.name for source in claude.sources(only("claude", tmp_path))}
    assert names == {
        str(made.file),
        str(inner.file),
        str(inner.file.with_suffix(".meta.json")),
        str(beside),
    }
