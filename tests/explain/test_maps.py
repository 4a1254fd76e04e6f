"""Maps keep the user's labels, average by sample, roll out over layers, and say their strongest pairs."""

import numpy as np
import pandas as pd
import pytest
import torch

from multiway.errors import DataError, ShapeError
from multiway.explain import (
    ModeMap,
    average_maps,
    deletion_test,
    lag_labels,
    mode_maps,
    rollout,
    time_labels,
    top_pairs,
)
from multiway.explain.maps import shrink
from tolerances import ROUNDING64

NAMES = ["HUFL", "OT", "LULL"]
LAGS = lag_labels(10, 2)


def rows_that_sum_to_one(generator, *shape):
    return torch.softmax(torch.randn(*shape, generator=generator, dtype=torch.float64), dim=-1)


def blocks(generator, batch=7, heads=2, layers=2):
    return [[rows_that_sum_to_one(generator, batch, heads, size, size) for size in (3, 5)] for _ in range(layers)]


def square(weights, labels=("a", "b", "c"), **more):
    return ModeMap(mode="variates", query_labels=labels, key_labels=labels, weights=np.array(weights)[None], **more)


def test_maps_are_averaged_over_the_batch_and_labelled(generator):
    raw = blocks(generator)
    found = mode_maps(raw, ["variates", "time"], [NAMES, LAGS])
    assert [(item.mode, item.layer, item.ordered) for item in found] == [
        ("variates", 0, False),
        ("time", 0, True),
        ("variates", 1, False),
        ("time", 1, True),
    ]
    assert found[1].query_labels == found[1].key_labels == ("lag 10–9", "lag 8–7", "lag 6–5", "lag 4–3", "lag 2–1")
    np.testing.assert_allclose(found[2].weights, raw[1][0].mean(0), rtol=ROUNDING64)
    np.testing.assert_allclose(found[2].head_mean().sum(axis=1), 1)
    assert found[0].num_samples == 7


def test_bfloat16_maps_that_need_gradients_are_taken(generator):
    raw = [[rows_that_sum_to_one(generator, 2, 1, 3, 3).to(torch.bfloat16).requires_grad_()]]
    assert mode_maps(raw, ["variates"], [NAMES])[0].weights.dtype == np.float64


def test_the_mean_of_batches_is_the_mean_of_all_samples(generator):
    raw = blocks(generator, batch=7)
    parts = [[[mode[rows] for mode in block] for block in raw] for rows in (slice(0, 5), slice(5, 7))]
    names = ["variates", "time"], [NAMES, LAGS]
    averaged = average_maps([mode_maps(part, *names) for part in parts])
    for found, wanted in zip(averaged, mode_maps(raw, *names), strict=True):
        np.testing.assert_allclose(found.weights, wanted.weights, rtol=ROUNDING64)
        assert found.num_samples == 7


def test_averaging_refuses_maps_of_other_sizes(generator):
    one = mode_maps(blocks(generator), ["variates", "time"], [NAMES, LAGS])
    other = mode_maps(blocks(generator, heads=3), ["variates", "time"], [NAMES, LAGS])
    with pytest.raises(ShapeError, match="the same modes, layers and sizes"):
        average_maps([one, other])
    with pytest.raises(ShapeError, match="Got no group"):
        average_maps([])


def test_rollout_multiplies_the_layers_last_one_leftmost():
    first, second = (
        np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]]),
        np.array([[0.5, 0.5, 0], [0, 1, 0], [0, 0, 1]]),
    )
    maps = [square(second, layer=1), square(first, layer=0)]
    found = rollout(maps, "variates")
    np.testing.assert_allclose(found.weights[0], (second + np.eye(3)) / 2 @ (first + np.eye(3)) / 2)
    assert found.layer is None
    np.testing.assert_allclose(found.weights.sum(axis=2), 1)


def test_rollout_names_the_modes_there_are():
    with pytest.raises(DataError, match=r"no map of mode 'time'. Got maps of \['variates'\]"):
        rollout([square(np.eye(3))], "time")


def test_top_pairs_leave_out_a_look_at_itself():
    item = square([[0.6, 0.3, 0.1], [0.05, 0.15, 0.8], [0.4, 0.2, 0.4]], labels=("HUFL", "oil", "load"))
    assert [str(pair) for pair in top_pairs(item, 2)] == [
        "oil attends to load (80%; uniform would be 33%)",
        "load attends to HUFL (40%; uniform would be 33%)",
    ]
    assert top_pairs(item, 2, include_self=True)[1][:3] == ("HUFL", "HUFL", 0.6)
    assert top_pairs(square([[1.0]], labels=("a",))) == []


def test_top_pairs_of_one_head_are_of_that_head():
    item = ModeMap(
        mode="m", query_labels=("a", "b"), key_labels=("c", "d"), weights=np.array([np.eye(2), 1 - np.eye(2)])
    )
    assert top_pairs(item, 1, head=0)[0][:2] == ("a", "c")
    assert top_pairs(item, 1, head=1)[0][:2] == ("a", "d")


def test_a_map_without_its_labels_is_refused(generator):
    with pytest.raises(ShapeError, match=r"Got weights \(1, 3, 3\) for 2 query and 2 key labels"):
        square(np.eye(3), labels=("a", "b"))
    with pytest.raises(ShapeError, match="Got 2 maps in a block, 1 names and 1 lists of labels"):
        mode_maps(blocks(generator), ["variates"], [NAMES])
    with pytest.raises(ShapeError, match=r"must be \(batch, heads, queries, keys\). Got shape \(3, 3\)"):
        mode_maps([[torch.eye(3)]], ["variates"], [NAMES])


@pytest.mark.parametrize(
    ("times", "patch", "label"),
    [
        (pd.date_range("2016-07-01", periods=8, freq="h"), 4, "2016-07-01 00:00 – 03:00"),
        (pd.date_range("2016-07-01 22:00", periods=8, freq="h"), 4, "2016-07-01 22:00 – 2016-07-02 01:00"),
        (pd.date_range("2016-07-01", periods=8, freq="h"), 1, "2016-07-01 00:00"),
        (pd.date_range("2016-07-01", periods=8, freq="D"), 4, "2016-07-01 – 2016-07-04"),
        (pd.date_range("2016-07-01", periods=8, freq="h", tz="Europe/Berlin"), 2, "2016-07-01 00:00 – 01:00"),
        (pd.RangeIndex(96, 104), 4, "96 – 99"),
    ],
    ids=str,
)
def test_patches_are_named_by_their_first_and_last_stamp(times, patch, label):
    labels = time_labels(times, patch)
    assert labels[0] == label
    assert len(labels) == 8 // patch


def test_lags_count_back_from_the_first_forecast_step():
    assert lag_labels(4, 2) == ("lag 4–3", "lag 2–1")
    assert lag_labels(2) == ("lag 2", "lag 1")


def test_rows_must_fill_whole_patches():
    with pytest.raises(ShapeError, match="Got 96 rows, patch_length=7"):
        lag_labels(96, 7)


def test_the_deletion_test_hides_what_is_looked_at_most():
    labels = tuple("abcdefghij")
    weights = np.tile(np.arange(10) / 45, (2, 10, 1))
    item = ModeMap(mode="time", query_labels=labels, key_labels=labels, weights=weights)
    seen = []

    def error_without(positions):
        seen.append(positions.tolist())
        return 1.0 + positions.sum()

    found = deletion_test(item, error_without, draws=3, seed=1)
    assert seen[:2] == [[], [8, 9]]
    assert all(len(set(positions)) == 2 for positions in seen[2:])
    assert found[:3] == (2, 1.0, 18.0)
    assert found.error_random == pytest.approx(np.mean([1 + sum(positions) for positions in seen[2:]]))
    assert len(seen) == 5


def test_one_position_cannot_be_hidden():
    with pytest.raises(ShapeError, match=r"two positions or more\. Got 1 of 'variates'"):
        deletion_test(square([[1.0]], labels=("a",)), lambda positions: 0.0)


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
