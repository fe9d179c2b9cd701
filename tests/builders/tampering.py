"""Changing a store as nobody should: objects, refs, the ledger and the catalog."""

from __future__ import annotations

import os
import re
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path

from forkpoint.store import roots
from forkpoint.store.home import data_folder
from forkpoint.store.roots import Place


def place_of(project: Path) -> Place:
    found = roots.find(os.path.realpath(project), data_folder())
    assert found is not None
    return found


def git(place: Place, *arguments: str, data: bytes = b"", index: Path | None = None) -> str:
    """Runs git on the object store."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    if index is not None:
        env["GIT_INDEX_FILE"] = str(index)
    command = ["git", f"--git-dir={place.git_dir}", *arguments]
    return subprocess.run(command, input=data, capture_output=True, check=True, env=env).stdout.decode().strip()


def ref_of(point: str) -> str:
    return f"refs/points/{point[:2]}/{point}"


def commit_of(place: Place, ref: str) -> str:
    return git(place, "rev-parse", ref)


def altered(place: Place, commit: str, path: str, change: Callable[[bytes], bytes], *parents: str) -> str:
    """A commit like another one, but for one file in its tree; gives its id."""
    index = place.workspace / "tampering-index"
    git(place, "read-tree", commit, index=index)
    old = subprocess.run(
        ["git", f"--git-dir={place.git_dir}", "cat-file", "blob", f"{commit}:{path}"], capture_output=True, check=True
    ).stdout
    blob = git(place, "hash-object", "-w", "--stdin", data=change(old))
    git(place, "update-index", "--add", "--cacheinfo", f"100644,{blob},{path}", index=index)
    tree = git(place, "write-tree", index=index)
    index.unlink()
    return again(place, tree, *parents)


def again(place: Place, tree: str, *parents: str) -> str:
    """A commit of a tree with other parents."""
    return git(
        place,
        "-c",
        "user.name=forkpoint",
        "-c",
        "user.email=forkpoint@localhost",
        "commit-tree",
        "-m",
        "",
        *(part for parent in parents for part in ("-p", parent)),
        tree,
    )


def flip(file: Path, at: int) -> None:
    """Flips the bits of one byte."""
    data = bytearray(file.read_bytes())
    data[at] ^= 0xFF
    file.chmod(0o600)
    file.write_bytes(data)


def flip_object(place: Place, oid: str) -> None:
    """Flips a byte in the middle of an object, packed or loose."""
    loose = place.git_dir / "objects" / oid[:2] / oid[2:]
    if loose.exists():
        flip(loose, loose.stat().st_size // 2)
        return
    for index in (place.git_dir / "objects" / "pack").glob("*.idx"):
        found = re.search(rf"^{oid} \w+ +\d+ (\d+) (\d+)", git(place, "verify-pack", "-v", str(index)), re.MULTILINE)
        if found:
            flip(index.with_suffix(".pack"), int(found[2]) + int(found[1]) // 2)
            return
    raise AssertionError(f"{oid} is nowhere")


def loosen(place: Place) -> None:
    """Makes every object a file of its own."""
    for pack in sorted((place.git_dir / "objects" / "pack").glob("*.pack")):
        data = pack.read_bytes()
        for file in pack.parent.glob(f"{pack.stem}.*"):
            file.unlink()
        git(place, "unpack-objects", "-q", data=data)


def forged_loose(place: Place, oid: str, data: bytes) -> None:
    """Puts a well-formed blob with other bytes under an id."""
    file = place.git_dir / "objects" / oid[:2] / oid[2:]
    file.parent.mkdir(exist_ok=True)
    if file.exists():
        file.chmod(0o600)
    file.write_bytes(zlib.compress(b"blob %d\0" % len(data) + data))
