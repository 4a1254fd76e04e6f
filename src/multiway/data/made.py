"""The known sets to segment: a labelled scene that ships in a package, and lesions painted into real volumes."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from multiway.data import datasets
from multiway.data.catalogue import first_in
from multiway.data.sources.scans.lesions import CACHED, TABLE, cached_lesions
from multiway.data.sources.scenes import INDIAN_PINES, PINES_SHA256, read_scene
from multiway.extras import is_installed

PINES_SETTINGS = {"ignore": 0, "split": {"validation": 0.15, "test": 0.35}}


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class LesionDataset:
    """Lesions painted into the volumes of a known data set, made in the cache when first asked for."""

    source: str
    licence: str
    kind: str = "images with masks"
    task: str = "segment"
    url: None = None
    known_hash: None = None

    @property
    def files(self) -> tuple[str, ...]:
        """The table of its cases."""
        return (f"lesions-{self.source}/{TABLE}",)

    @property
    def holds(self) -> str:
        """Its size in words."""
        return f"{sum(CACHED)} volumes with masks, made from {self.source}"

    @property
    def settings(self) -> dict[str, Any]:
        """Nothing."""
        return {}

    def find(self, folders: Sequence[Path]) -> Path | None:
        """The table, where it was made already."""
        return first_in(folders, self.files)

    def fetch(self, name: str, folder: Path) -> Path:
        """Make it from its source, unless it is there."""
        return cached_lesions(datasets.dataset_path(self.source), folder)


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class SceneDataset:
    """A labelled scene that ships in a package and is read by its name."""

    name: str
    package: str
    holds: str
    licence: str
    settings: dict[str, Any]
    kind: str = "images with masks"
    task: str = "segment"
    files: tuple[str, ...] = ()
    url: None = None
    known_hash: str = PINES_SHA256

    def find(self, folders: Sequence[Path]) -> Path | None:
        """Its name, if the package is installed."""
        return Path(self.name) if is_installed(self.package) else None

    def fetch(self, name: str, folder: Path) -> Path:
        """Its name, once it could be read."""
        read_scene(self.name)
        return Path(self.name)


DATASETS: dict[str, datasets.Dataset] = {
    "lesions": LesionDataset(source="adrenalmnist3d", licence="CC BY 4.0"),
    INDIAN_PINES: SceneDataset(
        name=INDIAN_PINES, package="tensorly", holds="1 scene of 145 x 145 pixels, 200 bands, 16 classes",
        licence="CC BY 3.0", settings=PINES_SETTINGS,
    ),
}  # fmt: skip
