"""The Gemini API of Google: generateContent, whole and as a stream."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator

from .stub_llm import Json, Message, Step, Tool, tokens

_ROLES = {"model": "assistant"}


class GenerateContent:
    """An Api: contents with parts, and a stream of growing candidates."""

    def is_conversation(self, path: str) -> bool:
        return path.endswith((":generateContent", ":streamGenerateContent"))

    def messages(self, body: Json) -> list[Message]:
        return [_message(item) for item in body.get("contents", [])]

    def streams(self, path: str, body: Json) -> bool:
        return path.endswith(":streamGenerateContent")

    def reply(self, step: Step, body: Json) -> Json:
        return _response(body, _parts(step), "STOP")

    def events(self, step: Step, body: Json) -> Iterator[str]:
        parts = _parts(step)
        for part in parts[:-1]:
            yield _event(_response(body, [part]))
        yield _event(_response(body, parts[-1:], "STOP"))


def _message(item: Json) -> Message:
    parts = [part for part in item.get("parts") or [] if isinstance(part, dict)]
    text = "\n".join(part["text"] for part in parts if "text" in part and not part.get("thought"))
    role: str = item.get("role") or "user"
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    made = tuple(Tool(call["name"], call.get("args") or {}) for call in calls)
    # Gemini CLI itself tells each result twice, with the same id, in a session that it resumes.
    given = [part["functionResponse"] for part in parts if "functionResponse" in part]
    results = {result.get("id", at): json.dumps(result["response"]) for at, result in enumerate(given)}
    return Message(_ROLES.get(role, role), text, made, tuple(results.values()))


def _parts(step: Step) -> list[Json]:
    parts: list[Json] = [{"text": step.text}] if step.text else []
    parts += [{"functionCall": {"name": tool.name, "args": tool.input}} for tool in step.tools]
    return parts


def _response(body: Json, parts: list[Json], end: str = "") -> Json:
    candidate: Json = {"index": 0, "content": {"role": "model", "parts": parts}}
    if end:
        candidate["finishReason"] = end
    count = tokens(body)
    usage = {"promptTokenCount": count, "candidatesTokenCount": 20, "totalTokenCount": count + 20}
    return {"candidates": [candidate], "usageMetadata": usage, "responseId": uuid.uuid4().hex}


def _event(content: Json) -> str:
    return f"data: {json.dumps(content)}\n\n"
