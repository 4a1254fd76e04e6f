"""What estimators share: where arguments stand in the config, classes by probability, our own score."""

import inspect
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import multiway
from multiway.config import settings_in
from multiway.tasks.estimator import Classifier, own_score
from multiway.tasks.settings import settings_of


def test_arguments_reach_the_part_of_the_config_that_has_them():
    forecast = multiway.Forecaster(8, lookback=16, gaps="fill", epochs=3, seed=5).config()
    assert (forecast.horizon, forecast.lookback, forecast.read.gaps) == (8, 16, "fill")
    assert (forecast.training.epochs, forecast.training.seed) == (3, 5)
    volumes = multiway.VolumeClassifier("cnn_volume_classifier", test=0.3, seed=5).config()
    assert (volumes.model_name, volumes.split.test) == ("cnn_volume_classifier", 0.3)
    assert (volumes.training.seed, volumes.split.seed) == (5, 0)
    stocks = multiway.StockMovementClassifier(test=0.3, encoder="hashed").config()
    assert (stocks.split.test, stocks.text.encoder) == (0.3, "hashed")
    assert multiway.TabularRegressor(layer="linear").config().model == {"layer": "linear"}


def test_arguments_after_the_first_are_named():
    with pytest.raises(TypeError, match="positional argument"):
        multiway.Forecaster(8, 16)
    assert repr(multiway.Forecaster(8, seed=5)) == "Forecaster(horizon=8, seed=5)"


@pytest.mark.parametrize("name", ["Forecaster", "TabularRegressor", "Segmenter"])
def test_arguments_are_the_settings_of_the_task(name):
    """By their flags: names, usual values and words; no argument hides a method."""
    estimator = getattr(multiway, name)
    settings = settings_in(settings_of(estimator.task).config)
    known = {each.argument: each for each in settings if each.argument in estimator.places}
    parameters = inspect.signature(estimator).parameters
    assert [*parameters] == [*estimator.places, "settings", "progress"] and known.keys() == estimator.places.keys()
    for argument, setting in known.items():
        assert f"    {argument}: {setting.help}" in estimator.__doc__ and not hasattr(estimator, argument)
        assert parameters[argument].default == setting.usual


class Shares(Classifier):
    task = "tabular"
    classes_ = np.array(["no", "yes"])
    run_ = SimpleNamespace(state=None)

    def predict_proba(self, X, model=None, *, far=False):
        return np.stack([1 - X, X], axis=1)


def test_a_class_is_the_most_probable():
    assert Shares().predict(np.array([0.2, 0.9])).tolist() == ["no", "yes"]


def test_our_own_score_is_found_by_its_columns():
    scores = pd.DataFrame(
        {"model": ["network", "ridge", "network"], "metric": "mse", "scale": ["scaled", "scaled", "original"]}
    ).assign(value=[1.0, 2.0, None])
    assert own_score(scores, "mse", {"scale": "scaled"}) == 1
    assert np.isnan(own_score(scores, "mse", {"scale": "original"}))
