"""The text of our plugin for OpenCode: it tells forkpoint what OpenCode does, and OpenCode nothing.

Rule 17 in a place where an error blocks a tool call: every hook catches everything and changes nothing. It waits for
forkpoint, which answers within its own budget of five seconds; one that hangs is not waited for again until it has
answered in time. What forkpoint says to the person goes to OpenCode's screen, where there is one, and never to the
model.
"""

from __future__ import annotations

import json

from ..forms.javascript import FORGOTTEN, HURRY, LONGEST, PATIENCE, RUN
from .events import READ_ONLY

ASKING = 500
"""Milliseconds that OpenCode is given to tell whose sub-agent a session is."""
PATCH = 100_000
"""Characters of a patch, whose paths stand all over it."""

_BODY = """\
import { spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";

const PROGRAM = %(program)s;
const PATIENCE = %(patience)d, HURRY = %(hurry)d, FORGOTTEN = %(forgotten)d, ASKING = %(asking)d;
const LONGEST = %(longest)d, PATCH = %(patch)d;
const READ_ONLY = new Set(%(read_only)s);
let waiting = 0; // calls that did not come back in time

export const Forkpoint = async ({ client, directory }) => {
  // OpenCode may load this file twice, from the person's folder and from the project's: the first one speaks.
  const owner = Symbol.for("forkpoint.plugin");
  globalThis[owner] ??= import.meta.url;
  if (globalThis[owner] !== import.meta.url) return {};
  const parents = new Map(); // session -> the session that started it, "" for one of the person's
  const prompts = new Map(); // session -> the newest prompt in it
  const guarded = (handler) => async (...told) => {
    try {
      await handler(...told);
    } catch {
      // whatever it was, it is not OpenCode's concern
    }
  };

  // A sub-agent works in a session of its own: what it does is told as the work of the first one.
  async function whose(session) {
    let top = session;
    for (let deep = 0; deep < 20; deep += 1) {
      const above = parents.has(top) ? parents.get(top) : await parentOf(top);
      if (!above) break;
      top = above;
    }
    return { session: top, child: top === session ? "" : session };
  }

  async function parentOf(session) {
    let timer;
    const late = new Promise((resolve) => (timer = setTimeout(resolve, ASKING)));
    const found = await Promise.race([client.session.get({ path: { id: session } }).catch(() => undefined), late]);
    clearTimeout(timer);
    if (found?.data) parents.set(session, found.data.parentID ?? "");
    return found?.data?.parentID ?? "";
  }

  async function tell(event, session, more) {
    const place = await whose(session);
    if (more.prompt && !place.child) prompts.set(place.session, more.prompt);
    const prompt = prompts.get(place.session) ?? "";
    const said = await run(JSON.stringify({ event, directory, pid: process.pid, ...place, ...more, prompt }));
    if (!said.startsWith('{"systemMessage":')) return;
    const body = { message: JSON.parse(said).systemMessage, variant: "warning" };
    client.tui.showToast({ body }).catch(() => {});
  }

  return {
    "chat.message": guarded(async (input, output) => {
      const texts = output.parts.filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text);
      const text = texts.join("\\n").slice(0, LONGEST);
      await tell("chat.message", input.sessionID, { prompt: output.message.id, text });
    }),
    "tool.execute.before": guarded((input, output) => called("tool.execute.before", input, output.args)),
    "tool.execute.after": guarded((input) => called("tool.execute.after", input, input.args)),
    event: guarded(async ({ event }) => {
      const told = event.properties ?? {};
      if (event.type === "session.created" || event.type === "session.updated")
        parents.set(told.info.id, told.info.parentID ?? "");
      const session = told.sessionID ?? told.info?.id;
      if (event.type === "session.idle" || event.type === "session.deleted") await tell(event.type, session, {});
      if (event.type === "session.created" && !told.info.parentID) await tell(event.type, session, {});
    }),
  };

  async function called(event, input, given) {
    if (READ_ONLY.has(input.tool)) return;
    const more = { call: input.callID, tool: input.tool, input: shortened(given) };
    await tell(event, input.sessionID, more);
  }
};

function shortened(given) {
  const texts = Object.entries(given ?? {}).filter(([, value]) => typeof value === "string");
  return Object.fromEntries(texts.map(([name, text]) => [name, text.slice(0, name === "patchText" ? PATCH : LONGEST)]));
}

%(run)s"""


def body(executable: str) -> str:
    """The plugin that calls this program."""
    return _BODY % {
        "program": json.dumps(executable),
        "run": RUN % {"agent": "opencode", "title": "OpenCode"},
        "patience": PATIENCE,
        "hurry": HURRY,
        "forgotten": FORGOTTEN,
        "asking": ASKING,
        "longest": LONGEST,
        "patch": PATCH,
        "read_only": json.dumps(sorted(READ_ONLY)),
    }
