"""A run made smaller is a run: loaded, evaluated, used for the future, with scores of its own."""

import json
import shutil

import pandas as pd
import pytest
import torch

from multiway.compress import LowRank, TensorTrain
from multiway.errors import ConfigError, RunError
from multiway.nn import LowRankLinear, TTLinear
from multiway.tasks import lifecycle
from multiway.tasks.compressed import compress_run
from multiway.tasks.forecasting.task import TASK
from tasks.forecasting.panels import forecast, make_config, scores_on

RULES = {r"blocks\..*\.(gate_up|down)": TensorTrain(rank=2), r"head\.linear": LowRank(rank=2)}


@pytest.fixture(scope="module")
def smaller(finished, tmp_path_factory):
    out = tmp_path_factory.mktemp("compressed") / "run"
    plan, run = compress_run(finished.folder.path, RULES, out=out)
    return plan, run


def test_the_network_of_the_loaded_run_is_the_smaller_one(smaller, finished):
    plan, run = smaller
    loaded = lifecycle.load(run.folder.path)
    network = loaded.model.network
    assert type(network.head.linear) is LowRankLinear and type(network.blocks[0].ffn.down) is TTLinear
    assert not any(module.training for module in network.modules())
    assert loaded.facts["parameters"]["multiway"] == plan.parameters[1] < finished.facts["parameters"]["multiway"]
    for name, tensor in run.model.state_dict().items():
        assert torch.equal(loaded.model.state_dict()[name], tensor)


def test_it_forecasts_the_same_after_loading_and_not_as_before(smaller, finished):
    run = smaller[1]
    source = run.config.data
    frame = forecast(run, source)
    pd.testing.assert_frame_equal(forecast(lifecycle.load(run.folder.path), source), frame)
    assert not frame["multiway"].equals(forecast(finished, source)["multiway"])


def test_its_scores_are_made_anew_and_ridge_is_as_it_was(smaller, finished):
    def score(run, model):
        return [row["value"] for row in run.scores if row["model"] == model]

    run = smaller[1]
    assert score(run, "ridge") == score(finished, "ridge")
    assert score(run, "network") != score(finished, "network")
    assert all(pd.notna(row["value"]) for row in scores_on(run, run.config.data))
    assert not torch.equal(run.calibration["offsets"], finished.calibration["offsets"])


def test_it_keeps_the_log_of_the_training_and_is_sealed(smaller, finished):
    folder = smaller[1].folder
    assert folder.read_log() == finished.folder.read_log()
    assert "compression.json" in folder.verify()["sha256"]
    assert not (folder.path / "state").exists()


def test_the_run_itself_is_left_alone(smaller, finished):
    finished.folder.verify()
    assert type(finished.model.network.head.linear) is torch.nn.Linear


def test_a_run_without_out_is_only_planned(finished, tmp_path):
    before = set(finished.folder.path.parent.iterdir())
    plan, run = compress_run(finished.folder.path, {".*": LowRank()}, max_parameters=0.9)
    assert run is None and plan.has_data and plan.output_error > 0
    assert {each.name for each in plan.refused} >= {"blocks.0.attention.value", "blocks.0.attention.out"}
    assert set(finished.folder.path.parent.iterdir()) == before


def test_a_compressed_run_can_be_compressed_further(smaller, tmp_path):
    compress_run(smaller[1].folder.path, {"embedding.projection": LowRank(rank=1)}, out=tmp_path / "x")
    network = lifecycle.load(tmp_path / "x").model.network
    assert type(network.embedding.projection) is LowRankLinear and type(network.head.linear) is LowRankLinear


def test_a_damaged_description_is_noticed(smaller, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(smaller[1].folder.path, copy)
    path = copy / "compression.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 2}))
    with pytest.raises(RunError, match=r"changed or missing since training: compression\.json"):
        lifecycle.load(copy)


def test_a_run_without_a_network_or_whose_data_changed_is_refused(data_file, tmp_path):
    lifecycle.start(TASK, make_config(data=str(data_file), network=False), tmp_path / "ridge")
    with pytest.raises(ConfigError, match=r"the run has no network to compress\. Set network to true"):
        compress_run(tmp_path / "ridge", RULES)
    lifecycle.start(TASK, make_config(data=str(data_file)), tmp_path / "run")
    data_file.write_text(data_file.read_text().replace("2024-01-01 00:00:00,", "2024-01-01 00:00:00,1"))
    with pytest.raises(RunError, match=r"loads\.csv is not the data of the training any more\. Restore it"):
        compress_run(tmp_path / "run", RULES)


def test_an_error_leaves_nothing_behind(finished, tmp_path):
    with pytest.raises(ConfigError, match="matches no module's whole name"):
        compress_run(finished.folder.path, {"absent": LowRank(rank=1)}, out=tmp_path / "x")
    with pytest.raises(RunError, match="exists already"):
        compress_run(finished.folder.path, RULES, out=tmp_path)
    assert list(tmp_path.iterdir()) == []
