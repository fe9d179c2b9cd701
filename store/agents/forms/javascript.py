"""What a plugin of ours in JavaScript has in common with the others: how it asks forkpoint, and does not wait for it.

forkpoint answers within its own budget of five seconds; one that hangs is not waited for again until it has answered in
time. What it prints comes back, for the person alone.
"""

from __future__ import annotations

PATIENCE = 6000
"""Milliseconds that an agent waits: forkpoint's own budget, and a second to start."""
HURRY = 100
"""Milliseconds while an earlier call has not come back."""
FORGOTTEN = 60_000
"""Milliseconds after which a forkpoint that hangs is ended."""
LONGEST = 2000
"""Characters of a tool's argument that are passed on; a path or a command is what matters of it."""

RUN = """\
function run(payload) {
  return new Promise((resolve) => {
    accessSync(PROGRAM, constants.X_OK);
    // A session of its own: keys that interrupt %(title)s do not reach it.
    const child = spawn(PROGRAM, ["hook", "%(agent)s"], { stdio: ["pipe", "pipe", "ignore"], detached: true });
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
"""
"""The function `run`: gives forkpoint a payload and what it said back. The module that it stands in has the imports and
constants that it uses, and a counter `waiting`."""
