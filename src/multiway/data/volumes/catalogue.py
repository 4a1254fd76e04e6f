"""The six public sets of small volumes: MedMNIST v2 (Yang et al. 2023), as published by its authors."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from multiway.data import datasets

URL = "https://zenodo.org/records/10519652/files/{}.npz?download=1"
LICENCE = "CC BY 4.0"


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class VolumeDataset:
    """One public set.

    md5: Hash of the file as its authors publish it.
    sha256: Hash of the same file, where a copy is at hand whose MD5 is the published one.
    counts: Cases to train, validate and test on.
    classes: Names of the labels 0, 1, ...
    shape_transform: Whether its volumes are shapes (masks), which its authors multiply by U(0, 1) in training and by
        0.5 in evaluation.
    sizes: Voxels along each axis.
    """

    url: str
    md5: str
    counts: tuple[int, int, int]
    classes: tuple[str, ...]
    shape_transform: bool = False
    sha256: str | None = None
    files: tuple[str, ...] = ()
    licence: str = LICENCE
    sizes: tuple[int, int, int] = (28, 28, 28)
    kind: str = "volumes"
    task: str = "volumes"

    @property
    def known_hash(self) -> str:
        """The stronger of its hashes, with the name of the method in front."""
        return f"md5:{self.md5}" if self.sha256 is None else f"sha256:{self.sha256}"

    @property
    def holds(self) -> str:
        """Its size in words."""
        return f"{sum(self.counts):,} volumes of {' x '.join(map(str, self.sizes))}"

    @property
    def settings(self) -> dict[str, Any]:
        """The shape transform of the mask sets."""
        return {"read": {"shape_transform": True}} if self.shape_transform else {}

    def find(self, folders: Sequence[Path]) -> Path | None:
        """The first copy that lies in one of the folders."""
        return datasets.first_in(folders, self.files)

    def fetch(self, name: str, folder: Path) -> Path:
        """Download the file, unless it is there."""
        return datasets.download(name, self, folder / self.files[0])


def _medmnist(
    name: str, md5: str, counts: tuple[int, int, int], classes: tuple[str, ...], *, is_shape: bool = False,
    sha256: str | None = None,
) -> VolumeDataset:  # fmt: skip
    return VolumeDataset(
        url=URL.format(name), md5=md5, counts=counts, classes=classes, shape_transform=is_shape, sha256=sha256,
        files=(f"{name}.npz",),
    )  # fmt: skip


_ORGANS = (
    "liver", "kidney-right", "kidney-left", "femur-right", "femur-left", "bladder", "heart", "lung-right", "lung-left",
    "spleen", "pancreas",
)  # fmt: skip
_FRACTURES = ("buckle rib fracture", "nondisplaced rib fracture", "displaced rib fracture")
_ADRENAL_SHA256 = "8ffd78c0f000265deb7cf4ee0b454136fb3170f9839ecaa7bb01adf9f88aa7d1"

DATASETS: dict[str, VolumeDataset] = {
    "organmnist3d": _medmnist("organmnist3d", "a0c5a1ff56af4f155c46d46fbb45a2fe", (971, 161, 610), _ORGANS),
    "nodulemnist3d": _medmnist(
        "nodulemnist3d", "8755a7e9e05a4d9ce80a24c3e7a256f3", (1158, 165, 310), ("benign", "malignant")
    ),
    "adrenalmnist3d": _medmnist(
        "adrenalmnist3d", "bbd3c5a5576322bc4cdfea780653b1ce", (1188, 98, 298), ("normal", "hyperplasia"),
        is_shape=True, sha256=_ADRENAL_SHA256,
    ),
    "fracturemnist3d": _medmnist("fracturemnist3d", "6aa7b0143a6b42da40027a9dda61302f", (1027, 103, 240), _FRACTURES),
    "vesselmnist3d": _medmnist(
        "vesselmnist3d", "b41fd4f7e7e2feedddb201585ecafa1b", (1335, 191, 382), ("vessel", "aneurysm"), is_shape=True
    ),
    "synapsemnist3d": _medmnist(
        "synapsemnist3d", "1235b78a3cd6280881dd7850a78eadb6", (1230, 177, 352),
        ("inhibitory synapse", "excitatory synapse"),
    ),
}  # fmt: skip


def known_by_file(path: Path) -> VolumeDataset | None:
    """The set that a file is by its name, also at 64 voxels; its classes and counts are checked where it is read."""
    return DATASETS.get(path.name.lower().removesuffix(".npz").removesuffix("_64"))
