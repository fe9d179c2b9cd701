"""A scripted model behind the API of an agent's maker: enough of it that a real agent runs its whole tool loop.

Here is the Anthropic Messages API; another one is a module of its own with an `Api`, given to the `Stub`.

The server keeps no state: the request body alone decides the answer, so resuming, forking, rewinding and retrying need
no reset. The last user message that names a turn of the script selects it; the tool calls that were made since then
are counted, and the step comes next whose predecessors made that many. Requests without tools ask for a title or a
summary, and get a fixed answer.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import threading
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Protocol, cast

Json = dict[str, Any]


@dataclass(frozen=True)
class Tool:
    """A tool call that the model makes."""

    name: str
    input: Json


@dataclass(frozen=True)
class Step:
    """One reply: a text, then tool calls that run side by side."""

    text: str
    tools: tuple[Tool, ...] = ()
    status: int = 200
    """From 400 on: an error instead of a reply."""


Script = Mapping[str, Sequence[Step]]
"""The word in a prompt that selects a turn, and the turn's steps."""


@dataclass(frozen=True)
class Message:
    """A message of the conversation that a request carried."""

    role: str
    text: str
    calls: tuple[Tool, ...] = ()
    """The tool calls that it makes."""
    results: tuple[str, ...] = ()
    """What calls gave, as the agent tells the model."""


class Act(NamedTuple):
    """One thing of a conversation, whatever message of which API it stood in."""

    who: str
    """A role, or "call" and "result"."""
    text: str
    """What was said; of a call the name of its tool; "" of a result."""
    detail: str = ""
    """What a call is given, or what it gave."""


def acts(messages: Iterable[Message]) -> Iterator[Act]:
    """A conversation thing by thing."""
    for message in messages:
        if message.text:
            yield Act(message.role, message.text)
        for tool in message.calls:
            yield Act("call", tool.name, json.dumps(tool.input, sort_keys=True))
        for result in message.results:
            yield Act("result", "", result)


class Api(Protocol):
    """What the stub has to know of an API."""

    def is_conversation(self, path: str) -> bool:
        """Whether a path is the one that the model is asked at."""
        ...

    def messages(self, body: Json) -> list[Message]:
        """The conversation that a request carries."""
        ...

    def streams(self, path: str, body: Json) -> bool:
        """Whether the answer is asked for as a stream."""
        ...

    def reply(self, step: Step, body: Json) -> Json:
        """The answer as a whole."""
        ...

    def events(self, step: Step, body: Json) -> Iterator[str]:
        """The answer as a stream of server-sent events, each with its empty line."""
        ...


@dataclass(frozen=True)
class Request:
    """A request as the agent sent it."""

    path: str
    body: Json
    turn: str = ""
    """The turn that it was taken to belong to; "" for a request without tools."""
    messages: list[Message] = field(default_factory=list[Message])
    """The conversation that the agent loaded."""

    @property
    def raw(self) -> str:
        """Everything that went to the model."""
        return json.dumps(self.body, ensure_ascii=False)


class Stub:
    """The server, on a free port of the loopback; every request that came is kept."""

    def __init__(self, script: Script, api: Api | None = None) -> None:
        self.script = script
        self.api: Api = api or Anthropic()
        self.requests: list[Request] = []
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.stub = self
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Stub:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        """What an agent is to take for the API."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def conversations(self) -> list[Request]:
        """The requests that carried a conversation, in their order."""
        return [request for request in self.requests if request.turn]

    def answer(self, path: str, body: Json) -> Step:
        """The reply to a request, which is kept."""
        messages = self.api.messages(body)
        turn, step = self._decide(body, messages)
        self.requests.append(Request(path, body, turn, messages))
        return step

    def _decide(self, body: Json, messages: list[Message]) -> tuple[str, Step]:
        if not body.get("tools"):
            return "", Step('{"title": "A stub"}')
        for at in range(len(messages) - 1, -1, -1):
            turn = self._turn_of(messages[at]) if messages[at].role == "user" else ""
            if turn:
                made = sum(len(message.calls) for message in messages[at + 1 :])
                return turn, _step(self.script[turn], made)
        return "unscripted", Step("The script has no such turn.")

    def _turn_of(self, message: Message) -> str:
        """The turn that is named last in a message."""
        found = [(message.text.rfind(word), len(word), word) for word in self.script if word in message.text]
        return max(found)[2] if found else ""


def _step(steps: Sequence[Step], made: int) -> Step:
    before = 0
    for step in steps:
        if before >= made:
            return step
        before += len(step.tools)
    return Step("The turn is over.")


def _message(item: Json) -> Message:
    content = item.get("content")
    if isinstance(content, str):
        return Message(item["role"], content)
    blocks = [block for block in content or [] if isinstance(block, dict)]
    text = "\n".join(block.get("text", "") for block in blocks if block.get("type") == "text")
    calls = [Tool(block["name"], block["input"]) for block in blocks if block.get("type") == "tool_use"]
    results = [json.dumps(block.get("content")) for block in blocks if block.get("type") == "tool_result"]
    return Message(item["role"], text, tuple(calls), tuple(results))


# --- the wire ------------------------------------------------------------------------------------------------------


class Anthropic:
    """The Messages API."""

    def is_conversation(self, path: str) -> bool:
        return path.endswith("/messages")

    def messages(self, body: Json) -> list[Message]:
        return [_message(item) for item in body.get("messages", [])]

    def streams(self, path: str, body: Json) -> bool:
        return bool(body.get("stream"))

    def reply(self, step: Step, body: Json) -> Json:
        return _Reply(step, body).message

    def events(self, step: Step, body: Json) -> Iterator[str]:
        for event in _Reply(step, body).events():
            yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"


@dataclass
class _Reply:
    step: Step
    body: Json
    id: str = field(default_factory=lambda: f"msg_{uuid.uuid4().hex[:24]}")

    @property
    def message(self) -> Json:
        content: list[Json] = [{"type": "text", "text": self.step.text}]
        for tool in self.step.tools:
            call = f"toolu_{uuid.uuid4().hex[:24]}"
            content.append({"type": "tool_use", "id": call, "name": tool.name, "input": tool.input})
        return {
            "id": self.id,
            "type": "message",
            "role": "assistant",
            "model": self.body.get("model", "stub"),
            "content": content,
            "stop_reason": "tool_use" if self.step.tools else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": tokens(self.body), "output_tokens": 20},
        }

    def events(self) -> Iterator[Json]:
        """The message as a stream of server-sent events."""
        message = self.message
        yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
        for index, block in enumerate(message["content"]):
            empty = {**block, "text": ""} if block["type"] == "text" else {**block, "input": {}}
            yield {"type": "content_block_start", "index": index, "content_block": empty}
            if block["type"] == "text":
                delta = {"type": "text_delta", "text": block["text"]}
            else:
                delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
        end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        yield {"type": "message_delta", "delta": end, "usage": {"output_tokens": 20}}
        yield {"type": "message_stop"}


def tokens(body: Json) -> int:
    """About how many tokens a request has."""
    return max(1, len(json.dumps(body)) // 4)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    stub: Stub


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class's name)
        pass

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        self._json({"data": [], "has_more": False} if self.path.startswith("/v1/models") else {"ok": True})

    def do_POST(self) -> None:
        # The agent may go away: it was killed, or the person interrupted it.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._post()

    def _post(self) -> None:
        body = self._body()
        path = self.path.partition("?")[0]
        if path.endswith("/count_tokens"):
            return self._json({"input_tokens": tokens(body)})
        stub = cast(_Server, self.server).stub
        if not stub.api.is_conversation(path):
            return self._json({"type": "error", "error": {"type": "not_found_error", "message": path}}, 404)
        step = stub.answer(path, body)
        if step.status >= 400:
            return self._json({"type": "error", "error": {"type": "api_error", "message": "as scripted"}}, step.status)
        if stub.api.streams(path, body):
            return self._stream(stub.api.events(step, body))
        return self._json(stub.api.reply(step, body))

    def _body(self) -> Json:
        if (self.headers.get("transfer-encoding") or "").lower() == "chunked":
            data = b"".join(self._chunks())
        else:
            data = self.rfile.read(int(self.headers.get("content-length") or 0))
        if (self.headers.get("content-encoding") or "").lower() == "gzip":
            data = gzip.decompress(data)
        return json.loads(data or b"{}")

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def _json(self, content: Json, status: int = 200) -> None:
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, events: Iterator[str]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for event in events:
            data = event.encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")
