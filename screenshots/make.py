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
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parent
PICTURES: dict[str, tuple[tuple[int, int], Sequence[str]]] = {
    "main": ((160, 44), ("K", "K", "l", "j", "j", "j")),
    "diff": ((132, 34), ("K", "K", "d")),
    "restore": ((112, 30), ("K", "K", "r", "b")),
}
"""Name, size in cells, and the keys that lead to it."""


async def frames() -> dict[str, str]:
    """The pictures as SVG."""
    from forkpoint.store.api import Store
    from forkpoint.tui.app import ForkpointApp
    from forkpoint.tui.demo import build

    project = build(Path(os.environ["FORKPOINT_HOME"]).parent, time.time_ns())
    made: dict[str, str] = {}
    for name, (size, keys) in PICTURES.items():
        app = ForkpointApp(Store.open(project))
        async with app.run_test(size=size) as pilot:
            for key in ("", *keys):
                if key:
                    await pilot.press(key)
                await pilot.pause(0.6)  # the workers read meanwhile; a picture may take its time
            made[name] = app.export_screenshot(title=f"forkpoint — {project.name}", simplify=True)
    return made


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
    return True


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="forkpoint-screenshots-") as folder:
        for name in [name for name in os.environ if name.startswith(("CLAUDE", "FORKPOINT_", "NO_COLOR", "TEXTUAL"))]:
            del os.environ[name]
        os.environ["FORKPOINT_HOME"] = f"{folder}/forkpoint"
        os.environ["CLAUDE_CONFIG_DIR"] = f"{folder}/claude"
        os.environ["HOME"] = folder
        made = asyncio.run(frames())
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
