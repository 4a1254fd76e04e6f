"""Baselines of series: logistic regression on all values, ridge on MultiRocket's and Hydra's kernels, and QUANT."""

import math
from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from multiway import ops
from multiway.errors import ShapeError
from multiway.models.baselines import PENALTIES as USUAL
from multiway.models.baselines import Facts, Linear, fit_leaving_out, fit_logistic, fit_ridge
from multiway.models.tree_ensemble import Forest
from multiway.ops.series_features import LENGTH

BIASES, CELLS = 74, 50_000_000
"""Biases of each kernel, as in print, and numbers of all training series' features, beyond which there are fewer."""
GROUPS, MEMBERS = 32, 8
"""Of Hydra, for the values and for their differences."""
AT_ONCE = 8_000_000
"""Answers of kernels that are held at once."""
MOST_LEFT_OUT = 2_000
"""Training series up to which each is left out in turn; with more, validation chooses."""
PENALTIES = tuple(10.0**power for power in range(-4, 5))
SHARPNESS = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Factors by which scores become logits."""


class PositivePools(nn.Module):
    r"""MultiRocket of one representation: four pools of each kernel and bias b, with $z = w * x - b$.

    $$\frac1n \sum_t [z_t > 0], \quad \text{the mean of } z_t > 0, \quad \text{their mean } t, \quad
    \text{the longest run}$$

    over the n steps that count (Tan et al. 2022, section 3). Every second kernel leaves out steps within reach of an
    end. Biases are quantiles of the answers to a training series each. Of several variates a kernel sees the sum of a
    few.

    Differs from the authors' code: excess is over the bias, where the code adds it, which differs by a constant; a run
    counts its steps; missing values count as 0, and only observed steps are pooled.

    Shape:
        Input `(rows, variates, steps)`, and `(rows, steps)` of ones and zeros; output `(rows, 4 * 84 * biases)`.
    """

    def __init__(self, variates: int, steps: int, biases: int) -> None:
        super().__init__()
        self.dilations = ops.log_dilations(steps, biases)
        kernels = len(ops.ternary_kernels())
        self.bias = nn.Buffer(torch.zeros(biases, kernels))
        self.sees = nn.Buffer(torch.ones(len(self.dilations), kernels, variates, 1))
        if not self.sees.is_meta:  # any arithmetic there would take the import of torch's compiler
            count = len(self.dilations) * kernels  # each sees 2^U variates up to all: few are as likely as many
            number = torch.exp2(torch.rand(count) * math.log2(variates + 1)).long().clamp(1, variates)
            rank = torch.rand(count, variates).argsort(1).argsort(1)
            self.sees.copy_((rank < number[:, None]).float()[..., None].view_as(self.sees))

    @torch.no_grad()
    def fit(self, x: Tensor, kept: Tensor | None) -> None:
        """Learn biases from training series, drawn at random."""
        kernels = self.bias.shape[1]
        places, biases = ops.golden_quantiles(self.bias.numel()), []
        for index, (dilation, count) in enumerate(self.dilations):
            drawn = torch.randint(len(x), (kernels,))
            answers = self._answers(x[drawn], index, dilation).diagonal(dim1=0, dim2=1).T  # (kernels, steps)
            seen = torch.ones_like(answers) if kept is None else kept[drawn]
            rising = torch.where(seen > 0, answers, torch.inf).sort(1).values
            start = sum(each for _, each in self.dilations[:index]) * kernels
            at = places[start : start + count * kernels].view(kernels, count) * (seen.sum(1, keepdim=True) - 1).clamp(0)
            low, high = (rising.gather(1, each.long()) for each in (at.floor(), at.ceil()))
            biases.append(torch.lerp(low, high, at.frac().float()).T)
        self.bias.copy_(torch.nan_to_num(torch.cat(biases), posinf=0.0))

    def forward(self, x: Tensor, kept: Tensor | None) -> Tensor:
        """Features of every series."""
        features, biases = [], self.bias.split([count for _, count in self.dilations])
        for index, ((dilation, _), bias) in enumerate(zip(self.dilations, biases, strict=True)):
            answers = self._answers(x, index, dilation)
            reach = dilation * (LENGTH // 2)
            reach = reach if 2 * reach < x.shape[2] else 0
            for first, edge in ((index % 2, 0), (1 - index % 2, reach)):
                inner = slice(edge, x.shape[2] - edge)
                some = answers[:, first::2, inner].mT.contiguous()
                seen = None if kept is None else kept[:, inner].contiguous()
                features.append(_pool(some, bias[:, first::2].contiguous(), seen).flatten(1))
        return torch.cat(features, 1)

    def _answers(self, x: Tensor, index: int, dilation: int) -> Tensor:
        return ops.convolve(x, ops.ternary_kernels().to(x)[:, None] * self.sees[index], dilation)


def _pool(answers: Tensor, biases: Tensor, kept: Tensor | None) -> Tensor:
    """Share, mean excess, mean place and longest run of steps above each bias; 0, 0, -1 and 0 without any."""
    above, excess, places, longest = ops.positive_sums(answers, biases, kept).unbind(1)
    steps = answers.shape[1] if kept is None else kept.sum(1).clamp_min(1)[:, None, None]
    some = above.clamp_min(1)
    return torch.stack([above / steps, excess / some, torch.where(above > 0, places / some, -1.0), longest], 1)


class CompetingKernels(nn.Module):
    r"""Hydra of one representation: how much each kernel of a group gives the largest answer, how often the smallest.

    Kernels are drawn from N(0, 1) about their mean, their absolute weights sum to one; a group sees the sum of a few of
    several variates (Dempster et al. 2023). Roots of counts are given, as a ridge regression takes them.

    Shape:
        Input `(rows, variates, steps)`, and `(rows, steps)`; output `(rows, dilations * 2 * groups * members)`.
    """

    def __init__(self, variates: int, steps: int) -> None:
        super().__init__()
        count = 1 + int(math.log2(max(steps - 1, LENGTH - 1) / (LENGTH - 1)))
        weight = torch.randn(count, GROUPS * MEMBERS, 1, LENGTH)
        if not weight.is_meta:
            weight = weight - weight.mean(-1, keepdim=True)
            weight = weight / weight.abs().sum(-1, keepdim=True)
        self.weight = nn.Buffer(weight)
        self.sees = nn.Buffer(torch.randint(variates, (count, GROUPS, max(2, min(variates // 2, MEMBERS)))))

    def forward(self, x: Tensor, kept: Tensor | None) -> Tensor:
        """Features of every series."""
        features = list[Tensor]()
        for index, (weight, sees) in enumerate(zip(self.weight, self.sees, strict=True)):
            seen = x[:, sees].sum(2) if x.shape[1] > 1 else x
            answers = ops.convolve(seen, weight, 2**index, len(sees) if x.shape[1] > 1 else 1)
            features += ops.competing_counts(answers.unflatten(1, (GROUPS, MEMBERS)), kept)
        return torch.stack(features, 1).clamp_min(0).sqrt().flatten(1)


class Rocket(nn.Module):
    """Ridge regression of the classes on MultiRocket's and Hydra's features of values and their differences.

    Each training series is left out in turn to choose the penalty, and what makes logits of scores; of very many
    series, those of validation choose.

    Shape:
        `(batch, steps, variates)`, NaN where missing, to logits.
    """

    def __init__(self, variates: int, steps: int, num_classes: int, num_series: int) -> None:
        super().__init__()
        kernels = 2 * 4 * len(ops.ternary_kernels())
        biases = max(1, min(BIASES, CELLS // (kernels * max(num_series, 1))))
        lengths = [steps, steps - 1] if steps > 1 else [steps]
        pools = [PositivePools(variates, length, biases) for length in lengths]
        groups = [CompetingKernels(variates, length) for length in lengths]
        count = sum(4 * pool.bias.numel() for pool in pools)
        count += sum(2 * group.weight.shape[:2].numel() for group in groups)
        self.variates, self.pools, self.groups = variates, nn.ModuleList(pools), nn.ModuleList(groups)
        self.linear = Linear(count, num_classes)
        self.sharpness = nn.Buffer(torch.ones((), dtype=torch.float64))

    @torch.no_grad()
    def refit(self, x: Tensor, y: Tensor, penalty: float, sharpness: Tensor) -> None:
        """Fit on other series, with the penalty and the sharpness of a fit before."""
        self._learn_biases(x)
        classes = torch.eye(len(self.linear.bias), dtype=torch.float64)[y]
        features = self.features(x)
        fit_ridge(self.linear, features, classes, features, classes, [penalty])
        self.sharpness.copy_(sharpness)

    def _learn_biases(self, x: Tensor) -> None:
        for pool, (values, kept) in zip(self.pools, self._representations(x), strict=True):
            cast(PositivePools, pool).fit(values, kept)

    @torch.no_grad()
    def fit(self, x: Tensor, y: Tensor, held_x: Tensor, held_y: Tensor) -> Facts:
        """Fit on series and classes."""
        self._learn_biases(x)
        classes = torch.eye(len(self.linear.bias), dtype=torch.float64)
        if len(x) <= MOST_LEFT_OUT:
            scores, facts = fit_leaving_out(self.linear, self.features(x), classes[y], PENALTIES)
        else:
            held = self.features(held_x)
            facts = fit_ridge(self.linear, self.features(x), classes[y], held, classes[held_y], PENALTIES)
            scores, y = self.linear(held), held_y
        losses = [float(F.cross_entropy(factor * scores, y)) for factor in SHARPNESS]
        self.sharpness.fill_(SHARPNESS[losses.index(min(losses))])
        return facts

    def forward(self, x: Tensor) -> Tensor:
        """Logits of classes."""
        out: Tensor = self.sharpness * self.linear(self.features(x))
        return out

    @torch.no_grad()
    def features(self, x: Tensor) -> Tensor:
        """Of series, some at a time."""
        if x.ndim != 3 or x.shape[-1] != self.variates:
            raise ShapeError(f"Rocket: x must be (batch, steps, {self.variates}). Got {tuple(x.shape)}.")
        size = max(1, AT_ONCE // (x.shape[1] * GROUPS * MEMBERS))
        return torch.cat([self._some_features(part) for part in x.split(size)])

    def _some_features(self, x: Tensor) -> Tensor:
        given = zip(self.pools, self.groups, self._representations(x), strict=True)
        return torch.cat([layer(*part) for pool, group, part in given for layer in (pool, group)], 1)

    def _representations(self, x: Tensor) -> list[tuple[Tensor, Tensor | None]]:
        """Values and their differences, 0 where there are none, and which steps are observed; None where all are."""
        parts = [x.float().mT, x.float().mT.diff()][: len(self.pools)]
        seen = [None if not part.isnan().any() else (~part.isnan()).any(1).float() for part in parts]
        return [(torch.nan_to_num(part).contiguous(), kept) for part, kept in zip(parts, seen, strict=True)]


class IntervalForest(nn.Module):
    """QUANT: extremely randomised trees on quantiles of dyadic intervals (Dempster et al. 2024).

    Shape:
        `(batch, steps, variates)`, NaN where missing, to logits.
    """

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        self.forest = Forest(num_classes)

    def fit(self, x: Tensor, y: Tensor, seed: int) -> None:
        """Grow the trees on series and classes."""
        self.forest.fit(self.features(x), y, seed)

    def forward(self, x: Tensor) -> Tensor:
        """Logits of classes."""
        out: Tensor = self.forest(self.features(x))
        return out

    @torch.no_grad()
    def features(self, x: Tensor) -> Tensor:
        """Of series, some at a time."""
        size = max(1, AT_ONCE // x.shape[1:].numel())
        return torch.cat([ops.interval_quantiles(part.float().mT) for part in x.split(size)])


class FlatLinear(nn.Module):
    """Logistic regression on the values of a series, `(batch, steps, variates)`; missing ones count as 0."""

    def __init__(self, num_features: int, num_classes: int) -> None:
        super().__init__()
        self.linear = Linear(num_features, num_classes)

    def fit(self, x: Tensor, y: Tensor, held_x: Tensor, held_y: Tensor, penalties: Sequence[float] = USUAL) -> Facts:
        """Fit on series and classes; the penalty is that of the lowest validation loss."""
        return fit_logistic(self.linear, _flat(x), y, _flat(held_x), held_y, penalties)

    def forward(self, x: Tensor) -> Tensor:
        """Logits of classes."""
        out: Tensor = self.linear(_flat(x))
        return out


def _flat(x: Tensor) -> Tensor:
    return torch.nan_to_num(x).flatten(1)
