"""A number of each scan: read, fitted beside the mean, scored, predicted, explained and audited in its own unit."""

import numpy as np
import pandas as pd
import pytest
import torch

import multiway
from command import outcome, printed
from multiway.data.options import VolumeOptions
from multiway.data.sources.scans.arrays import Arrays
from multiway.data.sources.scans.loading import read_cases
from multiway.tasks import lifecycle
from multiway.tasks.scans.explain import explain_case, reload_cases
from multiway.tasks.scans.networks import scan_outputs
from tasks.scans.classes.blocks import NETWORK, SIZES, write_npz
from tolerances import LONG32, ROUNDING64

SETTINGS = {"model": NETWORK, "training": {"batch_size": 8, "warmup_steps": 2, "learning_rate": 3e-3}, "draws": 20}


def make_aged(count=40, seed=0):
    """Noise that is the brighter in a corner the higher the number is."""
    draw = np.random.default_rng(seed)
    ages = draw.uniform(20, 80, count).round(2)
    volumes = draw.normal(0, 3, (count, *SIZES)).astype(np.float32)
    volumes[:, :4, :4, :5] += ages[:, None, None, None].astype(np.float32)
    return volumes, ages


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("aged")
    volumes, ages = make_aged()
    for row, volume in enumerate(volumes):
        np.save(folder / f"scan{row:02d}.npy", volume)
    paths, side = [f"scan{row:02d}.npy" for row in range(len(ages))], np.where(ages > 50, "old", "young")
    pd.DataFrame({"path": paths, "age": ages, "side": side}).to_csv(folder / "scans.csv", index=False)
    sets = [f"model={NETWORK!r}".replace("'", '"'), "training.epochs=3", "training.batch_size=8", "draws=20"]
    words = ["train", "volumes", "--data", folder / "scans.csv", "--label", "age", "--subgroups", "side"]
    told = printed(*words, "--out", folder / "run", *[word for each in sets for word in ("--set", each)])
    return folder, told


def test_it_is_scored_in_its_unit_with_the_mean(trained):
    folder, told = trained
    run = lifecycle.load(folder / "run")
    table = run.tables["predictions"].query("split == 'test'")
    assert {"mean", "ridge", "features", "trees", "network"} <= set(table["model"]) and "MAE" in told
    for model, rows in table.groupby("model"):
        (row,) = (r for r in run.scores if (r["model"], r["metric"], r["split"]) == (model, "mae", "test"))
        assert row["value"] == pytest.approx((rows["predicted"] - rows["label"]).abs().mean(), rel=ROUNDING64)
    by_model = {r["model"]: r["value"] for r in run.scores if (r["metric"], r["split"]) == ("mae", "test")}
    assert by_model["ridge"] < 5 < 10 < by_model["mean"]
    assert table.query("model == 'mean'")["predicted"].nunique() == 1


def test_later_scans_have_a_number_alone(trained):
    folder, _ = trained
    printed("predict", folder / "run", "--data", folder / "scan07.npy", "--out", folder / "later.csv")
    later = pd.read_csv(folder / "later.csv")
    assert list(later.columns) == ["case", "predicted"] and 15 < later["predicted"].iloc[0] < 85
    model = multiway.VolumeRegressor.load(folder / "run")
    found = model.predict(str(folder / "scan07.npy"))
    np.testing.assert_allclose(found, later["predicted"], rtol=ROUNDING64)


def test_gradients_add_up_to_the_change_of_the_number(trained):
    folder, _ = trained
    run = lifecycle.load(folder / "run")
    cases = reload_cases(run)
    found = explain_case(run, cases, 3)
    x = run.state.normalise(cases.inputs.prepare(3))
    number, empty = (scan_outputs(run.model, each, run.config, run.state)[0] for each in (x, torch.zeros_like(x)))
    assert found.sums[1] == pytest.approx(number - empty, rel=100 * LONG32)
    assert found.sums[0] == pytest.approx(found.gradients.sum(), rel=100 * LONG32)
    assert found.probabilities[0] == pytest.approx(number, rel=LONG32) and found.deletion is None


def test_its_pages_speak_of_numbers(trained):
    folder, _ = trained
    page = folder / "page.html"
    printed("report", folder / "run", "--out", page)
    text = page.read_text()
    assert "Largest errors" in text and "side: old" in text and "better than the mean alone" in text
    assert "log odds" not in text and "Sets of classes" not in text and "Sensitivity" not in text
    assert "half of the number" in printed("audit", folder / "run")
    assert "the number changes by" in printed("explain", folder / "run", "--cases", "scan05")


def test_an_estimator_of_numbers_finds_them():
    volumes, ages = make_aged(60)
    model = multiway.VolumeRegressor(epochs=1, settings=SETTINGS).fit(volumes, ages)
    other, truth = make_aged(20, seed=1)
    assert model.score(other, truth) > 0.8
    squared = np.square(model.predict(other) - truth).mean()
    assert 1 - squared / truth.var() == pytest.approx(model.score(other, truth), abs=0.01)  # refitted on all rows


@pytest.mark.parametrize(
    ("y", "kind", "classes"),
    [
        ([1, 2] * 6, "auto", ("1", "2")),
        ([1, 2] * 6, "number", None),
        (list(range(12)), "auto", None),
        ([0.5, 1.5] * 6, "auto", None),
        ([1.0, 2.0] * 6, "classes", ("1.0", "2.0")),
        (["a", "b"] * 6, "auto", ("a", "b")),
    ],
)
def test_what_are_classes_and_what_numbers(y, kind, classes):
    found = read_cases(Arrays(x=np.zeros((12, 3, 4, 5)), y=y), VolumeOptions(kind=kind))
    assert found.classes == classes
    assert found.target.tolist() == (y if classes is None else [classes.index(str(each)) for each in y])


def test_an_archive_of_numbers_is_read_as_such(tmp_path):
    path = write_npz(tmp_path / "set.npz", counts=(5, 3, 4))
    with np.load(path) as stored:
        parts = dict(stored)
    parts |= {name: np.arange(len(rows)) + 0.5 for name, rows in parts.items() if name.endswith("labels")}
    np.savez(path, **parts)
    cases = read_cases(path)
    assert cases.classes is None and cases.target.tolist() == [*np.arange(5) + 0.5, 0.5, 1.5, 2.5, *np.arange(4) + 0.5]
    np.savez(path, **{**parts, "val_labels": np.array([0.5, np.nan, 1])})
    code, out, _ = outcome("check", path, "--task", "volumes")
    assert code == 1 and "'val_labels' holds a number that is not finite" in out
