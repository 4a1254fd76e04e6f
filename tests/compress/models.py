"""Small models that tests compress."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def perceptron(seed: int = 0, dtype: torch.dtype = torch.float64) -> nn.Sequential:
    """Two dense layers, drawn from a seed of its own."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(12, 35, dtype=dtype), nn.Tanh(), nn.Linear(35, 6, dtype=dtype))


class Shared(nn.Module):
    """One dense layer under two names."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(12, 12)
        self.second = self.first

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.first(x).relu())


class Tied(nn.Module):
    """An embedding whose weight is also that of the head, as in language models."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.body, self.head = nn.Embedding(35, 12), nn.Linear(12, 12), nn.Linear(12, 35, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(self.embed(x)))


class Reader(nn.Module):
    """Reads a layer's weight in place of calling it."""

    def __init__(self) -> None:
        super().__init__()
        self.fc, self.out = nn.Linear(12, 12), nn.Linear(12, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(F.linear(x, self.fc.weight, self.fc.bias))


class Branching(nn.Module):
    """Leaves one layer uncalled; takes named arguments; returns a mapping with more than tensors of floats."""

    def __init__(self) -> None:
        super().__init__()
        self.used, self.unused = nn.Linear(12, 12), nn.Linear(12, 12)

    def forward(self, x: Tensor, *, scale: float = 1.0) -> dict[str, object]:
        out = self.used(x) * scale
        return {"out": out, "parts": (out.argmax(-1), [out.mean()]), "name": "branching", "none": None}


def encoder(layers: int = 2, *, norm_first: bool = False) -> nn.TransformerEncoder:
    """A Transformer encoder for which torch has a fused path in evaluation."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        layer = nn.TransformerEncoderLayer(12, 2, 35, dropout=0.0, batch_first=True, norm_first=norm_first)
        return nn.TransformerEncoder(layer, layers, enable_nested_tensor=not norm_first)
