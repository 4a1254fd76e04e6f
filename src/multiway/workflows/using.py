"""What can be done with a finished run: score, predict, explain, report, compare."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from multiway import files
from multiway.errors import ConfigError, RunError
from multiway.tasks import forecasting
from multiway.tasks.forecasting.task import source_of
from multiway.tasks.protocol import Row
from multiway.tasks.registry import task_of, task_of_run
from multiway.tasks.tables import write_frame
from multiway.workflows.runs import load_runs, run_folders, task_name


def evaluate(run: Path, *, data: str | None = None, split: str = "test") -> list[Row]:
    """A run's stored scores, or fresh ones on other data."""
    return task_of(task_name(run)).evaluate(load_runs(run), data, split)


def predict(
    run: Path, *, data: str | None = None, out: Path | None = None, options: dict[str, Any] | None = None
) -> list[str]:
    """Predict with a run and write what the task writes; return what the user reads.

    Options of a forecast: `layout`, long or wide, and `levels`, percentages.
    """
    folder = run_folders(run)[0]
    task = task_of_run(folder)
    return task.predict(task.load(folder), data, out, options or {})


class Backtested(NamedTuple):
    """What a backtest came to: a table, and what the user reads under it."""

    rows: list[Row]
    lines: list[str]


def backtest(
    run: Path, *, data: str | None = None, out: Path | None = None, options: dict[str, Any] | None = None
) -> Backtested:
    """Score forecasts from past moments of a file, or trade by the predictions of stocks; with a path, also write them.

    Options of a forecast: `cutoffs` and `step`; of stocks: `top`, a share of the ranking, and `cost_bps`.
    """
    name, chosen = task_name(run), options or {}
    folder = run_folders(run)[0]
    if name == "stocks":
        from multiway.tasks.stocks import load
        from multiway.tasks.stocks.trading import backtest_run

        return Backtested(*backtest_run(load(folder), data, out, chosen))
    if name != "forecast":
        raise RunError(f"{run} is a run of {name}, and a backtest is of forecasts or stocks. Use `multiway evaluate`.")
    loaded = forecasting.load(folder)
    panel = loaded.read(source_of(loaded, data))
    frame = forecasting.backtest_frame(loaded, panel, chosen.get("cutoffs", 10), chosen.get("step"))
    if out is not None:
        write_frame(frame, out)
    return Backtested(forecasting.score_backtest(frame), [])


def explain(run: Path, *, out: Path | None = None, options: dict[str, Any] | None = None) -> list[str]:
    """Write what the model attended to; return what is strongest and where the files are."""
    folder = run_folders(run)[0]
    task = task_of_run(folder)
    return task.explain(task.load(folder), out, options or {})


def report(run: Path, *, out: Path | None = None) -> Path:
    """Write the one-file HTML report of a run, or of its seeds together."""
    target = out or run / "report.html"
    files.write_text(target, task_of(task_name(run)).report(load_runs(run)))
    return target


def compare(runs: Sequence[Path], *, out: Path | None = None) -> list[Row]:
    """Test scores of several runs of one task side by side."""
    if len(runs) < 2:
        raise ConfigError(f"compare: give at least two runs, got {len(runs)}.")
    names = {str(path): task_name(path) for path in runs}
    if len(set(names.values())) > 1:
        found = ", ".join(f"{path} of {name}" for path, name in names.items())
        raise ConfigError(f"compare: the runs must be of one task. Got {found}.")
    task = task_of(names[str(runs[0])])
    loaded = {str(path): load_runs(path) for path in runs}
    if out is not None:
        files.write_text(out, task.compare(list(loaded.values())))
    return [{"run": path, **row} for path, each in loaded.items() for row in task.score_table(each, "test")]
