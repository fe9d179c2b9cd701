"""Large files pass through the store in pieces: no process may hold one whole, neither ours nor any git of ours."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ..builders.folders import make

MEGABYTE = 1 << 20
LARGE = 96 * MEGABYTE
MEMORY = 96 * MEGABYTE
PROGRAM = f"import resource; resource.setrlimit(resource.RLIMIT_DATA, ({MEMORY}, {MEMORY}))\n" + (
    "from forkpoint.tui.cli import main; main()"
)
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a process this way")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    return make(root, {"small.txt": "one\n"})


def fill(file: Path, beginning: bytes) -> None:
    """A large file: mostly a hole, which costs no disk and as much to read as anything else."""
    with open(file, "wb") as stream:
        stream.write(beginning)
        os.truncate(stream.fileno(), LARGE)


def begins(file: Path) -> bytes:
    with open(file, "rb") as stream:
        return stream.read(5)


def forkpoint(root: Path, *arguments: str) -> str:
    """Runs a command in a process that cannot have memory for such a file, nor can those that it starts."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, *arguments], cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_large_file_is_stored_compared_restored_and_verified(project: Path) -> None:
    large = project / "large.bin"
    fill(large, b"first")
    point = json.loads(forkpoint(project, "save", "--json"))["id"]
    fill(large, b"other")
    forkpoint(project, "save")
    make(project, {"small.txt": "two\n"})
    assert "too large to compare" in forkpoint(project, "diff", point)
    forkpoint(project, "restore", point, "--files", "--all", "--yes")
    assert (begins(large), large.stat().st_size) == (b"first", LARGE)
    forkpoint(project, "undo", "--yes")
    assert begins(large) == b"other"
    forkpoint(project, "verify")


def test_a_guard_holds_a_large_file_that_is_ignored_by_now(project: Path) -> None:
    large = project / "large.bin"
    fill(large, b"first")
    point = json.loads(forkpoint(project, "save", "--json"))["id"]
    fill(large, b"other")
    forkpoint(project, "restore", point, "--files", "--all", "--yes")
    make(project, {".gitignore": "large.bin\n"})
    # What an undo takes back is taken back though it is ignored now: the guard stores it whatever the rules say.
    forkpoint(project, "undo", "--yes")
    assert begins(large) == b"other"
    forkpoint(project, "redo", "--yes")
    assert begins(large) == b"first"


def test_large_files_that_both_changed_are_not_merged(project: Path) -> None:
    text = b"a line\n" * (40 * MEGABYTE // 7)
    (project / "text").write_bytes(text)
    point = json.loads(forkpoint(project, "save", "--json"))["id"]
    (project / "text").write_bytes(b"new\n" + text)
    told = forkpoint(project, "restore", point, "--files", "--all", "--on-conflict", "merge", "--dry-run")
    assert "text" in told
