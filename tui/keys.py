"""The person's own keys and colours, from settings.toml: what is wrong with an entry is told, and its default stands.

Textual takes any keymap without a word, so all that a keymap can get wrong is looked for here.
"""

from __future__ import annotations

import dataclasses
import string
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple, cast

from ..store.errors import ForkpointError
from ..store.home import FILE, choose, chosen, data_folder
from .actions import ACTIONS, PLACES, Action, Where
from .words import one_line

SCREENS: Mapping[str, tuple[Where, ...]] = {
    "the tree": ("tree", "detail"),
    "the diff": ("diff",),
    "the help and the branches": ("list",),
    "the operations": ("list", "operations"),
    "the sessions": ("list", "sessions"),
    "everything by time": ("list", "moments"),
    "the search": ("found",),
    "a file as it was": ("file",),
    "a file's history": ("history",),
    "the dialogs": ("dialog",),
}
"""Places whose keys work at the same time."""
LEAVES = {"ctrl+q": "leaves from anywhere", "ctrl+c": "copies what is selected"}
TAKEN: Mapping[str, dict[str, str]] = {
    "the dialogs": {
        **dict.fromkeys(("enter", "space"), "chooses and presses"),
        **dict.fromkeys(("left", "right"), "goes from field to field"),
        **dict.fromkeys(("up", "down", "pageup", "pagedown"), "moves what is told"),
        **dict.fromkeys(("y", "p"), "copies the command, the prompt"),
    },
}
"""Keys of a screen that no action of the list has."""
PANES = dict.fromkeys(("tab", "shift+tab"), "goes from pane to pane")

NAMED = {"up", "down", "left", "right", "home", "end", "pageup", "pagedown", "insert", "delete"}
FUNCTION = {f"f{number}" for number in range(1, 13)}
PLAIN = NAMED | FUNCTION | {"enter", "escape", "tab", "space", "backspace", "shift+tab"}
SAME = {"ctrl+i": "tab", "ctrl+m": "enter", "ctrl+h": "backspace", "ctrl+j": "a line feed of what is pasted"}
"""What a terminal sends for these is the other one, too."""
OF_FIELDS = frozenset("acdefhkuvwx")
"""Letters that do something with ctrl in a text field."""


class Wrong(NamedTuple):
    """An entry of settings.toml that is not followed."""

    what: str
    todo: str


@dataclass(frozen=True)
class Keys:
    """Which keys actions have."""

    keymap: Mapping[str, str] = field(default_factory=dict[str, str])
    """Keys, separated by commas, by `place.action`: only those that the person changed."""

    def of(self, action: Action) -> Action:
        """The action with the keys that it has for this person."""
        keys = self.keymap.get(name_of(action))
        return action if keys is None else dataclasses.replace(action, keys=keys)

    def actions_of(self, *places: Where) -> tuple[Action, ...]:
        """The actions of these places, in the list's order."""
        return tuple(self.of(action) for action in ACTIONS if action.where in places)

    def named(self, name: str) -> str:
        """The first key of an action as people write it."""
        from .actions import key_names

        return key_names(self.of(BY_NAME[name]))[0]


@dataclass(frozen=True)
class Choices:
    """What the person chose for the app."""

    keys: Keys = field(default_factory=Keys)
    theme: str = ""
    """"" where the default is meant."""
    wrong: tuple[Wrong, ...] = ()


def name_of(action: Action) -> str:
    """What an action is called in settings.toml."""
    return f"{action.where}.{action.id}"


BY_NAME = {name_of(action): action for action in ACTIONS}


def read(home: Path | None = None, themes: Iterable[str] | None = None) -> Choices:
    """The choices of settings.toml; `themes` are the ones that there are, where they are to be judged too."""
    try:
        table = chosen(data_folder() if home is None else home)
    except ForkpointError as error:
        return Choices(wrong=(Wrong(f"{error.what}: {error.path}", error.todo or "correct the file"),))
    keys, wrong = judged(table.get("keys", {}))
    theme = table.get("theme", "")
    if theme and (not isinstance(theme, str) or (themes is not None and theme not in themes)):
        there = "" if themes is None else f": {', '.join(sorted(themes))}"
        wrong.append(Wrong(f"there is no theme {_shown(theme)}", f"correct theme in {FILE}{there}"))
        theme = ""
    return Choices(keys, theme, tuple(wrong))


def keep_theme(name: str) -> None:
    """Writes the colours that were chosen into settings.toml. Raises ForkpointError, OSError."""
    choose(data_folder(), "theme", name)


def judged(entries: object) -> tuple[Keys, list[Wrong]]:
    """The keys that the section [keys] asks for, and what is wrong with its other entries."""
    if not isinstance(entries, dict):
        return Keys(), [Wrong("keys must be a section, [keys]", f"correct {FILE}")]
    wrong: list[Wrong] = []
    keymap: dict[str, str] = {}
    for name, value in _flat(cast("dict[str, Any]", entries)):
        try:
            keymap[name] = _keys_for(name, value)
        except _Refused as refused:
            wrong.append(refused.wrong)
    clashing, told = _clashes(keymap)
    while clashing:
        wrong += told
        keymap = {name: keys for name, keys in keymap.items() if name not in clashing}
        clashing, told = _clashes(keymap)
    return Keys(keymap), wrong


class _Refused(Exception):
    def __init__(self, what: str, todo: str) -> None:
        super().__init__(what)
        self.wrong = Wrong(what, todo)


def _flat(entries: Mapping[str, Any]) -> Iterable[tuple[str, object]]:
    """`"tree.diff" = …`, and the same as a section [keys.tree]."""
    for name, value in entries.items():
        if isinstance(value, dict):
            for below, inner in cast("dict[str, Any]", value).items():
                yield f"{name}.{below}", inner
        else:
            yield name, value


def _keys_for(name: str, value: object) -> str:
    """The keys of an entry as Textual wants them. Raises _Refused."""
    action = BY_NAME.get(name)
    if action is None or not action.keys:
        raise _Refused(f"there is no action {_shown(name)} with a key", f"correct [keys] in {FILE}; {_there_are(name)}")
    keys = _listed(value)
    if not keys:
        raise _Refused(f"{name} needs a key", f'write {name.rpartition(".")[2]} = "{action.keys}", or another key')
    for key in keys:
        if not _is_key(key):
            raise _Refused(
                f"{name}: there is no key {_shown(key)}",
                f"a character, {', '.join(('enter', 'escape', 'space', 'tab', 'home', 'pagedown', 'f5'))}, ctrl+a …",
            )
        if name == "dialog.confirm" and not _may_confirm(key):
            raise _Refused(
                f"{name}: {_shown(key)} may not be what does it: it can be typed or pasted by mistake",
                "ctrl+ a letter that no text field needs, or f2 to f12",
            )
    return ",".join("comma" if key == "," else "space" if key == " " else key for key in dict.fromkeys(keys))


def _listed(value: object) -> list[str]:
    """The keys of a value: "d", "d, f5", ["d", "f5"]; none where it is something else."""
    if isinstance(value, str):
        values: list[object] = [value] if value in (",", " ") else list(value.split(","))
    else:
        values = cast("list[object]", value) if isinstance(value, list) else []
    keys = [one if one == " " else one.strip() for one in values if isinstance(one, str)]
    return keys if len(keys) == len(values) else []


def _there_are(name: str) -> str:
    """The names that might have been meant."""
    place = name.partition(".")[0]
    names = [known.partition(".")[2] for known, action in BY_NAME.items() if action.keys and action.where == place]
    if names:
        return f"{place} has {', '.join(names)}"
    return f"names are place.action; places are {', '.join(PLACES)}"


def _is_key(key: str) -> bool:
    """Whether a terminal can send it, under this name."""
    if len(key) == 1:
        return key.isprintable()
    if key in PLAIN or key == "comma":
        return True
    modifier, plus, base = key.rpartition("+")
    if not plus:
        return False
    if modifier == "ctrl" and len(base) == 1:
        return base in string.ascii_lowercase and key not in ("ctrl+i", "ctrl+m", "ctrl+h")
    return modifier in ("ctrl", "shift") and base in NAMED - {"insert", "delete"}


def _may_confirm(key: str) -> bool:
    """Never what is printed, and nothing that stands in a pasted text."""
    if key in FUNCTION:
        return key != "f1"
    return key.startswith("ctrl+") and len(key) == 6 and key[-1] not in OF_FIELDS and key not in SAME


def _clashes(keymap: Mapping[str, str]) -> tuple[set[str], list[Wrong]]:
    """The changed entries that would mean two things on one screen, and what is told of each."""
    keys = Keys(keymap)
    clashing: set[str] = set()
    told: dict[str, Wrong] = {}
    for screen, places in SCREENS.items():
        around: tuple[Where, ...] = () if "dialog" in places else ("move", "everywhere")
        actions = keys.actions_of(*places, *around)
        usual = {key for action in actions for key in BY_NAME[name_of(action)].keys.split(",")}
        taken = {key: what for key, what in (PANES | TAKEN.get(screen, {}) | LEAVES).items() if key not in usual}
        for action in actions:
            for key in action.keys.split(",") if name_of(action) in keymap else ():
                if key in taken:
                    clashing.add(name_of(action))
                    told[name_of(action)] = _clash(name_of(action), key, taken[key], screen)
        for one, other in combinations(actions, 2):
            shared = set(one.keys.split(",")) & set(other.keys.split(",")) - {""}
            changed = {name_of(one), name_of(other)} & keymap.keys()
            if shared and changed and not _may_share(one, other):
                for name in changed:
                    rival = other if name == name_of(one) else one
                    clashing.add(name)
                    told[name] = _clash(name, min(shared), f"is {name_of(rival)}", screen)
    return clashing, list(told.values())


def _may_share(one: Action, other: Action) -> bool:
    """Whether they have a key together anyway: the pane that has the keys answers before the screen does."""
    before, after = (set(BY_NAME[name_of(action)].keys.split(",")) for action in (one, other))
    return bool(before & after - {""})


def _clash(name: str, key: str, why: str, screen: str) -> Wrong:
    return Wrong(f"{name}: {_shown(key)} {why} in {screen}", f"choose another key in {FILE}")


def _shown(value: object) -> str:
    return one_line(value if isinstance(value, str) else repr(value)) or '""'
