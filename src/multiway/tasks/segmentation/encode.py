"""What training learns of images with masks, and the images with a class per voxel that it makes of them."""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from multiway.config import Plain
from multiway.data.findings import listed
from multiway.data.samples import Rows, Samples
from multiway.data.sources.scans.cases import Cases, Scans
from multiway.data.sources.scans.encoding import IntensityScale, spacings_of
from multiway.data.sources.scans.loading import FileScans
from multiway.data.sources.scans.preparing import to_file
from multiway.data.sources.scans.volume import Array, VolumeHeader
from multiway.errors import ConfigError, DataError, Fix
from multiway.models import model_config
from multiway.tasks.scan_task import ScanState
from multiway.tasks.segmentation.source import (
    LARGEST_PATCH,
    SegmentConfig,
    check_cuts,
    class_names,
    mask_of,
    values_of_masks,
)
from multiway.training.losses import IGNORED

PLAIN = "unet"
MEMORY_LIMIT = 2 * 2**30


class SegmentState(ScanState):
    """What a run has learnt of its images."""

    values: tuple[int, ...]
    """Values of the masks, in the order of `classes`."""
    patch: tuple[int, ...]
    """Sizes that the network sees at once."""
    background: bool
    """Whether class 0 is what no mask marks."""

    @property
    def num_modes(self) -> int:
        """Axes of an image."""
        return len(self.axes)

    @property
    def fields(self) -> dict[str, int]:
        """Fields of a network on these images."""
        return {"in_channels": self.channels, "num_classes": len(self.classes)}

    @classmethod
    def learn(cls, config: SegmentConfig, cases: Cases, train: Rows) -> Self:
        """Classes, sizes, and the intensities of the training images alone, which are read one at a time."""
        check_cuts(cases)
        values, scans = values_of_masks(cases, train, config), cases.inputs[train]
        assert scans.header is not None
        names, header = class_names(cases, values, config), scans.header
        fields = {"in_channels": header.channels, "num_classes": len(names)}
        _check_modes(config, fields, len(header.axes), cases.source)
        images = Examples.of(cases, values, config.ignore)[train]
        state = cls(
            classes=names, values=values, channels=header.channels, axes=header.axes,
            scale=IntensityScale.fit(lambda row: images.read(row).values, range(len(train)), config.read),
            patch=patch_of(config, fields, [scans.form(row).sizes for row in range(len(train))]),
            background=values[0] == 0, spacings=spacings_of(scans.spacing, range(len(train))),
            target_name=config.read.mask if isinstance(scans.files, FileScans) and not scans.mask_names else None,
        )  # fmt: skip
        _check_fits(config, state)
        return state

    def encoded(self, cases: Cases, ignore: int | None) -> "Samples[Examples]":
        """Images whose masks are classes of the training."""
        return cases.with_inputs(Examples.of(cases, self.values, ignore), classes=self.classes, target=None)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Example:
    """One image, ready but for its intensities.

    values: `(channels, *sizes)`.
    target: `(*sizes)` classes, `IGNORED` where none counts.
    spacing: Millimetres between voxels, or None.
    """

    values: Array
    target: NDArray[np.int16]
    spacing: tuple[float, ...] | None = None


class Kept(dict[int, Example]):
    """Images that were read, by row; a copy of a run starts without them."""

    def __reduce__(self) -> tuple[object, ...]:
        return Kept, ()


@dataclasses.dataclass(frozen=True, eq=False)
class Examples:
    """Images with a class per voxel, read when they are needed; the first ones are kept as far as memory is allowed.

    scans, names: Of all images of the data.
    values: Of the masks, in the order of the classes.
    ignore: Value of the masks that does not count.
    rows: Which of the images these are.
    """

    scans: Scans
    names: Sequence[str]
    values: tuple[int, ...]
    ignore: int | None
    rows: Rows
    kept: Kept = dataclasses.field(default_factory=Kept)

    @classmethod
    def of(cls, cases: Cases, values: tuple[int, ...], ignore: int | None) -> Self:
        """All images of the data."""
        return cls(cases.inputs, cases.names["case"], values, ignore, np.arange(len(cases)))

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, rows: Any) -> Self:
        return dataclasses.replace(self, rows=self.rows[rows])

    def __iter__(self) -> Iterator[Example]:
        return map(self.read, range(len(self)))

    @property
    def header(self) -> VolumeHeader:
        """Channels and axes of every image."""
        assert self.scans.header is not None
        return self.scans.header

    @property
    def num_modes(self) -> int:
        """Axes of an image."""
        return len(self.header.axes)

    @property
    def scored(self) -> range:
        """Classes that have a Dice of their own: all but a background that no mask marks."""
        return range(int(self.values[0] == 0), len(self.values))

    def sizes(self, index: int) -> tuple[int, ...]:
        """Voxels along each axis, by the header alone."""
        return self.scans.form(int(self.rows[index])).sizes

    @property
    def is_regridded(self) -> bool:
        """Whether images are prepared on another grid than that of their files."""
        options = self.scans.options
        return any((options.orientation, options.spacing, options.size, options.resample_to))

    def on_file(self, index: int, classes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int16]]:
        """Classes of a prepared image on the grid of its file, class 0 outside of it, and those of its mask there."""
        row = int(self.rows[index])
        mask, options = self.scans.file_mask(row), self.scans.options
        assert mask is not None
        back = to_file(classes, self.scans.file_header(row), options, self.scans.place(row), nearest=True)
        return back, positions_in(self.values, mask.values[0], self.ignore)

    def read(self, index: int) -> Example:
        """An image with its classes."""
        row = int(self.rows[index])
        if row in self.kept:
            return self.kept[row]
        volume = self.scans.prepared(row)
        mask = mask_of(self.scans, self.names, row)
        target = to_classes(mask, self.values, self.ignore, f"mask of {self.names[row]}")
        example = Example(values=volume.values, target=target, spacing=volume.spacing)
        if (len(self.kept) + 1) * (example.values.nbytes + target.nbytes) <= MEMORY_LIMIT:
            self.kept[row] = example
        return example


def positions_in(values: tuple[int, ...], mask: Array, ignore: int | None) -> NDArray[np.int16]:
    """Positions of a mask's values: `IGNORED` for the one to ignore, one beyond the last for any other."""
    target = np.full(mask.shape, len(values), dtype=np.int16)
    for position, value in enumerate(values):
        target[mask == value] = position
    if ignore is not None:
        target[mask == ignore] = IGNORED
    return target


def to_classes(mask: Array, values: tuple[int, ...], ignore: int | None, where: str) -> NDArray[np.int16]:
    """Positions in `values` of a mask's values, `IGNORED` for the one to ignore."""
    target = positions_in(values, mask, ignore)
    if (target == len(values)).any():
        other = np.unique(mask[target == len(values)]).tolist()
        raise DataError(
            f"{where}: a mask may hold the values of the training masks, {listed(values)}. Got {listed(other, 4)}. "
            "Correct it, or move a case that has them into training."
        )
    return target


def baselines_of(config: SegmentConfig, state: SegmentState) -> tuple[str, ...]:
    """The baselines of a run; a threshold is for one channel and two classes, a regression for several channels."""
    is_binary = state.channels == 1 and len(state.classes) == 2 and state.background
    if config.baselines is None:
        return ("background", "threshold" if is_binary else "logistic", PLAIN)
    if "threshold" in config.baselines and not is_binary:
        raise ConfigError(
            f"baselines: a threshold needs one channel, a background and one class. Got {state.channels} channels "
            f"and {len(state.classes)} classes. Take logistic instead."
        )
    return tuple(dict.fromkeys(config.baselines))


def _check_modes(config: SegmentConfig, fields: Plain, num_modes: int, source: str) -> None:
    name, own = config.network(num_modes)
    modes = getattr(model_config(name, **own, **fields), "num_modes", 2)
    if modes != num_modes:
        raise ConfigError(f"model: {name} takes images of {modes} axes. Got {num_modes}: {source}.")


def _check_fits(config: SegmentConfig, state: SegmentState) -> None:
    baselines_of(config, state)
    weights = config.class_weights
    if weights is not None and (len(weights) != len(state.classes) or min(weights) <= 0):
        raise ConfigError(
            f"class_weights needs a positive number for each of the {len(state.classes)} classes. Got {weights}."
        )


def patch_of(config: SegmentConfig, fields: Plain, sizes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Sizes of a patch: those of the config, else of the largest training case, or of a scene's smallest block."""
    num_modes = len(sizes[0])
    stride = _stride(config, fields, num_modes)
    if config.patch is not None:
        if len(config.patch) != num_modes or any(side % stride for side in config.patch):
            raise ConfigError(
                f"patch: {num_modes} sizes are needed, each a multiple of {stride}, the model's stride. Got "
                f"{config.patch}. Set others (",
                Fix("patch", [8 * stride] * num_modes),
                ").",
            )
        return config.patch
    if num_modes == 2:
        return tuple(max(min(lengths) // stride, 1) * stride for lengths in zip(*sizes, strict=True))
    return tuple(-(-min(max(lengths), LARGEST_PATCH) // stride) * stride for lengths in zip(*sizes, strict=True))


def _stride(config: SegmentConfig, fields: Plain, num_modes: int) -> int:
    """What sides of a patch are multiples of; in scenes, for the plain network too."""
    networks = [config.network(num_modes)]
    networks += [config.network(2, plain=True)] if num_modes == 2 else []
    configs = [model_config(name, **own, **fields) for name, own in networks]
    return math.lcm(*(int(getattr(network, "stride", 1)) for network in configs))
