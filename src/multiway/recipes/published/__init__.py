"""Tables of the papers as printed, whole: every method, whether a recipe runs it or not."""

import functools
from importlib.resources import as_file, files
from pathlib import Path

from multiway.config import load_yaml
from multiway.errors import ConfigError, closest
from multiway.recipes.published.table import HIGHER_IS_BETTER as HIGHER_IS_BETTER
from multiway.recipes.published.table import MEAN as MEAN
from multiway.recipes.published.table import Figure as Figure
from multiway.recipes.published.table import Head as Head
from multiway.recipes.published.table import Horizon as Horizon
from multiway.recipes.published.table import Line as Line
from multiway.recipes.published.table import PublishedTable as PublishedTable
from multiway.recipes.published.table import Slip as Slip
from multiway.recipes.published.table import with_mean as with_mean


@functools.cache
def published_tables() -> tuple[str, ...]:
    """Names of the published tables and figures."""
    return tuple(sorted(Path(entry.name).stem for entry in files(__name__).iterdir() if entry.name.endswith(".yaml")))


@functools.cache
def load_published(name: str) -> PublishedTable:
    """Read a published table by its name.

    Raises:
        ConfigError: None is called so.
    """
    if name not in published_tables():
        near = closest(name, published_tables())
        raise ConfigError(f"no published table is called {name}{near} `multiway published` lists them.")
    with as_file(files(__name__).joinpath(f"{name}.yaml")) as path:
        return PublishedTable.parse(load_yaml(path), path.name)


def published_beside(table: str) -> PublishedTable | None:
    """The published table into whose columns the cells of a table of recipes belong, if there is one."""
    loaded = {name: load_published(name) for name in published_tables()}
    if table in loaded and (loaded[table].recipes is None or loaded[table].measured_by):
        return loaded[table]
    return next((each for each in loaded.values() if table in (each.recipes or ())), None)
