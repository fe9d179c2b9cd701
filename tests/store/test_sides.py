"""What two sides of a comparison read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from forkpoint.store import sides
from forkpoint.store.states import Node

from ..builders.folders import Link, make


def test_a_link_that_was_put_in_place_of_a_folder_is_not_read_through(tmp_path: Path) -> None:
    make(tmp_path, {"outside/file": "not ours", "outside/link": Link("there")})
    root = make(tmp_path / "root", {"folder": Link(str(tmp_path / "outside"))})
    for path, kind in ((b"folder/file", "file"), (b"folder/link", "link")):
        with pytest.raises(OSError, match=r"Not a directory|Too many levels"):
            sides.on_disk(os.fspath(root), path, Node(kind, 0o644, ""))
