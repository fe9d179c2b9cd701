"""A checkpoint on request. Light: `forkpoint save` in a script or an editor's hook starts as quickly as a hook does."""

from __future__ import annotations

import os
import time

from . import roots
from .errors import NoWorkspace, StoreDamaged
from .home import data_folder
from .light import Callable, NamedTuple, Path
from .roots import Place
from .walk import ahead

FILES = 400
"""Two a pack, and so many packs that `repacking` looks more closely."""


class Saved(NamedTuple):
    """A checkpoint that was made on request."""

    id: str
    label: str
    files: int
    uncaptured: tuple[tuple[str, str], ...]
    """Path and reason of what could not be captured."""
    unanswered: tuple[tuple[str, str], ...] = ()
    """Source and reason, where it could not be asked what is ignored."""
    interrupted: bool = False
    """A restore was interrupted here, and nobody has settled it yet."""
    made: bool = True
    """It was stored now; False when only what differs was to be, and nothing did: `id` is the newest one."""


def root_of(folder: str | os.PathLike[str] | None, home: Path | None = None) -> str:
    """The root that is meant: a folder that is named, else the one that the current folder belongs to.

    Raises UnsafePlace for / and the home folder, NoWorkspace when the current folder was deleted.
    """
    try:
        root = roots.real(folder) if folder else roots.choose(roots.real(os.getcwd()), home or data_folder())
    except FileNotFoundError:
        raise NoWorkspace(
            "the current folder is not there any more", todo="go to one that is, or name one: -C"
        ) from None
    roots.refuse_unsafe(root)
    return root


def look_early(folder: str | os.PathLike[str] | None) -> None:
    """Begins to look through the root that is meant, before what goes back in it is imported. Raises as `root_of`."""
    home = data_folder()
    ahead.begin_early(root_of(folder, home), home)


def save(
    root: str,
    *,
    home: Path | None = None,
    label: str = "",
    agent: str = "",
    session: str = "",
    reason: str = "manual",
    text: str = "",
    run: str = "",
    only_drift: bool = False,
    wait: float | None = None,
    agreed: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Saved:
    """A checkpoint of a root as it is now; returns when it is on the disk.

    `run`: the id of the `forkpoint run` that it belongs to. `only_drift`: only where the files are not those of the
    newest one. `wait`: seconds for others at work, by default as long as the person chose. `agreed`: the first one may
    be of a very large folder (rule 8), or of one made anew under a recorded path; else Refused. `progress` gets (files
    so far, 0).
    """
    place = roots.adopt(root, home or data_folder(), anew=agreed)
    if place.deleting_file.exists():
        from .checkpoints.deleting import finish  # reading the store's operations is slow to import

        finish(place)
    asked, quiet = time.monotonic_ns(), _quiet(place)
    with place.locked("save", wait), ahead.begun(place) as begun:
        from .checkpoints import capture, points  # the second process goes through the folders while these are imported

        draft = points.Checkpoint(reason=reason, agent=agent, session=session, text=text, label=label)
        draft = draft._replace(call=run, tool=points.RUN if run else "", quiet=quiet)
        wanted = capture.Wanted(draft, only_drift, agreed=agreed, asked=asked, ahead=begun)
        taken = capture.take(
            place, wanted, locked=True, progress=(lambda done: progress(done, 0)) if progress else None
        )
    _keep_small(place)
    unanswered = sorted(taken.checkpoint.unanswered.items()) if taken.checkpoint else []
    uncaptured = tuple(sorted(taken.uncaptured.items()))
    return Saved(taken.id, label, taken.files, uncaptured, tuple(unanswered), _interrupted(place), taken.made)


def _quiet(place: Place) -> str:
    """Whether any agent is at work (see Checkpoint.quiet)."""
    if not place.open_calls_file.exists():
        return "none"
    from . import calls  # most scripts save where no agent has hooks

    return calls.quiet(calls.load(place.open_calls_file))


def _interrupted(place: Place) -> bool:
    if not place.journal_file.exists():
        return False
    from .restore.interrupted import interrupted  # what reads a journal is slow to import

    try:
        return interrupted(place) is not None
    except StoreDamaged:
        return True


def _keep_small(place: Place) -> None:
    """Starts a repacking where there may be something to do: its module takes longer to import than a save to make."""
    if place.unreachable_file.exists() or len(os.listdir(place.git_dir / "objects" / "pack")) > FILES:
        from .upkeep import repacking

        repacking.start_apart(place)
