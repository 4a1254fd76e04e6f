"""Scans as cases: with classes or numbers, or with masks; what a check looks for in them, and what it proposes."""

import collections
import dataclasses
import functools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from multiway.config import Plain
from multiway.data.findings import Findings, Place, list_some, quote
from multiway.data.matching import match_classes
from multiway.data.samples import Samples
from multiway.data.sources.frames import pair_of
from multiway.data.sources.scans.arrays import Arrays
from multiway.data.sources.scans.cases import Cases, CutMask, Scans
from multiway.data.sources.scans.checking import (
    check_scans,
    describe_scans,
    holds_named_arrays,
    lists_masks,
    looks_like_volumes,
    settings_for,
)
from multiway.data.sources.scans.intensity import Spacings, warn_of_spacings
from multiway.data.sources.scans.listing import require_listed
from multiway.data.sources.scans.loading import Source, check_listed, read_cases
from multiway.data.sources.scans.volume import sizes_in_words
from multiway.data.sources.scenes import is_scene, read_scene, scene_cases
from multiway.data.splitting import split
from multiway.data.targets import match_labels
from multiway.errors import ConfigError, DataError, Fix
from multiway.tasks.kind import SampleKind, name_arrays
from multiway.tasks.scans.config import SegmentConfig, VolumeConfig

MOST_CLASSES = 256


def are_scans(source: object) -> bool:
    """Arrays, scans, and tables of them."""
    if isinstance(source, str | Path):
        return looks_like_volumes(source) and not lists_masks(Path(source))
    x, y = pair_of(source)
    return np.ndim(x) > 3 and np.ndim(y) < 3


def read_labelled(
    config: VolumeConfig,
    source: object,
    findings: Findings,
    state: Any = None,
    *,
    has_target: bool = True,
) -> Cases:
    """Scans of one size, whose headers are opened where they are labelled; later ones as those of the training."""
    options = config.read if state is None else config.read.replace(kind=state.kind)
    cases = read_cases(in_arrays(source), options, opened=has_target, findings=findings)
    scans = cases.inputs
    if state is None:
        require_listed(config.read.subgroups, cases.names, cases.source)
    if state is None:
        check_listed(cases, findings)
        if cases.target is not None and cases.classes is None and len(np.unique(cases.target)) == 1:
            findings.add("target", "error", "every case has the same number", "Give another column.")
        if len(cases.classes or ()) == 1:
            rule = f"two classes or more are needed. Got {list_some(cases.classes or ())} in every case"
            findings.add("classes", "error", rule, "Give others.")
    if state is None or not has_target:
        return cases
    if scans.header is not None and scans.sizes is not None:
        state.check_form((scans.header.channels, *scans.sizes), scans.place(0))
    warn_of_other_voxels(cases, state.spacings)
    if cases.target is None or state.classes is None:
        return cases
    if state.several:
        return dataclasses.replace(cases, target=match_labels(cases, state.classes), classes=state.classes)
    given = [(cases.classes or ())[label] for label in cases.truth.tolist()]
    labels = match_classes(given, state.classes, cases.source, cases.word, scans.place)
    return dataclasses.replace(cases, target=labels, classes=state.classes)


def propose_settings(config: VolumeConfig, source: object) -> tuple[Fix, ...] | None:
    """A spacing and a size that hold every body, where scans differ and none are named."""
    cases = read_cases(in_arrays(source), config.read, same_sizes=False)
    if cases.target is None:
        return None
    return () if config.read.size or config.read.resample_to else settings_for(cases)


def are_masked(source: object) -> bool:
    """Scenes, volumes with masks, and tables of scans and their masks."""
    if isinstance(source, str | Path):
        return is_scene(source) or lists_masks(Path(source))
    x, masks = pair_of(source)
    return np.ndim(x) > 3 and np.ndim(masks) > 2


def read_masked(
    config: SegmentConfig,
    source: object,
    findings: Findings,
    state: Any = None,
    *,
    has_target: bool = True,
) -> Cases:
    """Images with masks, or blocks of a scene; later ones with the axes and channels of those of the training."""
    cases = read_images(_with_masks(source), config, findings, is_training=state is None)
    if state is None:
        return cases
    header = cases.inputs.header
    assert header is not None
    if (header.channels, len(header.axes)) != (state.channels, state.num_modes):
        raise ConfigError(
            f"{cases.source}: the run segments images of {state.num_modes} axes and {state.channels} channels. "
            f"Got {len(header.axes)} axes and {header.channels} channels."
        )
    warn_of_other_voxels(cases, state.spacings)
    return cases


def _with_masks(source: object) -> Source:
    given = in_arrays(source, masks=True)
    if isinstance(given, Arrays) and given.masks is None:
        raise DataError("segment: volumes in memory need their masks. Give a pair (X, masks).")
    return given


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
            f"'{quote(config.read.mask)}'. Add it, or name it (",
            Fix("read.mask", like="COLUMN"),
            ").",
        )
    if is_training:
        check_listed(cases, findings)
    return cases.with_inputs(cases.inputs, labelling=())


def check_masks(cases: Cases, findings: Findings, config: SegmentConfig) -> Plain:
    """Note masks that mark nothing, and those with a value that training lacks; the share of each class by split."""
    looks, _ = cases.inputs.looks
    names, masks = cases.names["case"], {row: look.mask for row, look in looks.items() if look.mask is not None}
    try:
        splits = split(cases, config.split)
        training = [row for row in splits["train"].tolist() if row in masks]
        values = usable_values(((names[row], masks[row]) for row in training), config.ignore, cases.source)
        classes = class_names(cases, values, config)
        check_cuts(((look.cut, names[row]) for row, look in looks.items()), cases.inputs)
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
            rule = f"{name} has masks with {list_some(other, 4)}, which no training mask has"
            findings.add("masks", "error", rule, "Correct them, or move a case that has them into training.")
        total = max(sum(counts[value] for value in values), 1)
        named = zip(map(class_in_words, classes), values, strict=True)
        shares[f"{name} voxels"] = ", ".join(f"{title} {counts[value] / total:.2%}" for title, value in named)
    return shares


def usable_values(masks: Iterable[tuple[str, Iterable[float]]], ignore: int | None, source: str) -> tuple[int, ...]:
    """Values that count of some masks, which are given by the names of their cases."""
    present: set[int] = set()
    for name, found in masks:
        values = list(found)
        if len(values) > MOST_CLASSES or any(value != round(value) for value in values):
            raise DataError(
                f"{source}: a mask holds whole numbers, at most {MOST_CLASSES} of them. Got {list_some(values, 4)} in "
                f"case {name}. Write labels, not probabilities."
            )
        present |= {int(value) for value in values}
    usable = tuple(sorted(present - {ignore}))
    if len(usable) < 2:
        raise DataError(
            f"{source}: the training masks must hold two values or more. Got {list_some(usable) or 'none'}. "
            "Check the column of masks and the option ignore."
        )
    return usable


def class_names(cases: Cases, values: tuple[int, ...], config: SegmentConfig) -> tuple[str, ...]:
    """What the values are called: by the config, by the data set, or by themselves."""
    known = cases.inputs.mask_names
    if config.classes is not None:
        if len(config.classes) != len(values):
            raise DataError(
                f"classes names {len(config.classes)} classes and the masks hold {len(values)}: {list_some(values)}. "
                "Name each, in this order."
            )
        return config.classes
    if known is not None and 0 <= min(values) <= max(values) < len(known):
        return tuple(known[value] for value in values)
    return tuple("background" if value == 0 else str(value) for value in values)


def class_in_words(name: str) -> str:
    """A class in words: files of masks name theirs by numbers."""
    return f"class {name}" if name.isdigit() else name


def check_cuts(cuts: Iterable[tuple[CutMask | None, str]], scans: Scans) -> None:
    """Refuse masks that `size` cuts, unless the config takes them so: what is cut off would never be scored.

    `cuts` are of the cases by name; None without a mask.
    """
    if scans.options.size is None or scans.options.cut_masks:
        return
    torn = [(cut, name) for cut, name in cuts if cut is not None and cut.kept < cut.marked]
    if not torn:
        return
    cut, name = min(torn, key=lambda item: item[0].kept / item[0].marked)
    size = [max(sides) for sides in zip(scans.options.size, *(cut.needed for cut, _ in torn), strict=True)]
    raise DataError(
        f"{scans.source}: size {sizes_in_words(scans.options.size)} cuts {len(torn)} masks. Of {name} {cut.kept} of "
        f"{cut.marked} marked voxels are left. Set one that holds them (",
        Fix("read.size", size),
        "), or take masks as they are cut (",
        Fix("read.cut_masks", True),
        ").",
    )


def in_arrays(source: object, *, masks: bool = False) -> Source:
    """A path or what was read as it is; a pair in memory as volumes with classes, or with masks."""
    if isinstance(source, str | Path | Arrays | Samples):
        return source
    x, y = pair_of(source)
    return Arrays(x=x, masks=y) if masks else Arrays(x=x, y=y)


def warn_of_other_voxels(cases: Cases, trained: Spacings | None) -> None:
    """Warn once where later scans have larger or smaller voxels than those of the training."""
    warn_of_spacings({name: cases.inputs.spacing(row) for row, name in enumerate(cases.names["case"])}, trained)


SCANS = SampleKind(
    recognises=lambda source: are_scans(source) and not holds_named_arrays(source),
    could_take=lambda source, *, is_chosen=False: holds_named_arrays(source) and are_scans(source),
    proposal=propose_settings,
    read=read_labelled,
    label=name_arrays,
    describe=describe_scans,
    hooks=lambda config: (check_scans,),
)
MASKS = SampleKind(
    recognises=are_masked,
    read=read_masked,
    label=name_arrays,
    describe=describe_scans,
    hooks=lambda config: (check_scans, functools.partial(check_masks, config=config)),
    complete=lambda config, source: (config, _with_masks(source)),
)
