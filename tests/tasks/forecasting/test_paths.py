"""Sample paths: the distribution of the bands in each cell, and what goes together out of time; totals of them."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats

from command import printed
from multiway import Forecaster
from multiway.errors import ConfigError
from multiway.tasks.forecasting import paths
from multiway.tasks.forecasting.bands import Bands
from multiway.tasks.forecasting.forecasts import forecast_columns
from multiway.tasks.forecasting.intervals import bands_of_errors, rank_errors
from multiway.tasks.forecasting.paths import draw_paths, group_series, total_frame
from tasks.forecasting.panels import HORIZON, read, shop

LEVELS = (20.0, 50.0, 80.0, 90.0, 95.0, 98.0, 99.0, 99.9)
STEPS, SERIES, WINDOWS = 3, 2, 101
QUIET = {"network": False, "horizon": 5, "lookback": 14}


def bands_of(errors: np.ndarray) -> Bands:
    errors = errors.astype(np.float32)
    return bands_of_errors(errors, LEVELS, STEPS)._replace(ranks=rank_errors(errors, SERIES))


def drawn(run, panel, count):
    """The answer, and its paths as one array."""
    middle, parts = draw_paths(run, panel, count)
    return middle, np.concatenate([*parts])


def test_ranks_are_those_of_scipy():
    errors = np.random.default_rng(1).normal(size=(STEPS, SERIES, 47)).astype(np.float32)
    errors[1, 0, 5] = np.nan
    ranks = rank_errors(errors, SERIES).numpy()
    expected = stats.rankdata(np.nan_to_num(errors), axis=-1) - 1
    np.testing.assert_array_equal(ranks, expected.transpose(2, 0, 1))


def test_each_cell_of_paths_has_the_quantiles_of_its_bands():
    errors = np.random.default_rng(2).normal(size=(STEPS, SERIES, WINDOWS))
    bands = bands_of(errors * np.array([1.0, 10.0])[:, None])
    draws = bands.draw(40 * WINDOWS, seed=0)
    for share in (0.1, 0.25, 0.5, 0.75, 0.9):
        expected = bands.at([share])[0].double()
        spread = bands.at([0.9])[0].double()
        torch.testing.assert_close(torch.quantile(draws, share, 0) / spread, expected / spread, atol=0.02, rtol=0)


def test_steps_and_series_go_together_as_their_errors():
    common, own = np.random.default_rng(3).normal(size=(2, WINDOWS))
    errors = np.stack([np.stack([common, own]), np.stack([common, -common]), np.stack([2 * common, own])])
    draws = bands_of(errors).draw(20 * WINDOWS, seed=0).numpy()
    found = stats.spearmanr(draws.transpose(1, 2, 0).reshape(STEPS * SERIES, -1), axis=1).statistic
    expected = stats.spearmanr(errors.reshape(STEPS * SERIES, -1), axis=1).statistic
    np.testing.assert_allclose(found, expected, atol=0.03)


def test_a_run_draws_the_same_paths_each_time_around_its_answer(finished, frame):
    panel = read(finished, frame)
    middle, values = drawn(finished, panel, 1000)
    np.testing.assert_array_equal(values, drawn(finished, panel, 1000)[1])
    columns = forecast_columns(finished, panel, (80,))
    np.testing.assert_array_equal(middle, columns["multiway"])
    low, high = np.quantile(values, [0.1, 0.9], axis=0)
    width = columns["multiway-hi-80"] - columns["multiway-lo-80"]
    np.testing.assert_allclose((low - columns["multiway-lo-80"]) / width, 0, atol=0.06)
    np.testing.assert_allclose((high - columns["multiway-hi-80"]) / width, 0, atol=0.06)


def test_the_sums_of_a_hierarchy_add_up():
    rows = shop(("north", "south", "west")).assign(kind="open")
    rows.loc[rows["store"] == "west", "kind"] = "closed"
    rows = rows[["date", "kind", "store", "sales"]]
    forecaster = Forecaster(**QUIET, settings={"read": {"id_column": ("kind", "store")}}).fit(rows)
    table = forecaster.predict(hierarchy=["kind", "store"], levels=80)
    single = forecaster.predict(layout="long", levels=())
    assert dict(table.groupby("level", sort=False)["unique_id"].unique().map(list)) == {
        "all": ["all"], "kind": ["open", "closed"], "kind/store": ["open/north", "open/south", "closed/west"],
    }  # fmt: skip
    sums = table.pivot(index="date", columns="unique_id", values="multiway")
    np.testing.assert_array_equal(sums["open/south"], single.loc[single["store"] == "south", "multiway"])
    np.testing.assert_allclose(sums["open"], sums["open/north"] + sums["open/south"], rtol=1e-12)
    np.testing.assert_allclose(sums["all"], sums["open"] + sums["closed"], rtol=1e-12)
    assert (table["multiway-lo-80"] <= table["multiway"]).all() and (table["multiway"] <= table["multiway-hi-80"]).all()
    totals = forecaster.predict(total=True, levels=80).set_index(["kind", "store"])
    steps = single.groupby(["kind", "store"], sort=False)["multiway"].sum()
    np.testing.assert_allclose(totals.loc[steps.index, "multiway"], steps, rtol=1e-12)
    assert (totals["first"] == rows["date"].max() + pd.Timedelta(days=1)).all()
    wrong = {
        "tables of their own": {"paths": 2, "total": True},
        "quantiles, total are tables of their own": {"quantiles": 0.1, "total": True},
        "at least 1": {"paths": 0},
        "name the series are kind, store; none is 'shop'": {"hierarchy": ["shop"]},
    }
    for text, options in wrong.items():
        with pytest.raises(ConfigError, match=text):
            forecaster.predict(**options)


def test_groups_go_by_the_columns_in_the_order_given():
    groups = group_series(["north/a", "south/a", "north/b"], ("region", "product"), ("product", "region"))
    assert groups == {
        ("all", "all"): [0, 1, 2],
        ("product", "a"): [0, 1], ("product", "b"): [2],
        ("product/region", "a/north"): [0], ("product/region", "a/south"): [1], ("product/region", "b/north"): [2],
    }  # fmt: skip


def test_the_command_writes_paths(finished, tmp_path):
    out = tmp_path / "paths.csv"
    printed("predict", finished.folder.path, "--paths", "7", "--out", out)
    table = pd.read_csv(out)
    assert len(table) == 3 * 7 * HORIZON and list(table.columns) == ["unique_id", "date", "path", "multiway"]
    _, values = drawn(finished, finished.prepared.panel, 7)
    np.testing.assert_allclose(
        table["multiway"].to_numpy().reshape(3, 7, HORIZON), values.transpose(2, 0, 1), rtol=1e-6
    )


def test_sums_are_the_same_in_whatever_parts_paths_are_drawn(finished, frame, monkeypatch):
    """As distributions: each part has draws of its own."""
    panel = read(finished, frame)
    whole = total_frame(finished, panel, (80,))
    monkeypatch.setattr(paths, "MAX_CELLS", 500 * HORIZON * 3)
    assert [len(part) for part in draw_paths(finished, panel, 1200)[1]] == [500, 500, 200]
    parts = total_frame(finished, panel, (80,))
    width = whole["multiway-hi-80"] - whole["multiway-lo-80"]
    for side in ("lo", "hi"):
        np.testing.assert_allclose((parts[f"multiway-{side}-80"] - whole[f"multiway-{side}-80"]) / width, 0, atol=0.08)


def panels_with_common_shocks():
    """36 of five series in two regions, which share from little to most of their shocks, by the day."""
    for seed in range(36):
        rng, rows = np.random.default_rng(100 + seed), 420
        shared, memory = (0.2, 0.6, 0.9)[seed % 3], (0.0, 0.5, 0.8)[seed // 4 % 3]
        kept = [memory**lag for lag in range(40)]
        common, *own = (np.convolve(rng.normal(size=rows), kept)[:rows] for _ in range(6))
        week = np.sin(2 * np.pi * np.arange(rows) / 7)
        yield pd.DataFrame(
            {
                "date": np.tile(pd.date_range("2022-01-01", periods=rows, freq="D"), 5),
                "region": np.repeat(["n", "n", "s", "s", "s"], rows),
                "store": np.repeat(list("abcde"), rows),
                "y": np.concatenate(
                    [50 + 10 * week + 4 * (shared**0.5 * common + (1 - shared) ** 0.5 * each) for each in own]
                ),
            }
        )


def inside(table, actual):
    """Which values the bands of 80 % hold."""
    return ((table["multiway-lo-80"] <= actual) & (actual <= table["multiway-hi-80"])).tolist()


@pytest.mark.slow
def test_bands_of_sums_hold_as_much_as_those_of_series():
    """Within three points, on rows after those of the fit: the sums of regions hold 2.1 more, of all 1.9."""
    held = {"region/store": [], "region": [], "all": [], "total": []}
    settings = {"read": {"id_column": ("region", "store")}}
    for rows in panels_with_common_shocks():
        times = rows["date"].unique()
        forecaster = Forecaster(horizon=7, network=False, answer="ridge", settings=settings)
        forecaster.fit(rows[rows["date"] < times[300]])
        for first in range(300, 413, 7):
            past, ahead = rows[rows["date"] < times[first]], rows[rows["date"].isin(times[first : first + 7])]
            ahead = ahead.assign(series=ahead["region"] + "/" + ahead["store"], every="all")
            every = forecaster.predict(past, hierarchy=["region", "store"], levels=80, far=True)
            for level, column in (("region/store", "series"), ("region", "region"), ("all", "every")):
                table = every[every["level"] == level].set_index(["unique_id", "date"])
                held[level] += inside(table, ahead.groupby([column, "date"])["y"].sum().loc[table.index].to_numpy())
            table = forecaster.predict(past, total=True, levels=80, far=True).set_index(["region", "store"])
            held["total"] += inside(table, ahead.groupby(["region", "store"])["y"].sum().loc[table.index])
    shares = {name: np.mean(each) for name, each in held.items()}
    assert all(abs(share - shares["region/store"]) <= 0.03 for share in shares.values()), shares
