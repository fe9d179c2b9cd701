"""A sixth agent is one new file: it is listed, read, kept, gone back in, forked and gone on with as the others are."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from inspect import signature
from pathlib import Path

import pytest
from forkpoint.store import agents
from forkpoint.store.agents.base import Agent

from tests.builders.cli import forkpoint

ABACUS = '''
"""Abacus: a file of lines for each session, `~/.abacus/<id>.jsonl`; a line has who, text, time and folder."""

import json
import os
import zlib
from dataclasses import replace
from pathlib import Path

from ..model import Conversation, Entry, SessionInfo, Span
from .base import Fork
from .forms.belonging import Belonging
from .forms.newfile import point_of
from .forms.regular import names_in

NAME = "abacus"
TITLE = "Abacus"
KINDS = {"person": "prompt", "abacus": "reply"}


def home():
    return os.path.expanduser("~/.abacus")


def detect():
    return os.path.isdir(home())


def sessions(root, nested=()):
    here, found = Belonging(root, nested), []
    for name in names_in(home()):
        file = os.path.join(home(), name)
        lines = [json.loads(line) for line in Path(file).read_bytes().splitlines()]
        if here.has(lines[0]["cwd"]):
            uid, newest = name.removesuffix(".jsonl"), lines[-1]["time"]
            title, size = lines[0]["text"], os.stat(file).st_size
            found.append(SessionInfo(uid, NAME, title, newest, size, (file,), (uid,), lines[0]["cwd"]))
    return sorted(found, key=lambda info: -info.updated)


def read(info, sources):
    entries, known, leaves = [], {}, {}
    for source, session in zip(sources, info.ids):
        before, offset = None, 0
        with source.open() as file:
            for line in file:
                uid = f"{before or 'start'}/{zlib.crc32(line):x}"  # what was copied is the same
                if uid not in known:
                    told, span = known.setdefault(uid, json.loads(line)), Span(source.file, offset, len(line) - 1)
                    entry = Entry(uid, before, KINDS[told["who"]], told["time"], told["text"], session, span=span)
                    entries.append(entry)
                before, offset = uid, offset + len(line)
        leaves[session] = before
    return Conversation(replace(info, entries=len(entries)), tuple(entries), before, leaves)


def plan_fork(conversation, entry, wanted):
    point = point_of(conversation, entry)
    end = point.span.offset + (0 if wanted.leaves_out(point) else point.span.length + 1)
    with next(source for source in wanted.sources if source.name == point.span.file).open() as file:
        data = file.read(end)
    new = wanted.session or f"fork-{end}"
    kept = [item for item in conversation.entries if item.span.offset < end]
    text = point.text if wanted.hands_back(point) else ""
    return Fork(new, os.path.join(home(), f"{new}.jsonl"), data, point.span.file, kept[-1].id, len(kept), text)


def resume_command(session, cwd, *, fresh=False):
    return ("abacus", "--go-on", session), cwd
'''


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The one new file; where it is found an agent's own folder would be."""
    folder = tmp_path / "agents"
    folder.mkdir()
    made = folder / "abacus.py"
    made.write_text(ABACUS)
    monkeypatch.setattr(agents, "__path__", [*agents.__path__, str(folder)])
    yield made
    sys.modules.pop(f"{agents.__name__}.abacus", None)


@pytest.fixture
def shop(tmp_path: Path, machine: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which Abacus was asked two things."""
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "sum.txt").write_text("1\n")
    monkeypatch.chdir(folder)
    said = [("person", "Add two"), ("abacus", "Added."), ("person", "Now three"), ("abacus", "Done.")]
    lines = [
        {"who": who, "text": text, "time": (1_764_500_000 + number) * 10**9, "cwd": str(folder)}
        for number, (who, text) in enumerate(said)
    ]
    (machine / ".abacus").mkdir()
    (machine / ".abacus" / "sums.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def test_it_is_listed_read_and_gone_on_with(shop: Path) -> None:
    assert agents.in_use() == ("abacus",)
    listed = forkpoint("sessions", "--json").json
    assert [(item["agent"], item["id"], item["title"], item["problem"]) for item in listed] == [
        ("abacus", "sums", "Add two", "")
    ]
    assert "Abacus" in forkpoint("sessions").out
    told = forkpoint("log", "--json").json
    assert [(entry["kind"], entry["text"]) for entry in told["entries"]] == [
        ("prompt", "Add two"),
        ("reply", "Added."),
        ("prompt", "Now three"),
        ("reply", "Done."),
    ]
    assert forkpoint("resume", "--json").json["command"] == ["abacus", "--go-on", "sums"]


def test_its_session_is_forked_and_the_fork_is_the_same_tree_until_an_undo(shop: Path, machine: Path) -> None:
    second = forkpoint("log", "--json").json["entries"][2]["id"]
    made = forkpoint("fork", second, "--json")
    assert made.code == 0, made.err
    written = machine / ".abacus" / f"{made.json['session']}.jsonl"
    assert made.json["command"] == ["abacus", "--go-on", made.json["session"]]
    assert written.read_bytes() == b"".join((machine / ".abacus" / "sums.jsonl").read_bytes().splitlines(True)[:2])
    (session,) = forkpoint("sessions", "--json").json
    assert session["id"] == "sums"
    assert [branch["origin"] for branch in forkpoint("branches", "--json").json] == ["", "forkpoint"]
    assert forkpoint("undo", "--yes").code == 0
    assert not written.exists()


def test_its_session_is_kept_and_shown_when_its_file_is_gone(shop: Path, machine: Path) -> None:
    assert forkpoint("save", "--session", "abacus:sums").code == 0
    assert len(forkpoint("log", "--json").json["entries"]) == 4
    (machine / ".abacus" / "sums.jsonl").unlink()
    (session,) = [item for item in forkpoint("sessions", "--json").json if item["agent"] == "abacus"]
    assert "deleted its file" in session["problem"]
    assert len(forkpoint("log", "--json").json["entries"]) == 4


def test_what_it_does_not_have_is_told_and_stops_nobody(shop: Path, machine: Path) -> None:
    (machine / ".codex").mkdir()
    done = forkpoint("install", "--yes")
    assert "Abacus" in done.out and "record it with forkpoint run" in done.out, done.out
    assert (machine / ".codex" / "hooks.json").exists()
    assert forkpoint("uninstall", "--yes").code == 0
    assert "Abacus" in forkpoint("doctor").out


def test_every_function_of_an_agent_can_be_called_as_the_protocol_says() -> None:
    for name in agents.names():
        agent = agents.get(name)
        for function, wanted in vars(Agent).items():
            if function.startswith("_") or not callable(wanted):
                continue
            parameters = list(signature(wanted).parameters.values())[1:]
            found = signature(getattr(agent, function)).parameters
            for parameter in parameters:
                assert parameter.name in found or parameter.kind == parameter.POSITIONAL_OR_KEYWORD, (name, function)
            assert len(parameters) <= len(found), (name, function)
