"""JSON files of other programs, changed as text: what is added can be taken out again to the byte.

Agents read their settings from files that people write by hand. Loading and dumping such a file would lose its
comments, indentation and line ends, so values are put in and cut out at positions found by a scanner that also passes
comments and trailing commas (JSONC).

Two conventions make the way back exact without a record of the way there:

- A member or element goes behind the last one of its container (", then white space, then it"), so that cutting from
  the comma to its end gives back what was. A comment on the line of that last one stays beside it: the comma goes
  before the comment, the rest directly behind.
- What goes into an empty container that was there before stands directly behind the bracket; a container made by us
  begins with white space. So an empty container of the person's stays, and ours goes with its last content.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NoReturn, cast

Shape = Literal["object", "array", "scalar"]
Step = str | int

_BLANK = re.compile(r"[ \t\r\n]*")
_SCALAR = re.compile(r"(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])", re.ASCII)
_REMARK = re.compile(r"[ \t]*(?://[^\r\n]*(?=\r?\n)|/\*.*?\*/)", re.DOTALL)
_REMARKS = re.compile(r"//[^\n]*?(?=\r?\n)|/\*.*?\*/", re.DOTALL)
_DEEPEST = 200
_DECODER = json.JSONDecoder()


class NotJson(ValueError):
    """The text is no JSON; carries the line, counted from 1, where that was found."""

    def __init__(self, what: str, line: int) -> None:
        self.what = what
        self.line = line
        super().__init__(f"{what} in line {line}")


@dataclass(frozen=True, slots=True)
class Child:
    """A member of an object or an element of an array."""

    start: int
    """Where its key, or its value when it has none, begins."""
    key: str | None
    node: Node
    comma: int | None
    """Where the comma behind it stands."""


@dataclass(frozen=True, slots=True)
class Node:
    """A value and where it stands in the text."""

    shape: Shape
    start: int
    end: int
    children: tuple[Child, ...] = ()
    value: object = None
    """The value of a scalar."""

    def get(self, key: str) -> Child | None:
        """The member that a reader would see under this key: the last one of that name."""
        return next((child for child in reversed(self.children) if child.key == key), None)


@dataclass(frozen=True, slots=True)
class Edit:
    """Text that takes the place of text[start:end]."""

    start: int
    end: int
    text: str


def parse(text: str, *, comments: bool = True, trailing_commas: bool = True) -> Node:
    """Reads one JSON value; a byte order mark is passed over, and what else is allowed beyond JSON. Raises NotJson."""
    scanner = _Scanner(text, comments, trailing_commas)
    start = scanner.blank(1 if text.startswith("\ufeff") else 0)
    node = scanner.value(start, 0)
    if scanner.blank(node.end) != len(text):
        scanner.fail("something stands behind the end", scanner.blank(node.end))
    return node


def plain(node: Node) -> object:
    """The value as dictionaries, lists and scalars."""
    if node.shape == "object":
        return {child.key: plain(child.node) for child in node.children}
    if node.shape == "array":
        return [plain(child.node) for child in node.children]
    return node.value


def dump(value: object, *, eol: str, unit: str, depth: int) -> str:
    """A value as text whose containers begin with white space: the mark that we made them.

    unit is the indentation of one level and depth the level the value stands on; with an empty eol it is all one line.
    """
    if isinstance(value, Mapping):
        members = cast("Mapping[str, object]", value).items()
        parts = [f"{json.dumps(key)}: {dump(v, eol=eol, unit=unit, depth=depth + 1)}" for key, v in members]
        return _bracket("{", parts, "}", eol, unit, depth)
    if isinstance(value, list | tuple):
        elements = cast("Sequence[object]", value)
        return _bracket("[", [dump(v, eol=eol, unit=unit, depth=depth + 1) for v in elements], "]", eol, unit, depth)
    return json.dumps(value)


def added(text: str, container: Node, parts: Sequence[str], lead: str) -> list[Edit]:
    """The edits that put members or elements at the end of a container; lead is the white space before each."""
    if not container.children:
        inside = container.start + 1
        return [Edit(inside, inside, f",{lead}".join(parts))]
    last = container.children[-1]
    behind = last.node.end if last.comma is None else last.comma + 1
    remark = _remark_end(text, behind, lead)
    if remark == behind:
        return [Edit(last.node.end, last.node.end, "".join(f",{lead}{part}" for part in parts))]
    new = lead + f",{lead}".join(parts)
    if last.comma is not None:
        return [Edit(remark, remark, new + ",")]
    return [Edit(behind, behind, ","), Edit(remark, remark, new)]


def _remark_end(text: str, at: int, lead: str) -> int:
    """Where the comments end that follow on the same line; `at` where there is none that can be written behind."""
    end = at
    while found := _REMARK.match(text, end):
        if found.group().lstrip().startswith("//"):
            return found.end() if "\n" in lead else at
        end = found.end()
    return end


def without(text: str, doomed: Sequence[Sequence[Step]]) -> list[Edit]:
    """The edits that cut out the values at these paths, and with them the containers of ours that they leave empty.

    A path is a list of keys and indexes from the root.
    """
    origin = list(range(len(text)))
    rest = text
    for path in sorted(doomed, key=_backwards, reverse=True):
        for start, end in sorted(_cut(rest, parse(rest), path), reverse=True):
            rest = rest[:start] + rest[end:]
            del origin[start:end]
    return list(_gaps(origin, len(text)))


def apply(text: str, edits: Sequence[Edit]) -> str:
    """The text with the edits made; they do not overlap."""
    for edit in sorted(edits, key=lambda e: e.start, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def diff_lines(text: str, edits: Sequence[Edit]) -> Iterator[str]:
    """The edits as lines of a unified diff without context, line ends left out."""
    starts = [0, *(m.end() for m in re.finditer("\n", text))]
    lines = [text[a:b] for a, b in zip(starts, [*starts[1:], len(text)], strict=True)]
    shift = 0
    for first, last, group in _by_line(starts, edits):
        base = starts[first]
        old = "".join(lines[first : last + 1])
        new = apply(old, [Edit(e.start - base, e.end - base, e.text) for e in group])
        gone, come = _shown(old), _shown(new)
        yield f"@@ -{first + 1},{len(gone)} +{first + 1 + shift},{len(come)} @@"
        yield from (f"-{line}" for line in gone)
        yield from (f"+{line}" for line in come)
        shift += len(come) - len(gone)


def line_end(text: str) -> str:
    """The line end that the text uses: that of its first line."""
    found = re.search(r"\r?\n", text)
    return found.group() if found else "\n"


def indent_of(text: str, at: int) -> str | None:
    """The white space before this position when nothing else stands before it on its line, else None."""
    before = text[text.rfind("\n", 0, at) + 1 : at]
    return before if not before.strip(" \t") and at > len(before) else None


class _Scanner:
    def __init__(self, text: str, comments: bool, trailing_commas: bool) -> None:
        self.text = text
        self.comments = comments
        self.trailing_commas = trailing_commas

    def fail(self, what: str, at: int) -> NoReturn:
        raise NotJson(what, self.text.count("\n", 0, at) + 1)

    def blank(self, at: int) -> int:
        """Where the white space and the comments from here on end."""
        while True:
            found = _BLANK.match(self.text, at)
            at = found.end() if found else at
            if not self.comments and self.text.startswith(("//", "/*"), at):
                self.fail("a comment", at)
            if self.text.startswith("//", at):
                end = self.text.find("\n", at)
                at = len(self.text) if end < 0 else end
            elif self.text.startswith("/*", at):
                end = self.text.find("*/", at + 2)
                if end < 0:
                    self.fail("a comment that does not end", at)
                at = end + 2
            else:
                return at

    def value(self, at: int, depth: int) -> Node:
        if depth > _DEEPEST:
            self.fail("values nested too deeply", at)
        opening = self.text[at : at + 1]
        if opening == "{":
            return self.container(at, depth, "object", "}")
        if opening == "[":
            return self.container(at, depth, "array", "]")
        if opening == '"':
            word, end = self.string(at)
            return Node("scalar", at, end, value=word)
        found = _SCALAR.match(self.text, at)
        if found is None:
            self.fail("something that is no value", at)
        return Node("scalar", at, found.end(), value=json.loads(found.group()))

    def string(self, at: int) -> tuple[str, int]:
        try:
            return _DECODER.raw_decode(self.text, at)
        except ValueError:
            self.fail("a string that does not end or holds a control character", at)

    def container(self, start: int, depth: int, shape: Shape, closing: str) -> Node:
        children: list[Child] = []
        at = self.blank(start + 1)
        while not self.text.startswith(closing, at):
            child = self.child(at, depth, shape)
            at = self.blank(child.node.end)
            if self.text.startswith(",", at):
                child = Child(child.start, child.key, child.node, at)
                at = self.blank(at + 1)
                if not self.trailing_commas and self.text.startswith(closing, at):
                    self.fail("a comma behind the last one", at)
            elif not self.text.startswith(closing, at):
                self.fail(f"a missing comma or {closing}", at)
            children.append(child)
        return Node(shape, start, at + 1, tuple(children))

    def child(self, at: int, depth: int, shape: Shape) -> Child:
        if shape == "array":
            return Child(at, None, self.value(at, depth + 1), None)
        if not self.text.startswith('"', at):
            self.fail("a member without a name in quotes", at)
        key, end = self.string(at)
        colon = self.blank(end)
        if not self.text.startswith(":", colon):
            self.fail("a missing colon", colon)
        return Child(at, key, self.value(self.blank(colon + 1), depth + 1), None)


def _bracket(opening: str, parts: Sequence[str], closing: str, eol: str, unit: str, depth: int) -> str:
    if not parts:
        return opening + closing
    if not eol:
        return f"{opening} {', '.join(parts)} {closing}"
    inner, outer = eol + unit * (depth + 1), eol + unit * depth
    return f"{opening}{inner}{f',{inner}'.join(parts)}{outer}{closing}"


def _backwards(path: Sequence[Step]) -> list[tuple[int, str]]:
    """Sorts paths so that later elements of a list go first and the indexes of earlier ones stay right."""
    return [(step, "") if isinstance(step, int) else (0, step) for step in path]


def _cut(text: str, root: Node, path: Sequence[Step]) -> list[tuple[int, int]]:
    """The spans to cut so that the value at this path is gone."""
    chain: list[tuple[Node, int]] = []
    node = root
    for step in path:
        index = _index(node, step)
        chain.append((node, index))
        node = node.children[index].node
    while len(chain) > 1 and len(chain[-1][0].children) == 1 and _ours(text, chain[-1][0]):
        chain.pop()
    return _spans(text, *chain[-1])


def _index(node: Node, step: Step) -> int:
    if isinstance(step, int):
        return step
    return max(i for i, child in enumerate(node.children) if child.key == step)


def _ours(text: str, container: Node) -> bool:
    """Whether we made the container whose only child is about to go, and nobody left a comment in it."""
    child = container.children[0]
    before = text[container.start + 1 : child.start]
    behind = text[child.node.end : container.end - 1].replace(",", "", 1)
    return before != "" and not before.strip() and not behind.strip()


def _spans(text: str, container: Node, index: int) -> list[tuple[int, int]]:
    child = container.children[index]
    start, end = child.start, child.node.end
    if index:
        comma = container.children[index - 1].comma
        assert comma is not None
        if not text[comma + 1 : start].strip():
            return [(comma, end)]
        last = index + 1 == len(container.children)
        if last and child.comma is not None and not text[end : child.comma].strip():
            return [(_behind_remark(text, comma + 1, start, child.comma + 1), child.comma + 1)]
        return [(comma, comma + 1), (_behind_remark(text, comma + 1, start, end), end)]
    if index + 1 < len(container.children):
        assert child.comma is not None
        following = container.children[index + 1].start
        if text[end : child.comma].strip() or text[child.comma + 1 : following].strip():
            return [(start, end), (child.comma, child.comma + 1)]
        return [(start, following)]
    if _ours(text, container):
        start = container.start + 1
    trailing = [] if child.comma is None else [(child.comma, child.comma + 1)]
    return [(start, end), *trailing]


def _behind_remark(text: str, at: int, start: int, end: int) -> int:
    """From where on what stands behind a comment can be cut; the line end after one of // stays where it is needed."""
    *_, remark = _REMARKS.finditer(text, at, start)
    needed = remark.group().startswith("//") and not text.startswith(("\n", "\r\n"), end)
    return start if needed else remark.end()


def _gaps(origin: Sequence[int], length: int) -> Iterator[Edit]:
    """What of 0..length is missing in the ascending positions, as cuts."""
    expected = 0
    for position in [*origin, length]:
        if position > expected:
            yield Edit(expected, position, "")
        expected = position + 1


def _by_line(starts: Sequence[int], edits: Sequence[Edit]) -> Iterator[tuple[int, int, list[Edit]]]:
    """Edits in order, those that touch the same or neighbouring lines together, with the first and last line."""
    group: list[Edit] = []
    first = last = -1
    for edit in sorted(edits, key=lambda e: e.start):
        top, bottom = bisect_right(starts, edit.start) - 1, bisect_right(starts, edit.end) - 1
        if group and top > last:
            yield first, last, group
            group = []
        if not group:
            first = top
        last = max(last, bottom) if group else bottom
        group.append(edit)
    if group:
        yield first, last, group


def _shown(text: str) -> list[str]:
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]
