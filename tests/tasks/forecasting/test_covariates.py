"""Covariates from the table to the forecast: roles, words, what is known ahead, and what a change of names leaves."""

import datetime
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from multiway import Forecaster
from multiway.cli.spelling import command_line
from multiway.errors import ArgumentError, ConfigError, DataError
from multiway.tasks.forecasting import ForecastConfig
from multiway.tasks.forecasting.audit import audit_forecast
from multiway.tasks.forecasting.calendar import calendar_features, holiday_features, holiday_names
from multiway.tasks.forecasting.covariates import Roles, is_truth
from multiway.tasks.forecasting.encode import prepare_panel
from multiway.tasks.forecasting.source import read_panel
from multiway.tasks.forecasting.task import TASK
from tasks.forecasting.panels import shop

HORIZON = 5
SIZES = {"horizon": HORIZON, "lookback": 14, "network": False}
ALONE = {"calendar": False}


def history(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["date"] < frame["date"].unique()[-HORIZON]]


def plan(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["date"] >= frame["date"].unique()[-HORIZON]].drop(columns=["sales", "visitors", "region"])


@pytest.fixture(scope="module")
def fitted() -> Forecaster:
    roles = {"future": ("holiday", "weather"), "past": ("visitors",), "static": ("region",)}
    return Forecaster(**SIZES, **roles, settings={"answer": "regression_log"}).fit(history(shop()))


def test_cells_stand_at_their_series_and_times():
    frame = shop().sample(frac=1, random_state=0)
    options = prepare_panel(config(future=("holiday", "weather"), read={"unsorted": "sort"}), frame).panel
    expected = shop().pivot(index="date", columns="store")
    names = list(options.names)
    assert (options.covariates.values[..., 0] == expected["holiday"][names].to_numpy()).all()
    words = np.array(options.covariates.words["weather"])[options.covariates.values[..., 1].astype(int)]
    assert (words == expected["weather"][names].to_numpy()).all()


def config(**changes: object) -> ForecastConfig:
    return ForecastConfig.parse({**SIZES, **changes})


def test_words_are_those_of_the_training_rows():
    frame = shop()
    frame.loc[frame["date"] >= frame["date"].unique()[-3], "weather"] = "hail"
    prepared = prepare_panel(config(future=("weather", "holiday"), **ALONE), frame)
    assert prepared.covariates.words == {"weather": ("rain", "sun")}
    known = prepared.windows["test"].gather(torch.tensor([len(prepared.windows["test"]) - 1]))["known"]
    assert known.shape == (1, 14 + HORIZON, 2, 3)
    assert not known[0, -3:, :, :2].any() and (known[0, :-3, :, :2].sum(-1) == 1).all()


def test_scales_are_those_of_the_training_rows():
    frame = shop()
    changed = frame.copy()
    changed.loc[changed["date"] >= changed["date"].unique()[-50], "visitors"] *= 1000
    one, other = (prepare_panel(config(past=("visitors",)), each).covariates for each in (frame, changed))
    assert (one.mean == other.mean).all() and (one.std == other.std).all()


def test_a_column_of_a_wide_table_is_common_to_its_series():
    wide = shop().pivot(index="date", columns="store", values="sales").reset_index()
    wide["holiday"] = shop(("north",))["holiday"]
    prepared = prepare_panel(config(future=("holiday",), **ALONE), wide)
    assert prepared.panel.names == ("north", "south")
    assert prepared.windows["train"].gather(torch.tensor([0]))["known"].shape == (1, 14 + HORIZON, 1, 1)


def test_it_forecasts_what_the_plan_says(fitted):
    frame = shop()
    own = fitted.predict(future_df=plan(frame)).set_index(["unique_id", "ds"])["multiway"]
    actual = frame.set_index(["store", "date"])["sales"].loc[own.index]
    assert (own / actual - 1).abs().mean() < 0.1
    none = fitted.predict(future_df=plan(frame).assign(holiday=False)).set_index(["unique_id", "ds"])["multiway"]
    is_holiday = frame.set_index(["store", "date"])["holiday"].loc[own.index].astype(bool)
    assert is_holiday.any() and (own / none)[is_holiday].between(1.7, 2.3).all()


def test_rows_without_a_value_at_the_end_are_a_plan(fitted):
    frame = shop()
    whole = frame.assign(sales=frame["sales"].where(frame["date"] < frame["date"].unique()[-HORIZON]))
    pd.testing.assert_frame_equal(fitted.predict(whole), fitted.predict(future_df=plan(frame)))


def test_the_first_row_that_is_absent_is_named(fitted):
    frame = plan(shop())
    lacking = frame[~((frame["store"] == "south") & (frame["date"] == frame["date"].unique()[2]))]
    with pytest.raises(DataError, match=r"holiday of south is not known at 2023-08-31 .* \(future_df=\"FILE\"\)"):
        fitted.predict(future_df=lacking)
    with pytest.raises(DataError, match="holiday of north is not known at 2023-08-29"):
        fitted.predict()
    with pytest.raises(DataError, match="'weather', which is not there"):
        fitted.predict(future_df=frame.drop(columns="weather"))


def test_an_empty_cell_of_the_history_is_refused_with_its_row():
    frame = history(shop()).assign(visitors=lambda each: each["visitors"].where(each.index != 7))
    with pytest.raises(DataError, match=r"1 cell of a covariate is missing: row 7, column .visitors."):
        read_panel(frame, None, Roles(past=("visitors",)))


def test_a_run_without_covariates_takes_no_future_data():
    own = Forecaster(**SIZES, settings={"answer": "ridge"}).fit(history(shop())[["date", "store", "sales"]])
    with pytest.raises(DataError, match="no covariate that is known ahead"):
        own.predict(future_df=plan(shop()))


def test_order_and_names_of_covariates_change_nothing(fitted):
    frame = shop()
    own = fitted.predict(future_df=plan(frame))
    named = {"holiday": "z", "weather": "a", "visitors": "b", "region": "c"}
    other = frame.rename(columns=named)[["c", "a", "date", "sales", "z", "store", "b"]]
    roles = {"future": ("a", "z"), "past": ("b",), "static": ("c",)}
    again = Forecaster(**SIZES, **roles, settings={"answer": "regression_log"}).fit(history(other))
    later = again.predict(future_df=other.drop(columns=["sales", "b", "c"]))
    assert np.allclose(own["multiway"], later["multiway"], rtol=1e-4)


def test_a_stored_run_forecasts_the_same(fitted, tmp_path: Path):
    fitted.save(tmp_path / "run")
    frame = shop()
    loaded = Forecaster.load(tmp_path / "run")
    assert loaded.future == ("holiday", "weather")
    own, other = (each.predict(history(frame), future_df=plan(frame)) for each in (fitted, loaded))
    pd.testing.assert_frame_equal(own, other)


def test_the_report_says_what_each_saves(fitted):
    saved = {row["name"]: row["saved"] for row in fitted.run_.facts["covariates"]}
    assert set(saved) == {"holiday", "weather", "visitors", "region", "calendar"}
    assert saved["holiday"] > 0.5 and saved["weather"] > 0.5 and abs(saved["region"]) < 0.05
    assert any("holiday saves" in note for note in fitted.run_.facts["notes"])


def test_a_calendar_is_taken_where_validation_gains():
    times = pd.date_range("2023-01-02", periods=240, freq="D")
    rng = np.random.default_rng(0)
    week = pd.DataFrame({"date": times, "sales": (times.day_of_week == 3) * 5.0 + rng.normal(0, 0.1, 240)})
    noise = week.assign(sales=rng.normal(0, 1, 240))
    own = {"calendar": True, "answer": "regression"}
    for frame, is_taken in ((week, True), (noise, False)):
        run = Forecaster(horizon=5, lookback=5, network=False, settings=own).fit(frame).run_
        effect = run.model.candidates["regression"].effect
        assert bool(effect.any()) == is_taken


class Library:
    """The package `holidays`, of one country with two days a year."""

    @staticmethod
    def list_supported_countries():
        return {"XA": ["N", "S"]}

    @staticmethod
    def country_holidays(code, subdiv, years, language):
        days = {datetime.date(year, 5, 2): "Labour Day (observed)" for year in years}
        return days | ({datetime.date(year, 7, 9): "Harvest" for year in years} if subdiv == "N" else {})


def test_public_holidays_are_known_ahead(monkeypatch):
    monkeypatch.setitem(sys.modules, "holidays", Library)
    names = holiday_names("XA-N", pd.DatetimeIndex(["2024-05-02", "2024-05-03 11:00", "2025-07-09 23:00"]))
    assert names.tolist() == ["Labour Day", "", "Harvest"]
    assert holiday_features(names, ("Harvest",)).tolist() == [[1, 0], [0, 0], [1, 1]]
    sales = history(shop(("north",)))[["date", "sales"]]
    forecaster = Forecaster(**SIZES, holidays=("XA",), settings={"answer": "regression"}).fit(sales)
    assert len(forecaster.predict()) == HORIZON
    assert forecaster.run_.state.covariates.days == {"XA": ("Labour Day",)}
    with pytest.raises(ConfigError, match="XB is no country, or part of one, that has a calendar"):
        Forecaster(**SIZES, holidays=("XB",)).fit(sales)


def test_without_their_package_holidays_are_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "holidays", None)
    with pytest.raises(
        ConfigError, match=r"needs holidays, which is not installed. Run .pip install .multiway\[holidays\]"
    ):
        Forecaster(**SIZES, holidays=("US",)).fit(history(shop(("north",)))[["date", "sales"]])


def test_hours_weekdays_and_the_year_are_features():
    hours = calendar_features(pd.date_range("2024-03-04", periods=30, freq="h"), "h")
    assert hours.shape == (30, 24 + 7 + 6) and (hours[:, :24].argmax(1) == np.arange(30) % 24).all()
    assert (hours[:, 24:31].argmax(1) == np.arange(30) // 24).all()
    months = calendar_features(pd.date_range("2024-01-01", periods=12, freq="MS"), "MS")
    assert months.shape == (12, 6) and np.abs(months - np.roll(months, 1, axis=0)).max() < 1.6
    assert calendar_features(pd.RangeIndex(9), None).shape == (9, 0)


def test_audit_sees_a_target_in_disguise(tmp_path: Path):
    frame = history(shop()).drop(columns=["weather", "region"])
    frame["price"] = np.random.default_rng(1).normal(size=len(frame)) - 0.01 * frame["sales"]
    later = frame.groupby("store")["sales"].shift(-2)
    frame["plan"] = (later.fillna(frame["sales"]) * 3 + 7).round(1)
    frame.to_csv(tmp_path / "stores.csv", index=False)
    named = {"data": str(tmp_path / "stores.csv"), "future": ("price", "plan", "holiday")}
    [warned] = [each for each in audit_forecast(config(**named)).findings if each.kind == "known"]
    assert [str(place) for place in warned.places] == [
        "plan: 100.0% of north 2 steps later", "plan: 100.0% of south 2 steps later"
    ]  # fmt: skip
    sound = audit_forecast(config(**named | {"future": ("price", "holiday")}))
    assert "no covariate that is said to be known ahead holds its target in disguise (2 looked at)" in sound.passed


def test_check_says_how_columns_could_be_named(tmp_path: Path):
    path, spell = tmp_path / "stores.csv", command_line("forecast", "check")
    history(shop()).to_csv(path, index=False)
    report = "\n".join(TASK.check(ForecastConfig(), str(path)).lines(spell))
    assert "name them (--future holiday --past weather,visitors --static region)" in report
    wide = shop(("north",))[["date", "sales", "holiday"]].assign(holiday=lambda each: each["holiday"].astype(int))
    report = "\n".join(TASK.check(ForecastConfig(), wide).lines(spell))
    assert "holiday is true or false, and read as series to forecast" in report and "(--future holiday)" in report


def test_names_of_other_libraries_have_a_hint(fitted):
    for name, own in {"futr_exog_list": "future", "past_covariates": "past", "static_features": "static"}.items():
        with pytest.raises(ArgumentError, match=f"{name} is no argument; did you mean {own}"):
            Forecaster(**{name: ["price"]})
        with pytest.raises(ConfigError, match=f"{name} is not a known field, did you mean {own}"):
            ForecastConfig.parse({name: ["price"]})
    with pytest.raises(ArgumentError, match="X_df is no argument; did you mean future_df"):
        fitted.predict(X_df=None)


@pytest.mark.parametrize("cells", [[0, 1, 1], [0.0, 1.0, np.nan], ["0", "1"], ["true", "FALSE", ""], [True, False]])
def test_truths_are_known_by_numbers_and_by_words(cells):
    assert is_truth(pd.Series(cells))


@pytest.mark.parametrize("cells", [[1, 1], [0, 1, 2], [0.5, 1.0], ["yes", "no"], ["0", "1", "2"], [np.nan, np.nan]])
def test_what_is_no_truth(cells):
    assert not is_truth(pd.Series(cells))
