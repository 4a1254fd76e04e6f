"""What training learns of scans, and what it makes of them: volumes of one size, or images with a class per voxel."""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.config import Config, Plain
from multiway.data.findings import list_some
from multiway.data.options import LabelKind
from multiway.data.samples import Rows
from multiway.data.scaling import Scaler
from multiway.data.sources.scans.cases import Cases, Scans
from multiway.data.sources.scans.grids import to_file
from multiway.data.sources.scans.intensity import IntensityScale, Spacings, spacings_of, warn_of_spacing
from multiway.data.sources.scans.loading import FileScans
from multiway.data.sources.scans.volume import Array, Volume
from multiway.errors import ConfigError, DataError, Fix
from multiway.models import model_config
from multiway.tasks.scans.config import SegmentConfig, VolumeConfig
from multiway.tasks.scans.read import check_cuts, class_names, usable_values
from multiway.training.losses import IGNORED

LARGEST_PATCH = 64
MEMORY_LIMIT = 2 * 2**30
FEWER = 16
"""Voxels whose features take about as long as a regression on one number."""


class ScanState(Config):
    """What a run has learnt of its scans."""

    channels: int
    """Values per voxel."""
    axes: tuple[str, ...]
    """Names of the axes."""
    scale: IntensityScale
    """Intensities of the training scans."""
    spacings: Spacings | None = None
    """Least and greatest millimetres per voxel after preparing; None where the scans do not say it."""
    target_name: str | None = None
    """Column of classes or masks; None where they have none, and in a run that does not say it."""


class VolumeState(ScanState):
    """What a run has learnt of its volumes."""

    classes: tuple[str, ...] | None
    """Names, in the order of the logits; None where the target is a number."""
    several: bool = False
    """Whether each volume has several of them, which are labels then."""
    target: Scaler | None = None
    """Mean and deviation of a target that is a number."""
    sizes: tuple[int, ...]
    """Voxels along each axis, after preparing."""
    label_kind: str = "text"
    """Kind of the labels that were given: "text", "number" or "bool"."""

    @property
    def kind(self) -> LabelKind:
        """What the target is."""
        return "number" if self.classes is None else "labels" if self.several else "classes"

    @property
    def num_outputs(self) -> int:
        """Classes, or 1 for a number."""
        return 1 if self.classes is None else len(self.classes)

    @classmethod
    def learn(cls, config: VolumeConfig, cases: Cases, train: Rows) -> Self:
        """Classes or the scale of numbers, and sizes and intensities, of the training alone; every volume is read."""
        scans, rows = cases.inputs, train.tolist()
        values, header = scans.volumes, scans.header
        assert header is not None
        return cls(
            classes=cases.classes,
            several=cases.has_several,
            target=Scaler.fit(cases.truth[train][:, None]) if cases.classes is None else None,
            channels=header.channels,
            sizes=header.sizes,
            axes=header.axes,
            scale=IntensityScale.fit(values.__getitem__, rows, config.read),
            label_kind=scans.label_kind,
            spacings=spacings_of(scans.spacing, rows),
            target_name=cases.target_name,
        )

    def check_form(self, shape: tuple[int, ...], source: str) -> None:
        """Hold `(channels, *sizes)` of a later volume to those of the training."""
        known = (self.channels, *self.sizes)
        if shape != known:
            raise DataError(
                f"{source}: the run was trained on (channels, *sizes) {known}. Got {shape}. Give "
                f"scans of that size, or train with read.size or read.resample_to, which bring any scan to one size."
            )

    def normalise(self, volume: Volume) -> Tensor:
        """A prepared volume as the training's were, `(1, channels, *sizes)`."""
        self.check_form(volume.values.shape, volume.source)
        warn_of_spacing(volume.spacing, self.spacings)
        return self.scale.apply_to(volume.values)[None]

    def decode(self, volumes: "Stored") -> Tensor:
        """Some volumes as the network takes them, `(batch, channels, *sizes)` float32."""
        return self.scale.apply(torch.from_numpy(volumes.scans.volumes).index_select(0, torch.from_numpy(volumes.rows)))


@dataclasses.dataclass(frozen=True, eq=False)
class Stored:
    """Some prepared volumes, as rows of one array that is read when it is first needed.

    scans: All of them.
    rows: Which of them these are.
    """

    scans: Scans
    rows: Rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, rows: Any) -> Self:
        return dataclasses.replace(self, rows=self.rows[np.asarray(rows)])

    def numel(self) -> int:
        """Numbers that closed forms fit on are few of so many voxels; what these cost, as other inputs count."""
        return math.prod(self.scans.volumes.shape) // FEWER


class SegmentState(ScanState):
    """What a run has learnt of its images."""

    classes: tuple[str, ...]
    """Names, in the order of the logits."""
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
    def is_binary(self) -> bool:
        """Whether images have one channel, a background and one class."""
        return self.channels == 1 and len(self.classes) == 2 and self.background

    @property
    def fields(self) -> dict[str, int]:
        """Fields of a network on these images."""
        return {"in_channels": self.channels, "num_classes": len(self.classes)}

    @classmethod
    def learn(cls, config: SegmentConfig, cases: Cases, train: Rows) -> Self:
        """Classes, sizes, and the intensities of the training images alone, which are read one at a time."""
        names = cases.names["case"]
        check_cuts(((cases.inputs.find_cut(row), name) for row, name in enumerate(names)), cases.inputs)
        values, scans = find_mask_values(cases, train, config), cases.inputs[train]
        classes, header = class_names(cases, values, config), scans.header
        assert header is not None
        num_modes, fields = len(header.axes), {"in_channels": header.channels, "num_classes": len(classes)}
        network, own = config.network(num_modes)
        modes = getattr(model_config(network, **own, **fields), "num_modes", 2)
        if modes != num_modes:
            raise ConfigError(f"model: {network} takes images of {modes} axes. Got {num_modes}: {cases.source}.")
        images = Examples.from_cases(cases, values, config.ignore)[train]
        state = cls(
            classes=classes,
            values=values,
            channels=header.channels,
            axes=header.axes,
            scale=IntensityScale.fit(lambda row: images.read(row).values, range(len(train)), config.read),
            patch=find_patch(config, fields, [scans.header_after_preparing(row).sizes for row in range(len(train))]),
            background=values[0] == 0,
            spacings=spacings_of(scans.spacing, range(len(train))),
            target_name=config.read.mask if isinstance(scans.files, FileScans) and not scans.mask_names else None,
        )
        check_threshold(config, state)
        weights = config.class_weights
        if weights is not None and (len(weights) != len(classes) or min(weights) <= 0):
            raise ConfigError(
                f"class_weights needs a positive number for each of the {len(classes)} classes. Got {weights}."
            )
        return state


def check_threshold(config: SegmentConfig, state: SegmentState) -> None:
    """Refuse a threshold of several channels or classes."""
    if "threshold" in (config.baselines or ()) and not state.is_binary:
        raise ConfigError(
            f"baselines: a threshold needs one channel, a background and one class. Got {state.channels} channels "
            f"and {len(state.classes)} classes. Take logistic instead."
        )


def find_patch(config: SegmentConfig, fields: Plain, sizes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Sizes of a patch: those of the config, else of the largest training case, or of a scene's smallest block.

    They are multiples of the network's stride, in scenes of that of the plain network too.
    """
    num_modes = len(sizes[0])
    networks = [config.network(num_modes), *([config.network(2, plain=True)] if num_modes == 2 else [])]
    configs = [model_config(name, **own, **fields) for name, own in networks]
    stride = math.lcm(*(int(getattr(network, "stride", 1)) for network in configs))
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


class ExampleCache(dict[int, Example]):
    """Images that were read, by row; a copy of a run starts without them."""

    def __reduce__(self) -> tuple[object, ...]:
        return ExampleCache, ()


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
    cache: ExampleCache = dataclasses.field(default_factory=ExampleCache)

    @classmethod
    def from_cases(cls, cases: Cases, values: tuple[int, ...], ignore: int | None) -> Self:
        """All images of the data."""
        return cls(cases.inputs, cases.names["case"], values, ignore, np.arange(len(cases)))

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, rows: Any) -> Self:
        return dataclasses.replace(self, rows=self.rows[rows])

    def __iter__(self) -> Iterator[Example]:
        return map(self.read, range(len(self)))

    @property
    def num_modes(self) -> int:
        """Axes of an image."""
        assert self.scans.header is not None
        return len(self.scans.header.axes)

    @property
    def dice_classes(self) -> range:
        """Classes that have a Dice of their own: all but a background that no mask marks."""
        return range(int(self.values[0] == 0), len(self.values))

    def sizes(self, index: int) -> tuple[int, ...]:
        """Voxels along each axis, by the header alone."""
        return self.scans.header_after_preparing(int(self.rows[index])).sizes

    def on_file(self, index: int, classes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int16]] | None:
        """Classes of a prepared image on the grid of its file, class 0 outside of it, and those of its mask there.

        None where images are prepared on the grid of their files.
        """
        row, options = int(self.rows[index]), self.scans.options
        if not any((options.orientation, options.spacing, options.size, options.resample_to)):
            return None
        mask = self.scans.file_mask(row)
        assert mask is not None
        back = to_file(classes, self.scans.file_header(row), options, self.scans.place(row), nearest=True)
        return back, positions_in(self.values, mask.values[0], self.ignore)

    def read(self, index: int) -> Example:
        """An image with its classes."""
        row = int(self.rows[index])
        if row in self.cache:
            return self.cache[row]
        volume = self.scans.prepare(row)
        mask = read_mask(self.scans, self.names, row)
        target = to_classes(mask, self.values, self.ignore, f"mask of {self.names[row]}")
        example = Example(values=volume.values, target=target, spacing=volume.spacing)
        if (len(self.cache) + 1) * (example.values.nbytes + target.nbytes) <= MEMORY_LIMIT:
            self.cache[row] = example
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
    other = np.unique(mask[target == len(values)]).tolist()
    if other:
        raise DataError(
            f"{where}: a mask may hold the values of the training masks, {list_some(values)}. Got "
            f"{list_some(other, 4)}. Correct it, or move a case that has them into training."
        )
    return target


def read_mask(scans: Scans, names: Sequence[str], row: int) -> Array:
    """Values of the mask of a case, as the file has them."""
    mask = scans.mask(row)
    if mask is None:
        raise DataError(f"{scans.source}: case {names[row]} has no mask. Give it one, or leave the case out.")
    values: Array = mask.values[0]
    return values


def find_mask_values(cases: Cases, train: Rows, config: SegmentConfig) -> tuple[int, ...]:
    """Values of the training masks that count, in order."""
    names = cases.names["case"]
    masks = ((names[row], np.unique(read_mask(cases.inputs, names, row)).tolist()) for row in train.tolist())
    return usable_values(masks, config.ignore, cases.source)
