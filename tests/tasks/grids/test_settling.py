"""Which network is trained: the one that validation prefers after a share of the budget each, for epochs that fit."""

import dataclasses
import types

import numpy as np
import pytest

from command import printed
from multiway.models import create_model, list_models
from multiway.tasks import lifecycle
from multiway.tasks.grids import settling
from multiway.tasks.grids.config import GridConfig
from multiway.tasks.grids.model import module_of
from multiway.tasks.grids.settling import choose_patch, settle_network
from multiway.tasks.grids.task import TASK
from tasks.grids.fields import make_field, write_npz
from tasks.grids.test_network import CONFIG as NAMED
from tasks.grids.test_network import TINY, make_cube, write_cube

SMALL = {"dim": 8, "patch_size": 3, "num_blocks": 1}
CONFIG = GridConfig(context=4, horizon=2, model=SMALL, training={"epochs": 1}, budget=600.0)
NETWORKS = list_models("*_grid_forecaster")


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    return TASK.prepare(CONFIG, write_npz(tmp_path_factory.mktemp("race") / "sst.npz", make_field(60)))


@pytest.fixture(scope="module")
def cube(tmp_path_factory):
    return TASK.prepare(NAMED, write_cube(tmp_path_factory.mktemp("cube") / "air.npz", make_cube()))


@pytest.fixture
def staged(monkeypatch):
    """Races whose losses and seconds of an epoch are given by the name of a network; what was trained, and how long."""

    def stage(losses, seconds):
        trained = {}

        def name(network):
            return next(each for each in NETWORKS if isinstance(network, type(DRAWN[each])))

        def train(network, objective, training, validation, config):
            assert validation.part[0] > training.part[0]
            trained[name(network)] = config.epochs
            return types.SimpleNamespace(best_loss=losses[name(network)])

        monkeypatch.setattr(settling, "train", train)
        monkeypatch.setattr(settling, "time_epoch", lambda config, *rest: seconds[config.model["name"]])
        return trained

    sizes = {"context": 4, "horizon": 2, "channels": 1, "features": 5, "sizes": (3, 5), **SMALL}
    DRAWN = {each: create_model(each, **sizes) for each in NETWORKS}
    return stage


def test_the_network_of_least_loss_on_validation_is_trained_for_the_rest_of_the_budget(staged, grid):
    losses = dict(zip(NETWORKS, (0.9, 0.8, 0.5, 0.7, 0.6), strict=True))
    trained = staged(losses, dict.fromkeys(NETWORKS, 1.0))
    config = CONFIG.replace(budget=50.0, training={"epochs": 20})
    settled = settle_network(config, grid, 0.0, clock=iter(range(100)).__next__)
    assert trained == dict.fromkeys(NETWORKS, 4)  # 0.8 of the five seconds that are a tenth of the budget
    assert settled.config.model == {**SMALL, "name": "fno_grid_forecaster"}
    assert settled.config.training.epochs == 20 and settled.config.budget is None
    ranked = "fno 0.5, simvp 0.6, hot 0.7, factorised 0.8, convlstm 0.9. fno_grid_forecaster is trained."
    assert settled.notes == [f"Losses on validation after 5 s each: {ranked}"]
    assert settle_network(settled.config, grid, 0.0).config == settled.config


def test_a_network_without_an_epoch_in_its_share_does_not_race(staged, grid):
    losses, seconds = dict.fromkeys(NETWORKS, 1.0) | {"fno_grid_forecaster": 0.1}, dict.fromkeys(NETWORKS, 1.0)
    trained = staged(losses, seconds | {"fno_grid_forecaster": 4.1})
    settled = settle_network(CONFIG.replace(budget=50.0), grid, 0.0)
    assert trained.keys() == {*NETWORKS} - {"fno_grid_forecaster"} and settled.config.model["name"] in trained


@pytest.mark.parametrize("shortest", [4.0, 4.1])
def test_the_fastest_is_trained_where_no_other_has_an_epoch_in_its_share(staged, grid, shortest):
    trained = staged({}, dict.fromkeys(NETWORKS, 9.0) | {"simvp_grid_forecaster": shortest})
    settled = settle_network(CONFIG.replace(budget=50.0), grid, 0.0)
    assert not trained and settled.config.model["name"] == "simvp_grid_forecaster"
    assert settled.notes == ["Other networks are too slow for a budget of 50 s: simvp_grid_forecaster is trained."]


def test_the_seconds_of_a_race_are_of_the_budget(staged, grid):
    seconds = iter([0.0, 30.0])
    staged(dict.fromkeys(NETWORKS, 1.0), dict.fromkeys(NETWORKS, 1.0))
    config = CONFIG.replace(budget=50.0, training={"epochs": 99})
    settled = settle_network(config, grid, 0.0, clock=seconds.__next__)
    assert settled.config.training.epochs == 16 and "16 of 99 are trained" in settled.notes[-1]


def test_a_race_that_took_the_whole_budget_leaves_no_network(staged, grid):
    seconds = iter([0.0, 61.0])
    staged(dict.fromkeys(NETWORKS, 1.0), dict.fromkeys(NETWORKS, 1.0))
    settled = settle_network(CONFIG.replace(budget=50.0), grid, 0.0, clock=seconds.__next__)
    assert settled.config.model == {"name": "none"} and "none is trained" in settled.notes[0]


@pytest.mark.parametrize("model", [{**SMALL, "rank": 2}, {**SMALL, "name": "hot_grid_forecaster"}])
def test_fields_of_one_network_name_it(staged, grid, model):
    trained = staged(dict.fromkeys(NETWORKS, 1.0), dict.fromkeys(NETWORKS, 1.0))
    settled = settle_network(CONFIG.replace(model=model), grid, 0.0)
    assert not trained and settled.config.model["name"] == "hot_grid_forecaster"
    assert settle_network(CONFIG.replace(budget=None), grid, 0.0).config.model["name"] == "hot_grid_forecaster"


def test_a_race_is_run_by_a_training_and_no_test_row_has_a_say_in_it(grid, tmp_path):
    values = make_field(60)
    values[48:] += 3 * np.random.default_rng(0).normal(size=(12, 1, 1))
    paths = write_npz(tmp_path / "sst.npz", make_field(60)), write_npz(tmp_path / "other.npz", values)
    one, two = (lifecycle.fit_in_memory(TASK, CONFIG, path) for path in paths)
    assert one.config.model["name"] in NETWORKS and one.config == two.config
    assert one.facts["notes"] == two.facts["notes"] and "Losses on validation" in one.facts["notes"][0]
    states = [module_of(run).network.state_dict() for run in (one, two)]
    assert all((states[0][name] == states[1][name]).all() for name in states[0])
    sets = [word for name, value in SMALL.items() for word in ("--set", f"model.{name}={value}")]
    words = ("--context", 4, "--horizon", 2, "--budget", "600s", "--set", "training.epochs=1", *sets)
    said = printed("train", "grids", "--data", paths[0], *words, "--out", tmp_path / "run")
    assert lifecycle.load(tmp_path / "run").config.model == one.config.model and "network" in said


def test_the_loss_of_a_race_is_that_of_the_same_training(grid):
    """The winner, trained by its name for as many epochs, comes to the loss that the race had."""
    settled = settle_network(CONFIG, grid, 0.0)
    name, told = settled.config.model["name"].removesuffix("_grid_forecaster"), settled.notes[0]
    history = fitted_history(settled.config, grid)
    assert f"{name} {history:.4g}" in told


def fitted_history(config, grid):
    run = lifecycle.make(dataclasses.replace(TASK, prepare=lambda *given, **how: grid), config, "")
    return TASK.fit(run, "multiway", grid, lifecycle.Context()).best_loss


def test_a_budget_leaves_fewer_epochs_or_none(cube):
    usual = settle_network(NAMED.replace(budget=600.0), cube, 0.0)
    assert usual.config.training.epochs == 3 and not usual.notes and usual.config.budget is None
    assert usual.config.model == {**TINY, "name": "hot_grid_forecaster"}
    none = settle_network(NAMED.replace(budget=0.0001), cube, 0.0)
    assert none.config.model == {"name": "none"} and "none is trained" in none.notes[0]
    assert settle_network(usual.config, cube, 0.0).config == usual.config


def test_squares_are_the_smallest_of_which_there_are_few(cube):
    assert choose_patch(NAMED, cube.state) == 1
    wide = cube.state.replace(axes=[{**axis.plain(), "size": 60, "values": None} for axis in cube.state.axes[1::2]])
    assert wide.planes == (1, 1, 60, 60) and choose_patch(NAMED, wide) == 4
    assert 7 * (60 / 4) ** 2 <= 1600 < 7 * (60 / 3) ** 2


def test_a_race_is_a_quarter_of_a_training_at_most(staged, grid):
    trained = staged(dict.fromkeys(NETWORKS, 1.0), dict.fromkeys(NETWORKS, 0.1))
    settle_network(CONFIG.replace(budget=50.0, training={"epochs": 9}), grid, 0.0)
    assert trained == dict.fromkeys(NETWORKS, 3)
