"""The shell line of a hook: it cannot fail and says nothing of its own, whatever became of forkpoint (rule 17)."""

from __future__ import annotations

import re


def line(agent: str, executable: str, *, tells: bool) -> str:
    """The line for an agent's hook. tells: a systemMessage that forkpoint prints gets through, and nothing else."""
    path = "'" + executable.replace("'", "'\"'\"'") + "'"
    if tells:
        told = """case $said in '{"systemMessage":'*) printf '%s\\n' "$said";; esac"""
        return f"test ! -x {path} || {{ said=$({path} hook {agent}); {told}; }} 2>/dev/null || true"
    return f"test ! -x {path} || {{ {path} hook {agent}; }} >/dev/null 2>&1 || true"


def executable_of(agent: str, command: str) -> str | None:
    """The program that a line calls when it is one of ours for this agent, of whatever version; else None."""
    pattern = rf"test ! -x ('(?:[^']|'\"'\"')*') \|\| .*\1 hook {re.escape(agent)}\b"
    found = re.match(pattern, command, re.DOTALL)
    return found.group(1)[1:-1].replace("'\"'\"'", "'") if found else None
