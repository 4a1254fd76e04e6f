"""Shares of maps that Kronecker terms hold, against numpy's singular values; what the command trains and refuses."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from multiway.errors import ConfigError
from multiway_papers import reproduce
from multiway_papers.effective_rank import NETWORKS, STEPS, TERMS, maps_of, measure_ranks, share_found, share_held


def softmax_map(*sizes, seed=0):
    scores = np.random.default_rng(seed).normal(size=(np.prod(sizes),) * 2) * 2
    weights = np.exp(scores)
    return weights / weights.sum(1, keepdims=True)


def test_shares_of_two_modes_are_those_of_the_singular_values_of_the_map_put_block_by_block():
    matrix = softmax_map(3, 5)
    blocks = [matrix[5 * i : 5 * i + 5, 5 * j : 5 * j + 5].ravel() for i in range(3) for j in range(3)]
    squares = np.linalg.svd(np.stack(blocks), compute_uv=False) ** 2
    expected = [squares[:count].sum() / squares.sum() for count in TERMS]
    np.testing.assert_allclose(share_held(torch.from_numpy(matrix), (3, 5)), expected, rtol=0, atol=1e-13)


def test_of_three_modes_the_split_that_holds_least_bounds_what_terms_hold():
    matrix = softmax_map(2, 3, 5)
    held = []
    for mode in range(3):
        grid = np.moveaxis(matrix.reshape(2, 3, 5, 2, 3, 5), (mode, 3 + mode), (0, 1))
        squares = np.linalg.svd(grid.reshape(grid.shape[0] ** 2, -1), compute_uv=False) ** 2
        held.append([squares[:count].sum() / squares.sum() for count in TERMS])
    bound = share_held(torch.from_numpy(matrix), (2, 3, 5))
    np.testing.assert_allclose(bound, np.min(held, axis=0), rtol=0, atol=1e-13)
    found = [share_found(torch.from_numpy(matrix), (2, 3, 5), count) for count in TERMS]
    assert all(less <= most + 1e-9 for less, most in zip(found, bound.tolist(), strict=True))
    assert found == sorted(found) and found[0] > 0.5 * bound[0]


@pytest.mark.parametrize("sizes", [(5, 7), (2, 3, 5)])
def test_one_term_holds_a_map_that_is_a_kronecker_product(sizes):
    factors = [torch.from_numpy(softmax_map(size, seed=size)) for size in sizes]
    whole = factors[0]
    for factor in factors[1:]:
        whole = torch.kron(whole, factor)
    assert share_held(whole, sizes).tolist() == pytest.approx([1.0] * len(TERMS), abs=1e-13)
    assert share_found(whole, sizes, 1) == pytest.approx(1.0, abs=1e-12)


class Two(nn.Module):
    """Two attentions one after the other, with one and the same query and key."""

    def __init__(self):
        super().__init__()
        self.project = nn.Linear(4, 4)

    def forward(self, x):
        for _ in range(2):
            heads = self.project(x)[:, None]
            x = F.scaled_dot_product_attention(heads, heads, heads)[:, 0]
        return x


def test_maps_are_the_softmax_that_the_network_applies():
    model, x = Two(), torch.randn(3, 7, 4)
    first, second = maps_of(model, x)
    assert model.training
    with torch.no_grad():
        mixed = first[:, 0].float() @ model.project(x)
        torch.testing.assert_close(second[:, 0].float() @ model.project(mixed), model(x))


def test_a_network_is_trained_for_its_steps_and_its_maps_are_taken_before_and_after(real_data):
    small = NETWORKS["ett_m1"]._replace(
        steps=12, settings={"horizon": 96, "model": {"dim": 16, "num_heads": 2, "patch_length": 16}}, sizes=(7, 6)
    )
    row = measure_ranks("ett_m1", small, 2)
    first = row["each"][0]["by_step"]
    assert list(first) == [0, 10, 12] and first[0] != first[12]
    means = np.mean([np.mean(each["by_step"][12], axis=(0, 1)) for each in row["each"]], axis=0)
    assert [row[f"rank_{count}"] for count in TERMS] == pytest.approx(means.tolist())
    assert row["random_rank_1"] < row["untrained_rank_1"] < 1 and row["shuffled_rank_8"] < row["rank_8"]
    assert row["rank_1_sd"] > 0


def test_what_such_rows_do_not_have_is_refused():
    with pytest.raises(ConfigError, match=r"networks of hot-effective-rank are set\. Leave out set\.$"):
        next(reproduce("hot-effective-rank", overrides={"model": {}}))
    with pytest.raises(ConfigError, match=r"hot-effective-rank has no row cifar; did you mean cifar10\?"):
        next(reproduce("hot-effective-rank", rows=["cifar"]))


LABELS = {
    "trained": "", "untrained": "untrained_", "trained, each row in random order": "shuffled_",
    "random rows": "random_",
    "trained, less even attention": "uneven_", "untrained, less even attention": "untrained_uneven_",
    "in random order, less even attention": "shuffled_uneven_", "trained, as terms are found": "found_",
}  # fmt: skip
SETS = {"ETTm1": "ett_m1", "Adrenal": "adrenal", "CIFAR-10": "cifar10"}


def test_the_page_has_the_shares_of_the_rows():
    root = Path(__file__).parents[2]
    rows = [json.loads(line) for line in (root / "results" / "effective-rank.jsonl").read_text().splitlines()]
    rows = {row["network"]: row for row in rows}
    page = (root / "docs" / "papers" / "kronecker-rank.md").read_text()
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("|")
    ]
    of_kinds = [line for line in lines if line[1] in LABELS]
    of_steps = [line for line in lines if line[0] in SETS]
    assert len(of_kinds) >= 7 * len(rows) and len(of_steps) == len(rows)
    for name, kind, *shares in of_kinds:
        row = rows[SETS[name.split(",")[0]]]
        assert shares == [printed(row[f"{LABELS[kind]}rank_{count}"]) for count in TERMS], (name, kind)
    for name, *shares, heads in of_steps:
        each = [
            {int(step): np.array(held)[..., 0] for step, held in one["by_step"].items()}
            for one in rows[SETS[name]]["each"]
        ]
        steps = (*STEPS, rows[SETS[name]]["steps"])
        means = ["–" if step not in each[0] else printed(np.mean([one[step] for one in each])) for step in steps]
        last = [one[steps[-1]] for one in each]
        assert shares == means and heads == f"{printed(np.min(last))} to {printed(np.max(last))}"


def printed(share):
    return f"{share:.3f}".lstrip("0")
