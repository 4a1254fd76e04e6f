"""A network on volumes."""

from collections.abc import Callable
from typing import Any, ClassVar

from torch import nn

from multiway.data.samples import Samples
from multiway.models import create_model
from multiway.tasks.options import Sizes
from multiway.tasks.run import Run
from multiway.tasks.sample_candidate import Basis, TargetNetwork
from multiway.tasks.scans.encode import VolumeState
from multiway.tasks.scans.networks import VolumeLoss, auc_score
from multiway.training import Objective, TrainingConfig
from multiway.training.losses import TargetLoss


class VolumeNetwork(TargetNetwork):
    """A higher-order transformer, if the config names no other."""

    sampled = 8

    def build(self, basis: Basis) -> nn.Module:
        """Drawn for the sizes, channels and classes of the volumes."""
        network: nn.Module = basis.config.network(**sizes_of(basis.state))
        return network

    def objective(self, run: Run, training: Samples[Any]) -> Objective:
        """The loss of a target, on volumes that are changed at random."""
        return VolumeLoss(run.config, TargetLoss(self.options(run.config), run.state.classes, training.truth))

    def validation(
        self, run: Run, validation: Samples[Any]
    ) -> tuple[Objective | None, Callable[[nn.Module], float] | None]:
        """AUC of classes, where validation has every one."""
        return None, auc_score(run, validation)


class Classifier(VolumeNetwork):
    """A network of the literature, which may be trained otherwise.

    architecture: Its name among the models.
    """

    architecture: ClassVar[str]

    def is_usual(self, basis: Basis) -> bool:
        """Only where it is named: it takes as long as the network."""
        return False

    def build(self, basis: Basis) -> nn.Module:
        """Drawn for the sizes, channels and classes of the volumes."""
        return create_model(self.architecture, **sizes_of(basis.state))

    def options(self, config: Any) -> TrainingConfig:
        """As the baselines of the config are trained."""
        training: TrainingConfig = config.network_training
        return training


def sizes_of(state: VolumeState) -> dict[str, Sizes]:
    """Fields of a network on these volumes."""
    return {"sizes": state.sizes, "in_channels": state.channels, "num_classes": state.num_outputs}


CANDIDATE = VolumeNetwork()
