"""Splits, scale, later series, and what a check says."""

import numpy as np
import pytest

from multiway.data.options import SequenceOptions
from multiway.errors import DataError
from multiway.tasks.series.config import SequenceSplit
from multiway.tasks.series.encode import SeriesState
from tasks.series.archives import bumps, check_sequences, long_frame, match_sequences, prepare_sequences, write_ts

USUAL = SequenceOptions()


def official(count: int = 40, held: int = 10) -> dict[str, np.ndarray]:
    (x, y), (test, test_y) = bumps(count), bumps(held, seed=1)
    return {"X_train": x, "y_train": y, "X_test": 100 + test, "y_test": test_y}


def test_an_official_test_is_the_test_and_validation_is_of_the_rest(tmp_path):
    np.savez(tmp_path / "set.npz", **official())
    prepared = prepare_sequences(tmp_path / "set.npz", USUAL, SequenceSplit(validation=0.25))
    assert {name: len(rows) for name, rows in prepared.splits.items()} == {"train": 30, "validation": 10, "test": 10}
    assert prepared.splits["test"].tolist() == list(range(40, 50))
    assert prepared.part("validation").counts()["classes"] == {"1": 5, "2": 5}


def test_the_scale_is_of_the_training_series_alone(tmp_path):
    data = official()
    np.savez(tmp_path / "set.npz", **data)
    prepared = prepare_sequences(tmp_path / "set.npz", USUAL, SequenceSplit(validation=0.25))
    train = data["X_train"][prepared.splits["train"]]
    assert prepared.state.scaler.mean == pytest.approx(train.mean())
    assert prepared.state.scaler.std == pytest.approx(train.std())
    scaled = prepared.part("train").inputs
    assert scaled.shape == (30, 12, 1) and float(scaled.mean()) == pytest.approx(0, abs=1e-6)
    assert SeriesState.parse(prepared.state.plain()).plain() == prepared.state.plain()


def test_groups_stay_together_and_classes_are_in_order():
    frame = long_frame(60).assign(patient=lambda rows: rows["id"].str[1:].astype(int) // 4)
    prepared = prepare_sequences(frame, SequenceOptions(group="patient"), SequenceSplit())
    groups = [set(prepared.part(split).groups) for split in ("train", "validation", "test")]
    assert sum(map(len, groups)) == len(set().union(*groups)) == 15
    x, _ = bumps(40)
    assert prepare_sequences((x, np.arange(40) % 4 + 8), USUAL, SequenceSplit()).state.classes == ("8", "9", "10", "11")


def test_padding_and_missing_values_stay_nan():
    x, y = bumps(40)
    x[0, 9:], x[1, 4] = np.nan, np.nan
    inputs = prepare_sequences((x, y), USUAL, SequenceSplit()).encoded.inputs[..., 0]
    np.testing.assert_array_equal(inputs.isnan(), np.isnan(x))


def test_later_series_are_as_the_training_was():
    x, y = bumps(40)
    state = prepare_sequences((x, y), USUAL, SequenceSplit()).state
    later = match_sequences((x[:3, :9], y[:3]), USUAL, state)
    assert later.encoded.inputs.shape == (3, 12, 1) and later.encoded.target.tolist() == [0, 1, 0] and not later.splits
    assert match_sequences(x[:2], USUAL, state, has_target=False).encoded.target is None
    for source, message in (
        ((x, y + 1), r"classes are those of the training, 1, 2\. Got 3 in 20 series"),
        (x, "scores need classes, and there are none"),
        ((np.ones((2, 13)), y[:2]), r"series may have 12 steps\. 0 has 13"),
        ((np.ones((2, 9, 2)), y[:2]), r"trained on 1 variates \(value\)\. Got 2"),
    ):
        with pytest.raises(DataError, match=message):
            match_sequences(source, USUAL, state)


def test_later_tables_are_matched_by_name():
    frame = long_frame(40)
    prepared = prepare_sequences(frame, USUAL, SequenceSplit())
    swapped = frame[["y", "id", "x", "time"]].assign(note="a")
    later = match_sequences(swapped, USUAL, prepared.state, has_target=False)
    np.testing.assert_array_equal(later.encoded.inputs, prepared.encoded.inputs)
    with pytest.raises(DataError, match="columns names 'y', which is not there"):
        match_sequences(frame.drop(columns="y"), USUAL, prepared.state)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.zeros(40, int), r"two classes or more .* Got 1 \(0\) in 40 series"),
        (np.arange(40), r"two classes or more .* Got 40"),
        (["a"] * 20 + [""] * 20, "every one of the series needs a class. Number 20 has none"),
    ],
)
def test_classes_that_cannot_be_learnt(y, message):
    with pytest.raises(DataError, match=message):
        prepare_sequences((bumps(40)[0], y), USUAL, SequenceSplit())


def test_a_split_without_series_and_a_training_without_a_class(tmp_path):
    x, y = bumps(4)
    with pytest.raises(DataError, match=r"each split needs series\. Got train 3, validation 0, test 1"):
        prepare_sequences((x, y), USUAL, SequenceSplit())
    with pytest.raises(
        DataError, match=r"validation 0, test 1\. Give more series of b, which has one, or drop the class"
    ):
        prepare_sequences((x, list("aaab")), USUAL, SequenceSplit())
    data = official()
    np.savez(tmp_path / "set.npz", **data | {"y_test": data["y_test"] + 1})
    with pytest.raises(DataError, match="train has no series of 3"):
        prepare_sequences(tmp_path / "set.npz", USUAL, SequenceSplit())


def test_a_check_says_what_there_is(tmp_path):
    x, y = bumps(40)
    x[7], x[9], x[4, 3] = x[5], 1.0, np.nan
    report = check_sequences((np.concatenate([x, x[:1]]), [*y, 2]))
    text = "\n".join(report.lines())
    for words in (
        "series: 41", "steps: 12", "classes: 1 20, 2 21", "missing values: 1", "splits: train 27, validation 6, test 8",
        "1 series repeat an earlier one: 7", "2 series have equal inputs and different classes: 0; 40",
        "series never change: 9",
    ):  # fmt: skip
        assert words in text, (words, text)
    assert report.is_usable
    broken = check_sequences(write_ts(tmp_path / "Bumps.ts", ("1:2:maybe",)))
    assert not broken.is_usable and "value 'maybe'" in broken.lines()[-2]
    alone = check_sequences(x)
    assert alone.is_usable and "no target is named or found, so series can be predicted" in "\n".join(alone.lines())
