"""Logistic regression on TF-IDF: the plain answer to a classification of texts."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from multiway import ops
from multiway.models.baselines import Facts, choose

PENALTIES = (1e-2, 1e-3, 1e-4, 1e-5)
KNOWN = 2
"""Lowest id of a word; 0 is padding, 1 a word that training had not."""
AT_ONCE = 256


class TfidfLogistic(nn.Module):
    r"""Counts of words, weighed by how few texts have them, scaled to length one; logistic regression on those.

    $$x_{iw} = \frac{n_{iw}\, g_w}{\lVert n_i \odot g \rVert}, \qquad g_w = 1 + \ln\frac{1 + N}{1 + N_w}$$

    n_iw is how often text i holds word w, N_w how many of the N training texts hold it.

    Shape:
        Ids `(batch, words)`; output `(batch, num_classes)`, float64.
    """

    gain: Tensor
    weight: Tensor
    bias: Tensor

    def __init__(self, num_words: int, num_classes: int) -> None:
        super().__init__()
        self.register_buffer("gain", torch.ones(num_words, dtype=torch.float64))
        self.register_buffer("weight", torch.zeros(num_classes, num_words, dtype=torch.float64))
        self.register_buffer("bias", torch.zeros(num_classes, dtype=torch.float64))

    def fit(self, ids: Tensor, labels: Tensor, held_ids: Tensor, held_labels: Tensor) -> Facts:
        """Learn gains and weights; the penalty is that of the lowest validation loss."""
        self.gain.copy_(1 + torch.log((1 + len(ids)) / (1 + self._texts_with_each(ids))))
        self.gain[:KNOWN] = 0
        features, held = self.features(ids), self.features(held_ids)
        path = ops.logistic_path(features, labels, PENALTIES, len(self.bias))
        return choose(self, zip(PENALTIES, path, strict=True), held, held_labels, F.cross_entropy)

    def keep(self, weight: Tensor, bias: Tensor) -> None:
        """Take a solution over."""
        self.weight.copy_(weight)
        self.bias.copy_(bias)

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
