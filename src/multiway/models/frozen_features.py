"""A pretrained network of images as a source of features."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class FrozenFeatures(nn.Module):
    """Features of images by a network that is not trained, on images of its size, scaled as it knows them.

    Args:
        network: From `(batch, 3, *sizes)` to `(batch, features)`, or to an output of transformers.
        sizes: Height and width that it was trained on.
        mean: Of each colour, from 0 to 1.
        std: Deviation of each.

    Shape:
        `(batch, 1 or 3, height, width)`, values from 0 to 1, to `(batch, features)`.
    """

    mean: Tensor
    std: Tensor

    def __init__(
        self, network: Callable[..., object], sizes: tuple[int, int], mean: Sequence[float], std: Sequence[float]
    ) -> None:
        super().__init__()
        self.network, self.sizes = network, sizes
        for name, values in (("mean", mean), ("std", std)):
            self.register_buffer(name, torch.tensor(list(values))[:, None, None])

    def forward(self, x: Tensor) -> Tensor:
        """Bring images to the network's size and scale, and ask it."""
        coloured = x.expand(-1, 3, -1, -1)
        resized = F.interpolate(coloured, self.sizes, mode="bilinear", antialias=True)
        return _features_of(self.network((resized - self.mean) / self.std))


def _features_of(output: object) -> Tensor:
    """Features in what a network returns: its class token, or the mean of a map."""
    hidden = getattr(output, "last_hidden_state", output)
    assert isinstance(hidden, Tensor)
    if hidden.ndim == 4:
        return hidden.mean((2, 3))  # (batch, features, height, width)
    return hidden[:, 0] if hidden.ndim == 3 else hidden
