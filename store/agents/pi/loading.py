"""Whether Pi loads an extension: settings may switch one off, and a project's own waits until it is trusted."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch

from ... import lightjson as json
from ..forms.plain import items, table
from . import agent_home, settings_of


def why_not(file: str, root: str | os.PathLike[str], env: Mapping[str, str]) -> str:
    """Why Pi does not load an extension's file in a root, in words; "" when it does."""
    home = agent_home(env)
    own = os.path.join(root, ".pi")
    for folder in (home, own):
        if _is_off(file, folder):
            return f"switched off (extensions in {os.path.join(folder, 'settings.json')})"
    if file.startswith(own + os.sep) and not _is_trusted(os.path.realpath(root), home):
        return "not loaded before Pi trusts this folder (/trust)"
    return ""


def _is_off(file: str, folder: str) -> bool:
    """Whether the settings in a folder leave one of its extensions out: "-" and "+" name one, "!" is a pattern."""
    rules = [rule for rule in items(settings_of(folder).get("extensions")) if isinstance(rule, str)]
    names = (os.path.relpath(file, folder), os.path.basename(file), file)
    off = any(rule.startswith("!") and any(fnmatch(name, rule[1:]) for name in names) for rule in rules)
    named = {rule[0]: True for rule in rules if rule[:1] in "+-" and rule[1:].removeprefix("./") in (names[0], file)}
    return "-" in named or (off and "+" not in named)


def _is_trusted(root: str, home: str) -> bool:
    """What was decided for the folder or the nearest one above it, else what the person decided for all."""
    try:
        with open(os.path.join(home, "trust.json"), "rb") as file:
            decided = table(json.loads(file.read()))
    except (OSError, ValueError, RecursionError):
        decided = table(None)
    for folder in _upwards(root):
        if isinstance(decided.get(folder), bool):
            return bool(decided[folder])
    return settings_of(home).get("defaultProjectTrust") == "always"


def _upwards(folder: str) -> Iterator[str]:
    yield folder
    while (above := os.path.dirname(folder)) != folder:
        yield above
        folder = above
