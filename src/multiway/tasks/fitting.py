"""Fit the models of a run, ours first and then the baselines; calibrate on validation; then read the test rows once."""

import copy
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd
import torch
from torch import Tensor, nn

from multiway.compress.measuring import count_flops
from multiway.errors import ConfigError
from multiway.tasks.protocol import OURS, Context, Row
from multiway.tasks.run import Run, caution
from multiway.training import History
from multiway.training.memory import kept_bytes
from multiway.training.processes import is_main

SCORED = ("validation", "test")


def fit(run: Run, context: Context) -> Run:
    """Fit everything a run consists of, in place."""
    seconds = fit_models(run, run.models, context)
    clock = time.perf_counter()
    finish(run)
    seconds["evaluation"] = time.perf_counter() - clock
    run.facts["seconds"] = {name: round(value, 3) for name, value in seconds.items()}
    if is_main():
        caution(run)
    return run


def fit_models(run: Run, names: Iterable[str], context: Context) -> dict[str, float]:
    """Fit some models of a run, in place, on training and validation rows alone; the seconds that each took."""
    seconds: dict[str, float] = {}
    found: dict[str, History | dict[str, Any] | None] = {}
    for name in names:
        model, clock = run.models[name], time.perf_counter()
        found[name] = run.task.fit(run, name, run.prepared, context if name == OURS else context.part(name))
        model.to("cpu").eval()
        seconds[name] = time.perf_counter() - clock
    histories = {name: each for name, each in found.items() if isinstance(each, History)}
    run.facts["notes"] = [*run.facts["notes"], *(note for history in histories.values() for note in history.notes)]
    run.facts |= {
        "best": {name: _best(history) for name, history in histories.items()},
        "learnt": {name: each for name, each in found.items() if isinstance(each, dict)},
        "parameters": parameters_of(run, found),
        "histories": {name: history.rows for name, history in histories.items() if name != OURS},
    }
    return seconds


def finish(run: Run) -> None:
    """Calibrate and score models that are fitted; called anew where a network was changed."""
    run.calibration = run.task.calibrate(run, run.prepared)
    scores: list[Row] = []
    tables: dict[str, list[pd.DataFrame]] = {}
    for split in SCORED:
        predictions = run.task.predict(run, run.prepared, split)
        scores += run.task.score(run, predictions, split)
        for name, table in run.task.tables(run, predictions, split).items():
            tables.setdefault(name, []).append(table)
    run.scores = scores
    run.tables = {name: pd.concat(parts, ignore_index=True) for name, parts in tables.items()}
    of_test = run.task.test_facts(run, predictions)
    run.facts |= {**costs_of(run), **run.task.describe(run, run.prepared), **of_test}


def announce(name: str, context: Context) -> None:
    """Say on stderr which baseline is trained, where progress is shown."""
    if context.progress and name != OURS:
        print(f"training the baseline {name}", file=sys.stderr, flush=True)


def parameters_of(run: Run, names: Iterable[str]) -> dict[str, int]:
    """Trained numbers of every one of these models that has any."""
    counts = {name: sum(map(torch.numel, run.models[name].parameters())) for name in names}
    return {name: count for name, count in counts.items() if count}


def costs_of(run: Run) -> dict[str, int | None]:
    """Of the network on one sample: `flops`, and `kept`, the bytes that training keeps for its gradient.

    None where the task gives no sample.
    """
    try:
        network, sample = run.task.swappable(run.model), run.task.sample(run, run.prepared)
    except ConfigError:
        return {"flops": None, "kept": None}
    one = tuple(None if part is None else part[:1] for part in sample)
    return {"flops": count_flops(network, *one), "kept": _kept(network, one)}


def _kept(network: nn.Module, sample: tuple[Tensor | None, ...]) -> int:
    """What two samples more make of a batch of two, which norms over a batch need."""
    own = copy.deepcopy(network).train()  # so that no running statistic of the network itself moves
    with torch.random.fork_rng(), torch.enable_grad():
        two, four = (kept_bytes(own, *_repeated(sample, count)) for count in (2, 4))
    return (four - two) // 2


def _repeated(sample: tuple[Tensor | None, ...], count: int) -> Iterator[Tensor | None]:
    return (None if part is None else torch.cat([part] * count) for part in sample)


def _best(history: History) -> Row:
    return {
        "epoch": history.best_epoch,
        "validation_loss": history.best_loss,
        "validation_score": history.best_score,
        "steps": history.steps,
    }
