"""A row's words as they are copied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...store.text import clean
from ..outline import Outline
from ..rows import Row

if TYPE_CHECKING:
    from ...store.api import Store


def whole_text(store: Store, outline: Outline, row: Row) -> str:
    """What copying a row takes: the entry's whole text, else its words."""
    texts: list[str] = []
    for entry in (row.entry, row.result):
        if entry is not None:
            texts += [block.text for block in store.blocks(entry)] or [entry.text]
    return clean("\n".join(texts) or row.text, keep_lines=True)
