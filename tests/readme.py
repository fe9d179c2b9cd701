"""The generated parts of README.md: `python tests/readme.py` writes them, a test compares them."""

from __future__ import annotations

import re
from pathlib import Path

import click
from forkpoint.tui.actions import PLACES, actions_of, key_table
from forkpoint.tui.commands.program import COMMANDS, program

EVERYWHERE = ("folder", "json", "yes")
"""Options of every command, or every one that asks: told once."""
README = Path(__file__).parent.parent / "README.md"


def command_table() -> str:
    """Every command with its arguments and its first sentence."""
    context = click.Context(program, info_name="forkpoint")
    lines = [
        "| command | does |",
        "|---|---|",
        "| `forkpoint` | Opens the app on this folder; in a pipe prints the tree. |",
    ]
    for section in COMMANDS.values():
        for name in section:
            command = program.get_command(context, name)
            assert command is not None
            line = " ".join(["forkpoint", name, *_usage(command, context)]).replace("|", "\\|")
            lines.append(f"| `{line}` | {command.get_short_help_str(limit=200)} |")
    return "\n".join(lines)


def _usage(command: click.Command, context: click.Context) -> list[str]:
    arguments = [p.make_metavar(context) for p in command.params if isinstance(p, click.Argument)]
    options = [p for p in command.params if isinstance(p, click.Option) and p.name not in EVERYWHERE]
    return [*arguments, *(f"[{_option(option, context)}]" for option in options)]


def _option(option: click.Option, context: click.Context) -> str:
    name = max(option.opts, key=len)
    return name if option.is_flag else f"{name} {option.metavar or option.make_metavar(context)}"


def action_names() -> str:
    """What the settings call the actions that have keys, by their places."""
    lines = [
        f"- `{place}.` " + " ".join(f"`{action.id}`" for action in actions_of(place) if action.keys) for place in PLACES
    ]
    return "\n".join(lines)


def generated(text: str) -> str:
    """The README with its generated parts as they should be."""
    parts = {"commands": command_table(), "keys": key_table().rstrip("\n"), "names": action_names()}
    for name, content in parts.items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        assert pattern.search(text), f"README.md has no place for {name}"
        text = pattern.sub(lambda found, content=content: f"{found[1]}{content}\n{found[2]}", text)
    return text


if __name__ == "__main__":
    README.write_text(generated(README.read_text("utf-8")), "utf-8")
