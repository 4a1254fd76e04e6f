"""Rows ready for training, copies of the target, and shuffled columns."""

import numpy as np
import pandas as pd
import pytest

from multiway.auditing.tables import column_codes, copies_of_target, row_digests
from multiway.data.looking import look_at, read_frame
from multiway.data.options import SplitShares
from multiway.errors import ConfigError, DataError
from multiway.tasks.tabular.config import TableOptions
from multiway.tasks.tabular.explain import permutation_importance
from tasks.tabular.rows import match_table, patients, prepare_table, read_table

ILL = TableOptions(target="ill")


def test_splits_have_their_rows_and_counts():
    prepared = prepare_table(patients(200).assign(clinic=[f"c{i % 40}" for i in range(200)]), ILL, SplitShares())
    assert sum(len(prepared.rows(split)) for split in ("train", "validation", "test")) == 200
    assert prepared.counts("test")["samples"] == len(prepared.part("test")) == 40
    assert sum(prepared.counts("train")["classes"].values()) == 130
    batch = prepared.part("train").gather(np.array([3, 1]))
    assert batch["inputs"].shape == (2, len(prepared.state.names)) and batch["target"].shape == (2,)


def test_later_rows_have_no_splits_and_say_what_is_unknown():
    prepared = prepare_table(patients(100), ILL, SplitShares())
    later = match_table(patients(5).assign(city="Rom"), ILL, prepared.state)
    assert len(later.rows("test")) == 5 and later.notes[-1] == "5 cells of 'city' have a level that training had not"


def test_a_target_is_needed_and_every_class_in_training():
    with pytest.raises(ConfigError, match=r"Name it \(read\.target=NAME\)"):
        prepare_table(patients(), TableOptions(), SplitShares())
    frame = patients(60).assign(day=pd.date_range("2024-01-01", periods=60), ill=["no"] * 50 + ["yes"] * 10)
    with pytest.raises(DataError, match="train has no rows of yes"):
        prepare_table(frame, TableOptions(target="ill", time="day"), SplitShares())


def test_copies_of_the_target_are_found():
    frame = patients(200)
    frame = frame.assign(repeated=frame["ill"].map({"yes": "sick", "no": "well"}), half=frame["age"] / 2 + 7)
    frame.loc[0, "repeated"] = "sick" if frame.loc[0, "ill"] == "no" else "well"
    assert copies_of_target(read_table(frame, ILL)) == ["repeated"]
    assert copies_of_target(read_table(frame, TableOptions(target="age"))) == ["half"]
    assert copies_of_target(read_table(patients(200), ILL)) == []


def test_codes_and_digests():
    table = read_table(pd.concat([patients(60), patients(60)[:2]], ignore_index=True), ILL)
    codes = dict(column_codes(table.inputs))
    assert len(np.unique(codes["weight"])) <= 20 and len(np.unique(codes["city"])) == 3
    digests = row_digests(table)
    assert digests[:2] == digests[60:] and len(set(digests)) == 60


def test_the_column_that_a_score_needs_comes_first():
    table = read_table(patients(200), ILL)

    def score(cells):
        return float(((cells.numbers[:, 0] > 50) == table.truth).mean())

    frame = permutation_importance(table.inputs, score)
    assert frame["column"].tolist()[0] == "age" and frame["column"].tolist()[-1] == "all"
    assert (frame.set_index("column").loc[["weight", "city"], "importance"] == 0).all()
    assert permutation_importance(table.inputs, score).equals(frame)


def follows(numbers, share):
    """Rows that each keep a share of the one before: as much do they correlate."""
    return numbers.ewm(alpha=1 - share, adjust=False).mean()


def test_rows_are_told_from_steps_of_series(tmp_path):
    patients().to_csv(tmp_path / "rows.csv", index=False)
    assert look_at(tmp_path / "rows.csv").is_of_rows and look_at(tmp_path / "none.csv") is None
    assert read_frame(tmp_path / "rows.csv", ILL)["age"].dtype.kind == "i"
    generator = np.random.default_rng(2)
    numbers = pd.DataFrame(generator.normal(size=(200, 3)), columns=["a", "b", "c"])
    days = pd.date_range("2024-01-01", periods=200).astype(str)
    assert look_at(numbers).is_of_rows and not look_at(numbers.cumsum()).is_of_rows
    assert [look_at(follows(numbers, share)).is_of_rows for share in (0.2, 0.45)] == [True, False]
    assert look_at(numbers.cumsum().assign(target=1 - numbers.a.round() % 2)).is_of_rows
    assert not look_at(numbers.assign(date=days)).is_of_rows
    customers = numbers.assign(date=days, customer=[f"C{row}" for row in range(200)])
    assert look_at(customers).is_of_rows and not look_at(customers).is_of_series
    orders = numbers.assign(date=days[generator.integers(0, 50, 200)], city=generator.choice(["Ulm", "Bonn"], 200))
    assert look_at(orders).is_of_rows and not look_at(orders).is_of_series
    assert look_at(orders.assign(label=generator.choice(["x", "y"], 200))).likely_target == "label"
