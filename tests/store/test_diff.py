"""Diffs are git's, told as data; odd names and bytes never break them."""

from __future__ import annotations

from forkpoint.store import diff
from forkpoint.store.git.compare import is_binary, line_counts, merge
from forkpoint.store.git.stream import blob_id
from forkpoint.store.hunks import PIECE
from forkpoint.store.model import FileDiff
from forkpoint.store.states import Node
from hypothesis import given
from hypothesis import strategies as st

lines = st.lists(
    st.sampled_from([b"a", b"b", b"c\r", b"", b"-- x", b"++ y", b"\xe2\x80\xa8", b"\xff", b"@@"]), max_size=12
)


def differing(pairs: dict[bytes, tuple[bytes | None, bytes | None]], **options: object) -> list[FileDiff]:
    """Diffs of paths with these bytes before and after."""
    held = {blob_id(data): data for pair in pairs.values() for data in pair if data is not None}

    def node(data: bytes | None) -> Node | None:
        return None if data is None else Node("file", 0o644, blob_id(data))

    changes = {path: (node(old), node(new)) for path, (old, new) in pairs.items()}

    def read(_: bytes, found: Node) -> bytes:
        return held[found.oid]

    return diff.in_full(changes, read, read, diff.exact_renames(changes), **options)  # type: ignore[arg-type]


def applied(old: bytes, file: FileDiff) -> bytes:
    """What the hunks make of the old bytes."""
    source = old.decode("utf-8", "surrogateescape").split("\n")
    out: list[str] = []
    at = 0
    for hunk in file.hunks:
        for line in hunk.lines:
            if line.kind in " -":
                assert line.old is not None
                out += source[at : line.old - 1]
                at = line.old
            if line.kind in " +":
                out.append(line.text)
    out += source[at:]
    return "\n".join(out).encode("utf-8", "surrogateescape")


@given(old=lines, new=lines)
def test_hunks_say_exactly_how_the_new_bytes_come_about(old: list[bytes], new: list[bytes]) -> None:
    before, after = b"\n".join([*old, b"end", b""]), b"\n".join([*new, b"end", b""])
    found = differing({b"f": (before, after)})
    if before == after:
        assert found[0].hunks == ()
    else:
        assert applied(before, found[0]) == after
        kinds = [line.kind for hunk in found[0].hunks for line in hunk.lines]
        assert (kinds.count("+"), kinds.count("-")) == (found[0].added, found[0].removed)


def test_names_that_a_patch_could_not_carry_are_kept() -> None:
    names = [b"x b/y b", b"tab\there", b"line\nfeed", b'q"uote', b"\xff\xfe", b" a", "ä".encode()]
    found = differing({name: (b"1\n", b"2\n") for name in names})
    assert {file.path for file in found} == set(names)
    assert all(len(file.hunks) == 1 and not file.problem for file in found)


def test_a_missing_final_line_feed_is_told() -> None:
    kinds = [line.kind for line in differing({b"f": (b"a", b"a\n")})[0].hunks[0].lines]
    assert kinds.count("\\") == 1
    long = b"x\n" * (PIECE - 1) + b"x"
    assert [line.kind for line in differing({b"f": (b"", long)})[0].hunks[0].lines[-2:]] == ["+", "\\"]


def test_a_moved_file_is_one_rename() -> None:
    found = differing({b"old": (b"same\n", None), b"new": (None, b"same\n")})
    assert [(file.path, file.old_path, file.status) for file in found] == [(b"new", b"old", "renamed")]


def test_a_file_that_moved_and_changed_is_told_on_both_of_its_names() -> None:
    lines = [b"line %d" % number for number in range(10)]
    old, new, other = b"\n".join(lines), b"\n".join([*lines[:9], b"new"]), b"\n".join(lines[:3])
    found = differing({b"a/old.py": (old, None), b"b/new.py": (None, new), b"c.py": (None, other), b"d": (None, b"\0")})
    assert {file.path: (file.status, file.notes) for file in found} == {
        b"a/old.py": ("deleted", ("moved to b/new.py and changed",)),
        b"b/new.py": ("added", ("moved from a/old.py and changed: 90% of its lines are the same",)),
        b"c.py": ("added", ()),
        b"d": ("added", ("binary, 1 byte",)),
    }


def test_a_file_is_like_one_other_at_most_and_few_words_are_like_nothing() -> None:
    lines = b"one\ntwo\nthree\nfour\nfive\n"
    found = differing({b"old": (lines, None), b"copy": (None, lines + b"six\n"), b"other": (None, lines + b"six\n7\n")})
    assert [file.path for file in found if any("moved" in note for note in file.notes)] == [b"copy", b"old"]
    short = differing({b"old": (b"{\n}\n", None), b"new": (None, b"{\n}\n\n")})
    assert not any(file.notes for file in short)


def test_binary_changes_are_told_in_words() -> None:
    found = differing({b"f": (b"\0a", b"\0bc")})[0]
    assert found.notes == ("binary, 2 bytes → 3 bytes",)
    assert found.hunks == ()
    large = differing({b"f": (b"\0" * 12_300, b"\0" * 1_250_000)})[0]
    assert large.notes == ("binary, 12.3 kB → 1.2 MB",)


def test_modes_links_and_kinds_are_told_in_words() -> None:
    held = {blob_id(data): data for data in (b"x", b"there", b"here")}
    changes: dict[bytes, tuple[Node | None, Node | None]] = {
        b"mode": (Node("file", 0o644, blob_id(b"x")), Node("file", 0o755, blob_id(b"x"))),
        b"shut": (Node("file", 0o644, blob_id(b"x")), Node("file", 0o600, blob_id(b"x"))),
        b"link": (Node("link", 0, blob_id(b"there")), Node("link", 0, blob_id(b"here"))),
        b"new": (None, Node("link", 0, blob_id(b"here"))),
        b"kind": (Node("file", 0o644, blob_id(b"x")), Node("link", 0, blob_id(b"here"))),
        b"folder": (None, Node("folder", 0o755, "")),
    }
    found = diff.in_full(changes, lambda _, n: held[n.oid], lambda _, n: held[n.oid], {})
    assert {file.path: (file.status, file.notes) for file in found} == {
        b"mode": ("mode", ("can be run now, mode 644 → 755",)),
        b"shut": ("mode", ("mode 644 → 600",)),
        b"link": ("modified", ("the link went to there, goes to here",)),
        b"new": ("added", ("a link to here",)),
        b"kind": ("type", ("was a file, is a link to here",)),
        b"folder": ("added", ("folder",)),
    }


def test_a_file_whose_bytes_are_gone_is_named_and_the_others_are_shown() -> None:
    good, bad = Node("file", 0o644, blob_id(b"1\n")), Node("file", 0o644, "0" * 40)

    def read(_: bytes, node: Node) -> bytes:
        if node is bad:
            raise OSError(5, "gone")
        return b"1\n"

    found = diff.in_full({b"bad": (None, bad), b"good": (None, good)}, read, read, {})
    assert [bool(file.problem) for file in found] == [True, False]


def test_white_space_can_be_passed_over_and_is_not_counted_then() -> None:
    found = differing({b"f": (b"a b\n", b"a   b\n")}, ignore_space=True)[0]
    assert (found.hunks, found.added, found.removed) == ((), 0, 0)


def test_a_long_hunk_is_parsed_in_pieces_to_the_same_lines() -> None:
    old = b"".join(b"line %d\n" % number for number in range(3 * PIECE))
    new = old.replace(b"7\n", b"seven\n")
    found = differing({b"f": (old, new), b"g": (b"", old)}, context=10_000)
    assert [len(file.hunks) for file in found] == [1, 1]
    assert applied(old, found[0]) == new
    assert found[0].hunks[0].header == f"@@ -1,{3 * PIECE} +1,{3 * PIECE} @@"
    assert [line.new for line in found[1].hunks[0].lines] == list(range(1, 3 * PIECE + 1))
    assert (found[1].added, found[1].removed) == (3 * PIECE, 0)


def test_the_lines_of_a_long_hunk_keep_their_numbers_past_a_missing_line_feed() -> None:
    old, new = (b"\n".join(b"%s %d" % (word, n) for n in range(3 * PIECE // 2)) for word in (b"old", b"new"))
    lines = differing({b"f": (old, new)})[0].hunks[0].lines
    for sign, numbers in (("-", [line.old for line in lines]), ("+", [line.new for line in lines])):
        told = [number for line, number in zip(lines, numbers, strict=True) if line.kind == sign]
        assert told == list(range(1, 3 * PIECE // 2 + 1))
    assert [line.kind for line in lines].count("\\") == 2


def test_many_hunks_are_parsed_in_pieces_to_the_same_hunks() -> None:
    old = b"".join(b"line %d\n" % number for number in range(9_000))
    new = old.replace(b"0\n", b"zero\n")
    (found,) = differing({b"f": (old, new)}, context=1)
    assert len(found.hunks) == 900
    assert applied(old, found) == new


def test_the_beginning_of_a_long_comparison_is_told_before_the_rest() -> None:
    told: list[list[FileDiff]] = []
    long = b"".join(b"line %d\n" % number for number in range(2 * PIECE))
    whole = differing({b"a": (b"", b"1\n"), b"b": (b"", long), b"c": (b"", b"2\n")}, begin=told.append)
    ((first, cut),) = told
    assert first == whole[0]
    assert cut.added == 2 * PIECE
    assert cut.hunks[0].lines == whole[1].hunks[0].lines[:PIECE]
    told.clear()
    differing({b"a": (b"", b"1\n"), b"b": (b"", b"2\n")}, begin=told.append)
    assert not told


def test_what_is_to_be_said_of_a_path_is_said_with_it() -> None:
    found = differing({b"f": (b"1\n", b"2\n")}, remarks=lambda path: (f"of {path.decode()}",))
    assert found[0].notes == ("of f",)


@given(old=st.binary(max_size=60), new=st.binary(max_size=60))
def test_counts_are_none_exactly_for_binary(old: bytes, new: bytes) -> None:
    assert (line_counts(old, new) is None) == (is_binary(old) or is_binary(new))


def test_a_merge_takes_both_sides_and_refuses_overlaps() -> None:
    base = b"".join(b"line %d\n" % number for number in range(9))
    mine, theirs = base.replace(b"line 1\n", b"mine\n"), base.replace(b"line 7\n", b"theirs\n")
    assert merge(base, mine, theirs) == base.replace(b"line 1\n", b"mine\n").replace(b"line 7\n", b"theirs\n")
    assert merge(base, mine, base.replace(b"line 1\n", b"other\n")) is None
    assert merge(b"\0", b"\0a", b"\0b") is None
