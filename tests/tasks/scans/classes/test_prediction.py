"""Predicting scans one at a time: the table, the scans that cannot be used, and scores on later data."""

import dataclasses
import math
import tracemalloc

import numpy as np
import pandas as pd
import pytest

from multiway.errors import ConfigError, DataError, RunError
from multiway.tasks import lifecycle as runs
from multiway.tasks.scans.task import CLASSES as task
from multiway.tasks.scores import score_table
from multiway.tasks.targets import thresholds_of
from tasks.scans.classes.blocks import SIZES, make_config, make_volumes, write_npz, write_table
from tolerances import SUMS32


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    return runs.start(
        task, make_config(write_npz(folder / "set.npz"), baselines=("majority", "logistic")), folder / "run"
    )


def predict(run, data, out, options):
    return task.answer(run, data, out, options).lines()


def evaluate(run, data, split="test"):
    return score_table([dataclasses.replace(run, scores=task.evaluate(run, data, split))], split)


@pytest.fixture
def scans(tmp_path):
    folder = tmp_path / "scans"
    folder.mkdir()
    volumes, _ = make_volumes(5, seed=9)
    for row, volume in enumerate(volumes):
        np.save(folder / f"case{row}.npy", volume)
    return folder


def test_the_table_of_a_folder(run, scans, tmp_path):
    out = tmp_path / "out.csv"
    assert predict(run, str(scans), out, {}) == [f"5 rows written to {out}"]
    frame = pd.read_csv(out)
    assert list(frame) == ["case", "predicted", "predicted_at_threshold", "p_0", "p_1", "set"]
    assert list(frame["case"]) == [f"case{row}" for row in range(5)]
    assert np.array_equal(frame["predicted"], (frame["p_1"] > 0.5).astype(int))
    assert np.array_equal(
        frame["predicted_at_threshold"],
        (frame["p_1"] > thresholds_of(run.calibration, [run.answer.name])[run.answer.name]).astype(int),
    )
    shares = frame[["p_0", "p_1"]].to_numpy()
    known = run.tables["predictions"].query(f"split == 'validation' and model == '{run.answer.name}'")
    for column, name in enumerate(run.state.classes):
        own = np.sort(1 - known[known["label"].astype(str) == name][f"p_{name}"])
        limit = own[math.ceil(0.9 * (len(own) + 1)) - 1]
        inside = frame["set"].fillna("").astype(str).str.replace(".0", "").str.split(" | ", regex=False)
        assert [name in each for each in inside] == (1 - shares[:, column] <= limit + 1e-9).tolist()
    (text,) = predict(run, str(scans), None, {})
    assert text == out.read_text().rstrip()


@pytest.mark.parametrize("change", ["emptied", "dropped"])
def test_labels_are_no_matter_where_scans_are_answered(run, change, tmp_path):
    path = write_table(tmp_path, count=5)
    frame = pd.read_csv(path)
    expected = predict(run, str(path), None, {})
    changed = frame.drop(columns="label") if change == "dropped" else frame.assign(label=["a", None, "b", "a", None])
    changed.assign(split=["train", "?", None, "test", None]).to_csv(path, index=False)
    assert predict(run, str(path), None, {}) == expected
    changed.to_csv(path, index=False)
    with pytest.raises(DataError, match=r"label|class"):
        evaluate(run, str(path))


@pytest.mark.parametrize("shown", [True, False])
def test_a_bar_says_how_many_scans_are_done(shown, run, scans, tmp_path, monkeypatch):
    made = []

    class Bar:
        def __init__(self, title, total, show):
            made.append([(title, total, show)])

        def update(self, completed):
            made[-1].append(completed)

        def close(self):
            made[-1].append("closed")

    monkeypatch.setattr("multiway.tasks.scans.predict.TerminalBar", Bar)
    np.save(scans / "case2.npy", np.zeros((2, 2)))
    predict(run, str(scans), tmp_path / "out.csv", {"progress": shown, "keep_going": True})
    assert made == [[("predicting", 5, shown), 1, 2, 3, 4, 5, "closed"]]


def test_probabilities_are_those_of_the_run(run):
    """The file of the training, one volume at a time and by what was scored, against the batches of the evaluation."""
    (text,) = predict(dataclasses.replace(run, refits={}), run.config.data, None, {})
    stored = run.tables["predictions"].query(f"model == '{run.answer.name}' and split == 'test'").set_index("case")
    rows = [line.split(",") for line in text.splitlines()[1:] if line.startswith("test-")]
    assert len(rows) == 30
    place = text.splitlines()[0].split(",").index("p_1")
    for name, *cells in rows:
        assert float(cells[place - 1]) == pytest.approx(stored.loc[name, "p_1"], rel=SUMS32)


def test_a_table_with_patients(run, tmp_path):
    data = write_table(tmp_path)
    (text,) = predict(run, str(data), None, {})
    assert text.splitlines()[0].startswith("case,patient,predicted")
    assert text.splitlines()[1].startswith("scan00,p0,")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda volume: volume[:, :4], r"case2.npy: the run was trained on \(channels, \*sizes\) \(1, 8, 9, 10\). Got"),
        (lambda volume: np.where(volume > 100, np.nan, volume), "case2.npy: every voxel must be a finite number"),
    ],
)
def test_a_scan_that_does_not_fit_is_named(spoil, message, run, scans, tmp_path):
    np.save(scans / "case2.npy", spoil(np.load(scans / "case2.npy")))
    with pytest.raises(DataError, match=message) as caught:
        predict(run, str(scans), tmp_path / "out.csv", {})
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out.csv").exists()
    lines = predict(run, str(scans), tmp_path / "out.csv", {"keep_going": True})
    assert lines[0].startswith("4 rows written")
    assert lines[1].startswith("left out: case2.npy")


@pytest.mark.parametrize(("listed", "last"), [(2, "left out: case3.npy"), (1, "and 1 more of them")])
def test_of_many_scans_left_out_the_first_are_listed(listed, last, run, scans, tmp_path, monkeypatch):
    monkeypatch.setattr("multiway.tasks.scans.predict.MAX_LISTED", listed)
    for name in ("case2", "case3"):
        np.save(scans / f"{name}.npy", np.zeros((2, 2, 2)))
    lines = predict(run, str(scans), tmp_path / "out.csv", {"keep_going": True})
    assert len(lines) == 1 + 2 and lines[-1].startswith(last)


def test_nothing_to_write_is_an_error(run, scans, tmp_path):
    for path in scans.iterdir():
        np.save(path, np.zeros((2, 2, 2)))
    with pytest.raises(DataError, match=r"none of 5 scans can be used. left out: case0.npy"):
        predict(run, str(scans), tmp_path / "out.csv", {"keep_going": True})


def test_wrong_calls(run, scans, tmp_path):
    with pytest.raises(ConfigError, match="a run of volumes needs scans"):
        predict(run, None, None, {})
    with pytest.raises(ConfigError, match=r"must end in .csv, .csv.gz, .parquet or .xlsx"):
        predict(run, str(scans), tmp_path / "out.txt", {})
    with pytest.raises(RunError, match="there is no folder"):
        predict(run, str(scans), tmp_path / "no" / "out.csv", {})


def test_memory_holds_one_volume(run, tmp_path):
    """A dozen large scans, resampled to the run's size: the peak is that of a few, not of all."""
    big = tmp_path / "big"
    big.mkdir()
    for row in range(12):
        np.save(big / f"{row}.npy", np.zeros((64, 64, 64), np.uint8))
    run.config = run.config.replace(read={"resample_to": SIZES})
    tracemalloc.start()
    try:
        predict(run, str(big), tmp_path / "out.csv", {})
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        run.config = run.config.replace(read={})
    assert peak < 8 * 64**3


def test_scores_on_later_data(run, tmp_path):
    repeated = {row["model"]: row for row in evaluate(run, run.config.data)}
    for row in score_table([run], "test"):
        assert repeated[row["model"]]["acc"] == row["acc"]
        assert repeated[row["model"]]["auc"] == pytest.approx(row["auc"])
    later = write_table(tmp_path, words=("0", "1"))
    rows = evaluate(run, str(later))
    assert rows[0]["model"] == run.answer.name
    assert rows[0]["auc"] > 0.9
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(DataError, match=r"those of the training, 0, 1. Got high.* the first in "):
        evaluate(run, str(write_table(other)))
    pd.read_csv(later).drop(columns="label").to_csv(later, index=False)
    with pytest.raises(DataError, match=r"scores need a target, and there is none\. Name the column of classes"):
        evaluate(run, str(later))
