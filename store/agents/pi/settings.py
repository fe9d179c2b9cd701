"""Our extension in Pi's folder for extensions, the person's or the project's."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ...executable import this_executable as this_executable
from ..forms.ownfile import OwnFile
from . import agent_home
from .extension import body
from .loading import why_not

FILE = "forkpoint.js"


def settings_file(*, everywhere: bool, root: str | os.PathLike[str], env: Mapping[str, str] = os.environ) -> str:
    """The file in the person's own folder, or in the project's."""
    folder = agent_home(env) if everywhere else os.path.join(root, ".pi")
    return os.path.join(folder, "extensions", FILE)


_own = OwnFile("pi", "Pi", "extension", settings_file, body)
install = _own.install
uninstall = _own.uninstall
installed = _own.installed


def hooks_problem(root: str | os.PathLike[str], env: Mapping[str, str] = os.environ) -> str:
    """Why Pi does not tell us what it does in a root, in words; "" when it does."""
    problems = [_own.problem_of(one) or why_not(one.file, root, env) for one in installed(root, env)]
    return "" if "" in problems else [*problems, "not installed"][0]
