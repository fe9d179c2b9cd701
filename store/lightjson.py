"""json.loads and json.dumps without the import of json, whose regular expressions take longer than a small save."""

from __future__ import annotations

from .light import TYPE_CHECKING

__all__ = ["dumps", "loads"]

if TYPE_CHECKING:
    from json import dumps, loads
else:
    try:
        from _json import encode_basestring_ascii, make_scanner
    except ImportError:
        from json import dumps, loads
    else:
        SPACE = " \t\n\r"

        class _Context:
            """What the scanner asks of a json.JSONDecoder."""

            strict = True
            object_hook = object_pairs_hook = None
            parse_float, parse_int = float, int
            parse_constant = staticmethod(float)

        def loads(data):
            """Reads JSON from a string or UTF-8 bytes. Raises ValueError."""
            text = data if isinstance(data, str) else str(data, "utf-8", "surrogatepass")
            begin = len(text) - len(text.lstrip(SPACE))
            try:
                value, end = make_scanner(_Context())(text, begin)
            except (StopIteration, SystemError):
                # Without json.decoder the scanner knows no error to raise, and Python says so of it.
                raise ValueError("not JSON") from None
            if text[end:].strip(SPACE):
                raise ValueError("something follows the JSON")
            return value

        def dumps(value, *, ensure_ascii=True, indent=None):
            """Writes plain values as json does, in ASCII. Raises TypeError."""
            return "".join(_pieces(value, indent, 0))

        def _pieces(value, indent, level):
            if isinstance(value, str):
                yield encode_basestring_ascii(value)
            elif value is None or value is True or value is False:
                yield {None: "null", True: "true", False: "false"}[value]
            elif isinstance(value, int):
                yield int.__repr__(value)
            elif isinstance(value, float):
                yield _number(value)
            elif isinstance(value, dict):
                items = ((f"{encode_basestring_ascii(key)}: ", inner) for key, inner in value.items())
                yield from _list("{}", items, len(value), indent, level)
            elif isinstance(value, (list, tuple)):
                yield from _list("[]", (("", inner) for inner in value), len(value), indent, level)
            else:
                raise TypeError(f"{type(value).__name__} is not JSON")

        def _list(signs, items, count, indent, level):
            yield signs[0]
            outer = inner = ""
            if indent is not None and count:
                outer, inner = "\n" + " " * indent * level, "\n" + " " * indent * (level + 1)
            comma = "," if indent is not None else ", "
            for number, (key, value) in enumerate(items):
                yield f"{comma if number else ''}{inner}{key}"
                yield from _pieces(value, indent, level + 1)
            yield f"{outer}{signs[1]}"

        def _number(value):
            if value - value == 0:
                return float.__repr__(value)
            return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
