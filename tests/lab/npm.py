"""Agents from npm: each installed once, into a folder that later runs find again."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

PATIENCE = 600.0
"""Seconds after which an installation is given up."""


def cache_folder(env: Mapping[str, str]) -> Path:
    """Where agents are installed: $FORKPOINT_AGENTS, else a folder of the person's cache."""
    chosen = env.get("FORKPOINT_AGENTS")
    if chosen:
        return Path(chosen)
    return Path(env.get("XDG_CACHE_HOME") or Path(env.get("HOME", "/tmp")) / ".cache") / "forkpoint-agents"


def install(folder: Path, packages: Sequence[str], find: Callable[[Path], Path | None]) -> tuple[Path | None, str]:
    """The program that `find` sees in the folder, installed when it is not there yet; or None and why it cannot be had.

    Whoever comes while another one installs waits for it.
    """
    if (found := find(folder)) is not None:
        return found, ""
    npm = shutil.which("npm")
    if npm is None:
        return None, "npm is not installed"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder.with_name(f"{folder.name}.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (found := find(folder)) is not None:
            return found, ""
        command = [npm, "install", "--prefix", str(folder), "--no-audit", "--no-fund", *packages]
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False)
        except subprocess.TimeoutExpired:
            return None, "npm did not answer in time"
        found = find(folder)
    if found is None:
        lines = [line for line in (done.stderr + done.stdout).splitlines() if "code" in line.lower()]
        return None, f"npm could not install it ({lines[0].strip() if lines else done.returncode})"
    return found, ""


def runs(program: Path, version: str, *before: str) -> bool:
    """Whether a program is there, starts, and says that it is of this version; `before` are words before its path."""
    try:
        done = subprocess.run(
            [*before, program, "--version"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env=dict(os.environ),
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return version in done.stdout + done.stderr
