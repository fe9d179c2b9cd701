"""The whole text of an entry, and what else its record tells, wherever the record stands by now."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest
from forkpoint.store import agents
from forkpoint.store.agents.opencode.listing import open_file
from forkpoint.store.model import Block, Entry

from tests.builders.opencode import Act, Json, OpenCode, OpenCodeSession

agent = agents.get("opencode")


@pytest.fixture
def session(opencode: OpenCode, project: Path) -> OpenCodeSession:
    return opencode.session(project)


def entries(session: OpenCodeSession) -> tuple[Entry, ...]:
    (info,) = agent.sessions(str(session.cwd))
    return agent.read(info).entries


def call_and_result(session: OpenCodeSession, act: Act) -> tuple[list[Block], list[Block]]:
    session.prompt("Go")
    session.answer("", act)
    _, call, result = entries(session)
    return agent.blocks(call), agent.blocks(result)


def test_a_prompt_is_shown_with_all_that_was_attached(session: OpenCodeSession) -> None:
    session.prompt(
        "One\ntwo\x1b[2J",
        {"type": "file", "mime": "image/png", "filename": "a.png", "url": "data:image/png;base64," + "A" * 4000},
        {"type": "file", "mime": "text/plain", "filename": "b.txt", "url": "file:///b.txt"},
        {"type": "text", "text": "Called the Read tool", "synthetic": True},
        {"type": "agent", "name": "general"},
    )
    (prompt,) = entries(session)
    assert agent.blocks(prompt) == [
        Block("text", "One\ntwo\u241b[2J"),
        Block("image", "image/png, 3 kB", "a.png"),
        Block("image", "text/plain file:///b.txt", "b.txt"),
        Block("text", "@general"),
    ]


def test_a_written_file_a_replaced_text_and_a_patch(session: OpenCodeSession) -> None:
    written, said = call_and_result(session, Act("write", {"filePath": "/a.txt", "content": "x\ny"}, "Wrote."))
    assert written == [Block("tool_input", "x\ny", "write /a.txt")]
    assert said == [Block("tool_output", "Wrote.", "write")]


def test_an_edit_shows_what_it_changed(session: OpenCodeSession) -> None:
    told = {"diff": "@@ -1 +1 @@\n-a\n+b\n", "filediff": {"file": "/a.txt", "patch": "…"}}
    given = {"filePath": "/a.txt", "oldString": "a", "newString": "b"}
    call, result = call_and_result(session, Act("edit", given, "Edited.", metadata=told))
    assert call == [Block("diff", "-a\n+b", "edit /a.txt")]
    assert result[1] == Block("diff", "@@ -1 +1 @@\n-a\n+b", "/a.txt")


def test_an_edit_of_earlier_versions_has_the_texts_before_and_after(session: OpenCodeSession) -> None:
    told = {"filediff": {"file": "/a.txt", "before": "a\n", "after": "b\n"}}
    _, result = call_and_result(session, Act("edit", {"filePath": "/a.txt"}, metadata=told))
    assert result[1] == Block("diff", "-a\n+b", "/a.txt")


CALLS: list[tuple[str, Json, Block]] = [
    ("bash", {"command": "a\nb"}, Block("tool_input", "a\nb", "bash")),
    ("apply_patch", {"patchText": "*** Add File: a"}, Block("diff", "*** Add File: a", "apply_patch")),
    (
        "multiedit",
        {"filePath": "/a", "edits": [{"oldString": "a", "newString": ""}]},
        Block("diff", "-a", "multiedit /a"),
    ),
    ("task", {"prompt": "Do it", "description": "job"}, Block("tool_input", "Do it", "task")),
    ("glob", {"pattern": "*"}, Block("tool_input", '{\n  "pattern": "*"\n}', "glob")),
]


@pytest.mark.parametrize(("tool", "given", "block"), CALLS, ids=lambda value: value if isinstance(value, str) else "")
def test_what_a_call_was_given(tool: str, given: Json, block: Block, session: OpenCodeSession) -> None:
    assert call_and_result(session, Act(tool, given))[0] == [block]


def test_an_error_a_thought_and_a_part_that_is_not_known(session: OpenCodeSession) -> None:
    session.prompt("Go")
    uid = session.answer("", Act("bash", {"command": "x"}, "exit 3", status="error"), error={"name": "APIError"})
    session.part(uid, {"type": "reasoning", "text": "Hm\nhm"})
    session.part(uid, {"type": "hologram", "size": 3})
    shown = {entry.flavour or entry.kind: agent.blocks(entry) for entry in entries(session)}
    assert shown["tool_result"] == [Block("tool_output", "exit 3", "bash")]
    assert shown["thinking"] == [Block("thinking", "Hm\nhm")]
    assert shown["unknown"] == [Block("raw", '{\n  "type": "hologram",\n  "size": 3\n}')]
    assert shown["api-error"] == [Block("raw", '{\n  "name": "APIError"\n}')]


def test_facts_tell_what_the_record_has(session: OpenCodeSession) -> None:
    session.turn("Go", "Done.", Act("bash", {"command": "x"}))
    prompt, _, _, result, _ = entries(session)
    told = agent.facts(prompt)
    assert (told["model"], told["provider"], told["agent"]) == ("stub-model", "stub", "build")
    assert agent.facts(result)["status"] == "completed" and agent.facts(result)["took"].endswith(" s")
    assert told["session"] == session.id and told["file"].endswith(f"opencode.db#{session.id}")


def test_a_record_is_found_by_its_id_though_the_session_was_written_anew(session: OpenCodeSession) -> None:
    session.turn("Go", "Done.")
    _, reply = entries(session)
    name = reply.span.file if reply.span else ""
    session.opencode.run("UPDATE part SET data = replace(data, 'Go', 'Go and go on and on') WHERE data LIKE '%Go%'")
    with open_file(name) as stream:
        data = stream.read()
    session.opencode.database.unlink()
    for opened in (data, b'{"kind":"problem","what":"odd"}\n' + data):
        assert agent.blocks(reply, lambda _, opened=opened: BytesIO(opened)) == [Block("text", "Done.")]


def test_a_record_that_is_gone_is_told(session: OpenCodeSession) -> None:
    session.turn("Go", "Done.")
    shown = entries(session)
    session.opencode.database.unlink()
    for entry in shown:
        assert agent.blocks(entry) == [Block("raw", "The record is no longer there.")]
        assert agent.facts(entry)["record"] == entry.id


def test_the_notice_of_a_revert_is_its_own_text(session: OpenCodeSession) -> None:
    session.turn("Go", "Done.")
    session.revert(session.turn("Two", "Second."))
    notice = entries(session)[-1]
    assert agent.blocks(notice) == [Block("text", notice.text)]
    assert "model" not in agent.facts(notice)
