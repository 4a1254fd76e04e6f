"""Networks of volumes: training against CNNs and full attention, peak memory, and the paper's figures 3 and 4."""

import contextlib
import copy
import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from benchmarks.comparison import same_answers
from benchmarks.rows import MARKS, aligned, machine, times_slower
from benchmarks.timing import saved_bytes
from benchmarks.volume_memory import peak_of
from multiway import nn as mnn
from multiway.models import create_model
from multiway_papers.bench import median, rounds

OURS = "hot"
DTYPES = {"float32": contextlib.nullcontext, "bfloat16": lambda: torch.autocast("cpu", torch.bfloat16)}
HEADS = (1, 2, 4, 8, 16, 24)
MODES = {"none": (), "H": (0,), "HW": (0, 1), "HWD": (0, 1, 2)}
MOST_MEMORY_GB = 6.0


class Formed(nn.Module):
    """Attention with its whole matrix S₁ ⊗ S₂ ⊗ S₃ formed (HOT eqs. 4-5), from the layer's own factors."""

    def __init__(self, layer: mnn.KroneckerAttention) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        first, second, third = self.layer.forward_with_maps(x)[1]
        matrix = torch.einsum("bhil,bhjm,bhkn->bhijklmn", first, second, third)
        values = self.layer.value(x).unflatten(-1, (self.layer.num_heads, -1))
        return self.layer.out(torch.einsum("bhijklmn,blmnhd->bijkhd", matrix, values).flatten(-2))


class MatrixFormed(nn.Module):
    """A network whose full attention forms its N × N matrix, as the paper's comparison does, not blockwise."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, *inputs: Tensor) -> Tensor:
        with sdpa_kernel(SDPBackend.MATH):
            return self.network(*inputs)


@dataclass(frozen=True, kw_only=True)
class Case:
    """Networks that train on the same batch; the first is what ratios are against."""

    name: str
    networks: Mapping[str, Callable[[], nn.Module]]
    sizes: tuple[int, int, int]
    batch: int
    dtypes: tuple[str, ...] = ("float32",)
    time_bars: Mapping[str, float] = field(default_factory=dict)
    memory_bars: Mapping[str, float] = field(default_factory=dict)


def run(repeats: int, names: list[str] | None) -> Iterator[dict[str, object]]:
    """Rows of every case, or of those named; nothing is timed before `check`."""
    check()
    for case in cases():
        if not names or case.name in names:
            for dtype in case.dtypes:
                yield _train(case, dtype, repeats)
    for sizes, batch, checkpoint, dtype in MEMORY:
        name = f"memory {sizes[0]}^3"
        if not names or name in names:
            yield _memory(name, sizes, batch, checkpoint, dtype)


def cases() -> Iterator[Case]:
    """Those with a bar first, then figure 3 (what heads cost) and figure 4 (what modes and kinds of attention cost)."""
    yield Case(
        name="throughput",
        networks={
            OURS: _hot(28),
            "cnn": functools.partial(create_model, "cnn_volume_classifier"),
            "resnet18_3d": functools.partial(create_model, "resnet18_3d"),
        },
        sizes=(28, 28, 28),
        batch=32,
        dtypes=("float32", "bfloat16"),
        time_bars={"resnet18_3d": 25.0},
    )
    full = _hot(56, attention="full")
    yield Case(
        name="full attention",
        networks={
            OURS: _hot(56),
            "hot checkpointed": _hot(56, checkpoint=True),
            "full": full,
            "full formed": lambda: MatrixFormed(full()),
        },
        sizes=(56, 56, 56),
        batch=4,
        time_bars={"full": 4.0, "full formed": 4.0},
        memory_bars={"full formed": 3.0},
    )
    yield Case(
        name="heads",
        networks={f"{count} heads": _hot(56, num_heads=count) for count in HEADS},
        sizes=(56, 56, 56),
        batch=4,
    )
    yield Case(
        name="modes",
        networks={name: _hot(56, attended_modes=modes) for name, modes in MODES.items()},
        sizes=(56, 56, 56),
        batch=4,
    )
    for side in (28, 56):
        yield Case(
            name=f"kinds {side // 4}^3",
            networks={
                "kronecker": _hot(side),
                "kronecker kernel": _hot(side, feature_map="smreg"),
                "full": _hot(side, attention="full"),
                "full formed": lambda side=side: MatrixFormed(_hot(side, attention="full")()),
                "full kernel": _hot(side, attention="full", feature_map="smreg"),
            },
            sizes=(side, side, side),
            batch=4,
        )


MEMORY = [
    ((64, 64, 64), 8, False, "float32"),
    ((64, 64, 64), 8, True, "float32"),
    ((64, 64, 64), 8, False, "bfloat16"),
    ((64, 64, 64), 8, True, "bfloat16"),
    ((128, 128, 128), 1, False, "float32"),
    ((128, 128, 128), 1, True, "float32"),
    ((128, 128, 128), 1, True, "bfloat16"),
]


def check() -> None:
    """What is timed is right, in float64: answers and gradients of the input."""
    hot = _double(_hot(8, preset="paper"))
    x = torch.randn(2, 1, 8, 8, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    formed = copy.deepcopy(hot)
    for block in formed.blocks:
        block.attention = Formed(block.attention)
    same_answers(hot, formed, x)
    repeated = _double(_hot(8, preset="paper", checkpoint=True)).train()
    repeated.load_state_dict(hot.state_dict())
    same_answers(hot, repeated, x)
    full = _double(_hot(8, attention="full"))
    same_answers(full, MatrixFormed(full), x)


def table(rows: list[dict[str, object]]) -> Iterator[str]:
    """Lines of a table: one per network, a star where a bar is met and a minus where it is missed."""
    head = ["case", "type", "network", "ms a step", "samples/s", "kept MB a sample", "x time", "x kept", "peak GB"]
    body = [line for row in rows for line in (_memory_lines(row) if "peak_gb" in row else _train_lines(row))]
    return aligned(head, body, 3)


def _hot(side: int, **fields: object) -> Callable[[], nn.Module]:
    return functools.partial(create_model, "hot_volume_classifier", sizes=(side, side, side), **fields)


def _double(build: Callable[[], nn.Module]) -> nn.Module:
    """Without dropout, so that training mode, which checkpointing needs, changes nothing else."""
    torch.manual_seed(0)
    network = build(dropout=0.0).double()  # type: ignore[call-arg]  # a partial of create_model
    return network.eval()


def _train(case: Case, dtype: str, repeats: int) -> dict[str, object]:
    torch.manual_seed(0)
    x, labels = torch.randn(case.batch, 1, *case.sizes), torch.arange(case.batch) % 2
    networks = {name: build().train() for name, build in case.networks.items()}
    kept = {name: _saved(network, x, dtype) / case.batch for name, network in networks.items()}
    times = rounds({name: _step(network, x, labels, dtype) for name, network in networks.items()}, repeats)
    ours = next(iter(networks))
    slower = times_slower(times, ours)
    larger = {name: round(kept[name] / kept[ours], 2) for name in slower}
    return {
        "benchmark": "volumes",
        "case": case.name,
        "dtype": dtype,
        "batch": case.batch,
        "sizes": list(case.sizes),
        "parameters": {name: sum(each.numel() for each in net.parameters()) for name, net in networks.items()},
        "ms": {name: round(1e3 * median(each), 1) for name, each in times.items()},
        "samples_per_s": {name: round(case.batch / median(each), 2) for name, each in times.items()},
        "saved_mb_per_sample": {name: round(size / 1e6, 2) for name, size in kept.items()},
        "times_slower_than_ours": slower,
        "times_larger_than_ours": larger,
        "bars": {"time": dict(case.time_bars), "memory": dict(case.memory_bars)},
        "met": {
            "time": {name: slower[name] >= bar for name, bar in case.time_bars.items()},
            "memory": {name: larger[name] >= bar for name, bar in case.memory_bars.items()},
        },
        **machine(),
        "rounds": len(times[ours]),
    }


def _step(network: nn.Module, x: Tensor, labels: Tensor, dtype: str) -> Callable[[], object]:
    """One step of training as `multiway train` makes it: autocast where it is bfloat16, and Adam."""
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-3)

    def step() -> None:
        optimiser.zero_grad()
        with DTYPES[dtype]():
            loss = F.cross_entropy(network(x), labels)
        loss.backward()
        optimiser.step()

    return step


def _saved(network: nn.Module, x: Tensor, dtype: str) -> int:
    with DTYPES[dtype]():
        return saved_bytes(network, x)


def _memory(name: str, sizes: tuple[int, int, int], batch: int, checkpoint: bool, dtype: str) -> dict[str, object]:
    case = {
        "model": "hot_volume_classifier_7m",
        "fields": {"checkpoint": checkpoint},
        "sizes": list(sizes),
        "batch": batch,
        "dtype": dtype,
    }
    measured = peak_of(case, torch.get_num_threads())
    return {
        "benchmark": "volumes",
        "case": name,
        **{key: value for key, value in case.items() if key != "fields"},
        "checkpoint": checkpoint,
        **measured,
        "bars": {"peak_gb": MOST_MEMORY_GB},
        "met": {"peak_gb": measured["peak_gb"] <= MOST_MEMORY_GB},
        **machine(),
    }


def _train_lines(row: dict) -> Iterator[list[str]]:
    for name, milliseconds in row["ms"].items():
        time, size = row["times_slower_than_ours"].get(name), row["times_larger_than_ours"].get(name)
        yield [
            row["case"],
            row["dtype"],
            name,
            f"{milliseconds:.1f}",
            f"{row['samples_per_s'][name]:.2f}",
            f"{row['saved_mb_per_sample'][name]:.2f}",
            "" if time is None else f"{time:.2f}x{MARKS[row['met']['time'].get(name)]}",
            "" if size is None else f"{size:.2f}x{MARKS[row['met']['memory'].get(name)]}",
            "",
        ]


def _memory_lines(row: dict) -> Iterator[list[str]]:
    name = f"{row['model']}, batch {row['batch']}" + (", checkpointed" if row["checkpoint"] else "")
    step = row["step_s"]
    yield [
        row["case"],
        row["dtype"],
        name,
        f"{1e3 * step:.0f}",
        f"{row['batch'] / step:.2f}",
        "",
        "",
        "",
        f"{row['peak_gb']:.2f}{MARKS[row['met']['peak_gb']]}",
    ]
