"""Plain models that stand beside networks: class shares, a mean, a linear map; none draws at random.

Each is a module of float64 buffers, so that it is saved and loaded as a network is.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

SMALLEST_SPREAD = 1e-9
"""A feature that varies less is left as it is."""


class Majority(nn.Module):
    """The shares of the classes in training, whatever the sample; the most frequent class is named."""

    shares: Tensor

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        self.register_buffer("shares", torch.full((num_classes,), 1.0 / num_classes, dtype=torch.float64))

    def fit(self, labels: Tensor) -> None:
        """Count the classes of the training samples."""
        self.shares.copy_(torch.bincount(labels, minlength=len(self.shares)).double() / len(labels))

    def forward(self, x: Tensor) -> Tensor:
        """Logits, the same for every sample: `(batch, classes)`."""
        return self.shares.clamp_min(1e-12).log().expand(len(x), -1)


class Mean(nn.Module):
    """The mean of the training targets, whatever the sample."""

    mean: Tensor

    def __init__(self, num_outputs: int = 1) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(num_outputs, dtype=torch.float64))

    def fit(self, targets: Tensor) -> None:
        """Average `(samples, outputs)`."""
        self.mean.copy_(targets.double().mean(0))

    def forward(self, x: Tensor) -> Tensor:
        """The same for every sample: `(batch, outputs)`."""
        return self.mean.expand(len(x), -1)


class Linear(nn.Module):
    """A linear map of standardised features: its outputs are logits or numbers, by what it was fitted to."""

    centre: Tensor
    spread: Tensor
    weight: Tensor
    bias: Tensor

    def __init__(self, num_features: int, num_outputs: int) -> None:
        super().__init__()
        self.register_buffer("centre", torch.zeros(num_features, dtype=torch.float64))
        self.register_buffer("spread", torch.ones(num_features, dtype=torch.float64))
        self.register_buffer("weight", torch.zeros(num_outputs, num_features, dtype=torch.float64))
        self.register_buffer("bias", torch.zeros(num_outputs, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        """`(batch, features)` to `(batch, outputs)`."""
        return F.linear(self.standardised(x), self.weight, self.bias)

    def standardise(self, x: Tensor) -> Tensor:
        """Learn centre and spread of the training features, and apply them."""
        self.centre.copy_(x.double().mean(0))
        deviation = x.double().std(0, correction=0)
        self.spread.copy_(torch.where(deviation > SMALLEST_SPREAD, deviation, 1.0))
        return self.standardised(x)

    def standardised(self, x: Tensor) -> Tensor:
        """Features less their centre, in spreads, float64."""
        return (x.double() - self.centre) / self.spread

    def keep(self, weight: Tensor, bias: Tensor) -> None:
        """Take a solution over."""
        self.weight.copy_(weight)
        self.bias.copy_(bias)
