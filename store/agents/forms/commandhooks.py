"""Command hooks in a JSON settings file of the form that Claude Code began:

    {"hooks": {Event: [{"matcher": …, "hooks": [{"type": "command", "command": …, "timeout": …}]}]}}

The file belongs to the person: nothing else in it changes by a byte (see `jsontext`), and before anything is written
the way back is tried.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ... import jsontext
from ...errors import ForkpointError
from ...executable import check_callable
from ...jsontext import Edit, Node, NotJson
from ...rewrite import Change, read, whole
from . import shellline
from .installing import Installer, SettingsFile


@dataclass(frozen=True, slots=True)
class Event:
    """An event of the agent's that forkpoint records at."""

    name: str
    timeout: int = 10
    """Seconds after which the agent gives the hook up: twice our own budget."""
    matcher: str | None = None
    """Which tools or sources it is for; None leaves the key out."""
    tells: bool = False
    """Whether the agent shows a systemMessage of this event's hook to the person, and not to the model."""


@dataclass(frozen=True, slots=True)
class Installed:
    """Hooks of ours in a settings file."""

    file: str
    executable: str
    """The absolute path that the hooks call."""
    missing: tuple[str, ...]
    """Events for which there is no hook of ours."""
    off: str = ""
    """What in the file switches its hooks off ("disableAllHooks"); "" for nothing."""
    unread: str = ""
    """Why the agent does not read the file, in words; "" when it does."""


def _nothing(top: Node) -> str:
    return ""


@dataclass(frozen=True)
class CommandHooks(Installer):
    """Our hooks in the settings of one agent; an agent's module `settings` takes its functions from here."""

    agent: str
    title: str
    events: tuple[Event, ...]
    file: SettingsFile
    unit: Literal["s", "ms"] = "s"
    """In what the agent counts a timeout."""
    comments: bool = False
    """Whether the agent reads a file with comments, instead of passing over it as a whole."""
    trailing_commas: bool = False
    """Whether it reads one with a comma behind the last value of a list or object."""
    switched_off: Callable[[Node], str] = _nothing
    """What in a settings file switches its hooks off; "" for nothing."""
    patience: int = 0
    """Seconds after which a hook ends by itself, for agents that run bash and tell of every hook that they give up."""
    extra: Mapping[str, object] = field(default_factory=dict[str, object])
    """Further keys of each hook: a name, where the agent shows one."""

    def installed(self, root: str | os.PathLike[str], env: Mapping[str, str] = os.environ) -> tuple[Installed, ...]:
        """Our hooks in the person's and the project's settings; a file that cannot be read counts as without them."""
        found: list[Installed] = []
        for file in self.files(root, env):
            try:
                text = _decoded(Path(file).read_bytes())
                top = jsontext.parse(text)
            except (OSError, NotJson):
                continue
            ours = list(self._ours(top))
            if ours:
                present = {one.event for one in ours}
                missing = tuple(event.name for event in self.events if event.name not in present)
                found.append(Installed(file, ours[0].executable, missing, self.switched_off(top), self._unread(text)))
        return tuple(found)

    def hooks_problem(self, root: str | os.PathLike[str], env: Mapping[str, str] = os.environ) -> str:
        """Why the agent does not tell us what it does in a root, in words; "" when it does.

        Behind ": " stands what a person has to do, where installing is not it.
        """
        found = self.installed(root, env)
        if not found:
            return self._broken(root, env) or "not installed"
        problems = [self._problem_of(one) for one in found]
        return "" if "" in problems else problems[0]

    def _broken(self, root: str | os.PathLike[str], env: Mapping[str, str]) -> str:
        for file in self.files(root, env):
            try:
                jsontext.parse(_decoded(Path(file).read_bytes()))
            except OSError:
                continue
            except NotJson as error:
                return f"not installed: mend {file} ({error})"
        return ""

    def command(self, executable: str, event: str) -> str:
        """The shell line of the hook for an event."""
        tells = any(one.tells for one in self.events if one.name == event)
        return shellline.line(self.agent, executable, tells=tells, patience=self.patience)

    def plan_install(self, file: str, executable: str) -> Change:
        """The file with a hook of ours for each event."""
        check_callable(executable)
        before = read(file)
        if before is None:
            return whole(file, None, self._fresh(executable).encode())
        text = _decoded(before)
        top = self._parsed(text, file, strict=True)
        stale = [one for one in self._ours(top) if one.command != self.command(executable, one.event)]
        cuts = jsontext.without(text, [one.path for one in stale])
        cleaned = jsontext.apply(text, cuts)
        edits = self._additions(cleaned, self._parsed(cleaned, file), executable, file)
        after = jsontext.apply(cleaned, edits)
        self._check(before=cleaned, after=after, file=file)
        return Change(file, before, _encoded(after), _lines(file, text, cuts, cleaned, edits))

    def plan_uninstall(self, file: str) -> Change:
        """The file without any hook of ours."""
        before = read(file)
        if before is None:
            return Change(file, None, None, ())
        text = _decoded(before)
        ours = list(self._ours(self._parsed(text, file)))
        if ours and text == self._fresh(ours[0].executable):
            return whole(file, before, None)
        cuts = jsontext.without(text, [one.path for one in ours])
        after = jsontext.apply(text, cuts)
        self._check(before=after, after=text, file=file)
        return Change(file, before, _encoded(after), _lines(file, text, cuts, after, []))

    def _unread(self, text: str) -> str:
        try:
            jsontext.parse(text, comments=self.comments, trailing_commas=self.trailing_commas)
        except NotJson as error:
            return str(error)
        return ""

    def _problem_of(self, found: Installed) -> str:
        if found.unread:
            return f"in a file that {self.title} cannot read ({found.unread} of {found.file})"
        if found.off:
            return f"switched off ({found.off} in {found.file})"
        if not os.access(found.executable, os.X_OK):
            return f"installed, but their program is gone ({found.executable})"
        if found.missing:
            return f"incomplete, there is none for {', '.join(found.missing)} ({found.file})"
        return ""

    def _ours(self, top: Node) -> Iterator[_Ours]:
        """Every hook of ours, whatever executable it calls."""
        hooks = top.get("hooks")
        for event in hooks.node.children if hooks else ():
            for at, group in enumerate(event.node.children if event.node.shape == "array" else ()):
                inner = group.node.get("hooks") if group.node.shape == "object" else None
                commands = [_command_of(child.node) for child in inner.node.children] if inner else []
                called = [shellline.executable_of(self.agent, line) for line in commands]
                together = bool(called) and None not in called
                for place, executable in enumerate(called[:1] if together else called):
                    if executable is not None and event.key:
                        path = ("hooks", event.key, at) if together else ("hooks", event.key, at, "hooks", place)
                        yield _Ours(event.key, commands[place], executable, path)

    def _group(self, executable: str, event: Event) -> dict[str, object]:
        timeout = event.timeout * (1000 if self.unit == "ms" else 1)
        hook = {"type": "command", "command": self.command(executable, event.name), "timeout": timeout, **self.extra}
        return {**({} if event.matcher is None else {"matcher": event.matcher}), "hooks": [hook]}

    def _fresh(self, executable: str) -> str:
        """The settings file that we make where there is none."""
        hooks = {event.name: [self._group(executable, event)] for event in self.events}
        return jsontext.dump({"hooks": hooks}, eol="\n", unit="  ", depth=0) + "\n"

    def _additions(self, text: str, top: Node, executable: str, file: str) -> list[Edit]:
        """The edits that add a hook for each event that has none of ours."""
        style = _Style.of(text, top)
        present = {one.event for one in self._ours(top)}
        wanted = [event for event in self.events if event.name not in present]
        hooks = top.get("hooks")
        if hooks is None:
            value = {event.name: [self._group(executable, event)] for event in wanted}
            return jsontext.added(text, top, [f'"hooks": {style.dump(value, 1)}'], style.lead(1))
        if hooks.node.shape != "object":
            raise _odd(file, '"hooks" is no object')
        edits: list[Edit] = []
        new: list[str] = []
        for event in wanted:
            groups = hooks.node.get(event.name)
            if groups is None:
                new.append(f'"{event.name}": {style.dump([self._group(executable, event)], 2)}')
            elif groups.node.shape != "array":
                raise _odd(file, f'"{event.name}" under "hooks" is no list')
            else:
                part = style.dump(self._group(executable, event), 3)
                edits += jsontext.added(text, groups.node, [part], style.lead(3))
        return [*edits, *jsontext.added(text, hooks.node, new, style.lead(2))] if new else edits

    def _check(self, *, before: str, after: str, file: str) -> None:
        """Nothing is written that does not mean, without our hooks, exactly what it meant before."""
        if self._without_ours(before) != self._without_ours(after):
            raise _odd(file, "the hooks cannot be put in so that they come out again")

    def _without_ours(self, text: str) -> str:
        return jsontext.apply(text, jsontext.without(text, [one.path for one in self._ours(jsontext.parse(text))]))

    def _parsed(self, text: str, file: str, *, strict: bool = False) -> Node:
        """The file's content. strict: as the agent reads it, which may pass over a file with comments as a whole."""
        allowed = (self.comments, self.trailing_commas) if strict else (True, True)
        try:
            top = jsontext.parse(text, comments=allowed[0], trailing_commas=allowed[1])
        except NotJson as error:
            what = f"{self.title} cannot read this settings file, it is no valid JSON ({error})"
            raise ForkpointError(what, path=file, todo="it was left as it is; mend that line first") from error
        if top.shape != "object":
            raise _odd(file, "it holds no object")
        return top


@dataclass(frozen=True, slots=True)
class _Ours:
    event: str
    command: str
    executable: str
    path: tuple[jsontext.Step, ...]
    """Where it stands; a group that holds nothing else goes as a whole."""


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


def _command_of(hook: Node) -> str:
    line = hook.get("command") if hook.shape == "object" else None
    return line.node.value if line and isinstance(line.node.value, str) else ""


def _odd(file: str, what: str) -> ForkpointError:
    what = f"this settings file cannot take hooks: {what}"
    return ForkpointError(what, path=file, todo="it was left as it is; mend it")


def _decoded(data: bytes) -> str:
    # Bytes that are no UTF-8 survive the round trip; whether the agent takes such a file is not ours to decide.
    return data.decode("utf-8", "surrogateescape")


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _lines(file: str, text: str, cuts: Sequence[Edit], cleaned: str, edits: Sequence[Edit]) -> tuple[str, ...]:
    lines = [*jsontext.diff_lines(text, cuts), *jsontext.diff_lines(cleaned, edits)]
    return (f"--- {file}", f"+++ {file}", *lines) if lines else ()
