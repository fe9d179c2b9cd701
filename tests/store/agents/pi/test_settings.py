"""Our extension in Pi's folders: a whole file of ours, and why Pi may not load it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from forkpoint.store.agents.pi import settings
from forkpoint.store.errors import ForkpointError
from forkpoint.store.rewrite import Change


def put(shop: Path, *, everywhere: bool = True, executable: str = "/bin/sh", **more: Any) -> Change:
    backups = shop.parent / "backups"
    return settings.install(everywhere=everywhere, root=shop, executable=executable, backups=backups, **more)


def taken(shop: Path, *, everywhere: bool = True) -> Change:
    return settings.uninstall(everywhere=everywhere, root=shop, backups=shop.parent / "backups")


def tell(folder: Path, name: str, **content: Any) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps(content))


def test_the_whole_file_is_shown_before_it_is_written(home: Path, shop: Path) -> None:
    shown = put(shop, dry_run=True)
    file = home / "extensions" / "forkpoint.js"
    assert shown.file == str(file)
    assert not file.exists()
    assert put(shop).changes
    assert [line[1:] for line in shown.lines[2:]] == file.read_text().splitlines()
    assert settings.hooks_problem(shop) == ""
    assert not put(shop).changes


def test_uninstalling_leaves_nothing(home: Path, shop: Path) -> None:
    put(shop)
    put(shop, everywhere=False)
    assert taken(shop).changes
    assert taken(shop, everywhere=False).changes
    assert not (home / "extensions").exists()
    assert not (shop / ".pi").exists()
    assert not taken(shop).changes
    assert settings.hooks_problem(shop) == "not installed"


def test_what_a_person_keeps_there_stays(home: Path, shop: Path) -> None:
    (home / "extensions").mkdir(parents=True)
    (home / "extensions" / "mine.ts").write_text("export default () => {};\n")
    put(shop)
    taken(shop)
    assert [file.name for file in (home / "extensions").iterdir()] == ["mine.ts"]


def test_a_program_with_an_odd_name_is_one_string_of_the_program(home: Path, shop: Path) -> None:
    put(shop, executable='/odd "folder"/\\back/${x}/é/forkpoint')
    text = (home / "extensions" / "forkpoint.js").read_text()
    assert 'const PROGRAM = "/odd \\"folder\\"/\\\\back/${x}/\\u00e9/forkpoint";' in text
    with pytest.raises(ForkpointError):
        put(shop, executable="not/absolute")


def test_one_that_is_switched_off_does_not_tell(home: Path, shop: Path) -> None:
    put(shop)
    for rule in ("-extensions/forkpoint.js", "!extensions/*.js", "!forkpoint.js", f"-{home}/extensions/forkpoint.js"):
        tell(home, "settings.json", extensions=[rule])
        assert settings.hooks_problem(shop) == f"switched off (extensions in {home}/settings.json)"
    for rules in ([], ["-extensions/other.js"], ["!**/*.js", "+extensions/forkpoint.js"], [7], "odd"):
        tell(home, "settings.json", extensions=rules)
        assert settings.hooks_problem(shop) == ""


def test_the_project_s_own_waits_for_trust(home: Path, shop: Path) -> None:
    put(shop, everywhere=False)
    assert "trust" in settings.hooks_problem(shop)
    tell(home, "trust.json", **{str(shop.parent): True})
    assert settings.hooks_problem(shop) == ""
    tell(home, "trust.json", **{str(shop.parent): True, str(shop): False})
    assert "trust" in settings.hooks_problem(shop)
    tell(home, "trust.json")
    tell(home, "settings.json", defaultProjectTrust="always")
    assert settings.hooks_problem(shop) == ""
    (home / "trust.json").write_text("broken")
    assert settings.hooks_problem(shop) == ""


def test_one_good_file_is_enough(home: Path, shop: Path) -> None:
    put(shop, executable="/nowhere/forkpoint")
    assert "gone" in settings.hooks_problem(shop)
    put(shop, everywhere=False)
    tell(home, "trust.json", **{os.path.realpath(shop): True})
    assert settings.hooks_problem(shop) == ""
