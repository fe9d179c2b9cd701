"""The text of our extension for Pi: it tells forkpoint what Pi does, and Pi nothing.

Rule 17 in a place where an error blocks a tool call: every handler catches everything and answers nothing. It waits
for forkpoint, which answers within its own budget of five seconds; one that hangs is not waited for again until it
has answered in time. What forkpoint says to the person goes to Pi's screen, where there is one, and never to the model.
"""

from __future__ import annotations

import json

from ..forms.javascript import FORGOTTEN, HURRY, LONGEST, PATIENCE, RUN

_BODY = """\
import { spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";

const PROGRAM = %(program)s;
const READ_ONLY = %(read_only)s;
const PATIENCE = %(patience)d, HURRY = %(hurry)d, FORGOTTEN = %(forgotten)d, LONGEST = %(longest)d;
const OWN = "FORKPOINT_PI"; // tells a Pi that this one starts for a tool to whom it belongs
const outer = startedBy();
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

  on("session_start", (event, ctx) => {
    if (!inside(ctx)) process.env[OWN] = JSON.stringify({ ...whose(ctx), cwd: ctx.cwd });
    return tell("session_start", { reason: event.reason, entry: here(ctx) }, ctx);
  });
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
  const above = inside(ctx);
  if (above && !["tool_call", "tool_result", "agent_end"].includes(event)) return;
  const told = above
    ? { ...above, ...more, folder: above.cwd, subagent: ctx.sessionManager.getSessionId(), entry: undefined }
    : { ...whose(ctx), ...more, folder: ctx.cwd };
  const said = await run(JSON.stringify({ event, ...told, cwd: ctx.cwd }));
  if (said.startsWith('{"systemMessage":') && ctx.hasUI) ctx.ui.notify(JSON.parse(said).systemMessage, "warning");
}

function whose(ctx) {
  const session = ctx.sessionManager;
  return { session: session.getSessionId(), file: session.getSessionFile(), pid: process.pid };
}

// The session whose tool started this Pi, when this one keeps none of its own: a sub-agent.
function inside(ctx) {
  if (!outer || ctx.sessionManager.getSessionFile()) return null;
  return `${ctx.cwd}/`.startsWith(`${outer.cwd}/`) ? outer : null;
}

function startedBy() {
  try {
    const told = JSON.parse(process.env[OWN] ?? "null");
    return told && told.pid !== process.pid ? told : null;
  } catch {
    return null;
  }
}

%(run)s
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
        "run": RUN % {"agent": "pi", "title": "Pi"},
        "patience": PATIENCE,
        "hurry": HURRY,
        "forgotten": FORGOTTEN,
        "longest": LONGEST,
        "read_only": json.dumps(sorted(READ_ONLY)),
    }
