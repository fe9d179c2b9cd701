"""A restore that is killed in the middle, by a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

DIES = """
import os, sys
from forkpoint.store.api import Store
from forkpoint.store.restore import apply

step = apply.Run.step

def dies(run, number, *rest):
    step(run, number, *rest)
    os._exit(9)

apply.Run.step = dies
store = Store.open(sys.argv[1])
store.restore(store.plan_restore(sys.argv[2], "files"))
"""


def killed_in_the_middle(folder: Path, point: str) -> None:
    """Begins to restore the files of a checkpoint; the process dies after the first of them."""
    died = subprocess.run([sys.executable, "-c", DIES, str(folder), point], check=False)
    assert died.returncode == 9
