"""Claude Code's settings: hooks go in beside what is there, and come out to the byte."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

import pytest
from forkpoint.store import jsontext, rewrite
from forkpoint.store.agents.claude import settings as claude
from forkpoint.store.agents.forms.commandhooks import Installed
from forkpoint.store.errors import ForkpointError, Refused
from hypothesis import given, settings, strategies
from hypothesis.strategies import SearchStrategy

FORKPOINT = "/opt/bin/forkpoint"

FILES = {
    "no members": "{}",
    "no members, a line end": "{}\n",
    "no members, but white space": "{ \n }\n",
    "one line": '{"theme":"dark","n":[1,2,{}]}',
    "two spaces": '{\n  "theme": "dark",\n  "permissions": {\n    "allow": []\n  }\n}\n',
    "tabs and CRLF": '{\r\n\t"theme": "dark"\r\n}\r\n',
    "no last line end": '{\n    "theme": "dark"\n}',
    "a byte order mark": '\ufeff{\n "theme": "dark"\n}\n',
    "empty hooks": '{\n  "hooks": {}\n}\n',
    "empty hooks with white space": '{\n  "hooks": {\n  }\n}\n',
    "an empty event": '{"hooks": {"Stop": [], "PreToolUse": [ ]}}',
    "an event of others": json.dumps(
        {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "audit.sh"}]}]}},
        indent=4,
    ),
    "unknown events": '{\n\t"hooks": {\n\t\t"Later": [],\n\t\t"Stop": [ { "matcher": "", "hooks": [ ] } ]\n\t}\n}',
    "braces in strings": '{\n  "a": "}{][,//\\"",\n  "b": "/* \\u007b */"\n}\n',
    "letters beyond ASCII": '{\n  "näme": "日本 \u2028 🙂",\n  "lone": "\\ud83d"\n}\n',
    "one key twice": '{"hooks": {"Stop": [1]}, "hooks": {"Stop": []}}',
}


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path / "person")}


def installed(text: str, executable: str = FORKPOINT) -> str:
    """What a settings file with this text becomes, without touching a disk."""
    return _plan(text, lambda file: claude.HOOKS.plan_install(file, executable))


def uninstalled(text: str) -> str:
    return _plan(text, claude.HOOKS.plan_uninstall)


def _plan(text: str, plan) -> str:
    with tempfile.NamedTemporaryFile() as file:
        file.write(text.encode())
        file.flush()
        after = plan(file.name).after
        assert after is not None
        return after.decode()


def hooks_of(text: str) -> dict[str, list[dict]]:
    top = jsontext.plain(jsontext.parse(text))
    assert isinstance(top, dict)
    return top["hooks"]


def without_ours(text: str) -> object:
    """The settings as a reader sees them, without hooks that call forkpoint and what that leaves empty."""
    top = jsontext.plain(jsontext.parse(text))
    assert isinstance(top, dict)
    hooks = top.get("hooks", {})
    for event in list(hooks):
        hooks[event] = [g for g in hooks[event] if "hook claude" not in json.dumps(g)]
    top["hooks"] = {event: groups for event, groups in hooks.items() if groups}
    return top


@pytest.mark.parametrize("name", FILES)
def test_uninstall_gives_back_every_byte(name: str) -> None:
    text = FILES[name]
    assert uninstalled(installed(text)) == text


@pytest.mark.parametrize("name", FILES)
def test_each_event_gets_one_hook_and_the_rest_means_what_it_meant(name: str) -> None:
    text = FILES[name]
    after = installed(text)
    for event in claude.EVENTS:
        ours = [g for g in hooks_of(after)[event] if "hook claude" in json.dumps(g)]
        assert ours == [
            {
                "hooks": [
                    {"type": "command", "command": claude.HOOKS.command(FORKPOINT, event), "timeout": claude.TIMEOUT}
                ]
            }
        ]
    assert without_ours(after) == without_ours(text)


@pytest.mark.parametrize("name", FILES)
def test_installing_twice_changes_nothing(name: str) -> None:
    once = installed(FILES[name])
    assert installed(once) == once


@pytest.mark.parametrize("name", FILES)
def test_a_new_place_of_forkpoint_replaces_the_old_lines(name: str) -> None:
    moved = installed(installed(FILES[name], "/old/forkpoint"))
    assert "/old/forkpoint" not in moved
    assert uninstalled(moved) == FILES[name]


@pytest.mark.parametrize("name", FILES)
def test_the_lines_shown_are_a_diff_that_patch_accepts(name: str, tmp_path: Path) -> None:
    for plan in (lambda f: claude.HOOKS.plan_install(f, FORKPOINT), claude.HOOKS.plan_uninstall):
        text = FILES[name] if plan != claude.HOOKS.plan_uninstall else installed(FILES[name])
        file = tmp_path / "settings.json"
        file.write_bytes(text.encode())
        change = plan(str(file))
        body = "\n".join(change.lines[2:])
        assert change.lines[0].startswith("--- ")
        assert change.lines[1].startswith("+++ ")
        assert change.after is not None
        assert _patched(text, body).split() == change.after.decode().split()


def _patched(text: str, hunks: str) -> str:
    """Applies hunks without context by their line numbers."""
    old = [line.removesuffix("\r") for line in text.split("\n")]
    new: list[str] = []
    at = 0
    for line in hunks.split("\n"):
        if line.startswith("@@"):
            start = int(line.split()[1][1:].split(",")[0]) - 1
            new += old[at:start]
            at = start
        elif line.startswith("-"):
            assert old[at] == line[1:]
            at += 1
        else:
            new.append(line[1:])
    return "\n".join([*new, *old[at:]])


# --- any settings file -------------------------------------------------------------------------------------------

BLANK = strategies.sampled_from(["", "", " ", "\n", "\n  ", "\r\n\t", "\n\n"])
NAMES = strategies.one_of(
    strategies.sampled_from(["hooks", "theme", "env", *claude.EVENTS]), strategies.text(max_size=4)
)


@strategies.composite
def json_text(draw, inner: SearchStrategy[str], opening: str, closing: str, named: bool) -> str:
    parts = []
    for value in draw(strategies.lists(inner, max_size=3)):
        key = json.dumps(draw(NAMES), ensure_ascii=draw(strategies.booleans())) + draw(BLANK) + ":" if named else ""
        parts.append(draw(BLANK) + key + draw(BLANK) + value + draw(BLANK))
    return opening + (",".join(parts) or draw(BLANK)) + closing


SCALARS = strategies.one_of(
    strategies.sampled_from(["1", "-0.5e3", "true", "null", '"\\ud83d\\n"']),
    strategies.text(alphabet=strategies.characters(exclude_categories=["Cs"]), max_size=5).map(json.dumps),
)
VALUES = strategies.recursive(
    SCALARS, lambda v: json_text(v, "[", "]", False) | json_text(v, "{", "}", True), max_leaves=6
)


@strategies.composite
def settings_text(draw) -> str:
    """A settings file in any layout, whose hooks, when it has any, are of a shape that can take ours."""
    groups = json_text(json_text(VALUES, "{", "}", True), "[", "]", False)
    events = draw(strategies.lists(strategies.tuples(strategies.sampled_from(claude.EVENTS), groups), max_size=3))
    members = [
        f"{draw(BLANK)}{json.dumps(k)}{draw(BLANK)}:{draw(BLANK)}{v}{draw(BLANK)}"
        for k, v in draw(
            strategies.lists(strategies.tuples(strategies.sampled_from(["theme", "env", ""]), VALUES), max_size=3)
        )
    ]
    if draw(strategies.booleans()):
        inside = ",".join(f"{draw(BLANK)}{json.dumps(k)}:{draw(BLANK)}{v}{draw(BLANK)}" for k, v in events)
        hooks = f'{draw(BLANK)}"hooks"{draw(BLANK)}:{draw(BLANK)}{{{inside or draw(BLANK)}}}{draw(BLANK)}'
        members.insert(draw(strategies.integers(0, len(members))), hooks)
    body = ",".join(members)
    mark = "\ufeff" if draw(strategies.booleans()) else ""
    return f"{mark}{draw(BLANK)}{{{body or draw(BLANK)}}}{draw(BLANK)}"


@given(settings_text())
@settings(max_examples=300, deadline=None)
def test_any_settings_file_comes_back_to_the_byte(text: str) -> None:
    after = installed(text)
    assert {e for e in claude.EVENTS if "hook claude" in json.dumps(hooks_of(after)[e])} == set(claude.EVENTS)
    assert without_ours(after) == without_ours(text)
    assert uninstalled(after) == text


# --- what people do between install and uninstall -----------------------------------------------------------------


def test_hooks_added_by_others_meanwhile_stay() -> None:
    data = json.loads(installed("{}"))
    theirs = {"hooks": [{"type": "command", "command": "say done"}]}
    data["hooks"]["Stop"].append(theirs)
    data["hooks"]["PreToolUse"][0]["hooks"].insert(0, theirs["hooks"][0])
    data["hooks"]["Notification"] = [theirs]
    after = json.loads(uninstalled(json.dumps(data, indent=2)))
    assert after == {"hooks": {"Stop": [theirs], "PreToolUse": [theirs], "Notification": [theirs]}}


def test_a_setting_added_behind_ours_stays() -> None:
    text = installed('{\n  "theme": "dark"\n}\n')
    assert uninstalled(text[:-3] + ',\n  "model": "opus"\n}\n') == '{\n  "theme": "dark",\n  "model": "opus"\n}\n'


def test_hooks_come_out_of_a_file_that_got_a_comment_meanwhile() -> None:
    text = installed('{\n  "theme": "dark"\n}\n')
    commented = text.replace('"theme"', '// light?\n  "theme"')
    assert uninstalled(commented) == '{\n  // light?\n  "theme": "dark"\n}\n'


def test_an_event_that_was_taken_out_by_hand_is_put_in_again() -> None:
    data = json.loads(installed("{}"))
    del data["hooks"]["Stop"]
    assert set(hooks_of(installed(json.dumps(data, indent=2)))) == set(claude.EVENTS)


def test_a_line_that_only_looks_like_ours_is_left_alone() -> None:
    theirs = '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "echo forkpoint hook claude"}]}]}}'
    assert uninstalled(theirs) == theirs


# --- files ---------------------------------------------------------------------------------------------------------


def install(project: Path, home: dict[str, str], *, everywhere: bool = True, dry_run: bool = False) -> rewrite.Change:
    backups = project.parent / "store" / "backups"
    return claude.install(
        everywhere=everywhere, root=project, executable=FORKPOINT, backups=backups, dry_run=dry_run, env=home
    )


def uninstall(project: Path, home: dict[str, str], *, everywhere: bool = True) -> rewrite.Change:
    return claude.uninstall(everywhere=everywhere, root=project, backups=project.parent / "store" / "backups", env=home)


def test_everywhere_is_the_persons_settings_and_here_the_projects_local_ones(
    project: Path, home: dict[str, str]
) -> None:
    assert install(project, home).file == f"{home['HOME']}/.claude/settings.json"
    assert install(project, home, everywhere=False).file == f"{project}/.claude/settings.local.json"
    elsewhere = {**home, "CLAUDE_CONFIG_DIR": str(project.parent / "elsewhere")}
    assert install(project, elsewhere).file == f"{project.parent}/elsewhere/settings.json"


def test_a_file_that_we_made_goes_with_the_folders_that_we_made(project: Path, home: dict[str, str]) -> None:
    install(project, home, everywhere=False)
    assert (project / ".claude" / "settings.local.json").exists()
    uninstall(project, home, everywhere=False)
    assert list(project.iterdir()) == []


def test_a_folder_that_was_there_stays(project: Path, home: dict[str, str]) -> None:
    (project / ".claude").mkdir()
    install(project, home, everywhere=False)
    uninstall(project, home, everywhere=False)
    assert list(project.iterdir()) == [project / ".claude"]


def test_a_file_that_we_made_stays_when_somebody_wrote_into_it(project: Path, home: dict[str, str]) -> None:
    change = install(project, home)
    file = Path(change.file)
    file.write_text(file.read_text().replace("{", '{\n  "theme": "dark",', 1))
    uninstall(project, home)
    assert json.loads(file.read_text()) == {"theme": "dark"}


def test_a_dry_run_shows_file_and_lines_and_writes_nothing(project: Path, home: dict[str, str]) -> None:
    change = install(project, home, dry_run=True)
    assert change.lines[:3] == ("--- /dev/null", f"+++ {change.file}", "+{")
    assert not Path(home["HOME"]).exists()
    assert not (project.parent / "store").exists()


def test_the_old_file_is_kept_and_mode_stays(project: Path, home: dict[str, str]) -> None:
    file = Path(claude.settings_file(everywhere=True, root=project, env=home))
    file.parent.mkdir(parents=True)
    file.write_text('{"theme": "dark"}')
    file.chmod(0o640)
    change = install(project, home)
    assert Path(change.backup).read_text() == '{"theme": "dark"}'
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert [f.name for f in file.parent.iterdir()] == ["settings.json"]


def test_a_linked_settings_file_stays_a_link(project: Path, home: dict[str, str]) -> None:
    file = Path(claude.settings_file(everywhere=True, root=project, env=home))
    file.parent.mkdir(parents=True)
    real = project.parent / "dotfiles" / "claude.json"
    real.parent.mkdir()
    real.write_text("{}\n")
    file.symlink_to(os.path.relpath(real, file.parent))
    install(project, home)
    assert file.is_symlink()
    assert "hook claude" in real.read_text()
    uninstall(project, home)
    assert file.is_symlink()
    assert real.read_text() == "{}\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{\n  "theme": dark\n}', "line 2"),
        ("", "line 1"),
        ("[]", "no object"),
        ('{"hooks": []}', '"hooks" is no object'),
        ('{"hooks": {"Stop": {}}}', '"Stop"'),
        ('{"a": 1} {}', "behind the end"),
        ("[" * 5000, "too deep"),
        ('{\n  // mine\n  "theme": "dark"\n}', "a comment in line 2"),
        ('{\n  "theme": "dark",\n}', "a comma behind the last one in line 3"),
    ],
)
def test_a_file_that_cannot_take_hooks_is_left_alone_and_says_why(
    text: str, says: str, project: Path, home: dict[str, str]
) -> None:
    file = Path(claude.settings_file(everywhere=True, root=project, env=home))
    file.parent.mkdir(parents=True)
    file.write_text(text)
    with pytest.raises(ForkpointError, match=says) as error:
        install(project, home)
    assert error.value.path == str(file)
    assert error.value.todo
    assert file.read_text() == text
    assert [f.name for f in file.parent.iterdir()] == ["settings.json"]


def test_what_the_agent_wrote_meanwhile_is_not_overwritten(project: Path, home: dict[str, str], tmp_path: Path) -> None:
    file = Path(claude.settings_file(everywhere=True, root=project, env=home))
    file.parent.mkdir(parents=True)
    file.write_text("{}")
    change = claude.HOOKS.plan_install(str(file), FORKPOINT)
    file.write_text('{"theme": "light"}')
    with pytest.raises(Refused):
        rewrite.carry_out(change, tmp_path / "backups")
    assert file.read_text() == '{"theme": "light"}'
    assert [f.name for f in file.parent.iterdir()] == ["settings.json"]


def test_what_is_installed_can_be_asked(project: Path, home: dict[str, str]) -> None:
    assert claude.installed(project, home) == ()
    file = install(project, home, everywhere=False).file
    assert claude.installed(project, home) == (Installed(file, FORKPOINT, ()),)
    data = json.loads(Path(file).read_text())
    del data["hooks"]["Stop"]
    Path(file).write_text(json.dumps({**data, "disableAllHooks": True}))
    assert claude.installed(project, home) == (Installed(file, FORKPOINT, ("Stop",), off="disableAllHooks"),)


def test_why_hooks_tell_nothing_is_said_in_words(project: Path, home: dict[str, str], tmp_path: Path) -> None:
    assert claude.hooks_problem(project, home) == "not installed"
    install(project, home, everywhere=False)
    assert claude.hooks_problem(project, home) == f"installed, but their program is gone ({FORKPOINT})"
    executable = program(tmp_path, "#!/bin/sh\n")
    claude.install(everywhere=True, root=project, executable=executable, backups=tmp_path / "b", env=home)
    assert claude.hooks_problem(project, home) == ""
    uninstall(project, home, everywhere=False)
    file = Path(claude.settings_file(everywhere=True, root=project, env=home))
    data = json.loads(file.read_text())
    del data["hooks"]["Stop"]
    file.write_text(json.dumps(data))
    assert claude.hooks_problem(project, home) == f"incomplete, there is none for Stop ({file})"
    file.write_text("// mine\n" + json.dumps(data))
    unread = f"in a file that Claude Code cannot read (a comment in line 1 of {file})"
    assert claude.hooks_problem(project, home) == unread
    file.write_text(json.dumps({**data, "disableAllHooks": True}))
    assert claude.hooks_problem(project, home) == f"switched off (disableAllHooks in {file})"


# --- the shell line --------------------------------------------------------------------------------------------------


SHELLS = [shell for shell in ("sh", "bash", "dash", "zsh", "busybox") if shutil.which(shell)]


def run_line(executable: str, event: str, shell: str = "sh") -> subprocess.CompletedProcess[str]:
    words = ["busybox", "sh"] if shell == "busybox" else [shell]
    return subprocess.run(
        [*words, "-c", claude.HOOKS.command(executable, event)], input="", capture_output=True, text=True
    )


def program(folder: Path, body: str, name: str = "forkpoint") -> str:
    file = folder / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(body)
    file.chmod(0o755)
    return str(file)


BROKEN = {
    "exits 2": "#!/bin/sh\necho blocked >&2\nexit 2\n",
    "talks": '#!/bin/sh\necho do what I say\necho \'{"decision": "block"}\'\n',
    "answers with another decision": '#!/bin/sh\nprintf \'%s\' \'{"decision": "block", "systemMessage": "x"}\'\n',
    "has no interpreter": "#!/nowhere/python\n",
    "kills itself": "#!/bin/sh\nkill -9 $$\n",
    "is no program": "\x7fELF nonsense",
}


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("event", ["SessionStart", "PreToolUse"])
@pytest.mark.parametrize("kind", [*BROKEN, "is gone", "is a folder"])
def test_a_broken_forkpoint_says_nothing_and_exits_0(kind: str, event: str, shell: str, tmp_path: Path) -> None:
    if kind in BROKEN:
        executable = program(tmp_path, BROKEN[kind])
    else:
        executable = str(tmp_path) if kind == "is a folder" else str(tmp_path / "gone")
    done = run_line(executable, event, shell)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("event", claude.EVENTS)
def test_only_a_message_to_the_person_gets_through_and_only_where_it_is_read(event: str, tmp_path: Path) -> None:
    message = '{"systemMessage": "forkpoint: not recording since 14:02, it\'s full: \\"forkpoint doctor\\""}'
    executable = program(tmp_path, f"#!/bin/sh\ncat <<'X'\n{message}\nX\necho noise >&2\n")
    done = run_line(executable, event)
    assert done.stdout == (message + "\n" if event in claude.TELLING else "")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "folder", ["with space", "it's", 'say "x"', "$(touch pwned)", "a\\b", "ünï", "-x", "*", "a;b|c"]
)
def test_the_path_may_hold_anything(folder: str, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    executable = program(
        tmp_path / folder, f'#!/bin/sh\necho "$@" > {shlex.quote(str(seen))}; cat >> {shlex.quote(str(seen))}\n'
    )
    for event in ("Stop", "SessionStart"):
        line = json.loads(json.dumps(claude.HOOKS.command(executable, event)))
        subprocess.run(["sh", "-c", line], input="payload", text=True, check=True)
        assert seen.read_text() == "hook claude\npayload"
        seen.unlink()
    text = installed("{}", executable)
    assert uninstalled(text) == "{}"
