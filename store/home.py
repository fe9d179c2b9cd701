"""Where forkpoint keeps its data, and the person's choices."""

from __future__ import annotations

import os
import sys

from .durable import sync_folder, write_atomic
from .errors import ForkpointError
from .light import TYPE_CHECKING, Mapping, NamedTuple, Path, cast, suppress

if TYPE_CHECKING:
    from typing import Any

FILE = "settings.toml"
"""In the home of the store."""


class Settings(NamedTuple):
    """The person's choices, from settings.toml."""

    largest_file: int = 256 * 1024 * 1024
    """Bytes; a larger file is uncaptured and shown as such."""
    largest_tree: int = 200_000
    """Files; before the first checkpoint of a larger folder the person is asked."""
    secrets: bool = True
    """Whether files that look like secrets are captured; under [capture]."""
    least_free: int | None = None
    """Bytes that are always left free on the store's disk; None for what `space.least` says."""
    wait: int = 30
    """Seconds that a command waits for another one that is at work, before it gives up."""


def data_folder(env: Mapping[str, str] | None = None) -> Path:
    """`$FORKPOINT_HOME`, else the platform's user data folder; it need not exist. Raises ForkpointError without a home.

    Never a place relative to where the command runs: that would be inside of the project.
    """
    env = os.environ if env is None else env
    chosen = env.get("FORKPOINT_HOME")
    if chosen:
        chosen = os.path.expanduser(chosen)
        return Path(chosen) if os.path.isabs(chosen) else Path(os.getcwd(), chosen)
    if sys.platform.startswith("linux"):
        # What platformdirs answers here; importing it would cost a hook more than the rest of its start.
        base = env.get("XDG_DATA_HOME", "")
        if not os.path.isabs(base):
            base = os.path.join(env.get("HOME") or os.path.expanduser("~"), ".local", "share")
        if not os.path.isabs(base):
            raise ForkpointError("there is no home folder to keep the store in", todo="set FORKPOINT_HOME")
        return Path(base) / "forkpoint"
    import platformdirs

    return Path(platformdirs.user_data_dir("forkpoint", appauthor=False))


def settings(home: Path) -> Settings:
    """Reads settings.toml; a missing file means the defaults. Raises ForkpointError when it cannot be understood."""
    file = home / FILE
    table = chosen(home)
    found = Settings()
    limits = _section(table, "limits", file)
    for name in found._fields:
        if name not in limits or name == "secrets":
            continue
        value = limits[name]
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise ForkpointError(f"limits.{name} must be a number", path=str(file), todo="correct the file")
        found = found._replace(**{name: value})
    secrets = _section(table, "capture", file).get("secrets", True)
    if not isinstance(secrets, bool):
        raise ForkpointError("capture.secrets must be true or false", path=str(file), todo="correct the file")
    return found._replace(secrets=secrets)


def _section(table: Mapping[str, Any], name: str, file: Path) -> dict[str, Any]:
    section = table.get(name, {})
    if not isinstance(section, dict):
        raise ForkpointError(f"{name} must be a section, [{name}]", path=str(file), todo="correct the file")
    return cast("dict[str, Any]", section)


def chosen(home: Path) -> dict[str, Any]:
    """All that settings.toml says, unjudged; nothing where it is missing. Raises ForkpointError when it is not TOML."""
    file = home / FILE
    try:
        text = file.read_text("utf-8")
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ForkpointError(f"the settings cannot be read ({error.strerror})", path=str(file)) from None
    except UnicodeDecodeError:
        raise ForkpointError(
            "the settings cannot be read (they are not UTF-8)", path=str(file), todo="correct the file"
        ) from None
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ForkpointError(
            f"the settings cannot be read ({error})", path=str(file), todo="correct the file"
        ) from None


def choose(home: Path, name: str, value: str) -> None:
    """Sets one name that belongs to no section, a word, in settings.toml; every other line stays as it was written.

    Raises ForkpointError where the file is not what it would have to be for that.
    """
    import re
    import tomllib

    before = chosen(home)
    make_folder(home)
    file = home / FILE
    text = file.read_text("utf-8") if file.exists() else ""
    head, section, rest = re.fullmatch(r"(?s)(.*?)((?:^[ \t]*\[)|\Z)(.*)", text, re.MULTILINE).groups()  # type: ignore[union-attr]
    line = f'{name} = "{value}"\n'
    known = re.compile(rf"(?m)^[ \t]*{name}[ \t]*=[^\n]*(?:\n|\Z)")
    head = known.sub(line, head, count=1) if known.search(head) else line + head
    written = head + section + rest
    try:
        understood = tomllib.loads(written) == {**before, name: value}
    except tomllib.TOMLDecodeError:
        understood = False
    if not understood:
        raise ForkpointError("the settings could not be changed", path=str(file), todo=f"write {line.strip()} there")
    write_atomic(file.resolve(), written.encode())


def make_folder(folder: Path) -> Path:
    """Makes a folder of ours, and those above it that are missing, for the person alone, whatever the umask."""
    if not folder.is_dir():
        make_folder(folder.parent)
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            if not folder.is_dir():
                raise
        else:
            folder.chmod(0o700)
            with suppress(OSError):  # who may not read the folder above cannot sync it either
                sync_folder(folder.parent)
    return folder
