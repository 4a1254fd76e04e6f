"""CIFAR-10 and CIFAR-100 (Krizhevsky 2009), in the binary version of their authors, and a part of the latter."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from multiway.data import datasets
from multiway.data.images.strips import is_strips
from multiway.errors import DataError

URL = "https://www.cs.toronto.edu/~kriz/"
LICENCE = "see https://www.cs.toronto.edu/~kriz/cifar.html"


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class ImageDataset:
    """One public set.

    files: The archive, and folders of strips that hold the same images.
    known_hash: Of the archive as its authors publish it.
    counts: Images to train and to test on, and classes.
    """

    files: tuple[str, ...]
    counts: tuple[int, int, int]
    url: str
    known_hash: str | None = None
    licence: str = LICENCE
    kind: str = "images"
    task: str = "images"

    @property
    def holds(self) -> str:
        """Its size in words."""
        train, test, classes = self.counts
        return f"{train + test:,} images of 32 x 32, {classes} classes"

    @property
    def settings(self) -> dict[str, Any]:
        """A tenth of the training images validates."""
        return {"split": {"validation": 0.1}}

    def find(self, folders: Sequence[Path]) -> Path | None:
        """The first copy that lies in one of the folders."""
        return datasets.first_in(folders, self.files, lambda path: path.is_file() or is_strips(path))

    def fetch(self, name: str, folder: Path) -> Path:
        """Download the archive, unless it is there.

        Raises:
            DataError: It is a part of a set, which nobody gives out.
        """
        if self.known_hash is None:
            raise DataError(f"{name}: this part is at no address. Use cifar100, or set MULTIWAY_DATA to its folder.")
        return datasets.download(name, self, folder / self.files[0])


DATASETS: dict[str, datasets.Dataset] = {
    "cifar10": ImageDataset(
        files=("cifar-10-binary.tar.gz", "cifar10"), counts=(50_000, 10_000, 10), url=URL + "cifar-10-binary.tar.gz",
        known_hash="md5:c32a1d4ab5d03f1284b67883e8d87530",
    ),
    "cifar100": ImageDataset(
        files=("cifar-100-binary.tar.gz", "cifar100"), counts=(50_000, 10_000, 100),
        url=URL + "cifar-100-binary.tar.gz", known_hash="md5:03b5dce01913d631647c71ecec9e9cb8",
    ),
    "cifar100_12k": ImageDataset(files=("cifar100-12k",), counts=(10_000, 2_000, 100), url=URL + "cifar.html"),
}  # fmt: skip
