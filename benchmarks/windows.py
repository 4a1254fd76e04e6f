"""Windows gathered from one tensor against torch's loader, which fetches and stacks them one by one."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from benchmarks.rows import machine
from multiway.tasks.forecasting.sizes import Borders
from multiway.tasks.forecasting.windows import Windows, split_windows
from multiway_papers.bench import median, rounds

LOOKBACK, HORIZON, BATCH = 96, 96, 128
SHAPES = {"etth": (8_640, 7), "weather": (36_887, 21), "ecl": (18_412, 321)}


class PerSample(Dataset[tuple[Tensor, Tensor]]):
    """One window per item: the usual way to write it."""

    def __init__(self, windows: Windows) -> None:
        self.past = windows.rows.unfold(0, windows.lookback, 1)[: len(windows)]
        self.future = windows.rows.unfold(0, windows.horizon, 1)[windows.lookback :]

    def __len__(self) -> int:
        return len(self.past)

    def __getitem__(self, item: int) -> tuple[Tensor, Tensor]:
        return self.past[item].T, self.future[item].T


def run(repeats: int, shapes: list[str] | None) -> Iterator[dict[str, object]]:
    """Seconds per batch of 128 windows, the same windows from both; the batches are compared first."""
    for name in shapes or SHAPES:
        yield _compare(name, repeats)


def _compare(name: str, repeats: int) -> dict[str, object]:
    windows = _windows(*SHAPES[name])
    order = torch.randperm(len(windows), generator=torch.Generator().manual_seed(0))[:BATCH]
    loader = DataLoader(PerSample(windows), batch_size=BATCH, sampler=order.tolist())
    batch, (past, future) = windows.gather(order), next(iter(loader))
    if not (torch.equal(batch["past"], past) and torch.equal(batch["future"], future)):
        raise RuntimeError("the two ways disagree, so there is nothing to time")
    times = rounds({"gathered": lambda: windows.gather(order), "loader": lambda: next(iter(loader))}, repeats)
    gathered, loaded = median(times["gathered"]), median(times["loader"])
    return {
        "case": name,
        "variates": windows.num_variates,
        "batch": BATCH,
        **machine(),
        "gathered_s": gathered,
        "loader_s": loaded,
        "times_faster": round(loaded / gathered, 1),
    }


def _windows(rows: int, variates: int) -> Windows:
    values = np.random.default_rng(0).normal(size=(rows + 800, variates))
    borders = Borders(train=(0, rows), validation=(rows, rows + 400), test=(rows + 400, rows + 800))
    return split_windows(values, borders, LOOKBACK, HORIZON)["train"]
