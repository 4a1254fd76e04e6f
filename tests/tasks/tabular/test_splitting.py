"""Rows fall into splits at random by class, by group, or by time."""

import numpy as np
import pandas as pd
import pytest

from multiway.data.options import SplitShares
from multiway.data.splitting import folds, split
from multiway.errors import ConfigError, DataError
from multiway.tasks.tabular.config import TableOptions
from tasks.tabular.rows import patients, read_table


def test_every_row_once_and_classes_in_proportion():
    table = read_table(patients(600), TableOptions(target="ill"))
    splits = split(table, SplitShares(validation=0.2, test=0.2))
    assert sorted(np.concatenate(list(splits.values()))) == list(range(600))
    assert [len(splits[name]) for name in ("train", "validation", "test")] == [360, 120, 120]
    shares = [table.labels[rows].mean() for rows in splits.values()]
    assert max(shares) - min(shares) < 0.01


def test_a_seed_is_a_split():
    table = read_table(patients(), TableOptions(target="ill"))
    first, repeated, other = (split(table, SplitShares(seed=seed))["test"].tolist() for seed in (0, 0, 1))
    assert first == repeated != other


def test_a_group_is_never_split():
    frame = patients(200).assign(clinic=[f"c{i % 23}" for i in range(200)])
    table = read_table(frame, TableOptions(target="ill", group="clinic"))
    assert "clinic" not in table.columns
    splits = split(table, SplitShares())
    of_split = [{table.groups[row] for row in rows} for rows in splits.values()]
    assert not of_split[0] & of_split[1] and not of_split[0] & of_split[2] and not of_split[1] & of_split[2]


def test_by_time_the_past_trains_and_equal_times_stay_together():
    days = pd.to_datetime("2024-01-01") + pd.to_timedelta(np.random.default_rng(1).integers(0, 40, 200), "D")
    table = read_table(patients(200).assign(day=days), TableOptions(target="ill", time="day"))
    splits = split(table, SplitShares())
    train, validation, test = (table.times[rows] for rows in splits.values())
    assert train.max() < validation.min() and validation.max() < test.min()
    assert sum(map(len, splits.values())) == 200


def test_folds_of_rows_with_times_are_trained_on_the_past_alone():
    days = pd.to_datetime("2024-01-01") + pd.to_timedelta(np.random.default_rng(2).integers(0, 60, 211), "D")
    table = read_table(patients(211).assign(day=days), TableOptions(target="ill", time="day"))
    parts = list(folds(table, 5, 0.2, seed=0))
    for part in parts:
        train, validation, test = (table.times[part[name]] for name in ("train", "validation", "test"))
        assert train.max() < validation.min() and validation.max() < test.min()
        assert len(validation) == pytest.approx(0.2 * (len(train) + len(validation)), abs=8)
    tested = np.concatenate([part["test"] for part in parts])
    assert len(set(tested.tolist())) == len(tested) == pytest.approx(211 / 2, abs=8)
    assert table.times[tested].max() == days.max() and len(parts[0]["train"]) > len(parts[-1]["train"])


def test_too_few_rows_and_shares_that_leave_none():
    with pytest.raises(
        DataError, match=r"the table: each split needs two rows or more.* Got train 2, validation 1, test 1\."
    ):
        split(read_table(patients(4), TableOptions(target="weight")), SplitShares())
    splits = split(read_table(patients(10), TableOptions(target="weight")), SplitShares())
    assert {name: len(rows) for name, rows in splits.items()} == {"train": 6, "validation": 2, "test": 2}
    frame = patients(4).assign(ill=["u", "u", "u", "v"])
    with pytest.raises(
        DataError, match=r"Got train 3, validation 0, test 1\. Give more rows of v, which has one, or drop"
    ):
        split(read_table(frame, TableOptions(target="ill")), SplitShares())
    with pytest.raises(ConfigError, match="must leave some to train on"):
        SplitShares.parse({"validation": 0.5, "test": 0.5})
