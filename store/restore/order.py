"""The order in which changes are carried out: opening up, deletes, folders, files, shutting again (rule 4)."""

from __future__ import annotations

from collections.abc import Mapping

from ..states import Node
from .change import Change
from .paths import parents

ENTER_AND_WRITE = 0o300
"""What its owner needs to change what stands in a folder."""
OWNER = 0o700


def ordered(acts: Mapping[bytes, Change]) -> tuple[Change, ...]:
    """The changes in an order in which each finds its folder there, empty, and open where it has to be.

    A folder that its owner may not write in is opened up while something in it comes or goes with it, so a path may
    come twice.
    """
    openings: list[Change] = []
    deletes: list[Change] = []
    removals: list[Change] = []
    coming: list[Change] = []
    writes: list[Change] = []
    closings: list[Change] = []
    busy = {parent for path in acts for parent in parents(path)}
    for path, change in sorted(acts.items()):
        before, after = change.before, change.after
        if _is_folder(before) and _is_folder(after):
            (openings if _is_open(after) else closings).append(change)
            continue
        if _is_folder(before) and not _is_open(before) and path in busy:
            openings.append(change._replace(after=_opened(before)))
            change = change._replace(before=_opened(before))
        elif _is_folder(after) and not _is_open(after) and path in busy:
            closings.append(change._replace(before=_opened(after)))
            change = change._replace(after=_opened(after))
        if after is not None:
            (coming if _is_folder(after) else writes).append(change)
        else:
            (removals if _is_folder(before) else deletes).append(change)
    return (*openings, *deletes, *reversed(removals), *coming, *writes, *reversed(closings))


def _is_folder(node: Node | None) -> bool:
    return node is not None and node.kind == "folder"


def _is_open(node: Node | None) -> bool:
    return node is not None and node.mode & ENTER_AND_WRITE == ENTER_AND_WRITE


def _opened(node: Node | None) -> Node | None:
    return node and node._replace(mode=node.mode | OWNER)
