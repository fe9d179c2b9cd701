"""Sessions in files: OpenCode's JSON storage of before the database, and exports, as forks of ours wait in.

    storage/session/<project>/<session>.json, message/<session>/<message>.json, part/<message>/<part>.json
    project/<folder>/storage/session/{info/<session>.json, message/<session>/…, part/<session>/<message>/…}   (older)

The import into the database leaves the files behind: a session that is in both is read from the database.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from io import BytesIO

import msgspec

from ..forms.jsonl import parse
from ..forms.plain import items, string, table
from ..forms.regular import names_in, open_regular
from .records import Json, dumped, message_line, part_line, problem_line, session_line

ENDING = ".json"


def session_files(data_home: str) -> Iterator[str]:
    """The file of every session of the JSON storage."""
    top = os.path.join(data_home, "storage", "session")
    for project in names_in(top):
        yield from _json_files(os.path.join(top, project))
    older = os.path.join(data_home, "project")
    for project in names_in(older):
        yield from _json_files(os.path.join(older, project, "storage", "session", "info"))


def session_info(file: str) -> Json:
    """The session's record; {} when it cannot be read."""
    try:
        with open_regular(file) as stream:
            return parse(stream.read())
    except OSError:
        return {}


def beginning(file: str) -> tuple[bytes, bytes]:
    """The first message of a session and its first part, b"" where there is none."""
    for message, _ in _messages(file)[:1]:
        parts = list(_parts(file, message))
        return _read(os.path.join(_message_folder(file), message + ENDING)), parts[0][1] if parts else b""
    return b"", b""


def folder_of(file: str) -> str:
    """The folder that an old session was started in, which its own record does not tell: its answers do."""
    for message, _ in _messages(file):
        path = parse(_read(os.path.join(_message_folder(file), message + ENDING))).get("path")
        if cwd := string(table(path), "cwd"):
            return cwd
    return ""


def size(file: str) -> int:
    """Bytes of a session's messages; those of its parts are not counted."""
    folder = _message_folder(file)
    found = 0
    for name in names_in(folder):
        try:
            found += os.stat(os.path.join(folder, name)).st_size
        except OSError:
            continue
    return found


def content(file: str) -> BytesIO:
    """A session of the JSON storage as lines (`records.py`). Raises OSError when its file cannot be read."""
    made = BytesIO()
    with open_regular(file) as stream:
        info = parse(stream.read())
    if not info:
        made.write(problem_line("the session's record cannot be read"))
    made.write(session_line({"id": os.path.basename(file).removesuffix(ENDING), **info}))
    for message, data in _messages(file):
        made.write(message_line(message, data))
        for part, inner in _parts(file, message):
            made.write(part_line(part, message, inner))
    made.seek(0)
    return made


def stamp(file: str) -> tuple[int, int]:
    """How many files a session has, and when the newest of them or of their folders was written."""
    count, newest = 0, 0
    folders = [_message_folder(file), *(_part_folder(file, message) for message, _ in _messages(file, read=False))]
    paths = [file, *folders, *(os.path.join(folder, name) for folder in folders for name in names_in(folder))]
    for path in paths:
        try:
            newest = max(newest, os.stat(path).st_mtime_ns)
            count += 1
        except OSError:
            continue
    return (count, newest) if os.path.exists(file) else (0, 0)


def exported(file: str) -> BytesIO:
    """An export as lines. Raises OSError when it cannot be read."""
    made = BytesIO()
    with open_regular(file) as stream:
        whole = parse(stream.read())
    if not whole:
        made.write(problem_line("this is no export of a session"))
    made.write(session_line({"id": os.path.basename(file).removesuffix(ENDING), **table(whole.get("info"))}))
    for message in map(table, items(whole.get("messages"))):
        head = table(message.get("info"))
        made.write(message_line(string(head, "id"), dumped(head)))
        for part in map(table, items(message.get("parts"))):
            made.write(part_line(string(part, "id"), string(head, "id"), dumped(part)))
    made.seek(0)
    return made


def _messages(file: str, *, read: bool = True) -> list[tuple[str, bytes]]:
    """Id and JSON of the messages of a session, in OpenCode's own order."""
    folder = _message_folder(file)
    names = sorted(name.removesuffix(ENDING) for name in names_in(folder) if name.endswith(ENDING))
    if not read:
        return [(name, b"") for name in names]
    found = [(name, _read(os.path.join(folder, name + ENDING))) for name in names]
    return sorted(found, key=lambda item: (_created(item[1]), item[0]))


def _parts(file: str, message: str) -> Iterator[tuple[str, bytes]]:
    folder = _part_folder(file, message)
    for name in names_in(folder):
        if name.endswith(ENDING):
            yield name.removesuffix(ENDING), _read(os.path.join(folder, name))


def _message_folder(file: str) -> str:
    session = os.path.basename(file).removesuffix(ENDING)
    above = os.path.dirname(file)
    if os.path.basename(above) == "info":
        return os.path.join(os.path.dirname(above), "message", session)
    return os.path.join(os.path.dirname(os.path.dirname(above)), "message", session)


def _part_folder(file: str, message: str) -> str:
    session = os.path.basename(file).removesuffix(ENDING)
    above = os.path.dirname(file)
    if os.path.basename(above) == "info":
        return os.path.join(os.path.dirname(above), "part", session, message)
    return os.path.join(os.path.dirname(os.path.dirname(above)), "part", message)


def _created(data: bytes) -> float:
    created = table(parse(data).get("time")).get("created")
    return created if isinstance(created, int | float) else 0


def _read(file: str) -> bytes:
    """A file's JSON; where it is none, a text that holds what is there."""
    try:
        with open_regular(file) as stream:
            data = stream.read()
    except OSError as error:
        return dumped(f"cannot be read: {error.strerror}")
    try:
        msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        plain = parse(data)
        return dumped(plain) if plain else dumped(data.decode("utf-8", "replace"))
    return data


def _json_files(folder: str) -> list[str]:
    return sorted(os.path.join(folder, name) for name in names_in(folder) if name.endswith(ENDING))
