"""What the checkpoints of a real history take on the disk, against that history packed by git."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from making import apply
from pairs import Figure, disk
from trees import PEAKS, Tree, Writer, environment, run

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
Step = list[str | None]
"""Path, content (None: the file goes), encoding."""


def history(folder: Path, count: int) -> Figure:
    """Both keep the same states, one commit or checkpoint each."""
    steps, told = real(count)
    if len(steps) < count:
        steps, told = made_up(count), f"{count:,} made-up edits of 300 files"
    source = folder / "steps.json"
    source.write_text(json.dumps(steps), "utf-8")
    tree = Tree(folder, 0, name="history")
    tree.folder.mkdir()
    env = {**tree.env, "FORKPOINT_HOME": str(tree.home)}
    done = run([sys.executable, HERE / "making.py", "replay", source, str(count)], tree.folder, env)
    PEAKS.see("replay, in one process", done)
    PEAKS.see("repack", run([sys.executable, HERE / "making.py", "repack"], tree.folder, env))
    packed = packed_by_git(folder, steps)
    figure = Figure(
        f"disk of {count:,} checkpoints of a history",
        "the same commits after git gc",
        2.0,
        1.2,
        [disk(tree.home)],
        [packed],
        "kB",
        told,
    )
    shutil.rmtree(tree.home)
    return figure


def real(count: int) -> tuple[list[Step], str]:
    """This project's own history, oldest first, each commit taken file by file, as an agent edits."""
    git = ["git", "-c", "safe.directory=*", "-C", str(ROOT)]
    try:
        log = subprocess.run([*git, "rev-list", "--reverse", "HEAD"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return [], ""
    commits = log.stdout.split()
    steps: list[Step] = []
    parent = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
    used = 0
    for commit in commits:
        names = ["diff-tree", "-r", "-z", "--no-renames", "--name-status", parent, commit]
        words = subprocess.run([*git, *names], capture_output=True, check=True).stdout.decode().split("\0")[:-1]
        changes = list(zip(words[::2], words[1::2], strict=True))
        for status, path in sorted(changes, key=lambda change: change[0] != "D"):
            content = None if status == "D" else _content(git, commit, path)
            steps.append([path, content, "latin-1"])
        parent = commit
        used += 1
        if len(steps) >= count:
            break
    return steps[:count], f"the first {used} commits of this project's own history, taken file by file"


def _content(git: list[str], commit: str, path: str) -> str:
    show = [*git, "cat-file", "blob", f"{commit}:{path}"]
    return subprocess.run(show, capture_output=True, check=True).stdout.decode("latin-1")


def made_up(count: int) -> list[Step]:
    """Edits of a few lines in files that grow, for a copy of this project that has no history."""
    writer = Writer()
    files = {f"part{n // 20}/module_{n}.py": writer.text() * 3 for n in range(300)}
    steps: list[Step] = [[path, text, "utf-8"] for path, text in files.items()]
    while len(steps) < count:
        path = writer.random.choice(list(files))
        lines = files[path].splitlines(keepends=True)
        at = writer.random.randrange(len(lines))
        files[path] = "".join([*lines[:at], *writer.text().splitlines(keepends=True)[:4], *lines[at + 2 :]])
        steps.append([path, files[path], "utf-8"])
    return steps[:count]


def packed_by_git(folder: Path, steps: list[Step]) -> float:
    """Kilobytes of a repository with one commit for each step, after `git gc`; its index and work tree left out."""
    project = folder / "packed"
    project.mkdir()
    env = environment(folder)
    git = ["git", "-c", "gc.auto=0", "-c", "core.fsync=none"]
    subprocess.run([*git, "init", "-q"], cwd=project, env=env, check=True)
    for step in steps:
        apply(project, step)
        subprocess.run([*git, "add", "-A"], cwd=project, env=env, check=True)
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "step"], cwd=project, env=env, check=True)
    subprocess.run([*git, "gc", "-q", "--prune=now"], cwd=project, env=env, check=True)
    size = disk(project / ".git" / "objects")
    shutil.rmtree(project)
    return size
