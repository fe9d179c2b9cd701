"""How soon a search shows its first results, against `grep -r` over the same text: `search.py ROUNDS ENTRIES`."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from pairs import Figure, pairs
from sessions import _home, _place  # pyright: ignore[reportPrivateUsage]

ROOT = Path(__file__).parent.parent.parent
FIRST = 60
"""Hits that a screen shows at once."""
FILES = 50
"""Files in which the same text stands for grep."""
REACH = 0.2
RARE = "Walrusiana"


def search(folder: Path, rounds: int, entries: int) -> list[Figure]:
    """A rare word, a common one, one that is nowhere, two words, and a word with a capital letter."""
    project, home = _place(folder)
    _home(home)
    words = _talk(project, entries)
    from forkpoint.store import roots
    from forkpoint.store.api import Store
    from forkpoint.store.home import data_folder

    roots.adopt(str(project), data_folder())
    store = Store.open(project)
    begin = time.perf_counter()
    store.catch_up()
    made = time.perf_counter() - begin
    (index,) = data_folder().rglob("search.db")
    text = _plain(store, index, folder / "text")
    size = index.stat().st_size / 1e6
    note = f"{entries:,} entries, {text / 1e6:.0f} MB of text; index of {size:.0f} MB, made in {made:.0f} s"
    queries = {
        "a word that stands once": RARE.lower(),
        "a word that stands everywhere": "the",
        "a word that stands nowhere": "qzxjvk",
        "two words": f"the {words[0]}",
        "a word with a capital letter": RARE,
    }
    figures: list[Figure] = []
    for name, query in queries.items():

        def ours(query: str = query) -> float:
            begin = time.perf_counter()
            store.search(query, limit=FIRST)
            return (time.perf_counter() - begin) * 1000

        word = query.split()[0]
        theirs = partial(_grep, word, folder / "text")
        ours()  # both are warm then
        theirs()
        times = pairs(rounds, ours, theirs)
        figures.append(
            Figure(f"search, {name}: first {FIRST}", "grep -r over the same text", REACH, None, *times, "ms", note)
        )
        note = ""
    return figures


def _grep(word: str, folder: Path) -> float:
    # Not into /dev/null: grep would see that, and end each file at its first line.
    with tempfile.TemporaryFile() as told:
        begin = time.perf_counter()
        subprocess.run(["grep", "-r", word, folder], stdout=told)
        return (time.perf_counter() - begin) * 1000


def _plain(store: object, index: Path, folder: Path) -> int:
    """Writes the texts of all entries into plain files; gives their bytes."""
    import sqlite3
    import zlib

    folder.mkdir()
    connection = sqlite3.connect(index)
    texts = [
        text if isinstance(text, str) else zlib.decompress(text).decode()
        for (text,) in connection.execute("SELECT text FROM said ORDER BY id")
    ]
    for number in range(FILES):
        (folder / f"{number}.txt").write_text("\n".join(texts[number::FILES]), "utf-8")
    return sum(file.stat().st_size for file in folder.iterdir())


def _talk(project: Path, entries: int) -> list[str]:
    """Sessions with that many entries: in each stands "the", in few RARE; gives further words of theirs."""
    sys.path.insert(0, str(ROOT))
    from tests.builders.claude import ClaudeSession

    pool = random.Random(7)
    words = ["".join(pool.choices("abcdefghijklmnoprstuwy", k=pool.randint(2, 10))) for _ in range(4_000)]
    text = " ".join(pool.choices(words, k=400_000))

    def part(length: int) -> str:
        start = pool.randrange(len(text) - length)
        return text[start : start + length]

    made = 0
    while made < entries:
        session = ClaudeSession(Path(os.environ["CLAUDE_CONFIG_DIR"]), project, history=False)
        written: list[bytes] = []
        session.raw = written.append  # type: ignore[method-assign]
        for turn in range(min(500, (entries - made) // 5 + 1)):
            session.prompt(f"{part(120)} the")
            for _ in range(1 + turn % 3):
                output = pool.choices((300, 2_000, 8_000), (50, 40, 10))[0]
                session.tool("Read", {"file_path": f"{project}/src/{part(12)}.py"}, f"{part(output)} the")
                made += 2
            session.reply(f"{part(pool.randint(80, 900))} the{f' {RARE}, {RARE.lower()}' if made < 7 else ''}")
            made += 2
        session.file.write_bytes(b"".join(written))
    return words


def main() -> None:
    """Prints the figures as one JSON document: a process of its own, since it takes memory to write."""
    figures = search(Path.cwd(), int(sys.argv[1]), int(sys.argv[2]))
    print(json.dumps([[getattr(figure, name) for name in Figure.__dataclass_fields__] for figure in figures]))


if __name__ == "__main__":
    main()
