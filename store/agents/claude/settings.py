"""Claude Code's settings file: which hooks go into which file; the rest is the form that several agents share."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ...jsontext import Node
from ..forms.commandhooks import CommandHooks, Event

TIMEOUT = 10
"""Seconds. SessionEnd would get 1.5 s without it."""

TELLING = frozenset({"SessionStart", "UserPromptSubmit"})
"""The events whose hook may answer with a systemMessage, which the person sees and the model does not."""

EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "SubagentStop",
    "Stop",
    "StopFailure",
    "SessionEnd",
)
"""The events that forkpoint records at; formats.md 1.9 tells when each fires."""


def settings_file(*, everywhere: bool, root: str | os.PathLike[str], env: Mapping[str, str] = os.environ) -> str:
    """The person's own settings file, or the project's local one."""
    if not everywhere:
        return os.path.join(root, ".claude", "settings.local.json")
    home = env.get("CLAUDE_CONFIG_DIR") or os.path.join(env.get("HOME") or os.path.expanduser("~"), ".claude")
    return os.path.join(home, "settings.json")


def _switched_off(top: Node) -> str:
    off = top.get("disableAllHooks")
    return "disableAllHooks" if off is not None and off.node.value is True else ""


HOOKS = CommandHooks(
    "claude",
    "Claude Code",
    tuple(Event(name, TIMEOUT, tells=name in TELLING) for name in EVENTS),
    settings_file,
    switched_off=_switched_off,
)

install = HOOKS.install
uninstall = HOOKS.uninstall
installed = HOOKS.installed
hooks_problem = HOOKS.hooks_problem
