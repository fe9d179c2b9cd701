"""Whatever records hang on whatever others: each is shown once, in order, and can be forked at."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from forkpoint.store import agents
from forkpoint.store.agents.pi.listing import on_disk
from forkpoint.store.agents.pi.reader import follow
from forkpoint.store.errors import Refused
from forkpoint.store.model import SessionInfo
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders.reading import path

pi = agents.get("pi")

HEAD = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-11-30T09:00:00.000Z", "cwd": "/shop"}
IDS = [f"{number:08x}" for number in range(8)]


def message(role: str, text: str, **more: Any) -> dict[str, Any]:
    return {"type": "message", "message": {"role": role, "content": [{"type": "text", "text": text}], **more}}


def calls(*names: str) -> dict[str, Any]:
    parts = [{"type": "toolCall", "id": name, "name": "bash", "arguments": {"command": name}} for name in names]
    return {"type": "message", "message": {"role": "assistant", "content": parts}}


KINDS = st.one_of(
    st.builds(lambda n: message("user", f"prompt {n}", timestamp=n), st.integers(0, 99)),
    st.builds(lambda n: message("assistant", f"answer {n}"), st.integers(0, 99)),
    st.builds(lambda names: calls(*names), st.lists(st.sampled_from("abc"), min_size=1, max_size=3, unique=True)),
    st.builds(
        lambda name: message("toolResult", f"out {name}", toolCallId=name, toolName="bash"), st.sampled_from("abc")
    ),
    st.sampled_from(
        [
            {"type": "model_change", "provider": "p", "modelId": "m"},
            {"type": "compaction", "summary": "so far", "firstKeptEntryId": IDS[2], "tokensBefore": 5},
            {"type": "branch_summary", "fromId": IDS[1], "summary": "left"},
            {"type": "label", "targetId": IDS[0], "label": "here"},
            {"type": "telepathy", "content": "?"},
            {"type": "custom", "customType": "x", "data": 1},
        ]
    ),
)
RECORDS = st.lists(
    st.tuples(
        KINDS, st.one_of(st.sampled_from(IDS), st.none()), st.one_of(st.sampled_from([*IDS, "missing"]), st.none())
    ),
    max_size=12,
)


def written(records: Sequence[tuple[dict[str, Any], str | None, str | None]]) -> bytes:
    lines = [HEAD]
    for number, (kind, uid, parent) in enumerate(records):
        stamp = f"2026-11-30T09:00:{number:02}.000Z"
        lines.append({**kind, **({"id": uid} if uid else {}), "parentId": parent, "timestamp": stamp})
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def info_of(file: Path) -> SessionInfo:
    return SessionInfo("s", "pi", "", 0, 0, (str(file),), ("s",), cwd="/shop")


@settings(max_examples=100, deadline=None)
@given(RECORDS, st.integers(0, 12))
def test_every_record_is_shown_once_below_what_it_hangs_on(
    records: list[tuple[dict[str, Any], str | None, str | None]], cut: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "x_s.jsonl"
        file.write_bytes(written(records[:cut]))
        following, info = follow(), info_of(file)
        following.read(info, [on_disk(str(file))])
        file.write_bytes(written(records))
        found = pi.read(info, [on_disk(str(file))])
        assert following.read(info, [on_disk(str(file))]) == found
        seen: set[str] = set()
        for entry in found.entries:
            assert entry.parent is None or entry.parent in seen
            assert entry.id not in seen
            seen.add(entry.id)
        assert found.leaf is None or found.leaf in seen
        places = {(entry.span.offset) for entry in found.entries if entry.span}
        assert len(places) <= len(records)
        assert found.info.branches == len(seen - {entry.parent for entry in found.entries})


@settings(max_examples=100, deadline=None)
@given(RECORDS, st.data())
def test_a_fork_reads_as_the_line_that_it_was_cut_from(
    records: list[tuple[dict[str, Any], str | None, str | None]], data: st.DataObject
) -> None:
    # Of two records with one id Pi sees one: which of them a row was is then a matter of taste.
    unique = list({uid: (kind, uid, parent) for kind, uid, parent in records if uid}.values())
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "x_s.jsonl"
        file.write_bytes(written(unique))
        found = pi.read(info_of(file), [on_disk(str(file))])
        shown = [entry for entry in found.entries if entry.flavour not in ("unknown", "detached")]
        if not shown:
            return
        entry = data.draw(st.sampled_from(shown))
        try:
            fork = pi.plan_fork(found, entry.id, title="alt", before=False)
        except Refused:
            return
        if not fork.data:
            return
        other = Path(folder) / "y_f.jsonl"
        other.write_bytes(fork.data)
        forked = pi.read(info_of(other), [on_disk(str(other))])
        assert forked.problems == ()
        kept = [(item.kind, item.text) for item in forked.entries]
        texts = [(item.kind, item.text) for item in path(found, fork.last)]
        plain = [item for item in texts if "telepathy" not in item[1]]
        assert [item for item in kept if "telepathy" not in item[1]][: len(plain)] == plain
        assert forked.info.branches == 1
        assert fork.last in {item.id for item in found.entries}
