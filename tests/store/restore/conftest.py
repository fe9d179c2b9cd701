from __future__ import annotations

import os
from pathlib import Path

import pytest
from forkpoint.store.restore import rename


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Where a test lays its folder."""
    return tmp_path / "project"


@pytest.fixture(params=["exchange", "moves", "placeholder"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What the file system offers: exchanging names, hard links, or neither."""

    def no_link(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    if request.param != "exchange":
        monkeypatch.setattr(rename, "_system_call", lambda: None)
    if request.param == "placeholder":
        monkeypatch.setattr(os, "link", no_link)
    return request.param
