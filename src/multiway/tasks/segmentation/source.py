"""The config of a segmentation, and its images: volumes with masks, or blocks of one labelled scene."""

import collections
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from multiway.config import Plain
from multiway.data.findings import Findings, Place, listed, quoted
from multiway.data.options import AugmentOptions, VolumeOptions, VolumeSplit
from multiway.data.samples import Rows
from multiway.data.sources.scans.bodies import in_words
from multiway.data.sources.scans.cases import Cases, CutMask, Scans
from multiway.data.sources.scans.loading import Source, check_listed, read_cases
from multiway.data.sources.scans.volume import Array
from multiway.data.sources.scenes import is_scene, read_scene, scene_cases
from multiway.data.splitting import split
from multiway.errors import DataError, Fix
from multiway.models import list_models
from multiway.tasks.encoded_task import SampleFacts
from multiway.tasks.options import RunConfig, starting_from
from multiway.training import TrainingConfig

Baseline = Literal["background", "threshold", "logistic", "unet"]
NETWORKS = {3: ("hot_volume_unet", "volume_unet"), 2: ("hot_segmenter_2d", "unet_2d")}
"""By number of modes, the network that is trained and its plain baseline."""
LARGEST_PATCH = 64
TRAINING: Plain = {
    "epochs": 30, "learning_rate": 2e-3, "warmup_steps": 50, "patience": 0,
}  # fmt: skip
"""Fields of `TrainingConfig` where a segmentation differs from a forecast."""
MOST_CLASSES = 256


class SegmentTraining(TrainingConfig):
    """`TrainingConfig`, but of patches, which are few at once."""

    batch_size: int = Field(4, ge=1)
    """Patches per batch over all processes."""


class SegmentConfig(RunConfig):
    """A run of the task `segment`; stored in its folder. Data are a table of images and masks, or a scene as .npz."""

    read: VolumeOptions = VolumeOptions()
    split: VolumeSplit = VolumeSplit()
    augment: AugmentOptions = AugmentOptions()
    classes: tuple[str, ...] | None = None
    """Names of the mask's values in their order; the values themselves if not given."""
    ignore: int | None = None
    """Value of the mask that is neither learned from nor scored."""
    block: int = Field(12, ge=1)
    """Side of the blocks that a scene is cut into, in pixels; a block belongs to one split."""

    baselines: tuple[Baseline, ...] | None = None
    """Its baselines: everything that fits the data if not given."""
    patch: tuple[int, ...] | None = None
    """Voxels along each axis that the model sees at once. If not given: the largest training case, but 64 at most; in a
    scene the smallest block."""
    patches_per_case: int = Field(1, ge=1)
    """Patches drawn from each case in an epoch."""
    foreground: float = Field(0.67, ge=0, le=1)
    """Share of patches drawn about a voxel of a class, each class as often as the others; the rest anywhere."""
    overlap: float = Field(0.5, ge=0, lt=1)
    """Share of a patch that windows have in common in prediction."""
    dice_weight: float = Field(1.0, ge=0)
    """Weight of the soft Dice relative to cross-entropy in the loss."""
    cl_dice_weight: float = Field(0.0, ge=0)
    """Weight of the soft clDice, for vessels and other thin structures."""
    class_weights: tuple[float, ...] | None = None
    """Weights of the classes in the cross-entropy."""
    draws: int = Field(1000, ge=0)
    """Bootstrap samples of cases behind each interval; 0 gives none."""
    training: Annotated[SegmentTraining, starting_from(TRAINING)] = SegmentTraining.parse(TRAINING)
    """Optimiser, schedule and precision; its own losses are for other tasks and not used here."""

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        name = self.model.get("name")
        if name is not None and name not in list_models("*unet*") + list_models("*segmenter*"):
            raise ValueError(f"model.name must be one that segments, such as hot_volume_unet. Got {name!r}")
        if self.patch is not None and (len(self.patch) not in NETWORKS or min(self.patch) < 1):
            raise ValueError(f"patch takes three sizes for volumes and two for scenes. Got {self.patch}")
        if self.classes is not None and len(set(self.classes)) < max(len(self.classes), 2):
            raise ValueError(f"classes must be two different names or more. Got {self.classes}")
        return self

    def network(self, num_modes: int, plain: bool = False) -> tuple[str, Plain]:
        """Name and fields of the network, or of the plain baseline of equal size."""
        ours, other = NETWORKS[num_modes]
        fields = {name: value for name, value in self.model.items() if name != "name"}
        if not plain:
            return self.model.get("name", ours), fields
        return other, fields if num_modes == 3 and self.model.get("name", ours) == ours else {}


class SegmentFacts(SampleFacts):
    """Of images with masks: sizes of one, and the unit of distances."""

    sizes: list[int]
    distance: str


def read_images(source: Source, config: SegmentConfig, findings: Findings, *, is_training: bool) -> Cases:
    """Images with masks of a table or of arrays, or blocks of a scene."""
    if isinstance(source, str) and is_scene(source):
        scene = read_scene(source, config.read.max_bytes)
        cases = scene_cases(scene, config.block, config.split if is_training else None, config.ignore)
        return cases.with_inputs(cases.inputs, labelling=())
    cases = read_cases(source, config.read, same_sizes=False, findings=findings)
    if not cases.inputs.has_masks:
        raise DataError(
            f"{cases.source}: segmentation needs a mask for each image. There is no column "
            f"'{quoted(config.read.mask)}'. Add it, or name it (",
            Fix("read.mask", like="COLUMN"),
            ").",
        )
    if is_training:
        check_listed(cases, findings)
    return cases.with_inputs(cases.inputs, labelling=())


def mask_of(scans: Scans, names: Sequence[str], row: int) -> Array:
    """Values of the mask of a case, as the file has them."""
    mask = scans.mask(row)
    if mask is None:
        raise DataError(f"{scans.source}: case {names[row]} has no mask. Give it one, or leave the case out.")
    values: Array = mask.values[0]
    return values


def values_of_masks(cases: Cases, train: Rows, config: SegmentConfig) -> tuple[int, ...]:
    """Values of the training masks that count, in order."""
    names = cases.names["case"]
    present = ((names[row], np.unique(mask_of(cases.inputs, names, row)).tolist()) for row in train.tolist())
    return _usable_values(present, config.ignore, cases.source)


def _usable_values(
    masks: Iterable[tuple[str, Iterable[float]]], ignore: int | None, source: str
) -> tuple[int, ...]:  # fmt: skip
    present: set[int] = set()
    for name, found in masks:
        values = list(found)
        if len(values) > MOST_CLASSES or any(value != round(value) for value in values):
            raise DataError(
                f"{source}: a mask holds whole numbers, at most {MOST_CLASSES} of them. Got {listed(values, 4)} in "
                f"case {name}. Write labels, not probabilities."
            )
        present |= {int(value) for value in values}
    usable = tuple(sorted(present - {ignore}))
    if len(usable) < 2:
        raise DataError(
            f"{source}: the training masks must hold two values or more. Got {listed(usable) or 'none'}. "
            "Check the column of masks and the option ignore."
        )
    return usable


def class_names(cases: Cases, values: tuple[int, ...], config: SegmentConfig) -> tuple[str, ...]:
    """What the values are called: by the config, by the data set, or by themselves."""
    known = cases.inputs.mask_names
    if config.classes is not None:
        if len(config.classes) != len(values):
            raise DataError(
                f"classes names {len(config.classes)} classes and the masks hold {len(values)}: {listed(values)}. "
                "Name each, in this order."
            )
        return config.classes
    if known is not None and 0 <= min(values) <= max(values) < len(known):
        return tuple(known[value] for value in values)
    return tuple("background" if value == 0 else str(value) for value in values)


def called(name: str) -> str:
    """A class in words: files of masks name theirs by numbers."""
    return f"class {name}" if name.isdigit() else name


def check_cuts(cases: Cases) -> None:
    """Refuse masks that `size` cuts, unless the config takes them so: what is cut off would never be scored."""
    scans = cases.inputs
    if scans.options.size is None or scans.options.cut_masks:
        return
    cuts = ((scans.cut(row), name) for row, name in enumerate(cases.names["case"]))
    refuse_cuts([(cut, name) for cut, name in cuts if cut is not None], scans)


def refuse_cuts(cuts: Sequence[tuple[CutMask, str]], scans: Scans) -> None:
    """See `check_cuts`."""
    lost = sorted(((cut.kept / cut.marked, name, cut) for cut, name in cuts if cut.kept < cut.marked), key=_share)
    if not lost or scans.options.cut_masks or scans.options.size is None:
        return
    _, name, cut = lost[0]
    size = [max(sides) for sides in zip(scans.options.size, *(cut.needed for _, _, cut in lost), strict=True)]
    raise DataError(
        f"{scans.source}: size {in_words(scans.options.size)} cuts {len(lost)} masks. Of {name} {cut.kept} of "
        f"{cut.marked} marked voxels are left. Set one that holds them (", Fix("read.size", size),
        "), or take masks as they are cut (", Fix("read.cut_masks", True), ").",
    )  # fmt: skip


def _share(lost: tuple[float, str, CutMask]) -> float:
    return lost[0]


def check_masks(cases: Cases, findings: Findings, config: SegmentConfig) -> Plain:
    """Note masks that mark nothing, and those with a value that training lacks; the share of each class by split."""
    looks, _ = cases.inputs.looks
    names, masks = cases.names["case"], {row: look.mask for row, look in looks.items() if look.mask is not None}
    try:
        splits = split(cases, config.split)
        training = [row for row in splits["train"].tolist() if row in masks]
        values = _usable_values(((names[row], masks[row]) for row in training), config.ignore, cases.source)
        classes = class_names(cases, values, config)
        refuse_cuts([(look.cut, names[row]) for row, look in looks.items() if look.cut is not None], cases.inputs)
    except DataError as error:
        findings.take("masks", error)
        return {}
    empty = [Place(detail=names[row]) for row, mask in masks.items() if set(mask) == {0}]
    if empty and values[0] == 0:
        findings.add("empty_mask", "note", "a mask marks nothing; its Dice is undefined or 0", places=empty)
    shares: Plain = {}
    for name, rows in splits.items():
        counts = collections.Counter[float]()
        for row in rows.tolist():
            counts.update(masks.get(row, {}))
        other = sorted(set(counts) - {*values, config.ignore})
        if other:
            rule = f"{name} has masks with {listed(other, 4)}, which no training mask has"
            findings.add("masks", "error", rule, "Correct them, or move a case that has them into training.")
        total = max(sum(counts[value] for value in values), 1)
        named = zip(map(called, classes), values, strict=True)
        shares[f"{name} voxels"] = ", ".join(f"{title} {counts[value] / total:.2%}" for title, value in named)
    return shares
