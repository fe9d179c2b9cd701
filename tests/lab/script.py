"""What the stub's model does in the tests with real agents: turns that are selected by a word in the prompt."""

from __future__ import annotations

from pathlib import Path

from .stub_llm import Script, Step, Tool


def write(file: Path, content: str) -> Tool:
    return Tool("Write", {"file_path": str(file), "content": content})


def edit(file: Path, old: str, new: str) -> Tool:
    return Tool("Edit", {"file_path": str(file), "old_string": old, "new_string": new})


def shell(command: str) -> Tool:
    return Tool("Bash", {"command": command, "description": "a command"})


def turns(project: Path) -> Script:
    """Three turns of edits and shell commands in a project, and some for special occasions."""
    new, old = project / "new.txt", project / "existing.txt"
    return {
        "TURN1": (
            Step("I write a new file.", (write(new, "new v1\n"),)),
            Step("I read a file that existed.", (Tool("Read", {"file_path": str(old)}),)),
            Step("I edit both.", (edit(old, "line two", "line two EDITED"), edit(new, "v1", "v2"))),
            Step("I delete and rename.", (shell("rm todelete.txt && mv torename.txt renamed.txt"),)),
            Step("TURN1 is done."),
        ),
        "TURN2": (
            Step("I edit again.", (edit(new, "v2", "v3"),)),
            Step("I write by the shell.", (shell("echo shell-made > shell.txt; echo more >> existing.txt"),)),
            Step("TURN2 is done."),
        ),
        "TURN3": (
            Step("A command that fails.", (shell("exit 3"),)),
            Step("I write in a new folder.", (write(project / "sub/dir/three.txt", "three\n"),)),
            Step("TURN3 is done."),
        ),
        "TURNODD": (
            Step(
                "Modes, links and empty folders go.",
                (shell("chmod 600 tool.sh; rm link.txt; ln -s tool.sh link.txt; rmdir empty; mkdir made"),),
            ),
            Step("TURNODD is done."),
        ),
        "TURNSLOW": (
            Step("I write.", (write(project / "slow.txt", "slow v1\n"),)),
            Step("I sleep.", (shell("touch .asleep; while [ -e .asleep ]; do sleep 0.1; done"),)),
            Step("TURNSLOW is done."),
        ),
        "TURNAGENT": (
            Step(
                "I start a sub-agent.",
                (
                    Tool(
                        "Agent",
                        {
                            "description": "small job",
                            "prompt": "SUBJOB: write sub.txt",
                            "subagent_type": "general-purpose",
                            "run_in_background": False,
                        },
                    ),
                ),
            ),
            Step("TURNAGENT is done."),
        ),
        "SUBJOB": (Step("I write.", (write(project / "sub.txt", "by the sub-agent\n"),)), Step("SUBJOB is done.")),
        "TURNERROR": (Step("", status=400),),
        "QUESTION": (Step("Just an answer, no tools."),),
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
