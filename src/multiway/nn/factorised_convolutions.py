"""Convolutions as chains of smaller ones: Tucker over both modes of channels, and canonical polyadic over all modes."""

import math
import operator
from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from multiway import ops
from multiway.errors import ConfigError
from multiway.nn.factorised import Approximation, relative_error

Convolution = nn.Conv1d | nn.Conv2d | nn.Conv3d
CLASSES: dict[int, type[nn.Module]] = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}

SWEEPS = 8
"""Turns of both modes of channels; most of the gain over one is in the first few."""


class ChainedConvolution(nn.Module):
    """What both chains share: a convolution of one place that narrows the channels, the middle, and one that widens.

    Args:
        like: The dense convolution whose channels, kernel, stride, padding and dilation it takes; its numbers are not
            read. Channels in groups are refused.
        ranks: Channels between the parts.

    Raises:
        ConfigError: Channels in groups, or ranks below one.
    """

    def __init__(self, like: Convolution, ranks: Sequence[int]) -> None:
        super().__init__()
        if like.groups != 1:
            raise ConfigError(
                f"{type(self).__name__}: channels in groups are not factorised. Got groups={like.groups}."
            )
        self.ranks = tuple(ranks)
        self.in_channels, self.out_channels = like.in_channels, like.out_channels
        self.kernel_size = tuple(like.kernel_size)
        self.stride, self.padding, self.dilation = like.stride, like.padding, like.dilation
        self.padding_mode = like.padding_mode
        self.num_modes = len(self.kernel_size)
        self.factory = {"device": like.weight.device, "dtype": like.weight.dtype}
        self.approximation: Approximation | None = None
        first, last = self.ranks[0], self.ranks[-1]
        self.first = self._convolution(self.in_channels, first, 1)
        self.middle = nn.Sequential(*self._middle())
        self.last = self._convolution(last, self.out_channels, 1, bias=like.bias is not None)

    @property
    def options(self) -> dict[str, Any]:
        """Settings of the dense convolution but its sizes."""
        return {name: getattr(self, name) for name in ("stride", "padding", "dilation", "padding_mode")}

    def forward(self, x: Float[Tensor, "batch channels *sizes"]) -> Float[Tensor, "batch out *out_sizes"]:
        """Narrow, convolve, widen."""
        out: Tensor = self.last(self.middle(self.first(x)))
        return out

    def dense_weight(self) -> Float[Tensor, "out in *kernel"]:
        """The weight of the dense convolution that this one equals."""
        raise NotImplementedError

    def to_convolution(self) -> nn.Module:
        """The dense convolution with the same answers."""
        bias = self.last.bias is not None
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            dense = self._convolution(self.in_channels, self.out_channels, self.kernel_size, bias=bias, **self.options)
            dense.get_parameter("weight").copy_(self.dense_weight())
            if bias:
                dense.get_parameter("bias").copy_(self.last.get_parameter("bias"))
        return dense

    def extra_repr(self) -> str:
        """Channels, kernel, ranks and the error of an approximation."""
        parts = [f"{self.in_channels} -> {self.out_channels}", f"kernel_size={self.kernel_size}", f"ranks={self.ranks}"]
        return ", ".join(parts + ([f"error={self.approximation}"] if self.approximation else []))

    def _middle(self) -> list[nn.Module]:
        """Convolutions between the first and the last."""
        raise NotImplementedError

    def _convolution(
        self, in_channels: int, out_channels: int, kernel: int | Sequence[int], **options: Any
    ) -> nn.Module:
        """Without bias unless the options say otherwise."""
        size = kernel if isinstance(kernel, int) else tuple(kernel)
        options = {"bias": False, **options, **self.factory}
        return CLASSES[self.num_modes](in_channels, out_channels, size, **options)

    def _fill(self, like: Convolution, weights: Sequence[tuple[nn.Module, Tensor]]) -> None:
        """Copy factors and bias, and measure the error."""
        with torch.no_grad():
            for module, factor in weights:
                parameter = module.get_parameter("weight")
                parameter.copy_(factor.reshape(parameter.shape))
            if like.bias is not None:
                self.last.get_parameter("bias").copy_(like.bias)
            self.approximation = Approximation(relative_error(like.weight, self.dense_weight()))


class TuckerConv(ChainedConvolution):
    r"""A convolution of low rank in both modes of channels (Tucker-2; Kim et al. 2016, arXiv:1511.06530, eq. 2).

    $$W_{o i k} \approx \sum_{a b} U_{o a} \, C_{a b k} \, V_{b i}$$

    V and U are convolutions of one place, C has the kernel. Where the kernel is one place, there is no C, and both
    ranks are one. Counts in · r₁ + r₁ r₂ Π k + r₂ · out parameters and the bias.

    Args:
        like: The dense convolution whose sizes and settings it takes.
        ranks: Channels after the first and before the last convolution, r₁ and r₂; one for kernels of one place.

    Shape:
        As the dense convolution.

    Raises:
        ConfigError: Channels in groups, or ranks below one.
    """

    def __init__(self, like: Convolution, ranks: Sequence[int]) -> None:
        count = 2 if math.prod(like.kernel_size) > 1 else 1
        if len(ranks) != count or min(ranks) < 1:
            raise ConfigError(f"TuckerConv: this kernel takes {count} ranks from 1 on. Got ranks={tuple(ranks)}.")
        super().__init__(like, ranks)
        if count == 1:  # stride, padding and dilation have their place in the first
            self.first = self._convolution(self.in_channels, self.ranks[0], 1, **self.options)

    def _middle(self) -> list[nn.Module]:
        if len(self.ranks) == 1:
            return []
        return [self._convolution(self.ranks[0], self.ranks[1], self.kernel_size, **self.options)]

    def dense_weight(self) -> Float[Tensor, "out in *kernel"]:
        """The weight of the dense convolution that this one equals."""
        first, last = (part.get_parameter("weight").flatten(1) for part in (self.first, self.last))
        if not len(self.middle):
            return (last @ first).reshape(self.out_channels, self.in_channels, *self.kernel_size)
        core = self.middle[0].get_parameter("weight")
        weight: Tensor = torch.einsum("oa,ab...,bi->oi...", last, core, first)
        return weight

    @classmethod
    def from_convolution(cls, like: Convolution, ranks: Sequence[int]) -> "TuckerConv":
        """Approximate a trained convolution by leading singular vectors of both modes of channels, in turns (HOOI).

        Raises:
            ConfigError: Channels in groups, or ranks above the channels.
        """
        channels = like.in_channels, like.out_channels
        most = channels if len(ranks) == 2 else (min(channels),)
        if any(map(operator.gt, ranks, most)):
            raise ConfigError(f"TuckerConv: ranks are at most the channels, {most}. Got ranks={tuple(ranks)}.")
        weight = like.weight.detach().double()
        with torch.random.fork_rng(devices=[]):
            layer = cls(like, ranks)
        if len(ranks) == 1:
            left, values, right = torch.linalg.svd(weight.flatten(1), full_matrices=False)
            roots = values[: ranks[0]].sqrt()
            factors = [roots[:, None] * right[: ranks[0]], left[:, : ranks[0]] * roots]
        else:
            into = leading_vectors(weight, 1, ranks[0])
            for _ in range(SWEEPS):
                out = leading_vectors(torch.einsum("oi...,ib->ob...", weight, into), 0, ranks[1])
                into = leading_vectors(torch.einsum("oi...,oa->ai...", weight, out), 1, ranks[0])
            core = torch.einsum("oi...,oa,ib->ab...", weight, out, into)
            factors = [into.mT, core, out]
        layer._fill(like, list(zip([layer.first, *layer.middle, layer.last], factors, strict=True)))
        return layer


class CPConv(ChainedConvolution):
    r"""A convolution as a sum of outer products (canonical polyadic; Lebedev et al. 2015, arXiv:1412.6553, eq. 3).

    $$W_{o i k l} \approx \sum_r U_{o r} \, K_{r k} \, L_{r l} \, V_{r i}$$

    V and U are convolutions of one place; each mode of the kernel is a convolution of its own for every channel.
    Counts r (in + out + Σ k) parameters and the bias.

    Args:
        like: The dense convolution whose sizes and settings it takes.
        ranks: The number r of terms, in a sequence of one.

    Shape:
        As the dense convolution.

    Raises:
        ConfigError: Channels in groups, or not one rank from 1 on.
    """

    def __init__(self, like: Convolution, ranks: Sequence[int]) -> None:
        if len(ranks) != 1 or ranks[0] < 1:
            raise ConfigError(f"CPConv: there is one rank, from 1 on. Got ranks={tuple(ranks)}.")
        super().__init__(like, ranks)

    def _middle(self) -> list[nn.Module]:
        (rank,) = self.ranks
        return [
            self._convolution(rank, rank, self._along(mode, self.kernel_size, 1), groups=rank, **self._options(mode))
            for mode in range(self.num_modes)
        ]

    def _options(self, mode: int) -> dict[str, Any]:
        """Stride, padding and dilation along one mode."""
        neutral = {"stride": 1, "padding": 0, "dilation": 1}
        along = {
            name: value if isinstance(value, str) else self._along(mode, value, neutral[name])
            for name, value in self.options.items()
            if name in neutral
        }
        return {**along, "padding_mode": self.options["padding_mode"]}

    def _along(self, mode: int, values: Any, other: int) -> tuple[int, ...]:
        return tuple(values[each] if each == mode else other for each in range(self.num_modes))

    def dense_weight(self) -> Float[Tensor, "out in *kernel"]:
        """The weight of the dense convolution that this one equals."""
        first, last = (part.get_parameter("weight").flatten(1) for part in (self.first, self.last))
        kernel: Tensor = last.new_ones(self.ranks[0], *[1] * self.num_modes)
        for part in self.middle:
            kernel = kernel * part.get_parameter("weight")[:, 0]
        weight: Tensor = torch.einsum("or,r...,ri->oi...", last, kernel, first)
        return weight

    @classmethod
    def from_convolution(cls, like: Convolution, ranks: Sequence[int]) -> "CPConv":
        """Approximate a trained convolution by alternating least squares."""
        weight = like.weight.detach().double()
        modes = [mode for mode in range(weight.ndim) if mode < 2 or weight.shape[mode] > 1]
        sizes = [weight.shape[mode] for mode in modes]
        generator = torch.Generator().manual_seed(0)  # the start is random; the answer should not be
        terms = ops.kronecker_decompose(
            weight.reshape(-1, 1),
            sizes,
            ranks[0],
            column_sizes=[1] * len(sizes),
            starts=1,
            iterations=50,
            generator=generator,
        )
        stacked = dict(zip(modes, (torch.stack(factors)[..., 0] for factors in zip(*terms, strict=True)), strict=True))
        with torch.random.fork_rng(devices=[]):
            layer = cls(like, (len(terms),))
        ones = torch.ones(len(terms), 1, dtype=weight.dtype)
        kernels = [stacked.get(mode, ones) for mode in range(2, weight.ndim)]
        factors = [stacked[1], *kernels, stacked[0].mT]
        layer._fill(like, list(zip([layer.first, *layer.middle, layer.last], factors, strict=True)))
        return layer


def leading_vectors(weight: Tensor, mode: int, rank: int) -> Float[Tensor, "size rank"]:
    """Orthonormal directions of a mode that hold most of a tensor's norm."""
    unfolded = weight.movedim(mode, 0).flatten(1)
    _, vectors = torch.linalg.eigh(unfolded @ unfolded.mT)
    leading: Tensor = vectors.flip(1)[:, :rank]
    return leading
