"""`multiway bench`: a layer on one's own shape, beside its peers and the roof."""

from typing import Annotated

import typer

from multiway.cli import show
from multiway.cli.show import Output
from multiway.errors import ConfigError

Shape = Annotated[str, typer.Option(help="Of the input, batch first: 64,28,28,3; of attention, features last.")]
To = Annotated[
    str | None, typer.Option(help="Sizes of the output without the batch: 64,64,6; those of the input if not given.")
]
Rank = Annotated[
    int | None,
    typer.Option(
        "--rank", "--heads", help="Rank or heads; if not given 1 for NdLinear, 8 heads for attention, 2 for the others."
    ),
]


def bench_command(
    layer: Annotated[str, typer.Argument(help="NdLinear, TTLinear, LowRankLinear or KroneckerAttention.")],
    shape: Shape,
    to: To = None,
    rank: Rank = None,
    repeats: Annotated[int, typer.Option(min=1, help="Timed rounds.")] = 15,
    threads: Annotated[int | None, typer.Option(min=1, help="Those of torch if not given.")] = None,
) -> Output:
    """Time a layer beside the package for it, if it is installed, and the usual layer; ratios are in one run."""
    import torch

    from multiway.bench import bench

    if threads is not None:
        torch.set_num_threads(threads)
    chosen = {"NdLinear": 1, "KroneckerAttention": 8}.get(layer, 2) if rank is None else rank
    out_sizes = None if to is None else _sizes("--to", to)
    done = bench(layer, _sizes("--shape", shape), out_sizes, rank=chosen, repeats=repeats)
    name = "heads" if layer == "KroneckerAttention" else "rank"
    head = f"{layer} {shape} to {','.join(map(str, done['to']))}, {name} {chosen}, threads {done['threads']}"
    return Output(lines=[head, "", *show.aligned(done["rows"])], document=lambda: done)


def _sizes(option: str, text: str) -> tuple[int, ...]:
    """Whole numbers with commas between them."""
    parts = text.split(",")
    if not all(part.strip().isdecimal() and int(part) > 0 for part in parts):
        raise ConfigError(f"{option}: sizes are whole numbers from 1 on, as 64,28,28,3. Got {text!r}.")
    return tuple(map(int, parts))
