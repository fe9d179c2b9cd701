"""libgit2's binding, imported when something of it is used: that takes as long as a whole first look at a session."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import pygit2 as pygit2
else:

    class _Later:
        """Stands for the module; what was asked for once is at hand from then on."""

        def __getattr__(self, name: str) -> Any:
            module = _opened()
            found = getattr(module, name)
            setattr(self, name, found)
            return found

    pygit2 = _Later()


class _Trusted(NamedTuple):
    """Where certificates would be looked up; we open no connection."""

    cafile: str | None = None
    capath: str = os.sep


@contextmanager
def _without_what_only_the_network_needs() -> Generator[None]:
    """Keeps the binding from importing `ssl` and `tarfile` in this block: two fifths of the time that it takes.

    Where they are there already, or where another thread may ask for them, all is as usual.
    """
    left_out: dict[str, dict[str, Any]] = {
        "ssl": {"DefaultVerifyPaths": _Trusted, "get_default_verify_paths": _Trusted},
        "tarfile": {"TarFile": object},
    }
    stand_ins: list[str] = []
    if threading.active_count() == 1 and not left_out.keys() & sys.modules.keys():
        for name, holds in left_out.items():
            sys.modules[name] = ModuleType(name)
            sys.modules[name].__dict__.update(holds)
            stand_ins.append(name)
    try:
        yield
    finally:
        for name in stand_ins:
            del sys.modules[name]


def _opened() -> Any:
    """The module, cut off from every configuration but that of our stores."""
    with _without_what_only_the_network_needs():
        import pygit2 as module
    from pygit2.enums import ConfigLevel

    # Whose the store is says nothing: it was chosen by its path, and a container's root reads what its host's person
    # wrote.
    module.settings.owner_validation = False
    for level in (ConfigLevel.SYSTEM, ConfigLevel.XDG, ConfigLevel.GLOBAL, ConfigLevel.PROGRAMDATA):
        module.settings.search_path[level] = ""
    # Packs kept open at a time: a checkpoint is a pack, and a process may have as few as 256 files open (macOS).
    module.settings.mwindow_file_limit = 32
    # Bytes of packs that are mapped at a time: they count as memory of ours.
    module.settings.mwindow_size = 1 << 20
    module.settings.mwindow_mapped_limit = 16 << 20
    # Bytes of objects that libgit2 keeps in memory; its own limit is 256 MB.
    module.settings.cache_max_size(16 << 20)
    return module
