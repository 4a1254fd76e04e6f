"""Logistic regression on the means of blocks of images and volumes."""

import math
from collections.abc import Callable, Sequence

from torch import Tensor
from torch.nn import functional as F

from multiway.models.baselines import Linear

POOLED = {2: 8, 3: 7}
"""Means per axis at most, by the number of axes."""
POOLS: dict[int, Callable[..., Tensor]] = {2: F.adaptive_avg_pool2d, 3: F.adaptive_avg_pool3d}


class PooledLogistic(Linear):
    """Multinomial logistic regression on the means of at most 8 x 8 or 7 x 7 x 7 blocks of each channel, standardised.

    Shape:
        `(batch, channels, *sizes)` to logits `(batch, num_classes)`.
    """

    def __init__(self, sizes: Sequence[int], channels: int, num_classes: int) -> None:
        pooled = tuple(min(size, POOLED[len(sizes)]) for size in sizes)
        super().__init__(channels * math.prod(pooled), num_classes)
        self.pooled = pooled

    def forward(self, x: Tensor) -> Tensor:
        """Logits of images or volumes."""
        return super().forward(self.features(x))

    def features(self, x: Tensor) -> Tensor:
        """Means of blocks, `(batch, features)`."""
        return POOLS[len(self.pooled)](x, self.pooled).flatten(1)
