"""The benchmarks' own checks: they pass on what is right and stop on what is wrong."""

import pytest
import torch
from benchmarks import additive, images, long_graph, volume_memory, volumes
from benchmarks.comparison import same_answers


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
