"""Whatever the parent links of a file say, every record is shown once and the tree is sound."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

from forkpoint.store import agents
from forkpoint.store.agents.base import Source
from forkpoint.store.model import Conversation, SessionInfo
from hypothesis import example, given
from hypothesis import strategies as st

claude = agents.get("claude")
NAME = "/projects/p/5f0c7f0a-0000-4000-8000-000000000001.jsonl"

KINDS = ("prompt", "reply", "call", "result", "notice", "hidden", "boundary", "side", "unknown", "junk")
RECORDS = st.lists(
    st.tuples(st.sampled_from(KINDS), st.integers(-2, 14), st.integers(0, 3), st.integers(0, 2)),
    min_size=1,
    max_size=14,
)


def record(number: int, kind: str, parent: int, group: int, second: int) -> bytes:
    """A record whose parent is any other one, itself, a missing one (-1) or none (-2)."""
    if kind == "junk":
        return b"junk"
    plain: dict[str, Any] = {
        "uuid": f"r{number}",
        "parentUuid": None if parent == -2 else f"r{parent}",
        "timestamp": f"2026-11-30T10:00:0{second}.000Z",
        "type": "user" if kind in ("prompt", "result", "side") else "assistant",
    }
    if kind == "prompt":
        plain["message"] = {"content": f"text {number}"}
    elif kind == "side":
        plain.update(isSidechain=True, agentId=f"a{group}", message={"content": f"text {number}"})
    elif kind == "reply":
        plain["message"] = {"id": f"m{group}", "content": [{"type": "text", "text": f"text {number}"}]}
    elif kind == "call":
        part = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": str(number)}}
        plain["message"] = {"id": f"m{group}", "content": [part]}
    elif kind == "result":
        part = {"type": "tool_result", "tool_use_id": f"t{parent}", "content": f"text {number}"}
        plain["message"] = {"content": [part]}
    elif kind == "boundary":
        plain.update(type="system", subtype="compact_boundary", compactMetadata={"preTokens": number})
        plain.update(logicalParentUuid=plain["parentUuid"], parentUuid=None)
    else:
        plain["type"] = {"notice": "system", "hidden": "progress", "unknown": "brand-new"}[kind]
        plain.update(subtype="informational", content=f"text {number}")
    return json.dumps(plain).encode()


def read(lines: list[bytes]) -> Conversation:
    data = b"\n".join(lines) + b"\n"
    info = SessionInfo("s", "claude", "", 0, len(data), (NAME,), ("s",))
    return claude.read(info, [Source(NAME, lambda: BytesIO(data))])


@given(RECORDS)
@example([("prompt", 0, 0, 0), ("result", 3, 0, 0), ("result", -2, 0, 0), ("result", -2, 0, 0)])
def test_every_record_is_shown_once_in_a_sound_tree(graph: list[tuple[str, int, int, int]]) -> None:
    conversation = read([record(number, *links) for number, links in enumerate(graph)])
    seen: set[str] = set()
    for entry in conversation.entries:
        assert entry.id not in seen
        assert entry.parent is None or entry.parent in seen
        seen.add(entry.id)
    shown = {f"r{number}" for number, (kind, *_) in enumerate(graph) if kind not in ("hidden", "junk")}
    assert {uid for uid in seen if uid.startswith("r")} == shown
    assert len(seen - shown) == sum(kind == "junk" for kind, *_ in graph)
    assert conversation.leaf is None or conversation.leaf in seen
    assert set(conversation.leaves.values()) <= seen


@given(RECORDS)
def test_a_fork_at_any_record_is_one_line_of_records_that_were_there(graph: list[tuple[str, int, int, int]]) -> None:
    lines = [record(number, *links) for number, links in enumerate(graph)]
    conversation = read(lines)
    source = Source(NAME, lambda: BytesIO(b"\n".join(lines) + b"\n"))
    for entry in conversation.entries:
        if entry.under or "@" in entry.id:
            continue
        fork = claude.plan_fork(conversation, entry.id, title="t", before=False, sources=[source])
        before = None
        for line in map(json.loads, fork.data.splitlines()):
            if "uuid" in line:
                assert line["uuid"] in {f"r{number}" for number in range(len(lines))}
                assert line["parentUuid"] == (None if line.get("subtype") == "compact_boundary" else before)
                before = line["uuid"] if line["type"] != "progress" else before


@given(st.binary(max_size=300), st.integers(0, 3))
def test_no_bytes_at_all_can_stop_the_reading(junk: bytes, place: int) -> None:
    lines = [record(0, "prompt", -2, 0, 0), record(1, "reply", 0, 0, 1), record(2, "prompt", 1, 0, 2)]
    conversation = read([*lines[:place], junk, *lines[place:]])
    assert {"text 0", "text 1", "text 2"} <= {entry.text for entry in conversation.entries}
