"""Lines of JSON for forks: an agent's own with some members changed, and new ones."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

import msgspec
from msgspec import Raw

from .jsonl import parse

_members = msgspec.json.Decoder(dict[str, Raw]).decode


def encoded(value: object) -> bytes:
    """JSON on one line; what is not ASCII is escaped, half a surrogate pair included."""
    return json.dumps(value, separators=(",", ":")).encode()


def rewritten(
    data: bytes, changes: Mapping[str, Any], optional: Mapping[str, Any] | None = None, drop: Collection[str] = ()
) -> bytes:
    """A line with some members set, every other byte for byte as it was; optional ones only where they are."""
    try:
        members: Mapping[str, Any] = _members(data)
    except (msgspec.DecodeError, RecursionError):
        members = {name: _member(name, value) for name, value in parse(data).items()}
    else:
        members = {name: json.dumps(name).encode() + b":" + bytes(raw) for name, raw in members.items()}
    wanted = {**{name: value for name, value in (optional or {}).items() if name in members}, **changes}
    parts = [
        _member(name, wanted.pop(name)) if name in wanted else member
        for name, member in members.items()
        if name not in drop
    ]
    return b"{" + b",".join([*parts, *(_member(name, value) for name, value in wanted.items())]) + b"}"


def _member(name: str, value: object) -> bytes:
    return json.dumps(name).encode() + b":" + encoded(value)
