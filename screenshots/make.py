"""Makes the pictures of README from the running app on the demo's session: `python screenshots/make.py`.

Each picture is the app's own frame as SVG, made a PNG by Chromium, else by rsvg-convert; without both the SVG stays.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from forkpoint.store.api import Store
    from PIL.Image import Image
    from textual.pilot import Pilot

HERE = Path(__file__).parent
REDESIGN = ("G", "K", "K")
"""To the prompt after which everything went wrong."""

Colour = tuple[int, int, int]
OUTSIDE = 255
"""The palette's place of what is outside of the window."""
ALIKE = 6
"""Colours that differ by less in each channel are one."""


class Picture(NamedTuple):
    """Size in cells, and the keys that lead to it from the tree as it opens."""

    size: tuple[int, int]
    keys: tuple[str, ...]
    acted: bool = False
    """Whether somebody has forked and gone back by then."""


PICTURES = {
    "tree": Picture((150, 40), (*REDESIGN, "l", "j", "j", "j")),
    "diff": Picture((150, 38), (*REDESIGN, "d")),
    "side-by-side": Picture((148, 34), (*REDESIGN, "d", "s")),
    "restore": Picture((110, 28), (*REDESIGN, "r", "b")),
    "fork": Picture((110, 28), (*REDESIGN, "f")),
    "search": Picture((132, 34), ("S", *"total")),
    "forks": Picture((98, 44), ("L", *REDESIGN), acted=True),
    "operations": Picture((110, 20), ("o", "j", "j", "j"), acted=True),
}


async def frames(project: Path) -> dict[str, str]:
    """The pictures as SVG."""
    from forkpoint.store.api import Store
    from forkpoint.tui.app import ForkpointApp

    made: dict[str, str] = {}
    acted = False
    for name, picture in PICTURES.items():
        if picture.acted and not acted:
            act(Store.open(project))
            acted = True
        app = ForkpointApp(Store.open(project))
        async with app.run_test(size=picture.size) as pilot:
            for key in ("", *picture.keys):
                if key:
                    await pilot.press(key)
                await _settled(pilot)
            made[name] = app.export_screenshot(title=f"forkpoint — {project.name}", simplify=True)
    return made


def act(store: Store) -> None:
    """What a person does after a bad afternoon: tries two other ways, goes back, and thinks better of it."""
    tree = store.tree()
    prompts = {point.entry: point.id for point in tree.points if point.reason == "prompt"}
    asked = [prompts[entry.id] for entry in tree.entries if entry.kind == "prompt" and entry.id in prompts]
    store.pin(asked[0])
    store.fork(store.plan_fork(asked[-1], name="calmer-colours"))
    store.fork(store.plan_fork(asked[-2]))
    store.restore(store.plan_restore(asked[-2], "files"))
    store.undo(store.plan_undo())


async def _settled(pilot: Pilot[None]) -> None:
    """Waits until nothing but the look for something new is under way."""
    await pilot.pause(0.05)
    while not all(worker.group == "poll" or worker.is_finished for worker in pilot.app.workers):
        await pilot.pause(0.02)
    await pilot.pause()


def self_contained(svg: str) -> str:
    """The SVG without fonts from the network, with its size, its blanks kept and no ligatures."""
    svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    svg = svg.replace("<style>", "<style> text { font-variant-ligatures: none; white-space: pre; } ", 1)
    svg = svg.replace("<text ", '<text xml:space="preserve" ')
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    assert box is not None
    return svg.replace("<svg ", f'<svg width="{box[1]}" height="{box[2]}" ', 1)


def to_png(svg: str, png: Path) -> bool:
    """Draws the SVG; False where no program is there that can."""
    width, height = (round(float(size)) for size in re.findall(r'^<svg width="([\d.]+)" height="([\d.]+)"', svg)[0])
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "frame.svg"
        source.write_text(svg)
        if browser := shutil.which("chromium") or shutil.which("chromium-browser"):
            options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars"]
            options += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
            options += ["--default-background-color=00000000", f"--user-data-dir={folder}/profile"]
            command = [browser, *options, f"--window-size={width},{height}", f"--screenshot={png}", str(source)]
        elif converter := shutil.which("rsvg-convert"):
            command = [converter, "--output", str(png), str(source)]
        else:
            return False
        subprocess.run(command, check=True, capture_output=True)
    _shrink(png)
    return True


def _shrink(png: Path) -> None:
    """Draws with 255 colours and a transparent one, where Pillow is there: the rest is the edges of letters."""
    with suppress(ImportError):
        from PIL import Image as pictures

        with pictures.open(png) as opened:
            image = opened.convert("RGBA")
        outside = image.getchannel("A").point([255] * 128 + [0] * 128)
        image = image.convert("RGB")
        palette = pictures.new("P", (1, 1))
        palette.putpalette([value for colour in _colours(image) for value in colour])
        small = image.quantize(palette=palette, dither=pictures.Dither.NONE)
        small.paste(OUTSIDE, mask=outside)
        small.save(png, optimize=True, transparency=OUTSIDE)


def _colours(image: Image) -> list[Colour]:
    """The colours that are used most, of those that nobody can tell apart only one."""
    counted = cast("list[tuple[int, Colour]]", image.getcolors(image.width * image.height))
    chosen: list[Colour] = []
    for _, colour in sorted(counted, reverse=True):
        if not any(max(map(abs, map(int.__sub__, colour, other))) < ALIKE for other in chosen):
            chosen.append(colour)
        if len(chosen) == OUTSIDE:
            break
    return chosen + [(0, 0, 0)] * (OUTSIDE + 1 - len(chosen))


def _make_it_afternoon() -> None:
    """Sets a time zone in which it is twenty to five, whenever the pictures are made."""
    now = time.gmtime()
    minutes = (16 * 60 + 40 - now.tm_hour * 60 - now.tm_min) % (24 * 60)
    os.environ["TZ"] = f"DEMO-{minutes // 60}:{minutes % 60:02}"
    time.tzset()


def _demo(folder: Path) -> Path:
    from forkpoint.tui.demo import build

    return build(folder, time.time_ns())


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="forkpoint-screenshots-") as folder:
        for name in [name for name in os.environ if name.startswith(("CLAUDE", "FORKPOINT_", "NO_COLOR", "TEXTUAL"))]:
            del os.environ[name]
        os.environ["FORKPOINT_HOME"] = f"{folder}/forkpoint"
        os.environ["CLAUDE_CONFIG_DIR"] = f"{folder}/claude"
        os.environ["HOME"] = folder
        _make_it_afternoon()
        made = asyncio.run(frames(_demo(Path(folder))))
    for name, frame in made.items():
        svg = self_contained(frame)
        if to_png(svg, HERE / f"{name}.png"):
            print(f"screenshots/{name}.png")
        else:
            (HERE / f"{name}.svg").write_text(svg)
            print(f"screenshots/{name}.svg (no Chromium and no rsvg-convert: not a PNG)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
