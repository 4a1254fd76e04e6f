"""Rollout equals the dense product it avoids, and deletion hides what it says."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from multiway.errors import ShapeError
from multiway.explain import (
    average_curves,
    deletion_curves,
    rollout_to_voxels,
    slice_labels,
    token_rollout,
)
from multiway.explain.voxels import SHARES
from tolerances import SUMS32, SUMS64

SIZES = (2, 3, 5)


def random_maps(generator, batch=2, heads=3, blocks=2, sizes=SIZES):
    return [
        [torch.randn(batch, heads, n, n, generator=generator, dtype=torch.float64).softmax(-1) for n in sizes]
        for _ in range(blocks)
    ]


def dense_rollout(maps, sample, combine):
    """Build every block's whole attention, heads averaged, and multiply: the thing that never needs to exist."""
    count = int(np.prod([mode.shape[-1] for mode in maps[0]]))
    total = np.eye(count)
    for block in maps:
        heads = []
        for head in range(block[0].shape[1]):
            factors = [mode[sample, head].numpy() for mode in block]
            eyes = [np.eye(len(factor)) for factor in factors]
            if combine == "product":
                heads.append(np.kron(np.kron(factors[0], factors[1]), factors[2]))
            else:
                alone = [[*eyes[:i], factors[i], *eyes[i + 1 :]] for i in range(3)]
                heads.append(np.mean([np.kron(np.kron(a, b), c) for a, b, c in alone], axis=0))
        total = (np.mean(heads, axis=0) + np.eye(count)) / 2 @ total
    return total.mean(axis=0).reshape([mode.shape[-1] for mode in maps[0]])


@pytest.mark.parametrize("combine", ["product", "sum"])
def test_rollout_equals_the_dense_product_over_blocks(generator, combine):
    maps = random_maps(generator)
    found = token_rollout(maps, combine=combine)
    for sample in range(2):
        np.testing.assert_allclose(found[sample].numpy(), dense_rollout(maps, sample, combine), rtol=SUMS64)
        assert found[sample].sum().item() == pytest.approx(1)


def test_an_even_look_is_one_in_every_voxel():
    even = [[torch.full((1, 2, n, n), 1 / n) for n in SIZES]]
    found = rollout_to_voxels(even, (7, 11, 13))
    assert found.shape == (1, 7, 11, 13)
    torch.testing.assert_close(found, torch.ones_like(found))


def test_voxels_of_a_token_that_is_looked_at_stand_out():
    """All look at token (1, 2, 4) through two blocks; its voxels lie where the axes say."""
    block = []
    for size in SIZES:
        look = torch.zeros(1, 1, size, size)
        look[..., -1] = 1
        block.append(look)
    found = rollout_to_voxels([block, block], (8, 12, 20))[0]
    assert np.unravel_index(int(found.argmax()), found.shape) >= (6, 10, 18)
    assert found[-1, -1, -1] > 20 > 1 > found[0, 0, 0]
    np.testing.assert_allclose(token_rollout([block, block])[0, 1, 2, 4], 0.75 + 0.25 / 30)


def test_a_sample_alone_is_as_in_a_batch(generator):
    maps = random_maps(generator, batch=3)
    alone = [[mode[1:2] for mode in block] for block in maps]
    assert torch.equal(rollout_to_voxels(maps, (8, 12, 20))[1:2], rollout_to_voxels(alone, (8, 12, 20)))


def test_maps_that_do_not_fit_are_named(generator):
    maps = random_maps(generator)
    with pytest.raises(ShapeError, match=r"Got sizes=\(8, 8\) for 3 modes"):
        rollout_to_voxels(maps, (8, 8))
    with pytest.raises(ShapeError, match="Got no map"):
        token_rollout([])
    with pytest.raises(ShapeError, match="square maps"):
        token_rollout([maps[0], maps[1][:2]])


def test_deletion_hides_the_most_important_blocks_first():
    """The score counts what is left of a weight per block: hiding by that weight falls as its sorted sum."""
    volume, weight = torch.ones(1, 4, 4, 6), torch.arange(12.0).reshape(2, 2, 3)
    voxels = weight.repeat_interleave(2, 0).repeat_interleave(2, 1).repeat_interleave(2, 2)

    def score(batch):
        return (batch[:, 0] * voxels).flatten(1).sum(1) / voxels.sum()

    found = deletion_curves(score, volume, {"right": voxels, "wrong": -voxels}, block=2, draws=64, shares=(0, 0.25, 1))
    np.testing.assert_allclose(found.marked["right"], [1, 1 - (11 + 10 + 9) / 66, 0], rtol=SUMS32, atol=SUMS32)
    np.testing.assert_allclose(found.marked["wrong"], [1, 1 - (0 + 1 + 2) / 66, 0], rtol=SUMS32, atol=SUMS32)
    assert found.random[1] == pytest.approx(0.75, abs=0.05)  # 64 draws of 3 in 12: sd of the mean is 0.02
    assert found.area("right") < found.area() < found.area("wrong")


def test_the_area_is_the_mean_score_over_the_shares():
    found = deletion_curves(lambda x: x.flatten(1).mean(1), torch.ones(1, 2, 2, 2), {}, block=1, shares=(0, 0.5, 1))
    np.testing.assert_allclose(found.random, [1, 0.5, 0])
    assert found.area() == pytest.approx(0.5)
    assert SHARES[0] == 0 and SHARES[-1] == 1 and [*SHARES] == sorted(SHARES)  # or the area is none


@pytest.mark.parametrize("sizes", [(5, 6, 7), (4, 4, 4), (3, 9, 2)], ids=str)
def test_blocks_at_the_edge_are_narrower_and_nothing_is_left_at_the_end(sizes):
    volume, seen = torch.ones(2, *sizes), []

    def score(batch):
        seen.extend(batch.mean((1, 2, 3, 4)).tolist())
        return batch.mean((1, 2, 3, 4))

    importance = torch.zeros(sizes)
    importance[-1, -1, -1] = 1
    found = deletion_curves(score, volume, {"corner": importance}, block=4, draws=1, shares=(0, 1e-9, 1), batch_size=2)
    blocks = [-(-size // 4) for size in sizes]
    assert (seen[0], seen[2]) == (1, 0)
    one = deletion_curves(score, volume, {"corner": importance}, block=4, draws=1, shares=(1 / np.prod(blocks),))
    corner = np.prod([size - 4 * (count - 1) for size, count in zip(sizes, blocks, strict=True)])
    assert one.marked["corner"][0] == pytest.approx(1 - corner / np.prod(sizes))
    assert found.marked["corner"][-1] == 0


def test_an_importance_of_another_shape_is_refused():
    with pytest.raises(ShapeError, match=r"attention must be of the volume's sizes \(2, 2, 2\)"):
        deletion_curves(lambda x: x, torch.ones(1, 2, 2, 2), {"attention": torch.ones(2, 2, 3)})


def test_curves_are_averaged_where_all_have_them():
    one, two = (
        deletion_curves(
            lambda x, k=k: k * x.flatten(1).mean(1), torch.ones(1, 2, 2, 2), {n: torch.ones(2, 2, 2) for n in names}
        )
        for k, names in ((1, ("attention", "gradients")), (3, ("attention",)))
    )
    found = average_curves([one, two])
    assert list(found.marked) == ["attention"]
    np.testing.assert_allclose(found.random, (one.random + two.random) / 2)
    with pytest.raises(ShapeError, match="Got no curve"):
        average_curves([])


def test_tokens_are_named_by_their_slices():
    assert slice_labels(9, 4) == ("slices 0–3", "slices 4–7", "slice 8")
    assert slice_labels(8, 4, 2.5) == ("slices 0–3, 0–10 mm", "slices 4–7, 10–20 mm")
    assert slice_labels(9, 4, 2, first=1) == ("slices 1–4, 0–8 mm", "slices 5–8, 8–16 mm", "slice 9, 16–18 mm")
    with pytest.raises(ShapeError, match="Got slices=8, stride=0"):
        slice_labels(8, 0)


def test_the_classifiers_own_maps_are_taken(generator):
    from multiway.models import create_model

    model = create_model("hot_volume_classifier", sizes=(9, 8, 12), dim=16, num_heads=2, stem_channels=4).eval()
    with torch.no_grad():
        maps = model.forward_with_maps(torch.randn(2, 1, 9, 8, 12, generator=generator))[1]
    found = rollout_to_voxels(maps, (9, 8, 12))
    tokens = token_rollout(maps)
    assert tokens.shape == (2, 3, 2, 3)
    wanted = F.interpolate(18 * tokens[:, None], size=(9, 8, 12), mode="trilinear")[:, 0]
    torch.testing.assert_close(found.double(), wanted, rtol=SUMS32, atol=SUMS32)
    assert all(tokens[sample].std() > 0 for sample in range(2))
