"""Making a checkpoint: walk, stream what is new, move one ref. Everything else can be repaired from that ref."""

from __future__ import annotations

import time

from .. import agents
from ..errors import GitFailed, StoreUnwritable
from ..git.stream import Put, put_inline
from ..home import settings
from ..hook import session_key
from ..light import TYPE_CHECKING, Callable, ExitStack, Iterable, Mapping, NamedTuple, Path
from ..roots import Place
from ..states import Node
from ..walk import named, statindex, walks
from ..walk.ahead import Ahead, never_entered
from ..walk.ignore import RuleBook
from ..walk.named import Named
from ..walk.reading import Sink
from ..walk.scan import Limits, Scan, scan
from ..walk.statindex import Encoded, Files, Index
from ..walk.walks import Walk
from . import points
from .points import Checkpoint
from .writing import Progress, Writer

if TYPE_CHECKING:
    from typing import Any

Check = Callable[[Scan, Mapping[bytes, Node]], None]
"""Gets a walk, and what it found at the paths of `must_store`; raises when that must not become a checkpoint."""


class Wanted(NamedTuple):
    """What a checkpoint is taken for, and how."""

    draft: Checkpoint
    """Its record as far as it is known beforehand; a time of 0 stands for now."""
    only_drift: bool = False
    """Store nothing when the files are as in the newest checkpoint of the root."""
    agreed: bool = False
    """The person wants the first checkpoint even of a very large folder (rule 8)."""
    deadline: float = 0.0
    """By time.monotonic(): a checkpoint whose files were read after it is marked late; 0.0 for never."""
    asked: int = 0
    """By time.monotonic_ns(): files that were read by a walk that began later do; 0 for the call of `take`."""
    seen: Walk | None = None
    """A walk that does, since it began after this was asked for and found all as in the stat index of now."""
    ahead: Ahead | None = None
    """What was begun already by who holds the root."""


class Taken(NamedTuple):
    """What `take` did."""

    id: str
    """The checkpoint that holds the files as they are: the new one, or with only_drift the one before."""
    made: bool
    """A new checkpoint was stored."""
    changed: bool
    """The files differ from the newest checkpoint before."""
    files: int
    uncaptured: Mapping[str, str]
    checkpoint: Checkpoint | None = None

    @property
    def time(self) -> int:
        """When a new checkpoint was made, in nanoseconds; 0 when none was."""
        return self.checkpoint.time if self.checkpoint else 0


def take(
    place: Place,
    wanted: Wanted,
    *,
    wait: float | None = None,
    must_store: Iterable[tuple[bytes, Node]] = (),
    locked: bool = False,
    progress: Progress | None = None,
    check: Check | None = None,
) -> Taken:
    """Takes a checkpoint of the root as it is now; returns once it is on the disk.

    `must_store` names paths that a guard has to hold whatever the rules say (rule 2). With `locked` the caller
    holds the root's lock. `check` may refuse what was found, before anything is stored. Raises Busy, StoreUnwritable,
    GitFailed, GitMissing.
    """
    wanted = wanted._replace(asked=wanted.asked or time.monotonic_ns())
    with ExitStack() as stack:
        if not locked:
            stack.enter_context(place.locked(_who(wanted), wait))
        try:
            index = _index_of(place, wanted.ahead)
            try:
                return _take(place, wanted, index, wait, list(must_store), progress, check)
            except GitFailed:
                if not index.tree:
                    raise
                # The index may name a tree that the store lost: read everything again, once.
                bare = Index(time=index.time, named=index.named, outside=dict.fromkeys(index.outside))
                return _take(place, wanted._replace(ahead=None), bare, wait, list(must_store), progress, check)
        except OSError as error:
            raise StoreUnwritable(
                "the checkpoint could not be made",
                path=str(error.filename or place.root.path),
                todo=str(error.strerror),
            ) from None


def look(root: str, home: Path, place: Place | None, ahead: Ahead | None = None) -> Scan:
    """Walks a root without storing anything; the caller holds its lock, where it has a place in the store."""
    index = _index_of(place, ahead) if place is not None else Index()
    allowed = limits(home)._replace(named=index.named)
    temporary = str(place.folder) if place is not None else None
    found = scan(root, index, allowed, None, temporary, ahead.vouching if ahead is not None else None)
    if index.tree and not found.changed and not found.modes_changed:
        found = found._replace(same=(index.tree, index.parts))
    return _with_outside(found, index.outside, allowed, None, temporary)


def _index_of(place: Place, ahead: Ahead | None = None) -> Index:
    """The root's stat index; a lost one still knows what agents named, and the time of the newest checkpoint."""
    index = ahead.known if ahead is not None else statindex.load(place.index_file)
    if index.tree:
        return index
    from ..walk.recalling import recalled  # the index of a root is lost seldom

    known = recalled(place)
    inside, newest = named.joined({}, known.inside), max(index.time, known.newest)
    return index._replace(named=inside, outside=dict.fromkeys(known.outside), time=newest)


def _with_outside(found: Scan, files: Files, allowed: Limits, sink: Sink | None, temporary: str | None) -> Scan:
    """A walk with what stands at the paths outside that agents named."""
    if not files:
        return found
    from ..walk import outside  # most roots have none

    seen = outside.look(files, allowed, sink, temporary)
    return found._replace(
        outside=seen.files,
        uncaptured={**found.uncaptured, **seen.uncaptured},
        moving=found.moving | seen.moving,
    )


def limits(home: Path) -> Limits:
    """What is never captured."""
    chosen = settings(home)
    return Limits(chosen.largest_file, never_entered(home), agents.own_data(), secrets=chosen.secrets)


def _take(
    place: Place,
    wanted: Wanted,
    index: Index,
    wait: float | None,
    must_store: list[tuple[bytes, Node]],
    progress: Progress | None,
    check: Check | None,
) -> Taken:
    with ExitStack() as stack:
        writer = Writer(place, stack, wait, progress, anew=not index.tree)
        allowed = limits(place.home)._replace(named=named.joined(index.named, wanted.draft.named))
        if not index.folders and not wanted.agreed:
            allowed = allowed._replace(ceiling=settings(place.home).largest_tree)
        walk = _walk(place, wanted, index, allowed, writer)
        found = walk.found
        changed = bool(found.changed) or found.modes_changed or not index.tree or _tells_more(found, index, allowed)
        if wanted.only_drift and not changed and index.point:
            fresh = _indexed(found, index.tree, index.point, index.time, allowed)
            fresh = fresh._replace(parts=index.parts, pack=index.pack)
            if fresh != index:
                _keep(place, wanted, walk, allowed, statindex.encode(fresh))
            return Taken(index.point, False, False, found.files, found.uncaptured)
        held = found.nodes(path for path, _ in must_store)
        if check is not None:
            check(found, held)
        moment = max(wanted.draft.time or time.time_ns(), index.time + 1)
        checkpoint = _record(place, wanted, walk, index, moment, allowed)
        extra = [(path, node) for path, node in must_store if path not in held]
        tree = writer.commit(checkpoint, found, index, extra, _beside(found, allowed.named))
        writer.close()
        if not extra:
            fresh = _indexed(found, tree, checkpoint.id, moment, allowed)._replace(parts=writer.parts, pack=writer.pack)
            _keep(place, wanted, walk, allowed, statindex.encode(fresh))
        return Taken(checkpoint.id, True, changed, found.files, found.uncaptured, checkpoint)


def _walk(place: Place, wanted: Wanted, index: Index, allowed: Limits, writer: Writer) -> Walk:
    """The files as they are after the moment when this was asked: seen by another's walk, or by one of our own."""
    followed = _followed(index, wanted.draft)
    if index.tree and allowed.named is index.named and followed is index.outside:
        if wanted.seen is not None and wanted.seen.found.same == (index.tree, index.parts) and not index.outside:
            return wanted.seen
        served = walks.serving(place, wanted.asked, allowed, index)
        if served is not None:
            return served
    began = time.monotonic_ns()
    vouching = wanted.ahead.vouching if wanted.ahead is not None else None
    found = scan(place.root.path, index, allowed, writer, str(place.folder), vouching)
    found = _with_outside(found, followed, allowed, writer, str(place.folder))
    return Walk(found, began, time.monotonic_ns())


def _keep(place: Place, wanted: Wanted, walk: Walk, allowed: Limits, encoded: Encoded) -> None:
    statindex.save(place.index_file, encoded)
    if wanted.draft.reason != "guard":  # what it saw is about to be changed
        walks.keep(place, walk, allowed, encoded)


def _followed(index: Index, draft: Checkpoint) -> Files:
    """The files outside of the root that are looked at."""
    if not draft.outside:
        return index.outside
    from ..walk import outside

    return outside.joined(index.outside, draft.outside)


def _tells_more(found: Scan, index: Index, allowed: Limits) -> bool:
    """Whether files outside differ, or a checkpoint of now would speak of ignored paths that the newest does not."""
    if found.outside or index.outside:
        from ..walk import outside

        if outside.differ(index.outside, found.outside):
            return True
    if allowed.named is index.named:
        return False
    rules = RuleBook(found.sources)
    return any(rules.ignores(path) for path in named.listed(allowed.named) if not named.holds(index.named, path))


def _indexed(found: Scan, tree: str, point: str, moment: int, allowed: Limits) -> Index:
    return Index(tree, point, moment, found.stamps, found.folders, allowed.named, found.outside)


def _beside(found: Scan, inside: Named) -> list[Put]:
    """What else stands in a checkpoint's tree: the paths that agents named, and what is outside of the root."""
    lines = [put_inline(points.encode_paths(named.listed(inside)), points.NAMED.encode())] if inside else []
    if found.outside:
        from ..walk import outside

        lines += outside.lines(found.outside)
    return lines


def _record(place: Place, wanted: Wanted, walk: Walk, index: Index, moment: int, allowed: Limits) -> Checkpoint:
    found = walk.found
    return wanted.draft._replace(
        id=points.new_id(),
        root=place.root.id,
        time=moment,
        previous=index.point,
        late=wanted.draft.late or 0.0 < wanted.deadline < walk.ended / 1e9,
        files=found.files,
        bytes=found.bytes,
        uncaptured=found.uncaptured,
        moving=tuple(sorted(found.moving)),
        outside=tuple(found.outside),
        unanswered=found.unanswered,
        secrets=tuple(sorted(found.secrets())),
        largest_file=allowed.largest_file,
        **_at_work(place, wanted.draft),
    )


def _at_work(place: Place, draft: Checkpoint) -> dict[str, Any]:
    """Whether agents are at work, asked again after the walk: one may have begun while it was waited for."""
    if not place.open_calls_file.exists():
        return {}
    from .. import calls  # a hook has it already, and most others have none

    known = calls.load(place.open_calls_file)
    meanwhile = {call.call for call in known.open()} | set(draft.open)
    return {
        "open": tuple(sorted(meanwhile - {draft.call})),
        "quiet": draft.quiet and calls.quiet(known, but=session_key(draft.agent, draft.session)),
        "behind": calls.behind(known),
    }


def _who(wanted: Wanted) -> str:
    return "save" if wanted.draft.reason == "manual" else f"save ({wanted.draft.reason})"
