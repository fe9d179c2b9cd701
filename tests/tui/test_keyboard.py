"""What comes from the keyboard that no keyboard should send: bytes that are no text, pastes that look like keys."""

from __future__ import annotations

import os
from pathlib import Path

from tests.builders.app import a_parser, contents
from tests.builders.terminal import Terminal

NO_TEXT = (b"\xff", b"\xc3", b"\x28\xe9\xfe", b"\xed\xa0\x80", bytes(range(0x80, 0x100)))
INDENTED = b"\tname\tnext\t\rwhile it:\r\n\t\tgo on\r\t\r"
PASTED = (b"yes\rrestore both files\ngo on\r" + INDENTED + b"delete it\r\n\x08\x7fundo\r Save it all!\xe9\r") * 20


def test_bytes_that_are_no_utf8_do_not_end_the_app(tmp_path: Path) -> None:
    agent = a_parser(tmp_path / "headers")
    terminal = Terminal(agent.project)
    terminal.until("Folded lines")
    terminal.quiet()
    for keys in (b"", b"/", b"\x1b", b"Kr", b"\x1b", b"S"):
        for data in (keys, *NO_TEXT):
            terminal.send(data)
            terminal.quiet(0.05)
    terminal.output = b""
    terminal.send("fold ä".encode())
    terminal.until("ä")
    assert terminal.close() == 0


def test_a_paste_that_looks_like_keys_changes_nothing(tmp_path: Path) -> None:
    agent = a_parser(tmp_path / "headers")
    watched = [agent.project, Path(os.environ["CLAUDE_CONFIG_DIR"])]
    before, acts = [contents(folder) for folder in watched], agent.store().operations()
    for keys in ("K", "Krb", "Kf", "S"):
        terminal = Terminal(agent.project)
        terminal.until("Folded lines")
        for key in keys:
            terminal.type(key)
            terminal.quiet(0.1)
        terminal.send(PASTED)
        terminal.quiet()
        assert terminal.close() == 0, terminal.output[-3000:]
    assert [contents(folder) for folder in watched] == before
    assert [act for act in agent.store().operations() if act.kind != "pin"] == acts
