"""Whether the names in a folder are captured: from the stat index where that still holds, else by the rules."""

from __future__ import annotations

from ..light import NamedTuple
from .ignore import OUR_FILE, Repository, Rules
from .statindex import Folder


class Ground(NamedTuple):
    """What holds in the folder that is being walked."""

    path: str
    rules: Rules
    repository: Repository | None
    excluded: bool


class Judge:
    """Says for the names of one folder whether they are ignored, from the index where that still holds.

    Kept are names with what they are, a folder's with its slash: "build/" says nothing of a file called build.
    """

    def __init__(
        self, place: Ground, old: Folder | None, root: str, named: tuple[str, ...], secrets: bool, same_index: bool
    ) -> None:
        """`named` are names in the folder that are captured in any case, or lead to one.

        `secrets`: those that look like secrets are captured too. `same_index`: the project's own index is the one that
        was asked before.
        """
        self._place = place
        self._root = root
        self._named = named
        marks = ("x" if place.excluded else "", "" if secrets else "s", *named)
        self.fingerprint = place.rules.fingerprint + "/".join(marks)
        self.out: list[str] = []
        self.forced: list[str] = []
        self._plain: set[str] | None = None
        self._out: tuple[str, ...] = ()
        self._forced: tuple[str, ...] = ()
        same_rules = old is not None and old.rules == self.fingerprint
        self.holds = same_rules and same_index
        """All that was judged of the folder when it was indexed holds."""
        if old is not None and self.holds:
            self._out, self._forced = old.ignored, old.forced
        self._old = old if same_rules else None

    @property
    def plain(self) -> set[str]:
        """Names that no pattern ignores, by the index."""
        if self._plain is None:
            old = self._old
            names = old.files.keys() | {f"{name}/" for name in old.folders} if old is not None else set[str]()
            self._plain = names.difference(old.forced if old is not None else ())
        return self._plain

    def ignored(self, name: str, is_folder: bool) -> bool | None:
        """None: leave it out. Else captured; True: what is below is ignored unless tracked."""
        kept = f"{name}/" if is_folder else name
        if kept in self.plain:
            return False
        if kept in self._out:
            self.out.append(kept)
            return None
        if kept in self._forced or self._decide(name, is_folder):
            self.forced.append(kept)
            return True
        if self.out and self.out[-1] == kept:
            return None
        return False

    def _decide(self, name: str, is_folder: bool) -> bool:
        """True: a pattern ignores it, but not all below it, or it is tracked or named. If ignored it goes to `out`."""
        place = self._place
        path = place.path + name
        if place.excluded:
            if place.rules.returns(path, is_folder):
                return False
            ours = place.rules.excluded_by_us(place.path)
        else:
            source = place.rules.judge(path, is_folder)
            if source is None:
                return False
            ours = source.name == OUR_FILE
        if (f"{name}/" if is_folder else name) in self._named:
            return True
        if is_folder and place.rules.returns_below(path):
            return True
        if not ours and place.repository is not None and place.repository.tracks(path, self._root, is_folder):
            return True
        self.out.append(f"{name}/" if is_folder else name)
        return False
