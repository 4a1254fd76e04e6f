"""Packages whose names are imported when they are first used: what is only listed costs no torch."""

import importlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any


def lazily(package: str, places: Mapping[str, Iterable[str]]) -> Callable[[str], Any]:
    """The `__getattr__` of a package.

    Args:
        package: Its `__name__`.
        places: Modules, each with the names that it gives; a module of the package gives its own name as well.
    """
    module_of = {name: module for module, names in places.items() for name in names}

    def get(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = importlib.import_module(module_of[name])
        return module if module_of[name] == f"{package}.{name}" else getattr(module, name)

    return get
