"""Errors of estimators say what to write in Python."""

import numpy as np
import pandas as pd
import pytest

import multiway
from multiway.errors import ArgumentError, ConfigError, DataError, Fix
from multiway.tasks.forecasting.config import FORECAST
from multiway.tasks.options import Spelling
from papers.stocks.quotes import make_prices
from tasks.forecasting.panels import make_frame
from tasks.tiny_estimators import ESTIMATORS, estimators

FORECASTS = Spelling(
    options=FORECAST.options, arguments={"read.gaps": "gaps", "network": "network"}, own=("X", "layout")
)
FILL, NETWORK = Fix("read.gaps", "fill"), Fix("network", value=True)


@pytest.mark.parametrize(
    ("said", "written"),
    [
        (("Set gaps to fill (", FILL, ")."), 'Set gaps to fill (gaps="fill").'),
        (("Set both (", NETWORK, " ", FILL, ")."), 'Set both (network=True, gaps="fill").'),
        (("(", Fix("read.variates", ["A", "B"]), ")"), '(settings={"read": {"variates": ["A", "B"]}})'),
        (("Or (", Fix("read.decimal", ","), ")."), 'Or (settings={"read": {"decimal": ","}}).'),
        (
            ("(", Fix("read.encoding"), " ", Fix("read.unit", "s"), ")"),
            '(settings={"read": {"encoding": None, "unit": "s"}})',
        ),
        (("(", Fix("read.sentinels", []), ")"), '(settings={"read": {"sentinels": []}})'),
        (("Set layout to long (", Fix("layout", "long"), ")."), 'Set layout to long (layout="long").'),
        (("Name it (", Fix("read.time", like="NAME"), ")."), 'Name it (settings={"read": {"time": "NAME"}}).'),
        (("Forecaster: read.gaps: wrong (got 3).",), "Forecaster: gaps: wrong (got 3)."),
        (("Set read.gaps or read.gaps.more; my.read.gaps",), "Set gaps or read.gaps.more; my.read.gaps"),
        (("Convert it (dcmdjpeg --raw), or not.",), "Convert it (dcmdjpeg --raw), or not."),
    ],
)  # fmt: skip
def test_fixes_are_written_as_arguments(said, written):
    assert FORECASTS.of(said) == written


def test_a_fix_is_accepted_as_it_is_written():
    frame = make_frame(rows=220).drop(index=100)
    with pytest.raises(DataError, match=r"\(gaps=\"fill\"\)") as caught:
        multiway.Forecaster(4, lookback=12, network=False).fit(frame)
    assert "--" not in str(caught.value)
    multiway.Forecaster(4, lookback=12, network=False, gaps="fill", missing="ffill").fit(frame)


def test_the_arguments_of_the_method_come_first():
    prices = make_prices()
    estimator = multiway.StockMovementClassifier(settings={"model": {"modality": "text"}})
    with pytest.raises(DataError, match=r"Give them \(texts=\"FILE\"\), or modality=\"price\"\."):
        estimator.fit(prices)


@pytest.mark.parametrize("name", list(estimators()))
def test_an_unknown_argument_is_refused_with_the_nearest(name):
    kind = getattr(multiway, name)
    with pytest.raises(ArgumentError, match=f"^{name}: epoch is no argument; did you mean epochs\\? It has ") as caught:
        kind(epoch=3)
    assert isinstance(caught.value, TypeError) and "\n" not in str(caught.value)
    with pytest.raises(ArgumentError, match=rf"{name}.*\.predict: Y is no argument"):
        ESTIMATORS[name]().make().predict(Y=np.zeros(3))


def test_an_error_keeps_its_kind_and_its_place():
    with pytest.raises(ConfigError, match="did you mean model") as caught:
        multiway.Forecaster(4, settings={"modle": 3}).fit(pd.DataFrame())
    assert caught.traceback[-1].path.name == "config.py"
    with pytest.raises(ConfigError, match=r"^Forecaster: gaps: Input should be .* \(got 'fil'\)"):
        multiway.Forecaster(4, gaps="fil").fit(pd.DataFrame())
