import numpy as np
import pandas as pd
import pytest

from multiway.data.options import Folds
from multiway.data.splitting import split
from multiway.errors import ConfigError, DataError
from multiway.tasks.text.config import LabelledTextOptions
from multiway.tasks.text.source import read_texts
from multiway.tasks.text.task import TASK
from tasks.text.reviews import reviews


def drawn(frame: pd.DataFrame, read: dict | None = None, **shares: object) -> tuple:
    table = read_texts(frame, LabelledTextOptions.parse(read or {}))
    return table, split(table, Folds.parse(shares), fix=TASK.encoding.split_field)


def test_shares_keep_the_proportions_of_the_classes():
    table, splits = drawn(reviews(200), validation=0.2, test=0.3)
    assert sorted(np.concatenate(list(splits.values())).tolist()) == list(range(200))
    assert {name: len(rows) for name, rows in splits.items()} == {"train": 100, "validation": 40, "test": 60}
    shares = [table.truth[rows].mean() for rows in splits.values()]
    assert max(shares) - min(shares) < 0.03


def test_copies_of_a_text_are_never_in_two_splits():
    frame = reviews(60)
    copies = frame.assign(review=frame["review"].str.upper() + " ")
    table, splits = drawn(pd.concat([frame, copies, frame], ignore_index=True))
    keys = [{table.keys[row] for row in rows} for rows in splits.values()]
    assert not (keys[0] & keys[1] or keys[0] & keys[2] or keys[1] & keys[2])
    assert sum(map(len, keys)) == 60


def test_groups_and_copies_hold_together_in_turn():
    frame = reviews(60).assign(author=[f"author {row // 2}" for row in range(60)])
    frame.loc[2, "review"] = frame.loc[1, "review"]  # joins the first two authors
    splits = drawn(frame, {"group": "author"})[1]
    (home,) = (name for name, rows in splits.items() if 0 in rows)
    assert {0, 1, 2, 3} <= set(splits[home].tolist())
    for rows in splits.values():
        assert all({row - row % 2, row - row % 2 + 1} <= set(rows.tolist()) for row in rows.tolist())


def test_folds_test_on_every_row_once():
    parts = [drawn(reviews(), folds=5, fold=fold)[1] for fold in range(5)]
    assert sorted(np.concatenate([part["test"] for part in parts]).tolist()) == list(range(60))
    assert all(len(part["validation"]) for part in parts)
    assert all(len(np.unique(np.concatenate(list(part.values())))) == 60 for part in parts)


def test_the_column_of_splits_is_kept_and_dev_is_the_test_where_there_is_no_other():
    frame = reviews().replace({"part": {"other": "other_dev"}})
    splits = drawn(frame, {"split": "part"}, validation=0.25)[1]
    assert splits["test"].tolist() == list(range(40, 50))
    assert len(splits["validation"]) == 10 and len(splits["train"]) == 30
    frame = reviews().assign(part=np.repeat(["train", "dev", "test"], 20))
    assert {name: rows.tolist() for name, rows in drawn(frame, {"split": "part"})[1].items()} == {
        "train": list(range(20)), "validation": list(range(20, 40)), "test": list(range(40, 60)),
    }  # fmt: skip


def test_rows_of_training_whose_text_is_tested_are_left_out():
    frame = reviews().assign(part=np.repeat(["train", "dev", "test"], 20))
    frame.loc[3, "review"], frame.loc[30, "review"] = frame.loc[45, "review"], frame.loc[45, "review"]
    splits = drawn(frame, {"split": "part"})[1]
    assert 3 not in splits["train"] and 30 not in splits["validation"] and 45 in splits["test"]
    kept = drawn(frame, {"split": "part"}, copies="keep")[1]
    assert 3 in kept["train"] and 30 in kept["validation"]


def test_what_cannot_be_split_is_refused():
    with pytest.raises(DataError, match=r"each split needs rows. Got train"):
        drawn(reviews(3))
    with pytest.raises(
        DataError, match=r"column 'part' names no rows to test on\. Give such rows, or name .* \(read\.split=NAME\)"
    ):
        drawn(reviews().assign(part="train"), {"split": "part"})
    with pytest.raises(ConfigError, match=r"fold counts from 0 and is below folds\. Got 5 and 5"):
        Folds.parse({"folds": 5, "fold": 5})
    frame = reviews().assign(part="train", label="good")
    frame.loc[50:, ["part", "label"]] = "test", "bad"
    with pytest.raises(DataError, match="train has no rows of bad"):
        drawn(frame, {"split": "part"})
