"""What is imported when it is first used: names of a package, modules of a registry, libraries of our extras."""

import ast
import contextlib
import functools
import importlib
import importlib.util
import inspect
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from multiway.errors import ConfigError


def lazily(package: str) -> Callable[[str], Any]:
    """The `__getattr__` of a package: it imports what the package's file lists under `if TYPE_CHECKING`."""

    @functools.cache
    def origins() -> dict[str, tuple[str, str]]:
        return dict(_listed(ast.parse(inspect.getsource(sys.modules[package]))))

    def get(name: str) -> Any:
        if name.startswith("__") or name not in origins():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, original = origins()[name]
        if module == package:
            return importlib.import_module(f"{package}.{original}")
        return getattr(importlib.import_module(module), original)

    return get


def _listed(tree: ast.Module) -> Iterator[tuple[str, tuple[str, str]]]:
    """Names under `if TYPE_CHECKING`, each with its module and its name there."""
    for block in tree.body:
        if isinstance(block, ast.If) and getattr(block.test, "id", "") == "TYPE_CHECKING":
            for line in block.body:
                if isinstance(line, ast.ImportFrom) and line.module:
                    yield from ((alias.asname or alias.name, (line.module, alias.name)) for alias in line.names)


_EXTENSIONS: dict[str, dict[str, str]] = {}


def extend(registry: str, module: str, name: str = "") -> None:
    """Name a module that adds to a registry below it, which never imports it; the module does so as it is imported.

    Args:
        registry: What it adds to.
        module: Where it stands.
        name: Under which the registry knows it, where it looks for one module alone.
    """
    extensions(registry)[name or module] = module


def extensions(registry: str) -> dict[str, str]:
    """Modules that add to a registry, by the names under which it knows them."""
    return _EXTENSIONS.setdefault(registry, {})


def load_extensions(registry: str) -> None:
    """Import what adds to a registry: it does so itself, when it misses a name or lists all of them."""
    for module in extensions(registry).values():
        importlib.import_module(module)


def is_installed(name: str) -> bool:
    """Whether a library can be imported, without importing it."""
    return importlib.util.find_spec(name) is not None


def load_extra(name: str, purpose: str, extra: str) -> Any:
    """Import a library of an extra."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise missing(name.split(".")[0], purpose, extra) from None


def missing(package: str, purpose: str, extra: str) -> ConfigError:
    """The error that says which extra to install."""
    return ConfigError(f"{purpose} needs {package}, which is not installed. Run `pip install 'multiway[{extra}]'`.")


@contextlib.contextmanager
def silenced(logger: str) -> Iterator[None]:
    """Drop what a library warns of and logs while it reads a file; what matters is checked and raised by us."""
    import logging  # what starts the command line needs none

    log = logging.getLogger(logger)
    was = log.disabled
    log.disabled = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.disabled = was
