"""The Responses API of OpenAI, which Codex CLI speaks."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator

from .stub_llm import Json, Message, Step, Tool, tokens

FREEFORM = "(freeform)"
"""The one member of the input of a tool that takes a text as it is, not JSON."""


class Responses:
    """An Api: whole answers and streams of events."""

    def is_conversation(self, path: str) -> bool:
        return path.endswith("/responses")

    def messages(self, body: Json) -> list[Message]:
        return [_message(item) for item in body.get("input", []) if item.get("type") != "reasoning"]

    def streams(self, path: str, body: Json) -> bool:
        return bool(body.get("stream"))

    def reply(self, step: Step, body: Json) -> Json:
        return _response(body, _items(step), "completed")

    def events(self, step: Step, body: Json) -> Iterator[str]:
        items = _items(step)
        told: list[Json] = [{"type": "response.created", "response": _response(body, [], "in_progress")}]
        for index, item in enumerate(items):
            told += _parts(index, item)
            told.append({"type": "response.output_item.done", "output_index": index, "item": item})
        told.append({"type": "response.completed", "response": _response(body, items, "completed")})
        for number, event in enumerate(told):
            content = {**event, "sequence_number": number}
            yield f"event: {event['type']}\ndata: {json.dumps(content)}\n\n"


def _message(item: Json) -> Message:
    kind = item.get("type", "message")
    if kind.endswith("_call"):
        given = {FREEFORM: item["input"]} if "input" in item else json.loads(item.get("arguments") or "{}")
        return Message("assistant", "", (Tool(item.get("name", kind), given),))
    if kind.endswith("_call_output"):
        return Message("tool", "", results=(_text(item.get("output")),))
    return Message(item.get("role", kind), _text(item.get("content")))


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    return "\n".join(block["text"] for block in blocks if isinstance(block.get("text"), str))


def _items(step: Step) -> list[Json]:
    content = [{"type": "output_text", "text": step.text, "annotations": []}]
    message = {"type": "message", "id": _id("msg"), "role": "assistant", "status": "completed", "content": content}
    return [*([message] if step.text else []), *map(_call, step.tools)]


def _call(tool: Tool) -> Json:
    """A call; a dot in the tool's name stands behind its namespace."""
    space, _, name = tool.name.rpartition(".")
    about = {"call_id": _id("call"), "status": "completed", "name": name, **({"namespace": space} if space else {})}
    if FREEFORM in tool.input:
        return {"type": "custom_tool_call", "id": _id("ctc"), **about, "input": tool.input[FREEFORM]}
    return {"type": "function_call", "id": _id("fc"), **about, "arguments": json.dumps(tool.input)}


def _parts(index: int, item: Json) -> list[Json]:
    """The beginning of an item and the text of a message; calls come as a whole."""
    if item["type"] != "message":
        return [{"type": "response.output_item.added", "output_index": index, "item": item}]
    text = item["content"][0]["text"]
    place = {"output_index": index, "item_id": item["id"], "content_index": 0}
    return [
        {"type": "response.output_item.added", "output_index": index, "item": {**item, "content": []}},
        {"type": "response.output_text.delta", **place, "delta": text},
        {"type": "response.output_text.done", **place, "text": text},
    ]


def _response(body: Json, items: list[Json], status: str) -> Json:
    count = tokens(body)
    usage = {
        "input_tokens": count,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": count + 20,
    }
    return {
        "id": _id("resp"),
        "object": "response",
        "created_at": int(time.time()),
        "status": status,
        "model": body.get("model", "stub"),
        "output": items,
        "error": None,
        "usage": usage if status == "completed" else None,
    }


def _id(kind: str) -> str:
    return f"{kind}_{uuid.uuid4().hex[:24]}"
