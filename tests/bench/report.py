"""The figures as a table, on the terminal and in RESULTS.md with the machine described."""

from __future__ import annotations

import os
import platform
import re
import statistics
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from pairs import Figure
from trees import FORKPOINT

RESULTS = Path(__file__).parent / "RESULTS.md"
WHERE = "## Where the time goes"
LIMIT = 150
"""Megabytes that no process may take."""
HEAD = """\
# What was measured

`python tests/bench/run.py` writes this file. Each ratio is the median of ratios between two programs that were run
right after each other (lowest to highest in brackets); a whole process is measured where nothing else is said. "reach"
is what is promised, "aim" what is worked for.
"""


def line(figure: Figure) -> str:
    """A figure for the terminal."""
    low, high = figure.spread
    what = f"{figure.name:52} {figure.ratio:6.2f} × {figure.against}"
    return f"{what} ({low:.2f}-{high:.2f}; reach {figure.reach:g}; {values(figure)}) {figure.verdict}"


def values(figure: Figure) -> str:
    """The two medians behind a ratio."""
    return f"{statistics.median(figure.ours):,.0f} : {statistics.median(figure.theirs):,.0f} {figure.unit}"


def write(figures: Sequence[Figure], peaks: Mapping[str, float], options: str) -> None:
    """Writes RESULTS.md; what a person wrote of where the time goes stays."""
    before = RESULTS.read_text("utf-8") if RESULTS.exists() else ""
    told = before[before.index(WHERE) :] if WHERE in before else f"{WHERE}\n"
    parts = [HEAD, machine(options), _table(figures), _memory(peaks), told]
    RESULTS.write_text("\n".join(parts), "utf-8")


def _table(figures: Sequence[Figure]) -> str:
    rows = ["| work | against | ratio | reach | aim | | medians |", "|---|---|---|---|---|---|---|"]
    for figure in figures:
        low, high = figure.spread
        reach = "" if figure.reach == float("inf") else f"≤ {figure.reach:g}"
        aim = "" if figure.aim is None else f"≤ {figure.aim:g}"
        ratio = f"**{figure.ratio:.2f}** ({low:.2f}-{high:.2f})"
        verdict = figure.verdict if reach else ""
        rows.append(f"| {figure.name} | {figure.against} | {ratio} | {reach} | {aim} | {verdict} | {values(figure)} |")
    notes = [f"- {figure.name}: {figure.note}." for figure in figures if figure.note]
    return "\n".join([*rows, "", *notes, ""])


def _memory(peaks: Mapping[str, float]) -> str:
    rows = [
        f"Peak memory of the largest process of each (forkpoint and every git that it starts); reach ≤ {LIMIT} MB.",
        "A process begins as large as the bench that starts it, about 30 MB.",
        "",
        "| work | MB | |",
        "|---|---|---|",
    ]
    rows += [f"| {work} | {peak:,.0f} | {'OVER' if peak > LIMIT else ''} |" for work, peak in sorted(peaks.items())]
    return "\n".join([*rows, ""])


def machine(options: str) -> str:
    """What was measured on, without any name of it."""
    git = subprocess.run(["git", "--version"], capture_output=True, text=True).stdout.split()[2]
    facts = [
        f"{datetime.now(UTC):%Y-%m-%d}",
        f"{_processor()}, {os.cpu_count()} cores, {_memory_size():.0f} GB of memory",
        f"{_file_system()} on a {_disk()}",
        f"{platform.system()} {platform.release().partition('-')[0]}",
        f"Python {platform.python_version()}, git {git}",
        f"forkpoint was installed by {_installer()}",
        f"`run.py {options}`".replace(" `", "`"),
        f"load of the machine: {os.getloadavg()[2]:.1f} on average over the last 15 minutes of the run",
    ]
    return "".join(f"- {fact}\n" for fact in facts)


def _installer() -> str:
    """What kind of script starts forkpoint here: some milliseconds of each whole process are its own."""
    imports_re = b"import re\n" in FORKPOINT.read_bytes()
    return "an old pip, whose script imports re (6-8 ms a start)" if imports_re else "a current pip"


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text("utf-8")
    except OSError:
        return platform.machine()
    found = re.search(r"^model name\s*:\s*(.*)$", text, re.MULTILINE)
    return found.group(1) if found else platform.machine()


def _memory_size() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def _file_system() -> str:
    """The type of the file system that temporary folders are on."""
    import tempfile

    best, kind = "", "a file system"
    try:
        for mount in Path("/proc/mounts").read_text("utf-8").splitlines():
            _, at, found, *_ = mount.split()
            if tempfile.gettempdir().startswith(at) and len(at) >= len(best):
                best, kind = at, found
    except OSError:
        pass
    return kind


def _disk() -> str:
    """Whether it turns, as far as the system tells."""
    disks = [disk for disk in Path("/sys/block").glob("[vsn]*") if (disk / "queue/rotational").exists()]
    if not disks:
        return "disk"
    turning = (disks[0] / "queue/rotational").read_text("ascii").strip() == "1"
    return "virtual disk" if disks[0].name.startswith("vd") else ("turning disk" if turning else "solid-state disk")
