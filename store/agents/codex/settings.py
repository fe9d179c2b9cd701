"""Codex CLI's hooks: which go into which file, and whether the program runs them.

The form is the one that several agents share. But Codex runs a hook only after a person trusted it in its own screen:
`config.toml` then holds a hash of the hook under its place in the file (seen in 0.171.0). That is their decision, so
nothing is written there; what is missing is told. `codex exec` never asks, and passes over what is not trusted.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, cast

from ... import jsontext
from ...jsontext import Node, NotJson
from ..forms import shellline
from ..forms.commandhooks import CommandHooks, Event, Installed

TIMEOUT = 10
"""Seconds: twice our own budget."""
SHORT = 3
"""Seconds that Codex gives to the hooks of an end at most; it warns of a longer time at each start."""
TELLING = frozenset({"SessionStart", "UserPromptSubmit"})
"""The events whose hook may answer with a systemMessage, which the person sees and the model does not."""
ENDING = frozenset({"Interrupt", "SessionEnd"})
EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "SubagentStop",
    "Stop",
    "Interrupt",
    "SessionEnd",
)
"""The events that forkpoint records at; formats.md 2.7 tells when each fires, and `Interrupt` at Esc."""

UNTRUSTED = (
    "installed, but not trusted yet, so none of them runs: start codex (codex exec never asks) and choose "
    '"Trust all and continue", or type /hooks in it'
)
CHANGED = (
    "installed, but changed since they were trusted: start codex and choose "
    '"Trust all and continue", or type /hooks in it'
)


def settings_file(*, everywhere: bool, root: str | os.PathLike[str], env: Mapping[str, str] = os.environ) -> str:
    """The hooks of the person, or those of the project, which Codex reads only where the project is trusted."""
    return os.path.join(_home(env) if everywhere else os.path.join(root, ".codex"), "hooks.json")


HOOKS = CommandHooks(
    "codex",
    "Codex CLI",
    tuple(Event(name, SHORT if name in ENDING else TIMEOUT, tells=name in TELLING) for name in EVENTS),
    settings_file,
)

install = HOOKS.install
uninstall = HOOKS.uninstall
installed = HOOKS.installed


def hooks_problem(root: str | os.PathLike[str], env: Mapping[str, str] = os.environ) -> str:
    """Why Codex CLI does not tell us what it does in a root, in words; "" when it does."""
    problem = HOOKS.hooks_problem(root, env)
    if problem:
        return problem
    config = _config(env)
    if _is_off(config):
        return f"switched off: take features.hooks out of {_config_file(env)}"
    found = [one for one in installed(root, env) if not one.missing and not one.unread]
    problems = [_trust_problem(one, config) or _project_problem(one, root, config, env) for one in found]
    return "" if "" in problems else problems[0]


def hook_hash(event: str, hook: Mapping[str, object], matcher: str | None = None) -> str:
    """What Codex calls a hook's current hash: that of its meaning, not of its text (`codex app-server`, hooks/list)."""
    meaning: dict[str, object] = {"type": "command", "command": hook["command"], "async": False}
    meaning["timeout"] = hook["timeout"]
    identity: dict[str, object] = {"event_name": _label(event), "hooks": [meaning]}
    if matcher is not None:
        identity["matcher"] = matcher
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _trust_problem(found: Installed, config: Mapping[str, Any]) -> str:
    """Whether a person trusted every hook of ours in a file as it is."""
    states = _table(_table(config, "hooks"), "state")
    problem = ""
    for place, expected in hashes(found.file):
        keys = {f"{path}:{place}" for path in (found.file, os.path.realpath(found.file))}
        state: dict[str, Any] = {}
        for key in keys:
            state = state or _table(states, key)
        if state.get("enabled") is False:
            return f"switched off ({place}): type /hooks in codex, and switch it on"
        if "trusted_hash" not in state:
            problem = UNTRUSTED
        elif state["trusted_hash"] != expected:
            problem = problem or CHANGED
    return problem


def hashes(file: str) -> Iterator[tuple[str, str]]:
    """Of each hook of ours its place, as Codex names it, and the hash that it must be trusted by."""
    try:
        with open(file, "rb") as opened:
            top = jsontext.parse(opened.read().decode("utf-8", "surrogateescape"))
    except (OSError, NotJson):
        return
    hooks = top.get("hooks")
    for event in hooks.node.children if hooks else ():
        for at, group in enumerate(event.node.children):
            plain = _plain(group.node)
            matcher = plain.get("matcher")
            for number, hook in enumerate(_list(plain.get("hooks"))):
                told = cast("dict[str, object]", hook) if isinstance(hook, dict) else {}
                command = told.get("command")
                if event.key and isinstance(command, str) and shellline.executable_of("codex", command) is not None:
                    shown = matcher if isinstance(matcher, str) else None
                    yield f"{_label(event.key)}:{at}:{number}", hook_hash(event.key, told, shown)


def _project_problem(
    found: Installed, root: str | os.PathLike[str], config: Mapping[str, Any], env: Mapping[str, str]
) -> str:
    """A project's own hooks count only where the person trusts the project."""
    if found.file == settings_file(everywhere=True, root=root, env=env):
        return ""
    projects = _table(config, "projects")
    levels = {_table(projects, path).get("trust_level") for path in (os.fspath(root), os.path.realpath(root))}
    return "" if "trusted" in levels else "installed, but Codex CLI does not trust this project: start codex in it"


def _is_off(config: Mapping[str, Any]) -> bool:
    features = _table(config, "features")
    return features.get("hooks", features.get("codex_hooks", True)) is False


def _home(env: Mapping[str, str]) -> str:
    return env.get("CODEX_HOME") or os.path.join(env.get("HOME") or os.path.expanduser("~"), ".codex")


def _config_file(env: Mapping[str, str]) -> str:
    return os.path.join(_home(env), "config.toml")


def _config(env: Mapping[str, str]) -> dict[str, Any]:
    """The person's configuration; {} when there is none, or none that can be read."""
    try:
        with open(_config_file(env), "rb") as file:
            return tomllib.load(file)
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError):
        return {}


def _label(event: str) -> str:
    """An event's name as Codex writes it into its configuration: "pre_tool_use"."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()


def _plain(node: Node) -> dict[str, object]:
    found = jsontext.plain(node)
    return cast("dict[str, object]", found) if isinstance(found, dict) else {}


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _table(config: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = config.get(key)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
