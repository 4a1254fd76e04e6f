"""Images as samples: of one size, later ones as the training has them, and what a check says of them."""

import dataclasses
from typing import Any

from multiway.config import Plain
from multiway.data.findings import Findings
from multiway.data.matching import match_classes
from multiway.data.samples import Samples
from multiway.data.sources.images import looks_like_images, read_images
from multiway.data.sources.pictures import Bytes
from multiway.data.targets import match_labels
from multiway.errors import MultiwayError
from multiway.tasks.images.config import ImageConfig
from multiway.tasks.kind import SampleKind


def read_samples(
    config: ImageConfig, source: object, findings: Findings, state: Any = None, *, has_target: bool = True
) -> Samples[Bytes]:
    """Images of one size; later ones in the colours and the classes of the training."""
    options, failures = config.read, list[MultiwayError]()
    if state is not None:
        options = options.replace(channels="grey" if state.channels == 1 else "rgb")
    try:
        images = read_images(source, options, failures)
    finally:
        findings.take_all("source", failures)
    if state is None:
        return images
    target = None
    if has_target and state.several:
        target = match_labels(images, state.classes)
    elif has_target:
        given = [(images.classes or ())[label] for label in images.truth.tolist()]
        target = match_classes(given, state.classes, images.source, "images")
    return dataclasses.replace(images, target=target, classes=state.classes)


def describe_images(samples: Samples[Bytes]) -> Plain:
    """Images, their size, colours and values."""
    values = samples.inputs
    return {
        "images": len(samples),
        "sizes": f"{values.shape[1]} x {values.shape[2]}",
        "colours": "grey" if values.shape[3] == 1 else "red, green, blue",
        "values": f"{values.min()} to {values.max()}" if len(samples) else None,
    }


PICTURES = SampleKind(recognises=looks_like_images, read=read_samples, describe=describe_images)
