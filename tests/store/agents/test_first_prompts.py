"""Commands that go on with a session and say a prompt first: whatever the prompt is, it is no option and no shell."""

from __future__ import annotations

import pytest
from forkpoint.store import agents
from forkpoint.store.conversation.forking import LONGEST, with_prompt
from forkpoint.store.model import ForkResult

NASTY = ("-x --help", "@file and more", "two\nlines", 'it\'s $(whoami) "quoted"', "/clear")
COMMANDS = {
    "claude": ("claude", "--resume", "id"),
    "codex": ("codex", "resume", "id"),
    "gemini": ("gemini", "--resume", "id"),
    "pi": ("pi", "--session", "id"),
}


@pytest.mark.parametrize("prompt", NASTY)
@pytest.mark.parametrize("agent", COMMANDS)
def test_the_prompt_is_one_word_at_the_end_that_nobody_takes_for_an_option(agent: str, prompt: str) -> None:
    command = agents.get(agent).with_prompt(COMMANDS[agent], prompt)
    assert command is not None
    assert command[:3] == COMMANDS[agent]
    *_, before, last = command
    assert last.endswith(prompt)
    assert before == "--" or last.startswith("--prompt-interactive=") or last[0] not in "-@"


@pytest.mark.parametrize("prompt", ["x" * (LONGEST + 1), "with a \0 in it"], ids=["too long", "NUL"])
def test_a_prompt_that_no_command_line_takes_is_handed_back_otherwise(prompt: str) -> None:
    assert with_prompt(ForkResult("", "b", "id", "claude", COMMANDS["claude"], "/", prompt), prompt) is None


def test_of_an_agent_that_is_not_known_to_take_a_prompt_nothing_is_supposed() -> None:
    from forkpoint.store.agents.forms.usual import Usual

    assert Usual("other", "Other").with_prompt(("other", "--resume", "id"), "Hello") is None


def test_opencode_takes_none_where_a_session_is_gone_on_with() -> None:
    """It passes `--prompt` over there, tried with 1.18.33."""
    assert agents.get("opencode").with_prompt(("opencode", "--session", "id"), "Hello") is None
