"""Where models are, and where they predict fast."""

import contextlib
import itertools
from collections.abc import Iterator

import torch
from torch import nn


def device_of(model: nn.Module) -> torch.device:
    """Where a model is."""
    tensors = itertools.chain(model.parameters(), model.buffers())
    return next((tensor.device for tensor in tensors), torch.device("cpu"))


@contextlib.contextmanager
def best_device(model: nn.Module) -> Iterator[None]:
    """Within this block the model is where prediction is fast."""
    model.to("cuda" if torch.cuda.is_available() else "cpu")
    try:
        yield
    finally:
        model.to("cpu")
