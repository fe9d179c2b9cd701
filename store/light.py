"""Stand-ins for parts of the standard library whose import would take a hook or a save longer than its work.

Python itself starts in ten milliseconds. typing, pathlib, contextlib and what they import take another thirty, and of
all that these few things are needed. Type checkers see the originals.
"""

from __future__ import annotations

import os

__all__ = [
    "Callable",
    "Collection",
    "ContextVar",
    "ExitStack",
    "Generator",
    "Iterable",
    "Iterator",
    "Mapping",
    "NamedTuple",
    "Path",
    "Protocol",
    "Sequence",
    "TypeVar",
    "attrgetter",
    "blake2b",
    "cast",
    "contextmanager",
    "lru_cache",
    "suppress",
]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
    from contextlib import ExitStack, contextmanager, suppress
    from contextvars import ContextVar
    from functools import lru_cache
    from hashlib import blake2b
    from operator import attrgetter
    from pathlib import Path
    from typing import NamedTuple, Protocol, TypeVar, cast
else:
    from _collections_abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence

    # What begins with "_" is CPython's own: elsewhere the originals serve, only slower.
    try:
        from _operator import attrgetter, itemgetter
    except ImportError:
        from operator import attrgetter, itemgetter
    try:
        from _collections import _tuplegetter
    except ImportError:

        def _tuplegetter(place, told):
            return property(itemgetter(place), doc=told)

    try:
        from _functools import _lru_cache_wrapper

        def lru_cache(maxsize):
            """functools.lru_cache."""
            return lambda function: _lru_cache_wrapper(function, maxsize, False, tuple)
    except ImportError:
        from functools import lru_cache
    try:
        from _contextvars import ContextVar
    except ImportError:
        from contextvars import ContextVar
    try:
        from _blake2 import blake2b
    except ImportError:
        from hashlib import blake2b

    class Protocol:
        """typing.Protocol, for annotations."""

    def TypeVar(name, *bounds, **more):
        """typing.TypeVar, for annotations."""
        return name

    def cast(kind, value):
        """typing.cast."""
        return value

    class _Fields(type):
        """Makes a class with annotated fields a tuple with names, as typing.NamedTuple does."""

        def __new__(mcs, name, bases, body):
            if not bases:
                return super().__new__(mcs, name, bases, body)
            fields = tuple(body.get("__annotations__", {}))
            defaults = {field: body.pop(field) for field in fields if field in body}
            body.update((field, _tuplegetter(place, "")) for place, field in enumerate(fields))
            body.update(__slots__=(), _fields=fields, __match_args__=fields, _field_defaults=defaults)
            body.setdefault("__new__", _maker(name, fields, defaults))
            return type(name, (_Named,), body)

    def _maker(name, fields, defaults):
        count, known, new = len(fields), frozenset(fields), tuple.__new__

        def __new__(cls, *values, **named):
            if len(values) == count and not named:
                return new(cls, values)
            rest = fields[len(values) :]
            if len(values) > count or not known.issuperset(named) or not named.keys().isdisjoint(fields[: len(values)]):
                raise TypeError(f"{name}: unexpected or repeated fields")
            try:
                return new(cls, (*values, *[named[at] if at in named else defaults[at] for at in rest]))
            except KeyError as missing:
                raise TypeError(f"{name}: missing field {missing}") from None

        return __new__

    class _Named(tuple):
        """What all of them can do."""

        __slots__ = ()
        _fields = ()

        @classmethod
        def _make(cls, values):
            return tuple.__new__(cls, values)

        def _replace(self, **changes):
            made = tuple.__new__(
                type(self), [changes.pop(name, value) for name, value in zip(self._fields, self, strict=True)]
            )
            if changes:
                raise ValueError(f"Got unexpected field names: {list(changes)!r}")
            return made

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self):
            inner = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
            return f"{type(self).__name__}({inner})"

        def __getnewargs__(self):
            return tuple(self)

    class NamedTuple(metaclass=_Fields):
        """typing.NamedTuple."""

    class suppress:
        """contextlib.suppress."""

        def __init__(self, *kinds):
            self._kinds = kinds

        def __enter__(self):
            return None

        def __exit__(self, kind, error, trace):
            return kind is not None and issubclass(kind, self._kinds)

    class _Managed:
        """One use of a generator as a context manager."""

        def __init__(self, generator):
            self._generator = generator

        def __enter__(self):
            return next(self._generator)

        def __exit__(self, kind, error, trace):
            if kind is None:
                try:
                    next(self._generator)
                except StopIteration:
                    return False
                raise RuntimeError("generator didn't stop")
            try:
                self._generator.throw(error)
            except StopIteration as stop:
                return stop is not error
            except BaseException as raised:
                if raised is error or (isinstance(error, StopIteration) and raised.__cause__ is error):
                    error.__traceback__ = trace
                    return False
                raise
            raise RuntimeError("generator didn't stop after throw()")

    def contextmanager(function):
        """contextlib.contextmanager."""

        def made(*arguments, **named):
            return _Managed(function(*arguments, **named))

        made.__doc__, made.__name__, made.__wrapped__ = function.__doc__, function.__name__, function
        return made

    class ExitStack:
        """contextlib.ExitStack."""

        def __init__(self):
            self._exits = []

        def __enter__(self):
            return self

        def enter_context(self, manager):
            entered = manager.__enter__()
            self._exits.append(manager.__exit__)
            return entered

        def callback(self, function, *arguments):
            self._exits.append(lambda *told: bool(function(*arguments)) and False)

        def __exit__(self, kind, error, trace):
            before, handled = error, False
            while self._exits:
                try:
                    if self._exits.pop()(type(error) if error is not None else None, error, trace):
                        error, trace, handled = None, None, True
                except BaseException as raised:
                    error, trace, handled = raised, raised.__traceback__, False
            if error is not None and error is not before:
                raise error
            return handled

    class Path:
        """The part of pathlib.Path that the store uses all the time; the rest is asked of the original."""

        __slots__ = ("_path",)

        def __init__(self, *parts):
            self._path = os.path.join(*map(os.fspath, parts)) if parts else "."

        def __fspath__(self):
            return self._path

        __str__ = __fspath__

        def __repr__(self):
            return f"Path({self._path!r})"

        def __truediv__(self, other):
            return Path(self._path, other)

        def __eq__(self, other):
            return self._path == os.fspath(other) if hasattr(other, "__fspath__") else NotImplemented

        def __lt__(self, other):
            return self._path < os.fspath(other)

        def __hash__(self):
            return hash(self._path)

        def __getattr__(self, name):
            return getattr(_pathlib().Path(self._path), name)

        def __reduce__(self):
            return Path, (self._path,)

        @property
        def parent(self):
            return Path(os.path.dirname(self._path))

        @property
        def name(self):
            return os.path.basename(self._path)

        @property
        def suffix(self):
            return os.path.splitext(self._path)[1]

        def with_suffix(self, suffix):
            return Path(os.path.splitext(self._path)[0] + suffix)

        def exists(self):
            return os.path.exists(self._path)

        def iterdir(self):
            return (Path(self._path, name) for name in os.listdir(self._path))

        def read_bytes(self):
            with open(self._path, "rb") as stream:
                return stream.read()

        def read_text(self, encoding="utf-8"):
            with open(self._path, encoding=encoding) as stream:
                return stream.read()

        def write_text(self, text, encoding="utf-8"):
            with open(self._path, "w", encoding=encoding) as stream:
                return stream.write(text)

        def unlink(self, missing_ok=False):
            try:
                os.unlink(self._path)
            except FileNotFoundError:
                if not missing_ok:
                    raise

        def mkdir(self, mode=0o777, parents=False, exist_ok=False):
            if parents or exist_ok:
                _pathlib().Path(self._path).mkdir(mode, parents, exist_ok)
            else:
                os.mkdir(self._path, mode)

        def chmod(self, mode):
            os.chmod(self._path, mode)

    def _pathlib():
        import pathlib

        return pathlib
