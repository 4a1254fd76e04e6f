"""Later rows taken in by a run, and candidates refitted before each cutoff of a backtest."""

import numpy as np
import pandas as pd
import pytest

import multiway
from command import outcome
from fewer import fit_fewer
from multiway.errors import ConfigError, DataError, MultiwayWarning
from multiway.tasks import lifecycle
from multiway.tasks.forecasting.task import TASK
from tasks.forecasting.panels import HORIZON, LOOKBACK, make_config, make_frame, shop
from tolerances import ROUNDING32

ROWS = 240
PLAIN = {"network": False, "answer": "auto"}


@pytest.fixture(scope="module")
def frame():
    return make_frame(rows=ROWS + 30)


@pytest.fixture(scope="module")
def folders(frame, tmp_path_factory):
    """A run on the first rows, the same with two updates, and a training with these updates."""
    folder = tmp_path_factory.mktemp("updates")
    files = [str(folder / f"{name}.csv") for name in ("first", "second", "third")]
    for path, (start, stop) in zip(files, ((0, ROWS), (ROWS, ROWS + 20), (ROWS + 20, ROWS + 30)), strict=True):
        frame.iloc[start:stop].to_csv(path, index=False)
    lifecycle.start(TASK, make_config(data=files[0], **PLAIN), folder / "run")
    for run, later, out in (("run", files[1], "longer"), ("longer", files[2], "longest")):
        code, _, err = outcome("update", folder / run, "--data", later, "--out", folder / out)
        assert code == 0, err
    lifecycle.start(TASK, make_config(data=files[0], updates=files[1:], **PLAIN), folder / "anew")
    return folder


def test_an_updated_run_is_that_of_a_training_with_the_same_updates(folders):
    for name in ("config.yaml", "weights.safetensors", "calibration.safetensors", "predictions.parquet", "scores.json"):
        assert (folders / "longest" / name).read_bytes() == (folders / "anew" / name).read_bytes()
    first, last = (lifecycle.load(folders / name) for name in ("run", "longest"))
    assert first.scores == last.scores and first.digest != last.digest
    assert (first.facts["refit"], last.facts["refit"]) == ({"test": 192, "future": 240}, {"test": 192, "future": 270})


def test_an_updated_run_forecasts_what_follows_all_its_rows(folders, frame):
    code, _, err = outcome("predict", folders / "longest", "--out", folders / "next.csv")
    assert code == 0, err
    expected = pd.read_parquet(folders / "longest" / "predictions.parquet")
    table = pd.read_csv(folders / "next.csv", parse_dates=["date"])
    np.testing.assert_allclose(table["multiway"], expected["multiway"], rtol=ROUNDING32)
    assert table["date"].iloc[0] == frame["date"].iloc[-1] + pd.Timedelta(hours=1)


def test_python_takes_in_frames_as_the_command_does_files(folders, frame):
    made = multiway.Forecaster.load(folders / "run")
    made.update(frame.iloc[ROWS : ROWS + 20]).update(frame.iloc[ROWS + 20 :])
    expected = pd.read_parquet(folders / "longest" / "predictions.parquet")
    np.testing.assert_array_equal(made.predict(layout="long")["multiway"], expected["multiway"])
    files = multiway.Forecaster.load(folders / "run").update(folders / "second.csv")
    assert files.run_.config.updates == (str(folders / "second.csv"),)
    assert len(files.predict()) == HORIZON


@pytest.mark.parametrize(("start", "stop", "words"), [
    (ROWS + 1, ROWS + 9, "absent in 1 gap"),
    (ROWS - 9, ROWS, "the table: no row of it is after 2024-01-10 23:00:00, the last of the run"),
])  # fmt: skip
def test_rows_that_do_not_follow_are_refused(folders, frame, start, stop, words):
    with pytest.raises(DataError, match=words):
        multiway.Forecaster.load(folders / "run").update(frame.iloc[start:stop])


def test_a_run_without_refit_takes_no_new_rows(frame):
    made = multiway.Forecaster(HORIZON, lookback=LOOKBACK, network=False, settings={"refit": "none"}).fit(frame)
    with pytest.raises(ConfigError, match="Train it with refit"):
        made.update(make_frame(rows=ROWS + 40).iloc[-10:])


def test_a_backtest_with_refit_forecasts_by_fits_on_the_rows_before_each_cutoff(frame):
    frame = frame[["date", "series 0"]]
    made = multiway.Forecaster(HORIZON, lookback=LOOKBACK, network=False, levels=()).fit(frame.iloc[:ROWS])
    run = made.run_
    table = made.backtest(frame, cutoffs=5, step=6, refit_every=2)
    plain = made.backtest(frame, cutoffs=5, step=6)
    assert list(table.columns) == list(plain.columns) and (table["cutoff"] == plain["cutoff"]).all()
    np.testing.assert_array_equal(table["naive"], plain["naive"])
    assert (table["ridge"] != plain["ridge"]).any()
    cutoffs = list(table["cutoff"].unique())
    floor = run.facts["selection"]["ridge"]
    penalty = floor["shared_penalty"]
    for place, cutoff in enumerate(cutoffs):
        known = int(np.flatnonzero(frame["date"] == cutoffs[place - place % 2])[0]) + 1
        values = (frame.iloc[:, 1:].to_numpy() - run.state.scaler.mean) / run.state.scaler.std
        weight = by_hand(values[:known], penalty * (known - LOOKBACK - HORIZON + 1) / floor["windows"])
        end = int(np.flatnonzero(frame["date"] == cutoff)[0]) + 1
        past = values[end - LOOKBACK : end]
        expected = (past[-1] + weight @ (past - past[-1])) * run.state.scaler.std + run.state.scaler.mean
        np.testing.assert_allclose(table[table["cutoff"] == cutoff]["ridge"], expected.T.ravel(), rtol=1e-4)


def by_hand(rows, penalty):
    """One ridge matrix for all series of some rows, `(horizon, lookback)`."""
    gram, cross = np.zeros((LOOKBACK, LOOKBACK)), np.zeros((LOOKBACK, HORIZON))
    for series in rows.T:
        for start in range(len(rows) - LOOKBACK - HORIZON + 1):
            past, future = np.split(series[start : start + LOOKBACK + HORIZON], [LOOKBACK])
            gram += np.outer(past - past[-1], past - past[-1])
            cross += np.outer(past - past[-1], future - past[-1])
    return np.linalg.solve(gram + penalty * np.eye(LOOKBACK), cross).T


def test_the_command_refits_every_so_many_cutoffs(folders):
    words = ["backtest", folders / "run", "--data", folders / "first.csv", "--cutoffs", 3]
    first, second = (outcome(*words, *more)[1] for more in ((), ("--refit", "every=1")))
    assert first != second and len(first.splitlines()) == len(second.splitlines())
    assert outcome(*words, "--refit", "often")[0] == 2


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    """A run of shops with covariates, and the files of the days after it, of which the last alone has a plan."""
    folder, frame = tmp_path_factory.mktemp("planned"), shop().drop(columns=["weather", "visitors"])
    roles = {"future": ["holiday"], "static": ["region"], "levels": (), "season": 7}
    days = np.sort(frame["date"].unique())
    first, later = frame[frame["date"] < days[-7]], frame[frame["date"] >= days[-7]]
    first.to_csv(folder / "shops.csv", index=False)
    later.to_csv(folder / "more.csv", index=False)
    plan = later.assign(date=later["date"] + pd.Timedelta(days=7), sales=np.nan)
    pd.concat([later, plan]).to_csv(folder / "ahead.csv", index=False)
    with pytest.MonkeyPatch.context() as patch:
        fit_fewer(patch)  # without the statistical models, which the other run has
        lifecycle.start(TASK, make_config(data=str(folder / "shops.csv"), **roles, **PLAIN), folder / "run")
    return folder


@pytest.mark.parametrize(("later", "known"), [("more", False), ("ahead", True)])
def test_rows_without_a_plan_are_taken_in_and_no_forecast_is_stored(planned, later, known):
    code, _, err = outcome("update", planned / "run", "--data", planned / f"{later}.csv", "--out", planned / later)
    assert code == 0, err
    assert (planned / later / "predictions.parquet").exists() == known
    assert lifecycle.load(planned / later).facts["refit"]["future"] == 245
    words = ["predict", planned / later, "--future-data", planned / "ahead.csv", "--out", planned / f"{later}-next.csv"]
    assert outcome(*words)[0] == 0
    assert pd.read_csv(planned / f"{later}-next.csv")["date"].min() == "2023-09-03"


def taken_in(planned, name, change):
    """An update with other rows than those of `more.csv`: what it says, and its forecasts with a plan."""
    words = change(pd.read_csv(planned / "shops.csv"), pd.read_csv(planned / "more.csv"))
    words.to_csv(planned / f"{name}.csv", index=False)
    code, _, err = outcome("update", planned / "run", "--data", planned / f"{name}.csv", "--out", planned / name)
    assert code == 0, err
    return lifecycle.load(planned / name), err


@pytest.fixture(scope="module")
def plain(planned):
    """An update with the rows of `more.csv`."""
    return taken_in(planned, "plain", lambda first, more: more)[0]


NEW = {"store": "west", "region": "region 9"}


@pytest.mark.parametrize(("name", "change", "said"), [
    ("whole", lambda first, more: pd.concat([first, more]), "476 rows of whole.csv up to 2023-08-26 00:00:00 are in"),
    ("other", lambda first, more: more[["region", "sales", "holiday", "store", "date"]], ""),
    ("bare", lambda first, more: more.drop(columns="region"), ""),
    ("west", lambda first, more: pd.concat([more, more[:7].assign(**NEW)]), "west is new to the run and left out of"),
])  # fmt: skip
def test_rows_are_matched_by_name_and_time(planned, plain, name, change, said):
    run, err = taken_in(planned, name, change)
    assert said in err and bool(said) == bool(err.strip())
    for key, weight in plain.model.state_dict().items():
        np.testing.assert_array_equal(run.model.state_dict()[key], weight)
    assert run.state.names == ("north", "south") and run.facts["rows"] == 245


def test_a_forecaster_leaves_new_series_out_too(planned):
    made = multiway.Forecaster.load(planned / "run")
    more = pd.read_csv(planned / "more.csv", parse_dates=["date"])
    with pytest.warns(MultiwayWarning, match="west is new to the run and left out of the table"):
        made.update(pd.concat([more, more[:7].assign(**NEW)]))
    plan = pd.read_csv(planned / "ahead.csv", parse_dates=["date"])
    table, expected = (each.predict(future_df=plan) for each in (made, made_of(planned / "more")))
    np.testing.assert_allclose(table["multiway"], expected["multiway"], rtol=ROUNDING32)


def made_of(folder):
    return multiway.Forecaster.load(folder)


def test_a_file_of_new_series_alone_is_refused_by_its_name(planned):
    pd.read_csv(planned / "more.csv").assign(**NEW).to_csv(planned / "new.csv", index=False)
    words = ["update", planned / "run", "--data", planned / "new.csv", "--out", planned / "never"]
    code, _, err = outcome(*words)
    assert code == 1 and "new.csv: none of the run's series north, south are in it; there are west." in err
    pd.read_csv(planned / "more.csv").drop(columns="holiday").to_csv(planned / "new.csv", index=False)
    assert "new.csv: later rows have the columns of the others. It lacks holiday" in outcome(*words)[2]
