"""A session of Gemini CLI that is followed is at each moment what it would be if it were read anew."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from forkpoint.store import agents
from forkpoint.store.agents.base import Source
from forkpoint.store.agents.forms import jsonl
from forkpoint.store.agents.forms.following import Following
from forkpoint.store.agents.forms.regular import open_regular
from forkpoint.store.agents.gemini.reader import follow

from tests.builders.gemini import GeminiSession, as_json

gemini = agents.get("gemini")


def a_life(session: GeminiSession) -> list[Callable[[], object]]:
    """What happens to a session, one thing after the other."""
    agents: list[GeminiSession] = []

    def rewind() -> None:
        session.rewind(next(m["id"] for m in session.listed if m["content"] == [{"text": "Two"}]))

    return [
        lambda: session.prompt("One"),
        lambda: session.write("a.txt", "a\n", "I write"),
        lambda: session.prompt("Two"),
        lambda: session.reply("Second"),
        rewind,
        lambda: session.prompt("Three"),
        lambda: agents.append(session.sub_agent("generalist", "Write sub.txt")),
        lambda: agents[0].write("sub.txt", "s\n"),
        session.begin,
        session.resume,
        lambda: session.prompt("Four"),
        lambda: session.compress("so far", keep=1),
        lambda: session.prompt("Five"),
        lambda: session.raw(b"not a record\n"),
        lambda: session.restore(3),
        lambda: session.prompt("Six"),
        lambda: session.raw(b'{"id":"torn'),
        lambda: session.raw(b' off"\n'),
        lambda: session.reply("Sixth"),
    ]


def same(following: Following, shop: Path) -> None:
    (info,) = gemini.sessions(str(shop))
    sources = gemini.sources(info)
    assert following.read(info, sources) == gemini.read(info, sources)


def test_at_each_step_of_its_life(session: GeminiSession, shop: Path) -> None:
    following = follow()
    for step in a_life(session):
        step()
        same(following, shop)


def test_at_each_byte_that_comes(session: GeminiSession, shop: Path) -> None:
    for step in a_life(session):
        step()
    data, following = session.file.read_bytes(), follow()
    at = data.index(b"One") + 200
    session.file.write_bytes(data[:at])
    for place in range(at, len(data), 97):
        with open(session.file, "ab") as stream:
            stream.write(data[place : place + 97])
        same(following, shop)


def test_a_file_that_shrank_or_was_replaced_is_read_again(session: GeminiSession, shop: Path) -> None:
    following = follow()
    for text in ("One", "Two", "Three"):
        session.prompt(text)
    same(following, shop)
    lines = session.file.read_bytes().splitlines(keepends=True)
    session.file.write_bytes(b"".join(lines[:4]))
    same(following, shop)
    session.file.unlink()
    session.file.write_bytes(b"".join(lines))
    same(following, shop)


def test_only_what_is_new_is_read(session: GeminiSession, shop: Path, monkeypatch) -> None:
    following = follow()
    for number in range(50):
        session.prompt(f"Prompt {number}")
    (info,) = gemini.sessions(str(shop))
    sources = gemini.sources(info)
    following.read(info, sources)
    session.prompt("The last")
    read: list[int] = []
    original = jsonl._lines

    def counted(file, start: int):
        for item in original(file, start):
            read.append(item[2])
            yield item

    monkeypatch.setattr(jsonl, "_lines", counted)
    assert following.read(info, sources).entries[-1].text == "The last"
    assert len(read) == 2, "the prompt and its time"


def test_a_session_of_the_old_form_is_read_anew_when_it_changed(session: GeminiSession, shop: Path) -> None:
    following = follow()
    session.prompt("One")
    file = as_json(session)
    same(following, shop)
    file.write_text(file.read_text().replace('"One"', '"Another"'))
    same(following, shop)


def test_what_only_a_former_version_told_is_a_branch_that_was_left(session: GeminiSession, shop: Path) -> None:
    session.prompt("One")
    session.reply("First")
    session.prompt("Two")
    whole = session.listed
    file = as_json(session)
    before = file.read_bytes()
    session.listed = whole[:2]
    session.raw(b'{"sessionId":"x"}\n')
    session.prompt("Otherwise")
    now = as_json(session)
    now.write_text(now.read_text().replace('"sessionId": "x"', f'"sessionId": "{session.id}"'))
    (info,) = gemini.sessions(str(shop))
    (source,) = gemini.sources(info)
    kept = shop / "kept"
    kept.write_bytes(before)
    old = Source(f"{source.name}~1", partial(open_regular, str(kept)), grows=False, former=source.name)
    found = gemini.read(info, [old, source])
    assert [entry.text for entry in found.entries] == ["One", "First", "Two", "Otherwise"]
    by_text = {entry.text: entry for entry in found.entries}
    assert by_text["Two"].parent == by_text["Otherwise"].parent
    assert found.leaf == by_text["Otherwise"].id
    assert by_text["One"].span is not None
    assert by_text["One"].span.file == source.name
