"""The one way to call git: cut off from the person's environment and configuration (design.md section 4)."""

from __future__ import annotations

import os
import sys

from ..errors import GitFailed, GitMissing, StoreUnwritable
from ..home import make_folder
from ..light import TYPE_CHECKING, Iterable, Mapping, Path

if TYPE_CHECKING:
    import subprocess

SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsync=all",
    "core.attributesFile=/dev/null",
    "core.bigFileThreshold=8m",
    "core.sharedRepository=0600",
    "core.maxTreeDepth=10000",
    "gc.auto=0",
    "maintenance.auto=false",
)
READING = (
    "-c",
    "safe.directory=*",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
)
PIPE = -1
"""subprocess.PIPE; importing that module takes as long as starting git."""
UNWRITABLE = (
    "No space left",
    "Out of diskspace",
    "Disk quota",
    "Permission denied",
    "Read-only file system",
    "File too large",
)


def environment(env: Mapping[str, str] | None = None) -> dict[str, str]:
    """An environment for git without anything that could lead it elsewhere: no inherited GIT_*, no configuration."""
    clean = {name: value for name, value in (env or os.environ).items() if not name.startswith("GIT_")}
    clean.update(
        GIT_CONFIG_NOSYSTEM="1",
        GIT_CONFIG_GLOBAL=os.devnull,
        GIT_OPTIONAL_LOCKS="0",
        GIT_TERMINAL_PROMPT="0",
        GIT_NO_LAZY_FETCH="1",
        LC_ALL="C",
    )
    return clean


def command(git_dir: Path, *arguments: str) -> list[str]:
    """The argument list of an isolated call on our object store."""
    settings = [part for setting in SETTINGS for part in ("-c", setting)]
    return ["git", *settings, f"--git-dir={git_dir}", *arguments]


def start(arguments: list[str], *, stdin: int | None = PIPE, **options: object) -> subprocess.Popen[bytes]:
    """Starts an isolated git; raises GitMissing when there is none on PATH."""
    import subprocess

    try:
        return subprocess.Popen(
            arguments,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
            umask=0o077,
            **options,  # type: ignore[call-overload]
        )
    except FileNotFoundError as error:
        if error.filename == "git":
            raise GitMissing("git was not found on PATH", todo="install git, then try again") from None
        raise


def call(git_dir: Path, *arguments: str, data: bytes = b"") -> bytes:
    """Runs git on our object store and gives what it printed; raises GitFailed or StoreUnwritable."""
    return finish(start(command(git_dir, *arguments)), arguments[0], data)


def call_in(folder: bytes | str, *arguments: str) -> bytes | None:
    """Asks git about the person's own repository, reading only; None when it does not answer.

    Whoever owns it is asked all the same, and no program that its configuration names is run.
    """
    import subprocess

    try:
        process = start(["git", *READING, *arguments], stdin=subprocess.DEVNULL, cwd=folder)
    except (NotADirectoryError, FileNotFoundError):
        return None
    output, _ = process.communicate()
    return output if process.returncode == 0 else None


def personal_setting(folder: bytes | str, name: str, git_dirs: Iterable[str] = ()) -> str:
    """A path setting of the person's own git configuration as it holds in `folder`; "" when it is not set.

    Raises GitMissing, and GitFailed when git does not answer.

    `git_dirs` are the git folders that hold the repository's own configuration. Starting git costs a hook as much as
    looking at a thousand files, so it is only asked when a file that it would read may hold the answer.
    """
    if sys.platform.startswith("linux") and not _may_be_set(name, git_dirs):
        return ""
    import subprocess

    clean = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    clean["GIT_OPTIONAL_LOCKS"] = "0"
    try:
        done = subprocess.run(
            ["git", "config", "--type=path", "--get", name],
            cwd=folder,
            env=clean,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except FileNotFoundError:
        raise GitMissing("git was not found on PATH", todo="install git, then try again") from None
    if done.returncode not in (0, 1):
        said = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise GitFailed(f"git does not tell {name} ({said})", todo=f"see: git config --get {name}")
    return os.fsdecode(done.stdout.rstrip(b"\n")) if done.returncode == 0 else ""


def _may_be_set(name: str, git_dirs: Iterable[str]) -> bool:
    """Whether any configuration file names the setting, or includes another file. Raises GitMissing."""
    path = os.environ.get("PATH", os.defpath).split(os.pathsep)
    program = next((at for folder in path if os.access(at := os.path.join(folder, "git"), os.X_OK)), "")
    if not program:
        raise GitMissing("git was not found on PATH", todo="install git, then try again")
    home = os.path.expanduser("~")
    prefix = os.path.dirname(os.path.dirname(os.path.realpath(program)))
    files = ["/etc/gitconfig", f"{prefix}/etc/gitconfig", f"{home}/.gitconfig"]
    files.append(os.path.join(os.environ.get("XDG_CONFIG_HOME") or f"{home}/.config", "git", "config"))
    files += [os.path.join(folder, file) for folder in git_dirs for file in ("config", "config.worktree")]
    key = name.rpartition(".")[2].lower().encode()
    for file in files:
        try:
            with open(file, "rb") as stream:
                text = stream.read().lower()
        except FileNotFoundError:
            continue
        except OSError:
            return True
        if key in text or b"include" in text:
            return True
    return False


def finish(process: subprocess.Popen[bytes], what: str, data: bytes = b"") -> bytes:
    """Waits for a started git and gives its output; raises GitFailed or StoreUnwritable with git's own words."""
    output, complaint = process.communicate(data)
    if process.returncode != 0:
        raise failure(what, complaint, process.returncode)
    return output


def failure(what: str, complaint: bytes, code: int) -> GitFailed | StoreUnwritable:
    """The error that tells what git said."""
    import signal

    words = complaint.decode("utf-8", "replace").strip()
    last = next((line for line in reversed(words.splitlines()) if line.startswith(("fatal", "error"))), words)
    if code == -signal.SIGXFSZ:
        last = "File too large"
    if code == -signal.SIGXFSZ or any(sign in words for sign in UNWRITABLE):
        return StoreUnwritable(
            "the store cannot be written", path=last, todo="free some space or see: forkpoint doctor"
        )
    return GitFailed(f"git {what} failed ({code}): {last}", todo="see: forkpoint doctor")


def create(git_dir: Path) -> None:
    """Makes an empty bare object store of our own."""
    import subprocess

    make_folder(git_dir.parent)
    finish(start(["git", "init", "--quiet", "--bare", "--template=", str(git_dir)], stdin=subprocess.DEVNULL), "init")
    git_dir.chmod(0o700)
