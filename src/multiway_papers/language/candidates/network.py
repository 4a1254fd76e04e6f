"""A network on windows of tokens."""

from typing import Any

from torch import nn

from multiway.data.samples import Samples
from multiway.tasks.run import Run
from multiway.tasks.sample_candidate import Basis, Network
from multiway.training import Objective
from multiway.training.losses import ClassLoss
from multiway_papers.language.scores import nats_of
from multiway_papers.language.windows import TokenWindows


class TokenNetwork(Network):
    """A causal transformer, if the config names no other."""

    sampled = 16

    def build(self, basis: Basis) -> nn.Module:
        """Drawn for the vocabulary."""
        network: nn.Module = basis.config.network(vocabulary=basis.state.vocabulary.size)
        return network

    def objective(self, run: Run, training: Samples[Any]) -> Objective:
        """Cross-entropy of every token that is no filling."""
        return ClassLoss(smoothing=run.config.training.label_smoothing)

    def training_source(self, run: Run, training: Samples[Any]) -> TokenWindows:
        """Windows of the text."""
        windows: TokenWindows = training.inputs.learnt
        return windows

    def validation_source(self, run: Run, validation: Samples[Any]) -> TokenWindows:
        """Windows of the text."""
        windows: TokenWindows = validation.inputs.windows
        return windows

    def loss_of(self, run: Run, name: str, validation: Samples[Any]) -> float:
        """Nats per token."""
        return float(nats_of(run.models[name], validation.inputs.windows).mean())


CANDIDATE = TokenNetwork()
