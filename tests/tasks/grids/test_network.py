"""The network of a grid: what it is shown, what it loses, that it learns from training times alone, and its answers."""

import dataclasses

import numpy as np
import pytest
import torch

import multiway
from command import outcome, printed
from interruption import stop_after
from multiway.tasks import lifecycle
from multiway.tasks.grids.config import GridConfig
from multiway.tasks.grids.floors import Fitted, forecast_floors
from multiway.tasks.grids.model import forecast_fields, module_of, read_floors, shares_of
from multiway.tasks.grids.network import Frames, frames_of, weigh_error
from multiway.tasks.grids.task import TASK
from multiway.tasks.protocol import NETWORK
from tasks.grids.fields import LAND, make_field, months
from tolerances import LONG32, SUMS32

TINY = {"patch_size": 2, "dim": 8, "num_heads": 2, "rank": 2, "num_blocks": 1}
TRAINING = {"epochs": 3, "learning_rate": 0.01, "checkpoint_seconds": 0}
CONFIG = GridConfig(context=5, horizon=2, model=TINY, training=TRAINING, budget=None)
LEVELS, MEMBERS = 3, 2


def make_cube(times=70):
    """Values `(member, time, lat, level, lon)`: other anomalies in each member, other sizes at each level, and land."""
    draw, cube = np.random.default_rng(3), np.empty((MEMBERS, times, 3, LEVELS, 5))
    for member, level in np.ndindex(MEMBERS, LEVELS):
        cube[member, :, :, level] = (1 + 10 * level) * make_field(times, seed=7 * member + level)
    cube[0, 11, 2, 1, 2] = np.nan
    return cube + 0 * draw.normal()


def write_cube(path, cube):
    names, coordinates = ("member", "time", "lat", "level", "lon"), {"time": months(cube.shape[1])}
    coordinates |= {"lat": np.array([-40.0, 0.0, 50.0]), "lon": np.arange(0.0, 300.0, 60)}
    np.savez(path, air=cube, axes=np.array(names), **coordinates)
    return path


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write_cube(tmp_path_factory.mktemp("cube") / "air.npz", make_cube())


@pytest.fixture(scope="module")
def grid(path):
    return TASK.prepare(CONFIG, path)


@pytest.fixture(scope="module")
def run(path):
    return lifecycle.fit_in_memory(TASK, CONFIG, path)


def base_of(grid):
    shares = np.zeros((2, len(grid.state.floors)))
    shares[0, :2], shares[1, 1] = 0.5, 1.0
    return shares


def shown(grid, origin, part="train"):
    """Samples of one time, with scales of their own."""
    floors = [grid.learn(grid.values[:40])]
    own = {"floors": floors, "base": base_of(grid), "scales": np.array([1.0, 2.0, 4.0])}
    return Frames(grid=grid, origins=np.array([origin]), part=grid.borders[part], **own)


def test_members_are_samples_levels_are_channels_and_cells_find_back(grid):
    assert grid.state.planes == (MEMBERS, LEVELS, 3, 5)
    planes = grid.state.to_planes(grid.values)
    cube = make_cube().astype(np.float32)
    np.testing.assert_array_equal(planes, cube.transpose(1, 0, 3, 2, 4))
    np.testing.assert_array_equal(grid.state.from_planes(planes), grid.values.astype(np.float32))


def test_a_sample_is_scaled_anomalies_then_first_forecasts_and_what_is_told(grid):
    """Cell by cell, from the floors' own words; land and the gap are zero, and have no weight."""
    origin, frames, cube = 13, shown(grid, 13), make_cube()
    (fitted,), batch = frames.floors, frames.gather(torch.arange(MEMBERS))
    usual = grid.state.to_planes(fitted.climatology[grid.phases[:70]])
    said = [forecast_floors(fitted, grid.past, np.array([origin]), lead) for lead in (1, 2)]
    mixed = (said[0]["climatology"] + said[0]["persistence"]) / 2, said[1]["persistence"]
    first = grid.state.to_planes(np.concatenate(mixed))
    for member, channel, row, column in np.ndindex(MEMBERS, LEVELS, 3, 5):
        at = member, channel, row, column
        for place, time in enumerate(range(origin - 4, origin + 3)):
            value = cube[member, time, row, channel, column] if time <= origin else first[time - origin - 1][at]
            expected = 0.0 if np.isnan(value) else (value - usual[time][at]) / (1, 2, 4)[channel]
            np.testing.assert_allclose(batch["inputs"][member, place, channel, row, column], expected, atol=1e-4)
            told = batch["inputs"][member, place, LEVELS:, row, column].numpy()
            month = 2 * np.pi * (time % 12) / 12
            known = float(not (row, column) == LAND)
            np.testing.assert_allclose(
                told, [known, np.sin(month), np.cos(month), row - 1, column / 2 - 1], atol=SUMS32, rtol=0
            )
        for lead in (1, 2):
            truth = cube[member, origin + lead, row, channel, column]
            off = batch["target"][member, lead - 1, channel, row, column]
            weight = batch["weights"][member, lead - 1, channel, row, column]
            if np.isnan(truth):
                assert off == 0 and weight == 0
            else:
                np.testing.assert_allclose(off, (truth - first[lead - 1][at]) / (1, 2, 4)[channel], atol=1e-4)
                assert weight > 0
    widths = np.cos(np.deg2rad([-40.0, 0.0, 50.0]))
    shares = batch["weights"][0, 0, 0, :, 0].numpy()
    np.testing.assert_allclose(shares / shares.sum(), widths / widths.sum(), rtol=SUMS32)


def test_a_gap_is_zero_and_no_other_value_is(grid):
    inputs = shown(grid, 13).gather(torch.arange(MEMBERS))["inputs"]
    zeros = (inputs[:, :5, :LEVELS] == 0).nonzero().tolist()
    land = [[m, t, c, *LAND] for m in range(MEMBERS) for t in range(5) for c in range(LEVELS)]
    assert sorted(zeros) == sorted([*land, [0, 2, 1, 2, 2]])


def test_neither_later_rows_nor_those_before_the_context_are_seen(grid, tmp_path):
    cube = make_cube()
    cube[:, 14:], cube[:, :9] = cube[:, 14:] + 5, cube[:, :9] - 5
    other = TASK.prepare(CONFIG, write_cube(tmp_path / "other.npz", cube))
    floors = shown(grid, 13).floors
    own = {"floors": floors, "base": base_of(grid), "scales": np.ones(3), "part": (0, 40)}
    one, two = (
        Frames(grid=each, origins=np.array([13]), **own).gather(torch.arange(MEMBERS)) for each in (grid, other)
    )
    assert torch.equal(one["inputs"], two["inputs"]) and not torch.equal(one["target"], two["target"])


def test_what_is_no_time_of_the_part_has_no_weight(grid):
    (start, stop), samples = grid.borders["validation"], frames_of(
        grid, "validation", [grid.learn(grid.values[:40])], base_of(grid), np.ones(3)
    )  # fmt: skip
    batch = samples.gather(torch.arange(len(samples)))
    origins = samples.origins.repeat(MEMBERS)
    for place, origin in enumerate(origins.tolist()):
        for lead in (1, 2):
            assert bool(batch["weights"][place, lead - 1].any()) == (start <= origin + lead < stop)
    assert sorted({*origins}) == [*range(start - 2, stop - 1)]


def test_the_floors_of_a_stretch_do_not_know_what_is_forecast_from_it(grid):
    fits, values = grid.crosswise, grid.values.copy()
    samples = frames_of(grid, "train", fits, base_of(grid), np.ones(3))
    origin = 21
    values[origin + 1 : origin + 3] += 9.0
    others = dataclasses.replace(grid, values=values).crosswise
    place = next(place for place, each in enumerate(fits) if each is samples.floors_at(origin))
    for one, two in zip(fits[place], others[place], strict=True):
        np.testing.assert_array_equal(one, two)
    assert any((one.climatology != two.climatology).any() for one, two in zip(fits, others, strict=True))


def test_the_loss_is_squared_errors_by_area_of_known_cells(grid):
    batch = shown(grid, 13).gather(torch.arange(MEMBERS))
    network, total, count = torch.nn.Identity(), 0.0, 0.0
    batch["inputs"] = guess = torch.randn_like(batch["target"]).requires_grad_()
    for at in np.ndindex(*guess.shape):
        total += float(batch["weights"][at]) * float(guess.detach()[at] - batch["target"][at]) ** 2
        count += float(batch["weights"][at])
    found = weigh_error(network, batch)
    np.testing.assert_allclose([each.item() for each in found], [total, count], rtol=LONG32)
    found[0].backward()
    assert (guess.grad[..., LAND[0], LAND[1]] == 0).all() and guess.grad.any()


def test_the_answer_is_the_blend_that_validation_prefers_of_floors_and_network(run, grid):
    module, shares = module_of(run), shares_of(run)
    assert shares.shape == (2, len(grid.state.floors) + 1) and run.answer.name == "multiway"
    np.testing.assert_allclose(shares.sum(1), 1, rtol=LONG32)
    np.testing.assert_allclose(module.numbers("base").sum(1), 1, rtol=LONG32)
    errors = {(row["model"], row["split"]): row["value"] for row in run.scores if row["metric"] == "rmse"}
    assert errors["multiway", "validation"] <= errors[NETWORK, "validation"] < errors["climatology", "validation"]
    fitted = read_floors(run.calibration)
    alone = module.correct(grid, np.array([69]), fitted)[0]
    np.testing.assert_allclose(forecast_fields(run.with_answer(NETWORK), grid), alone, rtol=LONG32)
    mixed = 0.0
    for lead in (1, 2):
        said = forecast_floors(fitted, grid.past, np.array([69]), lead)
        every = np.stack([*(said[name][0] for name in grid.state.floors), alone[lead - 1]])
        mixed = shares[lead - 1] @ every
        np.testing.assert_allclose(forecast_fields(run, grid)[lead - 1], mixed, rtol=LONG32)


def test_no_test_row_has_a_say_in_the_network(run, tmp_path):
    cube = make_cube()
    cube[:, 56:] += 2 * np.random.default_rng(0).normal(size=(1, 14, 1, 1, 1))
    other = lifecycle.fit_in_memory(TASK, CONFIG, write_cube(tmp_path / "other.npz", cube))
    for name, each in module_of(run).network.state_dict().items():
        assert torch.equal(each, module_of(other).network.state_dict()[name])
    assert other.answer == run.answer and other.scores != run.scores


def test_a_number_for_missing_on_land_changes_nothing(run, tmp_path):
    filled = np.nan_to_num(make_cube(), nan=-999.0)
    config = CONFIG.replace(read={"sentinels": [-999.0]})
    other = lifecycle.fit_in_memory(TASK, config, write_cube(tmp_path / "filled.npz", filled))
    assert other.scores == run.scores


WORDS = ("--context", 5, "--horizon", 2, "--set", "budget=null", "--set", f"training={TRAINING}".replace("'", '"'))


def test_one_that_is_stopped_goes_on_to_the_same_bytes_and_predicts_the_same(path, tmp_path, monkeypatch):
    words = ("train", "grids", "--data", path, *WORDS, "--set", f"model={TINY}".replace("'", '"'))
    printed(*words, "--out", tmp_path / "whole")
    with monkeypatch.context() as patch:
        stop_after(patch, 5)
        assert outcome(*words, "--out", tmp_path / "run")[0] == 1
    printed("train", "--resume", tmp_path / "run")
    one, two = (tmp_path / name / "weights.safetensors" for name in ("whole", "run"))
    assert one.read_bytes() == two.read_bytes()
    printed("predict", tmp_path / "run", "--data", path, "--model", "network", "--out", tmp_path / "next.npz")
    model = multiway.GridForecaster(2, context=5, settings={"model": TINY, "training": TRAINING, "budget": None})
    later = model.fit(path).predict(model="network")
    with np.load(tmp_path / "next.npz") as found:
        np.testing.assert_array_equal(found["air"], later)
    page = tmp_path / "run" / "report.html"
    printed("report", tmp_path / "run")
    assert "network" in page.read_text() and 'id="training"' in page.read_text()
    assert "Truth, 2006-10-15, level 0" in page.read_text()


@pytest.mark.parametrize("name", ["convlstm", "simvp", "fno", "factorised"])
def test_every_network_is_trained_by_its_name(path, name):
    fields = {"name": f"{name}_grid_forecaster", "dim": 8, "patch_size": 2, "num_blocks": 1}
    one = lifecycle.fit_in_memory(TASK, CONFIG.replace(model=fields), path)
    assert one.facts["parameters"]["multiway"] > sum(map(torch.numel, module_of(one).network.parameters())) > 500
    assert np.isfinite(one.facts["best"]["multiway"]["validation_loss"])


def test_a_network_that_there_is_not_is_one_line(path, tmp_path):
    code, out, err = outcome("train", "grids", "--data", path, "--model", "hot_grid_forcaster", "--out", tmp_path)
    assert (code, out) == (1, "") and err.count("\n") == 1 and "did you mean hot_grid_forecaster" in err
    code, _, err = outcome("train", "grids", "--data", path, "--set", "model.sizes=[3,5]", "--out", tmp_path / "run")
    assert code == 1 and err.count("\n") == 1 and "sizes" in err, err


def test_one_axis_of_space_is_a_row(tmp_path):
    np.savez(tmp_path / "line.npz", rain=make_field(90)[:, 0], axes=np.array(["time", "x"]), time=months(90))
    run = lifecycle.fit_in_memory(TASK, CONFIG, tmp_path / "line.npz")
    assert run.state.planes == (1, 1, 1, 5) and NETWORK in {row["model"] for row in run.scores}


def test_a_smaller_network_is_weighed_anew_and_floors_stay(tmp_path):
    path, folder, small = write_cube(tmp_path / "air.npz", make_cube()), tmp_path / "run", tmp_path / "small"
    run = lifecycle.start(TASK, CONFIG.replace(data=str(path)), folder)
    said = printed("compress", folder, "--rule", ".*=lowrank:max_share=.5", "--finetune", 1, "--out", small)
    smaller = lifecycle.load(small)
    assert "RMSE of the network on validation" in said
    one, two = (
        {(row["model"], row["split"], row["metric"]): row["value"] for row in each.scores} for each in (run, smaller)
    )
    assert one.keys() == two.keys()
    for key, value in one.items():
        assert (two[key] == pytest.approx(value, rel=LONG32)) == (key[0] not in (NETWORK, "multiway")), key
    for name in Fitted._fields:
        assert torch.equal(module_of(run).get_parameter(name), module_of(smaller).get_parameter(name))
    sizes = [sum(map(torch.numel, module_of(each).network.parameters())) for each in (run, smaller)]
    assert sizes[1] < sizes[0]


def test_floors_alone_have_no_network_to_compress(tmp_path):
    path, folder = write_cube(tmp_path / "air.npz", make_cube()), tmp_path / "run"
    lifecycle.start(TASK, CONFIG.replace(data=str(path), model={"name": "none"}), folder)
    code, out, err = outcome("compress", folder, "--rule", ".*=lowrank:rank=1")
    assert (code, out) == (1, "") and err.count("\n") == 1
    assert "the run has no network to compress. Train one (--model auto in training)" in err
