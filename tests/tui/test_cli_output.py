"""Text fits its terminal and is clean; documents keep what text cannot show."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from forkpoint.tui import output
from forkpoint.tui.output import PLAIN_SIGNS, Cell, Output, Row, Terminal, cut, shortened, table
from forkpoint.tui.values import iso, path_keys
from rich.cells import cell_len

WIDE = Terminal(width=100)
ROWS = [
    Row(
        (Cell("09:41", "dim", right=True), Cell("3f2a91c0", "cyan")),
        (Cell("Fold the lines of 見出し"),),
        (Cell("+12"),),
    ),
    Row((Cell("30 Nov 09:41", right=True), Cell("7c1e")), (Cell("a text that is much longer than its place " * 4),)),
]


@pytest.mark.parametrize("width", [20, 40, 60, 80, 160])
def test_lines_fit_the_terminal(width: int) -> None:
    rows = [Row(row.cells[:1], row.rest, row.end) for row in ROWS]
    assert all(cell_len(line) <= width for line in table(rows, Terminal(width=width)))


@pytest.mark.parametrize("width", [20, 40, 60, 80])
def test_what_may_not_be_cut_goes_on_in_the_next_line(width: int) -> None:
    text = "prompt “Now redesign it”, which stays as branch a-name-that-is-longer-than-any-line-should-be 見出し"
    lines = table([Row((Cell("Discarded"),), (Cell(text),), wraps=True)], Terminal(width=width))
    assert all(cell_len(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "Discarded" + "".join(text.split())


@pytest.mark.parametrize("width", range(20, 70))
def test_what_stands_behind_a_text_is_whole_or_says_something_or_is_left_out(width: int) -> None:
    row = Row((Cell("good-commit-push"),), (Cell("Show the order's total"),), (Cell("19:55"), Cell("2 branches")))
    (line,) = table([row], Terminal(width=width))
    assert cell_len(line) <= width
    assert line.count("…") <= 1 or line.count("… ") == 1
    assert "……" not in line
    assert not any(part in line for part in ("  1…", "  19…", "  19:…", "  2…", "  2 …"))


def test_columns_are_aligned() -> None:
    first, second = table(ROWS, WIDE)
    assert first.index("3f2a91c0") == second.index("7c1e")
    assert first.index("Fold") == second.index("a text")
    assert first.index("09:41") == second.index("09:41")


def test_a_pipe_gets_whole_lines() -> None:
    assert table(ROWS, Terminal())[1].endswith("its place")


def test_a_cut_text_says_so_and_counts_cells_not_letters() -> None:
    assert cut("見出し行", 5) == "見出…"
    assert cut("fits", 4) == "fits"


def test_colours_go_to_terminals_only() -> None:
    assert "\x1b" not in "".join(table(ROWS, WIDE))
    assert "\x1b[36m3f2a91c0\x1b[0m" in table(ROWS, Terminal(width=100, colour=True))[0]


def test_no_line_ends_in_blanks() -> None:
    assert table([Row((Cell("a"), Cell("")), (Cell(""),)), ROWS[0]], WIDE)[0] == "a"


def _seen_in_terminal(*arguments: str, env: dict[str, str], columns: int = 40) -> str:
    """What a program that runs in a terminal of this width writes."""
    master, slave = pty.openpty()
    import fcntl
    import struct
    import termios

    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    child = subprocess.Popen([sys.executable, *arguments], stdin=slave, stdout=slave, stderr=slave, env=env)
    os.close(slave)
    text = b"".join(_read(master)).decode()
    os.close(master)
    assert child.wait() == 0, text
    return text


def _read(master: int) -> Iterator[bytes]:
    try:
        while data := os.read(master, 65536):
            yield data
    except OSError:  # Linux: the other end is closed
        return


PROBE = "from forkpoint.tui.output import Terminal; print(Terminal.of_process())"


@pytest.mark.parametrize(
    ("more", "width", "colour"),
    [
        ({}, 40, True),
        ({"COLUMNS": "55"}, 55, True),
        ({"NO_COLOR": "1"}, 40, False),
        ({"NO_COLOR": ""}, 40, True),
        ({"TERM": "dumb"}, 40, False),
    ],
)
def test_a_terminal_is_what_it_says_it_is(more: dict[str, str], width: int, colour: bool) -> None:
    text = _seen_in_terminal("-c", PROBE, env={**os.environ, **more})
    assert text.strip() == repr(Terminal(width=width, colour=colour, person=True))


@pytest.mark.parametrize(("columns", "width"), [(None, None), ("55", 55), ("0", None), ("wide", None)])
def test_a_pipe_has_a_width_only_when_it_is_given_one(columns: str | None, width: int | None) -> None:
    env = {**os.environ, **({"COLUMNS": columns} if columns else {})}
    done = subprocess.run([sys.executable, "-c", PROBE], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == repr(Terminal(width=width))


def test_signs_that_the_encoding_lacks_are_written_with_those_it_has() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    Output(Terminal(), stream).say("● +3 −1 │ 見")
    stream.seek(0)
    assert stream.read() == "* +3 -1 | \\u898b\n"


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    program = (
        "from forkpoint.tui.output import Output, Terminal\n"
        "out = Output(Terminal())\n"
        "for n in range(100_000): out.say('line')\n"
        f"open({str(tmp_path / 'done')!r}, 'w').close()\n"
    )
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout and child.stderr
    assert child.stdout.readline() == "line\n"
    child.stdout.close()
    assert child.stderr.read() == ""
    assert child.wait() == 0
    assert (tmp_path / "done").exists(), "what was to be done after the output is still done"


def test_times_are_utc_and_paths_keep_their_bytes() -> None:
    assert iso(1_796_062_893_559_123_456) == "2026-11-30T18:21:33.559123Z"
    assert path_keys("ä b".encode()) == {"path": "ä b"}
    assert path_keys(b"caf\xe9") == {"path": "caf\ufffd", "path_b64": "Y2Fm6Q=="}


def test_a_document_survives_what_a_terminal_must_not_see() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    text = "\x1b]0;title\x07 \u202e \x9b \ud83d \x7f"
    Output(Terminal(), stream).document({"text": text})
    stream.seek(0)
    written = stream.read()
    assert written.isascii() and written.replace("\n", "").isprintable()
    assert json.loads(written) == {"text": text}


def test_ids_are_shortened_as_far_as_they_stay_apart() -> None:
    ids = ["aaaaaaaaaaaa1111", "aaaaaaaaaaaa2222", "bbbbbbbbbbbbbbbb"]
    assert shortened(ids) == {ids[0]: "aaaaaaaaaaaa1", ids[1]: "aaaaaaaaaaaa2", ids[2]: "bbbbbbbb"}
    assert shortened(["same", "same"]) == {"same": "same"}
    assert shortened([]) == {}


def test_each_of_our_own_signs_takes_one_column() -> None:
    for sign in map(chr, PLAIN_SIGNS):
        assert cell_len(sign) == output.cell_len(sign) == 1
    for text in ("plain", "+1 −2 · a…", "日本", "e\u0301", "a日"):
        assert output.cell_len(text) == cell_len(text)
