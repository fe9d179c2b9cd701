"""An extension of ours in an agent's folder: written whole, taken away whole, never over anybody's work."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from forkpoint.store.agents.forms.ownfile import Installed, OwnFile
from forkpoint.store.errors import ForkpointError, UsageError
from forkpoint.store.rewrite import Change


def extension(*, everywhere: bool, root: str | os.PathLike[str], env: Mapping[str, str]) -> str:
    return os.path.join(env["HOME"] if everywhere else root, ".other", "extensions", "forkpoint.js")


def form(body: str = "export default (call) => call(PROGRAM);\n", agent: str = "other") -> OwnFile:
    return OwnFile(
        agent, "Other Agent", "extension", extension, lambda program: body.replace("PROGRAM", json.dumps(program))
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "person" / ".other" / "extensions" / "forkpoint.js"


@pytest.fixture
def program(tmp_path: Path) -> str:
    program = tmp_path / 'it\'s "here"' / "forkpoint"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return str(program)


def install(file: Path, program: str, ours: OwnFile | None = None, *, dry_run: bool = False) -> Change:
    return (ours or form()).install(
        everywhere=True, root=file.parent, executable=program, backups=_backups(file), dry_run=dry_run, env=_home(file)
    )


def uninstall(file: Path, ours: OwnFile | None = None) -> Change:
    return (ours or form()).uninstall(everywhere=True, root=file.parent, backups=_backups(file), env=_home(file))


def problem(file: Path) -> str:
    return form().hooks_problem(file.parent.parent.parent.parent / "project", _home(file))


def _home(file: Path) -> dict[str, str]:
    return {"HOME": str(file.parent.parent.parent)}


def _backups(file: Path) -> Path:
    return file.parent.parent.parent.parent / "backups"


def test_it_is_written_with_its_folders_and_goes_with_them(file: Path, program: str) -> None:
    assert problem(file) == "not installed"
    change = install(file, program)
    assert file.read_text().endswith(f"export default (call) => call({json.dumps(program)});\n")
    assert change.lines[:2] == ("--- /dev/null", f"+++ {file}")
    assert problem(file) == ""
    assert uninstall(file).lines[:2] == (f"--- {file}", "+++ /dev/null")
    assert not file.parent.parent.exists()


def test_installing_twice_changes_nothing(file: Path, program: str) -> None:
    install(file, program)
    assert not install(file, program).changes


def test_a_dry_run_writes_nothing(file: Path, program: str) -> None:
    assert install(file, program, dry_run=True).changes
    assert not file.exists()


def test_another_version_of_ours_is_replaced_and_kept(file: Path, program: str) -> None:
    install(file, program, form("export const version = 1;\n"))
    old = file.read_bytes()
    change = install(file, program)
    assert Path(change.backup).read_bytes() == old
    assert "-export const version = 1;" in change.lines
    install(file, program, form("export const version = 3;\n"))
    uninstall(file)
    assert not file.exists()


def test_a_file_that_is_not_ours_is_left_alone(file: Path, program: str) -> None:
    file.parent.mkdir(parents=True)
    for theirs in ("export default 1;\n", "", form(agent="third").text(program).decode()):
        file.write_text(theirs)
        with pytest.raises(ForkpointError, match="it is not ours"):
            install(file, program)
        assert not uninstall(file).changes
        assert problem(file) == "not installed"
        assert file.read_text() == theirs


def test_a_file_of_ours_that_a_person_changed_is_left_alone_and_told(file: Path, program: str) -> None:
    install(file, program)
    file.write_text(file.read_text() + "// mine\n")
    changed = file.read_text()
    for act in (lambda: install(file, program), lambda: uninstall(file)):
        with pytest.raises(ForkpointError, match="extension of forkpoint's for Other Agent was changed by hand"):
            act()
    assert problem(file) == f"changed by hand ({file})"
    assert file.read_text() == changed


def test_a_program_that_is_gone_is_told(file: Path, program: str) -> None:
    install(file, program)
    os.unlink(program)
    assert problem(file) == f"installed, but its program is gone ({program})"
    assert form().installed(file.parent, _home(file)) == (Installed(str(file), program),)


@pytest.mark.parametrize("program", ["forkpoint", "/opt/\udcff/forkpoint", "/opt/a\nb"])
def test_a_path_that_cannot_be_called_is_refused(program: str, file: Path) -> None:
    with pytest.raises(UsageError):
        install(file, program)
    assert not file.exists()
