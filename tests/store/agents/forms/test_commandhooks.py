"""Command hooks in a settings file: what differs from agent to agent."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from forkpoint.store import jsontext
from forkpoint.store.agents.forms.commandhooks import CommandHooks, Event
from forkpoint.store.errors import ForkpointError

FORKPOINT = "/opt/bin/forkpoint"


def settings_file(*, everywhere: bool, root: str | os.PathLike[str], env: Mapping[str, str]) -> str:
    return os.path.join(env["HOME"] if everywhere else root, ".other", "settings.json")


OTHER = CommandHooks(
    "other",
    "Other Agent",
    (Event("Before", 10, "*", tells=True), Event("After", 20, "write|edit"), Event("End", 10)),
    settings_file,
    unit="ms",
    comments=True,
    extra={"name": "forkpoint"},
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "person" / ".other" / "settings.json"
    file.parent.mkdir(parents=True)
    return file


def install(file: Path) -> None:
    OTHER.install(everywhere=True, root=file.parent, executable=FORKPOINT, backups=file.parent / "b", env=_home(file))


def uninstall(file: Path) -> None:
    OTHER.uninstall(everywhere=True, root=file.parent, backups=file.parent / "b", env=_home(file))


def _home(file: Path) -> dict[str, str]:
    return {"HOME": str(file.parent.parent)}


def test_each_hook_has_its_matcher_and_a_timeout_in_the_agent_s_own_unit(file: Path) -> None:
    install(file)
    hooks = json.loads(file.read_text())["hooks"]
    assert [(event, group.get("matcher"), hook["timeout"], hook["name"]) for event, group, hook in _each(hooks)] == [
        ("Before", "*", 10_000, "forkpoint"),
        ("After", "write|edit", 20_000, "forkpoint"),
        ("End", None, 10_000, "forkpoint"),
    ]
    assert all(hook["command"].count(f"'{FORKPOINT}' hook other") == 1 for _, _, hook in _each(hooks))


def _each(hooks: dict[str, list[dict]]) -> list[tuple[str, dict, dict]]:
    return [(event, group, hook) for event, groups in hooks.items() for group in groups for hook in group["hooks"]]


def test_only_hooks_of_telling_events_let_a_message_through(file: Path) -> None:
    assert "systemMessage" in OTHER.command(FORKPOINT, "Before")
    assert "systemMessage" not in OTHER.command(FORKPOINT, "After")


COMMENTED = {
    "one before": '// mine\n{\n  "theme": "dark"\n}\n',
    "one beside the last": '{\n  "theme": "dark" // at night\n}\n',
    "a setting that is off": '{\n  "theme": "dark"\n  // , "model": "large"\n}\n',
    "in empty hooks": '{\n  "hooks": {\n    // none yet\n  }\n}\n',
    "beside an event": '{\n  "hooks": {\n    "After": [ /* none */ ] // ask Ann\n  } /* end */\n}\n',
    "at the end": '{"theme": "dark"} // thats all',
    "in one line": '{"theme": /* was light */ "dark" /* now */}',
}


@pytest.mark.parametrize("name", COMMENTED)
def test_a_file_with_comments_keeps_every_byte_of_its_own(name: str, file: Path) -> None:
    file.write_text(COMMENTED[name])
    install(file)
    after = file.read_text()
    top = jsontext.plain(jsontext.parse(after, trailing_commas=False))
    assert isinstance(top, dict)
    assert [event for event, _, _ in _each(top["hooks"])] == sorted(top["hooks"], key=list(top["hooks"]).index)
    assert set(top["hooks"]) == {"Before", "After", "End"}
    assert all(line.strip() in after for line in COMMENTED[name].splitlines() if line.strip().startswith("//"))
    uninstall(file)
    assert file.read_text() == COMMENTED[name]


def test_an_agent_that_reads_comments_but_no_trailing_comma_is_given_none(file: Path) -> None:
    file.write_text('{\n  "theme": "dark",\n}\n')
    with pytest.raises(ForkpointError, match=r"Other Agent cannot read this settings file.*line 3"):
        install(file)


def test_a_file_that_nobody_can_read_is_named_as_the_reason(file: Path) -> None:
    file.write_text("{\n not json")
    problem = OTHER.hooks_problem(file.parent, _home(file))
    assert problem == f"not installed: mend {file} (a member without a name in quotes in line 2)"


def test_the_hooks_of_one_agent_are_not_those_of_another(file: Path) -> None:
    install(file)
    claude = CommandHooks("claude", "Claude Code", OTHER.events, settings_file)
    before = file.read_text()
    claude.uninstall(everywhere=True, root=file.parent, backups=file.parent / "b", env=_home(file))
    assert file.read_text() == before
    assert claude.hooks_problem(file.parent, _home(file)) == "not installed"


def test_a_file_that_only_ours_made_goes_and_one_that_was_empty_stays(file: Path) -> None:
    install(file)
    uninstall(file)
    assert not file.exists()
    file.write_text("{}\n")
    install(file)
    uninstall(file)
    assert file.read_text() == "{}\n"
