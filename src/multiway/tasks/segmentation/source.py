"""Images with a class per voxel: volumes with masks, or blocks of one labelled scene, and what a check says of them."""

import collections
from collections.abc import Iterable, Sequence

import numpy as np

from multiway.config import Plain
from multiway.data.findings import Findings, Place, listed, quoted
from multiway.data.samples import Rows
from multiway.data.sources.scans.bodies import in_words
from multiway.data.sources.scans.cases import Cases, CutMask, Scans
from multiway.data.sources.scans.loading import Source, check_listed, read_cases
from multiway.data.sources.scans.volume import Array
from multiway.data.sources.scenes import is_scene, read_scene, scene_cases
from multiway.data.splitting import split
from multiway.errors import DataError, Fix
from multiway.tasks.segmentation.config import SegmentConfig

MOST_CLASSES = 256


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
        named = zip(classes, values, strict=True)
        shares[f"{name} voxels"] = ", ".join(f"{title} {counts[value] / total:.2%}" for title, value in named)
    return shares
