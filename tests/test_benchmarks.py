"""The benchmarks' own checks: they pass on what is right and stop on what is wrong."""

import pandas as pd
import pytest
import torch
from benchmarks import additive, choices, images, long_graph, volume_memory, volumes
from benchmarks.comparison import same_answers
from benchmarks.race import Curve

from multiway.models.windows import WindowBaseline
from tasks.forecasting.panels import make_frame, make_windows


def test_networks_of_volumes_are_checked_before_they_are_timed():
    volumes.check()


def test_the_two_loops_over_images_are_compared_before_they_are_timed(monkeypatch):
    for model in images.CASES.values():
        images.check(model, 2 * images.BATCH)
    monkeypatch.setattr(images, "TRAINING", images.TRAINING.replace(label_smoothing=0.5))
    with pytest.raises(RuntimeError, match="of their way apart"):
        images.check("cnn_image_classifier_paper", images.BATCH)


def test_a_wrong_network_is_not_timed(monkeypatch):
    forward = volumes.Formed.forward
    monkeypatch.setattr(volumes.Formed, "forward", lambda self, x: forward(self, x.transpose(1, 2)).transpose(1, 3))
    with pytest.raises(AssertionError, match="not close"):
        next(volumes.run(1, ["throughput"]))


def test_a_case_becomes_a_row_and_lines_of_a_table():
    case = volumes.Case(
        name="tiny",
        networks={"hot": volumes._hot(8), "full": volumes._hot(8, attention="full")},
        sizes=(8, 8, 8),
        batch=2,
        time_bars={"full": 1e9},
        memory_bars={"full": 0.0},
    )
    row = volumes._train(case, "bfloat16", 1)
    assert row["parameters"]["full"] < row["parameters"]["hot"]
    assert row["met"] == {"time": {"full": False}, "memory": {"full": True}}
    head, ours, theirs = volumes.table([row])
    assert head.split()[:3] == ["case", "type", "network"]
    assert ours.split()[:3] == ["tiny", "bfloat16", "hot"]
    assert theirs.endswith("*")
    assert f"{row['times_slower_than_ours']['full']:.2f}x-" in theirs


@pytest.mark.slow
def test_peak_memory_is_that_of_a_step_in_its_own_process():
    check_peak(volumes.peak_of({**STEP, "dtype": "bfloat16"}, threads=1))
    assert torch.get_num_threads() == 1


def test_so_is_that_of_a_step_in_this_one():
    check_peak(volume_memory.step({**STEP, "dtype": "float32"}))


STEP = {"model": "hot_volume_classifier", "fields": {}, "sizes": [8, 8, 8], "batch": 2}


def check_peak(step):
    assert 0 < step["before_gb"] <= step["peak_gb"] < step["before_gb"] + 0.2
    assert step["parameters"] == sum(each.numel() for each in volumes._hot(8)().parameters())


def test_a_long_sequence_is_a_row_with_time_and_peak_of_every_layer(monkeypatch):
    monkeypatch.setattr(long_graph, "LENGTHS", {"16k": 700})
    monkeypatch.setattr(long_graph, "peak_of", lambda case, threads, module: long_graph.step(case))
    (row,) = long_graph.run(1, None)
    assert set(row["step_s"]) == set(row["peak_gb"]) == {"graph", "full", "linear"}
    assert row["met"] == {"peak_gb": None, "full": row["times_slower_than_ours"]["full"] >= 10}
    head, line = long_graph.table([row])
    assert head.split()[:3] == ["length", "graph", "ms"] and line.split()[0] == "700"


def test_additive_attention_is_compared_before_it_is_timed():
    torch.manual_seed(0)
    ours, plain, x = additive.mnn.AdditiveAttention(19), additive.Plain(19), torch.randn(2, 7, 19)
    plain.load_state_dict(ours.state_dict())
    same_answers(ours, plain, x)
    plain.score.data.mul_(2)
    with pytest.raises(AssertionError, match="not close"):
        same_answers(ours, plain, x)


def test_every_choice_changes_the_default():
    configs = {name: choices.settings_of("ett_h1", name, 96, 0) for name in choices.CHOICES}
    default = configs.pop("default")
    assert all(config.plain() != default.plain() for config in configs.values())
    assert len({str(config.plain()) for config in configs.values()}) == len(configs)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The .* interval held")  # of a fifth unlike the others
def test_a_choice_never_sees_the_test_rows(monkeypatch, tmp_path):
    monkeypatch.setattr(choices.datasets, "locate", lambda name: str(tmp_path / f"{name}.csv"))
    monkeypatch.setattr(choices, "ROWS", {"panel": 300, "other end": 300, "other start": 300})
    monkeypatch.setattr(choices, "FIFTHS", 2)
    monkeypatch.setitem(choices.CHOICES, "default", {"model": {"dim": 8}, "training": {"epochs": 1}})
    frame, scored = make_frame(400), {}
    for name, changed in (("panel", slice(0, 0)), ("other end", slice(300, 400)), ("other start", slice(0, 100))):
        other = frame.copy()
        other.iloc[changed, 1:] += 9.0
        other.to_csv(tmp_path / f"{name}.csv", index=False)
        (row,) = choices.rows([name], ["default"], 5, 1)
        scored[name] = [row[key] for key in choices.PARTS]
    assert scored["panel"] == scored["other end"] != scored["other start"]


def test_every_row_is_scored_in_one_fifth(rows=23):
    frame = pd.DataFrame({"date": range(rows), "x": range(rows), "y": range(100, 100 + rows)})
    turned = [choices.rotated(frame, fifth) for fifth in range(choices.FIFTHS)]
    scored = [set(each.x[-(rows // choices.FIFTHS) :]) for each in turned]
    assert not set.intersection(*scored) and sum(map(len, scored)) == len(set.union(*scored)) == 20
    assert all(list(each.date) == list(frame.date) and (each.y == each.x + 100).all() for each in turned)


def test_a_race_knows_when_a_figure_is_reached():
    windows = make_windows(60, 2, 6, 5)
    curve = Curve(windows)
    curve(WindowBaseline("mean", num_variates=2, lookback=6, horizon=5, num_targets=None))
    future = windows.gather(torch.arange(len(windows)))["future"]
    assert curve.errors == [round(future.square().mean().item(), 4)]  # what is not fitted forecasts zeros
    curve.seconds, curve.errors = [1.0, 2.0, 3.0], [0.5, 0.4, 0.45]
    assert curve.first_below(0.45) == 2.0 and curve.first_below(0.39) is None
