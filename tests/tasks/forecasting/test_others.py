"""Forecasts that someone else made at past cutoffs are candidates, on the windows at these alone."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
import torch

from command import outcome, printed
from multiway.errors import DataError
from multiway.models.windows import Others
from multiway.tasks.forecasting import Forecaster
from multiway.tasks.forecasting.config import Held
from multiway.tasks.forecasting.others import absent_models, read_others
from multiway.tasks.forecasting.read import read_panel

HORIZON, ROWS = 4, 160
DAYS = pd.date_range("2024-01-01", periods=ROWS + HORIZON)
STORES = ("north", "south")


def sales(rows=ROWS):
    """A season of seven days with much noise, so that nothing forecasts well but who knows what comes."""
    rng, parts = np.random.default_rng(0), []
    for place, name in enumerate(STORES):
        values = 50 + 10 * np.sin(np.arange(ROWS + HORIZON) * 2 * np.pi / 7 + place) + rng.normal(0, 8, ROWS + HORIZON)
        parts.append(pd.DataFrame({"store": name, "date": DAYS, "sales": values}))
    return pd.concat(parts, ignore_index=True).loc[lambda frame: frame["date"] < DAYS[0] + pd.Timedelta(days=rows)]


def outside(every=5, last=ROWS - 1, **errors):
    """Forecasts of models whose errors have some deviations, from every so many rows and from a last one."""
    rng, known = np.random.default_rng(1), sales(ROWS + HORIZON).set_index(["store", "date"])["sales"]
    rows = [*range(40, last, every), last]
    keys = [(name, DAYS[row], DAYS[row + step]) for row in rows for name in STORES for step in range(1, HORIZON + 1)]
    table = pd.DataFrame(keys, columns=["store", "cutoff", "date"])
    truth = known.loc[pd.MultiIndex.from_frame(table[["store", "date"]])].to_numpy()
    return table.assign(**{name: truth + rng.normal(0, each, len(truth)) for name, each in errors.items()})


def fitted(candidates):
    settings = {"network": False, "levels": (80,)}
    return Forecaster(horizon=HORIZON, lookback=14, candidates=candidates, settings=settings).fit(sales())


@pytest.fixture(scope="module")
def two():
    return fitted(outside(oracle=0.1, noise=60.0))


def test_who_knows_what_comes_has_nearly_all_weight_and_noise_has_none(two):
    weights = two.selection_.weights
    assert weights["oracle"] == pytest.approx(0.99) and "noise" not in weights
    assert sum(weights.values()) == pytest.approx(1)
    ahead = two.predict(layout="long").set_index(["store", "date"])["multiway"]
    actual = sales(ROWS + HORIZON).set_index(["store", "date"])["sales"].loc[ahead.index]
    assert (ahead - actual).abs().max() < 1.5
    scores = two.scores_.query("metric == 'mae' and scale == 'original' and split == 'test'").set_index("model")[
        "value"
    ]
    assert scores["oracle"] < 0.2 and scores["multiway"] < 0.3 and scores["ridge"] > 4 and scores["noise"] > 30


def test_all_are_compared_and_scored_at_the_cutoffs_alone(two):
    errors, split = two.run_.tables["errors"], two.run_.facts["splits"]["test"]
    cutoffs = [
        row for row in (*range(40, ROWS - 1, 5), ROWS - 1) if split["start"] <= row + 1 <= split["stop"] - HORIZON
    ]
    note = next(note for note in two.run_.facts["notes"] if note.startswith("oracle, noise: compared"))
    assert f"the {two.run_.facts['selection']['windows']} windows at their cutoffs" in note
    assert f"all scores are of the {len(cutoffs)} test windows at these" in note
    assert set(errors["variate"]) == set(STORES)


def test_noise_alone_leaves_weights_and_forecast_as_they_are():
    noisy, alone = fitted(outside(noise=60.0)), fitted(None)
    assert noisy.selection_.weights == alone.selection_.weights
    pd.testing.assert_frame_equal(noisy.predict(), alone.predict())


def test_an_outsider_that_errs_apart_shares_the_weight():
    both = fitted(outside(peer=8.0)).selection_.weights
    assert 0.2 < both["peer"] < 0.8 and sum(both.values()) == pytest.approx(1)


def test_a_backtest_is_from_the_cutoffs_of_others_and_no_other(two):
    table = two.backtest(cutoffs=3, levels=80)
    rows = [row for row in (*range(40, ROWS - 1, 5), ROWS - 1) if row < ROWS - HORIZON][-3:]
    assert list(table["cutoff"].drop_duplicates()) == list(DAYS[rows])
    given = outside(oracle=0.1, noise=60.0).set_index(["store", "cutoff", "date"])
    keys = pd.MultiIndex.from_frame(table[["store", "cutoff", "date"]])
    np.testing.assert_allclose(table["oracle"], given.loc[keys, "oracle"], rtol=1e-5)
    assert (table["multiway"] - table["sales"]).abs().max() < 1.5
    with pytest.raises(DataError, match="no forecast by oracle from the cutoff 2024-05-31"):
        two.backtest(cutoffs=["2024-05-31"])


def test_without_a_forecast_from_the_last_row_none_is_made_up(tmp_path):
    sales().to_csv(tmp_path / "sales.csv", index=False)
    table = outside(last=ROWS - 2, oracle=0.1)
    table.to_csv(tmp_path / "others.csv", index=False)
    given = ["--horizon", HORIZON, "--lookback", 14, "--set", "network=false", "--quiet"]
    printed(
        "train", "forecast", "--data", tmp_path / "sales.csv", "--candidates", tmp_path / "others.csv", *given,
        "--out", tmp_path / "run",
    )  # fmt: skip
    assert not (tmp_path / "run" / "predictions.parquet").exists()
    code, out, err = outcome("predict", tmp_path / "run")
    assert code == 1 and not out
    assert (
        "no forecast of all 4 steps by oracle (99% of the answer) from the cutoff 2024-06-08 00:00:00, the last" in err
    )
    assert len(printed("predict", tmp_path / "run", "--model", "ridge").splitlines()) == 2 + 2 * HORIZON
    later = outside(oracle=0.1).query("cutoff == cutoff.max()")
    pd.concat([table, later]).to_csv(tmp_path / "others.csv", index=False)  # the last cutoff has come by now
    assert len(printed("predict", tmp_path / "run").splitlines()) == 1 + 2 * HORIZON
    assert "oracle" in printed("evaluate", tmp_path / "run")
    printed("report", tmp_path / "run")
    assert "Last test window" in (tmp_path / "run" / "report.html").read_text()


def test_later_history_takes_later_cutoffs_of_the_frame(two):
    shorter = sales(ROWS - 4)
    ahead = two.predict(shorter, layout="long").set_index(["store", "date"])["multiway"]
    actual = sales().set_index(["store", "date"])["sales"].loc[ahead.index]
    assert ahead.index.get_level_values("date").min() == DAYS[ROWS - 4] and (ahead - actual).abs().max() < 1.5
    with pytest.raises(DataError, match="no forecast of all 4 steps by oracle"):
        two.predict(sales(ROWS - 3))


BAD = {
    "its own time": (lambda table: table.assign(cutoff=table["date"]), "a forecast is of times after its cutoff"),
    "no time": (
        lambda table: table.assign(cutoff=table["cutoff"] + pd.Timedelta(hours=5)),
        "the cutoff 2024-02-10 05:00:00 is none of the times of the history",
    ),
    "off the grid": (
        lambda table: table.assign(date=table["date"] + pd.Timedelta(hours=5)),
        "the time 2024-02-11 05:00:00 is no step of the history",
    ),
    "no cutoff": (lambda table: table.drop(columns="cutoff"), "there is no column cutoff"),
    "no model": (lambda table: table.drop(columns="oracle"), "no column holds forecasts"),
    "ours": (lambda table: table.rename(columns={"oracle": "ets"}), "no model of others can be called ets"),
    "a method": (lambda table: table.rename(columns={"oracle": "keys"}), "no model of others can be called keys"),
    "twice": (lambda table: pd.concat([table, table]), "rows repeat a series, cutoff and time"),
    "a series less": (lambda table: table.query("store == 'north'"), "there is no forecast of south"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
def test_a_table_that_cannot_be_is_refused_in_one_line(kind):
    change, words = BAD[kind]
    with pytest.raises(DataError, match=words):
        read_others(change(outside(oracle=0.1)), Forecaster().config().read, read_panel(sales()), HORIZON, 2)


def test_without_cutoffs_in_the_test_rows_nothing_is_answered():
    table = outside(oracle=0.1)
    with pytest.raises(DataError, match=r"from cutoffs of test, 2024-.* of all 4 steps of every series"):
        fitted(table[table["cutoff"] < DAYS[120]])


def test_past_forecasts_that_nothing_can_be_judged_by_are_refused():
    table = outside(oracle=0.1)
    for few in (table[table["cutoff"] < DAYS[50]], table[table["date"] - table["cutoff"] < pd.Timedelta(days=HORIZON)]):
        with pytest.raises(DataError, match=r"from cutoffs of validation, 2024-.* of all 4 steps of every series"):
            fitted(few)


@pytest.mark.parametrize("form", ["own", "others", "peers", "zoned"])
def test_columns_are_named_as_in_the_history_or_as_others_name_them(form):
    table, frame = outside(oracle=0.0).sample(frac=1, random_state=0), sales()
    if form == "others":
        table = table.rename(columns={"store": "unique_id", "date": "ds"})
    if form == "peers":
        table = table.assign(sales=1.0, **{"oracle-lo-80": 0.0, "oracle-hi-80": 9.0, "oracle-q-10": 9.0})
    if form == "zoned":
        frame["date"] = frame["date"].dt.tz_localize("Europe/Berlin")
    panel = read_panel(frame)
    others = read_others(Held(table), Forecaster().config().read, panel, HORIZON, 2)
    assert others.names == ("oracle",) and others.ends.tolist() == [*range(41, ROWS, 5), ROWS][: len(others.ends)]
    found, known = others.at(torch.tensor([41, 42]), 0), panel.values
    np.testing.assert_allclose(found[0], known[41 : 41 + HORIZON], rtol=1e-12)
    assert found[1].isnan().all()
    panel = dataclasses.replace(panel, others=others)
    assert absent_models(panel, ["oracle"], 2, HORIZON, 41) == [] and absent_models(panel, ["oracle"], 2, 4, 42)


def test_hours_of_a_zone_are_found_over_a_change_of_clocks():
    hours = pd.date_range("2024-10-26", periods=48, freq="h", tz="Europe/Berlin")
    values = np.arange(48.0)
    panel = read_panel(pd.DataFrame({"date": hours, "load": values}))
    table = pd.DataFrame({"date": hours[25:28], "cutoff": hours[24], "peer": values[25:28]})
    others = read_others(table, Forecaster().config().read, panel, 3, 1)
    assert others.ends.tolist() == [25] and others.values.flatten().tolist() == [25.0, 26.0, 27.0]
    plain = table.assign(**{name: table[name].dt.tz_localize(None) for name in ("date", "cutoff")}).iloc[:1]
    found = read_others(plain, Forecaster().config().read, panel, 3, 1)
    assert found.ends.tolist() == [25] and found.values[0, 0, 0, 0] == 25
    with pytest.raises(DataError, match="those of the history like 2024-10-26"):
        read_others(table.assign(date=[1, 2, 3], cutoff=0), Forecaster().config().read, panel, 3, 1)
    late = read_others(
        table.assign(cutoff=hours[-1], date=hours[-1] + np.arange(1, 4) * pd.Timedelta(hours=1)),
        Forecaster().config().read,
        read_panel(pd.DataFrame({"date": hours[:30], "load": values[:30]})),
        3,
        1,
    )
    assert late.at(torch.tensor([25]), 0).isnan().all()


def test_nothing_is_taken_from_a_cutoff_after_the_window():
    values = torch.arange(24.0).view(3, 2, 2, 2)
    others = Others(torch.tensor([4, 8, 9]), values, ("a", "b"))
    found = others.at(torch.tensor([3, 4, 7, 8, 10]), 1)
    assert found.isnan().all(2).all(1).tolist() == [True, False, True, False, True]
    np.testing.assert_array_equal(found[3], values[1, ..., 1])
