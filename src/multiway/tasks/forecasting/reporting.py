"""What a forecasting run has to say, as the content of a report."""

import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from multiway.data import Panel, Windows, check_file, datasets
from multiway.errors import MultiwayError
from multiway.explain import ModeMap, deletion_test
from multiway.report import content as page
from multiway.tasks.fitting import count_parameters
from multiway.tasks.forecasting.explanation import load_explanation
from multiway.tasks.forecasting.future import forecast_columns
from multiway.tasks.forecasting.model import model_of
from multiway.tasks.forecasting.prepared import Prepared, prepare
from multiway.tasks.reporting import environment, findings_of, training_curve
from multiway.tasks.run import Run

HISTORY_WINDOWS = 2
METRICS = {"mse": "MSE", "mae": "MAE", "smape": "sMAPE", "mase": "MASE"}
DELETION_WINDOWS = 64
RULE = (
    "The blend's validation error is a parabola in the network's share; the share is its lowest point, drawn towards "
    "ridge by the uncertainty between blocks of validation windows that share no rows."
)


def report_content(runs: Sequence[Run]) -> page.ForecastReport:
    """Content of one report for runs that differ in their seed only; the first is shown in detail.

    Parts that need the data are left out when its file is no longer there.
    """
    run = runs[0]
    prepared = _data_of(run)
    seeds = [each.config.training.seed for each in runs]
    manifest = run.folder.verify() if run.folder else {}
    return page.ForecastReport(
        title=Path(run.facts["source"]).stem,
        source=str(run.config.data or "a frame in memory"),
        created=str(manifest.get("finished", "")),
        setting=_setting(run),
        selection=_selection(run),
        scores=[
            page.ScoreRow(
                model=row["model"],
                split=row["split"],
                scale=row["scale"],
                metric=METRICS[row["metric"]],
                value=row["value"],
                seed=seed,
            )
            for each, seed in zip(runs, seeds, strict=True)
            for row in each.scores
        ],
        costs=_costs(run, prepared),
        seeds=seeds,
        check=_check(run),
        splits=[
            page.SplitSpan(
                name=name,
                first=_time(part["first"]),
                last=_time(part["last"]),
                rows=part["rows"],
                windows=part["windows"],
            )
            for name, part in run.facts["splits"].items()
        ],
        forecasts=[] if prepared is None else _forecasts(run, prepared),
        step_errors=_by(run, "step"),
        variate_errors=_by_variate(run),
        coverage=[
            page.CoverageRow(
                level=row["level"], actual=row["actual"], width=row["width"], by_step=np.array(row["by_step"])
            )
            for row in run.facts["coverage"]
        ],
        training=training_curve(runs),
        maps=_maps(run),
        deletion=[] if prepared is None else _deletion(run, prepared.windows["test"]),
        environment=environment(manifest, seeds),
        command=_command(run),
        notes=run.facts["notes"],
    )


def _data_of(run: Run) -> Prepared | None:
    try:
        return None if run.config.data is None else prepare(run.config, datasets.locate(run.config.data))
    except (MultiwayError, OSError):
        return None


def _setting(run: Run) -> dict[str, str]:
    return {
        "Look-back": f"{run.config.lookback} steps",
        "Horizon": f"{run.config.horizon} steps",
        "Step": run.state.frequency or "row",
        "Season": f"{run.state.season} steps",
        "Series": str(len(run.state.names)),
    }


def _selection(run: Run) -> page.Selection:
    chosen = run.facts["selection"]
    if "floor_error" not in chosen:
        candidates = [page.Candidate(model="ridge", value=chosen["ridge"]["validation_mse"])]
        return page.Selection(
            chosen="multiway", candidates=candidates, sentence="Ridge makes the forecast; no network was trained."
        )
    errors = (("ridge", "floor_error"), ("network", "network_error"), ("multiway", "blend_error"))
    return page.Selection(
        chosen="multiway",
        candidates=[
            page.Candidate(
                model=name,
                value=chosen[key],
                difference=None if name == "ridge" else chosen[key] - chosen["floor_error"],
                note=f"{chosen['weight']:.0%} network" if name == "multiway" else "",
            )
            for name, key in errors
        ],
        rule=RULE,
        sentence=f"Validation chose {chosen['sentence']}",
    )


def _costs(run: Run, prepared: Prepared | None) -> list[page.ModelCost]:
    seconds = {"network": run.facts["seconds"]["multiway"]}
    past = torch.zeros(1, run.config.lookback, len(run.state.names))
    model = model_of(run)
    rows: list[tuple[str, torch.nn.Module]] = [("ridge", model.floor)]
    rows += [] if model.network is None else [("network", model.network)]
    return [
        page.ModelCost(
            model=name,
            parameters=count_parameters(module) or model.floor.weight.numel(),
            flops=_flops(module, past),
            latency_seconds=_latency(module, past),
            fit_seconds=seconds.get(name),
        )
        for name, module in rows
    ]


@torch.no_grad()
def _flops(module: torch.nn.Module, past: Tensor) -> float:
    with FlopCounterMode(display=False) as counter:
        module(past)
    return float(counter.get_total_flops())


@torch.no_grad()
def _latency(module: torch.nn.Module, past: Tensor) -> float:
    times = []
    for _ in range(6):
        start = time.perf_counter()
        module(past)
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:])


def _check(run: Run) -> page.DataCheck | None:
    if run.config.data is None:
        return None
    try:
        report = check_file(datasets.locate(run.config.data), run.config.read)
    except MultiwayError:
        return None
    return page.DataCheck(
        facts={name.capitalize(): str(value) for name, value in report.summary.items()},
        findings=findings_of(report),
    )


def _forecasts(run: Run, prepared: Prepared) -> list[page.ForecastPanel]:
    """The last test window with what happened, and the steps after the end of the data."""
    horizon, panel = run.config.horizon, prepared.panel
    stop = prepared.borders.test[1]
    before = panel.slice(0, stop - horizon)
    actual = panel.values[stop - horizon : stop]
    last = _panels(run, before, panel.times[stop - horizon : stop], actual, "Last test window")
    return last + _panels(run, panel, panel.future_times(horizon), None, "After the end of the data")


def _panels(run: Run, panel: Panel, times: pd.Index, actual: Any, group: str) -> list[page.ForecastPanel]:
    levels = run.config.levels
    columns = forecast_columns(run, panel, levels)
    shown = max(HISTORY_WINDOWS * run.config.horizon, run.config.lookback)
    return [
        page.ForecastPanel(
            name=name,
            times=times,
            group=group,
            history_times=panel.times[-shown:],
            history=panel.values[-shown:, index],
            lines={"multiway": columns["multiway"][:, index]},
            actual=None if actual is None else actual[:, index],
            bands={
                level: (columns[f"multiway-lo-{level:g}"][:, index], columns[f"multiway-hi-{level:g}"][:, index])
                for level in levels
            },
        )
        for index, name in enumerate(run.state.names)
    ]


def _errors(run: Run) -> pd.DataFrame | None:
    return run.tables["errors"].query("split == 'test'") if "errors" in run.tables else None


def _by(run: Run, column: str) -> page.StepErrors | None:
    errors = _errors(run)
    if errors is None:
        return None
    means = errors.groupby(["model", column], sort=False)["mse"].mean()
    return page.StepErrors(lines={str(model): means[model].to_numpy() for model in dict.fromkeys(errors["model"])})


def _by_variate(run: Run) -> page.VariateErrors | None:
    errors = _errors(run)
    if errors is None:
        return None
    means = errors.groupby(["model", "variate"], sort=False)["mse"].mean()
    return page.VariateErrors(
        names=run.state.names,
        bars={
            str(model): means[model].reindex(list(run.state.names)).to_numpy()
            for model in dict.fromkeys(errors["model"])
        },
    )


def _maps(run: Run) -> list[ModeMap]:
    if run.folder is None or model_of(run).network is None:
        return []
    return load_explanation(run.folder.path / "explanation").average


@torch.no_grad()
def _deletion(run: Run, windows: Windows) -> list[page.DeletionRow]:
    """Hide what the first block attends to most, and as much at random, and see what the forecast loses."""
    network = model_of(run).network
    if network is None:
        return []
    batch = windows.gather(torch.linspace(0, len(windows) - 1, min(DELETION_WINDOWS, len(windows))).long())
    seen = batch.get("past_observed", torch.ones_like(batch["past"], dtype=torch.bool))
    patch = network.config.patch_length
    rows = []
    for item in (item for item in _maps(run) if item.layer == 0 and len(item.key_labels) > 1):

        def error_without(positions: "np.ndarray[Any, Any]", mode: str = item.mode) -> float:
            kept = seen.clone()
            for position in positions:
                if mode == "time":
                    kept[:, position * patch : (position + 1) * patch] = False
                else:
                    kept[:, :, position] = False
            forecast = network(batch["past"], kept)
            return float((forecast - batch["future"]).square().mean())

        result = deletion_test(item, error_without)
        rows.append(
            page.DeletionRow(
                mode=item.mode,
                hidden=f"{result.num_hidden} of {len(item.key_labels)}",
                error=result.error_attended,
                error_random=result.error_random,
                error_intact=result.error_intact,
            )
        )
    return rows


def _command(run: Run) -> str:
    config = run.config
    return f"multiway train forecast --data {config.data} --horizon {config.horizon} --lookback {config.lookback}"


def _time(text: str) -> page.Time:
    """Stamps and integers come back from JSON as text."""
    return int(text) if text.lstrip("-").isdigit() else pd.Timestamp(text)
