"""Databases and records as they should not be: told, never raised, and never a session silently missing."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from pathlib import Path

import pytest
from forkpoint.store import agents
from forkpoint.store.agents.opencode import database, tables
from forkpoint.store.model import Conversation, SessionInfo

from tests.builders.opencode import OpenCode, OpenCodeSession

agent = agents.get("opencode")


def sessions(project: Path) -> list[SessionInfo]:
    return agent.sessions(str(project))


def texts(conversation: Conversation) -> list[str]:
    return [entry.text for entry in conversation.entries]


@pytest.fixture
def session(opencode: OpenCode, project: Path) -> OpenCodeSession:
    made = opencode.session(project)
    made.turn("One", "First.")
    return made


def only_problem(project: Path) -> str:
    """Why the only database cannot be read, as the list tells it."""
    (info,) = sessions(project)
    assert (info.title, info.updated, agent.sources(info)) == ("OpenCode's opencode.db", 0, [])
    assert agent.read(info).entries == ()
    return info.problem


# --- databases


def test_one_that_is_no_database_is_listed_as_what_it_is(session: OpenCodeSession, project: Path) -> None:
    for name in ("opencode.db-wal", "opencode.db-shm"):
        (session.opencode.home / name).unlink(missing_ok=True)
    session.opencode.database.write_bytes(b"this is no database, but long enough to be looked at as one " * 100)
    assert "not a database" in only_problem(project)


def test_an_empty_file_is_told(session: OpenCodeSession, project: Path) -> None:
    for name in ("opencode.db-wal", "opencode.db-shm"):
        (session.opencode.home / name).unlink(missing_ok=True)
    session.opencode.database.write_bytes(b"")
    assert only_problem(project) == "the database is empty"


@pytest.mark.parametrize("change", ["ALTER TABLE part RENAME TO piece", "ALTER TABLE message RENAME data TO body"])
def test_a_version_that_was_never_seen_is_told_by_what_is_missing(
    change: str, session: OpenCodeSession, project: Path
) -> None:
    session.opencode.run(change)
    assert "of a version that is not known here (no " in only_problem(project)


def test_columns_that_are_new_or_gone_do_not_matter(session: OpenCodeSession, project: Path) -> None:
    session.opencode.run("ALTER TABLE session ADD COLUMN mood text DEFAULT 'good'")
    session.opencode.run("ALTER TABLE part ADD COLUMN weight integer")
    for column in ("slug", "summary_diffs", "share_url", "cost"):
        session.opencode.run(f"ALTER TABLE session DROP COLUMN {column}")
    (info,) = sessions(project)
    assert texts(agent.read(info)) == ["One", "First."]


def test_a_database_that_somebody_holds_is_waited_for_and_then_told(
    session: OpenCodeSession, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "PATIENCE", 0.05)
    (info,) = sessions(project)
    (source,) = agent.sources(info)
    session.opencode.run("PRAGMA journal_mode = DELETE")
    holder = session.opencode.connected()
    holder.execute("BEGIN EXCLUSIVE")
    assert "locked" in only_problem(project)
    assert agent.has(info.files[0]), "one that cannot be asked is not taken for one without it"
    assert source.stamp() == (0, 0)
    held = agent.read(info)
    assert (held.entries, "locked" in held.info.problem) == ((), True)
    holder.execute("COMMIT")
    holder.close()
    assert texts(agent.read(info)) == ["One", "First."]


def test_it_is_read_while_it_is_written_and_each_time_as_of_one_moment(session: OpenCodeSession, project: Path) -> None:
    """Each turn has as many parts as its number says: a reader never sees a turn in part."""
    stop = threading.Event()

    def write() -> None:
        with session.opencode.connected() as connection:
            number = 0
            while not stop.is_set() and number < 300:
                number += 1
                connection.execute("BEGIN IMMEDIATE")
                for place in range(2):
                    uid, time = f"msg_{number:08d}{place}", session.opencode.now + number
                    told = json.dumps({"role": "user", "time": {"created": time}})
                    connection.execute("INSERT INTO message VALUES (?, ?, ?, 0, ?)", (uid, session.id, time, told))
                    part = json.dumps({"type": "text", "text": f"{number} {place}"})
                    connection.execute(
                        "INSERT INTO part VALUES (?, ?, ?, 0, 0, ?)", (f"prt_{uid}", uid, session.id, part)
                    )
                connection.execute("COMMIT")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        (info,) = sessions(project)
        seen = 0
        while writer.is_alive() and seen < 20:
            found = agent.read(info)
            seen += 1
            assert (found.problems, len(found.entries) % 2) == ((), 0)
    finally:
        stop.set()
        writer.join()
    assert seen > 0


def test_what_stands_in_the_write_ahead_log_alone_is_read(session: OpenCodeSession, project: Path) -> None:
    with session.opencode.connected() as connection:
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        session.turn("Two", "Second.")
        assert os.path.getsize(f"{session.opencode.database}-wal") > 0
        (info,) = sessions(project)
        assert texts(agent.read(info)) == ["One", "First.", "Two", "Second."]


def test_reading_changes_no_byte_of_the_database_and_its_log(session: OpenCodeSession, project: Path) -> None:
    with session.opencode.connected() as connection:
        connection.execute("SELECT 1 FROM session").fetchone()
        files = [session.opencode.database, Path(f"{session.opencode.database}-wal")]
        before = [(file.read_bytes(), file.stat().st_mtime_ns) for file in files]
        (info,) = sessions(project)
        agent.read(info)
        assert [(file.read_bytes(), file.stat().st_mtime_ns) for file in files] == before


def test_a_torn_page_takes_what_stands_on_it_and_the_rest_is_shown(session: OpenCodeSession, project: Path) -> None:
    for number in range(40):
        session.turn(f"Prompt {number}", "x" * 3000)
    session.opencode.run("PRAGMA wal_checkpoint(TRUNCATE)")
    (info,) = sessions(project)
    whole = len(agent.read(info).entries)
    with session.opencode.connected() as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    data = bytearray(session.opencode.database.read_bytes())
    at = data.find(b"x" * 3000, len(data) * 2 // 3) // 4096 * 4096
    data[at : at + 4096] = b"\xff" * 4096
    session.opencode.database.write_bytes(data)
    (info,) = [item for item in sessions(project) if item.files]
    found = agent.read(info)
    assert "malformed" in found.info.problem or found.info.problem
    assert len(found.entries) < whole


def test_a_file_where_a_folder_may_not_be_written_is_read_from_a_copy(
    session: OpenCodeSession, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As SQLite says it when it cannot join the log: the folder is another person's, or on a disk that is read-only."""
    session.opencode.connected().execute("SELECT 1 FROM session").fetchone()
    path = str(session.opencode.database)
    opened: list[str] = []
    real = tables._open  # pyright: ignore[reportPrivateUsage]

    def refuse(chosen: str) -> sqlite3.Connection:
        opened.append(chosen)
        if chosen == path:
            raise sqlite3.OperationalError("unable to open database file")
        return real(chosen)

    monkeypatch.setattr(tables, "_open", refuse)
    monkeypatch.setattr(os, "access", lambda *_: False)
    held = session.opencode.connected()
    held.execute("PRAGMA wal_autocheckpoint = 0")
    session.turn("Two")
    assert len(database.sessions(path)) == 1
    assert (len(opened), opened[-1] != path, os.path.exists(opened[-1])) == (2, True, False)


# --- records


BROKEN = [
    '{"type":"text","text":"cut of',
    "",
    "null",
    '"a text"',
    "[1, 2]",
    '{"type":"text","text":5}',
    '{"type":"tool","tool":"bash","state":"odd"}',
    '{"type":"tool","callID":7,"state":{"status":"completed","input":"x","output":[1]}}',
    '{"type":"text","text":"\\ud83d alone"}',
    '{"type":"text","text":"one\\u2028line"}',
    '{"type":\r\n "text",\n "text": "pretty"}',
    '{"type":"text","text":"a"}{"type":"text","text":"b"}',
    '{"type":"text","text":"\x1b[31mred"}',
    '{"type":"file"}',
    '{"type":"tool"}',
    '{"type":"retry","attempt":1e999}',
    '{"type":"text","text":"a","time":{"start":-1e999,"end":1e999}}',
    '{"type":"odd","deep":' + "[" * 950 + "]" * 950 + "}",
    '{"type":"odd","deep":' + "[" * 100_000 + "]" * 100_000 + "}",
]


@pytest.mark.parametrize("data", BROKEN, ids=lambda data: data[:40])
def test_a_part_of_any_shape_hides_nothing_else(data: str, session: OpenCodeSession, project: Path) -> None:
    last = session.opencode.run("SELECT id FROM message ORDER BY id DESC LIMIT 1")[0][0]
    session._put("part", ("prt_zz", last, session.id, 0, 0, data))  # pyright: ignore[reportPrivateUsage]
    session.turn("Two", "Second.")
    (info,) = sessions(project)
    found = agent.read(info)
    shown = texts(found)
    assert (shown[:2], shown[-2:]) == (["One", "First."], ["Two", "Second."])
    assert all(text.isprintable() for text in shown)
    for entry in found.entries:
        agent.blocks(entry)
        agent.facts(entry)
    agent.plan_fork(found, found.entries[-1].id, title="alt")


@pytest.mark.parametrize("data", ['{"role":"user","time":{"crea', "", "null", "[]", '{"role":5,"time":"late"}', "{}"])
def test_a_message_of_any_shape_hides_nothing_else(data: str, session: OpenCodeSession, project: Path) -> None:
    time = session.opencode.now
    session._put("message", ("msg_zz", session.id, time, time, data))  # pyright: ignore[reportPrivateUsage]
    session._put("part", ("prt_zz", "msg_zz", session.id, 0, 0, '{"type":"text","text":"odd"}'))  # pyright: ignore[reportPrivateUsage]
    session.turn("Two", "Second.")
    (info,) = sessions(project)
    shown = texts(agent.read(info))
    assert (shown[:2], shown[-2:]) == (["One", "First."], ["Two", "Second."])


DEEP = '{"a":' * 900 + "1" + "}" * 900


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("metadata", DEEP),
        ("metadata", "{"),
        ("model", "[]"),
        ("cost", float("inf")),
        ("tokens_input", float("-inf")),
        ("time_updated", float("inf")),
        ("time_created", "late"),
        ("directory", "/a\0b"),
        ("title", b"\xff\xfe"),
    ],
)
def test_a_session_s_record_of_any_shape_is_listed(
    column: str, value: object, session: OpenCodeSession, project: Path
) -> None:
    other = session.opencode.session(project, title="Other")
    other.turn("Two")
    session.opencode.run(f"UPDATE session SET {column} = ? WHERE id = ?", value, session.id)
    infos = {info.id: info for info in sessions(project)}
    assert other.id in infos and (session.id in infos or column == "directory")
    for info in infos.values():
        found = agent.read(info)
        assert len(found.entries) == 2
        agent.plan_fork(found, found.entries[1].id, title="alt")


def test_bytes_that_are_no_text_are_shown_as_such(session: OpenCodeSession, project: Path) -> None:
    last = session.opencode.run("SELECT id FROM message ORDER BY id DESC LIMIT 1")[0][0]
    data = b'{"type":"text","text":"\xff\x00\xfe"}'
    session.opencode.run(
        "INSERT INTO part VALUES ('prt_zz', ?, ?, 0, 0, CAST(? AS TEXT))", last, session.id, sqlite3.Binary(data)
    )
    (info,) = sessions(project)
    assert texts(agent.read(info))[:2] == ["One", "First."]


def test_a_revert_that_names_nothing_is_passed_over(session: OpenCodeSession, project: Path) -> None:
    for told in ('{"messageID":"msg_nothing"}', "{}", "no json", "[]"):
        session.opencode.run("UPDATE session SET revert = ?", told)
        (info,) = sessions(project)
        found = agent.read(info)
        assert (texts(found), found.leaf) == (["One", "First."], found.entries[-1].id)


def test_an_event_log_of_any_shape_hides_nothing(session: OpenCodeSession, project: Path) -> None:
    for number, (kind, data) in enumerate(
        [
            ("message.removed.1", "no json"),
            ("message.removed.1", '{"messageID":"msg_never"}'),
            ("message.updated.9", '{"info":5}'),
            ("message.removed.2", "{}"),
            ("message.part.updated.1", '{"part":{"id":"prt_x"}}'),
        ]
    ):
        session.opencode.run(
            "INSERT INTO event VALUES (?, ?, ?, ?, ?)", f"e{number}", session.id, 900 + number, kind, data
        )
    (info,) = sessions(project)
    found = agent.read(info)
    assert (texts(found), found.problems) == (["One", "First."], ())


def test_files_of_the_json_storage_that_are_torn_are_told(session: OpenCodeSession, project: Path) -> None:
    file = session.as_files(session.opencode.home / "storage")
    session.opencode.database.unlink()
    parts = sorted((session.opencode.home / "storage" / "part").rglob("*.json"))
    parts[0].write_bytes(parts[0].read_bytes()[:-20])
    parts[-1].write_bytes(b"\0" * 64)
    (info,) = sessions(project)
    found = agent.read(info)
    assert found.problems
    file.write_bytes(b"")
    (info,) = sessions(project)
    assert (info.id, info.updated) == (session.id, file.stat().st_mtime_ns), "its answers tell the folder"
    assert agent.read(info).info.problem == "the session's record cannot be read"


def test_a_conversation_of_another_machine_is_read_and_its_paths_stay_text(opencode: OpenCode, project: Path) -> None:
    session = opencode.session(project)
    session.prompt("One")
    session.answer("", session.shell("true"), path={"cwd": "C:\\work", "root": "C:\\work"})
    (info,) = sessions(project)
    assert texts(agent.read(info)) == ["One", "bash true", "(no output)"]
    assert agent.file_states(agent.read(info), str(project)) == []


def test_a_huge_part_is_listed_and_read(session: OpenCodeSession, project: Path) -> None:
    session.turn("Two", "y" * 20_000_000)
    (info,) = sessions(project)
    found = agent.read(info)
    assert found.entries[-1].text.startswith("yyy") and len(found.entries[-1].text) == 300
    assert len(agent.blocks(found.entries[-1])[0].text) == 20_000_000
