"""A network on images, which may learn from a teacher as well."""

import functools
from collections.abc import Callable
from typing import Any

from torch import nn

from multiway.data.samples import Samples
from multiway.tasks.images.encode import Augmented
from multiway.tasks.images.teaching import build_teacher
from multiway.tasks.run import Run
from multiway.tasks.sample_candidate import Basis, TargetNetwork
from multiway.training import Objective, Source
from multiway.training.losses import DistillationLoss, Taught, class_weights
from multiway.training.validation import Watched, accuracy_of, quantiles_of


class ImageNetwork(TargetNetwork):
    """A convolutional network, if the config names no other."""

    def build(self, basis: Basis) -> nn.Module:
        """Drawn for the sizes, colours and classes of the images."""
        network: nn.Module = basis.config.network(**basis.state.fields)
        return network

    def objective(self, run: Run, training: Samples[Any]) -> Objective:
        """Cross-entropy, and the loss of the teacher."""
        options, how = run.config.distill, run.config.training
        if options is None:
            return super().objective(run, training)
        return DistillationLoss(
            temperature=options.temperature,
            alpha=options.alpha,
            smoothing=how.label_smoothing,
            weights=class_weights(training.truth, len(run.state.classes), how),
        )

    def training_source(self, run: Run, training: Samples[Any]) -> Source:
        """Training images, changed at random where the config says so; a teacher sees them as they are."""
        augment, options = run.config.augment, run.config.distill
        resize = getattr(run.model.config, "resize", None)
        source = Augmented(training, augment, resize) if augment.is_on else training
        return source if options is None else Taught(source, build_teacher(run, options))

    def watch(self, run: Run) -> Callable[[nn.Module], Watched] | None:
        """Quantiles of the weights that the config names, and a student's accuracy on the validation samples."""
        pattern = run.config.weights
        watchers: list[Callable[[nn.Module], Watched]] = []
        if pattern is not None:
            watchers.append(lambda model: quantiles_of(model, pattern))
        if run.config.distill is not None:
            watchers.append(functools.partial(accuracy_of, samples=run.prepared.part("validation")))
        if not watchers:
            return None
        return lambda model: {name: values for watcher in watchers for name, values in watcher(model).items()}

    def count_folds(self, run: Run) -> int:
        """None of a student: its teacher saw all images."""
        return super().count_folds(run) if run.config.distill is None else 0


CANDIDATE = ImageNetwork()
