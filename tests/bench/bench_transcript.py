"""How long a 100 MB transcript of Claude Code takes from the start of a process to its tree, and how much memory.

Compared with one bare orjson pass over the lines of the same file, alternately, in processes of their own.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 5
ROOT = Path(__file__).parent.parent.parent

BARE = """
import sys, time, orjson
start = time.perf_counter()
count = 0
with open(sys.argv[1], "rb") as file:
    for line in file:
        orjson.loads(line)
        count += 1
print(time.perf_counter() - start, count)
"""

READ = """
import resource, sys, time
from forkpoint.store import agents
claude = agents.get("claude")
(info,) = claude.sessions(sys.argv[1])
conversation = claude.read(info)
seconds = time.time() - float(sys.argv[2])
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(seconds, len(conversation.entries), memory, len(conversation.problems))
"""


def write_transcript(home: Path, cwd: Path, size: int) -> Path:
    """A session of that many bytes in the shape of 2.1.332, without its wire log (which is only skipped)."""
    sys.path.insert(0, str(ROOT))
    from tests.builders.claude import ClaudeSession, Job

    session = ClaudeSession(home, cwd)
    pool = random.Random(7)
    words = ["parse", "line", "return", "self", "error", "value", "test", "file", "import", "config", "path", "state"]

    def text(length: int) -> str:
        return " ".join(pool.choices(words, k=max(1, length // 6)))

    written: list[bytes] = []
    length = 0

    def keep(data: bytes) -> None:
        nonlocal length
        written.append(data)
        length += len(data)

    session.raw = keep  # type: ignore[method-assign]
    first_turns: list[str] = []
    while length < size:
        first_turns.append(session.prompt(text(200)))
        for _ in range(pool.randint(4, 20)):
            if pool.random() < 0.3:
                session.reply(text(pool.randint(80, 1200)), thinking=text(400) if pool.random() < 0.3 else "")
            if pool.random() < 0.15:
                jobs = [Job("Bash", {"command": text(60)}, text(pool.randint(100, 3000))) for _ in range(3)]
                session.parallel(*jobs, order=pool.sample(range(3), 3))
            else:
                big = pool.choices((200, 2_000, 12_000, 60_000), (50, 35, 13, 2))[0]
                session.tool("Read", {"file_path": f"{cwd}/src/{text(10)}.py"}, text(big))
            if pool.random() < 0.1:
                session.attachment("prompt_snapshot", rendered=text(8000))
        session.end_turn()
        if pool.random() < 0.02:
            session.rewind(pool.choice(first_turns[-5:]))
    session.file.write_bytes(b"".join(written))
    return session.file


def main() -> None:
    """Prints both times of each round, in seconds, and the memory in megabytes, as one JSON document."""
    size = int(sys.argv[1] if len(sys.argv) > 1 else 100) * 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        home, cwd = Path(folder, "claude"), Path(folder, "project")
        cwd.mkdir()
        file = write_transcript(home, cwd, size)
        environment = {**os.environ, "CLAUDE_CONFIG_DIR": str(home)}
        bare: list[float] = []
        ours: list[float] = []
        entries = memory = lines = 0
        for _ in range(ROUNDS):
            done = subprocess.run([sys.executable, "-c", BARE, file], capture_output=True, text=True, check=True)
            seconds, lines = (json.loads(word) for word in done.stdout.split())
            bare.append(seconds)
            command = [sys.executable, "-c", READ, cwd, str(time.time())]
            done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
            seconds, entries, memory, problems = (json.loads(word) for word in done.stdout.split())
            ours.append(seconds)
            assert not problems
        told = f"{file.stat().st_size / 1e6:.0f} MB, {lines:,} lines, {entries:,} entries"
        print(json.dumps({"ours": ours, "bare": bare, "megabytes": memory / 1024, "told": told}))


if __name__ == "__main__":
    main()
