"""What may import what: the engine knows no screen, the hook stays light, nothing lands outside of the package."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCREEN = ("textual", "rich", "click")
HEAVY = (*SCREEN, "pygit2", "msgspec", "tinydb", "unidiff", "humanize", "filelock", "orjson", "asyncio")


def _modules(package: str) -> list[str]:
    folder = ROOT / package
    names = (path.relative_to(ROOT).with_suffix("").parts for path in sorted(folder.rglob("*.py")))
    return ["forkpoint." + ".".join(part for part in parts if part != "__init__") for parts in names]


def _sources() -> list[Path]:
    return [path for package in ("store", "tui", "tests") for path in sorted((ROOT / package).rglob("*.py"))]


def _run(program: str, *arguments: str, cwd: Path, payload: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, cwd=cwd, input=payload, capture_output=True, text=True, timeout=60)


def test_the_engine_imports_no_screen_code(tmp_path: Path) -> None:
    program = """
import importlib, sys
for name in sys.argv[2:]:
    importlib.import_module(name)
    found = [screen for screen in sys.argv[1].split(",") if screen in sys.modules]
    if found:
        sys.exit(f"{name} imports {found}")
"""
    done = _run(program, ",".join(SCREEN), *_modules("store"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr


LOADED = """
import os, sys
end = os._exit

def told(code=0):
    with open(FILE, "a") as file:
        print(*sorted({name.partition(".")[0] for name in sys.modules}), file=file)
    end(code or 0)

os._exit = told
sys.argv = ["forkpoint", *sys.argv[1:]]
from forkpoint.tui.cli import main
try:
    main()
except SystemExit as left:
    told(left.code)
"""
"""Runs the command; every process of it, however it ends, adds what it imported to FILE."""


def _loaded(cwd: Path, *arguments: str, payload: str = "") -> list[set[str]]:
    """What each process of a command imported."""
    file = cwd.parent / "loaded"
    done = _run(f"FILE = {str(file)!r}{LOADED}", *arguments, cwd=cwd, payload=payload)
    assert done.returncode == 0, done.stderr
    return [set(line.split()) for line in file.read_text().splitlines()]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("a\n")
    return folder


def test_a_hook_imports_nothing_heavy(project: Path) -> None:
    payload = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": "5f0c7f0a-0000-4000-8000-000000000001",
        "prompt_id": "5f0c7f0a-0000-4000-8000-000000000002",
        "prompt": "Go",
        "cwd": str(project),
        "transcript_path": f"{project}/none.jsonl",
    }
    told = _loaded(project, "hook", "claude", payload=json.dumps(payload))
    assert len(told) == 2, "one process waits, the other saves"
    for loaded in told:
        assert "fcntl" in loaded
        assert not loaded & set(HEAVY)
    assert len(list(Path(os.environ["FORKPOINT_HOME"]).rglob("*.pack"))) == 1, "it recorded"


def test_a_plain_save_imports_nothing_heavy(project: Path) -> None:
    (loaded,) = _loaded(project, "save", "-m", "green")
    assert "fcntl" in loaded
    assert not loaded & set(HEAVY)


SLOW = ("typing", "pathlib", "contextlib", "functools", "collections", "re", "json", "hashlib", "subprocess", "enum")
"""Parts of the standard library that take longer to import than a small save to make: see store/light.py."""


def test_what_saves_and_records_is_imported_without_slow_parts_of_the_standard_library(
    tmp_path: Path, project: Path
) -> None:
    program = """
import importlib, sys
for name in sys.argv[1].split(","):
    sys.modules.pop(name, None)  # the way in which the package is installed may have needed it
for name in ("forkpoint.tui.cli", "forkpoint.tui.quick", "forkpoint.tui.waiting", "forkpoint.store.recording"):
    importlib.import_module(name)
from forkpoint.store.saving import save
for number in range(2):
    print(*(name for name in sys.argv[1].split(",") if name in sys.modules))
    save(sys.argv[2])  # the first one begins a store, with git
    if not number:
        for name in sys.argv[1].split(","):
            sys.modules.pop(name, None)
print(*(name for name in sys.argv[1].split(",") if name in sys.modules))
"""
    done = _run(program, ",".join(SLOW), str(project), cwd=tmp_path)
    assert (done.stdout.strip(), done.stderr) == ("", "")


@pytest.mark.parametrize("name", ["store", "tui"])
def test_the_folders_are_no_packages_of_their_own(name: str, tmp_path: Path) -> None:
    done = _run(f"import importlib.util, sys; sys.exit(importlib.util.find_spec({name!r}) is not None)", cwd=tmp_path)
    assert done.returncode == 0


def test_every_folder_with_code_is_installed() -> None:
    with open(ROOT / "pyproject.toml", "rb") as file:
        listed = tomllib.load(file)["tool"]["setuptools"]["packages"]
    folders = {path.parent.relative_to(ROOT) for package in ("store", "tui") for path in (ROOT / package).rglob("*.py")}
    assert sorted(listed) == sorted("forkpoint." + ".".join(folder.parts) for folder in folders)


def test_every_dependency_is_imported_somewhere() -> None:
    with open(ROOT / "pyproject.toml", "rb") as file:
        required = tomllib.load(file)["project"]["dependencies"]
    imported = {"markdown-it-py": "markdown_it"}
    names = {imported.get(name, name) for name in (requirement.partition(">")[0] for requirement in required)}
    used = {name.partition(".")[0] for path in _sources() if "tests" not in path.parts for name in _imports(path)}
    assert names <= used


def test_differences_never_come_from_difflib() -> None:
    users = [str(path.relative_to(ROOT)) for path in _sources() if "difflib" in _imports(path)]
    assert users == []


def test_the_screen_side_leaves_the_store_s_files_to_the_engine() -> None:
    """Commands and screens know the facade, the model and the errors, and what words and hooks are made of."""
    allowed = {"api", "model", "errors", "text", "naming", "recording", "saving", "waiting", "light", "following"}
    allowed |= {"glance"}
    further = {"tui/installing.py": {"agents", "executable", "home", "rewrite"}, "tui/keys.py": {"home"}}
    strangers = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in sorted((ROOT / "tui").rglob("*.py"))
        for name in _store_modules(path)
        if name not in allowed | further.get(str(path.relative_to(ROOT)), set())
    }
    assert strangers == set()


def _imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
    return names


def _store_modules(path: Path) -> set[str]:
    """Modules of the engine that a file names in `from ...store.x import y` or `from ...store import x`."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.ImportFrom) and node.level and node.module:
            package, _, module = node.module.partition(".")
            if package == "store":
                names.update([module] if module else [alias.name for alias in node.names])
    return names
