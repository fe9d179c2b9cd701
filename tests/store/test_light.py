"""The stand-ins do what the originals do, in all that the store asks of them."""

from __future__ import annotations

import contextlib
import json
import pathlib
import pickle
import subprocess
import sys
import typing
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from forkpoint.store import light, lightjson
from forkpoint.store.walk.statindex import Index
from hypothesis import example, given
from hypothesis import strategies as st

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(PLAIN, st.sampled_from([None, 0, 1, 2]))
@example("\ud800 \x7f é \U0001f600", None)
def test_json_is_written_and_read_as_the_original_does(value: Any, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    assert lightjson.dumps(value, indent=indent) == text
    assert repr(lightjson.loads(text)) == repr(json.loads(text))
    assert repr(lightjson.loads(f" \n{text}\t ".encode())) == repr(json.loads(text))


@pytest.mark.parametrize("text", ["", "{", "[1,]", '{"a" 1}', "nul", "1 2", "{} x", '"\n"', '"\\u12"', "+1", "01"])
def test_what_the_original_takes_for_no_json_is_none(text: str) -> None:
    with pytest.raises(ValueError):
        json.loads(text)
    with pytest.raises(ValueError):
        lightjson.loads(text)


def test_what_is_no_json_is_refused_where_the_original_was_never_imported() -> None:
    script = """
import sys
from forkpoint.store import lightjson
for text in ("", "{", "[1", '{"a"', '{"a":1,', '"abc', '{"a":"\\\\u12"}', "{} x"):
    try:
        lightjson.loads(text)
    except ValueError:
        continue
    sys.exit(f"{text} was taken")
sys.exit("json was imported" if "json" in sys.modules else 0)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_is_no_plain_value_is_refused_by_both() -> None:
    for module in (json, lightjson):
        with pytest.raises(TypeError):
            module.dumps({"a": object()})


def _pairs(module: Any) -> Any:
    class Pair(module.NamedTuple):
        first: int
        second: str = "two"

        @property
        def both(self) -> str:
            return f"{self.first}{self.second}"

    return Pair


@pytest.mark.parametrize("module", [typing, light], ids=["original", "stand-in"])
def test_a_named_tuple_is_made_read_changed_and_told(module: ModuleType) -> None:
    kind = _pairs(module)
    pair = kind(1)
    assert pair == (1, "two") and (pair.first, pair.second, pair.both) == (1, "two", "1two")
    assert kind(first=3, second="x") == kind(3, "x") == kind._make([3, "x"])
    assert pair._replace(second="new") == (1, "new")
    assert pair._asdict() == {"first": 1, "second": "two"} and kind._fields == ("first", "second")
    assert repr(pair).endswith("Pair(first=1, second='two')")
    assert tuple in kind.__mro__ and hash(pair) == hash((1, "two"))
    for wrong in (kind, lambda: kind(1, "a", 2), lambda: kind(1, third=3), lambda: kind(1, first=1)):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises((ValueError, TypeError)):
        pair._replace(third=3)
    with pytest.raises(AttributeError):
        pair.first = 2


def test_a_named_tuple_of_the_store_can_be_pickled() -> None:
    index = Index(tree="a" * 40)
    assert pickle.loads(pickle.dumps(index)) == index


class Broken(Exception):
    """What goes wrong in these tests."""


def _story(module: Any, body: str, end: str) -> list[str]:
    """What happens, step by step, when a managed block and its end go wrong or do not."""
    told: list[str] = []

    @module.contextmanager
    def managed(name: str) -> Iterator[str]:
        told.append(f"enter {name}")
        try:
            yield name
        except Broken:
            told.append(f"{name} saw it")
            if end == "swallows":
                return
            if end == "changes":
                raise KeyError(name) from None
            raise
        finally:
            told.append(f"leave {name}")

    try:
        with module.ExitStack() as stack:
            stack.callback(told.append, "called back")
            told.append(stack.enter_context(managed("one")))
            with module.suppress(OSError, ValueError):
                stack.enter_context(managed("two"))
                if body == "suppressed":
                    raise FileNotFoundError
            if body == "raises":
                raise Broken
            told.append("body ended")
    except BaseException as error:
        told.append(repr(error))
    return told


@pytest.mark.parametrize("end", ["raises on", "swallows", "changes"])
@pytest.mark.parametrize("body", ["ends", "raises", "suppressed"])
def test_managed_blocks_end_as_with_contextlib(body: str, end: str) -> None:
    assert _story(light, body, end) == _story(contextlib, body, end)


@pytest.mark.parametrize("kind", [pathlib.Path, light.Path], ids=["original", "stand-in"])
def test_a_path_answers_as_a_path(kind: Any, tmp_path: Path) -> None:
    top = kind(str(tmp_path))
    file = top / "a b" / "file.txt"
    file.parent.mkdir()
    file.write_text("one\n")
    assert (file.exists(), file.read_bytes(), file.read_text()) == (True, b"one\n", "one\n")
    assert (file.name, file.suffix, str(file.parent)) == ("file.txt", ".txt", str(tmp_path / "a b"))
    assert str(file.with_suffix(".new")) == str(tmp_path / "a b" / "file.new")
    assert [str(path) for path in file.parent.iterdir()] == [str(file)]
    assert [str(path) for path in top.glob("*/*.txt")] == [str(file)]
    assert file == kind(str(file)) and hash(file) == hash(kind(str(file))) and file != kind(str(top))
    assert sorted([file, top]) == [top, file] and f"{file}" == str(file)
    assert file.stat().st_size == 4 and file.is_file() and pickle.loads(pickle.dumps(file)) == file
    file.unlink()
    file.unlink(missing_ok=True)
    with pytest.raises(FileNotFoundError):
        file.unlink()
    with pytest.raises(FileExistsError):
        file.parent.mkdir()
    (top / "deep" / "er").mkdir(parents=True, exist_ok=True)


def test_a_path_and_its_stand_in_are_equal(tmp_path: Path) -> None:
    assert light.Path(str(tmp_path)) == tmp_path and tmp_path == light.Path(str(tmp_path))


def test_another_python_without_cpythons_own_modules_gets_the_originals() -> None:
    program = """
import builtins, sys
real = builtins.__import__
def hidden(name, *more):
    ours = "light" in sys._getframe(1).f_code.co_filename
    if ours and name in ("_collections", "_functools", "_blake2", "_operator", "_json"):
        raise ImportError(name)
    return real(name, *more)
builtins.__import__ = hidden
from forkpoint.store import light, lightjson
class Pair(light.NamedTuple):
    first: int
    second: int = 2
print(Pair(1).second, light.lru_cache(maxsize=1)(len)("abc"), light.blake2b(b"").digest_size, lightjson.loads("[1]"))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("2 3 64 [1]\n", "")
