"""The text of our extension for Pi: it tells forkpoint what Pi does, and Pi nothing.

Rule 17 in a place where an error blocks a tool call: every handler catches everything and answers nothing. It waits
for forkpoint, which answers within its own budget of five seconds; one that hangs is not waited for again until it
has answered in time. What forkpoint says to the person goes to Pi's screen, where there is one, and never to the model.
"""

from __future__ import annotations

import json

PATIENCE = 6000
"""Milliseconds that Pi waits: forkpoint's own budget, and a second to start."""
HURRY = 100
"""Milliseconds while an earlier call has not come back."""
FORGOTTEN = 60_000
"""Milliseconds after which a forkpoint that hangs is ended."""
LONGEST = 2000
"""Characters of a tool's argument that are passed on; a path or a command is what matters of it."""

_BODY = """\
import { spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";

const PROGRAM = %(program)s;
const READ_ONLY = %(read_only)s;
const PATIENCE = %(patience)d, HURRY = %(hurry)d, FORGOTTEN = %(forgotten)d, LONGEST = %(longest)d;
let waiting = 0; // calls that did not come back in time

export default function forkpoint(pi) {
  // Pi may load this file twice, from the person's folder and from the project's: the first one speaks.
  const owner = Symbol.for("forkpoint.extension");
  globalThis[owner] ??= import.meta.url;
  if (globalThis[owner] !== import.meta.url) return;
  const on = (event, handler) =>
    pi.on(event, async (told, ctx) => {
      try {
        await handler(told ?? {}, ctx);
      } catch {
        // whatever it was, it is not Pi's concern
      }
    });

  on("session_start", (event, ctx) => tell("session_start", { reason: event.reason, entry: here(ctx) }, ctx));
  on("message_start", (event, ctx) => {
    const message = event.message;
    if (message?.role !== "user") return;
    return tell("prompt", { prompt: String(Math.trunc(message.timestamp)), text: textOf(message.content) }, ctx);
  });
  on("tool_call", (event, ctx) => call("tool_call", event, ctx));
  on("tool_result", (event, ctx) => call("tool_result", event, ctx));
  on("agent_end", (_, ctx) => tell("agent_end", { entry: here(ctx) }, ctx));
  on("session_tree", (_, ctx) => tell("session_tree", { entry: here(ctx) }, ctx));
  on("session_shutdown", (event, ctx) => tell("session_shutdown", { reason: event.reason, entry: here(ctx) }, ctx));
}

function call(name, event, ctx) {
  // What a tool calls itself is a part of its own call.
  if (event.parentToolCallId || READ_ONLY.includes(event.toolName)) return;
  return tell(name, { call: event.toolCallId, tool: event.toolName, input: shortened(event.input) }, ctx);
}

async function tell(event, more, ctx) {
  const session = ctx.sessionManager;
  const said = await run(
    JSON.stringify({
      event,
      session: session.getSessionId(),
      file: session.getSessionFile(),
      cwd: ctx.cwd,
      pid: process.pid,
      ...more,
    }),
  );
  if (said.startsWith('{"systemMessage":') && ctx.hasUI) ctx.ui.notify(JSON.parse(said).systemMessage, "warning");
}

function run(payload) {
  return new Promise((resolve) => {
    accessSync(PROGRAM, constants.X_OK);
    // A session of its own: keys that interrupt Pi do not reach it.
    const child = spawn(PROGRAM, ["hook", "pi"], { stdio: ["pipe", "pipe", "ignore"], detached: true });
    let said = "", late = false;
    const patience = setTimeout(() => {
      late = true;
      waiting += 1;
      child.unref();
      child.stdout.destroy();
      resolve("");
    }, waiting ? HURRY : PATIENCE);
    const end = setTimeout(() => child.kill("SIGKILL"), FORGOTTEN);
    end.unref();
    const done = () => {
      clearTimeout(patience);
      clearTimeout(end);
      if (late) waiting = Math.max(0, waiting - 1);
      late = false;
      resolve(said);
    };
    child.on("error", done);
    child.on("close", done);
    child.stdout.on("error", () => {});
    child.stdout.on("data", (piece) => {
      if (said.length < 4096) said += piece;
    });
    child.stdin.on("error", () => {});
    child.stdin.end(payload);
  });
}

// The newest message at which the conversation stands.
function here(ctx) {
  const branch = ctx.sessionManager.getBranch();
  return branch.findLast((entry) => entry.type === "message" && entry.message.role !== "system")?.id;
}

function textOf(content) {
  if (typeof content === "string") return content.slice(0, LONGEST);
  const texts = (content ?? []).filter((part) => part.type === "text").map((part) => part.text);
  return texts.join("\\n").slice(0, LONGEST);
}

function shortened(input) {
  const entries = Object.entries(input ?? {}).filter(([, value]) => typeof value === "string");
  return Object.fromEntries(entries.map(([name, value]) => [name, value.slice(0, LONGEST)]));
}
"""


def body(executable: str) -> str:
    """The extension that calls this program."""
    from .paths import READ_ONLY

    return _BODY % {
        "program": json.dumps(executable),
        "patience": PATIENCE,
        "hurry": HURRY,
        "forgotten": FORGOTTEN,
        "longest": LONGEST,
        "read_only": json.dumps(sorted(READ_ONLY)),
    }
