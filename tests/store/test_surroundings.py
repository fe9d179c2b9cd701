"""A hostile surrounding: whatever is inherited or configured, all works, nothing foreign runs, and the project's git
repository stays byte for byte as it was."""

from __future__ import annotations

import io
import json
import os
import resource
import shlex
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from forkpoint.tui import cli

from ..builders.cli import COMMAND, every_file, forkpoint, without
from ..builders.folders import git, make, repository
from ..builders.people import NOBODY, as_nobody
from .test_recording import SESSION, recorded

HOOKS = ("post-commit", "pre-commit", "reference-transaction", "post-checkout", "post-index-change", "pre-auto-gc")


@dataclass
class Stand:
    """A project under git, a person's machine around it, and the commands that are run there."""

    project: Path
    marker: Path
    """Is there when something foreign was run."""
    env: dict[str, str] = field(default_factory=lambda: dict(os.environ))
    before: Callable[[], None] | None = None
    """What each process does to itself before it becomes the command."""
    command: list[str] = field(default_factory=lambda: list(COMMAND))

    @property
    def home(self) -> Path:
        return Path(self.env["FORKPOINT_HOME"])

    def runs(self, *arguments: str, given: str = "", code: int = 0) -> str:
        done = subprocess.run(
            [*self.command, *arguments],
            cwd=self.project,
            env=self.env,
            input=given,
            capture_output=True,
            text=True,
            preexec_fn=self.before,
            timeout=60,
        )
        assert done.returncode == code, done
        assert "Traceback" not in done.stderr, done
        return done.stdout

    def hook(self, name: str, **told: object) -> None:
        self.env["CLAUDE_PROJECT_DIR"] = str(self.project)
        payload = {"hook_event_name": name, "session_id": SESSION, "prompt_id": "p", **told}
        assert self.runs("hook", "claude", given=json.dumps(payload)) == ""

    def works(self) -> None:
        """Save, hook, log, restore, undo: each does what it should, and leaves the repository alone."""
        file = self.project / "a"
        repository_before = every_file(self.project / ".git")
        saved = json.loads(self.runs("save", "-m", "one", "--json"))
        assert saved["uncaptured"] == []
        file.write_text("two\n")
        self.hook("UserPromptSubmit", prompt="Go")
        assert json.loads(self.runs("restore", "one", "--files", "--all", "--yes", "--json"))["failed"] == []
        assert file.read_text() == "one\n"
        self.runs("undo", "--yes")
        assert file.read_text() == "two\n"
        log = json.loads(self.runs("log", "files", "--json"))
        assert {point["reason"] for point in log["checkpoints"]} >= {"manual", "guard"}
        assert saved["id"] in self.runs("show", "one", "--json")
        self.runs("verify")
        assert not self.marker.exists(), self.marker.read_text()
        assert every_file(self.project / ".git") == repository_before
        assert open_to_others(self.home) == []


def open_to_others(home: Path) -> list[str]:
    """What of the store is not 0600 or 0700 (git's finished packs are read-only)."""
    found = {path: stat.S_IMODE(path.lstat().st_mode) for path in (home, *home.rglob("*"))}
    return [
        f"{path} {mode:o}"
        for path, mode in found.items()
        if mode not in ((0o700,) if path.is_dir() else (0o600, 0o400))
    ]


@pytest.fixture
def stand(tmp_path: Path) -> Stand:
    project = repository(tmp_path / "shop", {"a": "one\n", ".gitignore": "*.log\n", "kept.log": ""})
    git(project, "add", "-f", "kept.log")
    git(project, "commit", "-q", "-m", "kept")
    return Stand(project, tmp_path / "marker")


def foreign(stand: Stand, name: str) -> str:
    """A program that leaves a mark when it is run."""
    file = stand.marker.with_name("foreign")
    file.write_text(f'#!/bin/sh\necho "$0 $*" >> "{stand.marker}"\nexit 0\n')
    file.chmod(0o755)
    return f"{file} {name}"


def hooks(stand: Stand) -> str:
    folder = stand.marker.with_name("hooks")
    for name in HOOKS:
        make(folder, {name: f"#!/bin/sh\n{foreign(stand, name)}\n"})
        (folder / name).chmod(0o755)
    return str(folder)


# --- git --------------------------------------------------------------------------------------------------------------


def test_git_variables_of_every_kind_are_passed_over(stand: Stand, tmp_path: Path) -> None:
    inside = stand.project / ".git"
    trace = tmp_path / "trace"
    stand.env |= {
        "GIT_DIR": str(inside),
        "GIT_COMMON_DIR": str(inside),
        "GIT_WORK_TREE": "/",
        "GIT_INDEX_FILE": str(inside / "index"),
        "GIT_OBJECT_DIRECTORY": str(inside / "objects"),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(inside / "objects"),
        "GIT_QUARANTINE_PATH": str(inside / "objects"),
        "GIT_NAMESPACE": "elsewhere",
        "GIT_CEILING_DIRECTORIES": "/:" + str(stand.project),
        "GIT_EXEC_PATH": "/nowhere",
        "GIT_TEMPLATE_DIR": hooks(stand),
        "GIT_DEFAULT_HASH": "sha256",
        "GIT_DEFAULT_REF_FORMAT": "reftable",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_EXTERNAL_DIFF": foreign(stand, "diff"),
        "GIT_PAGER": foreign(stand, "pager"),
        "GIT_SSH_COMMAND": foreign(stand, "ssh"),
        "GIT_CONFIG_COUNT": "2",
        "GIT_CONFIG_KEY_0": "core.hooksPath",
        "GIT_CONFIG_VALUE_0": hooks(stand),
        "GIT_CONFIG_KEY_1": "core.fsmonitor",
        "GIT_CONFIG_VALUE_1": foreign(stand, "fsmonitor"),
        "GIT_CONFIG_PARAMETERS": f"'core.hookspath={hooks(stand)}'",
        **{name: str(trace) for name in ("GIT_TRACE", "GIT_TRACE2", "GIT_TRACE2_EVENT", "GIT_TRACE_SETUP")},
    }
    stand.works()
    assert not trace.exists()


def test_a_hostile_configuration_of_the_person_and_of_the_project_runs_nothing(stand: Stand, machine: Path) -> None:
    other = foreign(stand, "configured")
    text = f"""
[core]
	hooksPath = {hooks(stand)}
	fsmonitor = {other}
	attributesFile = {machine}/attributes
	autocrlf = true
	eol = crlf
	sshCommand = {other}
	pager = {other}
	editor = {other}
	sharedRepository = world
	bigFileThreshold = 1
	alternateRefsCommand = {other}
	worktree = /
[filter "evil"]
	clean = {other}
	smudge = {other}
	process = {other}
	required = true
[diff]
	external = {other}
[init]
	templateDir = {hooks(stand)}
	defaultObjectFormat = sha256
[commit]
	gpgsign = true
[gpg]
	program = {other}
[alias]
	fast-import = !{other}
	ls-files = !{other}
	cat-file = !{other}
[gc]
	auto = 1
[pack]
	packSizeLimit = 1k
[safe]
	bareRepository = explicit
	directory =
[extensions]
	objectFormat = sha256
[include]
	path = {machine}/included
"""
    (machine / ".gitconfig").write_text(text)
    (machine / "attributes").write_text("* filter=evil text eol=crlf ident\n")
    (machine / "included").write_text(f"[core]\n\thooksPath = {hooks(stand)}\n")
    make(stand.project, {".gitattributes": "* filter=evil text eol=crlf ident\n"})
    with open(stand.project / ".git" / "config", "a") as config:
        config.write(
            f'[core]\n\tfsmonitor = {other}\n\thooksPath = {hooks(stand)}\n[filter "evil"]\n\tclean = {other}\n'
        )
    del stand.env["GIT_CONFIG_NOSYSTEM"]
    stand.works()


@pytest.mark.skipif("os.geteuid() != 0", reason="only root can give a repository to somebody else")
def test_what_is_tracked_is_known_also_in_somebody_else_s_repository(stand: Stand) -> None:
    subprocess.run(["chown", "-R", str(NOBODY), stand.project], check=True)
    point = json.loads(stand.runs("save", "--json"))["id"]
    (git_dir,) = (stand.home / "workspaces").glob("*/objects.git")
    names = git(git_dir, "ls-tree", "-r", "--name-only", f"refs/points/{point[:2]}/{point}:files").split()
    assert names == [".gitignore", "a", "kept.log"]
    stand.works()


# --- the machine ------------------------------------------------------------------------------------------------------


def test_nothing_is_needed_of_the_environment_but_where_git_is(stand: Stand) -> None:
    stand.env = {"PATH": os.environ["PATH"], "FORKPOINT_HOME": os.environ["FORKPOINT_HOME"]}
    (Path(os.environ["HOME"]) / ".gitconfig").unlink()
    stand.works()


ODD_MACHINE = {
    "HOME": "/nonexistent/home",
    "TMPDIR": "/nonexistent",
    "LANG": "C",
    "LC_ALL": "POSIX",
    "PYTHONCOERCECLOCALE": "0",
    "PYTHONUTF8": "0",
    "TZ": "Nowhere/Odd+99:99",
    "TERM": "",
    "COLUMNS": "0",
}
ODD_PYTHON = {
    "PYTHONOPTIMIZE": "2",
    "PYTHONWARNINGS": "error",
    "PYTHONDEVMODE": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONUNBUFFERED": "1",
    "PYTHONIOENCODING": "ascii:strict",
    "PYTHONSAFEPATH": "1",
}


@pytest.mark.parametrize("odd", [ODD_MACHINE, ODD_PYTHON], ids=["machine", "python"])
def test_an_odd_environment_changes_nothing(odd: Mapping[str, str], stand: Stand) -> None:
    make(stand.project, {"naïve – ñ.txt": "…\n"})
    stand.env |= odd
    stand.works()


def test_no_module_is_imported_from_the_folder_where_a_command_runs(stand: Stand) -> None:
    """Also where PYTHONPATH names it; what Python itself reads before us then is beyond us."""
    started = [sys.executable, "-c", "import sys; print(*sys.modules)"]
    before_us = subprocess.run(started, capture_output=True, text=True, check=True).stdout.split()
    noticed = f'open({str(stand.marker)!r}, "a").write(__name__)\n'
    names = {name for name in sys.modules if "." not in name and not name.startswith("_")}
    names |= {"click", "json", "msgspec", "pygit2", "tinydb", "unidiff"}
    names -= {*before_us, "forkpoint"}
    assert len(names) > 50
    make(stand.project, {f"{name}.py": noticed for name in names})
    stand.env["PYTHONPATH"] = os.pathsep.join([".", "", str(stand.project)])
    stand.command = [sys.executable, "-P", "-c", "from forkpoint.tui.cli import main; main()"]
    stand.works()


def test_closed_standard_files_are_no_files_of_ours(stand: Stand) -> None:
    def close() -> None:
        for number in range(3):
            os.close(number)

    before = every_file(stand.project / ".git")
    for arguments in (["save", "-m", "one"], ["log"], ["restore", "one", "--files", "--all", "--yes"], ["status"]):
        done = subprocess.run(
            [*stand.command, *arguments], cwd=stand.project, env=stand.env, preexec_fn=close, timeout=60
        )
        assert done.returncode in (0, 1), arguments
        (stand.project / "a").write_text("two\n")
    assert json.loads(stand.runs("log", "files", "--json"))["checkpoints"]
    stand.runs("verify")
    assert every_file(stand.project / ".git") == before
    assert open_to_others(stand.home) == []


def test_a_hook_whose_output_is_closed_records(stand: Stand) -> None:
    stand.env["CLAUDE_PROJECT_DIR"] = str(stand.project)
    payload = json.dumps(
        {"hook_event_name": "UserPromptSubmit", "session_id": SESSION, "prompt": "Go", "prompt_id": "p"}
    )
    line = f"{shlex.join(COMMAND)} hook claude >&- 2>&-"
    done = subprocess.run(["sh", "-c", line], cwd=stand.project, env=stand.env, input=payload, text=True, timeout=60)
    assert done.returncode == 0
    (git_dir,) = (stand.home / "workspaces").glob("*/objects.git")
    assert git(git_dir, "for-each-ref", "refs/points").count("\n") == 1


def test_few_open_files_and_a_small_stack_are_enough(stand: Stand) -> None:
    make(stand.project, {f"{'/'.join('bcdefgh')}/{number}": str(number) for number in range(100)})

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    stand.before = limit
    stand.works()


def test_a_folder_that_is_gone_is_one_line_for_a_command_and_none_for_a_hook(stand: Stand, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    script = f'mkdir "{gone}" && cd "{gone}" && rmdir "{gone}" && exec "$@"'
    named = ["-C", str(stand.project), "save"]
    for arguments, code, lines in ((["save"], 1, 1), (["log"], 1, 1), (["hook", "claude"], 0, 0), (named, 0, 0)):
        command = ["sh", "-c", script, "sh", *COMMAND, *arguments]
        done = subprocess.run(command, env=stand.env, input="{}", capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr.count("\n")) == (code, lines), done
        assert bool(done.stdout) == (arguments is named)


def test_without_git_nothing_is_touched_and_a_hook_stays_quiet(stand: Stand, tmp_path: Path) -> None:
    stand.env = without(tmp_path / "bin", "git")
    before = every_file(stand.project)
    stand.runs("save", code=1)
    stand.env["CLAUDE_PROJECT_DIR"] = str(stand.project)
    payload = json.dumps(
        {"hook_event_name": "PreToolUse", "session_id": SESSION, "tool_name": "Bash", "tool_use_id": "t"}
    )
    assert stand.runs("hook", "claude", given=payload) == ""
    assert every_file(stand.project) == before


def command_under(mask: int, *arguments: str, given: str = "") -> int:
    """Runs a command in a fork of this process, whose program somebody else may not start; gives its exit code."""
    pid = os.fork()
    if pid == 0:
        os.umask(mask)
        sys.argv = ["forkpoint", *arguments]
        sys.stdin = io.TextIOWrapper(io.BytesIO(given.encode()))
        sys.stdout = sys.stderr = io.StringIO()
        code: object = 1
        try:
            cli.main()
        except SystemExit as left:
            code = left.code
        finally:
            os._exit(code if isinstance(code, int) else 1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.parametrize("mask", [0o777, 0o000, 0o277])
def test_whatever_the_umask_the_store_is_the_person_s_alone(
    mask: int, tmp_path: Path, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As somebody who is not root, whom a mode of 000 would lock out."""
    payload = json.dumps(
        {"hook_event_name": "UserPromptSubmit", "session_id": SESSION, "prompt": "Go", "prompt_id": "p"}
    )

    def works(name: str) -> str:
        project = make(tmp_path, {f"{name}/a": "one\n", f"{name}/d/b": "one\n"}) / name
        os.chdir(project)
        os.environ["FORKPOINT_HOME"] = str(tmp_path / f"{name} data" / "forkpoint")
        os.environ["CLAUDE_PROJECT_DIR"] = str(project)
        codes = [command_under(mask, "save", "-m", "one")]
        shutil.rmtree("d")
        Path("a").write_bytes(b"two\n")
        codes.append(command_under(mask, "hook", "claude", given=payload))
        codes.append(command_under(mask, "restore", "one", "--files", "--all", "--yes"))
        found = [Path(file).read_text() for file in ("a", "d/b")]
        modes = [stat.S_IMODE(os.stat(file).st_mode) for file in ("a", "d", "d/b")]
        codes += [command_under(mask, *words) for words in (["undo", "--yes"], ["log"], ["verify"])]
        reasons = [point.reason for point in recorded(project)]
        gone = not os.path.exists("d")
        return json.dumps([codes, found, modes, reasons, open_to_others(tmp_path / f"{name} data"), gone])

    for name in ("FORKPOINT_HOME", "CLAUDE_PROJECT_DIR"):
        monkeypatch.setenv(name, "set again below")
    monkeypatch.chdir(tmp_path)
    for words in (["log"], ["verify"], ["undo"], ["restore", "x"]):
        forkpoint(*words)  # so that all modules are read: somebody else may not be able to
    told = works("seen by root")
    if os.geteuid() == 0:
        told = as_nobody(tmp_path, lambda: works("seen by nobody"))
    assert told.startswith("["), told
    codes, found, modes, reasons, others, gone = json.loads(told)
    assert codes == [0] * len(codes)
    assert found == ["one\n", "one\n"]
    assert modes == [0o644, 0o755, 0o644]
    assert reasons == ["manual", "prompt", "guard", "guard"]
    assert others == []
    assert gone
