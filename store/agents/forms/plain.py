"""Plain data from JSON whose shape nobody vouches for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast


def table(value: object) -> dict[str, Any]:
    """A value that should be an object; {} when it is none."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def items(value: object) -> list[object]:
    """A value that should be a list; [] when it is none."""
    return cast("list[object]", value) if isinstance(value, list) else []


def string(plain: Mapping[str, Any], name: str) -> str:
    """A member that should be a text; "" when it is none."""
    value = plain.get(name)
    return value if isinstance(value, str) else ""
