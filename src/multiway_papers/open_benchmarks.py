"""Tasks of open benchmarks, run under their own splits and metrics, compared with every published result."""

import json
import math
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pandas as pd
import torch

from multiway import files
from multiway.data.findings import list_some
from multiway.errors import ConfigError
from multiway.tasks.protocol import Row
from multiway_papers.cell_rows import commit_of_source
from multiway_papers.open_floor import aligned_forecast
from multiway_papers.open_tasks import (
    BASE,
    METRICS,
    Actual,
    Floats,
    Item,
    OpenTask,
    naive_quantiles,
    published_results,
    scores_of,
    tasks_of,
)

Forecast = Callable[[OpenTask, Item], Floats]
"""Quantiles of every window of an item, from the rows before each."""
METHODS: dict[str, Forecast] = {"seasonal_naive": naive_quantiles, "aligned": aligned_forecast}
SHOWN = {"fev": ("MASE", "SQL"), "gift": ("MASE", "WQL")}
"""Of which means over tasks are taken."""


def reproduce_open(
    benchmark: str, rows: Sequence[str] | None = None, out: Path | None = None, others: Sequence[str] = ()
) -> Iterator[Row]:
    """Run every method on the tasks of a benchmark and yield a row of scores, protocol and fingerprint for each.

    Args:
        benchmark: `fev` or `gift`.
        rows: Only these tasks; all if not given.
        out: JSON lines to append to.
        others: Options that were given and that only tables of recipes have.

    Raises:
        ConfigError: A row is no task, or such an option was given.
        DataError: Data or published results are not on this machine.
    """
    if others:
        raise ConfigError(f"reproduce: {benchmark} is run as it was published. Leave out {list_some(others)}.")
    files.check_place(out)
    for task in tasks_of(benchmark, None if rows is None else [*rows]):
        items = task.items()
        windows = [Actual.of(task, item) for item in items]
        base: dict[str, float] = {}
        for name, method in METHODS.items():
            start = time.perf_counter()
            levels = [method(task, item) for item in items]
            seconds = time.perf_counter() - start
            scores = scores_of(task, windows, levels)
            base = base or scores
            row = _row(task, items, name, scores, base) | {"seconds": round(seconds, 1)}
            if out is not None:
                files.append_text(out, json.dumps(row | {"benchmark_task": task.protocol(), **_machine()}) + "\n")
            yield row


def _machine() -> Row:
    """Where seconds were measured, and by which code."""
    return {
        "commit": commit_of_source(),
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "processor": platform.processor() or platform.machine(),
    }


def _row(task: OpenTask, items: Sequence[Item], name: str, scores: dict[str, float], base: dict[str, float]) -> Row:
    relative = {f"relative_{metric}": scores[metric] / base[metric] for metric in SHOWN[task.benchmark]}
    return {
        "benchmark": task.benchmark,
        "row": task.row,
        "model": name,
        **scores,
        **relative,
        "data": ",".join(item.fingerprint() for item in items),
    }


def compare_open_benchmark(benchmark: str, rows: Sequence[Row]) -> list[Row]:
    """Published models and ours over the tasks that were run: relative to the seasonal naive forecast, the best first.

    A column is a metric of a task, and a mean the geometric one over tasks. Only models with every task are in it.
    """
    names = dict.fromkeys(row["row"] for row in rows)
    ours = [
        {
            "model": f"multiway {row['model']}",
            **{key: row.get(key) for key in ("row", *METRICS[benchmark])},
            "seconds": row["seconds"],
        }
        for row in rows
    ]
    frame = pd.concat([_published_rows(benchmark, [*names]), pd.DataFrame(ours)], ignore_index=True)
    base = frame[frame["model"] == BASE[benchmark]].set_index("row")
    lines = [
        _line(benchmark, str(model), part.set_index("row"), base)
        for model, part in frame.groupby("model")
        if set(part["row"]) == set(names)
    ]
    return sorted(lines, key=lambda line: line[f"mean relative {SHOWN[benchmark][0]}"])


def _published_rows(benchmark: str, names: Sequence[str]) -> pd.DataFrame:
    frame = published_results(benchmark)
    frame = frame[frame["row"].isin(names)].copy()
    if benchmark == "fev":
        frame["seconds"] = frame["training_time_s"] + frame["inference_time_s"]
        frame["type"] = frame["trained_on_this_dataset"].map({True: "trained on these data", False: ""})
    else:
        leaks = (frame["leakage"] == "Yes").map({True: ", leaks", False: ""})
        hidden = (frame["replication_code"] != "Yes").map({True: ", no code", False: ""})
        frame["type"] = frame["model_type"] + leaks + hidden
    return frame


def _line(benchmark: str, model: str, own: pd.DataFrame, base: pd.DataFrame) -> Row:
    shown = SHOWN[benchmark]
    means = {
        f"mean relative {metric}": math.exp(sum(math.log(each) for each in own[metric] / base[metric]) / len(own))
        for metric in shown
    }
    cells = {f"{row} {metric}": float(own.loc[row, metric]) for row in base.index for metric in shown}
    kind_of_model = own["type"].iloc[0] if "type" in own and isinstance(own["type"].iloc[0], str) else ""
    seconds = float(own["seconds"].sum()) if "seconds" in own and own["seconds"].notna().all() else None
    return {"model": model, **means, **cells, "seconds": seconds, "type": kind_of_model}
