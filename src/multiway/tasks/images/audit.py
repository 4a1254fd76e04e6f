"""Audit of images and their split: copies, near copies, classes of equal images, and how values were scaled."""

from collections.abc import Iterator

import numpy as np

from multiway.auditing.agreement import check_statistics
from multiway.auditing.duplicates import check_one_label, sample_digest
from multiway.auditing.near_images import Traces
from multiway.auditing.report import AuditReport, Verdict, finding
from multiway.auditing.samples import check_copies, report_on_samples
from multiway.data.samples import Prepared
from multiway.data.sources.pictures import Bytes
from multiway.tasks.images.encode import ImageState, moments

TOLERATED = 0.001
"""Share of a split that may be copies: large sets gathered from the web have some."""
MOST_COMPARED = 4_000
"""Images up to which each is compared with each."""
FIXED = "values are scaled by fixed numbers, 0 to 255, and none was learnt"
TOO_MANY = finding("near", "note", f"near copies were not looked for, as there are more than {MOST_COMPARED:,} images")


def audit_images(prepared: Prepared[Bytes, ImageState], used: ImageState | None = None) -> AuditReport:
    """Whether an image is in two splits or has two classes, and whether scaling saw other splits."""
    return report_on_samples(prepared, _verdicts(prepared, used or prepared.state))


def _verdicts(prepared: Prepared[Bytes, ImageState], used: ImageState) -> Iterator[Verdict | None]:
    images, splits = prepared.raw, prepared.splits
    names, digests = list(images.names["image"]), [sample_digest(image) for image in images.inputs]
    yield from check_copies(prepared, digests, "images", tolerated=TOLERATED)
    yield check_one_label(digests, [prepared.state.classes[label] for label in images.truth], names, "image")
    if len(images) > MOST_COMPARED:
        yield TOO_MANY
    else:
        traces = Traces()
        for image in images.inputs:
            traces.add(image.transpose(2, 0, 1))
        labels = [prepared.state.classes[label] for label in images.truth]
        yield from traces.check(splits, names, names, digests, labels)
    yield _scaling(images.inputs, images.inputs[prepared.rows("train")], used)


def _scaling(every: Bytes, training: Bytes, used: ImageState) -> Verdict:
    if set(used.centre) | set(used.spread) == {255 / 2}:
        return FIXED
    now = {"centre": np.array(used.centre), "spread": np.array(used.spread)}
    seen, beyond = (dict(zip(now, map(np.array, moments(images)), strict=True)) for images in (training, every))
    channels = [f"channel {number}" for number in range(used.channels)]
    return check_statistics(now, seen, beyond, channels, rows="training images")
