"""Samples with classes: gathered by index, taken by rows, counted."""

import collections

import numpy as np
import torch

from multiway.data.checking import check_repeats
from multiway.data.findings import Findings
from multiway.data.samples import UNKNOWN, Prepared, Samples


def samples() -> Samples[torch.Tensor]:
    return Samples(
        source="x",
        inputs=torch.arange(10, dtype=torch.uint8).reshape(5, 2), target=np.array([0, 2, 2, UNKNOWN, 0]),
        classes=("a", "b", "c"), names={"file": list("vwxyz")}, groups=("p", "p", "q", "r", "r"),
        decode=lambda kept: kept.float() / 2,
    )  # fmt: skip


def test_batches_are_decoded_and_keep_order():
    batch = samples().gather(torch.tensor([4, 1]))
    assert batch["inputs"].tolist() == [[4.0, 4.5], [1.0, 1.5]] and batch["target"].tolist() == [0, 2]
    assert [len(each["target"]) for each in samples().batches(2)] == [2, 2, 1]


def test_rows_bring_their_names_classes_and_groups():
    taken = samples().take(np.array([3, 0]))
    assert (taken.names, taken.groups, taken.truth.tolist()) == ({"file": ("y", "v")}, ("r", "p"), [UNKNOWN, 0])
    assert taken.counts() == {"samples": 2, "groups": 2, "classes": {"a": 1, "b": 0, "c": 0}}


def test_later_samples_have_no_splits_and_are_all_of_any():
    later = Prepared(raw=samples(), encoded=samples(), state=None)
    assert later.rows("all").tolist() == [0, 1, 2, 3, 4] and len(later.part("test")) == 5
    split = Prepared(raw=samples(), encoded=samples(), state=None, splits={"test": np.array([1, 2])})
    assert split.part("test").names == {"file": ("w", "x")}


def test_a_sample_is_called_by_its_row_else_by_its_name_else_by_its_position():
    known = {"inputs": np.zeros(3), "source": "a.csv", "rows": np.array([7, 5, 9]), "names": {"file": ["x", "y", "z"]}}
    called = []
    for left_out in ((), ("rows",), ("rows", "names")):
        samples = Samples(**{name: value for name, value in known.items() if name not in left_out})
        called.append(samples.labels_of(np.array([2, 0])))
    assert called == [["row 9", "row 7"], ["z", "x"], ["2", "0"]]


def test_repeats_are_told_by_comparing_each_row_with_all_before_it():
    """They were once found by pairs: rows of few different values took hours."""
    chance = np.random.default_rng(0)
    inputs, target, split = chance.integers(0, 12, (60, 1)), chance.integers(0, 2, 60), chance.integers(0, 3, 60)
    rows = Samples(source="x", inputs=inputs, target=target, rows=np.arange(60))
    findings = Findings("x")
    repeated = check_repeats(rows, {str(part): np.flatnonzero(split == part) for part in range(3)}, findings)
    before = [[other for other in range(row) if inputs[other] == inputs[row]] for row in range(60)]
    repeats = [row for row in range(60) if target[row] in target[before[row]]]
    seen = collections.defaultdict(set)
    for row in range(60):
        seen[int(inputs[row, 0])].add(target[row])
    torn = [row for row in range(60) if row not in repeats and len(seen[int(inputs[row, 0])]) == 2]
    across = [row for row in range(60) if before[row] and split[before[row][0]] != split[row]]
    assert repeated == len(repeats) and [found.count for found in findings.found] == [
        *map(len, (across, repeats, torn))
    ]
    assert [[place.row for place in found.places] for found in findings.found] == [
        [*rows][:20] for rows in (across, repeats, torn)
    ]


def test_as_many_repeats_as_a_small_file_can_hold_are_counted():
    rows = Samples(source="x", inputs=np.zeros((300_000, 1)), target=np.zeros(300_000))
    assert check_repeats(rows, {"train": np.arange(300_000)}, Findings("x")) == 299_999
