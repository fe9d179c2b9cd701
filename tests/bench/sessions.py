"""How long agents' sessions take to be listed and to be read, against bare passes over the same files.

A new agent is measured once `tests/builders/whole.py` can write a session of it.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

from pairs import Figure, pairs, run
from trees import environment

ROOT = Path(__file__).parent.parent.parent
SESSIONS = 2000
SPARSE = 2_500_000
"""Bytes of each session of the list; two ends of 100 kB are written, the rest is a hole."""
END = 100_000
TABLES = ("message", "part")
DATABASE = 5
"""A transcript that stands in a database is so many times smaller: it is written row by row."""

LIST = """
import sys, time
from forkpoint.store import agents
module = agents.get(sys.argv[1])
module.sessions(sys.argv[2] + "/none")
start = time.perf_counter()
found = module.sessions(sys.argv[2])
print(time.perf_counter() - start)
assert len(found) == int(sys.argv[3]), len(found)
"""
FIRST = """
import sys, time
from forkpoint.store.api import Store
start = time.perf_counter()
assert Store.open(sys.argv[1]).tree().entries
print(time.perf_counter() - start)
"""
"""The others are not stored by it, so that each round is a first one."""
LOOK = """
import os, sys, time
files = open(sys.argv[1]).read().splitlines()
start = time.perf_counter()
for file in files:
    with open(file, "rb") as stream:
        stream.read(65536)
        stream.seek(max(0, os.fstat(stream.fileno()).st_size - 65536))
        stream.read(65536)
print(time.perf_counter() - start)
"""
READ = """
import re, resource, sys, time
from forkpoint.store import agents
module = agents.get(sys.argv[1])
infos = module.sessions(sys.argv[2])
module.read(infos[-1])
start = time.perf_counter()
conversation = module.read(infos[0])
spent = time.perf_counter() - start
try:
    # Linux counts the memory of the process that starts another one for that one as well, but for this figure.
    peak = int(re.search("VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1])
except OSError:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(spent, peak / 1024)
assert len(conversation.entries) > 100 and not conversation.problems, conversation.problems[:3]
"""
"""The smallest session is read first, so that everything is imported."""
LINES = """
import sys, time, orjson
start = time.perf_counter()
with open(sys.argv[1], "rb") as stream:
    for line in stream:
        orjson.loads(line)
print(time.perf_counter() - start)
"""
ROWS = """
import sys, sqlite3, time, orjson
start = time.perf_counter()
connection = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
for table in ("message", "part"):
    for (text,) in connection.execute(f"SELECT data FROM {table}"):
        orjson.loads(text)
print(time.perf_counter() - start)
"""


def names() -> list[str]:
    """The agents that are there, and of which a session can be written."""
    sys.path.insert(0, str(ROOT))
    from forkpoint.store import agents

    from tests.builders.whole import BUILDERS

    return [name for name in agents.names() if name in BUILDERS]


def listing(folder: Path, rounds: int, count: int) -> list[Figure]:
    """The list of that many sessions of each agent against looking at both ends of each file."""
    return [
        *(_listing(agent, folder / agent, rounds, count) for agent in names()),
        _first(folder / "first", rounds, count),
    ]


def reading(folder: Path, rounds: int, megabytes: int) -> list[Figure]:
    """A session of each agent, from its files to its tree, against parsing the same text; and the memory."""
    return [figure for agent in names() for figure in _reading(agent, folder / agent, rounds, megabytes)]


def _listing(agent: str, folder: Path, rounds: int, count: int) -> Figure:
    project, home = _place(folder)
    env = _home(home)
    files = _sparse(agent, project, home, count)
    told = folder / "files"
    told.write_text("\n".join(map(str, files)))
    ours = partial(_seconds, LIST, folder, env, agent, str(project), str(count))
    times = pairs(rounds, ours, partial(_seconds, LOOK, folder, env, str(told)))
    size = sum(os.stat(file).st_size for file in files) / 1e9
    figure = Figure(
        f"list of {count:,} sessions of {_title(agent)}",
        "opening each file and reading its two ends",
        3.0,
        None,
        *times,
        "ms",
        f"{size:.1f} GB, sparse" if files[0].suffix == ".jsonl" else "its sessions stand in one database",
    )
    shutil.rmtree(folder)
    return figure


def _first(folder: Path, rounds: int, count: int) -> Figure:
    """The newest of so many sessions that the store has nothing of yet."""
    project, home = _place(folder)
    env = _home(home)
    _sparse("claude", project, home, count)
    run([sys.executable, "-m", "forkpoint.tui.cli", "-C", str(project), "save"], folder, env)
    ours = partial(_seconds, FIRST, folder, env, str(project))
    times = pairs(rounds, ours, partial(_seconds, LIST, folder, env, "claude", str(project), str(count)))
    shutil.rmtree(folder)
    return Figure(f"first tree with {count:,} new sessions", "listing them", 5.0, None, *times, "ms")


def _reading(agent: str, folder: Path, rounds: int, megabytes: int) -> list[Figure]:
    project, home = _place(folder)
    env = _home(home)
    file, size = _large(agent, project, megabytes)
    peaks: list[float] = []

    def ours() -> float:
        told = run([sys.executable, "-c", READ, agent, str(project)], folder, env).output.split()
        peaks.append(float(told[1]))
        return float(told[0]) * 1000

    bare = LINES if file.suffix == ".jsonl" else ROWS
    times = pairs(rounds, ours, partial(_seconds, bare, folder, env, str(file)))
    name = f"a session of {_title(agent)}"
    against = "a bare orjson pass over the same text"
    shutil.rmtree(folder)
    return [
        Figure(f"{name}, read", against, 4.0, 2.0, *times, "ms", f"{size / 1e6:.0f} MB"),
        Figure(f"{name}, memory", "three times its text", 1.0, None, [max(peaks)], [3 * size / 1e6], "MB"),
    ]


def _seconds(script: str, folder: Path, env: dict[str, str], *arguments: str) -> float:
    return float(run([sys.executable, "-c", script, *arguments], folder, env).output) * 1000


def _place(folder: Path) -> tuple[Path, Path]:
    project, home = folder / "project", folder / "home"
    project.mkdir(parents=True)
    home.mkdir()
    return Path(os.path.realpath(project)), home


def _home(home: Path) -> dict[str, str]:
    """An environment in which every agent keeps its sessions in this home; it is the bench's own, too."""
    env = environment(home) | {"CLAUDE_CONFIG_DIR": str(home / ".claude")}
    for name in [name for name in os.environ if name not in env]:
        del os.environ[name]
    os.environ.update(env)
    return env


def _title(agent: str) -> str:
    from forkpoint.store import agents

    return agents.get(agent).TITLE


def _sparse(agent: str, project: Path, home: Path, count: int) -> list[Path]:
    """Copies of one session under other ids, with a hole in the middle; of a database only small sessions."""
    from tests.builders.whole import BUILDERS, whole

    if not BUILDERS[agent].lines:
        made = [whole(agent, project) for _ in range(count)]
        holes = [home / f"hole{number}" for number in range(count)]
        for hole in holes:
            with open(hole, "wb") as stream:
                stream.truncate(SPARSE)
        assert made
        return holes
    first = whole(agent, project)
    write = _talk()
    while first.file.stat().st_size < 2 * END:
        write(first.turn)
    data, name = first.file.read_bytes(), first.file.name
    first.file.unlink()
    half = data.index(b"\n", END) + 1
    found: list[Path] = []
    for number in range(count):
        copy, ident = _other_ids(data, number), _other_ids(name.encode(), number).decode()
        found.append(first.file.with_name(ident))
        with open(found[-1], "wb") as stream:
            stream.write(copy[:half])
            stream.seek(SPARSE - len(copy) + half)
            stream.write(copy[half:])
    return found


def _other_ids(data: bytes, number: int) -> bytes:
    """The same text as another session: UUIDs and short ids begin otherwise."""
    mask = (number + 1) * 2_654_435_761 % (1 << 32)

    def other(found: re.Match[bytes]) -> bytes:
        return b"%08x" % (int(found[0], 16) ^ mask)

    return re.sub(rb'(?<![0-9A-Za-z])[0-9a-f]{8}(?=[-".])', other, data)


def _large(agent: str, project: Path, megabytes: int) -> tuple[Path, int]:
    """One large session beside a small one; its file and how much text is in it."""
    from tests.builders.whole import BUILDERS, whole

    whole(agent, project)
    lines = BUILDERS[agent].lines
    wanted = megabytes * 1_000_000 // (1 if lines else DATABASE)
    made, write, length = whole(agent, project), _talk(), 0
    while (made.file.stat().st_size if lines else length) < wanted:
        length += write(made.turn)
    return made.file, made.file.stat().st_size if lines else _text_in(made.file)


def _text_in(database: Path) -> int:
    """How much JSON stands in the rows that a session is read from."""
    with closing(sqlite3.connect(database)) as connection:
        sums = [connection.execute(f"SELECT sum(length(data)) FROM {table}").fetchone()[0] for table in TABLES]
    return sum(sums)


def _talk() -> Callable[[Callable[[str, str, str], object]], int]:
    """Writes turns of many sizes, as they come in real sessions; gives the length of each."""
    pool = random.Random(7)
    words = ["parse", "line", "return", "self", "error", "value", "test", "file", "import", "config", "path", "state"]
    text = " ".join(pool.choices(words, k=40_000))

    def part(length: int) -> str:
        start = pool.randrange(len(text) - length)
        return text[start : start + length]

    def write(turn: Callable[[str, str, str], object]) -> int:
        output = pool.choices((500, 4_000, 20_000, 60_000), (40, 35, 20, 5))[0]
        told = part(200), part(output), part(pool.randint(80, 1200))
        turn(*told)
        return sum(map(len, told))

    return write


def main() -> None:
    """Prints the figures of one kind, as one JSON document: a process of its own, since it takes memory to write."""
    kind, rounds, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    found = {"listing": listing, "reading": reading}[kind](Path.cwd(), rounds, size)
    print(json.dumps([[getattr(figure, name) for name in Figure.__dataclass_fields__] for figure in found]))


if __name__ == "__main__":
    main()
