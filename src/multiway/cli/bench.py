"""`multiway bench`: a layer on one's own shape, beside its peers and the roof."""

from typing import Annotated

import typer

from multiway.cli import show
from multiway.cli.show import Output
from multiway.errors import ConfigError

Shape = Annotated[str, typer.Option(help="Of the input, batch first: 64,28,28,3.")]
To = Annotated[str, typer.Option(help="Sizes of the output without the batch: 64,64,6.")]


def bench_command(
    layer: Annotated[str, typer.Argument(help="NdLinear, TTLinear or LowRankLinear.")],
    shape: Shape,
    to: To,
    rank: Annotated[int | None, typer.Option(help="1 for NdLinear, 2 for the others if not given.")] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Timed rounds.")] = 15,
    threads: Annotated[int | None, typer.Option(min=1, help="Those of torch if not given.")] = None,
) -> Output:
    """Time a layer beside the package for it, if it is installed, and the dense layer; ratios are in one run."""
    import torch

    from multiway.bench import bench

    if threads is not None:
        torch.set_num_threads(threads)
    chosen = (1 if layer == "NdLinear" else 2) if rank is None else rank
    done = bench(layer, _sizes("--shape", shape), _sizes("--to", to), rank=chosen, repeats=repeats)
    head = f"{layer} {shape} to {to}, rank {chosen}, threads {done['threads']}"
    return Output(lines=[head, "", *show.aligned(done["rows"])], document=lambda: done)


def _sizes(option: str, text: str) -> tuple[int, ...]:
    """Whole numbers with commas between them."""
    parts = text.split(",")
    if not all(part.strip().isdecimal() and int(part) > 0 for part in parts):
        raise ConfigError(f"{option}: sizes are whole numbers from 1 on, as 64,28,28,3. Got {text!r}.")
    return tuple(map(int, parts))
