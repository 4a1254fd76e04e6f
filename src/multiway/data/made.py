"""How known data sets are made that nobody gives out: a scene that a package ships, lesions painted into volumes."""

from pathlib import Path

from multiway.data import datasets
from multiway.data.catalogue import FETCH, Entry
from multiway.data.sources.scans.lesions import cache_lesions
from multiway.data.sources.scenes import read_scene


def _lesions(known: Entry, name: str, folder: Path) -> Path:
    """The table of its cases, made of its source in the cache on first use."""
    return cache_lesions(datasets.dataset_path(known.source), folder)


def _scene(known: Entry, name: str, folder: Path) -> Path:
    """Its name, once it could be read."""
    read_scene(name)
    return Path(name)


FETCH |= {"lesions": _lesions, "scene": _scene}
