"""A reply of 420 lines of Markdown in the detail of the whole app, against Textual's own Markdown widget.

Run as a program this is one of the two: `prose.py app FOLDER` rests with the cursor on the reply, by real keys;
`prose.py widget FILE` shows a file in the widget. Both print what they measured.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
from pathlib import Path
from time import perf_counter

from pairs import Figure, pair, run
from trees import environment

ROOT = Path(__file__).parent.parent.parent
SIZE = (160, 50)
AGAIN = 7
REACH, AIM = 0.2, 0.1
PART = """## Part {number}

It splits at **line ends**, keeps `BLANK`, and _drops_ what follows; see [the text](https://example.org/{number}).

1. read `parse_{number}.py` and say what is odd about it
2. write `fold_{number}.py`
   - one function, **without** state
   - its tests

| File | Lines | Why |
|---|---:|---|
| parse_{number}.py | {number} | it calls `unfold` |
| fold_{number}.py | 24 | new |

```python
def unfold_{number}(lines):
    \"\"\"Join continuation lines.\"\"\"
    for line in lines:
        yield line + b"\\r\\n"
```

> Said before: {number} times.

"""
LINES = 420
PROMPT = "Tell me everything"


def text() -> str:
    """The Markdown, of that many lines."""
    whole = "".join(PART.format(number=number) for number in range(1, LINES))
    return "\n".join(whole.split("\n")[: LINES - 1]) + "\nThe end of it.\n"


def figures(folder: Path, rounds: int) -> list[Figure]:
    """The first time, when nothing of it was imported, and from then on."""
    project, file, env = folder / "project", folder / "reply.md", environment(folder)
    file.write_text(text(), "utf-8")
    _record(project, folder / ".claude")

    def measured(kind: str, what: Path) -> dict[str, float]:
        return json.loads(run([sys.executable, __file__, kind, what], project, env).output)

    seen = [
        pair(number, lambda: measured("app", project), lambda: measured("widget", file)) for number in range(rounds)
    ]
    widgets = statistics.median(theirs["widgets"] for _, theirs in seen)
    note = (
        f"from the key to the frame that shows it, the rest of the cursor included; there it is {widgets:.0f} widgets"
    )
    found: list[Figure] = []
    for key, told in (("first", "the first time"), ("again", "again")):
        ours, theirs = [one[key] for one, _ in seen], [other["first"] for _, other in seen]
        name = f"Markdown of {LINES} lines in the detail, {told}"
        found.append(Figure(name, "Textual's Markdown widget", REACH, AIM, ours, theirs, "ms", note))
        note = ""
    return found


def _record(project: Path, home: Path) -> None:
    """A session with a prompt, the reply, and a short one."""
    sys.path.insert(0, str(ROOT))
    from tests.builders.claude import ClaudeSession

    project.mkdir()
    session = ClaudeSession(home, project, history=False)
    session.prompt(PROMPT)
    session.reply(text())
    session.reply("Done.")
    session.end_turn()


# The two programs


async def _app(folder: Path) -> dict[str, float]:
    from forkpoint.store.api import Store
    from forkpoint.tui.app import ForkpointApp
    from forkpoint.tui.screens.main import MainScreen
    from frames import Frames

    app = ForkpointApp(Store.open(folder))
    async with app.run_test(size=SIZE) as pilot:
        while not isinstance(app.screen, MainScreen) or app.screen.timeline.line_count < 2:
            await pilot.pause(0.05)
        screen, frames = app.screen, Frames(app)
        for key in ("L", "G"):
            await frames.press(key)
        await asyncio.sleep(0.5)
        pane = screen.reading

        def shown() -> bool:
            top = [pane.plain(at) for at in range(min(8, pane.line_count))]
            return pane.line_count > LINES // 2 and "Part 1" in top and not any(PROMPT in line for line in top)

        spent: list[float] = []
        for _ in range(AGAIN + 1):
            spent.append(await frames.press("k", shown))
            await frames.press("j", lambda: pane.line_count < LINES // 2)
            await asyncio.sleep(0.2)
        return {"first": spent[0], "again": statistics.median(spent[1:])}


async def _widget(file: Path) -> dict[str, float]:
    from frames import Frames
    from textual.app import App, ComposeResult
    from textual.containers import VerticalScroll
    from textual.widgets import Markdown

    class Page(App[None]):
        def compose(self) -> ComposeResult:
            with VerticalScroll():
                yield Markdown()

    app = Page()
    async with app.run_test(size=SIZE) as pilot:
        frames = Frames(app)
        await pilot.pause(0.5)
        start = perf_counter()
        await app.query_one(Markdown).update(file.read_text("utf-8"))
        await frames.until(lambda: True)
        return {"first": (perf_counter() - start) * 1000, "widgets": len(app.screen.query("*"))}


if __name__ == "__main__":
    kind, what = sys.argv[1], Path(sys.argv[2])
    print(json.dumps(asyncio.run(_app(what) if kind == "app" else _widget(what))))
