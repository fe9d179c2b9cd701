"""libgit2's binding, imported when something of it is used: that takes as long as a whole first look at a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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


def _opened() -> Any:
    """The module, cut off from every configuration but that of our stores."""
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
