"""What the bench does with the engine in a process of its own, in a project's folder: `making.py WORK ARGUMENTS`."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

OFTEN = 200
"""Checkpoints between two repackings."""
STEPS = 4
"""Tool calls that each prompt of a made-up session leads to."""


def checkpoints(count: int, branches: int) -> None:
    """Records a session of Claude Code with that many checkpoints and branches, through the engine's own door."""
    sys.path.insert(0, str(Path(__file__).parent.parent.parent))
    from forkpoint.store import roots
    from forkpoint.store.checkpoints import capture
    from forkpoint.store.checkpoints.capture import Wanted
    from forkpoint.store.checkpoints.points import Checkpoint
    from forkpoint.store.home import data_folder
    from forkpoint.store.upkeep import repacking
    from trees import Writer

    from tests.builders.claude import ClaudeSession

    folder = Path.cwd()
    session = ClaudeSession(Path(os.environ["CLAUDE_CONFIG_DIR"]), folder, history=False)
    place = roots.adopt(str(folder), data_folder())
    writer = Writer(len(str(count)))
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    turns: list[str] = []
    made = 0
    rewind = max(1, count // ((STEPS + 1) * branches))
    while made < count:
        if turns and len(turns) % rewind == 0:
            session.rewind(turns[-1 - writer.random.randrange(min(len(turns), rewind))])
        turns.append(session.prompt(writer.text()[:200]))
        draft = Checkpoint(agent="claude", session=session.id, prompt=session.prompt_id, reason="prompt", side="before")
        capture.take(place, Wanted(draft))
        made += 1
        for _ in range(min(STEPS, count - made)):
            changed = writer.random.choice(files)
            changed.write_text(writer.text(), "utf-8")
            call = session.tool("Write", {"file_path": str(changed), "content": "…"})
            capture.take(place, Wanted(draft._replace(reason="tool", side="after", call=call.id, tool="Write")))
            made += 1
        if made // OFTEN > (made - STEPS - 1) // OFTEN:
            # What a process in the background does as soon as it is due.
            repacking.repack(place)
    repacking.repack(place)


def repack() -> None:
    """Does by hand what is done in the background, so that a measure waits for nothing."""
    from forkpoint.store.api import Store

    Store.open().repack()


def replay(source: str, count: int) -> None:
    """Goes through a list of steps (path, content or none) in the folder, with a checkpoint after each."""
    from forkpoint.store import saving

    for step in json.loads(Path(source).read_text("utf-8"))[:count]:
        apply(Path.cwd(), step)
        saving.save(str(Path.cwd()))


def open_store() -> None:
    """Opens the store and reads its largest session's tree; prints how long each took, in milliseconds."""
    begin = time.perf_counter()
    from forkpoint.store.api import Store
    from forkpoint.store.catalog import catalog
    from forkpoint.store.git.reader import Objects
    from forkpoint.store.workspace import Workspace

    imported = time.perf_counter()
    workspace = Workspace(None, None)
    place = workspace.need_place()
    catalog.load(place, Objects(place.git_dir))
    loaded = time.perf_counter()
    built = Store.open().tree()
    done = time.perf_counter()
    found = {
        "imports": (imported - begin) * 1000,
        "catalog": (loaded - imported) * 1000,
        "tree": (done - loaded) * 1000,
        "points": len(built.points),
        "branches": len(built.branches),
    }
    print(json.dumps(found))


def apply(folder: Path, step: list[str | None]) -> None:
    """Makes one step of a history: a file gets a content, or goes."""
    path, content, encoding = step
    assert path is not None
    file = folder / path
    if content is None:
        file.unlink(missing_ok=True)
        return
    if file.is_dir():
        os.rmdir(file)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content.encode(encoding or "utf-8"))


def main() -> None:
    """Does what the command line names."""
    what, *arguments = sys.argv[1:]
    if what == "checkpoints":
        checkpoints(*map(int, arguments))
    elif what == "replay":
        replay(arguments[0], int(arguments[1]))
    elif what == "repack":
        repack()
    else:
        open_store()


if __name__ == "__main__":
    main()
