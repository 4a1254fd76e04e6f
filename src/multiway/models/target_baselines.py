"""Baselines of a target that is a class or a number, by their names; logistic regression on TF-IDF among them."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from multiway import ops
from multiway.errors import ConfigError
from multiway.lazy import is_installed, load_extra
from multiway.models.baselines import Facts, Linear, Majority, Mean, Solved, fit_logistic, fit_ridge, keep_best
from multiway.models.tree_ensemble import TreeEnsemble

PENALTIES = (1e-2, 1e-3, 1e-4, 1e-5)
KNOWN = 2
"""Lowest id of a word; 0 is padding, 1 a word that training had not."""
AT_ONCE = 256
OF_CLASSES = ("majority", "logistic", "trees")
OF_NUMBERS = ("mean", "ridge", "trees")
WORDS = {
    "logistic": "logistic regression", "ridge": "ridge regression", "trees": "boosted trees",
    "tfidf": "logistic regression on TF-IDF", "vectors": "logistic regression on vectors",
    "rocket": "random kernels", "cnn": "small CNN", "resnet18_3d": "ResNet-18 3D", "resnet50_3d": "ResNet-50 3D",
}  # fmt: skip
"""What a report calls those whose name in configs, options and tables says too little."""
ROUNDS, LEAVES = 100, 31
"""Of the boosted trees: what scikit-learn has by default."""


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

    def fit(self, ids: Tensor, labels: Tensor, held_ids: Tensor, held_labels: Tensor) -> Facts:
        """Learn gains and weights; the penalty is that of the lowest validation loss."""
        self.gain.copy_(1 + torch.log((1 + len(ids)) / (1 + self._texts_with_each(ids))))
        self.gain[:KNOWN] = 0
        features, held = self.features(ids), self.features(held_ids)
        path = ops.logistic_path(features, labels, PENALTIES, len(self.bias))
        return keep_best(self, zip(PENALTIES, path, strict=True), held, held_labels, F.cross_entropy)

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

    def _texts_with_each(self, ids: Tensor) -> Tensor:
        return torch.stack([(part > 0).double().sum(0) for part in self._counts(ids)]).sum(0)

    def _counts(self, ids: Tensor) -> Iterator[Tensor]:
        """How often each text holds each word, some texts at a time; padding and unknown words do not count."""
        for part in ids.split(AT_ONCE):
            counts = torch.zeros(len(part), len(self.gain), dtype=torch.float64)
            yield counts.scatter_add_(1, part, (part >= KNOWN).double())


def usual_baselines(chosen: Sequence[str] | None, *, is_class: bool) -> tuple[str, ...]:
    """The chosen baselines of a target; all of its kind where none were chosen, the trees only with scikit-learn."""
    known = OF_CLASSES if is_class else OF_NUMBERS
    if chosen is None:
        return known if is_installed("sklearn") else known[:-1]
    for name in chosen:
        if name not in known:
            what = "classes" if is_class else "numbers"
            raise ConfigError(f"baselines of {what} are {', '.join(known)}. Got {name}. Leave it out.")
    return tuple(chosen)


def build_baseline(name: str, num_features: int, num_outputs: int) -> nn.Module:
    """A baseline by its name."""
    if name == "trees":
        load_extra("sklearn", "the baseline trees", "trees")
        return TreeEnsemble(ROUNDS, LEAVES, 1 if num_outputs == 2 else num_outputs)
    if name == "tfidf":
        return TfidfLogistic(num_features, num_outputs)
    if name in ("logistic", "ridge", "vectors"):
        return Linear(num_features, num_outputs)
    return Majority(num_outputs) if name == "majority" else Mean(num_outputs)


def fit_baseline(model: nn.Module, x: Tensor, y: Tensor, held_x: Tensor, held_y: Tensor, seed: int = 0) -> Facts | None:
    """Fit a baseline on features `(samples, features)`, or ids of words, and targets: whole numbers are classes."""
    is_class = not y.is_floating_point()
    if isinstance(model, TreeEnsemble):
        return model.fit(x, y, seed)
    if isinstance(model, TfidfLogistic):
        return model.fit(x, y, held_x, held_y)
    if not is_class:
        y, held_y = y[:, None], held_y[:, None]
    if isinstance(model, Linear):
        return (fit_logistic if is_class else fit_ridge)(model, x, y, held_x, held_y)
    assert isinstance(model, Majority | Mean)
    return model.fit(y)
