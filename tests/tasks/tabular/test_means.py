"""Categories of many levels: a signal in them is found, noise in them is not, and no row sees its own target."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import TargetEncoder

from multiway.data.splitting import SplitShares
from multiway.metrics.classes import auc
from multiway.tasks.tabular.encode import TableState
from multiway.tasks.tabular.means import SMOOTHING, level_means, means_of_other_folds, split_into_folds
from multiway.tasks.tabular.source import TableOptions
from tasks.tabular.rows import match_table, prepare_table, read_table

OPTIONS = TableOptions(target="y", columns=("shop", "size"))


def shops(signal: float, rows: int = 2000, levels: int = 331) -> pd.DataFrame:
    """A column of many shops, each with a chance of its own, as far from one half as the signal says."""
    chance = np.random.default_rng(1)
    share = 0.5 + signal * chance.choice([-1, 1], levels)
    shop = chance.integers(0, levels, rows)
    yes = chance.random(rows) < share[shop]
    return pd.DataFrame(
        {"shop": [f"s{i}" for i in shop], "size": chance.normal(size=rows), "y": np.where(yes, "yes", "no")}
    )


def own_column(prepared, split):
    """Classes of a split, and the mean that stands for the shop."""
    part, position = prepared.part(split), prepared.state.names.index("shop: mean of yes")
    score = part.inputs[:, position].double().numpy()
    return part.truth, np.stack([-score, score], axis=1)


def test_means_of_levels_by_hand():
    codes, targets = np.array([0, 0, 2]), np.array([[1.0], [0.0], [1.0]])
    found = level_means(codes, 3, targets, np.array([0.5]))
    assert found[:, 0] == pytest.approx([(1 + 5) / 12, 5 / 10, (1 + 5) / 11])


def test_a_row_has_the_mean_of_other_parts():
    codes, parts = np.array([0, 0, 0, 1]), np.array([0, 1, 1, 0])
    targets, overall = np.array([[3.0], [5.0], [7.0], [9.0]]), np.array([6.0])
    found = means_of_other_folds(codes, 2, targets, overall, parts)
    assert found[:, 0] == pytest.approx([(12 + 60) / 12, (3 + 60) / 11, (3 + 60) / 11, 6])
    changed = means_of_other_folds(codes, 2, targets + np.array([[100.0], [0.0], [0.0], [0.0]]), overall, parts)
    assert changed[0] == found[0] and changed[1] > found[1]


@pytest.mark.parametrize("kind", ["classes", "number"])
def test_later_rows_are_encoded_as_scikit_learn_does(kind):
    frame = shops(0.3)
    frame["y"] = frame["size"].rank() % 11 if kind == "number" else (frame["size"].rank() % 3).astype(int).astype(str)
    table = read_table(frame, OPTIONS.replace(kind=kind))
    state = TableState.fit(table)
    oracle = TargetEncoder(smooth=SMOOTHING, target_type="continuous" if kind == "number" else "multiclass")
    oracle.fit(frame[["shop"]], frame["y"])
    later = pd.DataFrame({"shop": ["s3", "s17", "never seen"]})
    wanted = oracle.transform(later)[:, 0 if kind == "number" else 1 :]
    (means,) = state.means
    assert means.scaler.inverse(means.inputs(later["shop"].to_numpy(object))) == pytest.approx(wanted)


def test_a_signal_in_many_levels_is_found():
    prepared = prepare_table(shops(0.4), OPTIONS, SplitShares())
    assert all(auc(*own_column(prepared, split)) > 0.8 for split in ("train", "validation", "test"))


def test_levels_of_noise_do_not_leak():
    """In its own mean a row of the training would see its target: there the score is far from one half."""
    frame = shops(0.0)
    prepared = prepare_table(frame, OPTIONS, SplitShares())
    for split in ("train", "validation", "test"):
        assert auc(*own_column(prepared, split)) == pytest.approx(0.5, abs=0.07)
    rows = match_table(frame.iloc[prepared.rows("train")], OPTIONS, prepared.state)
    assert auc(*own_column(rows, "all")) > 0.65


def test_rows_of_a_group_are_in_one_part():
    table = read_table(shops(0.0).assign(owner=lambda frame: frame["shop"].str[:3]), OPTIONS.replace(group="owner"))
    parts = pd.Series(split_into_folds(table)).groupby(np.array(table.groups))
    assert (parts.nunique() == 1).all() and len(set(parts.first())) == 5


def test_means_come_back_from_json_and_unknown_levels_are_counted():
    frame = shops(0.4)
    state = TableState.fit(read_table(frame, OPTIONS))
    repeated = TableState.parse(json.loads(json.dumps(state.plain())))
    later = read_table(frame.iloc[:3].assign(shop=["s1", "new", "s2"]), state=state)
    assert (repeated.inputs(later.inputs) == state.inputs(later.inputs)).all()
    assert state.unknown(later.inputs) == {"shop": 1}
