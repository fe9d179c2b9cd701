"""`python -m tests.lab`: installs the agents that the tests run, each if it is not there yet, and says which are."""

from __future__ import annotations

import importlib
import os
import pkgutil

from . import __path__ as here
from . import npm


def main() -> None:
    cache = npm.cache_folder(os.environ)
    for module in pkgutil.iter_modules(here):
        if module.name == "__main__":
            continue
        agent = importlib.import_module(f"{__package__}.{module.name}")
        if (install := getattr(agent, "install", None)) is None or agent is npm:
            continue
        program, why = install(cache)
        print(f"{module.name}: {'there' if program else why}", flush=True)


if __name__ == "__main__":
    main()
