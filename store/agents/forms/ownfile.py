"""One file of ours in an agent's folder: an extension or plugin that tells forkpoint what the agent does.

Its first line is a mark: whose it is, which program it calls, and a hash of all that follows. So a file of any version
of ours is known to be whole, and one that a person changed is never overwritten or taken away.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ...errors import ForkpointError
from ...executable import check_callable
from ...rewrite import Change, read, whole
from .installing import Installer, SettingsFile

_MARK = re.compile(rb"// forkpoint ([a-z]+) ([0-9a-f]{64}) (\".*\"): made by forkpoint install\b[^\n]*\n")


@dataclass(frozen=True, slots=True)
class Installed:
    """A file of ours."""

    file: str
    executable: str
    """The absolute path that it calls."""
    changed: bool = False
    """Whether somebody changed it since."""


@dataclass(frozen=True)
class OwnFile(Installer):
    """Our file for one agent; an agent's module `settings` takes its functions from here."""

    agent: str
    title: str
    word: str
    """What people call such a file: "extension", "plugin"."""
    file: SettingsFile
    body: Callable[[str], str]
    """The program text (JavaScript or TypeScript, "//" begins a comment) that calls this executable."""

    def text(self, executable: str) -> bytes:
        """The whole file."""
        check_callable(executable)
        body = self.body(executable).encode()
        digest = hashlib.sha256(body).hexdigest()
        said = f"made by forkpoint install, taken away by forkpoint uninstall {self.agent}"
        return f"// forkpoint {self.agent} {digest} {json.dumps(executable)}: {said}\n".encode() + body

    def plan_install(self, file: str, executable: str) -> Change:
        """Our file, over an older one of ours at the most. Raises ForkpointError for one that is not."""
        before = read(file)
        if before is not None:
            self._refuse_strange(file, before)
        return whole(file, before, self.text(executable))

    def plan_uninstall(self, file: str) -> Change:
        """No file of ours; one that is not ours stays. Raises ForkpointError for one that was changed since."""
        before = read(file)
        if before is None or self._ours(file, before) is None:
            return Change(file, before, before, ())
        self._refuse_strange(file, before)
        return whole(file, before, None)

    def installed(self, root: str | os.PathLike[str], env: Mapping[str, str] = os.environ) -> tuple[Installed, ...]:
        """Our files for the person and for the project; one that cannot be read counts as none."""
        found: list[Installed] = []
        for file in self.files(root, env):
            try:
                ours = self._ours(file, Path(file).read_bytes())
            except OSError:
                continue
            if ours is not None:
                found.append(ours)
        return tuple(found)

    def hooks_problem(self, root: str | os.PathLike[str], env: Mapping[str, str] = os.environ) -> str:
        """Why the agent does not tell us what it does in a root, in words; "" when it does."""
        found = self.installed(root, env)
        if not found:
            return "not installed"
        problems = [self.problem_of(one) for one in found]
        return "" if "" in problems else problems[0]

    def problem_of(self, found: Installed) -> str:
        """Why a file of ours does not tell us anything, in words; "" when it does."""
        if not os.access(found.executable, os.X_OK):
            return f"installed, but its program is gone ({found.executable})"
        return f"changed by hand ({found.file})" if found.changed else ""

    def _refuse_strange(self, file: str, data: bytes) -> None:
        ours = self._ours(file, data)
        if ours is None:
            what = f"this file is in the place of forkpoint's {self.word} for {self.title}, and it is not ours"
            raise ForkpointError(what, path=file, todo="it was left as it is; move it away first")
        if ours.changed:
            what = f"this {self.word} of forkpoint's for {self.title} was changed by hand"
            raise ForkpointError(what, path=file, todo="it was left as it is; move it away first")

    def _ours(self, file: str, data: bytes | None) -> Installed | None:
        found = _MARK.match(data) if data is not None else None
        if data is None or found is None or found.group(1) != self.agent.encode():
            return None
        try:
            executable: object = json.loads(found.group(3))
        except ValueError:
            executable = ""
        changed = hashlib.sha256(data[found.end() :]).hexdigest().encode() != found.group(2)
        return Installed(file, executable if isinstance(executable, str) else "", changed or not executable)
