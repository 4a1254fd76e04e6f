"""From cases to normalised volumes, and what training learns of them."""

import dataclasses
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from multiway.config import Config
from multiway.data.samples import Rows
from multiway.data.sources.scans.cases import Cases, Scans
from multiway.data.sources.scans.encoding import IntensityScale, Spacings, spacings_of, warn_of_spacing
from multiway.data.sources.scans.options import VolumeOptions
from multiway.data.sources.scans.volume import Volume
from multiway.errors import DataError


class VolumeState(Config):
    """What a run has learnt of its volumes."""

    target: ClassVar[None] = None
    classes: tuple[str, ...]
    """Names, in the order of the logits."""
    channels: int
    """Values per voxel."""
    sizes: tuple[int, ...]
    """Voxels along each axis, after preparing."""
    axes: tuple[str, ...]
    """Names of the axes."""
    scale: IntensityScale
    """Intensities of the training volumes."""
    label_kind: str = "text"
    """Kind of the labels that were given: "text", "number" or "bool"."""
    spacings: Spacings | None = None
    """Least and greatest millimetres per voxel after preparing; None where the scans do not say it."""

    @classmethod
    def learn(cls, cases: Cases, train: Rows, options: VolumeOptions) -> Self:
        """Classes, sizes, and the intensities of the training volumes alone; every volume is read."""
        scans, rows = cases.inputs, train.tolist()
        values = scans.stored
        header = scans.header
        assert header is not None
        return cls(
            classes=cases.classes or (), channels=header.channels, sizes=header.sizes, axes=header.axes,
            scale=IntensityScale.fit(values.__getitem__, rows, options), label_kind=scans.label_kind,
            spacings=spacings_of(scans.spacing, rows),
        )  # fmt: skip

    def check_form(self, shape: tuple[int, ...], source: str) -> None:
        """Hold `(channels, *sizes)` of a later volume to those of the training."""
        known = (self.channels, *self.sizes)
        if shape != known:
            raise DataError(
                f"{source}: the run was trained on (channels, *sizes) {known}. Got {shape}. Give "
                f"scans of that size, or train with read.size or read.resample_to, which bring any scan to one size."
            )

    def normalised(self, volume: Volume) -> Tensor:
        """A prepared volume as the training's were, `(1, channels, *sizes)`."""
        self.check_form(volume.values.shape, volume.source)
        warn_of_spacing(volume.spacing, self.spacings)
        return self.scale.apply_to(volume.values)[None]

    def decode(self, volumes: "Stored") -> Tensor:
        """Some volumes as the network takes them, `(batch, channels, *sizes)` float32."""
        return self.scale.apply(volumes.gathered())


@dataclasses.dataclass(frozen=True, eq=False)
class Stored:
    """Prepared volumes as rows of one array, which is read when it is first needed.

    scans: All of them.
    rows: Which of them these are.
    """

    scans: Scans
    rows: Rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, rows: Any) -> Self:
        return dataclasses.replace(self, rows=self.rows[np.asarray(rows)])

    def gathered(self) -> Tensor:
        """A copy of them, `(volumes, channels, *sizes)`, before normalisation."""
        return torch.from_numpy(self.scans.stored).index_select(0, torch.from_numpy(self.rows))
