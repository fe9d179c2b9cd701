"""Claude Code in the terminal of the app: forked there, gone on with there, and back."""

from __future__ import annotations

from tests.lab.claude_code import ClaudeCode
from tests.lab.terminal import Terminal

ADDS = '#!/bin/sh\nprintf " and of tabs" >>"$1"\n'
"""An editor: it adds words to what it opens."""


def test_a_fork_made_in_the_app_goes_on_in_claude_with_the_prompt_from_the_editor(
    claude: ClaudeCode, screens: None
) -> None:
    claude.record()
    claude.ask("Do TURN1 please")
    claude.ask("QUESTION of folding", "--continue")
    programs = claude.folder / "bin"
    programs.mkdir()
    for name, text in {
        "claude": f'#!/bin/sh\nexec "{claude.program}" --dangerously-skip-permissions "$@"\n',
        "adds": ADDS,
    }.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    env = {**claude.env, "PATH": f"{programs}:{claude.env['PATH']}", "EDITOR": "adds"}
    with Terminal([claude.executable], cwd=claude.project, env=env) as app:
        app.see("QUESTION of folding")
        app.press("G", "K", "f")
        app.see("Carries .*entries")
        app.press("C-s")
        app.see("Continue opens it in adds first")
        app.press("C-s")
        app.see("bypass permissions on")
        app.see("Just an answer, no tools")  # the screen of the app before it says so, too
        app.type("/exit")
        app.see("/exit")
        app.press("Enter")
        app.see("Back from Claude Code: 1 prompt, ")
        app.see("QUESTION of folding and of tabs")
        app.press("q")
    branches = claude.forkpoint("log")["branches"]
    assert [branch["state"] for branch in branches] == ["active", "left"]
