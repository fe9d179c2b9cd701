"""`forkpoint demo`: a realistic session in a folder of its own, gone when it closes.

The process that was started makes the folder and removes it; a second one, which has no other store and no other agent
than those in that folder, plays the session through the functions of real use and shows it. Run as a module with the
folder as its argument this is the second process.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .commands.call import Call

PROJECT = "tea-shop"
ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


def environment(folder: Path) -> dict[str, str]:
    """The store and the agent's home of the demo; every other setting is the person's."""
    foreign = ("CLAUDE_", "FORKPOINT_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    # What it takes is little, and gone again with it.
    own = {"FORKPOINT_HOME": str(folder / "forkpoint"), "FORKPOINT_LEAST_FREE": "0"}
    # Hooks that the person has in other agents are not the demo's.
    homes = {
        "CLAUDE_CONFIG_DIR": "claude",
        "CODEX_HOME": "codex",
        "GEMINI_CLI_HOME": "gemini",
        "PI_CODING_AGENT_DIR": "pi",
    }
    return {**kept, **own, **{name: str(folder / home) for name, home in homes.items()}}


@dataclass(slots=True)
class Ending:
    """The process that shows the demo, and the signal that told it to end."""

    child: subprocess.Popen[bytes] | None = None
    number: int = 0

    def pass_on(self) -> None:
        """Gives the signal to the process, which ends in order; nothing is to be done while there is none."""
        if self.number and self.child is not None and self.child.poll() is None:
            self.child.send_signal(self.number)


def run(*, keep: str | None = None, as_json: bool = False) -> int:
    """Shows the demo and answers with its exit code; the folder is gone afterwards, unless it is to be kept."""
    with _ending() as ending, _folder(keep) as folder:
        command = [sys.executable, "-P", "-m", "forkpoint.tui.demo", str(folder)]
        command += ["--json"] * as_json + ["--kept"] * (keep is not None)
        ending.child = subprocess.Popen(command, env=environment(folder))
        ending.pass_on()
        code = ending.child.wait()
    return 128 + ending.number if ending.number else abs(code)


@contextmanager
def _folder(keep: str | None) -> Iterator[Path]:
    if keep is not None:
        kept = Path(os.path.realpath(keep))
        kept.mkdir(parents=True, exist_ok=True)
        yield kept
        return
    made = tempfile.mkdtemp(prefix="forkpoint-demo-")
    try:
        yield Path(os.path.realpath(made))
    finally:
        shutil.rmtree(made, ignore_errors=True)


@contextmanager
def _ending() -> Iterator[Ending]:
    """Passes on what would end this process, so that it lives until the folder can be removed."""
    ending = Ending()

    def end(number: int, frame: FrameType | None) -> None:
        ending.number = number
        ending.pass_on()

    before = {number: signal.signal(number, end) for number in ENDING}
    try:
        yield ending
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def build(folder: Path, now: int) -> Path:
    """Plays the session in `folder` so that it ends just before `now` (nanoseconds); returns the project's folder.

    Records where FORKPOINT_HOME and CLAUDE_CONFIG_DIR of this process say.
    """
    from ..store.recording import replay
    from .demo_session import play
    from .demo_shop import AFTERNOON
    from .installing import planned_installs

    project = folder / PROJECT
    project.mkdir(mode=0o755)

    def hook(payload: dict[str, object], moment: int) -> None:
        replay("claude", json.dumps(payload).encode(), os.environ, moment)

    for step in planned_installs(str(project), ["claude"]):
        step.carried_out()
    play(AFTERNOON, project, Path(os.environ["CLAUDE_CONFIG_DIR"]), hook, now)
    _label(project, {turn.prompt: turn.label for turn in AFTERNOON.turns if turn.label})
    return project


def _label(project: Path, labels: Mapping[str, str]) -> None:
    """Names checkpoints by the text of the prompt that they stand before."""
    from ..store.api import Store

    store = Store.open(project)
    tree = store.tree()
    texts: dict[str | None, str] = {entry.id: entry.text for entry in tree.entries if entry.kind == "prompt"}
    for point in tree.points:
        if point.reason == "prompt" and (label := labels.get(texts.get(point.entry, ""))):
            store.label(point.id, label)


def show(folder: Path, call: Call, *, kept: bool) -> int:
    """Builds, then opens the app, or prints the tree and what to try."""
    from .commands.opening import open_app

    quiet = not sys.stderr.isatty()
    sys.stderr.write("" if quiet else "Playing an afternoon of work …")
    sys.stderr.flush()
    build(folder, time.time_ns())
    sys.stderr.write("" if quiet else "\r\x1b[K")
    code = open_app(call)
    if not call.asks and not call.json:
        call.output.say("", *to_try(folder, kept=kept))
    return code


def to_try(folder: Path, *, kept: bool) -> list[str]:
    """What to do next, as lines; in a kept demo they can be copied as they are."""
    names = {"FORKPOINT_HOME": folder / "forkpoint", "CLAUDE_CONFIG_DIR": folder / "claude"}
    lines = [f"export {name}={shlex.quote(str(value))}" for name, value in names.items()] if kept else []
    lines += [f"cd {shlex.quote(str(folder / PROJECT))}"] if kept else []
    lines += [
        "forkpoint log --entries                    every entry, not only turns and checkpoints",
        "forkpoint diff ID --stat                   what differs between a checkpoint and now",
        "forkpoint restore ID --both --dry-run      what going back would do, before it does it",
        "forkpoint fork ID                          a new branch from there, and how to go on with it",
        "forkpoint undo                             takes the last of it back",
    ]
    if kept:
        return ["To try, with an ID from above:", *lines]
    return [
        "This one is gone now. In a terminal, forkpoint demo opens it in the app; forkpoint demo --keep DIR leaves it",
        "in DIR, to try, with an ID from above:",
        *lines,
    ]


def main() -> int:
    """The second process: `-m forkpoint.tui.demo FOLDER [--json] [--kept]`."""
    from .commands.call import Call
    from .commands.program import guarded

    folder, *options = sys.argv[1:]
    call = Call(folder=os.path.join(folder, PROJECT), json="--json" in options)
    return guarded(call, lambda: show(Path(folder), call, kept="--kept" in options))


if __name__ == "__main__":
    sys.exit(main())
