"""Gemini CLI's settings file: which hooks go into which file; the rest is the form that several agents share."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ... import jsontext
from ...jsontext import Node
from ..forms.belonging import is_under
from ..forms.commandhooks import CommandHooks, Event
from .events import READ_ONLY

HOOK = "forkpoint"
"""What the program shows while a hook of ours is at work."""

TIMEOUT = 10
"""Seconds; the program would wait a minute."""

PATIENCE = 8
"""Seconds after which a hook ends by itself: the program shows a warning for each that it has to give up."""

TOOLS = f"^(?!({'|'.join(sorted(READ_ONLY))})$)"
"""The program takes it for a regular expression: nothing is started for tools that only read."""

EVENTS = (
    Event("SessionStart", TIMEOUT, tells=True),
    Event("BeforeAgent", TIMEOUT, tells=True),
    Event("BeforeTool", TIMEOUT, TOOLS),
    Event("AfterTool", TIMEOUT, TOOLS),
    Event("AfterAgent", TIMEOUT),
    Event("SessionEnd", TIMEOUT),
)
"""The events that forkpoint records at; formats.md 3.5 tells when each fires."""


def settings_file(*, everywhere: bool, root: str | os.PathLike[str], env: Mapping[str, str] = os.environ) -> str:
    """The person's own settings file, or the project's."""
    if not everywhere:
        return os.path.join(root, ".gemini", "settings.json")
    home = env.get("GEMINI_CLI_HOME") or env.get("HOME") or os.path.expanduser("~")
    return os.path.join(home, ".gemini", "settings.json")


def _switched_off(top: Node) -> str:
    config = top.get("hooksConfig")
    if config is None or config.node.shape != "object":
        return ""
    enabled, disabled = config.node.get("enabled"), config.node.get("disabled")
    if enabled is not None and enabled.node.value is False:
        return "hooksConfig.enabled"
    names = disabled.node.children if disabled is not None and disabled.node.shape == "array" else ()
    return "hooksConfig.disabled" if any(name.node.value == HOOK for name in names) else ""


HOOKS = CommandHooks(
    "gemini",
    "Gemini CLI",
    EVENTS,
    settings_file,
    unit="ms",
    comments=True,
    switched_off=_switched_off,
    patience=PATIENCE,
    extra={"name": HOOK},
)

install = HOOKS.install
uninstall = HOOKS.uninstall
installed = HOOKS.installed


def hooks_problem(root: str | os.PathLike[str], env: Mapping[str, str] = os.environ) -> str:
    """Why Gemini CLI does not tell us what it does in a root, in words; "" when it does."""
    problem = HOOKS.hooks_problem(root, env)
    if problem:
        return problem
    rules = os.path.join(os.path.dirname(settings_file(everywhere=True, root=root, env=env)), "trustedFolders.json")
    return f"not run: Gemini CLI was told not to trust this folder ({rules})" if _is_distrusted(root, rules) else ""


def _is_distrusted(root: str | os.PathLike[str], rules: str) -> bool:
    """Whether the rule for the nearest folder says so: in such a folder the program runs no hook, not the person's."""
    try:
        with open(rules, "rb") as file:
            top = jsontext.parse(file.read().decode("utf-8", "surrogateescape"))
    except (OSError, jsontext.NotJson):
        return False
    real, nearest, distrusted = os.path.realpath(root), "", False
    for rule in top.children if top.shape == "object" else ():
        level = rule.node.value
        folder = os.path.realpath(rule.key or "")
        folder = os.path.dirname(folder) if level == "TRUST_PARENT" else folder
        if is_under(real, folder) and len(folder) > len(nearest):
            nearest, distrusted = folder, level == "DO_NOT_TRUST"
    return distrusted
