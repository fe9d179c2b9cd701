"""Whether a shell's command leaves something running when it ends: that may write at any time. Light: hooks ask it."""

from __future__ import annotations

APART = ("at", "batch", "daemonize", "disown", "pm2", "screen", "setsid", "start-stop-daemon", "systemd-run", "tmux")
"""Programs and words of the shell that are made for it."""


def detaches(command: str) -> bool:
    """Whether there is an `&` that sends something to the background, or a program that does."""
    return _has_ampersand(command) or not set(APART).isdisjoint(command.replace(";", " ").split())


def _has_ampersand(command: str) -> bool:
    quote, before = "", ""
    for place, sign in enumerate(command):
        if before == "\\" and quote != "'":
            before = ""
            continue
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign == "&" and before not in ("&", ">", "<", "|") and command[place + 1 : place + 2] not in ("&", ">"):
            return True
        before = sign
    return False
