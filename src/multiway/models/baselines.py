"""Plain models as baselines of networks: class shares, a mean, a linear map, whose penalty validation chooses.

Each is a module of float64 buffers, so that it is saved and loaded as a network is; none draws at random.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from multiway import ops
from multiway.ops import Solution

Facts = dict[str, Any]
ModelT = TypeVar("ModelT", bound=nn.Module)
PENALTIES = (1.0, 1e-1, 1e-2, 1e-3, 1e-4)
OF_WORDS = (1e-2, 1e-3, 1e-4, 1e-5)
"""Penalties of a logistic regression on TF-IDF."""
KNOWN, AT_ONCE = 2, 256
"""Lowest id of a word, since 0 is padding and 1 a word that training had not; and texts that are counted at once."""
SMALLEST_SPREAD = 1e-9
"""A feature that varies less is left as it is."""
Weights = tuple[Tensor | None, Tensor | None]
"""How much the samples count, and those of validation; None where they count alike."""


def average(values: Tensor, weights: Tensor | None) -> Tensor:
    """Mean over samples, the first axis, each of which counts as its weight says."""
    return values.mean(0) if weights is None else weights.to(values.dtype) @ values / weights.sum()


class Majority(nn.Module):
    """The shares of the classes in training, whatever the sample; the most frequent class is named.

    several: Each sample has several of them; those that more than half have are named.
    """

    def __init__(self, num_classes: int, *, several: bool = False) -> None:
        super().__init__()
        self.several = several
        self.shares = nn.Buffer(torch.full((num_classes,), 1.0 / num_classes, dtype=torch.float64))

    def fit(self, labels: Tensor, weights: Tensor | None = None) -> None:
        """Count the classes of the training samples."""
        if self.several:
            self.shares.copy_(average(labels.double(), weights))
            return
        counts = torch.bincount(labels, weights, minlength=len(self.shares)).double()
        self.shares.copy_(counts / counts.sum())

    def forward(self, x: Tensor) -> Tensor:
        """Logits, the same for every sample: `(batch, classes)`."""
        logits = self.shares.logit(1e-12) if self.several else self.shares.clamp_min(1e-12).log()
        return logits.expand(len(x), -1)


class Mean(nn.Module):
    """The mean of the training targets, whatever the sample."""

    def __init__(self, num_outputs: int = 1) -> None:
        super().__init__()
        self.mean = nn.Buffer(torch.zeros(num_outputs, dtype=torch.float64))

    def fit(self, targets: Tensor, weights: Tensor | None = None) -> None:
        """Average `(samples, outputs)`."""
        self.mean.copy_(average(targets.double(), weights))

    def forward(self, x: Tensor) -> Tensor:
        """The same for every sample: `(batch, outputs)`."""
        return self.mean.expand(len(x), -1)


class Solved(nn.Module):
    """A linear map that a solver fills, in float64."""

    def __init__(self, num_features: int, num_outputs: int) -> None:
        super().__init__()
        self.weight = nn.Buffer(torch.zeros(num_outputs, num_features, dtype=torch.float64))
        self.bias = nn.Buffer(torch.zeros(num_outputs, dtype=torch.float64))

    def keep(self, weight: Tensor, bias: Tensor) -> None:
        """Take a solution over."""
        self.weight.copy_(weight)
        self.bias.copy_(bias)


class Linear(Solved):
    """A linear map of standardised features: its outputs are logits or numbers, by what it was fitted to."""

    def __init__(self, num_features: int, num_outputs: int) -> None:
        super().__init__(num_features, num_outputs)
        self.centre = nn.Buffer(torch.zeros(num_features, dtype=torch.float64))
        self.spread = nn.Buffer(torch.ones(num_features, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        """`(batch, features)` to `(batch, outputs)`."""
        return F.linear(self.standardised(x), self.weight, self.bias)

    def standardise(self, x: Tensor, weights: Tensor | None = None) -> Tensor:
        """Learn centre and spread of the training features, and apply them."""
        self.centre.copy_(average(x.double(), weights))
        deviation = average((x.double() - self.centre).square(), weights).sqrt()
        self.spread.copy_(torch.where(deviation > SMALLEST_SPREAD, deviation, 1.0))
        return self.standardised(x)

    def standardised(self, x: Tensor) -> Tensor:
        """Features less their centre, in spreads, float64."""
        return (x.double() - self.centre) / self.spread


@torch.no_grad()
def fit_logistic(
    model: Linear,
    x: Tensor,
    y: Tensor,
    held_x: Tensor,
    held_y: Tensor,
    penalties: Sequence[float] = PENALTIES,
    *,
    standardise: bool = True,
    weights: Weights = (None, None),
) -> Facts:
    """Fit multinomial logistic regression; the penalty is that of the lowest validation loss.

    See `ops.logistic_path` for what is minimised; a weight of 2 is as the sample twice.

    Returns:
        The penalty, and the validation loss of every one.
    """
    x = model.standardise(x, weights[0]) if standardise else model.standardised(x)
    return choose_logistic(model, x, y, model.standardised(held_x), held_y, penalties, weights)


def choose_logistic(
    model: Solved,
    x: Tensor,
    y: Tensor,
    held_x: Tensor,
    held_y: Tensor,
    penalties: Sequence[float],
    weights: Weights = (None, None),
) -> Facts:
    """The same for features as the map takes them."""
    penalties = sorted(penalties, reverse=True)
    if y.ndim == 1:
        path = zip(penalties, ops.logistic_path(x, y, penalties, len(model.bias), weights[0]), strict=True)
        return keep_best(model, path, held_x, held_y, F.cross_entropy, weights[1])
    path = zip(penalties, _path_of_labels(x, y, penalties, weights[0]), strict=True)
    return keep_best(model, path, held_x, held_y.double(), F.binary_cross_entropy_with_logits, weights[1])


def _path_of_labels(x: Tensor, y: Tensor, penalties: Sequence[float], weights: Tensor | None) -> Iterator[Solution]:
    """Weights and biases of the logits of several labels, each fitted by itself as two classes, for each penalty."""
    for pairs in zip(*(ops.logistic_path(x, own, penalties, 2, weights) for own in y.T), strict=True):
        yield torch.stack([weight[1] - weight[0] for weight, _ in pairs]), torch.stack([b[1] - b[0] for _, b in pairs])


@torch.no_grad()
def fit_ridge(
    model: Linear,
    x: Tensor,
    y: Tensor,
    held_x: Tensor,
    held_y: Tensor,
    penalties: Sequence[float] = PENALTIES,
    *,
    weights: Weights = (None, None),
) -> Facts:
    """Fit ridge regression; the penalty is that of the lowest mean squared error on validation.

    Minimises mean squared error + penalty * |weight|² of the standardised features. Arguments as of `fit_logistic`,
    with `(samples, outputs)` targets.
    """
    own, of_held = weights
    x, held_x = model.standardise(x, own), model.standardised(held_x)
    penalties, bias = sorted(penalties, reverse=True), average(y.double(), own)
    shares = 1.0 if own is None else (own.double() / own.double().mean()).sqrt()[:, None]
    path = _ridge_path(shares * x, shares * (y.double() - bias), penalties)
    solutions = ((penalty, (weight, bias)) for penalty, weight in zip(penalties, path, strict=True))
    return keep_best(model, solutions, held_x, held_y.double(), F.mse_loss, of_held)


def fit_linear(
    model: Linear, x: Tensor, y: Tensor, held_x: Tensor, held_y: Tensor, penalties: Sequence[float] = PENALTIES
) -> Facts:
    """Fit logistic regression to classes, ridge regression to numbers; the penalty is that of the lowest loss."""
    if y.is_floating_point():
        return fit_ridge(model, x, y[:, None], held_x, held_y[:, None], penalties)
    return fit_logistic(model, x, y, held_x, held_y, penalties)


@torch.no_grad()
def fit_leaving_out(model: Linear, x: Tensor, y: Tensor, penalties: Sequence[float]) -> tuple[Tensor, Facts]:
    r"""Fit ridge regression; the penalty is that of the lowest error on samples that are left out, each in turn.

    With $H = K (K + \lambda I)^{-1}$ and $K = X X^\top / n$ the error of a sample that was left out is
    $(y_i - \hat y_i) / (1 - 1/n - H_{ii})$: one eigendecomposition of K serves all penalties. For more features than
    samples.

    Returns:
        What each sample is forecast as where it is left out, `(samples, outputs)`, and the facts of `fit_ridge`.
    """
    x, bias = model.standardise(x), y.mean(0)
    values, vectors = torch.linalg.eigh(x @ x.T / len(x))
    values, turned = values.clamp_min(0), vectors.T @ (y - bias)
    losses, left_out = {}, {}
    for penalty in sorted(penalties, reverse=True):
        shrunk = values / (values + penalty)
        missed = y - bias - (vectors * shrunk) @ turned
        free = (1 - 1 / len(x) - vectors.square() @ shrunk).clamp_min(SMALLEST_SPREAD)[:, None]
        left_out[penalty] = y - missed / free
        losses[penalty] = float(F.mse_loss(left_out[penalty], y))
    best = min(losses, key=lambda penalty: losses[penalty])
    dual = vectors @ (turned / (values + best)[:, None]) / len(x)
    model.keep(dual.T @ x, bias)
    return left_out[best], {"penalty": best, "left_out_loss": {f"{each:g}": loss for each, loss in losses.items()}}


def _ridge_path(x: Tensor, y: Tensor, penalties: Sequence[float]) -> Iterable[Tensor]:
    """Weights of each penalty; with fewer samples than features by (XᵀX + λI)⁻¹Xᵀ = Xᵀ(XXᵀ + λI)⁻¹."""
    if len(x) >= x.shape[1]:
        return ops.ridge_path(x.T @ x / len(x), x.T @ y / len(x), penalties)
    return (dual @ x for dual in ops.ridge_path(x @ x.T / len(x), y / len(x), penalties))


def keep_best(
    model: Solved,
    solutions: Iterable[tuple[float, Solution]],
    x: Tensor,
    y: Tensor,
    loss_of: Callable[..., Tensor],
    weights: Tensor | None = None,
) -> Facts:
    """Keep the solution of the lowest validation loss, of equal ones the first."""
    losses: dict[float, float] = {}
    for penalty, (weight, bias) in solutions:
        each = loss_of(F.linear(x, weight, bias), y, reduction="none").reshape(len(y), -1).mean(1)
        loss = float(average(each, weights))
        if loss < min(losses.values(), default=math.inf):
            model.keep(weight, bias)
        losses[penalty] = loss
    named = {f"{penalty:g}": loss for penalty, loss in losses.items()}
    return {"penalty": min(losses, key=lambda penalty: losses[penalty]), "validation_loss": named}


POOLED = {2: 8, 3: 7}
"""Means per axis at most, by the number of axes."""
POOLS: dict[int, Callable[..., Tensor]] = {2: F.adaptive_avg_pool2d, 3: F.adaptive_avg_pool3d}


class PooledLinear(Linear):
    """A linear map of the means of at most 8 x 8 or 7 x 7 x 7 blocks of each channel, standardised.

    Shape:
        `(batch, channels, *sizes)` to `(batch, num_outputs)`.
    """

    def __init__(self, sizes: Sequence[int], channels: int, num_outputs: int) -> None:
        pooled = tuple(min(size, POOLED[len(sizes)]) for size in sizes)
        super().__init__(channels * math.prod(pooled), num_outputs)
        self.pooled = pooled

    def forward(self, x: Tensor) -> Tensor:
        """Logits of images or volumes, or numbers."""
        return super().forward(self.features(x))

    def features(self, x: Tensor) -> Tensor:
        """Means of blocks, `(batch, features)`."""
        return POOLS[len(self.pooled)](x, self.pooled).flatten(1)


class OnVolumeFeatures(nn.Module, Generic[ModelT]):
    """A model of rows on `ops.volume_features` of volumes.

    Shape:
        `(batch, channels, *sizes)` to what the model gives for `(batch, features)`.
    """

    def __init__(self, model: ModelT) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Tensor) -> Tensor:
        """What the model says of volumes."""
        answer: Tensor = self.model(self.features(x))
        return answer

    def features(self, x: Tensor) -> Tensor:
        """Brightness, shape and texture, `(batch, features)`."""
        return ops.volume_features(x)


@torch.no_grad()
def rows_of(
    model: PooledLinear | OnVolumeFeatures[Any], batches: Iterable[Mapping[str, Tensor]]
) -> tuple[Tensor, Tensor]:
    """Features and targets of batches of `inputs` and `target`."""
    parts = [(model.features(batch["inputs"]), batch["target"]) for batch in batches]
    return torch.cat([x for x, _ in parts]), torch.cat([y for _, y in parts])


class TfidfLogistic(Solved):
    r"""Counts of words, weighed by how few texts have them, scaled to length one; logistic regression on those.

    $$x_{iw} = \frac{n_{iw}\, g_w}{\lVert n_i \odot g \rVert}, \qquad g_w = 1 + \ln\frac{1 + N}{1 + N_w}$$

    n_iw is how often text i holds word w, N_w how many of the N training texts hold it.

    Shape:
        Ids `(batch, words)`; output `(batch, num_classes)`, float64.
    """

    def __init__(self, num_words: int, num_classes: int) -> None:
        super().__init__(num_words, num_classes)
        self.gain = nn.Buffer(torch.ones(num_words, dtype=torch.float64))

    def fit(
        self,
        ids: Tensor,
        labels: Tensor,
        held_ids: Tensor,
        held_labels: Tensor,
        penalties: Sequence[float] = OF_WORDS,
    ) -> Facts:
        """Learn gains and weights; the penalty is that of the lowest validation loss."""
        texts_with_each = torch.stack([(part > 0).double().sum(0) for part in self._counts(ids)]).sum(0)
        self.gain.copy_(1 + torch.log((1 + len(ids)) / (1 + texts_with_each)))
        self.gain[:KNOWN] = 0
        return choose_logistic(self, self.features(ids), labels, self.features(held_ids), held_labels, penalties)

    def features(self, ids: Tensor) -> Tensor:
        """TF-IDF of texts, sparse `(texts, num_words)`, float64."""
        counts = torch.cat([part.to_sparse() for part in self._counts(ids)]).coalesce()
        values = counts.values() * self.gain.to(ids.device)[counts.indices()[1]]
        squares = torch.zeros(len(ids), dtype=torch.float64).index_add_(0, counts.indices()[0], values.square())
        scaled = values / squares.sqrt().clamp_min(1e-12)[counts.indices()[0]]
        return torch.sparse_coo_tensor(counts.indices(), scaled, counts.shape, check_invariants=True).coalesce()

    def forward(self, ids: Tensor) -> Tensor:
        """Logits of the classes."""
        return F.linear(self.features(ids.cpu()).to(self.weight.device), self.weight, self.bias)

    def _counts(self, ids: Tensor) -> Iterator[Tensor]:
        """How often each text holds each word, some texts at a time; padding and unknown words do not count."""
        for part in ids.split(AT_ONCE):
            counts = torch.zeros(len(part), len(self.gain), dtype=torch.float64)
            yield counts.scatter_add_(1, part, (part >= KNOWN).double())
