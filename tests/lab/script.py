"""What the stub's model does in the tests with real agents: turns that are selected by a word in the prompt."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from .stub_llm import Script, Step, Tool


class Tools(Protocol):
    """What an agent's model calls, by what it does in the project; paths are named from there."""

    def read(self, path: str) -> Tool: ...

    def write(self, path: str, content: str) -> Tool: ...

    def edit(self, path: str, old: str, new: str) -> Tool: ...

    def shell(self, command: str) -> Tool: ...


def turns(tools: Tools, helper: Tool, **more: tuple[Step, ...]) -> Script:
    """Three turns of edits and shell commands, and some for special occasions; helper: starts a sub-agent on SUBJOB."""
    write, edit, shell = tools.write, tools.edit, tools.shell
    return {
        "TURN1": (
            Step("I write a new file.", (write("new.txt", "new v1\n"),)),
            Step("I read a file that existed.", (tools.read("existing.txt"),)),
            Step("I edit both.", (edit("existing.txt", "line two", "line two EDITED"), edit("new.txt", "v1", "v2"))),
            Step("I delete and rename.", (shell("rm todelete.txt && mv torename.txt renamed.txt"),)),
            Step("TURN1 is done."),
        ),
        "TURN2": (
            Step("I edit again.", (edit("new.txt", "v2", "v3"),)),
            Step("I write by the shell.", (shell("echo shell-made > shell.txt; echo more >> existing.txt"),)),
            Step("TURN2 is done."),
        ),
        "TURN3": (
            Step("A command that fails.", (shell("exit 3"),)),
            Step("I write in a new folder.", (write("sub/dir/three.txt", "three\n"),)),
            Step("TURN3 is done."),
        ),
        "TURNSLOW": (
            Step("I write.", (write("slow.txt", "slow v1\n"),)),
            Step("I sleep.", (shell("touch .asleep; while [ -e .asleep ]; do sleep 0.1; done"),)),
            Step("TURNSLOW is done."),
        ),
        "TURNAGENT": (Step("I start a sub-agent.", (helper,)), Step("TURNAGENT is done.")),
        "SUBJOB": (Step("I write.", (write("sub.txt", "by the sub-agent\n"),)), Step("SUBJOB is done.")),
        "TURNERROR": (Step("", status=400),),
        "QUESTION": (Step("Just an answer, no tools."),),
        **more,
    }


def seed(project: Path) -> None:
    """Files to edit, delete, rename and ignore: what `turns` works on. The project is no git repository."""
    project.mkdir(parents=True)
    (project / "existing.txt").write_text("line one\nline two\nline three\n")
    (project / "todelete.txt").write_text("delete me\n")
    (project / "torename.txt").write_text("rename me\n")
    (project / "tool.sh").write_text("#!/bin/sh\necho hi\n")
    (project / "tool.sh").chmod(0o755)
    (project / "link.txt").symlink_to("existing.txt")
    (project / "empty").mkdir()
    (project / ".gitignore").write_text("ignored.log\n.asleep\n")
    (project / "ignored.log").write_text("secret\n")
