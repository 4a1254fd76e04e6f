"""What an explanation of a grid says: shares as they answer, what hiding costs by hand, maps under coordinates."""

import numpy as np
import pandas as pd
import pytest
import torch

from command import printed
from multiway.explain import load_explanation
from multiway.tasks import lifecycle
from multiway.tasks.grids.config import GridConfig
from multiway.tasks.grids.explain import list_hidden, name_channels, write_explanation
from multiway.tasks.grids.model import module_of, shares_of, spread_frames
from multiway.tasks.grids.task import TASK
from tasks.grids.fields import make_field, write_npz
from tasks.grids.test_network import CONFIG, make_cube, write_cube
from tolerances import LONG32, SUMS32

pytest.importorskip("matplotlib", reason="matplotlib is not installed")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = write_cube(tmp_path_factory.mktemp("cube") / "air.npz", make_cube())
    return lifecycle.fit_in_memory(TASK, CONFIG.replace(data=str(path)), path)


@pytest.fixture(scope="module")
def explained(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("explained") / "shown"
    return folder, write_explanation(run, folder, {})


def test_shares_are_those_of_the_answer(run, explained):
    table = pd.read_csv(explained[0] / "shares.csv")
    assert [*table] == ["lead", *run.state.floors, "network"] and table["lead"].tolist() == [1, 2]
    np.testing.assert_allclose(table.drop(columns="lead"), shares_of(run), rtol=LONG32)


def test_an_error_without_a_past_field_or_level_is_counted_by_hand(run, explained):
    table = pd.read_csv(explained[0] / "without.csv").set_index("place")["error"]
    grid, network = run.prepared, module_of(run).network.eval()
    batch, places = spread_frames(run, grid), ["lag 5", "lag 4", "lag 3", "lag 2", "lag 1", "level 0", "level 1"]
    assert table.index.tolist() == [*places, "level 2"]
    batch, errors = batch.gather(torch.arange(len(batch))), []
    for hidden in (None, (1, slice(0, 4)), (slice(0, 5), 1)):
        inputs = batch["inputs"].clone()
        if hidden is not None:
            inputs[:, hidden[0], hidden[1]] = 0
        with torch.no_grad():
            off = batch["weights"] * (network(inputs) - batch["target"]) ** 2
        errors.append(float(off.sum() / batch["weights"].sum()))
    np.testing.assert_allclose(table[["lag 4", "level 1"]], np.array(errors[1:]) / errors[0] - 1, atol=SUMS32)


def test_what_is_hidden_is_the_past_alone():
    inputs = torch.ones(2, 7, 3 + 5, 3, 5)
    every = list(list_hidden(inputs, ["lag 2", "lag 1"], ["u", "v", "w"]))
    assert [name for _, name, _ in every] == ["lag 2", "lag 1", "u", "v", "w"]
    for _, _, hidden in every:
        assert hidden[:, 2:].all() and hidden[:, :2].sum() < inputs[:, :2].sum() and hidden[:, :, 4:].all()


def test_maps_are_those_of_the_network_under_coordinates_of_the_data(run, explained):
    maps = load_explanation(explained[0])
    assert [item.mode for item in maps.average] == ["time", "channel", "lat", "lon"]
    time, channel, lat, lon = maps.average
    assert time.key_labels == ("lag 5", "lag 4", "lag 3", "lag 2", "lag 1", "step 1", "step 2")
    assert channel.key_labels == tuple(name_channels(run.state)) == ("level 0", "level 1", "level 2")
    assert lat.key_labels == ("-40 – 0", "50") and lon.key_labels == ("0 – 60", "120 – 180", "240")
    frames = spread_frames(run, run.prepared)
    found = module_of(run).network.forward_with_maps(frames.gather(torch.arange(len(frames)))["inputs"])[1][0]
    for item, expected in zip(maps.average, found, strict=True):
        np.testing.assert_allclose(item.weights, expected.detach().mean(0), atol=SUMS32)
        np.testing.assert_allclose(item.weights.sum(-1), 1, rtol=LONG32)
    assert maps.last[0].sample == "fields until 2005-07-15" and "attends to" in "".join(explained[1].notes)


@pytest.mark.parametrize("name", ["none", "fno_grid_forecaster"])
def test_what_attends_to_nothing_has_no_maps(tmp_path, name):
    fields = {"name": name} | ({"dim": 8, "num_blocks": 1} if name != "none" else {})
    path, training = write_npz(tmp_path / "sst.npz", make_field(60)[:, :1]), {"epochs": 1}
    np.savez(path, rain=make_field(60)[:, 0], axes=np.array(["time", "x"]))
    config = GridConfig(data=str(path), context=4, horizon=2, model=fields, budget=None, training=training)
    answer = write_explanation(lifecycle.fit_in_memory(TASK, config, path), tmp_path / "shown", {})
    names = [file.name for file in answer.files]
    assert names == ["shares.csv"] + ["without.csv"] * (name != "none")
    assert bool(answer.notes) == (name != "none")


def test_one_axis_of_space_is_a_row_without_coordinates(tmp_path):
    np.savez(tmp_path / "line.npz", rain=make_field(90)[:, 0], axes=np.array(["time", "x"]))
    config = CONFIG.replace(data=str(tmp_path / "line.npz"))
    write_explanation(lifecycle.fit_in_memory(TASK, config, tmp_path / "line.npz"), tmp_path / "shown", {})
    _, row, x = load_explanation(tmp_path / "shown").average
    assert (row.mode, row.key_labels) == ("row", ("0",)) and (x.mode, x.key_labels) == ("x", ("0 – 1", "2 – 3", "4"))


def test_a_run_is_explained_from_the_command_line(tmp_path):
    path = write_npz(tmp_path / "sst.npz", make_field(60))
    words = ("--context", 4, "--horizon", 2, "--model", "hot_grid_forecaster", "--epochs", 1)
    printed("train", "grids", "--data", path, *words, "--out", tmp_path / "run")
    said = printed("explain", tmp_path / "run")
    assert "The network errs most without lag" in said and "block 0" in said
    assert (tmp_path / "run" / "explanation" / "average-lat-block0.png").is_file()
