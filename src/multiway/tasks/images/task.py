"""The task `images`, its config, and `ImageClassifier`, the task in scikit-learn's manners."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch

from multiway.auditing.agreement import check_statistics
from multiway.auditing.duplicates import check_one_label, sample_digest
from multiway.auditing.near_images import Traces
from multiway.auditing.report import AuditReport, Verdict, finding
from multiway.auditing.samples import check_copies, report_on_samples
from multiway.config import Plain
from multiway.data.matching import Far, far_levels
from multiway.data.samples import Prepared, Samples
from multiway.data.sources.pictures import Bytes
from multiway.errors import ConfigError
from multiway.explain.gradients import ImageExplanation
from multiway.tasks import targets
from multiway.tasks.answers import Answer
from multiway.tasks.candidate import discover
from multiway.tasks.declarations import Encoding
from multiway.tasks.estimator import place_of
from multiway.tasks.images.config import IMAGES, ImageConfig
from multiway.tasks.images.encode import HALF, ImageState, moments
from multiway.tasks.images.explain import explain_named, explain_one, telling_images, write_explanations
from multiway.tasks.images.teaching import DistillFacts, find_teacher
from multiway.tasks.protocol import NETWORK, Row, Settled
from multiway.tasks.run import Run
from multiway.tasks.sample_estimator import SampleClassifier
from multiway.tasks.sample_task import SampleFacts
from multiway.tasks.target_task import target_task
from multiway.training.validation import check_watched

TOLERATED = 0.001
"""Share of a split that may be copies: large sets gathered from the web have some."""
MOST_COMPARED = 4_000
"""Images up to which each is compared with each."""
TOO_MANY = finding("near", "note", f"near copies were not looked for, as there are more than {MOST_COMPARED:,} images")


class ImageFacts(SampleFacts):
    """Of samples with classes, and of the teacher where there was one."""

    distilled: DistillFacts | None = None


def find_far(run: Run, later: Samples[Bytes]) -> Sequence[Far]:
    """Images brighter, darker or weaker than those of the training."""
    return far_levels(later.inputs, run.state.level, later.word)


def audit_run(config: ImageConfig, run: Run | None = None) -> AuditReport:
    """Whether an image is in two splits or has two classes, and whether scaling saw other splits."""
    prepared = TASK.prepare(config, TASK.locate(config.data or ""))
    return report_on_samples(prepared, _find_leaks(prepared, prepared.state if run is None else run.state))


def _find_leaks(prepared: Prepared[Bytes, ImageState], used: ImageState) -> Iterator[Verdict | None]:
    images, splits = prepared.raw.by_rarest(), prepared.splits
    names, digests = list(images.names["image"]), [sample_digest(image) for image in images.inputs]
    labels = [(images.classes or ())[label] for label in images.truth]
    yield from check_copies(prepared, digests, "images", tolerated=TOLERATED)
    yield check_one_label(digests, labels, names, "image")
    if len(images) > MOST_COMPARED:
        yield TOO_MANY
    else:
        traces = Traces()
        for image in images.inputs:
            traces.add(image.transpose(2, 0, 1))
        yield from traces.check(splits, names, names, digests, labels)
    if set(used.centre) | set(used.spread) == {HALF}:
        yield "values are scaled by fixed numbers, 0 to 255, and none was learnt"
        return
    now = {"centre": np.array(used.centre), "spread": np.array(used.spread)}
    parts = (images.inputs[prepared.rows("train")], images.inputs)
    seen, beyond = (dict(zip(now, map(np.array, moments(part)), strict=True)) for part in parts)
    channels = [f"channel {number}" for number in range(used.channels)]
    yield check_statistics(now, seen, beyond, channels, rows="training images")


def check_teacher(
    config: ImageConfig, prepared: Prepared[Bytes, ImageState], spent: float, *, progress: bool = False
) -> Settled:
    """Look for the teacher and the weights to watch before anything is written."""
    state = prepared.state
    if config.weights is not None:
        with torch.device("meta"):
            check_watched(TASK.build(config, state, NETWORK), config.weights)
    if config.distill is not None and state.several:
        raise ConfigError("distill: a teacher is for classes. These images have several labels each. Leave it out.")
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


TASK = target_task(
    Encoding(learn=lambda config, samples, train: ImageState.learn(samples, train, config.read)),
    **IMAGES.parts,
    needs="images. Give some",
    state=ImageState,
    facts=ImageFacts,
    page="multiway.tasks.images.page:PAGE",
    metrics=lambda config: (*targets.CLASSES, *targets.OF_LABELS, targets.MORE["f1"], targets.MORE["top5"]),
    candidates=partial(discover, "multiway.tasks.images.candidates", "images"),
    audit=audit_run,
    settle=check_teacher,
    cell_facts=facts_of_cell,
    far=find_far,
    explain=explain_images,
    check_stored=check_scale,
)


class ImageClassifier(SampleClassifier):
    """Classify images with a convolutional network, scored on held-out images with baselines.

    Images are arrays of bytes, `(images, height, width)` or `(images, height, width, channels)`.

    `fit` sets `run_`, `scores_` (a frame) and `classes_`.
    """

    task = "images"

    def explain(self, X: object, index: int = 0, model: str | None = None) -> ImageExplanation:
        """What spoke for the class that one image is named, and against it; see `ImageExplanation`.

        Args:
            X: Images, as for `predict`.
            index: Which image.
            model: One of the run; its answer if not given.
        """
        samples = self._unlabelled(X)
        position = place_of(index, len(samples))
        return explain_one(self._run().with_answer(model), samples.take(np.array([position])))[1]
