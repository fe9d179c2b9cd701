"""A file system that takes "A" for "a", played by the calls that name a file in an open folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
from forkpoint.store.restore import rename

ONE_NAME = ("open", "lstat", "unlink", "rmdir", "mkdir", "readlink")


def ignore_case(patch: pytest.MonkeyPatch) -> None:
    """From here on a name in an open folder answers to every spelling of it, and keeps the one it was made with."""
    for name in ONE_NAME:
        patch.setattr(os, name, _one(getattr(os, name)))
    patch.setattr(os, "rename", _two(os.rename))
    patch.setattr(rename, "_rename", _within(rename._rename))  # pyright: ignore[reportPrivateUsage]


def _spelled(name: Any, folder: int | None) -> Any:
    """The name as the folder spells it, when it holds one that differs only in case."""
    if folder is None or not isinstance(name, bytes):
        return name
    held = [os.fsencode(entry) for entry in os.listdir(folder)]
    return name if name in held else next((other for other in held if other.lower() == name.lower()), name)


def _one(real: Callable[..., Any]) -> Callable[..., Any]:
    def call(name: Any, *arguments: Any, dir_fd: int | None = None, **others: Any) -> Any:
        return real(_spelled(name, dir_fd), *arguments, dir_fd=dir_fd, **others)

    return call


def _two(real: Callable[..., Any]) -> Callable[..., Any]:
    def call(old: Any, new: Any, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None) -> Any:
        return real(_spelled(old, src_dir_fd), _spelled(new, dst_dir_fd), src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    return call


def _within(real: Callable[..., Any]) -> Callable[..., Any]:
    def call(folder: int, old: bytes, new: bytes, flags: int) -> Any:
        return real(folder, _spelled(old, folder), _spelled(new, folder), flags)

    return call
