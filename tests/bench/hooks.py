"""What every call of an agent costs: `forkpoint hook` against a bare walk of the folder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from pairs import Figure, pairs
from trees import Tree

WALK = """
import os, sys
stack = [sys.argv[1]]
while stack:
    with os.scandir(stack.pop()) as entries:
        for entry in entries:
            entry.stat(follow_symlinks=False)
            if entry.is_dir(follow_symlinks=False):
                stack.append(entry.path)
"""


def hooks(tree: Tree, folder: Path, rounds: int) -> list[Figure]:
    """Both hooks of a call, when nothing changed."""
    tree.home = folder / "home"
    tree.forkpoint("first save", "save")
    found = [_hook(tree, event, rounds) for event in ("PreToolUse", "PostToolUse")]
    shutil.rmtree(tree.home)
    return found


def _hook(tree: Tree, event: str, rounds: int) -> Figure:
    payload = json.dumps(
        {
            "hook_event_name": event,
            "session_id": "5f0c7f0a-0000-4000-8000-000000000001",
            "prompt_id": "5f0c7f0a-0000-4000-8000-000000000002",
            "cwd": str(tree.folder),
            "transcript_path": str(tree.folder.parent / "none.jsonl"),
            "tool_name": "Bash",
            "tool_input": {"command": "true"},
            "tool_use_id": "toolu_bench",
        }
    )
    times = pairs(
        rounds,
        lambda: tree.forkpoint("hook", "hook", "claude", payload=payload).ms,
        lambda: tree.python(WALK, str(tree.folder)).ms,
    )
    return Figure(f"hook {event}, nothing of {len(tree.names):,} files changed", "a bare walk", 2.5, None, *times, "ms")
