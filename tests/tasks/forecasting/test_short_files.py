"""Twelve short files get an answer by each door, the same one, and hear what it rests on."""

import re

import numpy as np
import pandas as pd
import pytest

from command import outcome
from multiway import Forecaster

FILES = [
    ("MS", 12, 24, 3),
    ("MS", 12, 36, 6),
    ("MS", 12, 48, 12),
    ("MS", 12, 60, 12),
    ("MS", 12, 72, 12),
    ("QS", 4, 20, 4),
    ("QS", 4, 32, 8),
    ("QS", 4, 40, 4),
    ("YS", 1, 20, 3),
    ("YS", 1, 30, 4),
    ("D", 7, 28, 7),
    ("D", 7, 60, 12),
]
"""Frequency, season, rows, and steps ahead."""
FAST = [("MS", 12, 24, 3), ("MS", 12, 36, 6), ("QS", 4, 40, 4), ("YS", 1, 20, 3), ("D", 7, 28, 7)]
pytestmark = pytest.mark.filterwarnings("ignore")


def short_file(frequency, season, rows):
    """A level that grows, a season where there is one, and noise."""
    step, noise = np.arange(rows), np.random.default_rng(rows).standard_normal(rows)
    values = 100 + 0.5 * step + 10 * np.sin(2 * np.pi * step / season) + 2 * noise
    return pd.DataFrame({"when": pd.date_range("2015-01-01", periods=rows, freq=frequency), "sales": values})


CASES = [pytest.param(*file, marks=() if file in FAST else pytest.mark.slow) for file in FILES]
each_file = pytest.mark.parametrize(("frequency", "season", "rows", "horizon"), CASES)


@pytest.fixture
def frame(frequency, season, rows):
    return short_file(frequency, season, rows)


@pytest.fixture
def path(frame, tmp_path):
    frame.to_csv(tmp_path / "sales.csv", index=False)
    return tmp_path / "sales.csv"


def assert_answers(table, frame, horizon):
    """Every step has a value and a band around it, near what the series has been."""
    low, middle, high = (table[name].to_numpy() for name in ("sales-lo-80", "sales", "sales-hi-80"))
    assert len(table) == horizon and (low < middle).all() and (middle < high).all()
    reach = frame["sales"].max() - frame["sales"].min()
    assert (np.abs(middle - frame["sales"].iloc[-1]) < 2 * reach).all()


def assert_rests_on(sentence):
    """It says on how many windows or rows the answer was chosen."""
    assert re.search(r"\b[1-9]\d* (windows?|rows)\b", sentence), sentence


@each_file
def test_a_short_frame_gets_an_answer(frame, horizon):
    fitted = Forecaster(horizon=horizon).fit(frame)
    assert_answers(fitted.predict(levels=80), frame, horizon)
    assert_rests_on(fitted.selection_.sentence)


@each_file
def test_a_short_file_gets_the_answer_of_its_frame(frame, path, horizon):
    fitted = Forecaster(horizon=horizon).fit(path)
    assert_rests_on(fitted.selection_.sentence)
    of_frame = Forecaster(horizon=horizon).fit(frame)
    pd.testing.assert_frame_equal(fitted.predict(), of_frame.predict())


@each_file
def test_a_short_file_gets_an_answer_in_the_command_line(frame, path, horizon, tmp_path):
    run, table = tmp_path / "run", tmp_path / "forecast.csv"
    code, out, err = outcome("train", "forecast", "--data", path, "--horizon", horizon, "--out", run)
    assert code == 0, err
    assert_rests_on(out)
    code, _, err = outcome("predict", run, "--levels", 80, "--layout", "wide", "--out", table)
    assert code == 0, err
    assert_answers(pd.read_csv(table), frame, horizon)
