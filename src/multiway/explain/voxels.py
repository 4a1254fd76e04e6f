"""What a network made of a volume, voxel by voxel: attention rolled out, and a deletion test."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from multiway.errors import ShapeError

Floats = npt.NDArray[np.float64]
Marks = npt.NDArray[np.bool_]
SHARES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1.0)
INTERPOLATIONS = {1: "linear", 2: "bilinear", 3: "trilinear"}


def token_rollout(maps: Sequence[Sequence[Tensor]], *, combine: str = "product") -> Tensor:
    """How much of the pooled output each token supplies, followed through all blocks; sums to one.

    Abnar & Zuidema (2020), sec. 3: the product of (A + I) / 2 over blocks, last one leftmost, heads averaged, its
    rows averaged as mean pooling does. A is the whole attention of HOT eq. (8), Kronecker factors and all; a row
    vector is carried through the factors, so that A is never formed.

    Args:
        maps: One list per block of one `(batch, heads, size, size)` map per mode, first block first.
        combine: "product" of the modes' factors, or "sum", the mean of each mode alone.

    Shape:
        `(batch, *tokens)`, float64.

    Raises:
        ShapeError: There is no block, or the maps are not square and of the same sizes in every block.
    """
    if not maps or not maps[0]:
        raise ShapeError("token_rollout: nothing to roll out. Got no map; give those of one block or more.")
    expected = [tuple(mode.shape) for mode in maps[0]]
    for shapes in ([tuple(mode.shape) for mode in block] for block in maps):
        if shapes != expected or any(len(shape) != 4 or shape[2] != shape[3] for shape in shapes):
            raise ShapeError(
                "token_rollout: every block must hold square maps (batch, heads, size, size) of the same sizes. "
                f"Got {expected} and {shapes}."
            )
    sizes = [shape[-1] for shape in expected]
    received = torch.full((expected[0][0], *sizes), 1 / float(np.prod(sizes)), dtype=torch.float64)
    for block in reversed(maps):
        factors = [mode.detach().to("cpu", torch.float64) for mode in block]
        heads = received[:, None].expand(-1, factors[0].shape[1], *received.shape[1:])
        if combine == "sum":
            carried = torch.stack([_carry(heads, factor, mode) for mode, factor in enumerate(factors)]).mean(0)
        else:
            carried = heads
            for mode, factor in enumerate(factors):
                carried = _carry(carried, factor, mode)
        received = (received + carried.mean(1)) / 2
    return received


def rollout_to_voxels(maps: Sequence[Sequence[Tensor]], sizes: Sequence[int], *, combine: str = "product") -> Tensor:
    """Interpolate `token_rollout` to voxels: 1 is uniform, 2 twice that.

    It says where the network looked, not what made its answer, and it leaves out what the stem and the
    feed-forward layers do.

    Shape:
        `(batch, *sizes)`, float32.

    Raises:
        ShapeError: As `token_rollout`, or `sizes` names another number of modes.
    """
    tokens = token_rollout(maps, combine=combine)
    if len(sizes) != tokens.ndim - 1:
        raise ShapeError(
            f"rollout_to_voxels: give one size per mode. Got sizes={tuple(sizes)} for {tokens.ndim - 1} modes of maps."
        )
    relative = tokens * tokens[0].numel()
    mode = INTERPOLATIONS[len(sizes)]
    return F.interpolate(relative[:, None], size=list(sizes), mode=mode, align_corners=False)[:, 0].float()


class DeletionCurves(NamedTuple):
    """A score as ever more of a volume is hidden: what is marked most first, and blocks drawn at random.

    shares: Part of the blocks hidden, from 0 to 1, `(points,)`.
    marked: Score by name of the importance, `(points,)` each.
    random: Mean over random orders, `(points,)`.
    """

    shares: Floats
    marked: dict[str, Floats]
    random: Floats

    def area(self, name: str | None = None) -> float:
        """Mean score over the shares; lower means that what was hidden mattered more. `None` for random."""
        values = self.random if name is None else self.marked[name]
        return float(((values[1:] + values[:-1]) / 2 * np.diff(self.shares)).sum())


def deletion_curves(
    score: Callable[[Tensor], Tensor],
    volume: Tensor,
    importance: Mapping[str, Tensor],
    *,
    block: int = 4,
    fill: float = 0.0,
    shares: Sequence[float] = SHARES,
    draws: int = 4,
    seed: int = 0,
    batch_size: int = 16,
) -> DeletionCurves:
    """Hide a volume block by block, the most important first, and see how fast the score falls.

    Every importance and the random orders hide the same blocks of `block` voxels a side, so that a coarse map and a
    fine one are compared on equal terms.

    Args:
        score: Takes volumes `(n, channels, *sizes)` to `(n,)`: the probability of the predicted class, say.
        volume: `(channels, *sizes)`.
        importance: By name, `(*sizes)` each; large is important.
        block: Voxels along each side of what is hidden at once.
        fill: Value of a hidden voxel.
        shares: Parts to hide, rising.
        draws: Random orders to average over.
        seed: Of the random orders.
        batch_size: Volumes scored at once.

    Raises:
        ShapeError: An importance has another shape than the volume.
    """
    sizes = tuple(volume.shape[1:])
    for name, values in importance.items():
        if tuple(values.shape) != sizes:
            raise ShapeError(f"deletion_curves: {name} must be of the volume's sizes {sizes}. Got {values.shape}.")
    grid = tuple(-(-size // block) for size in sizes)
    means = {name: _block_means(values, block).ravel() for name, values in importance.items()}

    @torch.no_grad()
    def scores(hidden: Marks) -> Floats:
        parts = []
        for start in range(0, len(hidden), batch_size):
            mask = torch.from_numpy(hidden[start : start + batch_size]).reshape(-1, *grid)
            for axis, size in enumerate(sizes, start=1):
                mask = mask.repeat_interleave(block, axis).narrow(axis, 0, size)
            masks = mask[:, None].to(volume.device)
            parts.append(score(volume.expand(len(masks), *volume.shape).masked_fill(masks, fill)).tolist())
        return np.concatenate(parts)

    return curves_by_hiding(scores, means, int(np.prod(grid)), shares=shares, draws=draws, seed=seed)


def curves_by_hiding(
    scores: Callable[[Marks], Floats],
    importance: Mapping[str, Floats],
    count: int,
    *,
    shares: Sequence[float],
    draws: int,
    seed: int = 0,
) -> DeletionCurves:
    """Hide ever more of some parts, in the order of each importance and in random orders.

    Args:
        scores: From what is hidden, `(cases, parts)`, to a score of each case.
        importance: By name, `(parts,)` each; large is important.
        count: Of the parts.
        shares: Parts to hide, rising.
        draws: Random orders to average over.
        seed: Of the random orders.
    """
    chance = np.random.default_rng(seed)
    orders = [np.argsort(-values, kind="stable") for values in importance.values()]
    orders += [chance.permutation(count) for _ in range(draws)]
    most = np.round(np.multiply(shares, count))[:, None]
    hidden = np.concatenate([np.argsort(order) < most for order in orders])
    values = scores(hidden).reshape(len(orders), len(shares))
    marked = dict(zip(importance, values, strict=False))
    return DeletionCurves(np.array(shares, float), marked, values[len(importance) :].mean(axis=0))


def average_curves(curves: Sequence[DeletionCurves]) -> DeletionCurves:
    """Average over volumes; only importances that every volume has are kept.

    Raises:
        ShapeError: There is nothing to average.
    """
    if not curves:
        raise ShapeError("average_curves: nothing to average. Got no curve; give those of one volume or more.")
    names = [name for name in curves[0].marked if all(name in item.marked for item in curves)]
    return DeletionCurves(
        curves[0].shares,
        {name: np.mean([item.marked[name] for item in curves], axis=0) for name in names},
        np.mean([item.random for item in curves], axis=0),
    )


def deletion_line(curves: Sequence[DeletionCurves], what: str, hidden: str) -> list[str]:
    """Mean score under the curves of some answers in a line; none without curves.

    what: What the curves are of, in words: "cases"; `hidden` says what is hidden.
    """
    if not curves:
        return []
    mean = average_curves(curves)
    areas = ", ".join(f"{name} {mean.area(name):.3f}" for name in mean.marked)
    start = f"deletion test over {len(curves)} {what}, mean probability while {hidden} are hidden"
    return [f"{start}: {areas}, at random {mean.area():.3f}"]


def _carry(x: Tensor, factor: Tensor, mode: int) -> Tensor:
    """Row vectors of all heads times the factor of one mode."""
    return torch.einsum("bhij,bhi...->bhj...", factor, x.movedim(mode + 2, 2)).movedim(2, mode + 2)


def _block_means(values: Tensor, block: int) -> Floats:
    """Mean of each block; those at the far edges may be smaller."""
    means = values.detach().to("cpu").double().numpy()
    for axis, size in enumerate(values.shape):
        starts = np.arange(0, size, block)
        widths = np.diff([*starts, size]).reshape([-1 if i == axis else 1 for i in range(means.ndim)])
        means = np.add.reduceat(means, starts, axis=axis) / widths
    return np.asarray(means)
