"""What is imported when it is first used: names of a package, modules of a registry, libraries of our extras."""

import ast
import contextlib
import functools
import importlib
import importlib.util
import inspect
import pkgutil
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from multiway.errors import ConfigError


def lazily(package: str, registry: str = "") -> Callable[[str], Any]:
    """The `__getattr__` of a package: it imports what the package's file lists under `if TYPE_CHECKING`.

    Args:
        package: Its name.
        registry: One whose extensions are names of the package as well.
    """

    @functools.cache
    def origins() -> dict[str, tuple[str, str]]:
        return dict(_list_names(ast.parse(inspect.getsource(sys.modules[package]))))

    def get(name: str) -> Any:
        if registry and not name.startswith("_") and name not in origins() and name in extensions(registry):
            return load_extension(registry, name)
        if name.startswith("__") or name not in origins():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, original = origins()[name]
        if module == package:
            return importlib.import_module(f"{package}.{original}")
        return getattr(importlib.import_module(module), original)

    return get


def _list_names(tree: ast.Module) -> Iterator[tuple[str, tuple[str, str]]]:
    """Names under `if TYPE_CHECKING`, each with its module and its name there."""
    for block in tree.body:
        if isinstance(block, ast.If) and getattr(block.test, "id", "") == "TYPE_CHECKING":
            for line in block.body:
                if isinstance(line, ast.ImportFrom) and line.module:
                    yield from ((alias.asname or alias.name, (line.module, alias.name)) for alias in line.names)


_OURS: dict[str, dict[str, str]] = {}


def extend(registry: str, place: str, name: str = "") -> None:
    """Name what adds to a registry below it, which never imports it; a package's `__init__` does so.

    Args:
        registry: What it adds to.
        place: A module, or an object of one as `module:name`.
        name: Under which the registry knows it, where it looks for one alone.
    """
    _OURS.setdefault(registry, {})[name or place] = place


def extensions(registry: str) -> dict[str, str]:
    """Places of what adds to a registry, by name: our own, then those of the entry points `multiway.REGISTRY`."""
    ours, added = _OURS.get(registry, {}), read_entry_points().get(registry, {})
    return {**ours, **{name: place for name, place in added.items() if name not in ours}}


@functools.cache
def read_entry_points() -> dict[str, dict[str, str]]:
    """Places of the entry points `multiway.REGISTRY` of all distributions by registry and name, looked through once."""
    import importlib.metadata  # what starts a layer needs none

    points = importlib.metadata.entry_points()
    groups = [group for group in points.groups if group.startswith("multiway.")]
    return {
        group.removeprefix("multiway."): {each.name: each.value for each in sorted(points.select(group=group))}
        for group in groups
    }


def load_extension(registry: str, name: str) -> Any:
    """What adds to a registry under a name.

    Raises:
        ConfigError: It cannot be imported.
    """
    place = extensions(registry)[name]
    try:
        return pkgutil.resolve_name(place)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"{name} is listed among the {registry} as {place}, which fails: {error}.") from error


def load_extensions(registry: str) -> dict[str, Any]:
    """All that adds to a registry, by name; a module that is named may register what it has as it is imported."""
    return {name: load_extension(registry, name) for name in extensions(registry)}


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
def silence(logger: str) -> Iterator[None]:
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
