"""README shows the pictures that screenshots/make.py makes: each of them once, and no other."""

from __future__ import annotations

import re
from pathlib import Path

TOP = Path(__file__).parent.parent


def test_readme_shows_each_picture_that_is_made_and_no_other() -> None:
    readme = (TOP / "README.md").read_text("utf-8")
    made = re.findall(r'^    "([\w-]+)": Picture\(', (TOP / "screenshots/make.py").read_text("utf-8"), re.MULTILINE)
    there = {file.stem for file in (TOP / "screenshots").iterdir() if file.suffix == ".png"}
    assert sorted(re.findall(r"\]\(screenshots/([\w-]+)\.png\)", readme)) == sorted(made)
    assert (there, len(made)) == (set(made), 8)


def test_the_pictures_are_small() -> None:
    assert all(file.stat().st_size < 200_000 for file in (TOP / "screenshots").glob("*.png"))
