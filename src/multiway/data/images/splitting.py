"""Training, validation and test images: as the data name them; what they do not name is drawn from the training."""

from collections.abc import Iterator

import numpy as np

from multiway.data.findings import listed
from multiway.data.images.images import Images
from multiway.data.images.options import ImageSplit
from multiway.data.shares import Splits, draw_shares, fix_of_empty, groups_of
from multiway.errors import DataError

SPLITS = ("train", "validation", "test")


def split_images(images: Images, split: ImageSplit) -> Splits:
    """Rows of each split; classes keep their shares where images are drawn.

    Raises:
        DataError: Classes lack, or a split would be without images, or training without a class.
    """
    labels, given = images.truth, images.parts
    if given and "train" not in given:
        raise DataError(f"{images.source}: a part train is needed beside {listed(given)}. Add it.")
    rows = given.get("train", np.arange(len(images)))
    shares = {"test": split.test, "validation": split.validation}
    drawn = draw_shares(
        groups_of(len(rows), labels[rows], None),
        {name: share for name, share in shares.items() if name not in given}, split.seed,
    )  # fmt: skip
    splits = {**given, **{name: rows[places] for name, places in drawn.items()}}
    _check(images, splits)
    return {name: splits[name] for name in SPLITS}


def drawn_notes(images: Images, splits: Splits) -> Iterator[str]:
    """What was drawn, where the data name some parts."""
    for name in ("validation", "test"):
        if images.parts and name not in images.parts:
            yield f"{images.source} names no part {name}: {len(splits[name]):,} of its training images were drawn"


def _check(images: Images, splits: Splits) -> None:
    if not all(len(splits[name]) for name in SPLITS):
        counts = ", ".join(f"{name} {len(splits[name])}" for name in SPLITS)
        fix = "Give more images, or change the shares (--set split.test=0.3)."
        fix = fix_of_empty(images.truth, images.classes, "images", fix)
        raise DataError(f"{images.source}: each split needs images. Got {counts}. {fix}")
    if len(images.classes) < 2:
        raise DataError(f"{images.source}: two classes or more are needed. Got {listed(images.classes)}. Give others.")
    known = set(images.truth[splits["train"]].tolist())
    absent = [name for place, name in enumerate(images.classes) if place not in known]
    if absent:
        fix = "Give more of it, or split otherwise."
        raise DataError(f"{images.source}: train has no image of {listed(absent)}. {fix}")
