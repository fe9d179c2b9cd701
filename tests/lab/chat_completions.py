"""The chat completions API of OpenAI, which many agents speak to providers of a person's own."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator

from .stub_llm import Json, Message, Step, Tool, tokens


class ChatCompletions:
    """An Api: whole answers and streams of chunks."""

    def is_conversation(self, path: str) -> bool:
        return path.endswith("/chat/completions")

    def messages(self, body: Json) -> list[Message]:
        return [_message(item) for item in body.get("messages", [])]

    def streams(self, path: str, body: Json) -> bool:
        return bool(body.get("stream"))

    def reply(self, step: Step, body: Json) -> Json:
        message: Json = {"role": "assistant", "content": step.text or None}
        if calls := _calls(step):
            message["tool_calls"] = calls
        choice = {"index": 0, "message": message, "finish_reason": _end(step)}
        return {**_about(body, "chat.completion"), "choices": [choice], "usage": _usage(body)}

    def events(self, step: Step, body: Json) -> Iterator[str]:
        about = _about(body, "chat.completion.chunk")
        calls = [{"index": index, **call} for index, call in enumerate(_calls(step))]
        deltas: list[Json] = [{"role": "assistant", "content": ""}, {"content": step.text}]
        if calls:
            deltas.append({"tool_calls": calls})
        for delta in deltas:
            yield _event({**about, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        yield _event({**about, "choices": [{"index": 0, "delta": {}, "finish_reason": _end(step)}]})
        yield _event({**about, "choices": [], "usage": _usage(body)})
        yield "data: [DONE]\n\n"


def _message(item: Json) -> Message:
    text = _text(item.get("content"))
    if item["role"] == "tool":
        return Message("tool", "", results=(text,))
    made = [call["function"] for call in item.get("tool_calls") or []]
    return Message(item["role"], text, tuple(Tool(call["name"], json.loads(call["arguments"])) for call in made))


def _event(content: Json) -> str:
    return f"data: {json.dumps(content)}\n\n"


def _about(body: Json, kind: str) -> Json:
    name = f"chatcmpl-{uuid.uuid4().hex[:24]}"
    return {"id": name, "object": kind, "created": int(time.time()), "model": body.get("model", "stub")}


def _calls(step: Step) -> list[Json]:
    return [
        {
            "id": f"call_{uuid.uuid4().hex[:24]}",
            "type": "function",
            "function": {"name": tool.name, "arguments": json.dumps(tool.input)},
        }
        for tool in step.tools
    ]


def _end(step: Step) -> str:
    return "tool_calls" if step.tools else "stop"


def _usage(body: Json) -> Json:
    count = tokens(body)
    return {"prompt_tokens": count, "completion_tokens": 20, "total_tokens": count + 20}


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    return "\n".join(block.get("text", "") for block in blocks if block.get("type") == "text")
