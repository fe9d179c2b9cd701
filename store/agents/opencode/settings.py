"""Our plugin in OpenCode's folder for plugins, the person's or the project's."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ...executable import this_executable as this_executable
from ..forms.ownfile import OwnFile
from . import config_home
from .plugin import body

FILE = "forkpoint.js"


def settings_file(*, everywhere: bool, root: str | os.PathLike[str], env: Mapping[str, str] = os.environ) -> str:
    """The file in the person's own folder, or in the project's."""
    folder = config_home(env) if everywhere else os.path.join(root, ".opencode")
    return os.path.join(folder, "plugin", FILE)


_own = OwnFile("opencode", "OpenCode", "plugin", settings_file, body)
install = _own.install
uninstall = _own.uninstall
installed = _own.installed
hooks_problem = _own.hooks_problem
