"""Covariates as they were issued: what every window sees, against a slow loop over the rows of the table."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
import torch

from command import outcome, printed
from multiway import Forecaster
from multiway.errors import ConfigError, DataError, MultiwayWarning
from multiway.models.regression import Regression
from multiway.tasks.forecasting import ForecastConfig
from multiway.tasks.forecasting.audit import audit_forecast
from multiway.tasks.forecasting.candidates.regression import leave_effects_of_each, views
from multiway.tasks.forecasting.encode import PreparedPanel, prepare_panel
from multiway.tasks.forecasting.processes import WHOLE
from multiway.tasks.forecasting.windows import Windows
from tasks.forecasting.panels import weather
from tolerances import LONG32, SUMS32

LOOKBACK, HORIZON = 21, 8
DAY, DAYS = pd.Timedelta(days=1), 160
ISSUED = {"future": ("temp",), "issued": "issued"}
SIZES = {"lookback": LOOKBACK, "horizon": HORIZON, "network": False, "calendar": False}


def two_stores(frame: pd.DataFrame) -> pd.DataFrame:
    other = weather(seed=9)
    return pd.concat([frame.assign(store="north"), other.assign(store="south")]).sort_values(["issued", "store"])


def irregular(frame: pd.DataFrame) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    kept = frame[rng.random(len(frame)) < 0.5]
    moved = kept["issued"] + pd.to_timedelta(rng.integers(-2000, 2000, len(kept)), unit="min")
    return pd.concat([kept.assign(issued=moved), targets(frame)])


def targets(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows of the target alone."""
    return frame.drop_duplicates("date").assign(issued=pd.NaT, temp=np.nan)


def missing(frame: pd.DataFrame) -> pd.DataFrame:
    day = (frame["issued"] - frame["issued"].min()) // DAY
    return pd.concat([frame[~(day % 40).between(5, 25)], targets(frame)])


def once(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(load=frame["load"].where(~frame.duplicated("date", keep="last")))


def empty_cells(frame: pd.DataFrame) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    wind = pd.Series(rng.normal(size=len(frame)), frame.index)
    return frame.assign(
        wind=wind.where(rng.random(len(frame)) < 0.5), temp=frame["temp"].where(rng.random(len(frame)) < 0.7)
    )


def words(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(temp=np.where(frame["temp"] > 1, "hot", np.where(frame["temp"] < -1, "cold", "mild")))


def late_visitors(frame: pd.DataFrame) -> pd.DataFrame:
    visitors = (frame["load"] * 2).where(frame["issued"] > frame["date"])
    return frame.assign(visitors=visitors)


def in_numbers(frame: pd.DataFrame) -> pd.DataFrame:
    first = frame["issued"].min()
    return frame.assign(**{name: (frame[name] - first) // DAY for name in ("date", "issued")})


def two_series(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(gas=100 - frame["load"])


CASES: dict[str, tuple[Callable[[pd.DataFrame], pd.DataFrame], dict[str, object]]] = {
    "early forecasts are noisy": (lambda frame: frame, {}),
    "issues at any minute": (irregular, {}),
    "weeks without an issue": (missing, {}),
    "stores in a long table": (two_stores, {}),
    "series in columns": (two_series, {}),
    "reach shorter than the horizon": (lambda frame: frame[frame["issued"] + 4 * DAY >= frame["date"]], {}),
    "another time zone": (
        lambda frame: frame.assign(
            date=frame["date"].dt.tz_localize("UTC"),
            issued=frame["issued"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"),
        ),
        {},
    ),
    "times with a zone, issues without": (
        lambda frame: frame.assign(date=frame["date"].dt.tz_localize("America/New_York")),
        {},
    ),
    "another way to write dates": (
        lambda frame: frame.assign(
            date=frame["date"].dt.strftime("%Y-%m-%d"), issued=frame["issued"].dt.strftime("%d.%m.%Y %H:%M")
        ),
        {},
    ),
    "rows twice, in any order": (
        lambda frame: pd.concat([frame, frame]).sample(frac=1, random_state=0),
        {},
    ),
    "the target stands once": (once, {}),
    "empty cells in later issues": (empty_cells, {"future": ("temp", "wind")}),
    "words": (words, {}),
    "what is known of the past comes late": (late_visitors, {"past": ("visitors",)}),
    "whole numbers for times": (in_numbers, {}),
    "hours": (lambda frame: weather(step="h"), {"season": 6}),
}
PARTS = (("known", "future", LOOKBACK + HORIZON), ("seen", "past", LOOKBACK))


def issued_config(**changes: object) -> ForecastConfig:
    return ForecastConfig.parse({**SIZES, **ISSUED, **changes})


def moments(column: pd.Series, like: pd.Index) -> pd.Series:
    """Times of a column on the clock of the panel's."""
    if not isinstance(like, pd.DatetimeIndex):
        return column
    read = pd.to_datetime(column, dayfirst="." in str(column.iloc[0]))
    if like.tz is None:
        return read
    return read.dt.tz_localize(like.tz) if read.dt.tz is None else read.dt.tz_convert(like.tz)


def by_a_loop(frame: pd.DataFrame, prepared: PreparedPanel, name: str, cutoff: int, steps: int) -> list[list[object]]:
    """What was known of a column at a cutoff, `steps` by series, by going through the rows one after another."""
    panel, season = prepared.panel, prepared.covariates.season
    times = panel.times.append(panel.future_times(HORIZON))
    frame = frame.assign(date=moments(frame["date"], times), issued=moments(frame["issued"], times))
    frame = frame.sort_values("issued", kind="stable")
    series = panel.names if "store" in frame else (None,)
    known: list[list[object]] = [[None] * len(series) for _ in range(steps)]
    first = cutoff - LOOKBACK + 1
    for place, store in enumerate(series):
        own = frame if store is None else frame[frame["store"] == store]
        own = own[own["issued"] <= times[cutoff]]
        for step in range(steps):
            for value in own.loc[own["date"] == times[first + step], name]:
                if not pd.isna(value):
                    known[step][place] = value
    for place in range(len(series)):
        for step in range(season, steps):
            if known[step][place] is None:
                known[step][place] = known[step - season][place]
        for step in range(steps - season - 1, -1, -1):
            if known[step][place] is None:
                known[step][place] = known[step + season][place]
    return known


def encoded(value: object, name: str, prepared: PreparedPanel) -> list[float]:
    """Features of a cell as training scales them."""
    learnt = prepared.covariates
    if name in learnt.words:
        return [float(value == word) for word in learnt.words[name]]
    place = learnt.roles.columns.index(name)
    return [0.0 if value is None else (float(str(value)) - learnt.mean[place]) / learnt.std[place]]


@pytest.mark.parametrize("case", CASES)
def test_every_window_sees_what_had_been_issued_by_its_cutoff(case):
    change, settings = CASES[case]
    frame, config = change(weather()), issued_config(**settings)
    prepared = prepare_panel(config, frame)
    for split in ("train", "validation", "test"):
        windows = prepared.windows[split]
        for index in (0, len(windows) // 3, len(windows) - 1):
            batch = windows.gather(torch.tensor([index]))
            cutoff = int(batch["start"]) + LOOKBACK - 1
            for part, role, steps in PARTS:
                names = getattr(config, role)
                cells = {name: by_a_loop(frame, prepared, name, cutoff, steps) for name in names}
                expected = [
                    [feature for name in names for feature in encoded(cells[name][step][place], name, prepared)]
                    for step in range(steps)
                    for place in range(batch[part].shape[2])
                ]
                np.testing.assert_allclose(batch[part][0].flatten(0, 1).numpy(), expected, rtol=LONG32, atol=LONG32)


def without_later_issues(frame: pd.DataFrame, cutoff: pd.Timestamp) -> pd.DataFrame:
    """The rows that were there at a cutoff, and only values that had come."""
    there = frame[frame["issued"] <= cutoff]
    return there.assign(load=there["load"].where(there["date"] <= cutoff))


def forecaster(**changes: object) -> Forecaster:
    settings = {"calendar": False, "answer": "regression"}
    sizes = {name: each for name, each in SIZES.items() if name != "calendar"}
    return Forecaster(**{**sizes, **ISSUED, "settings": settings, **changes})


@pytest.fixture(scope="module")
def fitted() -> Forecaster:
    return forecaster().fit(weather())


def test_a_backtest_forecasts_from_the_rows_that_were_there_at_its_cutoffs(fitted):
    frame = weather()
    for refit_every in (None, 1):
        table = fitted.backtest(cutoffs=3, step=3, refit_every=refit_every, levels=(80,))
        for cutoff, part in table.groupby("cutoff"):
            moved = frame.assign(temp=frame["temp"].where(frame["issued"] <= cutoff, 1e3))
            other = fitted.backtest(moved, cutoffs=[cutoff], refit_every=refit_every, levels=(80,))
            pd.testing.assert_frame_equal(other, part.reset_index(drop=True))


def test_a_forecast_is_that_of_a_backtest_from_its_last_row():
    frame = weather()
    cutoff = frame["date"].min() + 140 * DAY
    kept = forecaster(refit="none").fit(frame)
    own = kept.predict(without_later_issues(frame, cutoff), levels=())
    past = kept.backtest(cutoffs=[cutoff])
    np.testing.assert_allclose(own["load"], past["multiway"], rtol=SUMS32)
    np.testing.assert_array_equal(own["date"], past["date"])


def regression_error(frame: pd.DataFrame, **changes: object) -> float:
    scores = forecaster(**changes).fit(frame).scores_
    chosen = scores[(scores["model"] == "regression") & (scores["scale"] == "scaled") & (scores["metric"] == "mse")]
    return float(chosen["value"].iloc[0])


def test_a_final_value_that_is_the_target_tells_no_forecast_of_it():
    frame = weather(noise=3.0)
    final = frame["issued"] > frame["date"]
    leaking = frame.assign(temp=frame["temp"].where(~final, frame["load"]))
    assert regression_error(leaking) > 0.2
    early = leaking.assign(issued=leaking["issued"].where(~final, leaking["date"] - 9 * DAY))
    early = early[final | (early["date"] == early["date"].min())]
    assert regression_error(early) < 0.05


def test_effects_are_those_of_what_is_known_at_the_lead():
    """A forecast that is mostly noise moves the answer less than what it will be, and does not harm it."""
    effects, errors = [], []
    for noise in (0.0, 3.0):
        frame = weather(noise=noise)
        own = forecaster().fit(frame)
        effects.append(float(own.run_.models["multiway"].candidates["regression"].effect.sum()))
        errors.append(regression_error(frame))
    assert effects[0] > 3 * effects[1] > 0
    assert errors[0] < 0.3 * errors[1]
    alone = regression_error(weather(noise=3.0).assign(temp=0.0))
    assert errors[1] < 1.05 * alone


def targets_with_effects(**changes: object) -> tuple[Windows, Regression]:
    """Training windows with a missing cell, and a regression with some effects."""
    frame = weather()
    frame.loc[frame["date"] == frame["date"].min() + 60 * DAY, "load"] = np.nan
    prepared = prepare_panel(issued_config(read={"missing": "mask"}, **changes), frame)
    windows = prepared.windows["train"].of_targets()
    model = Regression(LOOKBACK, HORIZON, 1, series=1, known=1, seen=0, recent=0)
    model.effect.copy_(torch.randn(model.effect.shape, generator=torch.Generator().manual_seed(0)))
    return windows, model


def test_effects_leave_each_window_by_what_it_knew():
    windows, model = targets_with_effects()
    left, index = leave_effects_of_each(windows, model), torch.tensor([5, 40, 50])
    one, other = windows.gather(index), left.gather(index)
    effects = model.effects(one["known"])
    for name, own in (("past", effects[:, :LOOKBACK]), ("future", effects[:, LOOKBACK:])):
        expected = torch.where(one[f"{name}_observed"], one[name] - own, 0.0)
        torch.testing.assert_close(other[name], expected, rtol=SUMS32, atol=SUMS32)
    assert not one["past_observed"].all() and len(left) == len(windows)


def test_effects_are_fitted_on_rows_as_the_horizons_before_them_know_them():
    windows, _ = targets_with_effects()
    firsts = []
    for own, known in views(windows):
        firsts.append(own.start)
        for row in range(LOOKBACK, len(known)):
            start = own.start + (row - LOOKBACK) // HORIZON * HORIZON
            seen = windows.gather(torch.tensor([start]))["known"][0]
            assert torch.equal(known[row], seen[LOOKBACK + (row - LOOKBACK) % HORIZON])
    assert firsts == [0, 2, 4, 6]


def test_a_covariate_that_is_hidden_says_nothing_in_any_issue():
    prepared = prepare_panel(issued_config(past=("wind",), future=("temp",)), empty_cells(weather()))
    windows, index = prepared.windows["test"], torch.tensor([3])
    for part, kept in (("known", "seen"), ("seen", "known")):
        hidden = windows.replace(covariates=windows.covariates.hide(part, 0, 1)).gather(index)
        assert not hidden[part].any() and torch.equal(hidden[kept], windows.gather(index)[kept])
        assert windows.gather(index)[part].any()


def history_and_plan() -> tuple[pd.DataFrame, pd.DataFrame, pd.Timestamp]:
    frame = weather()
    last = frame["date"].min() + (DAYS - 20) * DAY
    there = frame[frame["issued"] <= last]
    return there[there["date"] <= last], there[there["date"] > last].drop(columns="load"), last


def test_a_plan_is_seen_as_it_was_issued_by_the_last_row(fitted):
    history, plan, last = history_and_plan()
    whole = pd.concat([history, plan])
    expected = fitted.predict(whole)
    pd.testing.assert_frame_equal(fitted.predict(history, future_df=plan), expected)
    latest = plan.sort_values("issued").drop_duplicates("date", keep="last")
    pd.testing.assert_frame_equal(fitted.predict(history, future_df=latest), expected)
    later = plan.assign(issued=last + DAY / 4, temp=1e3)
    count = (later["date"] <= last + HORIZON * DAY).sum()
    with pytest.warns(MultiwayWarning, match=f"{count} rows were issued after {last}, the last time with a value"):
        pd.testing.assert_frame_equal(fitted.predict(history, future_df=pd.concat([plan, later])), expected)
    with (
        pytest.warns(MultiwayWarning, match="were issued after"),
        pytest.raises(DataError, match=f"by {last}, the last row of the history, nothing had been issued of temp for"),
    ):
        fitted.predict(history, future_df=later)
    with pytest.raises(DataError, match="'issued', which is not there"):
        fitted.predict(history, future_df=latest.drop(columns="issued"))
    with pytest.raises(DataError, match=r"nothing had been issued of temp .* \(future_df=\"FILE\"\)"):
        fitted.predict(history)


def test_a_plan_of_a_few_steps_is_told_of(fitted):
    history, plan, last = history_and_plan()
    with pytest.warns(MultiwayWarning, match=f"by {last} nothing had been issued for 5 of 8 steps"):
        short = fitted.predict(history, future_df=plan[plan["date"] <= last + 3 * DAY])
    assert np.isfinite(short["load"]).all()


def test_later_rows_bring_later_issues():
    frame = weather()
    last = frame["date"].min() + (DAYS - 20) * DAY
    own = forecaster().fit(without_later_issues(frame, last))
    own.update(frame[frame["issued"] > last])
    whole = own.run_.prepared.panel.covariates.vintages
    expected = prepare_panel(issued_config(), frame).panel.covariates.vintages
    for name in ("row", "series", "since", "values"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(expected, name))


def test_what_is_known_when_is_part_of_the_digest():
    frame = weather()
    one, other = (
        [*prepare_panel(issued_config(), each).content()][-2]
        for each in (frame, frame.assign(issued=frame["issued"] - DAY))
    )
    assert not np.array_equal(one, other)


def test_series_keep_their_issues_in_another_order():
    frame = two_stores(weather())
    own, other = (
        prepare_panel(issued_config(targets=(name,)), frame).windows["train"].of_targets().gather(torch.tensor([3]))
        for name in ("south", "north")
    )
    both = prepare_panel(issued_config(), frame).windows["train"].gather(torch.tensor([3]))["known"]
    assert torch.equal(own["known"], both[:, :, 1:]) and torch.equal(other["known"], both[:, :, :1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda frame: frame.assign(load=frame["load"] + (frame.index == 500)),
            "rows of one time have different targets",
        ),
        (
            lambda frame: frame.assign(issued=frame["issued"].where(frame.index != 7)),
            "1 rows have temp, and no time in",
        ),
        (
            lambda frame: pd.concat([frame, frame.iloc[[70]].assign(temp=9.0)]),
            "rows of one time, series and issue differ in temp: row 1600",
        ),
        (
            lambda frame: frame.assign(issued=frame["issued"].dt.tz_localize("UTC")),
            "Write both with an offset, or both",
        ),
        (lambda frame: frame.assign(issued=range(len(frame))), "are not written alike"),
        (lambda frame: frame.drop(columns="issued"), "issued names 'issued', which is not there"),
        (lambda frame: frame.assign(issued="soon"), "the times cannot be understood"),
        (lambda frame: frame.assign(issued=pd.NaT), "1600 rows have temp, and no time in 'issued'"),
        (lambda frame: frame.drop(columns="date"), "no column the time that they are for"),
    ],
)
def test_what_contradicts_itself_is_refused(change, message):
    with pytest.raises(DataError, match=message):
        prepare_panel(issued_config(), change(weather()))


def test_of_rows_of_one_issue_the_first_or_the_last_may_stay():
    frame = weather()
    row = frame.index[(frame["date"] == frame["date"].min() + 50 * DAY)][-1]  # its last issue
    twice = pd.concat([frame, frame.loc[[row]].assign(temp=9.0)])
    for policy, expected in (("first", frame.loc[row, "temp"]), ("last", 9.0)):
        prepared = prepare_panel(issued_config(read={"duplicates": policy}), twice)
        day = prepared.panel.times.get_loc(frame.loc[row, "date"])
        assert prepared.panel.covariates.at(len(prepared.panel.times) - 1)[day, 0, 0] == expected


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"future": ()}, "Name them with future or past"),
        ({"future": ("temp", "issued")}, "issued is a column of its own"),
        ({"read": {"resample": "mean", "frequency": "D"}}, "Leave read.resample out"),
        ({"read": {"duplicates": "mean"}}, "set read.duplicates to first, last or error"),
    ],
)
def test_what_cannot_be_combined_is_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        issued_config(**settings)


def test_several_processes_are_refused_by_name():
    assert "issued" in WHOLE and {*WHOLE} <= {*ForecastConfig.model_fields}


def test_rows_off_the_step_are_refused():
    frame = weather()
    moved = frame.assign(date=frame["date"] + pd.to_timedelta(np.where(frame.index == 700, 60, 0), unit="min"))
    with pytest.raises(DataError, match="1 rows are off the step"):
        prepare_panel(issued_config(read={"frequency": "D", "gaps": "fill"}), moved)


def audit_lines(frame: pd.DataFrame, path) -> str:
    frame.to_csv(path, index=False)
    report = audit_forecast(issued_config(data=str(path)))
    return "\n".join([*(f"{each.severity}: {each.line()}" for each in report.findings), *report.passed])


def test_an_audit_flags_final_values_that_are_said_to_be_known_ahead(tmp_path):
    frame = weather()
    final = frame[frame["issued"] > frame["date"]]
    for own in (final, final.assign(issued=final["date"])):
        assert "warning: columns that are said to be known ahead have final values" in audit_lines(
            own, tmp_path / "a.csv"
        )
        assert "temp: 100% of its times" in audit_lines(own, tmp_path / "a.csv")
    assert "was issued before the time that it is for (1 looked at)" in audit_lines(frame, tmp_path / "b.csv")


def test_a_check_says_how_often_times_were_issued():
    frame = weather()
    there = frame[frame["issued"] <= frame.loc[frame["load"].notna(), "date"].max()]
    notes = prepare_panel(issued_config(), frame).panel.notes
    often = there.groupby("date").size().mean()
    assert any(f"each time has {often:.1f} of them on average" in line for line in notes)


def test_a_reach_that_is_shorter_than_the_horizon_is_noted():
    frame = weather()
    notes = prepare_panel(issued_config(), frame[frame["issued"] + 4 * DAY >= frame["date"]]).notes
    assert any("temp: of 50% of the steps ahead nothing had been issued" in line for line in notes)
    assert not any("nothing had been issued" in line for line in prepare_panel(issued_config(horizon=4), frame).notes)


@pytest.mark.parametrize(
    ("change", "fix"),
    [
        (lambda frame: frame, "--issued issued --future NAME,NAME"),
        (two_stores, "--issued issued --future NAME,NAME"),
        (
            lambda frame: frame[["issued", "date", "temp", "load"]].rename(columns={"issued": "run", "date": "valid"}),
            "--issued run --time valid --future NAME,NAME",
        ),
    ],
)
def test_a_check_names_the_column(change, fix, tmp_path):
    path = tmp_path / "loads.csv"
    change(weather()).to_csv(path, index=False)
    code, out, _ = outcome("check", path)
    assert code == 1 and fix in out
    if "run" in fix:  # the time is found where the other column is named
        prepared = prepare_panel(issued_config(issued="run"), pd.read_csv(path))
        assert prepared.panel.columns.time == "valid" and prepared.panel.names == ("load",)


def test_the_command_line_trains_and_forecasts(tmp_path):
    history, plan, _ = history_and_plan()
    data, next_days, run = tmp_path / "loads.csv", tmp_path / "plan.csv", tmp_path / "run"
    history.to_csv(data, index=False)
    plan.to_csv(next_days, index=False)
    options = ["--horizon", "8", "--future", "temp", "--issued", "issued", "--set", "answer=regression"]
    printed("train", "forecast", "--data", data, *options, "--out", run)
    printed("predict", run, "--data", data, "--future-data", next_days, "--out", tmp_path / "next.csv")
    own = Forecaster.load(run).predict(str(data), future_df=str(next_days))
    written = pd.read_csv(tmp_path / "next.csv")
    np.testing.assert_allclose(written["multiway"], own["load"], rtol=SUMS32)
    assert "--issued" in printed("train", "forecast", "--help")
