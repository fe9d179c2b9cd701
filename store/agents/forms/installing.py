"""Files by which an agent is told to call forkpoint: the person's own, and a project's."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from ...rewrite import Change, carry_out


class SettingsFile(Protocol):
    def __call__(self, *, everywhere: bool, root: str | os.PathLike[str], env: Mapping[str, str]) -> str:
        """The person's own settings file, or the project's."""
        ...


class Installer(ABC):
    """What an agent's module `settings` takes its functions from."""

    file: SettingsFile

    @abstractmethod
    def plan_install(self, file: str, executable: str) -> Change:
        """What `install` would do to this file. Raises ForkpointError."""

    @abstractmethod
    def plan_uninstall(self, file: str) -> Change:
        """What `uninstall` would do to this file. Raises ForkpointError."""

    def install(
        self,
        *,
        everywhere: bool,
        root: str | os.PathLike[str],
        executable: str,
        backups: str | os.PathLike[str],
        dry_run: bool = False,
        env: Mapping[str, str] = os.environ,
    ) -> Change:
        """Has the agent call an executable; does nothing when it does.

        backups is the folder of the store that old files are kept in. Raises ForkpointError when the file cannot take
        it, or cannot be read or written; it is then as it was.
        """
        change = self.plan_install(self.file(everywhere=everywhere, root=root, env=env), executable)
        return _done(change, backups, dry_run)

    def uninstall(
        self,
        *,
        everywhere: bool,
        root: str | os.PathLike[str],
        backups: str | os.PathLike[str],
        dry_run: bool = False,
        env: Mapping[str, str] = os.environ,
    ) -> Change:
        """Takes out what `install` put in, and the file with it when it held nothing else; as `install`."""
        return _done(self.plan_uninstall(self.file(everywhere=everywhere, root=root, env=env)), backups, dry_run)

    def files(self, root: str | os.PathLike[str], env: Mapping[str, str]) -> tuple[str, str]:
        """The person's and the project's."""
        return self.file(everywhere=True, root=root, env=env), self.file(everywhere=False, root=root, env=env)


def folders_of(file: SettingsFile, root: str) -> tuple[str, str]:
    """The folders of the person's settings, and of a root's."""
    ours, theirs = (os.path.dirname(file(everywhere=where, root=root, env=os.environ)) for where in (True, False))
    return ours, theirs


def _done(change: Change, backups: str | os.PathLike[str], dry_run: bool) -> Change:
    return change if dry_run or not change.changes else carry_out(change, Path(backups))
