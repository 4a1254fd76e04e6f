"""The task `images`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from multiway.auditing import AuditReport
from multiway.auditing.images import audit_images
from multiway.data import CheckReport
from multiway.data.images import (
    Augmented,
    ImageState,
    PreparedImages,
    check_images,
    looks_like_images,
    match_images,
    prepare_images,
)
from multiway.data.labelled import Labelled
from multiway.models import create_model
from multiway.models.baselines import Majority, fit_logistic
from multiway.models.pooled_logistic import PooledLogistic
from multiway.tasks import targets
from multiway.tasks.answers import Answer
from multiway.tasks.distillation import TaughtTask
from multiway.tasks.images import sections
from multiway.tasks.images.config import ImageConfig
from multiway.tasks.images.explanation import explained, telling, write_explanations
from multiway.tasks.options import names, whole
from multiway.tasks.protocol import OURS, Option
from multiway.tasks.run import Run
from multiway.training import Source
from multiway.training.watching import Quantiles, check_names, quantiles_of

FITTED, PENALTIES = 20_000, (1e-1, 1e-3)
"""Training images that the logistic regression is fitted on at most, and its penalties: seconds, not minutes."""


class ImageTask(TaughtTask[ImageConfig, ImageState]):
    """Classes of images."""

    name = "images"
    needs = "images. Give some"
    page = sections.PAGE
    config = ImageConfig
    state = ImageState
    scored = (*targets.CLASSES, targets.MORE["f1"], targets.MORE["top5"])
    options = (
        Option(name="size", field="read.size", read=whole, help="Side in pixels that every image is resized to."),
        Option(
            name="channels", field="read.channels", choices=("auto", "grey", "rgb"),
            help="Grey or coloured; auto keeps what they are.",
        ),
        Option(name="teacher", field="distill.teacher", help="Run, folder or name of a network to learn from too."),
        Option(name="images", commands=("explain",), read=names, help="Images to explain: dog/1.png,cat/7.png."),
    )  # fmt: skip

    def recognises(self, source: Any) -> bool:
        """Folders and files of images, archives with arrays of them, and arrays of bytes."""
        return looks_like_images(source)

    def prepare(
        self, config: ImageConfig, source: Any, state: ImageState | None = None, *, progress: bool = False
    ) -> PreparedImages:
        """Images of one size, split; later ones matched to the run's classes."""
        if state is not None:
            return match_images(source, config.read, state)
        return prepare_images(source, config.read, config.split)

    def unlabelled(self, config: ImageConfig, source: Any, state: ImageState) -> PreparedImages:
        """Later images, whatever folders they lie in."""
        return match_images(source, config.read, state, has_classes=False)

    def check(self, config: ImageConfig, source: Any) -> CheckReport:
        """What is in a folder, a file or arrays."""
        return check_images(source, config.read, config.split)

    def audit(self, config: ImageConfig, run: Run | None = None) -> AuditReport:
        """See `multiway.auditing.images`."""
        return audit_images(self.prepare(config, self.locate(config.data or "")), None if run is None else run.state)

    def learn(self, config: ImageConfig, prepared: PreparedImages) -> ImageState:  # type: ignore[override]
        """Classes, sizes, and the scale of the training images."""
        return prepared.state

    def build(self, config: ImageConfig, state: ImageState, name: str) -> nn.Module:
        """A network, or a baseline."""
        if name == "majority":
            return Majority(len(state.classes))
        if name == "logistic":
            return PooledLogistic(state.sizes, state.channels, len(state.classes))
        return create_model(config.model_name, **config.network_fields(**state.fields))

    def learnt_from(self, run: Run, training: Labelled) -> Source:
        """Training images, changed at random where the config says so."""
        augment = run.config.augment
        return self.taught(run, Augmented(training, augment) if augment.is_on else training)

    def settle(self, config: ImageConfig, state: ImageState, *, progress: bool = False) -> ImageConfig:
        """Look for the teacher and the weights to watch before anything is written.

        Raises:
            ConfigError: There is no such teacher, or no weight is called so.
        """
        if config.weights is not None:
            with torch.device("meta"):
                check_names(self.build(config, state, OURS), config.weights)
        return super().settle(config, state, progress=progress)

    def watch(self, run: Run) -> Callable[[nn.Module], Quantiles] | None:
        """Quantiles of the weights that the config names, and a student's accuracy."""
        pattern, accuracy = run.config.weights, super().watch(run)
        if pattern is None:
            return accuracy
        return lambda model: quantiles_of(model, pattern) | ({} if accuracy is None else accuracy(model))

    def fit_baseline(self, run: Run, name: str, training: Labelled, validation: Labelled) -> dict[str, Any] | None:
        """Count classes, or fit a logistic regression on means of blocks of some images."""
        model = run.models[name]
        if isinstance(model, Majority):
            model.fit(torch.from_numpy(training.truth))
            return None
        assert isinstance(model, PooledLogistic)
        some = training.take(np.unique(np.linspace(0, len(training) - 1, FITTED).astype(np.int64)))
        return fit_logistic(model, *_features(model, some), *_features(model, validation), PENALTIES)

    def explain(self, run: Run, out: Path | None, options: dict[str, Any]) -> Answer:
        """Gradients of the named images, or of some telling ones of the test."""
        chosen = options.get("images") or [name for _, name in telling(run)]
        return write_explanations(explained(run, chosen), run.explanation(out))

    def check_stored(self, run: Run) -> None:
        """A centre and a spread for each channel.

        Raises:
            ValueError: One lacks.
        """
        state = run.state
        if not len(state.centre) == len(state.spread) == state.channels:
            raise ValueError("each channel needs a centre and a spread")


@torch.no_grad()
def _features(model: PooledLogistic, samples: Labelled) -> tuple[Tensor, Tensor]:
    parts = [model.features(batch["inputs"]) for batch in samples.batches(1024)]
    return torch.cat(parts), torch.from_numpy(samples.truth)


TASK = ImageTask()
