"""The whole of an entry, and what else its record tells."""

from __future__ import annotations

from pathlib import Path

import pytest
from forkpoint.store import agents
from forkpoint.store.model import Block, Entry

from tests.builders.claude import MODEL, VERSION, ClaudeSession

claude = agents.get("claude")


@pytest.fixture
def session(tmp_path: Path, machine: Path) -> ClaudeSession:
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
    made = ClaudeSession(machine / "claude", tmp_path)
    made.prompt("Start\n\nwith *this*")
    return made


def entries(session: ClaudeSession) -> list[Entry]:
    (info,) = claude.sessions(str(session.cwd))
    return list(claude.read(info).entries)


def last(session: ClaudeSession) -> list[Block]:
    return claude.blocks(entries(session)[-1])


def test_a_prompt_and_a_reply_are_their_whole_text(session: ClaudeSession) -> None:
    session.reply("A reply\nof \x1b[31mtwo\x1b[0m lines\twith \x07")
    prompt, reply = entries(session)
    assert claude.blocks(prompt) == [Block("text", "Start\n\nwith *this*")]
    assert claude.blocks(reply) == [Block("text", "A reply\nof two lines\twith ␇")]


def test_thinking_is_told_apart(session: ClaudeSession) -> None:
    session.reply("Done.", thinking="Let me\nthink.")
    assert claude.blocks(entries(session)[1]) == [Block("thinking", "Let me\nthink.")]


def test_an_edit_is_a_diff_and_its_result_the_patch(session: ClaudeSession) -> None:
    session.edit("a.txt", "two", "2\n2b")
    call, result = entries(session)[-2:]
    target = str(session.cwd / "a.txt")
    assert claude.blocks(call) == [Block("diff", "-two\n+2\n+2b", f"Edit {target}")]
    told, patch = claude.blocks(result)
    assert (told.kind, told.title) == ("tool_output", "Edit")
    assert patch == Block("diff", "@@ -1,3 +1,4 @@\n one\n-two\n+2\n+2b\n three", target)


def test_inputs_are_shown_by_what_matters_in_them(session: ClaudeSession) -> None:
    session.tool("Bash", {"command": "make\ntest", "description": "x"}, answered=False)
    assert last(session) == [Block("tool_input", "make\ntest", "Bash")]
    session.tool("Write", {"file_path": "/x", "content": "1\n2\n"}, answered=False)
    assert last(session) == [Block("tool_input", "1\n2\n", "Write /x")]
    session.tool("Agent", {"description": "job", "prompt": "Do\nit"}, answered=False)
    assert last(session) == [Block("tool_input", "Do\nit", "Agent job")]
    session.tool("mcp__x__y", {"deep": {"é": [1]}}, answered=False)
    assert last(session) == [Block("tool_input", '{\n  "deep": {\n    "é": [\n      1\n    ]\n  }\n}', "mcp__x__y")]


def test_results_are_whole_with_images_named(session: ClaudeSession) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 4000}}
    session.tool("Read", {"file_path": "/x"}, [{"type": "text", "text": "line 1\nline 2"}, image])
    assert last(session) == [Block("tool_output", "line 1\nline 2", "Read"), Block("image", "image/png, 3 kB")]


def test_an_output_that_was_spilled_is_read_from_its_file(session: ClaudeSession) -> None:
    spilled = session.file.parent / session.id / "tool-results" / "t1.txt"
    spilled.parent.mkdir(parents=True)
    spilled.write_text("all of it\n")
    result = {"stdout": "", "persistedOutputPath": "/elsewhere/on/another/machine/t1.txt"}
    session.tool("Bash", {"command": "x"}, "Output too large", result=result)
    assert last(session)[-1] == Block("tool_output", "all of it\n", "the whole output")
    spilled.unlink()
    assert last(session) == [Block("tool_output", "Output too large", "Bash")]


def test_what_the_shell_changed_is_shown_as_claude_noticed_it(session: ClaudeSession) -> None:
    hunk = {"oldStart": 0, "oldLines": 0, "newStart": 1, "newLines": 1, "lines": ["+x"]}
    result = {"bashEditDiff": {"files": [{"filePath": "/p/x", "hunks": [hunk]}], "changedFiles": ["/p/x"]}}
    session.tool("Bash", {"command": "echo x > x"}, "(no output)", result=result)
    assert last(session)[-1] == Block("diff", "@@ -0,0 +1,1 @@\n+x", "/p/x")


def test_commands_are_shown_as_they_were_typed(session: ClaudeSession) -> None:
    session.command("model", "Set \x1b[1mmodel", "fast")
    session.shell("ls -l", "total 0\n")
    session.command_prompt("review", "Review.", "src")
    session.queued("and this\ntoo")
    shown = [claude.blocks(entry)[0].text for entry in entries(session)[1:]]
    assert shown == ["/model fast", "Set model", "! ls -l", "total 0", "/review src", "and this\ntoo"]


def test_a_summary_is_shown_in_full(session: ClaudeSession) -> None:
    session.compact("Point 1.\nPoint 2.")
    assert last(session)[0].text.endswith("Point 1.\nPoint 2.")


def test_what_is_not_known_is_shown_as_it_stands(session: ClaudeSession) -> None:
    session.line({"type": "x-tool", "note": "\x1b]0;x\x07"})
    (block,) = last(session)
    assert block.kind == "raw"
    assert '"note": "\\u001b]0;x\\u0007"' in block.text


def test_a_record_that_is_gone_is_said_to_be(session: ClaudeSession) -> None:
    (prompt,) = entries(session)
    session.file.unlink()
    assert claude.blocks(prompt) == [Block("raw", "The record is no longer there.")]
    assert "model" not in claude.facts(prompt)


def test_facts_are_words_for_people(session: ClaudeSession) -> None:
    session.reply("Hello.")
    facts = claude.facts(entries(session)[-1])
    assert facts["model"] == MODEL
    assert facts["version"] == VERSION
    assert facts["tokens in"] == "14326"
    assert facts["folder"] == str(session.cwd)
