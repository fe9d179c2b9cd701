"""A recorded session with something of everything that the detail tells apart."""

from __future__ import annotations

from pathlib import Path

from .recorded import Recorded

PROMPT = """Please fold the headers.

```python
def fold(lines):
    return lines
```
Keep __init__ and *this* as they are."""
REPLY = """## What I did

It **folds** now, with `unfold` in a module of its own:

1. read `parse.py`
2. wrote `fold.py`

| File | Lines |
|---|---:|
| parse.py | 5 |
| fold.py | 2 |

```python
def unfold(lines):
    yield from lines
```
"""
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo" * 400}}
FAILING = "\n".join(f"tests/test_fold.py::test_{number} FAILED" for number in range(300))


def a_rich_session(project: Path) -> Recorded:
    """Two prompts: one with Markdown, edits, thoughts and a failing shell, one with a picture; a shell deletes."""
    (project / "docs").mkdir(parents=True)
    (project / "docs/notes.txt").write_text("keep me\nplease\n")
    (project / "parse.py").write_text("def parse(data):\n    return data.split()\n")
    agent = Recorded(project)
    session = agent.session
    agent.starts()
    agent.asked(PROMPT)
    session.reply(REPLY, thinking="Which module?\nOne of its own.\nThat is cleaner.")
    agent.writes("fold.py", "def unfold(lines):\n    yield from lines\n")
    agent.does(
        "Edit",
        lambda: session.edit("parse.py", "    return data.split()\n", "    return unfold(data.split())\n"),
        tool_input={"file_path": str(project / "parse.py"), "old_string": "a", "new_string": "b"},
    )
    shell = {"command": "pytest -q"}
    agent.does("Bash", lambda: session.tool("Bash", shell, FAILING, error=True), tool_input=shell)
    agent.stops("Done, but some tests **fail**.")
    session.prompt([{"type": "text", "text": "And what is this?"}, PICTURE])
    agent.tell("UserPromptSubmit", prompt="And what is this?", prompt_id=session.prompt_id)
    agent.runs("rm docs/notes.txt", lambda folder: (folder / "docs/notes.txt").unlink())
    agent.stops("A picture of a tea pot.")
    return agent
