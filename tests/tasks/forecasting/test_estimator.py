"""`Forecaster` in scikit-learn's manners."""

import copy
import pickle

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils import get_tags

import multiway
from command import outcome
from multiway.errors import ConfigError, DataError, MultiwayWarning, NotFittedError, RunError
from multiway.tasks import lifecycle
from multiway.tasks.forecasting import Forecaster
from tasks.forecasting.panels import HORIZON, QUICK, TINY, make_frame
from tolerances import ROUNDING32, SUMS32

SETTINGS = {"model": TINY, "training": QUICK, "answer": "network"}


def make(**changes) -> Forecaster:
    settings = {**SETTINGS, "answer": "ridge"} if changes.get("network") is False else SETTINGS
    return Forecaster(HORIZON, **{"lookback": 12, "season": 12, "settings": settings, **changes})


@pytest.fixture(scope="module")
def fitted() -> Forecaster:
    return make().fit(make_frame())


def test_parameters_are_read_and_set():
    forecaster = make(seed=3)
    params = forecaster.get_params()
    assert params["seed"] == 3 and params["settings"] is SETTINGS
    assert Forecaster(**params).get_params() == params
    assert forecaster.set_params(seed=4, horizon=5) is forecaster
    assert (forecaster.seed, forecaster.horizon) == (4, 5)
    with pytest.raises(ConfigError, match="look_back is no argument"):
        forecaster.set_params(look_back=3)


def test_a_clone_is_unfitted_and_alike(fitted):
    twin = clone(fitted)
    assert twin.get_params() == fitted.get_params() and not hasattr(twin, "run_")


@pytest.mark.parametrize("twin_of", [copy.deepcopy, lambda forecaster: pickle.loads(pickle.dumps(forecaster))])
def test_a_fitted_and_a_loaded_forecaster_can_be_copied(twin_of, frame, tmp_path):
    forecaster = make(network=False).fit(pl.from_pandas(frame))
    twin = twin_of(forecaster)
    assert twin.predict().equals(forecaster.predict()) and isinstance(twin.predict(), pl.DataFrame)
    forecaster.save(tmp_path / "run")
    loaded = twin_of(Forecaster.load(tmp_path / "run"))
    pd.testing.assert_frame_equal(loaded.predict(frame), forecaster.predict(frame))


def test_a_grid_is_searched(frame):
    search = GridSearchCV(linear(), {"lookback": [6, 12]}, cv=TimeSeriesSplit(2, test_size=60))
    search.fit(frame)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_a_target_of_its_own_is_refused(frame):
    with pytest.raises(ConfigError, match=r"Forecaster\.fit: .* leave y out\.$"):
        make().fit(frame, frame["series 0"])


def test_a_target_to_score_on_is_refused(fitted, frame):
    with pytest.raises(ConfigError, match=r"Forecaster\.score: .* leave y out\.$"):
        fitted.score(frame, frame["series 0"])


def test_the_constructor_checks_nothing_and_fit_checks_all(frame):
    wrong = Forecaster(horizon=-1)
    with pytest.raises(ConfigError, match=r"Forecaster: horizon: .* \(got -1\)"):
        wrong.fit(frame)


def test_the_repr_shows_what_differs_from_the_defaults():
    assert repr(Forecaster(24, lookback=48, network=False)) == "Forecaster(horizon=24, lookback=48, network=False)"


@pytest.mark.parametrize("call", ["predict", "explain", "backtest"])
def test_answers_need_a_fit(call):
    with pytest.raises(NotFittedError, match="call fit before this"):
        getattr(Forecaster(), call)()


def test_scoring_and_saving_need_a_fit(frame, tmp_path):
    for call in (lambda: Forecaster().evaluate(frame), lambda: Forecaster().save(tmp_path / "x")):
        with pytest.raises(NotFittedError):
            call()


def test_fit_returns_itself_and_says_what_it_chose(fitted):
    assert isinstance(fitted, multiway.Forecaster)
    assert fitted.selection_.weight == 1 and "the network" in fitted.selection_.sentence
    assert fitted.n_features_in_ == 3 and list(fitted.feature_names_in_) == ["series 0", "series 1", "series 2"]
    assert set(fitted.scores_["split"]) == {"validation", "test"}
    assert [row["level"] for row in fitted.coverage_] == [80.0, 95.0]


def test_nothing_is_written(fitted, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make(network=False).fit(make_frame())
    assert list(tmp_path.iterdir()) == []


def test_prediction_follows_the_layout_of_the_data(fitted, frame):
    assert list(fitted.predict().columns[:2]) == ["date", "series 0"]
    long = frame.melt("date", var_name="unique_id", value_name="y").rename(columns={"date": "ds"})
    assert list(fitted.predict(long).columns[:3]) == ["unique_id", "date", "multiway"]
    assert list(fitted.predict(layout="long", levels=(80,)).columns[2:]) == [
        "multiway",
        "multiway-lo-80",
        "multiway-hi-80",
    ]


def test_one_level_or_quantile_is_enough(fitted):
    for one, several in (({"levels": 80}, {"levels": (80,)}), ({"quantiles": 0.25}, {"quantiles": [0.25]})):
        pd.testing.assert_frame_equal(fitted.predict(**one), fitted.predict(**several))
    pd.testing.assert_frame_equal(fitted.backtest(cutoffs=2, levels=90), fitted.backtest(cutoffs=2, levels=[90]))
    with pytest.raises(ConfigError, match=r"^levels: a number is needed, or several\. Got 'high'\.$"):
        fitted.predict(levels="high")


def test_prediction_without_a_frame_is_that_after_the_fitted_data(fitted, frame):
    pd.testing.assert_frame_equal(fitted.predict(), fitted.predict(frame))


def test_polars_in_polars_out(fitted, frame):
    both = make(network=False).fit(pl.from_pandas(frame))
    assert isinstance(both.predict(), pl.DataFrame)
    assert isinstance(fitted.predict(pl.from_pandas(frame)), pl.DataFrame)
    assert isinstance(both.predict(frame), pd.DataFrame)
    np.testing.assert_array_equal(both.predict()["series 1"].to_numpy(), both.predict(frame)["series 1"])


def test_a_path_will_do(data_file, frame):
    one, other = make(network=False).fit(data_file), make(network=False).fit(frame)
    np.testing.assert_allclose(one.predict()["series 1"], other.predict()["series 1"], rtol=ROUNDING32)


def linear(**changes):
    return make(network=False, levels=(80.0,), **changes)


@pytest.mark.parametrize("kind", ["indexed", "counted", "unnamed", "polars", "array"])
def test_a_series_will_do(kind, frame):
    indexed = frame.set_index("date")["series 0"]
    series = {
        "indexed": indexed, "counted": indexed.reset_index(drop=True), "unnamed": indexed.rename(None),
        "polars": pl.Series("series 0", indexed.to_numpy()), "array": indexed.to_numpy(),
    }[kind]  # fmt: skip
    forecaster, wide = linear().fit(series), linear().fit(frame[["date", "series 0"]])
    table = forecaster.predict()
    name = "value" if kind == "unnamed" else "series 0"
    np.testing.assert_array_equal(table[name].to_numpy(), wide.predict()["series 0"].to_numpy())
    assert isinstance(table, pl.DataFrame) == (kind == "polars")
    np.testing.assert_array_equal(forecaster.predict(series[-40:])[name].to_numpy(), table[name].to_numpy())
    expected = wide.predict()["date"].tolist() if kind in ("indexed", "unnamed") else [300, 301, 302, 303]
    assert kind == "polars" or table["date" if kind in ("indexed", "unnamed") else "ds"].tolist() == expected


def test_an_array_is_rows_by_series(frame):
    table = linear().fit(frame.iloc[:, 1:].to_numpy()).predict()
    np.testing.assert_array_equal(table["series 2"], linear().fit(frame).predict()["series 2"])


@pytest.mark.parametrize("kind", ["frame", "series", "array"])
def test_it_is_scored_over_folds_of_time(kind, frame):
    data = {"frame": frame, "series": frame.set_index("date")["series 1"], "array": frame.iloc[:, 1:].to_numpy()}[kind]
    folds = TimeSeriesSplit(2, test_size=60)
    scores = cross_val_score(linear(), data, cv=folds, error_score="raise")
    train, test = list(folds.split(np.arange(300)))[1]
    part = data[train[0] : test[-1] + 1] if kind == "array" else data.iloc[train[0] : test[-1] + 1]
    assert scores[1] == linear().fit(part[: len(train)]).score(part[-60:])


def test_it_ends_a_pipeline(frame):
    values = frame.set_index("date")
    pipeline = make_pipeline(FunctionTransformer(np.log1p), linear()).fit(values)
    expected = linear().fit(np.log1p(values))
    pd.testing.assert_frame_equal(pipeline.predict(values), expected.predict(np.log1p(values)))
    assert pipeline.score(values) == expected.score(np.log1p(values))
    scaled = make_pipeline(StandardScaler(), linear()).fit(values)
    assert scaled.predict(values).shape == (HORIZON, 1 + 3 * 3)


def test_its_tags_are_of_no_kind_of_target():
    tags = get_tags(linear())
    assert tags.estimator_type is None and not tags.target_tags.required


def test_joblib_keeps_it(fitted, frame, tmp_path):
    joblib.dump(fitted, tmp_path / "forecaster.joblib")
    pd.testing.assert_frame_equal(joblib.load(tmp_path / "forecaster.joblib").predict(), fitted.predict())


def test_a_loaded_forecaster_rereads_its_file(data_file, tmp_path):
    forecaster = make().fit(data_file)
    forecaster.save(tmp_path / "run")
    repeated = Forecaster.load(tmp_path / "run")
    pd.testing.assert_frame_equal(repeated.predict(), forecaster.predict())
    pd.testing.assert_frame_equal(repeated.backtest(cutoffs=2), forecaster.backtest(cutoffs=2))
    weights = (each.explain().last[0].weights for each in (repeated, forecaster))
    np.testing.assert_allclose(*weights, rtol=SUMS32)
    code, out, err = outcome("predict", tmp_path / "run", "--layout", "wide")
    assert code == 0 and out.splitlines()[0].startswith("date,series 0"), err


def test_scores_on_a_later_frame(fitted):
    later = make_frame(rows=60, seed=8)
    scores = fitted.evaluate(later)
    chosen = scores.query("model == 'multiway' and scale == 'scaled' and metric == 'mse'")["value"].item()
    assert fitted.score(later) == -chosen


def test_a_backtest_on_the_fitted_data(fitted):
    assert fitted.backtest(cutoffs=2)["cutoff"].nunique() == 2


def test_an_explanation_has_a_map_per_mode(fitted):
    explanation = fitted.explain()
    assert [item.mode for item in explanation.average] == ["variate", "time"]
    assert explanation.average[0].query_labels == ("series 0", "series 1", "series 2")
    np.testing.assert_allclose(explanation.last[1].weights.sum(-1), 1, rtol=SUMS32)


def test_ridge_has_nothing_to_explain(frame):
    with pytest.raises(RunError, match="the run has no network"):
        make(network=False).fit(frame).explain()


@pytest.mark.parametrize("fields", [{"attention": "full"}, {"use_attention": False}], ids=str)
def test_a_network_without_maps_forecasts_and_has_nothing_to_explain(fields, frame):
    forecaster = make(settings={**SETTINGS, "model": {**TINY, **fields}}).fit(frame)
    assert forecaster.predict(frame).notna().all(axis=None)
    with pytest.raises(ConfigError, match="maps per mode exist only where attention is 'kronecker'"):
        forecaster.explain(frame)


def test_the_network_is_chosen_by_its_name_and_its_fields_stand_above_those_of_the_name(frame, tmp_path):
    forecaster = make(model="hot_forecaster_paper").fit(frame)
    config = forecaster.run_.models["multiway"].network.config
    assert (config.preset, config.feature_map, config.pooling, config.dim) == ("paper", "smreg", "mean", TINY["dim"])
    forecaster.save(tmp_path / "run")
    loaded = Forecaster.load(tmp_path / "run")
    assert loaded.model == "hot_forecaster_paper" and loaded.settings["model"] == TINY
    pd.testing.assert_frame_equal(loaded.predict(frame), forecaster.predict(frame))
    with pytest.raises(ConfigError, match="did you mean hot_forecaster"):
        make(model="hot_forcaster").fit(frame)


def test_a_saved_forecaster_is_a_run_and_comes_back(fitted, frame, tmp_path):
    fitted.save(tmp_path / "run")
    repeated = Forecaster.load(tmp_path / "run")
    pd.testing.assert_frame_equal(repeated.predict(frame), fitted.predict(frame))
    assert repeated.get_params()["lookback"] == 12 and repeated.selection_.sentence == fitted.selection_.sentence
    assert lifecycle.load(tmp_path / "run").scores == fitted.run_.scores
    with pytest.raises(RunError, match="exists already"):
        fitted.save(tmp_path / "run")


def test_a_loaded_forecaster_fits_as_the_saved_one_did(fitted, frame, tmp_path):
    fitted.save(tmp_path / "run")
    repeated = Forecaster.load(tmp_path / "run").fit(frame)
    pd.testing.assert_frame_equal(repeated.predict(), fitted.predict())


def test_a_loaded_forecaster_has_no_data(fitted, tmp_path):
    fitted.save(tmp_path / "run")
    repeated = Forecaster.load(tmp_path / "run")
    with pytest.raises(ConfigError, match="loaded without its data"):
        repeated.predict()
    with pytest.raises(RunError, match=r"this run was loaded from .* Copy that folder"):
        repeated.save(tmp_path / "other")


def test_a_bad_frame_is_refused_and_leaves_the_fit(frame):
    forecaster = make(network=False).fit(frame)
    before = forecaster.predict()
    with pytest.raises(DataError):
        forecaster.fit(frame.iloc[:20])
    pd.testing.assert_frame_equal(forecaster.predict(), before)


def test_sizes_that_are_not_given_fit_the_rows():
    """As on the command line: forty days hold no 96 steps of past."""
    with pytest.warns(
        MultiwayWarning, match="the table: shortened to lookback 7, since there are 28 training rows"
    ) as told:
        own = Forecaster(horizon=4, network=False, levels=()).fit(make_frame(rows=40, variates=1, freq="D"))
    assert (own.run_.config.lookback, own.run_.config.horizon) == (7, 4) and len(own.predict()) == 4
    assert own.get_params()["lookback"] is None
    assert {warning.filename for warning in told} == {__file__}  # the line of the user's own, not one of the library
