"""The task `images`, its config, and `ImageClassifier`, the task in scikit-learn's manners."""

import dataclasses
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch

from multiway.auditing import AuditReport
from multiway.config import Plain
from multiway.data.findings import Findings
from multiway.data.matching import Far, far_levels, match_classes
from multiway.data.samples import Prepared, Rows, Samples
from multiway.data.sources.pictures import Bytes
from multiway.errors import MultiwayError
from multiway.explain.gradients import ImageExplanation
from multiway.tasks import targets
from multiway.tasks.answers import Answer
from multiway.tasks.candidate import discover
from multiway.tasks.estimator import estimator, place_of
from multiway.tasks.images.audit import audit_images
from multiway.tasks.images.config import IMAGES, ImageConfig
from multiway.tasks.images.encode import ImageState
from multiway.tasks.images.explain import explain_named, explain_one, telling_images, write_explanations
from multiway.tasks.images.page import PAGE
from multiway.tasks.images.source import looks_like_images, read_images
from multiway.tasks.images.teaching import DistillFacts, find_teacher
from multiway.tasks.protocol import NETWORK, Row, Settled
from multiway.tasks.run import Run
from multiway.tasks.sample_estimator import SampleClassifier
from multiway.tasks.sample_task import SampleFacts, SampleKind
from multiway.tasks.target_task import target_task
from multiway.training.validation import check_watched


class ImageFacts(SampleFacts):
    """Of samples with classes, and of the teacher where there was one."""

    distilled: DistillFacts | None = None


def read_samples(
    config: ImageConfig,
    source: object,
    findings: Findings,
    state: ImageState | None = None,
    *,
    has_target: bool = True,
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
    target = match_classes(_classes(images), state.classes, images.source, "images") if has_target else None
    return dataclasses.replace(images, target=target, classes=state.classes)


def learn_state(config: ImageConfig, samples: Samples[Bytes], train: Rows) -> ImageState:
    """Classes, sizes, and the scale of the training images."""
    return ImageState.learn(samples, train, config.read)


def describe_images(samples: Samples[Bytes]) -> Plain:
    """Images, their size, colours and values."""
    values = samples.inputs
    return {
        "images": len(samples),
        "sizes": f"{values.shape[1]} x {values.shape[2]}",
        "colours": "grey" if values.shape[3] == 1 else "red, green, blue",
        "values": f"{values.min()} to {values.max()}" if len(samples) else None,
    }


def find_far(run: Run, later: Samples[Bytes]) -> Sequence[Far]:
    """Images brighter, darker or weaker than those of the training."""
    return far_levels(later.inputs, run.state.level, later.word)


def audit_run(config: ImageConfig, run: Run | None = None) -> AuditReport:
    """See `multiway.tasks.images.audit`."""
    return audit_images(TASK.prepare(config, TASK.locate(config.data or "")), None if run is None else run.state)


def check_teacher(
    config: ImageConfig, prepared: Prepared[Bytes, ImageState], spent: float, *, progress: bool = False
) -> Settled:
    """Look for the teacher and the weights to watch before anything is written."""
    state = prepared.state
    if config.weights is not None:
        with torch.device("meta"):
            check_watched(TASK.build(config, state, NETWORK), config.weights)
    if config.distill is not None:
        find_teacher(config.distill.teacher, state)
    return Settled(config, state)


def facts_of_cell(runs: Sequence[Run]) -> Row:
    """How many test samples there are, and the teacher."""
    distilled = runs[0].facts.get("distilled")
    count = runs[0].facts["splits"]["test"]["samples"]
    return {"test_samples": count, **({"distilled": distilled} if distilled else {})}


def explain_images(run: Run, out: Path | None, options: Plain) -> Answer:
    """What spoke for the class of the named images, or of some telling ones of the test."""
    chosen = options.get("images") or [name for _, name in telling_images(run)]
    return write_explanations(explain_named(run, chosen), run.explanation(out))


def check_scale(run: Run) -> None:
    """A centre and a spread for each channel."""
    state = run.state
    if not len(state.centre) == len(state.spread) == state.channels:
        raise ValueError("each channel needs a centre and a spread")


def _classes(images: Samples[Bytes]) -> list[str]:
    """Name of the class of each image."""
    classes = images.classes or ()
    return [classes[label] for label in images.truth.tolist()]


KIND = SampleKind(read=read_samples, learn=learn_state, describe=describe_images)
TASK = target_task(
    KIND,
    **IMAGES.parts,
    needs="images. Give some",
    state=ImageState,
    facts=ImageFacts,
    page=PAGE,
    metrics=lambda config: (*targets.CLASSES, targets.MORE["f1"], targets.MORE["top5"]),
    candidates=partial(discover, "multiway.tasks.images.candidates", "images"),
    recognises=looks_like_images,
    audit=audit_run,
    settle=check_teacher,
    cell_facts=facts_of_cell,
    far=find_far,
    explain=explain_images,
    check_stored=check_scale,
)


@estimator
class ImageClassifier(SampleClassifier):
    """Classify images with a convolutional network, scored on held-out images with baselines.

    Images are arrays of bytes, `(images, height, width)` or `(images, height, width, channels)`.

    Args:
        layer: What maps the features to the hidden layer: nd_linear, linear, tensor_train or low_rank.
        epochs: Passes over the training images at most.
        validation: Share of the images that choose the best epoch.
        test: Share of the images that are scored once, at the end.
        baselines: Some of majority and logistic.
        seed: Seed of everything random but the split, whose seed is `settings["split"]["seed"]`.
        settings: Other fields of `ImageConfig`, nested: `{"read": {"size": 32}, "training": {"batch_size": 32}}`.
        progress: Show a bar or lines on stderr.

    `fit` sets `run_`, `scores_` (a frame) and `classes_`.
    """

    task = "images"

    _: dataclasses.KW_ONLY
    layer: str = "nd_linear"
    baselines: Sequence[str] = ("majority", "logistic")

    def explain(self, X: object, index: int = 0, model: str | None = None) -> ImageExplanation:
        """What spoke for the class that one image is named, and against it; see `ImageExplanation`.

        Args:
            X: Images, as for `predict`.
            index: Which image.
            model: One of the run; its answer if not given.
        """
        samples = self._unlabelled(X)
        position = place_of(index, len(samples))
        return explain_one(self._run().answered_by(model), samples.take(np.array([position])))[1]
