"""A network on patches of volumes or scenes, and the plain one beside it."""

from collections.abc import Callable
from typing import Any, ClassVar

from torch import nn

from multiway.data.samples import Samples
from multiway.models import create_model
from multiway.tasks.run import Run
from multiway.tasks.sample_candidate import Basis, Network, Part
from multiway.tasks.scans.networks import PatchLoss, network_predictor, predictor_of
from multiway.tasks.scans.patches import GridPatches, TrainingPatches
from multiway.tasks.scans.scores import mean_dice
from multiway.training import Objective, Source


class PatchNetwork(Network):
    """A network with Kronecker attention, if the config names no other.

    is_plain: Whether it is the plain one of equal size, a baseline.
    """

    sampled = 8
    is_plain: ClassVar[bool] = False

    def build(self, basis: Basis) -> nn.Module:
        """Drawn for the channels and classes of the images."""
        config, state = basis
        network, fields = config.network(state.num_modes, plain=self.is_plain)
        return create_model(network, **fields, **state.fields)

    def objective(self, run: Run, training: Samples[Any]) -> Objective:
        """Cross-entropy and overlaps."""
        return PatchLoss(run.config, run.state.background)

    def training_source(self, run: Run, training: Samples[Any]) -> Source:
        """Random patches, many of them about what the masks mark."""
        config = run.config
        return TrainingPatches(
            images=training.inputs,
            scale=run.state.scale,
            patch=run.state.patch,
            per_case=config.patches_per_case,
            foreground=config.foreground,
            options=config.augment,
        )

    def validation_source(self, run: Run, validation: Samples[Any]) -> Part:
        """Patches that cover the validation images."""
        return GridPatches(validation.inputs, run.state.scale, run.state.patch)

    def validation(
        self, run: Run, validation: Samples[Any]
    ) -> tuple[Objective | None, Callable[[nn.Module], float] | None]:
        """Mean Dice."""
        return None, lambda model: mean_dice(network_predictor(run, model), validation)

    def loss_of(self, run: Run, name: str, validation: Samples[Any]) -> float:
        """One less its mean Dice."""
        return 1 - mean_dice(predictor_of(run, name), validation)


CANDIDATE = PatchNetwork()
