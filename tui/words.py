"""How the app says ages, times, counts, sizes and paths."""

from __future__ import annotations

import time

from ..store.light import TYPE_CHECKING, Sequence
from ..store.text import clean, path_text

if TYPE_CHECKING:
    from ..store.model import Covered

INTERRUPTED = "forkpoint: a restore was interrupted here and is not settled: forkpoint recover"
SECOND = 1_000_000_000
STEPS = ((31_557_600, "y"), (604_800, "w"), (86_400, "d"), (3_600, "h"), (60, "m"))
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def age(then: int, now: int) -> str:
    """How long ago, in at most four cells: "now", "5m", "3h", "2d", "6w", "2y"."""
    seconds = (now - then) // SECOND
    for length, letter in STEPS:
        if seconds >= length:
            return f"{seconds // length}{letter}"
    return "now"


def long_age(then: int, now: int) -> str:
    """How long ago, in words: "just now", "5 min ago", "3 hours ago", "yesterday"."""
    seconds = (now - then) // SECOND
    if seconds < 60:
        return "just now"
    if seconds < 3_600:
        return f"{seconds // 60} min ago"
    if seconds < 86_400:
        return f"{count(seconds // 3_600, 'hour')} ago"
    days = (_local_date(now) - _local_date(then)) if seconds < 40 * 86_400 else seconds // 86_400
    if days <= 1:
        return "yesterday"
    if days < 14:
        return f"{days} days ago"
    return f"{days // 7} weeks ago" if days < 365 else f"{count(days // 365, 'year')} ago"


def clock(then: int, now: int) -> str:
    """Local time of day, or the date where it is another day: "09:41", "6 Dec"."""
    local = time.localtime(then // SECOND)
    if _local_date(then) == _local_date(now):
        return f"{local.tm_hour:02}:{local.tm_min:02}"
    if local.tm_year == time.localtime(now // SECOND).tm_year:
        return f"{local.tm_mday} {MONTHS[local.tm_mon - 1]}"
    return f"{MONTHS[local.tm_mon - 1]} {local.tm_year % 100:02}"


def moment(then: int, now: int) -> str:
    """Local time of day, with the date in front where it is another day: "09:41", "6 Dec 09:41"."""
    local = time.localtime(then // SECOND)
    of_day = f"{local.tm_hour:02}:{local.tm_min:02}"
    return of_day if _local_date(then) == _local_date(now) else f"{clock(then, now)} {of_day}"


def full_time(then: int) -> str:
    """Local date and time to the second, with the offset from UTC."""
    local = time.localtime(then // SECOND)
    return time.strftime("%Y-%m-%d %H:%M:%S %z", local)


def day(then: int, now: int) -> str:
    """The local day as a heading: "Today", "Yesterday", "Monday, 6 December" without the year where it is this one."""
    apart = _local_date(now) - _local_date(then)
    if apart == 0:
        return "Today"
    if apart == 1:
        return "Yesterday"
    local = time.localtime(then // SECOND)
    year = "" if local.tm_year == time.localtime(now // SECOND).tm_year else f" {local.tm_year}"
    return f"{DAYS[local.tm_wday]}, {local.tm_mday} {MONTHS[local.tm_mon - 1]}{year}"


def duration(length: int) -> str:
    """Nanoseconds in words: "12 s", "31 min", "2 hours"."""
    seconds = max(0, length // SECOND)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3_600:
        return f"{seconds // 60} min"
    return count(seconds // 3_600, "hour") if seconds < 172_800 else count(seconds // 86_400, "day")


def _local_date(then: int) -> int:
    local = time.localtime(then // SECOND)
    return (then // SECOND + local.tm_gmtoff) // 86_400


def count(number: int, one: str, many: str = "") -> str:
    """A number with its noun: "1 file", "3 files", "2 branches"."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def home_relative(folder: str) -> str:
    """A folder as people write it."""
    from pathlib import Path

    home = str(Path.home())
    shown = "~" + folder[len(home) :] if folder == home or folder.startswith(home + "/") else folder
    return one_line(shown)


def size(number: int) -> str:
    """Bytes in decimal units: "48 MB"."""
    import humanize

    return humanize.naturalsize(number, format="%.0f" if number < 10_000 or number >= 10_000_000 else "%.1f")


def one_line(text: str) -> str:
    """Cleaned text on one line: line feeds and tabs become blanks."""
    return clean(text)


def agent(name: str) -> str:
    """What people call an agent."""
    from ..store import naming

    return one_line(naming.agent(name)) if name else ""


def agents(names: Sequence[str]) -> str:
    """What people call some agents, as a list in a sentence: "Claude Code and Pi"."""
    from ..store import naming

    return naming.together([agent(name) for name in names])


def signed(added: int | None, removed: int | None) -> str:
    """Lines that came and went: "+12 −3"; "" where nothing was counted."""
    parts = [f"+{short(added)}" if added else "", f"−{short(removed)}" if removed else ""]
    return " ".join(part for part in parts if part)


def short(number: int) -> str:
    """A number in at most four cells: "9999", "12k", "3M"."""
    if number < 10_000:
        return str(number)
    return f"{number // 1000}k" if number < 1_000_000 else f"{number // 1_000_000}M"


def covered_facts(covered: Covered, shown: int) -> list[tuple[str, str]]:
    """What a checkpoint says of paths that are not as all the others, each kind by its first names."""

    def told(paths: Sequence[tuple[str, str]], what: str) -> str:
        names = [f"{path_text(path)} ({one_line(why)})" if why else path_text(path) for path, why in paths]
        return f"{what}: {listing(names, shown)}" if names else ""

    def bare(paths: Sequence[str]) -> list[tuple[str, str]]:
        return [(path, "") for path in paths]

    outside, secrets = bare(covered.outside), bare(covered.secrets)
    facts = [
        ("uncaptured", told(covered.uncaptured, f"{count(len(covered.uncaptured), 'path')}, left alone by a restore")),
        ("moving", told(bare(covered.moving), "was being written when it was read")),
        ("outside", told(outside, f"{count(len(outside), 'file')} outside of the folder, never restored")),
        ("secret?", told(secrets, f"{count(len(secrets), 'file')} that by the name may hold a secret")),
        ("ignore rules", told(covered.unanswered, "could not be asked")),
    ]
    return [(name, value) for name, value in facts if value]


def listing(names: Sequence[str], shown: int) -> str:
    """The first names, then how many more: "a.py · b.py · 4 more"."""
    rest = len(names) - shown
    parts = list(names) if rest <= 0 else [*names[:shown], f"{rest} more"]
    return " · ".join(parts)
