"""Training of the multimodal classifier of stocks against the same network with full attention over all stock-days."""

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.rows import MARKS, aligned, machine, times_slower
from benchmarks.volumes import MatrixFormed
from multiway.models import create_model
from multiway_papers.bench import median, rounds
from multiway_papers.networks.hot_stock_classifier import HOTStockClassifier

OURS = "hot"
STOCKS, SLOTS, TEXT, DATES = 87, 5, 384, 3  # StockNet with MiniLM


@dataclass(frozen=True, kw_only=True)
class Case:
    """Networks that train on the same batch; the first is what ratios are against."""

    name: str
    networks: Mapping[str, Callable[[], nn.Module]]
    batch: int = 16
    bars: Mapping[str, float] = field(default_factory=dict)


def run(repeats: int, names: list[str] | None) -> Iterator[dict[str, object]]:
    """Rows of every case, or of those named; nothing is timed before `check`."""
    check()
    for case in cases():
        if not names or case.name in names:
            yield _train(case, repeats)


def cases() -> Iterator[Case]:
    """The recipes' size with the bar first, then the paper's middle and large sizes, and one modality alone."""
    small = {"dim": 32, "num_blocks": 2, "ffn_multiple": 2}
    for name, fields in (("32 x 2", small), ("64 x 2", {}), ("128 x 4", {"dim": 128, "num_blocks": 4})):
        full = _network(**fields, attention="full")
        yield Case(
            name=f"multimodal {name}",
            networks={
                OURS: _network(**fields),
                "hot kernel": _network(**fields, feature_map="smreg"),
                "full": full,
                "full formed": lambda full=full: MatrixFormed(full()),
                "full kernel": _network(**fields, attention="full", feature_map="smreg"),
            },
            bars={"full": 3.0, "full formed": 3.0} if fields is small else {},
        )
    for modality in ("price", "text"):
        yield Case(
            name=f"{modality} 32 x 2",
            networks={
                OURS: _network(**small, modality=modality),
                "full": _network(**small, modality=modality, attention="full"),
            },
        )


def check() -> None:
    """What is timed is right, in float64: with one stock and even weights both kinds of attention are the same mean."""
    torch.manual_seed(0)
    shared = {"num_stocks": 1, "dropout": 0.0, "num_heads": 1, "dim": 16}
    hot = create_model("hot_stock_classifier", **shared, preset="paper").double().eval()
    full = create_model("hot_stock_classifier", **shared, attention="full").double().eval()
    _same_weights(hot, full)
    inputs = _inputs(3, stocks=1, dtype=torch.float64)
    if not torch.allclose(hot(*inputs), full(*inputs), rtol=1e-10, atol=1e-10):
        raise AssertionError("benchmarks stocks: the two networks disagree where they must not")


def table(rows: list[dict[str, object]]) -> Iterator[str]:
    """Lines of a table: one per network, a star where a bar is met and a minus where it is missed."""
    head = ["case", "network", "parameters", "ms a step", "steps/s", "x time"]
    body = [line for row in rows for line in _lines(row)]
    return aligned(head, body, 2)


def _network(**fields: object) -> Callable[[], nn.Module]:
    return functools.partial(create_model, "hot_stock_classifier", num_stocks=STOCKS, **fields)


def _inputs(batch: int, *, stocks: int = STOCKS, dtype: torch.dtype = torch.float32) -> tuple[Tensor, ...]:
    """Prices, dates and texts at random; nine stock-days of ten have prices, half have texts, as in StockNet."""
    generator = torch.Generator().manual_seed(1)
    prices = torch.randn(batch, stocks, SLOTS, 3, dtype=dtype, generator=generator)
    text = torch.randn(batch, stocks, SLOTS, TEXT, dtype=dtype, generator=generator)
    dates = torch.randn(batch, SLOTS, DATES, dtype=dtype, generator=generator)
    there = torch.rand(2, batch, stocks, SLOTS, generator=generator)
    return prices, there[0] < 0.9, dates, text, there[1] < 0.5


@torch.no_grad()
def _same_weights(hot: HOTStockClassifier, full: HOTStockClassifier) -> None:
    """Give both the same values and outputs; queries of zero weigh every token the same."""
    wanted = hot.state_dict()
    for name, tensor in full.state_dict().items():
        if name in wanted:
            tensor.copy_(wanted[name])
    for one, other in zip(_attentions(hot), _attentions(full), strict=True):
        one.query_key[0].weight.zero_()
        one.query_key[0].bias.zero_()
        other.query_key_value.weight[: 2 * other.dim].zero_()
        other.query_key_value.bias[: 2 * other.dim].zero_()
        other.query_key_value.weight[2 * other.dim :].copy_(one.value.weight)
        other.query_key_value.bias[2 * other.dim :].copy_(one.value.bias)


def _attentions(network: HOTStockClassifier) -> Iterator[nn.Module]:
    return (module for name, module in network.named_modules() if name.endswith("attention"))


def _train(case: Case, repeats: int) -> dict[str, object]:
    torch.manual_seed(0)
    inputs, labels = _inputs(case.batch), torch.arange(case.batch * STOCKS) % 2
    networks = {name: build().train() for name, build in case.networks.items()}
    times = rounds({name: _step(network, inputs, labels) for name, network in networks.items()}, repeats)
    slower = times_slower(times, OURS)
    return {
        "benchmark": "stocks",
        "case": case.name,
        "batch": case.batch,
        "sizes": [STOCKS, SLOTS],
        "parameters": {name: sum(each.numel() for each in net.parameters()) for name, net in networks.items()},
        "ms": {name: round(1e3 * median(each), 1) for name, each in times.items()},
        "steps_per_s": {name: round(1 / median(each), 2) for name, each in times.items()},
        "times_slower_than_ours": slower,
        "bars": dict(case.bars),
        "met": {name: slower[name] >= bar for name, bar in case.bars.items()},
        **machine(),
        "rounds": len(times[OURS]),
    }


def _step(network: nn.Module, inputs: tuple[Tensor, ...], labels: Tensor) -> Callable[[], object]:
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-4, fused=True)  # as `multiway train` does

    def step() -> None:
        optimiser.zero_grad()
        F.cross_entropy(network(*inputs).flatten(0, 1), labels).backward()
        optimiser.step()

    return step


def _lines(row: dict) -> Iterator[list[str]]:
    for name, milliseconds in row["ms"].items():
        time = row["times_slower_than_ours"].get(name)
        yield [
            row["case"],
            name,
            f"{row['parameters'][name]:,}",
            f"{milliseconds:.1f}",
            f"{row['steps_per_s'][name]:.2f}",
            "" if time is None else f"{time:.2f}x{MARKS[row['met'].get(name)]}",
        ]
