"""`forkpoint run`: any program, recorded without its help, and undisturbed by it."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from forkpoint.store.api import Store
from forkpoint.store.following import recorder

from tests.builders.cli import COMMAND, Talk, forkpoint, process
from tests.builders.folders import make
from tests.builders.following import COUNTS, ENDLESS, WAITS, Run, children, points, python, reasons, state
from tests.builders.recorded import Recorded
from tests.lab.terminal import wait_until

linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes in /proc")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make(tmp_path, {"shop/a.txt": "one\n"}) / "shop"


def content(project: Path, point: str, path: str) -> str:
    """What a checkpoint holds at a path; "" for nothing."""
    diff = Store.open(project).diff(point, "now", paths=[path.encode()])
    gone = [line.text for file in diff.files for hunk in file.hunks for line in hunk.lines if line.kind in " -"]
    return "\n".join(gone)


# What is recorded


def test_the_start_and_the_end_are_always_recorded_and_named_by_the_command(project: Path) -> None:
    answer = process("run", "--", "sh", "-c", "rm a.txt", cwd=project)
    assert (answer.code, answer.out, answer.err) == (0, "", "")
    made = points(project)
    assert [(point.reason, point.files, point.text) for point in made] == [
        ("start", 1, "sh -c 'rm a.txt'"),
        ("end", 0, "sh -c 'rm a.txt'"),
    ]
    texts = [entry.text for entry in Store.open(project).tree("files").entries]
    assert texts == ["before sh -c 'rm a.txt'", "after sh -c 'rm a.txt'"]


def test_a_command_that_changes_nothing_has_both_all_the_same(project: Path) -> None:
    process("run", "--", "true", cwd=project)
    process("run", "--", "true", cwd=project)
    assert reasons(project) == ["start", "end"] * 2


def test_edits_that_have_settled_are_saved_while_the_command_goes_on(project: Path) -> None:
    program = WAITS.replace("while", "open('b.txt', 'w').write('soon gone')\nwhile", 1)
    with Run(project, *python(program)) as run:
        run.ready()
        wait_until(lambda: "stop" in reasons(project), "a burst was saved")
        (project / "b.txt").unlink()
        run.enough()
        assert run.ends().code == 0
    assert reasons(project)[0] == "start" and reasons(project)[-1] == "end"
    held = [point.id for point in points(project) if point.reason == "stop"]
    assert "soon gone" in [content(project, point, "b.txt") for point in held]


def test_a_program_that_writes_without_a_pause_is_saved_every_so_often(project: Path) -> None:
    with Run(project, *python(ENDLESS), options=["--every", "0.5"]) as run:
        wait_until(lambda: reasons(project).count("stop") >= 3, "three saves in the middle of it")
        assert run.child.poll() is None
        run.enough()
        assert run.ends().code == 0


def test_what_the_watcher_was_not_told_of_is_in_the_end(project: Path) -> None:
    make(project, {".gitignore": "out/\n", ".forkpointignore": "!out/kept.txt\n", "out/kept.txt": "1\n"})
    answer = process(
        "run", "--", "sh", "-c", "mkdir -p new/deep; echo 2 >new/deep/x.txt; echo 2 >out/kept.txt", cwd=project
    )
    assert answer.code == 0
    (project / "new/deep/x.txt").unlink()
    assert content(project, points(project)[-1].id, "new/deep/x.txt") == "2"


def test_as_json_it_tells_start_end_all_checkpoints_and_the_exit_code(project: Path) -> None:
    answer = process("run", "--json", "--", "sh", "-c", "echo said; echo 2 >a.txt; exit 3", cwd=project)
    found = answer.json
    assert (answer.code, found["exit"], answer.err, found["problems"]) == (3, 3, "said\n", [])
    assert [found["start"], found["end"]] == [found["checkpoints"][at]["id"] for at in (0, -1)]
    assert [point.id for point in points(project)] == [item["id"] for item in found["checkpoints"]]
    logged = json.loads(forkpoint("log", "files", "--json", "-C", project).out)
    assert found["checkpoints"] == logged["checkpoints"]


def test_what_changes_meanwhile_is_told_with_the_command_and_unsure(project: Path) -> None:
    process("run", "--", "sh", "-c", "echo 2 >a.txt", cwd=project)
    (found,) = json.loads(forkpoint("log", "files", "--path", "a.txt", "--json", "-C", project).out)
    assert (found["who"]["kind"], found["who"]["maybe"]) == ("unsure", ["during sh -c 'echo 2 >a.txt'"])


def test_the_program_s_own_json_option_is_not_ours(project: Path) -> None:
    for words in (["run", "--", "echo", "--json"], ["run", "echo", "--json"]):
        answer = process(*words, cwd=project)
        assert (answer.code, answer.out) == (0, "--json\n")


def test_an_agent_with_hooks_in_the_same_folder_has_its_own_checkpoints(project: Path) -> None:
    with Run(project, *python(WAITS)) as run:
        run.ready()
        agent = Recorded(project)
        agent.starts()
        agent.asked("Write it")
        agent.writes("agent.txt", "by the agent\n")
        agent.stops()
        run.enough()
        assert run.ends().code == 0
    own = [point.reason for point in Store.open(project).tree(agent.session.id).points]
    assert own[0] == "start" and {"prompt", "tool"} <= set(own)
    assert [reasons(project)[at] for at in (0, -1)] == ["start", "end"]
    (project / "last.txt").unlink()
    assert content(project, points(project)[-1].id, "last.txt") == "written at the end"


def test_a_run_inside_of_a_run(project: Path) -> None:
    inner = [*COMMAND, "run", "--", "sh", "-c", "echo 2 >a.txt; exit 4"]
    assert process("run", "--", *inner, cwd=project).code == 4
    ours = [point.reason for point in points(project) if "forkpoint" not in point.text]
    assert ours == ["start", "end"]
    assert [reasons(project)[at] for at in (0, 1, -2, -1)] == ["start", "start", "end", "end"]


def test_a_root_that_is_moved_while_it_runs_is_recorded_where_it_is(project: Path, tmp_path: Path) -> None:
    with Run(project, *python(WAITS)) as run:
        run.ready()
        moved = tmp_path / "moved"
        project.rename(moved)
        (moved / "enough").write_text("")
        assert run.ends().code == 0
    assert reasons(moved)[0] == "start" and reasons(moved)[-1] == "end"
    (moved / "last.txt").unlink()
    assert content(moved, points(moved)[-1].id, "last.txt") == "written at the end"


def test_a_root_that_is_deleted_while_it_runs_is_told_and_the_exit_code_is_the_command_s(project: Path) -> None:
    answer = process("run", "--", "sh", "-c", f"rm -r '{project}'; exit 5", cwd=project)
    assert answer.code == 5
    assert "forkpoint: the end was not saved: the folder is not there any more" in answer.err


def test_what_cannot_be_saved_in_the_end_is_told_and_the_exit_code_is_the_command_s(project: Path) -> None:
    process("save", cwd=project)
    store = next((Path(os.environ["FORKPOINT_HOME"]) / "workspaces").iterdir())
    answer = process("run", "--json", "--", "sh", "-c", f"rm -r '{store}/objects.git'; exit 6", cwd=project)
    assert (answer.code, answer.json["exit"], answer.json["end"]) == (6, 6, None)
    assert any("the end was not saved" in problem for problem in answer.json["problems"])


def test_where_the_start_cannot_be_saved_nothing_is_run(project: Path) -> None:
    answer = process("run", "--", "touch", "ran", cwd=Path.home())
    assert (answer.code, (Path.home() / "ran").exists()) == (3, False)
    assert "forkpoint never records the home folder" in answer.err


@linux
def test_where_the_system_has_no_more_watches_it_looks_at_intervals_and_says_so_once(project: Path) -> None:
    use_up = """
import ctypes, os, sys
system = ctypes.CDLL(None)
while system.inotify_init1(0) >= 0:
    pass
print("used up", flush=True)
sys.stdin.read()
"""
    with subprocess.Popen(python(use_up), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None and other.stdout.readline() == "used up\n"
        with Run(project, *python(ENDLESS), options=["--every", "0.5"]) as run:
            wait_until(lambda: reasons(project).count("stop") >= 2, "two saves in the middle of it")
            run.enough()
            answer = run.ends()
        other.communicate("")
    assert answer.code == 0
    assert answer.err.count("the system has no more watches") == 1


# The program is as it would be


def test_a_command_that_is_not_found_is_127_and_records_nothing(project: Path) -> None:
    for name in ("no-such-program", "./no-such-program"):
        answer = process("run", "--", name, cwd=project)
        assert (answer.code, answer.err) == (127, f"forkpoint: command not found: {name}; nothing was run\n")
    assert not Store.open(project).exists


def test_a_file_that_is_no_program_is_126_and_a_script_without_its_first_line_is_run_by_the_shell(
    project: Path,
) -> None:
    make(project, {"plain.txt": "x\n", "script": "exit 9\n"})
    answer = process("run", "--", "./plain.txt", cwd=project)
    assert (answer.code, "Permission denied" in answer.err) == (126, True)
    (project / "script").chmod(0o755)
    assert process("run", "--", "./script", cwd=project).code == 9


@pytest.mark.parametrize("code", [0, 1, 2, 3, 77, 255])
def test_the_exit_code_is_the_command_s(project: Path, code: int) -> None:
    assert process("run", "--", "sh", "-c", f"exit {code}", cwd=project).code == code


@pytest.mark.parametrize("name", ["KILL", "TERM", "SEGV", "HUP"])
def test_of_a_killed_command_it_is_128_and_the_signal_and_the_end_is_saved(project: Path, name: str) -> None:
    answer = process("run", "--", "sh", "-c", f"echo 2 >a.txt; kill -{name} $$", cwd=project)
    assert answer.code == 128 + getattr(signal, f"SIG{name}")
    assert reasons(project) == ["start", "end"]


def test_input_output_and_further_open_files_are_the_command_s_own(project: Path) -> None:
    reader, writer = os.pipe()
    program = f"import os, sys; print(input().upper()); print('error', file=sys.stderr); os.write({writer}, b'further')"
    answer = subprocess.run(
        [*COMMAND, "run", "--", *python(program)],
        cwd=project,
        input="given\n",
        capture_output=True,
        text=True,
        pass_fds=(writer,),
        timeout=60,
    )
    os.close(writer)
    with os.fdopen(reader) as stream:
        assert (answer.stdout, answer.stderr, stream.read()) == ("GIVEN\n", "error\n", "further")


TELLS = """
import os, signal
mask = os.umask(0)
def is_open(number):
    try:
        os.fstat(number)
        return True
    except OSError:
        return False
lines = dict(line.split(":\\t") for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)
environment = sorted(f"{name}={value}" for name, value in os.environ.items() if name not in ("_", "SHLVL"))
told = (oct(mask), [is_open(number) for number in range(20)], lines["SigBlk"], lines["SigIgn"], lines["SigCgt"],
        os.getcwd(), os.nice(0), environment)
with open(os.environ["TOLD"], "w") as stream:
    print(*told, sep="\\n", file=stream)
"""


@linux
@pytest.mark.parametrize(
    "around",
    [
        "{}",
        "umask 0277; {}",
        "{} <&- 2>&-",
        "{} 7</dev/null",
        "trap '' HUP INT TERM USR1; {}",
        "trap '' CHLD; {}",
        "nice -n 3 {}",
        "nohup {} >/dev/null 2>&1",
    ],
)
def test_what_a_process_inherits_is_as_without_us(project: Path, tmp_path: Path, around: str) -> None:
    """Compared with the same program run by the same shell: umask, open files, signals, environment."""
    # A C program would tell more: Python itself sets SIGPIPE and SIGXFSZ, the same in both.
    plain = ["python3" if shutil.which("python3") else sys.executable, "-c", TELLS]
    told: list[str] = []
    for number, command in enumerate((plain, [*COMMAND, "run", "--", *plain])):
        (project / "words").write_text("")
        file = tmp_path / f"told{number}"
        env = {**os.environ, "TOLD": str(tmp_path / "told")}
        words = shlex.join(command[:-1]) + ' "$PROGRAM"'
        subprocess.run(["sh", "-c", around.format(words)], cwd=project, env={**env, "PROGRAM": TELLS}, timeout=60)
        (tmp_path / "told").rename(file)
        told.append(file.read_text())
    assert told[1] == told[0]


# Signals


def seen(run: Run, *signals: tuple[Callable[[int, int], None], int]) -> list[str]:
    """Sends signals by a way each; gives what the command saw of them."""
    run.ready()
    for send, number in signals:
        send(run.child.pid, number)
        time.sleep(0.05)  # two of one kind that come at once are one, with us or without
    run.enough()
    answer = run.ends()
    assert answer.code == 0
    return answer.out.split()


def test_a_signal_that_is_sent_to_us_alone_reaches_the_command_once(project: Path) -> None:
    with Run(project, *python(COUNTS)) as run:
        sent = [signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGINT]
        assert seen(run, *((os.kill, number) for number in sent)) == ["SIGHUP", "SIGINT", "SIGTERM", "SIGUSR1"]


def test_a_signal_that_is_sent_to_the_whole_group_reaches_the_command_once(project: Path) -> None:
    with Run(project, *python(COUNTS)) as run:
        sent = [signal.SIGTERM, signal.SIGINT, signal.SIGTERM, signal.SIGWINCH]
        assert seen(run, *((os.killpg, number) for number in sent)) == ["SIGINT", "SIGTERM", "SIGTERM", "SIGWINCH"]


def test_signals_to_us_and_to_the_group_are_told_apart(project: Path) -> None:
    with Run(project, *python(COUNTS)) as run:
        sent = [(os.kill, signal.SIGTERM), (os.killpg, signal.SIGTERM), (os.kill, signal.SIGTERM)]
        assert seen(run, *sent) == ["SIGTERM"] * 3


def test_a_signal_to_the_group_reaches_a_command_that_has_gone_to_a_group_of_its_own(project: Path) -> None:
    with Run(project, *python("import os; os.setpgid(0, 0)\n" + COUNTS)) as run:
        assert seen(run, (os.killpg, signal.SIGTERM)) == ["SIGTERM"]


def test_ctrl_c_reaches_the_command_and_the_end_is_saved(project: Path) -> None:
    talk = Talk(
        "run", "--", *python("import time; open('a.txt', 'w'); print('begun', flush=True); time.sleep(60)"), cwd=project
    )
    talk.until("begun")
    talk.type("\x03")
    assert talk.close() == 130
    assert "KeyboardInterrupt" in talk.seen and "2 checkpoints of " in talk.seen
    assert reasons(project) == ["start", "end"]


def test_ctrl_c_is_the_command_s_own_affair(project: Path) -> None:
    talk = Talk("run", "--", *python(COUNTS), cwd=project)
    wait_until((project / "ready").exists, "it runs")
    talk.type("\x03")
    talk.until("^C")
    (project / "enough").write_text("")
    assert talk.close() == 0
    assert talk.seen.count("SIGINT") == 1


# Job control


@pytest.fixture
def shell(project: Path) -> Talk:
    """An interactive shell in which `f` is forkpoint."""
    if not shutil.which("bash"):
        pytest.skip("bash is not installed")
    talk = Talk("--norc", "--noprofile", "-i", cwd=project, program=["bash"], env={**os.environ, "PS1": "ready> "})
    talk.until("ready> ")
    return talk


def run_line(*words: str) -> str:
    return f"{shlex.join([*COMMAND, 'run', '--', *words])}\n"


def test_a_job_is_stopped_and_goes_on_as_without_us(project: Path, shell: Talk) -> None:
    make(project, {"work.py": f"{WAITS}print('done')\nraise SystemExit(6)\n"})
    shell.type(run_line(sys.executable, "work.py"))
    wait_until((project / "ready").exists, "it runs")
    shell.type("\x1a")
    shell.until("Stopped")
    shell.type("echo $((600+1))\n")
    shell.until("601")
    shell.type("fg\n")
    (project / "enough").write_text("")
    shell.until("done")
    shell.type("echo code=$?\n")
    shell.until("code=6")
    shell.type("exit\n")
    shell.close()
    assert reasons(project)[-1] == "end"


def test_a_job_in_the_background_that_reads_from_the_terminal_is_stopped(project: Path, shell: Talk) -> None:
    shell.type(run_line("sh", "-c", "read line; echo got $line").rstrip() + " &\n")
    for number in range(200):
        shell.type(f"jobs; echo mark$((1000+{number}))\n")
        if "Stopped" in shell.until(f"mark{1000 + number}"):
            break
    shell.type("fg\n")
    shell.type("words\n")
    shell.until("got words")
    shell.type("exit\n")
    shell.close()


def test_a_shell_inside_of_it_has_job_control_of_its_own(project: Path) -> None:
    if not shutil.which("bash"):
        pytest.skip("bash is not installed")
    env = {**os.environ, "PS1": "inner> "}
    talk = Talk("run", "--", "bash", "--norc", "--noprofile", "-i", cwd=project, env=env)
    talk.until("inner> ")
    talk.type("sleep 50\n")
    time.sleep(0.3)
    talk.type("\x1a")
    talk.until("Stopped")
    talk.type("fg\n")
    time.sleep(0.3)
    talk.type("\x03")
    talk.type("echo code=$?\n")
    talk.until("code=130")
    talk.type("exit 5\n")
    assert talk.close() == 5
    assert "cannot set terminal process group" not in talk.seen


@linux
def test_a_command_that_alone_is_stopped_and_told_to_go_on_takes_us_with_it(project: Path) -> None:
    with Run(project, *python(WAITS)) as run:
        pid = run.ready()
        run.recorder()
        os.kill(pid, signal.SIGSTOP)
        wait_until(lambda: state(run.child.pid) == "T", "we are stopped as well")
        os.kill(pid, signal.SIGCONT)
        run.enough()
        assert run.ends().code == 0


@linux
def test_the_end_of_us_is_not_the_end_of_the_command_and_its_end_is_still_saved(project: Path) -> None:
    with Run(project, *python(WAITS)) as run:
        pid = run.ready()
        helpers = [run.recorder(), *run.helpers()]
        os.kill(run.child.pid, signal.SIGKILL)
        run.child.wait()
        assert state(pid) not in ("", "Z")
        run.enough()
        wait_until(lambda: "end" in reasons(project), "the end is saved")
        wait_until(lambda: not any(state(helper) for helper in helpers), "nothing of ours is left")
    (project / "last.txt").unlink()
    assert content(project, points(project)[-1].id, "last.txt") == "written at the end"


@linux
def test_the_end_of_the_recorder_is_told_and_the_end_is_saved(project: Path) -> None:
    with Run(project, *python(WAITS)) as run:
        run.ready()
        os.kill(run.recorder(), signal.SIGKILL)
        run.enough()
        answer = run.ends()
    assert (answer.code, reasons(project)[-1]) == (0, "end")
    assert "forkpoint: the recorder was ended: nothing was saved between then and the end" in answer.err


@linux
def test_nothing_of_ours_is_left_when_it_has_ended(project: Path) -> None:
    with Run(project, *python(WAITS)) as run:
        run.ready()
        helpers = [run.recorder(), *run.helpers()]
        assert len(set(helpers)) == 2
        run.enough()
        run.ends()
        assert [helper for helper in helpers if state(helper)] == []


def test_what_others_are_at_in_the_root_is_waited_for(project: Path) -> None:
    assert recorder.PATIENCE > 60
    with Run(project, *python(WAITS)) as run:
        run.ready()
        saves = [subprocess.Popen([*COMMAND, "save"], cwd=project, stdout=subprocess.DEVNULL) for _ in range(4)]
        run.enough()
        assert run.ends().code == 0
        assert [save.wait(60) for save in saves] == [0] * 4
    assert children(run.child.pid) == []
