"""A run from file to folder: what it holds, what it refuses, what it never looks at."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from multiway.errors import ConfigError, DataError, MultiwayWarning, RunError
from multiway.tasks import lifecycle
from multiway.tasks.forecasting.bands import Bands
from multiway.tasks.forecasting.encode import prepare_panel
from multiway.tasks.forecasting.task import TASK
from multiway.tasks.forecasting.windows import Windows
from multiway.tasks.run import save_run
from tasks.forecasting.panels import HORIZON, LOOKBACK, TINY, fitted, forecast, make_config, make_frame
from tolerances import COARSE32, ROUNDING32, SUMS32

FILES = {
    "config.yaml", "weights.safetensors", "preprocessing.json", "metrics.jsonl", "manifest.json", "predictions.parquet",
    "scores.json", "errors.parquet", "calibration.safetensors", "explanation/average.npz", "explanation/last.npz",
    "page.json",
}  # fmt: skip


def test_a_run_folder_holds_everything_and_no_more(finished):
    folder = finished.folder.path
    assert {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} == FILES


def test_window_counts_are_rows_less_lookback_and_horizon(finished):
    counts = {name: (part["rows"], part["windows"]) for name, part in finished.facts["splits"].items()}
    assert counts == {"train": (210, 210 - 16 + 1), "validation": (30, 30 - 3), "test": (60, 60 - 3)}


def test_the_coverage_is_of_the_test_rows(finished):
    test = finished.prepared.windows["test"]
    batch = test.gather(torch.arange(len(test)))
    with torch.no_grad():
        error = batch["future"] - finished.model(batch["past"])
    low, high = Bands.read(finished.calibration).edges((80.0, 95.0))[:, :, None].unbind(1)
    inside = ((low <= error) & (error <= high)).double().mean((1, 3))
    assert [row["level"] for row in finished.facts["coverage"]] == [80.0, 95.0]
    for row, by_step in zip(finished.facts["coverage"], inside, strict=True):
        assert row["by_step"] == pytest.approx((100 * by_step).tolist())


def test_the_test_windows_are_gone_over_once(monkeypatch):
    gone_over = []

    def batches(windows, *chosen):
        gone_over.append(windows)
        return original(windows, *chosen)

    original = Windows.batches
    monkeypatch.setattr(Windows, "batches", batches)
    run = fitted(make_frame())
    assert sum(windows is run.prepared.windows["test"] for windows in gone_over) == 1
    assert sum(windows is run.prepared.windows["validation"] for windows in gone_over) > 1


def test_every_model_is_scored_on_validation_and_test_on_both_scales(finished):
    rows = pd.DataFrame(finished.scores)
    assert set(rows["model"]) == {"multiway", "ridge", "network", "seasonal_naive", "naive"}
    on_both, of_bands = {"mse", "mae"}, {"coverage_80", "coverage_95"}
    of_file = {"rmse", "wape", "smape", "pinball", "crps", "wql"}
    for (model, scale, _), part in rows.groupby(["model", "scale", "split"]):
        alone = {"mase", "sql"} if scale == "scaled" else of_file | (of_bands if model == "multiway" else set())
        assert sorted(part["metric"]) == sorted(on_both | alone)
    assert np.isfinite(rows["value"]).all()


def test_scores_are_the_means_of_the_errors_by_step_and_variate(finished):
    errors = pd.read_parquet(finished.folder.path / "errors.parquet")
    assert len(errors) == 2 * 5 * HORIZON * 3
    mean = errors.query("split == 'test' and model == 'ridge'")["mse"].mean()
    score = next(
        row["value"]
        for row in finished.scores
        if (row["model"], row["split"], row["scale"], row["metric"]) == ("ridge", "test", "scaled", "mse")
    )
    assert mean == pytest.approx(score)


def test_a_loaded_run_forecasts_the_same(finished, data_file):
    loaded = lifecycle.load(finished.folder.path)
    pd.testing.assert_frame_equal(forecast(loaded, str(data_file)), forecast(finished, str(data_file)))
    stored = pd.read_parquet(finished.folder.path / "predictions.parquet")
    np.testing.assert_allclose(stored["multiway"], forecast(loaded, str(data_file))["multiway"], rtol=ROUNDING32)
    assert loaded.scores == finished.scores and TASK.sentence(loaded) == TASK.sentence(finished)


def test_a_changed_file_is_noticed(finished, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(finished.folder.path, copy)
    scores = json.loads((copy / "scores.json").read_text())
    scores[0]["value"] = 0.0
    (copy / "scores.json").write_text(json.dumps(scores))
    with pytest.raises(RunError, match=r"changed or missing since training: scores\.json"):
        lifecycle.load(copy)


def test_a_bad_file_leaves_no_folder(data_file, tmp_path):
    text = data_file.read_text().replace("2024-01-02 05:00:00", "yesterday")
    data_file.write_text(text)
    with pytest.raises(DataError, match="yesterday"):
        lifecycle.start(TASK, make_config(data=str(data_file)), tmp_path / "run")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["loads.csv"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"horizon": 200}, r"split: train has 210 rows and one window needs 212 \(lookback 12, horizon 200"),
        ({"horizon": 50, "split": {"train": 0.7}}, r"split: validation has 30 rows and one window needs 50"),
        ({"lookback": 220}, r"train has 210 rows"),
    ],
)
def test_a_series_too_short_is_refused_with_its_lengths(data_file, tmp_path, change, message):
    with pytest.raises(DataError, match=message):
        lifecycle.start(TASK, make_config(data=str(data_file), network=False, **change), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_model_that_cannot_be_built_is_refused_before_anything_is_read():
    with pytest.raises(ConfigError, match=r"dim must be an even multiple of num_heads"):
        make_config(model={**TINY, "dim": 9})
    with pytest.raises(ConfigError, match=r"patch_size is not a known field, did you mean patch_length"):
        make_config(model={"patch_size": 4})
    with pytest.raises(
        ConfigError, match=r"model.name must be one of hot_forecaster, hot_forecaster_later, hot_forecaster_paper"
    ):
        make_config(model={"name": "hot_volume_classifier"})
    with pytest.raises(ConfigError, match=r"model.horizon is set by the horizon of the run. Set horizon instead"):
        make_config(model={"horizon": 4})
    with pytest.raises(ConfigError, match=r"model.num_variates is set by the data"):
        make_config(model={"num_variates": 4})
    with pytest.raises(
        ConfigError, match=r"lookback must be a multiple of patch_length. Got lookback=30, patch_length=4"
    ):
        make_config(model={"name": "hot_forecaster_paper"}, lookback=30)
    assert make_config(model={"dim": 9}, network=False).network is False


def test_levels_are_sorted_percentages():
    assert make_config(levels=(95, 80, 80.0)).levels == (80.0, 95.0)
    with pytest.raises(ConfigError, match=r"levels are percentages, from 1 to less .* Got 0\.8; did you mean 80\?"):
        make_config(levels=(0.8,))
    bands = Bands(torch.tensor([0.1, 0.9]), torch.zeros(2, 1, 1))
    with pytest.raises(ConfigError, match=r"predict: levels are percentages.* Got 0\.9; did you mean 90\?$"):
        bands.edges([0.9])


def test_times_without_a_step_are_refused_before_the_training(frame, tmp_path):
    rng = np.random.default_rng(0)
    frame["date"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.cumsum(rng.integers(1, 90, len(frame))), unit="min")
    path = tmp_path / "loads.csv"
    frame.to_csv(path, index=False)
    with pytest.raises(DataError, match="step between times is unknown"):
        lifecycle.start(TASK, make_config(data=str(path), read={"gaps": "ignore"}), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_split_without_a_value_is_refused(frame):
    frame.loc[210:240, ["series 0", "series 2"]] = np.nan
    frame.loc[:250, "series 1"] = np.nan
    said = r"series 0, series 1, series 2 has no value in the validation rows, 2024-01-09 .* Leave it out"
    with pytest.raises(DataError, match=said):
        fitted(frame, read={"missing": "mask"})


def test_a_run_is_reproduced_to_the_bit(frame):
    first, second = fitted(frame), fitted(frame)
    for (name, one), (_, other) in zip(
        first.model.state_dict().items(), second.model.state_dict().items(), strict=True
    ):
        assert torch.equal(one, other), name
    assert first.scores == second.scores and torch.equal(first.calibration["offsets"], second.calibration["offsets"])


def test_another_seed_is_another_network_over_the_same_ridge(frame):
    first, second = fitted(frame), fitted(frame, training={"epochs": 1, "seed": 1})
    assert torch.equal(first.model.floor.weight, second.model.floor.weight)
    assert not torch.equal(first.model.network.head.linear.weight, second.model.network.head.linear.weight)


def test_test_rows_reach_nothing_but_the_test_scores(frame):
    other = frame.copy()
    other.iloc[240:, 1:] = 17.0 * other.iloc[240:, 1:] + 1000
    first = fitted(frame)
    with pytest.warns(MultiwayWarning, match=r"interval held \d % of the test values: .* harder"):
        second = fitted(other)
    for (name, one), (_, changed) in zip(
        first.model.state_dict().items(), second.model.state_dict().items(), strict=True
    ):
        assert torch.equal(one, changed) or name.startswith("refits.future."), name
    assert (
        torch.equal(first.calibration["offsets"], second.calibration["offsets"])
        and first.facts["selection"] == second.facts["selection"]
    )
    validation = [[row for row in each.scores if row["split"] == "validation"] for each in (first, second)]
    assert validation[0] == validation[1] and first.scores != second.scores


def test_validation_rows_choose_and_teach_nothing(frame):
    other = frame.copy()
    other.iloc[210:, 1:] += 5 * np.random.default_rng(1).standard_normal((90, 3)) * [1, 10, 100]
    first, second = (prepare_panel(make_config(), each) for each in (frame, other))
    np.testing.assert_array_equal(first.scaler.mean, second.scaler.mean)
    a, b = (each.windows["train"].gather(torch.arange(195))["future"] for each in (first, second))
    assert torch.equal(a, b)


def test_the_forecast_is_the_blend_that_was_chosen(frame):
    run = fitted(frame)
    ridge, network = (run.model.names.index(name) for name in ("ridge", "network"))
    past = torch.randn(5, LOOKBACK, 3, generator=torch.Generator().manual_seed(0))
    run.model.weight.zero_()
    run.model.weight[ridge], run.model.weight[network] = 0.75, 0.25
    with torch.no_grad():
        every = run.model.all_forecasts(past)
        torch.testing.assert_close(every["multiway"], 0.75 * every["ridge"] + 0.25 * every["network"])
        torch.testing.assert_close(run.model(past), every["multiway"])
        run.model.weight[ridge, :2], run.model.weight[network, :2] = 0.0, 1.0
        mixed = torch.cat([every["network"][:, :2], every["multiway"][:, 2:]], 1)
        assert torch.equal(run.model(past), mixed) and torch.equal(run.model.all_forecasts(past)["multiway"], mixed)
        for position, name in ((ridge, "ridge"), (network, "network")):
            run.model.weight.zero_()[position] = 1.0
            assert torch.equal(run.model.all_forecasts(past)["multiway"], every[name])
            assert torch.equal(run.model(past), every[name])


def test_the_choice_can_be_made_beforehand(frame):
    assert fitted(frame, answer="network").facts["selection"]["weight"] == 1
    assert fitted(frame, answer="ridge").facts["selection"]["weight"] == 0


def test_selection_reads_the_errors_it_reports(frame):
    run = fitted(frame)
    scores = {
        row["model"]: row["value"]
        for row in run.scores
        if (row["split"], row["scale"], row["metric"]) == ("validation", "scaled", "mse")
    }
    chosen = run.facts["selection"]
    assert chosen["errors"] == pytest.approx({name: scores[name] for name in chosen["errors"]}, rel=SUMS32)
    assert set(chosen["errors"]) >= {"multiway", "ridge", "network"} and chosen["windows"] == chosen["validation"]


def test_ridge_alone_trains_nothing(frame):
    run = fitted(frame, network=False)
    assert run.facts["best"] == {} and run.facts["selection"]["weights"] == {"ridge": 1.0}
    assert {row["model"] for row in run.scores} == {"multiway", "ridge", "seasonal_naive", "naive"}


@pytest.mark.parametrize("network", [True, False])
def test_missing_cells_go_through_scaler_ridge_network_and_scores(frame, network):
    holes = np.random.default_rng(2).random((300, 3)) < 0.1
    frame.iloc[:, 1:] = frame.iloc[:, 1:].mask(holes)
    run = fitted(frame, network=network, read={"missing": "mask"})
    assert all(np.isfinite(row["value"]) for row in run.scores)
    errors = TASK.predict(run, run.prepared, "test").errors["ridge"]
    assert int(errors.count.max()) < len(run.prepared.windows["test"])


def test_a_constant_column_is_forecast_as_that_number(frame):
    frame["series 1"] = 7.0
    table = forecast(fitted(frame, network=False), frame).query("unique_id == 'series 1'")
    np.testing.assert_allclose(table["multiway"], 7.0)
    assert np.isfinite(table.filter(like="lo").to_numpy()).all()


def test_a_large_offset_does_not_change_the_scores(frame):
    high = frame.copy()
    high["series 0"] += 1e8
    plain, offset = (
        [row["value"] for row in fitted(each, network=False).scores if row["scale"] == "scaled"]
        for each in (frame, high)
    )
    np.testing.assert_allclose(plain, offset, rtol=COARSE32)


def test_resuming_a_finished_run_loads_it_and_takes_away_what_a_kill_after_the_seal_left(finished):
    state = finished.folder.path / "state" / "part"
    state.mkdir(parents=True)
    (state / "model.safetensors").write_bytes(b"left")
    assert lifecycle.continue_run(finished.folder.path).scores == finished.scores
    assert not state.parent.exists()


def test_an_existing_folder_is_refused(finished, data_file):
    with pytest.raises(RunError, match="exists already"):
        lifecycle.start(TASK, make_config(data=str(data_file)), finished.folder.path)


def test_a_run_needs_data(tmp_path: Path):
    with pytest.raises(RunError, match="needs data"):
        lifecycle.start(TASK, make_config(), tmp_path / "run")


def test_a_long_file_is_as_good_as_a_wide_one(frame):
    long = frame.melt("date", var_name="unique_id", value_name="y").rename(columns={"date": "ds"})
    assert fitted(long, network=False).scores == fitted(frame, network=False).scores


def test_one_variate_and_one_step_work():
    run = fitted(make_frame(variates=1), horizon=1)
    assert all(np.isfinite(row["value"]) for row in run.scores)


@pytest.mark.slow
def test_the_paper_s_size_is_trained_by_its_name_and_reloads(tmp_path):
    """Its patches of four steps stand, though the look-back would allow longer ones."""
    frame = pd.DataFrame(np.random.default_rng(5).standard_normal((2300, 21))).add_prefix("series ")
    run = fitted(
        frame, lookback=96, horizon=720, split={"train": 0.36, "test": 0.32}, answer="network", levels=[80],
        model={"name": "hot_forecaster_paper"},
    )  # fmt: skip
    network = run.models["multiway"].network
    assert sum(parameter.numel() for parameter in network.parameters()) == 619_472
    assert (network.config.patch_length, network.config.horizon, network.config.num_variates) == (4, 720, 21)
    save_run(run, tmp_path / "run")
    loaded = lifecycle.load(tmp_path / "run")
    assert loaded.config.model_name == "hot_forecaster_paper"
    pd.testing.assert_frame_equal(forecast(loaded, frame), forecast(run, frame))


@pytest.mark.parametrize("first", ["1677-09-20", "2262-04-01", "9990-01-01"])
def test_times_where_nanoseconds_end_are_read_as_any_others(first, tmp_path):
    frame = make_frame(rows=220)
    frame[frame.columns[0]] = np.datetime_as_string(np.datetime64(first, "h") + np.arange(220))
    frame.to_csv(tmp_path / "loads.csv", index=False)
    run = lifecycle.start(TASK, make_config(data=str(tmp_path / "loads.csv"), network=False), tmp_path / "run")
    ahead = TASK.answer(run, str(tmp_path / "loads.csv"), None, {}).frame
    wanted = np.datetime64(first, "h") + np.arange(220, 220 + HORIZON)
    assert (ahead[frame.columns[0]].to_numpy("datetime64[h]")[:HORIZON] == wanted).all()
    assert f"{first[:4]}-" in TASK.page.report([run])
