"""JSON changed as text: whatever the layout, what was put in comes out to the byte."""

from __future__ import annotations

import json

import pytest
from forkpoint.store import jsontext
from forkpoint.store.jsontext import NotJson
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

BLANK = st.sampled_from(["", "", " ", "\n", "\n  ", "\r\n\t", " /* c */ ", " // c, ] }\n", "\n\n"])
KEYS = st.one_of(st.sampled_from(["a", "b", ""]), st.text(max_size=4))
SCALARS = st.one_of(
    st.sampled_from(["1", "-0.5e3", "true", "null", '"\\ud83d\\n"']),
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=5).map(json.dumps),
)


@st.composite
def container(draw: st.DrawFn, inner: SearchStrategy[str], brackets: str) -> str:
    parts: list[str] = []
    for value in draw(st.lists(inner, max_size=3)):
        key = f"{json.dumps(draw(KEYS))}{draw(BLANK)}:" if brackets == "{}" else ""
        parts.append(draw(BLANK) + key + draw(BLANK) + value + draw(BLANK))
    body = ",".join(parts)
    if parts and draw(st.booleans()):
        body += "," + draw(BLANK)
    return brackets[0] + (body or draw(BLANK)) + brackets[1]


VALUES = st.recursive(SCALARS, lambda v: container(v, "[]") | container(v, "{}"), max_leaves=6)
ADDED = st.recursive(
    st.none() | st.integers() | st.text(max_size=4),
    lambda v: st.lists(v, max_size=2) | st.dictionaries(st.text(max_size=3), v, max_size=2),
    max_leaves=4,
)


@given(VALUES)
@settings(max_examples=200, deadline=None)
def test_the_scanner_reads_what_json_reads(text: str) -> None:
    try:
        expected = json.loads(text)
    except ValueError:  # comments and trailing commas are more than JSON
        jsontext.parse(text)
        with pytest.raises(NotJson):
            jsontext.parse(text, comments=False, trailing_commas=False)
    else:
        assert jsontext.plain(jsontext.parse(text)) == expected
        assert jsontext.plain(jsontext.parse(text, comments=False, trailing_commas=False)) == expected


@given(container(VALUES, "{}"), ADDED, st.sampled_from(["", "\n", "\r\n"]))
@settings(max_examples=200, deadline=None)
def test_a_member_that_was_put_in_comes_out_to_the_byte(text: str, value: object, eol: str) -> None:
    lead = f"{eol}  " if eol else " "
    part = f'"ours": {jsontext.dump(value, eol=eol, unit="  ", depth=1)}'
    after = jsontext.apply(text, jsontext.added(text, jsontext.parse(text), [part], lead))
    found = jsontext.plain(jsontext.parse(after))
    assert isinstance(found, dict)
    assert found.pop("ours") == value
    assert found == jsontext.plain(jsontext.parse(text))
    assert jsontext.apply(after, jsontext.without(after, [["ours"]])) == text


@given(container(VALUES, "[]"), st.lists(ADDED, min_size=1, max_size=3), st.sampled_from(["", "\n"]))
@settings(max_examples=200, deadline=None)
def test_elements_that_were_put_in_come_out_to_the_byte(text: str, values: list[object], eol: str) -> None:
    node = jsontext.parse(text)
    parts = [jsontext.dump(value, eol=eol, unit="\t", depth=1) for value in values]
    after = jsontext.apply(text, jsontext.added(text, node, parts, f"{eol}\t" if eol else " "))
    found = jsontext.plain(jsontext.parse(after))
    assert found == [*_elements(jsontext.plain(node)), *values]
    ours = [[len(node.children) + number] for number in range(len(values))]
    assert jsontext.apply(after, jsontext.without(after, ours)) == text


def _elements(value: object) -> list[object]:
    assert isinstance(value, list)
    return value


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"a": 1,\n"b" 2}', "a missing colon in line 2"),
        ("{a: 1}", "a member without a name in quotes in line 1"),
        ("[1 2]", "a missing comma or ] in line 1"),
        ('["x\n"]', "a string that does not end or holds a control character in line 1"),
        ("[\n\n/* ", "a comment that does not end in line 3"),
        ("[01]", "something that is no value in line 1"),
        ("[NaN]", "something that is no value in line 1"),
        ("1 2", "something stands behind the end in line 1"),
        ("", "something that is no value in line 1"),
    ],
)
def test_what_is_no_json_says_what_and_where(text: str, says: str) -> None:
    with pytest.raises(NotJson, match=says.replace("(", r"\(").replace("]", r"\]")):
        jsontext.parse(text)


def test_a_comment_of_the_person_s_is_not_taken_along() -> None:
    text = '{\n  "a": 1, // one\n  /* two */ "ours": 2,\n  "b": 3\n}'
    rest = jsontext.apply(text, jsontext.without(text, [["ours"]]))
    assert jsontext.plain(jsontext.parse(rest)) == {"a": 1, "b": 3}
    assert "// one" in rest
    assert "/* two */" in rest


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ('{\n  "a": 1 // one\n}', '{\n  "a": 1, // one\n  "ours": 2\n}'),
        ('{\r\n  "a": 1 // one\r\n}', '{\r\n  "a": 1, // one\r\n  "ours": 2\r\n}'),
        ('{\n  "a": 1, // one\n}', '{\n  "a": 1, // one\n  "ours": 2,\n}'),
        (
            '{\n  "a": 1 /* one */ // more\n  // "b": 3\n}',
            '{\n  "a": 1, /* one */ // more\n  "ours": 2\n  // "b": 3\n}',
        ),
    ],
)
def test_a_comment_stays_beside_what_it_is_about(text: str, after: str) -> None:
    lead = jsontext.line_end(text) + "  "
    assert jsontext.apply(text, jsontext.added(text, jsontext.parse(text), ['"ours": 2'], lead)) == after
    assert jsontext.apply(after, jsontext.without(after, [["ours"]])) == text


def test_what_follows_on_the_line_of_ours_does_not_become_a_comment() -> None:
    text = '{\n  "a": 1, // one\n  "ours": 2, "b": 3\n}'
    rest = jsontext.apply(text, jsontext.without(text, [["ours"]]))
    assert jsontext.plain(jsontext.parse(rest)) == {"a": 1, "b": 3}


@pytest.mark.parametrize(("text", "comments", "commas"), [('{"a": 1,}', False, True), ("{} // c", True, False)])
def test_comments_and_trailing_commas_are_allowed_one_by_one(text: str, comments: bool, commas: bool) -> None:
    jsontext.parse(text, comments=comments, trailing_commas=commas)
    with pytest.raises(NotJson):
        jsontext.parse(text, comments=not comments, trailing_commas=not commas)
