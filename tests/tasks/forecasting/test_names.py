"""An answer has the names of the user's own columns, and ours where the table has none."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from command import printed
from multiway.tasks.forecasting import Forecaster
from multiway.tasks.forecasting.panel import Columns
from multiway.tasks.forecasting.read import read_panel

SETTINGS = {"answer": "ridge", "network": False}
DAYS = pd.date_range("2024-01-01", periods=60)


def sales(stores=("a", "b"), **ids):
    """Rows of several stores by day."""
    rng = np.random.default_rng(0)
    parts = [pd.DataFrame({"store": name, **ids, "date": DAYS, "sales": rng.random(60)}) for name in stores]
    return pd.concat(parts, ignore_index=True)


OURS = {"unique_id": ["a/x", "b/y"], "ds": [1, 2], "y": [0.5, 1.5], "multiway": [3.0, 4.0]}


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        (Columns(time="date", ids=("store",), value="sales"), ["store", "date", "sales", "multiway"]),
        (Columns(time="date", ids=("store", "item"), value="sales"), ["store", "item", "date", "sales", "multiway"]),
        (Columns(time="date", ids=("a", "b", "c"), value="sales"), ["unique_id", "date", "sales", "multiway"]),
        (Columns(time="time", ids=("shop",), value="value", made=("time", "value")), ["shop", "ds", "y", "multiway"]),
        (Columns(time="month"), ["unique_id", "month", "y", "multiway"]),
        (Columns(), list(OURS)),
        (Columns(time="unique_id", ids=("ds",)), ["ds", "unique_id", "y", "multiway"]),
        (Columns(time="multiway", ids=("store",)), list(OURS)),
        (Columns(time=None, ids=("ds",)), list(OURS)),
    ],
)
def test_a_table_of_ours_takes_the_names_of_the_user_where_there_are_some(columns, names):
    table = columns.rename(pd.DataFrame(OURS))
    assert list(table.columns) == names
    assert table.to_numpy().shape[0] == 2 and table["multiway"].tolist() == OURS["multiway"]
    if "item" in names:
        assert table[["store", "item"]].to_numpy().tolist() == [["a", "x"], ["b", "y"]]


@pytest.mark.parametrize(
    ("source", "made"),
    [
        (sales(), ()),
        (pl.from_pandas(sales()), ()),
        (sales().set_index("date"), ()),
        (sales(("a",)).set_index("date")[["sales"]].rename_axis(None), ("time",)),
        (np.arange(40.0).reshape(20, 2), ()),
    ],
    ids=["long", "polars", "named index", "index", "array"],
)
def test_a_name_that_reading_made_is_none_of_the_users(source, made):
    assert read_panel(source).columns.made == made


def test_every_answer_in_python_has_the_names_of_the_data():
    forecaster = Forecaster(horizon=2, lookback=7, levels=(80,), settings=SETTINGS).fit(sales())
    keys = ["store", "date"]
    assert list(forecaster.predict().columns[:3]) == [*keys, "multiway"]
    assert list(forecaster.predict(paths=2).columns) == [*keys, "path", "multiway"]
    assert list(forecaster.predict(total=True).columns[:4]) == ["store", "first", "last", "multiway"]
    assert list(forecaster.predict(hierarchy=["store"]).columns[:4]) == ["level", *keys, "multiway"]
    tested = forecaster.backtest(cutoffs=2)
    assert list(tested.columns[:4]) == ["store", "date", "cutoff", "sales"]
    known = sales().set_index(keys)["sales"]
    np.testing.assert_array_equal(tested["sales"], known.loc[pd.MultiIndex.from_frame(tested[keys])])
    assert list(forecaster.anomalies().columns[:3]) == [*keys, "sales"]


@pytest.mark.parametrize("options", [[], ["--set", "read.time_column=date", "--set", "read.id_column=[region,store]"]])
def test_what_predict_writes_is_read_with_the_same_options(options, tmp_path):
    pd.concat([sales(region="east"), sales(region="west")]).to_csv(tmp_path / "sales.csv", index=False)
    run, out = tmp_path / "run", tmp_path / "next.csv"
    given = [*options, "--set", "network=false", "--set", "answer=ridge", "--quiet"]
    printed("train", "forecast", "--data", tmp_path / "sales.csv", "--horizon", "9", *given, "--out", run)
    printed("predict", run, "--out", out)
    table = pd.read_csv(out)
    ids = ["region", "store"] if options else ["store", "region"]
    assert list(table.columns[:4]) == [*ids, "date", "multiway"] and len(table) == 4 * 9
    said = printed("check", out, "--task", "forecast", *options)
    named = " and ".join(f"'{each}'" for each in ids)
    assert f"times in 'date', names in {named}, values in 'multiway', 4 series" in said
    assert pd.read_parquet(run / "predictions.parquet").columns[:4].tolist() == [*ids, "date", "multiway"]
    later = pd.concat(
        [pd.read_csv(tmp_path / "sales.csv"), table.rename(columns={"multiway": "sales"})[[*ids, "date", "sales"]]]
    )
    later.to_csv(tmp_path / "longer.csv", index=False)
    assert "2024-03-10" in printed("predict", run, "--data", tmp_path / "longer.csv").splitlines()[1]


def test_six_columns_of_scores_are_printed_and_all_on_request(tmp_path):
    sales().to_csv(tmp_path / "sales.csv", index=False)
    given = ["--set", "network=false", "--set", "answer=ridge", "--quiet", "--metric", "mae", "--horizon", "2"]
    said = printed("train", "forecast", "--data", tmp_path / "sales.csv", *given, "--out", tmp_path / "run")
    (head,) = [line for line in said.splitlines() if line.startswith("model ")]
    assert head.split() == ["model", "mae", "mase", "mae", "(original)", "rmse", "wape", "coverage_80"]
    assert head in printed("evaluate", tmp_path / "run")
    every = printed("evaluate", tmp_path / "run", "--all")
    assert all(f" {name} " in every for name in ("mse", "sql", "smape", "wql", "crps", "pinball", "coverage_80"))
    assert '"crps"' in printed("evaluate", tmp_path / "run", "--json")
