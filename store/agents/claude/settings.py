"""Claude Code's settings file: puts our hooks in and takes exactly them out again.

The file belongs to the person: nothing else in it changes by a byte (see `jsontext`), and before anything is written
the way back is tried.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ... import jsontext
from ...errors import ForkpointError, UsageError
from ...jsontext import Edit, Node, NotJson
from ...rewrite import Change, carry_out, read
from ..forms.executable import this_executable as this_executable

EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "SubagentStop",
    "Stop",
    "StopFailure",
    "SessionEnd",
)
"""The events that forkpoint records at; formats.md 1.9 tells when each fires."""

TELLING = frozenset({"SessionStart", "UserPromptSubmit"})
"""The events whose hook may answer with a systemMessage, which the person sees and the model does not."""

TIMEOUT = 10
"""Seconds after which the agent gives a hook up: twice our own budget. SessionEnd would get 1.5 s without it."""

_OURS = re.compile(r"test ! -x ('(?:[^']|'\"'\"')*') \|\| .*\1 hook claude\b", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Installed:
    """Hooks of ours in a settings file."""

    file: str
    executable: str
    """The absolute path that the hooks call."""
    missing: tuple[str, ...]
    """Events for which there is no hook of ours."""
    disabled: bool = False
    """The file switches all hooks off (disableAllHooks)."""
    unread: str = ""
    """Why Claude Code does not read the file, in words; "" when it does."""


def command(executable: str, event: str) -> str:
    """The shell line of a hook: it cannot fail, and prints a systemMessage or nothing, whatever became of forkpoint."""
    path = _quoted(executable)
    if event in TELLING:
        told = """case $said in '{"systemMessage":'*) printf '%s\\n' "$said";; esac"""
        return f"test ! -x {path} || {{ said=$({path} hook claude); {told}; }} 2>/dev/null || true"
    return f"test ! -x {path} || {{ {path} hook claude; }} >/dev/null 2>&1 || true"


def settings_file(*, everywhere: bool, root: str | os.PathLike[str], env: Mapping[str, str] = os.environ) -> str:
    """The person's own settings file, or the project's local one."""
    if not everywhere:
        return os.path.join(root, ".claude", "settings.local.json")
    home = env.get("CLAUDE_CONFIG_DIR") or os.path.join(env.get("HOME") or os.path.expanduser("~"), ".claude")
    return os.path.join(home, "settings.json")


def install(
    *,
    everywhere: bool,
    root: str | os.PathLike[str],
    executable: str,
    backups: str | os.PathLike[str],
    dry_run: bool = False,
    env: Mapping[str, str] = os.environ,
) -> Change:
    """Adds our hooks to a settings file; does nothing when they are there.

    backups is the folder of the store that old settings files are kept in. Raises ForkpointError when the file is no
    JSON, or cannot be read or written; the file is then as it was.
    """
    change = plan_install(settings_file(everywhere=everywhere, root=root, env=env), executable)
    return change if dry_run or not change.changes else carry_out(change, Path(backups))


def uninstall(
    *,
    everywhere: bool,
    root: str | os.PathLike[str],
    backups: str | os.PathLike[str],
    dry_run: bool = False,
    env: Mapping[str, str] = os.environ,
) -> Change:
    """Takes our hooks out of a settings file, and the file with them when it held nothing else. Errors as `install`."""
    change = plan_uninstall(settings_file(everywhere=everywhere, root=root, env=env))
    return change if dry_run or not change.changes else carry_out(change, Path(backups))


def installed(root: str | os.PathLike[str], env: Mapping[str, str] = os.environ) -> tuple[Installed, ...]:
    """Our hooks in the person's and the project's settings; a file that cannot be read counts as without them."""
    found: list[Installed] = []
    for everywhere in (True, False):
        file = settings_file(everywhere=everywhere, root=root, env=env)
        try:
            text = _decoded(Path(file).read_bytes())
            top = jsontext.parse(text)
        except (OSError, NotJson):
            continue
        ours = list(_ours(top))
        if ours:
            off = top.get("disableAllHooks")
            missing = tuple(event for event in EVENTS if event not in {o.event for o in ours})
            disabled = off is not None and off.node.value is True
            found.append(Installed(file, ours[0].executable, missing, disabled, _unread(text)))
    return tuple(found)


def hooks_problem(root: str | os.PathLike[str], env: Mapping[str, str] = os.environ) -> str:
    """Why Claude Code does not tell us what it does in a root, in words; "" when it does."""
    found = installed(root, env)
    if not found:
        return "not installed"
    problems = [_problem_of(one) for one in found]
    return "" if "" in problems else problems[0]


def _unread(text: str) -> str:
    try:
        jsontext.parse(text, strict=True)
    except NotJson as error:
        return str(error)
    return ""


def _problem_of(found: Installed) -> str:
    if found.unread:
        return f"in a file that Claude Code cannot read ({found.unread} of {found.file})"
    if found.disabled:
        return f"switched off (disableAllHooks in {found.file})"
    if not os.access(found.executable, os.X_OK):
        return f"installed, but their program is gone ({found.executable})"
    if found.missing:
        return f"incomplete, there is none for {', '.join(found.missing)} ({found.file})"
    return ""


def plan_install(file: str, executable: str) -> Change:
    """What `install` would do to this file."""
    if not os.path.isabs(executable):
        raise UsageError("hooks need an absolute path", path=executable)
    before = read(file)
    if before is None:
        text = _fresh(executable)
        return Change(file, None, text.encode(), (*_head(file, made=True), *(f"+{x}" for x in text.split("\n")[:-1])))
    text = _decoded(before)
    top = _parsed(text, file, strict=True)
    stale = [o for o in _ours(top) if o.command != command(executable, o.event)]
    cuts = jsontext.without(text, [o.path for o in stale])
    cleaned = jsontext.apply(text, cuts)
    edits = _additions(cleaned, _parsed(cleaned, file), executable, file)
    after = jsontext.apply(cleaned, edits)
    _check(before=cleaned, after=after, file=file)
    return Change(file, before, _encoded(after), _lines(file, text, cuts, cleaned, edits))


def plan_uninstall(file: str) -> Change:
    """What `uninstall` would do to this file."""
    before = read(file)
    if before is None:
        return Change(file, None, None, ())
    text = _decoded(before)
    ours = list(_ours(_parsed(text, file)))
    if ours and text == _fresh(ours[0].executable):
        return Change(file, before, None, (*_head(file, gone=True), *(f"-{x}" for x in text.split("\n")[:-1])))
    cuts = jsontext.without(text, [o.path for o in ours])
    after = jsontext.apply(text, cuts)
    _check(before=after, after=text, file=file)
    return Change(file, before, _encoded(after), _lines(file, text, cuts, after, []))


@dataclass(frozen=True, slots=True)
class _Ours:
    event: str
    command: str
    executable: str
    path: tuple[jsontext.Step, ...]
    """Where it stands; a group that holds nothing else goes as a whole."""


def _ours(top: Node) -> Iterator[_Ours]:
    """Every hook of ours, whatever executable it calls."""
    hooks = top.get("hooks")
    for event in hooks.node.children if hooks else ():
        for at, group in enumerate(event.node.children if event.node.shape == "array" else ()):
            inner = group.node.get("hooks") if group.node.shape == "object" else None
            commands = [_command_of(child.node) for child in inner.node.children] if inner else []
            whole = bool(commands) and all(_OURS.match(c) for c in commands)
            for place, line in enumerate(commands[:1] if whole else commands):
                found = _OURS.match(line)
                if found and event.key:
                    path = ("hooks", event.key, at) if whole else ("hooks", event.key, at, "hooks", place)
                    yield _Ours(event.key, line, _unquoted(found.group(1)), path)


def _command_of(hook: Node) -> str:
    line = hook.get("command") if hook.shape == "object" else None
    return line.node.value if line and isinstance(line.node.value, str) else ""


def _group(executable: str, event: str) -> dict[str, object]:
    return {"hooks": [{"type": "command", "command": command(executable, event), "timeout": TIMEOUT}]}


def _fresh(executable: str) -> str:
    """The settings file that we make where there is none."""
    hooks = {event: [_group(executable, event)] for event in EVENTS}
    return jsontext.dump({"hooks": hooks}, eol="\n", unit="  ", depth=0) + "\n"


def _additions(text: str, top: Node, executable: str, file: str) -> list[Edit]:
    """The edits that add a hook for each event that has none of ours."""
    style = _Style.of(text, top)
    present = {o.event for o in _ours(top)}
    wanted = [event for event in EVENTS if event not in present]
    hooks = top.get("hooks")
    if hooks is None:
        value = {event: [_group(executable, event)] for event in wanted}
        return [jsontext.added(top, [f'"hooks": {style.dump(value, 1)}'], style.lead(1))]
    if hooks.node.shape != "object":
        raise _odd(file, '"hooks" is no object')
    edits: list[Edit] = []
    new: list[str] = []
    for event in wanted:
        groups = hooks.node.get(event)
        if groups is None:
            new.append(f'"{event}": {style.dump([_group(executable, event)], 2)}')
        elif groups.node.shape != "array":
            raise _odd(file, f'"{event}" under "hooks" is no list')
        else:
            edits.append(jsontext.added(groups.node, [style.dump(_group(executable, event), 3)], style.lead(3)))
    return [*edits, jsontext.added(hooks.node, new, style.lead(2))] if new else edits


@dataclass(frozen=True, slots=True)
class _Style:
    """How the file is laid out, so that what we add looks like the rest."""

    eol: str
    """"" for a file that is all one line."""
    unit: str

    @classmethod
    def of(cls, text: str, top: Node) -> _Style:
        if top.children and "\n" not in text[top.start : top.end]:
            return cls("", "")
        first = jsontext.indent_of(text, top.children[0].start) if top.children else None
        return cls(jsontext.line_end(text), first or "  ")

    def lead(self, depth: int) -> str:
        return self.eol + self.unit * depth if self.eol else " "

    def dump(self, value: object, depth: int) -> str:
        return jsontext.dump(value, eol=self.eol, unit=self.unit, depth=depth)


def _check(*, before: str, after: str, file: str) -> None:
    """Nothing is written that does not mean, without our hooks, exactly what it meant before."""
    rest = jsontext.apply(after, jsontext.without(after, [o.path for o in _ours(jsontext.parse(after))]))
    without_ours = jsontext.apply(before, jsontext.without(before, [o.path for o in _ours(jsontext.parse(before))]))
    if rest != without_ours:
        raise _odd(file, "the hooks cannot be put in so that they come out again")


def _odd(file: str, what: str) -> ForkpointError:
    what = f"this settings file cannot take hooks: {what}"
    return ForkpointError(what, path=file, todo="it was left as it is; mend it")


def _parsed(text: str, file: str, *, strict: bool = False) -> Node:
    """The file's content. strict: as Claude Code reads it, which passes over a file with comments as a whole."""
    try:
        top = jsontext.parse(text, strict=strict)
    except NotJson as error:
        what = f"Claude Code cannot read this settings file, it is no valid JSON ({error})"
        raise ForkpointError(what, path=file, todo="it was left as it is; mend that line first") from error
    if top.shape != "object":
        raise _odd(file, "it holds no object")
    return top


def _decoded(data: bytes) -> str:
    # Bytes that are no UTF-8 survive the round trip; whether the agent takes such a file is not ours to decide.
    return data.decode("utf-8", "surrogateescape")


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _quoted(path: str) -> str:
    """The path as one word of a POSIX shell. Raises UsageError for what JSON or a shell line cannot carry."""
    try:
        path.encode()
    except UnicodeEncodeError:
        raise UsageError("hooks cannot call a path that is not UTF-8", path=repr(path)) from None
    if any(ord(c) < 32 for c in path):
        raise UsageError("hooks cannot call a path with control characters", path=repr(path))
    return "'" + path.replace("'", "'\"'\"'") + "'"


def _unquoted(word: str) -> str:
    return word[1:-1].replace("'\"'\"'", "'")


def _head(file: str, *, made: bool = False, gone: bool = False) -> tuple[str, str]:
    return (f"--- {'/dev/null' if made else file}", f"+++ {'/dev/null' if gone else file}")


def _lines(file: str, text: str, cuts: Sequence[Edit], cleaned: str, edits: Sequence[Edit]) -> tuple[str, ...]:
    lines = [*jsontext.diff_lines(text, cuts), *jsontext.diff_lines(cleaned, edits)]
    return (*_head(file), *lines) if lines else ()
