"""Baselines of series: logistic regression on all values, random kernels (ROCKET)."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from multiway.errors import ShapeError
from multiway.models.baselines import Facts, Linear, fit_logistic, fit_ridge

LENGTH = 9
"""Steps that a kernel looks at."""
BATCH = 64
"""Series that are convolved at once."""
PENALTIES = tuple(10.0**power for power in range(-4, 5))
SHARPNESS = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Factors by which scores become logits; validation chooses."""


class RandomKernels(nn.Module):
    r"""How often each kernel's answer is positive, and its largest answer.

    $$\mathrm{PPV} = \frac1T \sum_t [\,(w * x)_t + b > 0\,], \qquad \max_t\, (w * x)_t + b$$

    Weights are drawn from N(0, 1) about their mean, biases from U(-1, 1), dilations 2^U up to the length of a series,
    and each kernel sees a random few of the variates, once, when the module is made. Missing values count as 0, and
    only observed steps are answered for.

    Differs from the paper: kernels have 9 steps, as in MiniRocket, and reach beyond either end of a series.

    Shape:
        Input `(batch, steps, variates)`, NaN where missing; output `(batch, 2 count)` float32.
    """

    def __init__(self, variates: int, steps: int, count: int) -> None:
        super().__init__()
        reach = max(math.log2(max(steps - 1, 1) / (LENGTH - 1)), 0.0)
        weight = torch.randn(count, variates, LENGTH)
        self.weight = nn.Buffer((weight - weight.mean(2, keepdim=True)) * _choose_variates(count, variates))
        self.bias = nn.Buffer(2 * torch.rand(count) - 1)
        self.dilation = nn.Buffer(torch.exp2(torch.rand(count) * reach).long().sort().values)

    def forward(self, x: Tensor) -> Tensor:
        """Features of every series."""
        if x.ndim != 3 or x.shape[-1] != self.weight.shape[1]:
            raise ShapeError(f"RandomKernels: x must be (batch, steps, {self.weight.shape[1]}). Got {tuple(x.shape)}.")
        return torch.cat([self._features(some) for some in x.float().split(BATCH)])

    def _features(self, x: Tensor) -> Tensor:
        observed = ~x.isnan()
        values, keep = torch.where(observed, x, 0.0).mT, observed.any(-1)[:, None]
        responses = [
            _shares_and_peaks(self._answers(values, dilation), keep) for dilation in self.dilation.unique().tolist()
        ]
        return torch.cat([torch.cat(parts, 1) for parts in zip(*responses, strict=True)], 1)

    def _answers(self, values: Tensor, dilation: int) -> Tensor:
        """Of the kernels with one dilation, at every step."""
        own = self.dilation == dilation
        padding = dilation * (LENGTH // 2)
        return F.conv1d(values, self.weight[own], self.bias[own], padding=padding, dilation=dilation)


class Rocket(nn.Module):
    """Ridge regression of the classes on features of random kernels: `(batch, steps, variates)` to logits."""

    def __init__(self, variates: int, steps: int, num_classes: int, count: int = 1000) -> None:
        super().__init__()
        self.kernels = RandomKernels(variates, steps, count)
        self.linear = Linear(2 * count, num_classes)
        self.sharpness = nn.Buffer(torch.ones((), dtype=torch.float64))

    @torch.no_grad()
    def fit(self, x: Tensor, y: Tensor, held_x: Tensor, held_y: Tensor) -> Facts:
        """Fit on series and classes; validation chooses the penalty, then what makes logits of its scores."""
        classes = torch.eye(len(self.linear.bias), dtype=torch.float64)
        features, held = self.kernels(x), self.kernels(held_x)
        facts = fit_ridge(self.linear, features, classes[y], held, classes[held_y], PENALTIES)
        scores = self.linear(held)
        losses = [float(F.cross_entropy(factor * scores, held_y)) for factor in SHARPNESS]
        self.sharpness.fill_(SHARPNESS[losses.index(min(losses))])
        return facts

    def forward(self, x: Tensor) -> Tensor:
        """Logits of classes."""
        out: Tensor = self.sharpness * self.linear(self.kernels(x))
        return out


def _choose_variates(count: int, variates: int) -> Tensor:
    """Which variates each kernel sees: their number is 2^U up to all, so that few are as likely as many."""
    number = torch.exp2(torch.rand(count) * math.log2(variates + 1)).long().clamp(1, variates)
    rank = torch.rand(count, variates).argsort(1).argsort(1)
    return (rank < number[:, None]).float()[..., None]


def _shares_and_peaks(answers: Tensor, keep: Tensor) -> tuple[Tensor, Tensor]:
    """Share of the observed steps with a positive answer, and the largest answer; 0 for a series without any."""
    counted = keep.sum(2).clamp_min(1)
    shares = ((answers > 0) & keep).sum(2) / counted
    peaks = answers.masked_fill(~keep, -torch.inf).amax(2)
    return shares, torch.where(peaks.isinf(), 0.0, peaks)


class FlatLinear(nn.Module):
    """Logistic regression on the values of a series, `(batch, steps, variates)`; missing ones count as 0."""

    def __init__(self, num_features: int, num_classes: int) -> None:
        super().__init__()
        self.linear = Linear(num_features, num_classes)

    def fit(self, x: Tensor, y: Tensor, held_x: Tensor, held_y: Tensor) -> Facts:
        """Fit on series and classes; the penalty is that of the lowest validation loss."""
        return fit_logistic(self.linear, _flat(x), y, _flat(held_x), held_y)

    def forward(self, x: Tensor) -> Tensor:
        """Logits of classes."""
        out: Tensor = self.linear(_flat(x))
        return out


def _flat(x: Tensor) -> Tensor:
    return torch.nan_to_num(x).flatten(1)
