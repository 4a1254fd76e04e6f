"""The spectral view of a graph filter: its eigenvalues, and what it does to a signal frequency by frequency."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol, runtime_checkable

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from multiway.errors import ShapeError

COLUMNS = ("frequency", "gain", "share_before", "share_after")
"""What a table calls the parts of a spectrum."""


@runtime_checkable
class Filtering(Protocol):
    """A network that filters the words of a text on graphs."""

    has_graphs: bool
    by_degree: bool
    """Whether filters are divided by the degrees of their graphs."""

    def graphs(self, ids: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Of each block, the graph of every head and the values that it filters."""


class Spectrum(NamedTuple):
    """A filter in its own eigenvectors, the smoothest first.

    frequency: How much an eigenvector varies over the edges, u' (D - Ψ) u: 0 for a constant on a connected graph.
    gain: Eigenvalue of the filter, its response there.
    before: Share of the energy of the signal, and `after` of that of the filtered one.
    """

    frequency: Float[Tensor, "*batch length"]
    gain: Float[Tensor, "*batch length"]
    before: Float[Tensor, "*batch length"]
    after: Float[Tensor, "*batch length"]


def graph_spectrum(
    adjacency: Float[Tensor, "*batch length length"],
    signal: Float[Tensor, "*batch length dim"],
    *,
    by_degree: bool = False,
) -> Spectrum:
    r"""Take the filter apart: $(I + \Psi)\, u_k = \lambda_k u_k$, or that of $D^{-1/2} (I + \Psi) D^{-1/2}$.

    A low-pass filter, as TGA section 2 has it, has gains that fall with the frequency. Computed in float64.

    Args:
        adjacency: Ψ, symmetric and not negative.
        signal: What is filtered (TGA: V).
        by_degree: Whether the filter is divided by the degrees, D = diag(1 + Ψ 1); as printed if not.

    Raises:
        ShapeError: The adjacency is not symmetric, as that of a causal graph, or not of the signal's length.
    """
    graph, values = adjacency.double(), signal.double()
    if graph.shape[-2:] != (values.shape[-2],) * 2 or not torch.equal(graph, graph.mT):
        raise ShapeError(
            f"graph_spectrum: the adjacency must be symmetric and of the signal's length. Got adjacency "
            f"{tuple(graph.shape)} and signal {tuple(values.shape)}; a causal graph has no spectrum of this kind."
        )
    filtering = torch.eye(graph.shape[-1], dtype=graph.dtype, device=graph.device) + graph
    scale = filtering.sum(-1).rsqrt() if by_degree else torch.ones_like(graph[..., 0])
    gain, vectors = torch.linalg.eigh(scale[..., None] * filtering * scale[..., None, :])
    laplacian = torch.diag_embed(graph.sum(-1)) - graph
    frequency = (vectors * (laplacian @ vectors)).sum(-2).clamp_min(0)
    energy = (vectors.mT @ values).square().sum(-1)
    energies, least = (energy, energy * gain.square()), torch.finfo(energy.dtype).tiny
    shares = (each / each.sum(-1, keepdim=True).clamp_min(least) for each in energies)  # nothing has none
    order, parts = frequency.argsort(-1), (frequency, gain, *shares)
    return Spectrum(*(values.gather(-1, order) for values in parts))


def spectrum_table(graph: Tensor, signal: Tensor, *, by_degree: bool = False) -> pd.DataFrame:
    """`graph_spectrum` of every head of a layer as a table, a row per eigenvector."""
    columns = (values.numpy().ravel() for values in graph_spectrum(graph, signal, by_degree=by_degree))
    heads = torch.arange(1, len(graph) + 1).repeat_interleave(graph.shape[-1]).numpy()
    return pd.DataFrame({"head": heads, **dict(zip(COLUMNS, columns, strict=True))})
