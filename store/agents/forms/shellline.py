"""The shell line of a hook: it cannot fail and says nothing of its own, whatever became of forkpoint (rule 17)."""

from __future__ import annotations

import re


def line(agent: str, executable: str, *, tells: bool, patience: int = 0) -> str:
    """The line for an agent's hook. tells: a systemMessage that forkpoint prints gets through, and nothing else.

    patience: seconds after which it ends by itself, for agents that tell the person of every hook that they give up;
    0 for never. Such a line is bash's.
    """
    path = "'" + executable.replace("'", "'\"'\"'") + "'"
    told = """case $said in '{"systemMessage":'*) printf '%s\\n' "$said";; esac"""
    if patience:
        # What is read ends at the end of the program, or when the time is over: then `read` gives more than 128.
        asked = f"IFS= read -rt {patience} -d '' said < <({path} hook {agent}) || test $? -lt 129 || kill $!"
        return f"test ! -x {path} || {{ {asked}; {told if tells else ':'}; }} 2>/dev/null || true"
    if tells:
        return f"test ! -x {path} || {{ said=$({path} hook {agent}); {told}; }} 2>/dev/null || true"
    return f"test ! -x {path} || {{ {path} hook {agent}; }} >/dev/null 2>&1 || true"


def executable_of(agent: str, command: str) -> str | None:
    """The program that a line calls when it is one of ours for this agent, of whatever version; else None."""
    pattern = rf"test ! -x ('(?:[^']|'\"'\"')*') \|\| .*\1 hook {re.escape(agent)}\b"
    found = re.match(pattern, command, re.DOTALL)
    return found.group(1)[1:-1].replace("'\"'\"'", "'") if found else None
