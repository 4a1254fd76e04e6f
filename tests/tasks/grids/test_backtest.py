"""Errors from past times of a grid: by hand from the floors before the test, the same on later files, and refusals."""

import numpy as np
import pandas as pd
import pytest

import multiway
from command import outcome, printed
from multiway.errors import ConfigError, DataError
from multiway.tasks import lifecycle
from multiway.tasks.grids.backtest import backtest_frame, pool_leads
from multiway.tasks.grids.config import GridConfig
from multiway.tasks.grids.floors import forecast_floors
from multiway.tasks.grids.model import module_of, read_floors, shares_of
from multiway.tasks.grids.task import TASK
from tasks.grids.fields import make_field, write_npz
from tolerances import LONG32

NETWORK = {"name": "fno_grid_forecaster", "dim": 8, "num_blocks": 1}
CONFIG = GridConfig(context=5, horizon=3, model=NETWORK, budget=None, training={"epochs": 1})


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write_npz(tmp_path_factory.mktemp("past") / "sst.npz", make_field(60))


@pytest.fixture(scope="module")
def run(path):
    return lifecycle.fit_in_memory(TASK, CONFIG, path)


def test_errors_are_those_of_the_fields_after_each_cutoff(run):
    grid, module, found = run.prepared, module_of(run), backtest_frame(run, run.prepared, 4, 2)
    words, fitted = grid.cube.times.words(), read_floors(dict(module.named_parameters()))
    assert [*dict.fromkeys(found["cutoff"])] == [words[origin] for origin in (50, 52, 54, 56)]
    alone = module.correct(grid, np.array([52, 56]), fitted)
    for place, origin in enumerate((52, 56)):
        for lead in (1, 2, 3):
            said = forecast_floors(fitted, grid.past, np.array([origin]), lead)
            every = {name: said[name][0] for name in run.state.floors} | {"network": alone[place, lead - 1]}
            every["multiway"] = shares_of(run)[lead - 1] @ np.stack([*every.values()])
            rows = found.query("cutoff == @words[@origin] and lead == @lead").set_index("model")["rmse"]
            assert {*rows.index} == {*every}
            for name, field in every.items():
                off = np.sqrt((grid.weights * (field - grid.values[origin + lead]) ** 2).sum())
                assert rows[name] == pytest.approx(off, rel=LONG32)


def test_usual_cutoffs_are_a_horizon_apart_and_each_sees_its_context(run):
    words = run.prepared.cube.times.words()
    assert [*dict.fromkeys(backtest_frame(run, run.prepared)["cutoff"])] == words[29:57:3]
    assert [*dict.fromkeys(backtest_frame(run, run.prepared, 99, 20)["cutoff"])] == [words[16], words[36], words[56]]
    assert backtest_frame(run, run.prepared, 99, 1)["cutoff"].iloc[0] == words[4]


def test_a_later_field_changes_no_forecast_before_it(run, path):
    values = make_field(60)
    values[57:] += 3
    other = TASK.prepare(CONFIG, write_npz(path.with_name("other.npz"), values), run.state)
    one, two = (backtest_frame(run, grid, 3).set_index(["cutoff", "lead", "model"]) for grid in (run.prepared, other))
    is_last = one.index.get_level_values("cutoff") == run.prepared.cube.times.words()[56]
    pd.testing.assert_frame_equal(one[~is_last], two[~is_last])
    assert (one[is_last] != two[is_last]).all().all()


def test_errors_over_leads_are_pooled_by_their_squares():
    rows = [("a", 1, "x", 3.0), ("a", 1, "y", 1.0), ("a", 2, "x", 4.0), ("a", 2, "y", 1.0), ("b", 1, "x", 2.0)]
    pooled = pool_leads(pd.DataFrame(rows, columns=["cutoff", "lead", "model", "rmse"]))
    expected = [("a", "x", np.sqrt(12.5)), ("a", "y", 1.0), ("b", "x", 2.0)]
    pd.testing.assert_frame_equal(pooled, pd.DataFrame(expected, columns=["cutoff", "model", "rmse"]))


def test_the_past_is_forecast_from_the_command_line_and_from_python(path, tmp_path):
    words = ("--context", 5, "--horizon", 3, "--model", "none", "--out", tmp_path / "run")
    printed("train", "grids", "--data", path, *words)
    said = printed("backtest", tmp_path / "run", "--cutoffs", 2, "--out", tmp_path / "past.csv")
    table = pd.read_csv(tmp_path / "past.csv")
    assert (
        "damped persistence" in said
        and [*table] == ["cutoff", "lead", "model", "rmse"]
        and table["cutoff"].nunique() == 2
    )
    loaded = multiway.GridForecaster.load(tmp_path / "run").backtest(path, 2)
    pd.testing.assert_frame_equal(loaded, table, rtol=LONG32)
    alone = printed("backtest", tmp_path / "run", "--cutoffs", 2, "--model", "damped")
    assert alone.count("damped persistence  ") == 2 and "climatology" not in alone
    whole = printed(
        "backtest", tmp_path / "run", "--cutoffs", 15
    )  # from the times 14, 17, ... 56; the test begins at 48
    assert (
        "11 of 15 cutoffs lie before the test, which begins at 2005-01-15." in whole and "before the test" not in said
    )
    code, out, err = outcome("backtest", tmp_path / "run", "--cutoffs", 0)
    assert (code, out) == (2, "") and "cutoffs" in err


def test_a_file_without_a_past_is_refused(run, path):
    few = TASK.prepare(CONFIG, write_npz(path.with_name("few.npz"), make_field(7)), run.state)
    with pytest.raises(DataError, match=r"needs 5 times and 3 after them\. Got 7"):
        backtest_frame(run, few)
    with pytest.raises(ConfigError, match="at least 1"):
        backtest_frame(run, run.prepared, step=0)
