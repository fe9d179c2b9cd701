"""The whole text of an entry of Gemini CLI's, and what else its record tells."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from forkpoint.store import agents
from forkpoint.store.model import Block, Conversation, Entry

from tests.builders.gemini import GeminiSession, Job, as_json

gemini = agents.get("gemini")

Read = Callable[[], Conversation]


def shown(read: Read, kind: str, number: int = 0) -> list[Block]:
    return gemini.blocks(entry(read, kind, number))


def entry(read: Read, kind: str, number: int = 0) -> Entry:
    return [item for item in read().entries if item.kind == kind][number]


def test_a_prompt_in_full_and_what_the_model_was_given(session: GeminiSession, read: Read) -> None:
    session.prompt("One\nTwo \x1b[2J")
    parts = [{"text": "Explain @a.py"}, {"text": "x = 1"}, {"inlineData": {"mimeType": "image/png", "data": "A" * 400}}]
    session.message("user", parts, displayContent=[{"text": "Explain @a.py"}])
    assert shown(read, "prompt") == [Block("text", "One\nTwo ␛[2J")]
    assert shown(read, "prompt", 1) == [
        Block("text", "Explain @a.py"),
        Block("text", "Explain @a.py\nx = 1", "what the model was given"),
        Block("image", "image/png, 0 kB"),
    ]


def test_thoughts_and_replies(session: GeminiSession, read: Read) -> None:
    session.prompt("Do")
    thoughts = [{"subject": "First", "description": "look"}, {"subject": "Then", "description": "act"}]
    session.reply("I look\nand act", thoughts=thoughts)
    assert shown(read, "reply") == [Block("thinking", "First\nlook")]
    assert shown(read, "reply", 1) == [Block("thinking", "Then\nact")]
    assert shown(read, "reply", 2) == [Block("text", "I look\nand act")]


def test_calls_and_what_they_gave(session: GeminiSession, read: Read, shop: Path) -> None:
    (shop / "a.txt").write_text("one\n")
    session.prompt("Do")
    session.replace("a.txt", "one", "two")
    session.calls([session.writing("b.txt", "b\n")])
    session.calls([Job("run_shell_command", {"command": "ls -l"}, "<untrusted_context>\nOutput: a.txt", "a.txt")])
    session.tool("mcp_x_go", {"deep": {"er": 1}}, "gone", shown={"todos": []})
    assert shown(read, "tool_call") == [Block("diff", "-one\n+two", f"replace {shop / 'a.txt'}")]
    result = shown(read, "tool_result")
    assert result[0].text.startswith("Successfully modified")
    assert (result[1].kind, result[1].title) == ("diff", str(shop / "a.txt"))
    assert result[1].text.startswith("@@ -1,1 +1,1 @@")
    assert shown(read, "tool_call", 1) == [Block("tool_input", "b\n", f"write_file {shop / 'b.txt'}")]
    assert shown(read, "tool_call", 2) == [Block("tool_input", "ls -l", "run_shell_command")]
    assert shown(read, "tool_result", 2) == [Block("tool_output", "a.txt", "run_shell_command")]
    assert '"er": 1' in shown(read, "tool_call", 3)[0].text
    assert shown(read, "tool_result", 3)[0] == Block("tool_output", "gone", "mcp_x_go")


def test_calls_that_stand_in_the_content_alone(session: GeminiSession, read: Read) -> None:
    session.prompt("Do")
    call = {"functionCall": {"id": "c1", "name": "run_shell_command", "args": {"command": "ls"}}}
    answer = {"functionResponse": {"id": "c1", "name": "run_shell_command", "response": {"output": "a.txt\nb.txt"}}}
    session.message("gemini", [{"text": "I look"}, call])
    session.message("user", [answer])
    assert shown(read, "tool_call") == [Block("tool_input", "ls", "run_shell_command")]
    assert shown(read, "tool_result") == [Block("tool_output", "a.txt\nb.txt", "run_shell_command")]


def test_facts(session: GeminiSession, read: Read) -> None:
    session.prompt("Do")
    session.tool("run_shell_command", {"command": "ls"}, text="I look")
    facts = gemini.facts(entry(read, "tool_result"))
    assert facts["model"] == "gemini-2.5-flash"
    assert (facts["tokens in"], facts["tokens out"], facts["status"]) == ("12000", "20", "success")
    assert facts["session"] == session.id
    assert facts["file"] == str(session.file)


def test_a_record_of_the_old_form_stands_on_many_lines(session: GeminiSession, read: Read) -> None:
    session.prompt("One")
    session.tool("run_shell_command", {"command": "ls"}, "a.txt")
    as_json(session)
    assert shown(read, "prompt") == [Block("text", "One")]
    assert shown(read, "tool_result") == [Block("tool_output", "a.txt", "run_shell_command")]


def test_a_record_that_is_gone_is_shown_as_such(session: GeminiSession, read: Read) -> None:
    session.prompt("One")
    found = entry(read, "prompt")
    session.file.unlink()
    assert gemini.blocks(found) == [Block("raw", "The record is no longer there.")]
    assert gemini.facts(found)["session"] == session.id
