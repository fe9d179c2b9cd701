"""What going back has to do in a place, and what undo and redo have to do: by its model alone."""

from __future__ import annotations

from collections.abc import Sequence

from .captured import Capture, parents
from .folder import Thing
from .forecast import Choice, Forecast, forecast
from .model import Verdict, judged, laid_over
from .world import Did, Place


def restored(
    place: Place, point: str, everything: bool = False, some: Sequence[bytes] = (), choice: Choice = "keep"
) -> Forecast:
    """A restore to a checkpoint; of `some` paths, where any are named."""
    family = place.family(place.session_of[point])
    steps = place.history.steps()

    def verdict(path: bytes, old: Thing | None, new: Thing | None) -> Verdict:
        if some and not any(place in some for place in (path, *parents(path))):
            return Verdict("keep")
        if everything or not place.session_of[point]:
            return Verdict("restore")
        told = [texts for session, texts in place.history.written.get(path, {}).items() if session in family]
        wrote = {text for texts in told for text in texts} if told else None
        return judged(place.history.past(path, steps, family), new, old, wrote, path in some)

    return forecast(place.points[point], place.now(), place.disk(), verdict, choice)


def taken_back(place: Place, did: Did, redo: bool) -> Forecast:
    """Exactly the paths that an act changed, where they are still as it left them."""
    held = did.undone_from if redo else did.before
    assert held is not None
    wanted = {path: pair[redo] for path, pair in did.changes.items()}
    left = {path: pair[not redo] for path, pair in did.changes.items()}
    disk, now = place.disk(), place.now()
    besides = {
        path: disk[path]
        for path in did.changes
        if path in disk and path not in now.tree and disk[path].kind in ("file", "link")
    }
    now = Capture({**now.tree, **besides}, now.rules, now.special, frozenset(besides))
    then = Capture(laid_over(held.tree, wanted), now.rules, now.special)
    around = {above for path in did.changes for above in parents(path)}
    lists = then.lists.keys() | now.lists.keys()

    def verdict(path: bytes, old: Thing | None, new: Thing | None) -> Verdict | None:
        if path in left:
            return Verdict("restore") if new == left[path] else Verdict("conflict", left[path])
        return Verdict("restore") if path in around and path not in lists else None

    return forecast(then, now, disk, verdict, ours=True)
