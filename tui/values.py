"""How times and paths stand in documents. Light: `save` is answered with it before anything else is imported."""

from __future__ import annotations

import time


def iso(moment: int) -> str:
    """Nanoseconds since the epoch as ISO 8601 in UTC, with microseconds."""
    seconds, rest = divmod(moment, 1_000_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest // 1000:06d}Z"


def path_keys(path: bytes, name: str = "path") -> dict[str, str]:
    """`path`, and beside it `path_b64` when the path is no UTF-8."""
    try:
        return {name: path.decode("utf-8")}
    except UnicodeDecodeError:
        from base64 import b64encode

        return {name: path.decode("utf-8", "replace"), f"{name}_b64": b64encode(path).decode("ascii")}
