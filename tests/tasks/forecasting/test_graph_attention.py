"""Forecasts by a transformer whose steps attend by graphs: the command, the estimator, missing cells."""

import numpy as np
import pytest

from command import printed
from multiway import nn
from multiway.errors import ConfigError
from multiway.tasks import lifecycle
from multiway.tasks.forecasting import Forecaster
from tasks.forecasting.panels import HORIZON, LOOKBACK, QUICK, fitted, forecast, make_config, make_frame

GRAPH = {"name": "transformer_forecaster", "attention": {"kind": "graph", "num_heads": 2}}


def test_the_command_and_the_estimator_train_the_same_graph(tmp_path):
    make_frame().to_csv(tmp_path / "loads.csv", index=False)
    steps = ["--horizon", HORIZON, "--lookback", LOOKBACK, "--out", tmp_path / "run"]
    chosen = ["model.name=transformer_forecaster", "model.attention.kind=graph", "model.attention.num_heads=2"]
    fields = [word for each in [*chosen, "training.epochs=1", "answer=network"] for word in ("--set", each)]
    printed("train", "forecast", "--data", tmp_path / "loads.csv", *steps, *fields)
    run = lifecycle.load(tmp_path / "run")
    [block] = run.model.network.blocks
    assert isinstance(block.attention, nn.TensorGraphAttention) and block.attention.num_heads == 2
    settings = {"model": GRAPH, "answer": "network"}
    forecaster = Forecaster(horizon=HORIZON, lookback=LOOKBACK, epochs=1, settings=settings).fit(make_frame())
    own, theirs = forecast(run, make_frame())["multiway"], forecaster.predict(layout="long")["multiway"]
    np.testing.assert_array_equal(own, theirs)


def test_missing_cells_are_masked_in_training_and_in_forecasts():
    frame, settings = make_frame(), {"model": GRAPH, "training": QUICK, "answer": "network"}
    frame.loc[40:60, "series 1"], frame.loc[100:110, "series 0":], frame.loc[295:297, "series 2"] = (np.nan,) * 3
    run = fitted(frame, **settings, read={"missing": "mask"})
    assert np.isfinite(forecast(run, frame)["multiway"]).all()


def test_an_unknown_attention_is_refused():
    with pytest.raises(ConfigError, match=r"attention\.kind: Input should be 'graph', 'dot_product' or 'additive'"):
        make_config(model={"name": "transformer_forecaster", "attention": {"kind": "grph"}})
