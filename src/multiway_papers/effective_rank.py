"""The Kronecker rank of trained full attention: how much of its maps so many terms hold (HOT, section 5.3.1).

A map over the modes of a tensor is a sum of Kronecker products. The share of its squared norm that the best R of them
hold follows from a singular value decomposition where there are two modes. With three it is a bound from above, one
mode against the other two, and the terms that alternating least squares finds are one from below.
"""

import functools
import json
import math
import platform
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from multiway import files, ops
from multiway.data.findings import list_some
from multiway.errors import ConfigError, closest
from multiway.tasks import lifecycle
from multiway.tasks.protocol import Context, Row
from multiway.tasks.registry import task_of
from multiway.workflows.recipe import load_recipe
from multiway.workflows.training import with_seed
from multiway_papers.cell_rows import commit_of_source, sha256_of_data

TERMS = (1, 2, 4, 8)
SAMPLES = 4
"""Of the first training batch, whose maps are taken."""
STEPS = (0, 10, 30, 100, 300)
"""Steps before which maps are taken, and the last."""


class Trained(NamedTuple):
    """A network of full attention, and how it is trained.

    recipe: What its settings start from.
    sizes: Of the modes of its tokens.
    steps: Of training, at the recipe's rate and batch.
    settings: Fields that differ.
    cut: What of print is cut, in words.
    """

    recipe: str
    sizes: tuple[int, ...]
    steps: int
    settings: Mapping[str, Any]
    cut: str


NETWORKS = {
    "ett_m1": Trained(
        "hot-type-ettm1-full",
        (7, 24),
        1000,
        {"horizon": 96, "model": {"dim": 32, "num_heads": 4}},
        "32 features of 128 and 4 heads of 8; 1,000 steps of 106,725",
    ),
    "adrenal": Trained(
        "hot-type-adrenal-full",
        (7, 7, 7),
        114,
        {"model": {"dim": 32, "num_heads": 4, "num_blocks": 2, "stem_channels": 8}},
        "32 features of 256, 4 heads of 8, 2 blocks of 4, 8 channels of 88; 114 steps of 3,800",
    ),
    "cifar10": Trained(
        "vit-small-cifar10-dense-30-6",
        (8, 8),
        700,
        {"distill": None, "model": {"dim": 32, "patch_size": 4, "num_blocks": 2, "pooling": "mean"}},
        "a vision transformer of ours, patches of 4, without a class token and a teacher; 700 steps",
    ),
}


def reproduce_ranks(
    rows: Sequence[str] | None = None, seeds: int = 1, out: Path | None = None, others: Sequence[str] = ()
) -> Iterator[Row]:
    """Train each network, and yield the shares of its maps beside those of three controls.

    Args:
        rows: Only these networks; all if not given.
        seeds: Trainings of each.
        out: JSON lines to append to; a row has the shares by step, layer and head as well.
        others: Options that were given and that only tables of recipes have.

    Raises:
        ConfigError: A row is no network, or such an option was given.
    """
    if others:
        raise ConfigError(f"reproduce: the networks of hot-effective-rank are set. Leave out {list_some(others)}.")
    for name in rows or ():
        if name not in NETWORKS:
            raise ConfigError(f"reproduce: hot-effective-rank has no row {name}{closest(name, NETWORKS)}")
    files.check_place(out)
    for name in rows or NETWORKS:
        row = measure_ranks(name, NETWORKS[name], seeds)
        if out is not None:
            files.append_text(out, json.dumps(row) + "\n")
        yield {key: value for key, value in row.items() if not isinstance(value, dict | list)}


def measure_ranks(name: str, trained: Trained, seeds: int) -> Row:
    """The row of one network: means over samples, layers, heads and seeds, and what they are means of."""
    start = time.process_time()
    task, recipe = task_of(load_recipe(trained.recipe).task), load_recipe(trained.recipe)
    config = task.configure(recipe.settings_of_runs()[0], dict(trained.settings))
    each = list[Row]()
    for seed in range(seeds):
        run = lifecycle.make(task, with_seed(config, config.training.seed + seed), task.locate(config.data))
        maps = maps_by_step(run, trained.steps)
        each.append(_shares(maps, trained.sizes, seed))
        digest = sha256_of_data(run)
    scalars = {key: statistics.fmean(one[key] for one in each) for key in each[0] if key != "by_step"}
    spread = {
        f"{key}_sd": statistics.stdev(one[key] for one in each) for key in scalars if key in TRAINED and seeds > 1
    }
    return {
        "network": name,
        "seeds": seeds,
        "steps": trained.steps,
        **scalars,
        **spread,
        "cut": trained.cut,
        "sizes": list(trained.sizes),
        "terms": list(TERMS),
        "each": each,
        "settings": config.plain(),
        "data_sha256": digest,
        "hours": round((time.process_time() - start) / 3600, 3),
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "processor": platform.processor() or platform.machine(),
        "commit": commit_of_source(),
    }


TRAINED = tuple(f"rank_{count}" for count in TERMS)


def maps_by_step(run: Any, steps: int) -> dict[int, Tensor]:
    """Maps `(layers, samples, heads, tokens, tokens)` of a network before some steps of its training and at its end."""
    network, found, taken = run.task.network_in(run.model), dict[int, Tensor](), dict[str, Any]()

    def look(module: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any]) -> None:
        if not module.training:
            return
        step = taken["step"] = taken.get("step", -1) + 1
        taken.setdefault("batch", (tuple(map(_first, inputs)), {key: _first(value) for key, value in named.items()}))
        if step in STEPS or step == steps:
            inputs, named = taken["batch"]
            found[step] = maps_of(module, *inputs, **named)
        if step == steps:
            raise _EnoughError

    handle = network.register_forward_pre_hook(look, with_kwargs=True)
    try:
        run.task.fit(run, run.task.own, run.prepared, Context(model=run.task.own))
    except _EnoughError:
        return found
    finally:
        handle.remove()
    raise ConfigError(f"the training has {taken['step']} steps. Got {steps}; give it more epochs.")


class _EnoughError(Exception):
    """A training has taken the steps that it was to take."""


def _first(value: Any) -> Any:
    return value[:SAMPLES] if isinstance(value, Tensor) else value


def maps_of(module: nn.Module, *inputs: Any, **named: Any) -> Tensor:
    """Maps `(layers, samples, heads, tokens, tokens)` in float64 of every dot-product attention of a network."""
    was_training = module.training
    with torch.no_grad(), SeenMaps() as seen:
        module.eval()(*inputs, **named)
    module.train(was_training)
    return torch.stack(seen.maps)


class SeenMaps(TorchFunctionMode):
    """Keeps the map of every `scaled_dot_product_attention` without a mask that runs under it."""

    def __init__(self) -> None:
        super().__init__()
        self.maps = list[Tensor]()

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the function, and keep the map where it is an attention."""
        if function is F.scaled_dot_product_attention:
            query, key = (part.double() for part in args[:2])
            self.maps.append(torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), -1))
        return function(*args, **(kwargs or {}))


def _shares(maps: Mapping[int, Tensor], sizes: Sequence[int], seed: int) -> Row:
    """Means over samples, layers and heads of the trained maps and of the controls; by step, layer and head too."""
    last, generator = maps[max(maps)], torch.Generator().manual_seed(seed)
    even = torch.full_like(last[0, 0, 0], 1 / last.shape[-1])
    order = torch.rand(last.shape, generator=generator, dtype=last.dtype).argsort(-1)
    random = torch.rand(last.shape[-2:], generator=generator, dtype=last.dtype).log().neg()
    kinds = {
        "": last,
        "untrained_": maps[0],
        "shuffled_": last.gather(-1, order),
        "uneven_": last - even,
        "untrained_uneven_": maps[0] - even,
        "shuffled_uneven_": last.gather(-1, order) - even,
        "random_": random / random.sum(-1, keepdim=True),
    }
    row = {
        f"{kind}rank_{count}": float(share)
        for kind, given in kinds.items()
        for count, share in zip(TERMS, over_maps(given, sizes).reshape(-1, len(TERMS)).mean(0), strict=True)
    }
    if len(sizes) > 2:
        found = [share_found(each, sizes, count) for count in TERMS for each in last.flatten(0, 2)]
        groups = zip(TERMS, torch.tensor(found).reshape(len(TERMS), -1).mean(1).tolist(), strict=True)
        row |= {f"found_rank_{count}": share for count, share in groups}
    row["even_share"] = float(last.square().sum((-2, -1)).reciprocal().mean())
    by_step = {step: over_maps(each, sizes).mean(1).tolist() for step, each in maps.items()}
    return row | {"by_step": by_step}


def over_maps(maps: Tensor, sizes: Sequence[int]) -> Tensor:
    """`share_held` of each of `(..., tokens, tokens)` maps, `(..., terms)`."""
    shares = [share_held(each, sizes) for each in maps.reshape(-1, *maps.shape[-2:])]
    return torch.stack(shares).reshape(*maps.shape[:-2], len(TERMS))


def share_held(matrix: Tensor, sizes: Sequence[int], terms: Sequence[int] = TERMS) -> Tensor:
    """Shares of the squared norm that so many Kronecker terms hold at most; of two modes they hold as much.

    Each mode stands against the others, whose product one factor has: with more freedom than a factor per mode. The
    least over the modes is given.
    """
    count, total = len(sizes), math.prod(sizes)
    shares = list[Tensor]()
    for mode, size in enumerate(sizes[: count if count > 2 else 1]):
        apart = matrix.reshape(*sizes, *sizes).movedim((mode, count + mode), (0, count)).reshape(total, total)
        pair = (size, total // size)
        squares = ops.nearest_kronecker(apart, pair, pair)[1].square()
        held = squares.cumsum(0) / squares.sum()
        shares.append(torch.stack([held[min(each, len(held)) - 1] for each in terms]))
    return torch.stack(shares).amin(0)


def share_found(matrix: Tensor, sizes: Sequence[int], count: int) -> float:
    """The share that so many terms of one factor per mode hold, as alternating least squares finds them."""
    start = torch.Generator().manual_seed(0)
    terms = ops.kronecker_decompose(matrix, sizes, count, starts=2, iterations=60, tolerance=1e-5, generator=start)
    rest = matrix - sum(functools.reduce(torch.kron, term) for term in terms)
    return float(1 - rest.square().sum() / matrix.square().sum())
