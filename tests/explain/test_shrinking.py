"""Large maps are made small: ordered positions merged, of the others those looked at most kept."""

import numpy as np

from multiway.explain import ModeMap
from multiway.explain.shrinking import shrink


def big_map(ordered):
    labels = tuple(f"p{index}" for index in range(101))
    weights = np.random.default_rng(5).dirichlet(np.linspace(0.01, 1, 101), (2, 101))
    return ModeMap(mode="days", query_labels=labels, key_labels=labels, weights=weights, ordered=ordered)


def test_a_large_ordered_map_is_merged_and_its_rows_still_sum_to_one():
    found, note = shrink([big_map(ordered=True)])
    assert found[0].weights.shape == (2, 48, 48)
    np.testing.assert_allclose(found[0].weights.sum(axis=2), 1)
    assert found[0].key_labels[0] == "p0 … p1"
    assert note == "101 positions are merged into 48 groups of neighbours."


def test_of_a_large_map_without_order_the_most_looked_at_are_kept():
    item = big_map(ordered=False)
    found, note = shrink([item])
    best = np.sort(np.argsort(-item.head_mean().mean(axis=0))[:48])
    assert found[0].key_labels == tuple(f"p{index}" for index in best)
    np.testing.assert_array_equal(found[0].weights, item.weights[:, best][:, :, best])
    assert note.startswith("Shown are the 48 of 101 days looked at most; they receive ")
