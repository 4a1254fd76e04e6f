"""Ticks are round and inside, curves go through their points, pictures hold the weights, text is safe."""

import base64
import io
import json
import math
from fractions import Fraction

import matplotlib.image
import numpy as np
import pandas as pd
import pytest

from multiway.explain import ModeMap
from multiway.report import text
from multiway.report.attention import figures, picture, share
from multiway.report.charts import HEIGHT, WIDTH, path_data, thin
from multiway.report.diagnostics import variate_bars
from multiway.report.scales import (  # fmt: skip
    NUM_COLOURS,
    Scale,
    axis_numbers,
    axis_ticks,
    colour_numbers,
    number_ticks,
    scale_of,
)


def test_number_ticks_are_round_and_within():
    assert [tick.label for tick in number_ticks(Scale(-0.3, 1.1), 5)] == ["0.0", "0.5", "1.0"]
    assert [tick.label for tick in number_ticks(Scale(-1200, 900), 5)] == ["−1,000", "−500", "0", "500"]
    for low, high in [(1e-9, 3e-9), (-1e12, 1e12), (1e8 - 1, 1e8 + 1), (0.1, 0.100001)]:
        ticks = number_ticks(Scale(low, high))
        assert 1 <= len(ticks) <= 7
        assert all(-1e-6 <= tick.place <= 1 + 1e-6 for tick in ticks)


@pytest.mark.parametrize(
    ("start", "periods", "frequency", "labels"),
    [
        ("2020-01-01 05:00", 24, "h", ["06:00", "12:00", "18:00", "2 Jan"]),
        ("2020-02-27", 96, "h", ["27 Feb", "28 Feb", "29 Feb", "1 Mar"]),
        ("2016-07-01", 600, "D", ["Jul 2016", "Jan 2017", "Jul 2017", "Jan 2018"]),
        ("1990-01-01", 30, "YS", ["1990", "2000", "2010"]),
    ],
)
def test_time_ticks_fall_on_round_times(start, periods, frequency, labels):
    times = pd.date_range(start, periods=periods, freq=frequency)
    (places,) = axis_numbers([times])
    across = scale_of([places], margin=0)
    ticks = axis_ticks([times], across, 4)
    assert [tick.label for tick in ticks] == labels
    assert all(0 <= tick.place <= 1 for tick in ticks)


def test_ticks_follow_the_zone_of_the_data_across_a_clock_change():
    times = pd.date_range("2020-10-24 12:00", periods=48, freq="h", tz="Europe/Berlin")
    (places,) = axis_numbers([times])
    ticks = axis_ticks([times], scale_of([places], margin=0), 4)
    midnight = next(tick for tick in ticks if tick.label == "25 Oct")
    assert midnight.place == pytest.approx(12 / 47)
    assert np.diff(places) == pytest.approx(3600)


def test_a_constant_still_has_a_scale():
    low, high = scale_of([[5.0, 5.0]])
    assert low < 5.0 < high
    assert scale_of([[np.nan]]) == (-0.04, 1.04)
    assert scale_of([[0.0]], margin=0).high > scale_of([[0.0]], margin=0).low


def test_a_path_goes_through_its_points_and_breaks_where_one_is_missing():
    places, heights = np.array([0, 0.25, 0.5, 0.75, 1]), np.array([0, 1, np.nan, 0.5, 0])
    assert path_data(places, heights) == f"M0 {HEIGHT}l{WIDTH // 4}-{HEIGHT}M3000 1000l1000 1000"
    assert path_data(places[:1], heights[:1]) == f"M0 {HEIGHT}h0"
    assert path_data(places, np.full(5, np.nan)) == ""


def test_thinning_keeps_the_peaks():
    values = np.random.default_rng(0).normal(size=20_000)
    kept = thin(values)
    assert len(kept) <= 602
    assert values[kept].max() == values.max()
    assert values[kept].min() == values.min()
    assert (np.diff(kept) > 0).all()


def test_the_picture_holds_the_weights_white_for_none():
    weights = np.random.default_rng(4).random((5, 7))
    uri, largest = picture(weights)
    grey = matplotlib.image.imread(io.BytesIO(base64.b64decode(uri.split(",")[1])))
    np.testing.assert_allclose((1 - grey) * largest, weights, atol=largest / 255)
    assert largest == weights.max()
    assert picture(np.zeros((2, 2)))[1] == 0


def test_script_json_cannot_end_its_element():
    value = ["</script>", "<!--", "&", "'", "\u2028", "\ud800"]
    written = text.script_json(value)
    assert not set("<>&'") & set(written)
    assert written.isascii()
    assert json.loads(written) == value


def test_a_share_and_its_percentage_have_the_same_digits():
    """Of 80 every second share ends in a half: 69 are 0.8625, which floats round to 0.863 and, times 100, to 86.2."""
    for right in range(81):
        thousandths = math.floor(Fraction(1000 * right, 80) + Fraction(1, 2))
        assert text.number(right / 80, 3) == f"{thousandths / 1000:.3f}"
        assert text.percent(100 * right / 80) == f"{thousandths / 10:.1f}\u202f%"


def test_numbers_and_durations_in_words():
    assert text.number(-1234.5, 1) == "−1,234.5" and text.number(-1234.5, 0) == "−1,235"
    assert text.number(float("nan"), 2) == "–"
    assert [text.decimals_for([value]) for value in (0.0021, 0.38, 8.2, 36.0, 123.0, 54321.0)] == [
        5,
        4,
        4,
        3,
        2,
        0,
    ]
    assert [text.duration(value) for value in (2e-5, 0.0041, 42.0, 171, 7500)] == [
        "20\u202fµs",
        "4.1\u202fms",
        "42\u202fs",
        "3\u202fmin",
        "2\u202fh 05\u202fmin",
    ]
    assert [text.magnitude(value) for value in (12, 620_000, 1.3e9, 999_999)] == ["12", "620K", "1.3G", "1M"]


def test_pairs_come_from_the_whole_map_not_from_what_is_drawn():
    weights = np.full((1, 101, 101), 0.001)
    weights[:, :, :50] = 0.01
    weights[0, 99, 100] = 0.45
    labels = tuple(f"p{index}" for index in range(101))
    item = ModeMap(mode="sensors", query_labels=labels, key_labels=labels, weights=weights)
    found = figures([item])[0].pictures[0]
    assert found.pairs[0] == ("p99", "p100", 0.45)
    assert found.largest == 0.01
    assert [share(weight) for weight in (0.45, 0.01, 0.0012)] == ["45\u202f%", "1.0\u202f%", "0.12\u202f%"]


def test_bars_stand_worst_first_by_the_chosen_model():
    errors = {"naive": np.array([4.0, 1.0, 2.0, 3.0]), "ridge": np.array([0.5, np.nan, 2.0, 1.0])}
    found = variate_bars(["a", "b", "c", "d"], errors, {"ridge": 0, "naive": 3}, "MSE")
    assert [(bar.name, bar.value, bar.width) for bar in found.bars] == [
        ("c", "2.0000", 50.0),
        ("d", "1.0000", 25.0),
        ("a", "0.5000", 12.5),
        ("b", "–", 0.0),
    ]
    assert found.bars[0].marks == [("naive", 3, 50.0, "2.0000")]


def test_the_bars_are_of_the_chosen_model_whatever_colours_the_others_share():
    names = [f"model {place}" for place in range(NUM_COLOURS + 2)]
    numbers = colour_numbers(names, "model 7")
    assert sum(number == numbers["model 7"] for number in numbers.values()) > 1
    found = variate_bars(["a"], {name: [float(place + 1)] for place, name in enumerate(names)}, numbers, "MSE")
    assert found.legend[0][0] == "model 7" and float(found.bars[0].value) == 8
