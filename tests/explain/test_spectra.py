"""The spectral view of graph attention, against eigenvalues by hand and identities of the filter."""

import math

import pytest
import torch

from multiway import ops
from multiway.errors import ShapeError
from multiway.explain.spectra import graph_spectrum
from tolerances import ROUNDING64, assert_same


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def doubles(values):
    return torch.tensor(values, dtype=torch.float64)


def test_two_vertices_by_hand():
    """Ψ of one edge ψ: the constant has gain 1 + ψ and no frequency, the difference 1 - ψ and frequency 2 ψ."""
    graph, signal = doubles([[0, 0.4], [0.4, 0]]), doubles([[3.0], [1.0]])
    found = graph_spectrum(graph, signal)
    assert_same(found.frequency, doubles([0, 0.8]))
    assert_same(found.gain, doubles([1.4, 0.6]))
    assert_same(found.before, doubles([8 / 10, 2 / 10]))
    low, high = 8 * 1.4**2, 2 * 0.6**2
    assert_same(found.after, doubles([low / (low + high), high / (low + high)]))
    normalised = graph_spectrum(graph, signal, by_degree=True)
    assert_same(normalised.gain, doubles([1, 0.6 / 1.4]))


@pytest.mark.parametrize("by_degree", [False, True])
def test_gains_and_shares_are_those_of_the_filtered_signal(by_degree):
    graph, signal = ops.attention_adjacency(normal(2, 9, 4), 0.9), normal(2, 9, 3, seed=1)
    found = graph_spectrum(graph, signal, by_degree=by_degree)
    filtered = ops.graph_filter(signal, graph, "symmetric" if by_degree else "none")
    energy = signal.square().sum((-2, -1))
    assert_same((found.before * found.gain.square()).sum(-1) * energy, filtered.square().sum((-2, -1)))
    assert_same(found.before.sum(-1), torch.ones(2).double())
    assert_same(found.after.sum(-1), torch.ones(2).double())
    assert bool((found.frequency.diff(dim=-1) >= 0).all())
    if by_degree:
        assert float(found.gain.abs().max()) <= 1 + ROUNDING64


def test_the_normalised_filter_passes_what_varies_little():
    graph = ops.attention_adjacency(normal(12, 4).abs(), 0.9)
    found = graph_spectrum(graph, normal(12, 2, seed=1), by_degree=True)
    assert found.gain[0] == found.gain.max() and found.gain[:4].mean() > found.gain[-4:].mean()
    assert math.isclose(float(found.gain[0]), 1.0, rel_tol=1e-9)


def test_a_causal_graph_is_refused():
    with pytest.raises(ShapeError, match=r"a causal graph has no spectrum of this kind"):
        graph_spectrum(ops.attention_adjacency(normal(5, 4), 0.9, causal=True), normal(5, 2))


def test_a_silent_signal_has_no_shares():
    found = graph_spectrum(torch.zeros(3, 3), torch.zeros(3, 2))
    assert not found.before.any() and torch.equal(found.gain, torch.ones(3).double())
