"""What is looked for, and whether and where a text holds it.

Words are looked for as they stand, inside of longer ones too; all of them must be in one text. What stands in double
quotes is one word, blanks included. Capital letters count where there is one in the query (smart case).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

LEAST = 3
"""Letters below which a word is not in the index: texts are looked through."""
MOST = 16
"""So many beginnings of a long word are asked for; what they find is looked at anyway."""
_PART = re.compile(r'"([^"]*)(?:"|$)|([^\s"]+)')
_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A query that was taken apart."""

    words: tuple[str, ...]
    """As they are compared: folded where capital letters do not count."""
    case: bool
    """Whether they count."""

    @property
    def match(self) -> str:
        """What the index is asked: every three letters of every word; "" where no word is long enough."""
        grams = dict.fromkeys(gram for word in self.words for gram in _grams(fold(word)))
        return " AND ".join('"{}"'.format(gram.replace('"', '""')) for gram in grams)

    def held_by(self, text: str) -> bool:
        """Whether a text holds all the words."""
        shape = text if self.case else fold(text)
        return all(word in shape for word in self.words)

    def places(self, text: str) -> list[tuple[int, int]]:
        """Where the words stand in a text: beginnings and ends, in order, none over another."""
        shape = text if self.case else fold(text)
        found = sorted(place for word in self.words for place in _places(shape, word))
        apart: list[tuple[int, int]] = []
        for start, end in found:
            if apart and start <= apart[-1][1]:
                apart[-1] = (apart[-1][0], max(end, apart[-1][1]))
            else:
                apart.append((start, end))
        return apart

    def first(self, text: str) -> int:
        """Where the longest of the words stands first; -1 where none does."""
        shape = text if self.case else fold(text)
        places = [shape.find(word) for word in sorted(self.words, key=len, reverse=True)]
        return next((place for place in places if place >= 0), -1)


def wanted(query: str) -> Wanted:
    """Takes a query apart."""
    plain = _SURROGATES.sub("\ufffd", query).replace("\0", "")
    words = [quoted or word for quoted, word in _PART.findall(plain) if quoted or word]
    case = any(letter.isupper() for word in words for letter in word)
    return Wanted(tuple(dict.fromkeys(words if case else map(fold, words))), case)


def fold(text: str) -> str:
    """A text of the same length in which it does not matter whether letters are capital ones."""
    small = text.lower()
    if len(small) != len(text):
        small = "".join(letter.lower()[0] for letter in text)
    return small.replace("\u03c2", "\u03c3")


def _grams(word: str) -> list[str]:
    """Three letters from each place of a word; of a long one from some."""
    grams = [word[at : at + LEAST] for at in range(len(word) - LEAST + 1)]
    if len(grams) <= MOST:
        return grams
    return [grams[at * (len(grams) - 1) // (MOST - 1)] for at in range(MOST)]


def _places(text: str, word: str) -> Iterator[tuple[int, int]]:
    at = text.find(word)
    while at >= 0:
        yield at, at + len(word)
        at = text.find(word, at + len(word))
