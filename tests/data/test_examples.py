"""The small sets that come with the package: the same everywhere, and what a check takes them for."""

import numpy as np
import pytest

from command import printed
from multiway import load_example
from multiway.data.examples import EXAMPLES, SEA
from multiway.errors import ConfigError

TASKS = {
    "air_passengers": "forecast", "store_sales": "forecast", "patients": "tabular", "beats": "series",
    "reviews": "text", "prices": "stocks",
}  # fmt: skip


def test_a_set_is_the_same_each_time():
    for name in EXAMPLES:
        first, second = (load_example(name) for _ in range(2))
        assert str(first) == str(second), name


def test_a_check_takes_a_set_for_its_task(tmp_path):
    wrong = {}
    for name, task in TASKS.items():
        load_example(name).to_csv(tmp_path / f"{name}.csv", index=False)
        options = ["--target", "ill"] if task == "tabular" else []
        said = printed("check", tmp_path / f"{name}.csv", *options)
        if f"multiway train {task}" not in said:
            wrong[name] = said[-200:]
    assert not wrong


def test_holidays_sell_half_as_much_more():
    sales = load_example("store_sales")
    usual = sales.assign(day=sales["date"].dt.day_of_week).query("holiday == 0")
    level = usual.groupby(["store", "day"])["units"].mean().rename("usual")
    rest = sales.assign(day=sales["date"].dt.day_of_week).query("holiday == 1").join(level, on=["store", "day"])
    assert (rest["units"] / rest["usual"]).mean() == pytest.approx(1.5, abs=0.1)
    assert (
        load_example("store_plan")["date"].min() - sales["date"].max()
        == load_example("store_plan")["date"].diff().max()
    )


def test_the_sea_is_a_grid_with_land_and_seasons(tmp_path):
    arrays = load_example("sst")
    sea, land = arrays["sst"], np.isnan(arrays["sst"])
    assert sea.shape == (54, 9, 72) and (land.any(0) == land.all(0)).all() and 0.25 < land.mean() < 0.27
    assert 289 < np.nanmin(sea) < np.nanmax(sea) < 305 and arrays["time"][[0, -1]].tolist() == [
        "2006-04-01",
        "2010-09-01",
    ]
    assert SEA.stat().st_size < 40_000
    np.savez(tmp_path / "sst.npz", **arrays)
    said = printed("check", tmp_path / "sst.npz")
    assert "multiway train grids" in said and "season: 12 steps" in said and "cells without values: 168" in said


def test_an_unknown_name_is_refused_with_the_nearest():
    with pytest.raises(ConfigError, match=r"no example is called air_passenger; did you mean air_passengers"):
        load_example("air_passenger")
