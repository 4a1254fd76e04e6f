"""Covariates from the table to the forecast: roles, words, what is known ahead, and what a change of names leaves."""

import datetime
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from command import outcome
from multiway import Forecaster
from multiway.cli.options import command_line
from multiway.data.sources.cells import Column
from multiway.errors import ArgumentError, ConfigError, DataError, MultiwayWarning
from multiway.lazy import is_installed
from multiway.models.regression import REACH
from multiway.tasks.forecasting import ForecastConfig
from multiway.tasks.forecasting.audit import audit_forecast
from multiway.tasks.forecasting.calendar import calendar_features, holiday_features, holiday_names
from multiway.tasks.forecasting.config import Roles
from multiway.tasks.forecasting.encode import prepare_panel
from multiway.tasks.forecasting.read import read_panel
from multiway.tasks.forecasting.task import TASK
from multiway.tasks.forecasting.windows import covariates_of
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
    own = fitted.predict(future_df=plan(frame)).set_index(["store", "date"])["multiway"]
    actual = frame.set_index(["store", "date"])["sales"].loc[own.index]
    assert (own / actual - 1).abs().mean() < 0.1
    none = fitted.predict(future_df=plan(frame).assign(holiday=False)).set_index(["store", "date"])["multiway"]
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


def test_rows_of_a_plan_that_contradict_one_another_are_refused(fitted):
    frame = plan(shop())
    pd.testing.assert_frame_equal(
        fitted.predict(future_df=pd.concat([frame, frame])), fitted.predict(future_df=frame.iloc[::-1])
    )
    other = frame.iloc[[3]].assign(weather="snow")
    with pytest.raises(DataError, match=r"rows of one time and series differ in weather: row \d+\. Leave one"):
        fitted.predict(future_df=pd.concat([frame, other]))


def test_a_number_that_means_missing_is_missing_in_a_plan_too(fitted):
    frame = plan(shop())
    marked = (
        frame["holiday"].astype(int).where((frame["store"] != "south") | (frame["date"] < frame["date"].max()), -9999)
    )
    with pytest.raises(DataError, match="holiday of south is not known at 2023-09-02"):
        fitted.predict(future_df=frame.assign(holiday=marked))


def test_a_plan_of_other_times_is_refused_with_its_times(fitted):
    frame = plan(shop())
    with pytest.raises(
        DataError, match=r"no row is one of the 5 steps after 2023-08-28 .*: they are 2023-08-29 .*\+00:00"
    ):
        fitted.predict(future_df=frame.assign(date=frame["date"].dt.tz_localize("UTC")))


def test_words_that_the_training_rows_lack_are_named(fitted, recwarn):
    frame = plan(shop())
    fitted.predict(future_df=frame)
    assert not recwarn
    with pytest.warns(MultiwayWarning, match="fog, hail of 'weather' are new to the run and count as none"):
        fitted.predict(future_df=frame.assign(weather=["hail", "fog"] * HORIZON))
    past = history(shop())
    past = past.assign(weather=past["weather"].where(past["date"] < past["date"].max(), "snow"))
    with pytest.warns(MultiwayWarning, match="snow of 'weather' is new to the run and counts as none"):
        fitted.predict(past, future_df=frame)


def test_numbers_far_from_the_training_are_refused():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {"date": pd.date_range("2024-01-01", periods=120), "price": rng.uniform(2, 3, 120), "fee": 7.0}
    )
    frame["y"] = 90 - 9 * frame["price"] + rng.normal(0, 0.1, 120)
    roles = {"future": ["price"], "past": ["fee"], "levels": (), "settings": {"answer": "regression"}}
    own = Forecaster(**SIZES, **roles).fit(frame.iloc[:-HORIZON])
    ahead = frame.iloc[-HORIZON:][["date", "price"]]
    expected = own.predict(frame.iloc[:-HORIZON].assign(fee=8.0), future_df=ahead)  # a constant explains nothing
    np.testing.assert_allclose(expected["y"], frame["y"].iloc[-HORIZON:], atol=1.0)
    cents = ahead.assign(price=100 * ahead["price"])
    with pytest.raises(DataError, match=r"'price' lies [\d,]+ deviations .* in 100 % of the plan\. Mind the"):
        own.predict(future_df=cents)
    with pytest.warns(MultiwayWarning, match="the table: 'price' lies"):
        own.predict(future_df=cents, far=True)
    with pytest.raises(DataError, match=r"'price' lies .* of the last rows"):
        own.predict(frame.iloc[:-HORIZON].assign(price=lambda each: 100 * each["price"]), future_df=ahead)


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
    repeated = Forecaster(**SIZES, **roles, settings={"answer": "regression_log"}).fit(history(other))
    later = repeated.predict(future_df=other.drop(columns=["sales", "b", "c"]))
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


@pytest.mark.skipif(not is_installed("holidays"), reason="the extra holidays is not installed")
def test_the_real_package_names_days_of_countries_and_of_their_parts():
    times = pd.date_range("2024-05-29", periods=3, freq="D")
    assert holiday_names("DE", times).tolist() == ["", "", ""]
    assert holiday_names("DE-BY", times).tolist() == ["", "Corpus Christi", ""]
    lieu = holiday_names("US", pd.DatetimeIndex(["2021-07-04", "2021-07-05", "2021-07-06 13:00"]))
    assert lieu.tolist() == ["Independence Day", "Independence Day", ""]
    with pytest.raises(ConfigError, match="UX is no country, or part of one, that has a calendar"):
        holiday_names("UX", times)


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


def test_training_says_it_as_it_is_typed(tmp_path: Path):
    history(shop()).to_csv(tmp_path / "stores.csv", index=False)
    sizes = ["--horizon", 4, "--lookback", 8, "--answer", "ridge", "--set", "network=false"]
    words = ["train", "forecast", "--data", tmp_path / "stores.csv", *sizes, "--out", tmp_path / "run"]
    code, _, err = outcome(*words)
    assert code == 0 and "name them (--future holiday --past weather,visitors --static region)" in err


def test_errors_of_a_table_with_its_static_one_name_the_file(tmp_path: Path):
    frame = history(shop())[["date", "store", "sales"]]
    frame.assign(sales=frame["sales"].where(frame.index != 3)).to_csv(tmp_path / "stores.csv", index=False)
    pd.DataFrame({"store": ["north", "south"], "size": [3, 4]}).to_csv(tmp_path / "sizes.csv", index=False)
    words = ["train", "forecast", "--data", tmp_path / "stores.csv", "--static-data", tmp_path / "sizes.csv"]
    code, _, err = outcome(*words, "--out", tmp_path / "run")
    assert code == 1 and err.startswith("multiway: error: stores.csv: 1 cell is missing")


def test_check_says_how_columns_could_be_named(tmp_path: Path):
    path, spell = tmp_path / "stores.csv", command_line("forecast", "check")
    history(shop()).to_csv(path, index=False)
    report = "\n".join(TASK.kind.check(ForecastConfig(), str(path)).lines(spell))
    assert "name them (--future holiday --past weather,visitors --static region)" in report
    wide = shop(("north",))[["date", "sales", "holiday"]].assign(holiday=lambda each: each["holiday"].astype(int))
    report = "\n".join(TASK.kind.check(ForecastConfig(), wide).lines(spell))
    assert "holiday is true or false, and read as series to forecast" in report and "(--future holiday)" in report


def test_names_of_other_libraries_have_a_hint(fitted):
    names = {
        "futr_exog_list": "future", "hist_exog_list": "past", "stat_exog_list": "static", "past_covariates": "past",
        "future_covariates": "future", "static_features": "static", "timestamp_column": "time_column",
        "target": "value_column", "prediction_length": "horizon", "h": "horizon", "freq": "frequency",
    }  # fmt: skip
    for name, own in names.items():
        with pytest.raises(ArgumentError, match=f"{name} is no argument; did you mean {own}"):
            Forecaster(**{name: ["price"]})
        if own not in ForecastConfig.model_fields:
            continue
        with pytest.raises(ConfigError, match=f"{name} is not a known field, did you mean {own}"):
            ForecastConfig.parse({name: ["price"]})
    with pytest.raises(ArgumentError, match="X_df is no argument; did you mean future_df"):
        fitted.predict(X_df=None)


@pytest.mark.parametrize(("method", "name", "own"), [
    ("fit", "future_covariates", r"Forecaster\(future=\.\.\.\)"), ("predict", "future_covariates", "future_df"),
    ("fit", "static_features", "static_df"), ("predict", "h", r"Forecaster\(horizon=\.\.\.\)"),
    ("backtest", "n_windows", "cutoffs"), ("predict", "quantile_levels", "quantiles"), ("predict", "level", "levels"),
])  # fmt: skip
def test_names_of_other_libraries_may_be_those_of_another_method(method, name, own):
    with pytest.raises(ArgumentError, match=rf"Forecaster\.{method}: {name} is no argument; did you mean {own}\? It"):
        getattr(Forecaster(), method)(**{name: 3})
    with pytest.raises(ArgumentError, match=r"quantile_levels is no argument; did you mean predict\(quantiles="):
        Forecaster(quantile_levels=(0.1, 0.9))
    with pytest.raises(AttributeError, match=r"no attribute historical_forecasts; did you mean backtest\?"):
        Forecaster().historical_forecasts(n_windows=3)
    assert not hasattr(Forecaster(), "cutoff")


@pytest.mark.parametrize("cells", [[0, 1, 1], [0.0, 1.0, np.nan], ["0", "1"], ["true", "FALSE", ""], [True, False]])
def test_truths_are_known_by_numbers_and_by_words(cells):
    assert Column("open", pd.Series(cells)).is_truth


@pytest.mark.parametrize("cells", [[1, 1], [0, 1, 2], [0.5, 1.0], ["yes", "no"], ["0", "1", "2"], [np.nan, np.nan]])
def test_what_is_no_truth(cells):
    assert not Column("open", pd.Series(cells)).is_truth


def regions(rows: int = 300, stores: int = 10) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Sales that a fair lifts in one region and not in the other, and what is known of each store."""
    rng, times, parts = np.random.default_rng(2), pd.date_range("2023-01-01", periods=rows, freq="D"), []
    for store in range(stores):
        fair = rng.random(rows) < 0.03
        sales = 100 + 20 * rng.normal(size=rows) + (50 * fair if store % 2 else 0)
        parts.append(pd.DataFrame({"date": times, "store": f"s{store}", "sales": sales, "fair": fair}))
    return pd.concat(parts, ignore_index=True), pd.DataFrame(
        {"store": [f"s{store}" for store in range(stores)], "region": ["east", "west"] * (stores // 2)}
    )


def test_what_a_series_is_acts_through_what_varies():
    sales, stores = regions()
    sizes = {"horizon": 3, "lookback": 14, "network": False, "settings": {"answer": "regression", **ALONE}}
    own = Forecaster(**sizes, future=("fair",), static=("region",)).fit(sales.merge(stores, on="store"))
    run = own.run_
    model, learnt = run.model.candidates["regression"], run.state.covariates
    assert learnt.known == {"region": 2, "fair": 1} and bool(model.form[2])
    columns = model.effect[:, REACH]
    fair = columns[:, 0] + columns[:, 1:][:, :2].gather(1, torch.tensor([[0], [1]] * 5))[:, 0]
    scale = torch.tensor(run.state.scaler.std, dtype=torch.float32)
    effects = fair * scale
    assert effects[::2].abs().max() < 12 and (effects[1::2] - 50).abs().max() < 12
    [saved] = [row["saved"] for row in run.facts["covariates"] if row["name"] == "region"]
    assert saved > 0


@pytest.mark.slow
def test_a_network_is_shown_covariates_where_validation_gains(tmp_path: Path):
    frame = explained_by_price()
    tiny = {"model": {"dim": 16, "num_blocks": 1, "num_heads": 2, "patch_length": 7}, "partner": "none"}
    training = {"epochs": 15, "batch_size": 16, "learning_rate": 1e-2, "average": None}
    own = Forecaster(
        horizon=7, lookback=14, network=True, future=("price",), past=("idle",), gaps="fill",
        settings={**tiny, "training": training, "answer": "network", **ALONE},
    ).fit(frame)  # fmt: skip
    run = own.run_
    assert run.model.heeds
    saved = {row["name"]: row["saved"] for row in run.facts["covariates"] if row["model"] == "network"}
    assert saved["price"] > 0.4 and abs(saved["idle"]) < 0.1
    ahead = pd.DataFrame({"date": pd.date_range(frame["date"].iloc[-1], periods=8)[1:], "price": 0.4})
    cheap, dear = (
        own.predict(future_df=ahead.assign(price=price), layout="long")["multiway"].mean() for price in (0.4, 0.9)
    )
    assert cheap > dear + 1
    own.save(tmp_path / "run")
    loaded = Forecaster.load(tmp_path / "run")
    pd.testing.assert_frame_equal(loaded.predict(frame, future_df=ahead), own.predict(future_df=ahead))
    time = next(each for each in own.explain().last if each.mode == "time")
    assert list(time.key_labels[-1:]) == ["step 1–7"]


def explained_by_price(rows: int = 400) -> pd.DataFrame:
    """Noise that a low price lifts, and a column that tells nothing."""
    rng = np.random.default_rng(0)
    price, idle = rng.uniform(0, 1, (2, rows))
    values = 3.0 * (price < 0.5) + 0.3 * rng.standard_normal(rows)
    times = pd.date_range("2023-01-01", periods=rows, freq="D")
    return pd.DataFrame({"date": times, "y": values, "price": price, "idle": idle})


def test_what_series_are_may_stand_in_a_table_of_its_own(tmp_path: Path):
    sales, stores = regions(rows=90, stores=4)
    sizes = {"horizon": 3, "lookback": 7, "network": False, "future": ("fair",), "settings": {"answer": "regression"}}
    joined = Forecaster(**sizes, static=("region",)).fit(sales.merge(stores, on="store"))
    own = Forecaster(**sizes).fit(sales, static_df=stores)
    sales.to_csv(tmp_path / "sales.csv", index=False), stores.to_csv(tmp_path / "stores.csv", index=False)
    paths = Forecaster(**sizes).fit(tmp_path / "sales.csv", static_df=tmp_path / "stores.csv")
    for each in (own, paths):
        learnt, same = each.run_.state.covariates, joined.run_.state.covariates
        assert learnt.roles == same.roles and learnt.words == same.words and (learnt.static == same.static).all()
        for name, weight in joined.run_.model.state_dict().items():
            assert torch.equal(weight, each.run_.model.state_dict()[name]), name
    assert paths.run_.config.static_data == str(tmp_path / "stores.csv")
    with pytest.raises(DataError, match=r"the table: s3 has no row\. Give one for each series"):
        Forecaster(**sizes).fit(sales, static_df=stores[:3])
    with pytest.raises(DataError, match=r"the table: s0 has two rows"):
        Forecaster(**sizes).fit(sales, static_df=pd.concat([stores, stores[:1]]))
    with pytest.raises(DataError, match="shares the columns of its names"):
        Forecaster(**sizes).fit(sales, static_df=stores.rename(columns={"store": "shop"}))


def test_later_rows_are_described_too():
    sales, stores = regions(rows=90, stores=4)
    last = sales["date"].max() - pd.Timedelta(days=10)
    sizes = {"horizon": 3, "lookback": 7, "network": False, "future": ("fair",), "settings": {"answer": "regression"}}
    own = Forecaster(**sizes).fit(sales[sales["date"] <= last], static_df=stores).update(sales[sales["date"] > last])
    assert own.run_.prepared.panel.num_rows == 90 and own.run_.state.covariates.known["region"] == 2


def test_a_network_forecasts_what_a_regression_leaves():
    tiny = {"model": {"dim": 8, "num_blocks": 1, "num_heads": 2, "patch_length": 7}, "training": {"epochs": 1}}
    settings = {**tiny, "partner": "none", "answer": "regression", **ALONE}
    run = Forecaster(**{**SIZES, "network": True}, future=("holiday",), settings=settings).fit(history(shop())).run_
    model, windows = run.model, run.prepared.windows["test"]
    assert model.explained
    batch = windows.gather(torch.arange(3))
    covariates = covariates_of(batch)
    effects = model.candidates["regression"].effects(covariates.known)
    heard = covariates if model.heeds else None
    with torch.no_grad():
        expected = model.network(batch["past"] - effects[:, :14], None, heard) + effects[:, 14:]
        assert torch.equal(model.forecasts(batch["past"], None, ["network"], covariates)["network"], expected)
    errors = {row["model"]: row["value"] for row in run.scores if (row["metric"], row["scale"]) == ("mse", "scaled")}
    assert errors["network"] < 0.8 * errors["ridge"]
