"""Our plugin as OpenCode runs it, played by node: it tells forkpoint all, waits in measure, and never throws."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from forkpoint.store.agents.opencode import plugin, settings
from forkpoint.store.errors import ForkpointError

from tests.builders.opencode import Json
from tests.builders.scripts import PYTHON

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")

PLAY = """
const asked = [];
const toasts = [];
const client = {
  session: { get: async ({ path }) => { asked.push(path.id); return { data: PARENTS[path.id] }; } },
  tui: { showToast: async ({ body }) => { toasts.push(body.message); } },
};
const PARENTS = { ses_old: { parentID: undefined }, ses_oldsub: { parentID: "ses_old" } };
const { Forkpoint } = await import(process.argv[2]);
const hooks = await Forkpoint({ client, directory: "/w/shop", worktree: "/w/shop" });
for (const [name, ...told] of JSON.parse(process.argv[3])) await hooks[name]?.(...told);
console.log(JSON.stringify({ asked, toasts }));
"""


def program(folder: Path, body: str) -> str:
    """A forkpoint that does what its body says with `payload`."""
    file = folder / "forkpoint"
    head = f"{PYTHON}import json, sys, time\npayload = json.loads(sys.stdin.read())\n"
    file.write_text(head + body)
    file.chmod(0o755)
    return str(file)


def recorder(folder: Path) -> str:
    return program(
        folder, f"open({str(folder / 'told')!r}, 'a').write(json.dumps([sys.argv[1:], payload]) + chr(10))\n"
    )


def play(folder: Path, executable: str, *moments: list[object]) -> Json:
    """Runs moments of a session through the plugin; gives what it asked OpenCode and showed to the person."""
    file = folder / "forkpoint.js"
    file.write_text(plugin.body(executable))
    (folder / "package.json").write_text('{"type":"module"}')
    (folder / "play.js").write_text(PLAY)
    command = [str(NODE), "play.js", str(file), json.dumps(moments)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def told(folder: Path) -> list[Json]:
    lines = (folder / "told").read_text().splitlines()
    assert all(json.loads(line)[0] == ["hook", "opencode"] for line in lines)
    return [json.loads(line)[1] for line in lines]


def event(kind: str, **properties: object) -> list[object]:
    return ["event", {"event": {"type": kind, "properties": properties}}]


MESSAGE = [
    "chat.message",
    {"sessionID": "ses_a"},
    {
        "message": {"id": "msg_1"},
        "parts": [{"type": "text", "text": "Do it"}, {"type": "text", "text": "read", "synthetic": True}],
    },
]
BEFORE = ["tool.execute.before", {"tool": "bash", "sessionID": "ses_a", "callID": "c1"}, {"args": {"command": "ls"}}]
AFTER = ["tool.execute.after", {"tool": "bash", "sessionID": "ses_a", "callID": "c1", "args": {"command": "ls"}}, {}]
CREATED = event("session.created", info={"id": "ses_a"})


def test_a_turn_is_told_moment_by_moment(tmp_path: Path) -> None:
    play(tmp_path, recorder(tmp_path), CREATED, MESSAGE, BEFORE, AFTER, event("session.idle", sessionID="ses_a"))
    same = {"directory": "/w/shop", "session": "ses_a", "child": ""}
    found = told(tmp_path)
    assert all({name: one[name] for name in same} == same and one["pid"] > 0 for one in found)
    assert [(one["event"], one.get("call"), one["prompt"]) for one in found] == [
        ("session.created", None, ""),
        ("chat.message", None, "msg_1"),
        ("tool.execute.before", "c1", "msg_1"),
        ("tool.execute.after", "c1", "msg_1"),
        ("session.idle", None, "msg_1"),
    ]
    assert (found[1]["text"], found[2]["input"], found[2]["tool"]) == ("Do it", {"command": "ls"}, "bash")


def test_what_only_reads_is_not_told(tmp_path: Path) -> None:
    reads = [["tool.execute.before", {"tool": tool, "sessionID": "ses_a"}, {"args": {}}] for tool in ("read", "task")]
    play(tmp_path, recorder(tmp_path), *reads, event("message.updated", info={}), event("file.edited", file="/a"))
    assert not (tmp_path / "told").exists()


def test_a_sub_agent_s_session_is_told_as_its_parent_s_work(tmp_path: Path) -> None:
    sub = ["tool.execute.before", {"tool": "bash", "sessionID": "ses_b", "callID": "c2"}, {"args": {}}]
    old = ["tool.execute.before", {"tool": "bash", "sessionID": "ses_oldsub", "callID": "c3"}, {"args": {}}]
    created = event("session.created", info={"id": "ses_b", "parentID": "ses_a"})
    done = play(tmp_path, recorder(tmp_path), CREATED, created, sub, old, old)
    assert [(one["event"], one["session"], one["child"]) for one in told(tmp_path)] == [
        ("session.created", "ses_a", ""),
        ("tool.execute.before", "ses_a", "ses_b"),
        ("tool.execute.before", "ses_old", "ses_oldsub"),
        ("tool.execute.before", "ses_old", "ses_oldsub"),
    ]
    assert done["asked"] == ["ses_oldsub", "ses_old"], "each session that it did not see begin is asked for once"


def test_long_arguments_are_cut_and_others_left_out(tmp_path: Path) -> None:
    given = {"content": "x" * 5000, "count": 3, "patchText": "p" * 5000}
    play(tmp_path, recorder(tmp_path), ["tool.execute.before", {"tool": "write", "sessionID": "s"}, {"args": given}])
    assert {name: len(text) for name, text in told(tmp_path)[0]["input"].items()} == {
        "content": 2000,
        "patchText": 5000,
    }


def test_what_forkpoint_says_to_the_person_is_shown_and_nothing_else(tmp_path: Path) -> None:
    said = program(tmp_path, "print(json.dumps({'systemMessage': 'not recording'}))\n")
    assert play(tmp_path, said, MESSAGE)["toasts"] == ["not recording"]
    loud = program(tmp_path, "print('INJECTED'); sys.stderr.write('INJECTED'); sys.exit(2)\n")
    assert play(tmp_path, loud, MESSAGE)["toasts"] == []


@pytest.mark.parametrize("odd", [[], [None, None], [{}, {}], [{"sessionID": 5}, {"args": 7, "parts": 1}]])
def test_odd_moments_raise_nothing(odd: list[object], tmp_path: Path) -> None:
    names = ("chat.message", "tool.execute.before", "tool.execute.after", "event")
    play(tmp_path, recorder(tmp_path), *([name, *odd] for name in names))


@pytest.mark.parametrize("how", ["gone", "no program", "not executable", "lost its python"])
def test_a_forkpoint_that_cannot_start_costs_nothing(how: str, tmp_path: Path) -> None:
    file = tmp_path / "forkpoint"
    if how != "gone":
        file.write_text("#!/nowhere/python\n" if how == "lost its python" else "\x00odd")
        file.chmod(0o644 if how == "not executable" else 0o755)
    assert play(tmp_path, str(file), CREATED, MESSAGE, BEFORE, AFTER)["toasts"] == []


def test_one_that_hangs_is_not_waited_for_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugin, "PATIENCE", 200)
    monkeypatch.setattr(plugin, "FORGOTTEN", 2000)
    ended = tmp_path / "ended"
    hanging = program(tmp_path, f"time.sleep(50)\nopen({str(ended)!r}, 'w').close()\n")
    play(tmp_path, hanging, *[MESSAGE] * 6)
    assert not ended.exists(), "all six moments came back, and none of the programs had ended"


def test_the_plugin_that_was_loaded_first_speaks_alone(tmp_path: Path) -> None:
    file = tmp_path / "forkpoint.js"
    file.write_text(plugin.body(recorder(tmp_path)))
    (tmp_path / "package.json").write_text('{"type":"module"}')
    (tmp_path / "play.js").write_text(
        "const first = (await import(process.argv[2])).Forkpoint;\n"
        "const second = (await import(process.argv[2] + '?again')).Forkpoint;\n"
        "const one = await first({ directory: '/w' }), two = await second({ directory: '/w' });\n"
        "console.log(Object.keys(one).length > 0, Object.keys(two).length);\n"
    )
    command = [str(NODE), "play.js", str(file)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["true", "0"]


# --- the file


def test_it_is_one_file_of_ours_for_the_person_or_the_project(tmp_path: Path, machine: Path) -> None:
    backups = tmp_path / "backups"
    change = settings.install(everywhere=True, executable="/opt/forkpoint", root=tmp_path, backups=backups)
    assert change.file == str(machine / ".config" / "opencode" / "plugin" / "forkpoint.js")
    assert settings.hooks_problem(tmp_path) == "installed, but its program is gone (/opt/forkpoint)"
    settings.uninstall(everywhere=True, root=tmp_path, backups=backups)
    assert not (machine / ".config").exists()
    change = settings.install(everywhere=False, executable=sys.executable, root=tmp_path, backups=backups)
    assert change.file == str(tmp_path / ".opencode" / "plugin" / "forkpoint.js")
    assert settings.hooks_problem(tmp_path) == ""
    settings.uninstall(everywhere=False, root=tmp_path, backups=backups)
    assert (settings.hooks_problem(tmp_path), (tmp_path / ".opencode").exists()) == ("not installed", False)


def test_a_file_that_is_not_ours_stays(tmp_path: Path) -> None:
    file = tmp_path / ".opencode" / "plugin" / "forkpoint.js"
    file.parent.mkdir(parents=True)
    file.write_text("export const Mine = async () => ({})\n")
    backups = tmp_path / "backups"
    with pytest.raises(ForkpointError, match="not ours"):
        settings.install(everywhere=False, executable=sys.executable, root=tmp_path, backups=backups)
    assert not settings.uninstall(everywhere=False, root=tmp_path, backups=backups).changes
    assert file.read_text() == "export const Mine = async () => ({})\n"
