"""A session that grows, is brought to a newer form, or is another one than it was."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from forkpoint.store import agents
from forkpoint.store.agents.base import Source
from forkpoint.store.agents.pi.reader import follow
from forkpoint.store.model import SessionInfo

from tests.builders.pi import PiSession
from tests.builders.reading import only

pi = agents.get("pi")


def former(source: Source, kept: Path) -> Sequence[Source]:
    """A file with a former version of it, as the store gives them."""
    return [replace(pi.sources(only_of(kept))[0], name=f"{source.name}@1", former=source.name), source]


def only_of(file: Path) -> SessionInfo:
    return SessionInfo("x", "pi", "", 0, 0, (str(file),), ("x",))


def migrated(old: PiSession) -> None:
    """What Pi does when it opens a session of version 1: every record gets an id, the file is written anew."""
    newer = PiSession(old.home, old.cwd, id="newer")
    for record in old.records:
        newer.now = old.now
        fields = {name: value for name, value in record.items() if name not in ("type", "timestamp")}
        newer.append(record["type"], **fields)
    text = newer.file.read_text().splitlines()
    text[0] = text[0].replace('"newer"', f'"{old.id}"')
    for number, record in enumerate(old.records, 1):
        stamp = newer.records[number - 1]["timestamp"]
        text[number] = text[number].replace(stamp, record["timestamp"])
    old.file.write_text("\n".join(text) + "\n")
    newer.file.unlink()


def test_what_is_new_is_read_on(session: PiSession, shop: Path) -> None:
    following = follow()
    session.turn("One")
    assert following.read(only("pi", shop), pi.sources(only("pi", shop))) == pi.read(only("pi", shop))
    place = session.leaf
    for step in range(4):
        session.turn(f"Turn {step}")
        if step == 2:
            session.rewind(place)
            session.label(place or "", "here")
        assert following.read(only("pi", shop), pi.sources(only("pi", shop))) == pi.read(only("pi", shop))


def test_half_a_line_waits_for_its_other_half(session: PiSession, shop: Path) -> None:
    following = follow()
    session.turn("One")
    whole = session.file.read_bytes()
    session.turn("Two")
    rest = session.file.read_bytes()[len(whole) :]
    for cut in (10, len(rest) // 2, len(rest) - 1, len(rest)):
        session.file.write_bytes(whole + rest[:cut])
        os.truncate(session.file, len(whole) + cut)
        assert following.read(only("pi", shop), pi.sources(only("pi", shop))) == pi.read(only("pi", shop))
    assert len(pi.read(only("pi", shop)).entries) == 4


def test_a_file_that_shrank_is_read_again(session: PiSession, shop: Path) -> None:
    following = follow()
    session.turn("One")
    size = session.file.stat().st_size
    session.turn("Two")
    assert len(following.read(only("pi", shop), pi.sources(only("pi", shop))).entries) == 4
    os.truncate(session.file, size)
    assert [entry.text for entry in following.read(only("pi", shop), pi.sources(only("pi", shop))).entries] == [
        "One",
        "Done.",
    ]


def test_a_file_that_is_gone_meanwhile_is_told(session: PiSession, shop: Path) -> None:
    session.turn("One")
    info, sources = only("pi", shop), pi.sources(only("pi", shop))
    session.file.unlink()
    found = pi.read(info, sources)
    assert found.entries == ()
    assert "cannot be read" in found.info.problem


def test_what_was_brought_to_a_newer_form_is_shown_once(home: Path, shop: Path, tmp_path: Path) -> None:
    old = PiSession(home, shop, version=1)
    old.turn("One")
    old.turn("Two")
    kept = tmp_path / "kept.jsonl"
    kept.write_bytes(old.file.read_bytes())
    migrated(old)
    (source,) = pi.sources(only("pi", shop))
    found = pi.read(only("pi", shop), former(source, kept))
    assert [entry.text for entry in found.entries] == ["One", "Done.", "Two", "Done."]
    assert {entry.span.file for entry in found.entries if entry.span} == {source.name}
    assert found.leaf == found.entries[-1].id
    assert source.ids is not None
    with open(kept, "rb") as before, source.open() as after:
        assert source.ids(before) == source.ids(after)


def test_what_only_a_former_version_has_is_a_branch_that_was_left(
    session: PiSession, shop: Path, tmp_path: Path
) -> None:
    session.turn("One")
    place, size = session.leaf, session.file.stat().st_size
    session.turn("Lost")
    kept = tmp_path / "kept.jsonl"
    kept.write_bytes(session.file.read_bytes())
    os.truncate(session.file, size)
    session.rewind(place)
    session.turn("Two")
    (source,) = pi.sources(only("pi", shop))
    found = pi.read(only("pi", shop), former(source, kept))
    assert sorted(entry.text for entry in found.entries if entry.kind == "prompt") == ["Lost", "One", "Two"]
    parents = {entry.text: entry.parent for entry in found.entries if entry.kind == "prompt"}
    assert parents["Lost"] == parents["Two"] == place
    assert found.leaf == session.leaf
