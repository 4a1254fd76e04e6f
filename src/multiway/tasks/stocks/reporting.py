"""What runs of the task `stocks` have to say, as the content of a report."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from multiway.data.stocks import check_stocks
from multiway.errors import MultiwayError
from multiway.explain import average_curves
from multiway.metrics.classes import reliability_table
from multiway.report import (
    ClassificationReport,
    ClassScore,
    DataCheck,
    ModelCost,
    MovementGrid,
    ReliabilityBin,
    SplitCases,
    SplitMovements,
    StockReport,
    render_classification_comparison,
    render_stock_report,
)
from multiway.tasks.protocol import OURS
from multiway.tasks.reporting import command, environment, findings_of, training_curve
from multiway.tasks.run import Run
from multiway.tasks.stocks.attention import average_attention
from multiway.tasks.stocks.config import StockConfig
from multiway.tasks.stocks.explanation_inputs import ExplainedData
from multiway.tasks.stocks.prediction import reload, source_of
from multiway.tasks.stocks.showing import deletion_note, explained_answers, view_of_answer, view_of_backtest
from multiway.tasks.stocks.trading import backtest_reloaded, evening_texts

if TYPE_CHECKING:
    from multiway.tasks.stocks.prepared import Prepared

METRICS = {
    "acc": "ACC",
    "f1": "F1",
    "macro_f1": "Macro F1",
    "mcc": "MCC",
    "auc": "AUC",
    "pinball": "Pinball",
    "mae": "MAE",
}
PERIOD = re.compile(r"\d{4}(-\d\d)?")
"""How the data check names a year or a month."""
MODELS = {
    "previous": "previous direction",
    "logistic": "logistic regression",
    "calendar": "calendar look-up",
    "training_quantiles": "training quantiles",
}


def report(runs: Sequence[Run]) -> str:
    """The HTML report of runs that differ in their seed; the first is shown in detail."""
    return render_stock_report(report_content(runs))


def compare(groups: Sequence[Sequence[Run]]) -> str:
    """Several runs, each with its seeds, on one page."""
    return render_classification_comparison([_compared(report_content(runs, details=False)) for runs in groups])


def report_content(runs: Sequence[Run], *, details: bool = True) -> StockReport:
    """Content of one report; parts that need the data are left out when its file is no longer there.

    Args:
        runs: Runs that differ in their seed only; the first is shown in detail.
        details: Read the data again, check it, explain answers and trade by them.
    """
    run = runs[0]
    seeds = [each.config.training.seed for each in runs]
    manifest = run.folder.verify() if run.folder else {}
    test = _own_test(run)
    prepared, note = _read(run) if details else (None, "")
    detail = _details(run, prepared) if prepared is not None else {"answer_note": note}
    return StockReport(
        title=Path(str(run.config.data)).stem if run.config.data else "Stocks in memory",
        source=str(run.config.data or "tables in memory"),
        created=str(manifest.get("finished", "")),
        setting=_setting(run),
        chosen=OURS,
        majority="majority",
        calendar=MODELS["calendar"],
        scores=[
            _score(row, seed)
            for each, seed in zip(runs, seeds, strict=True)
            for row in each.scores
            if row["metric"] != "count"
        ],
        costs=_costs(run),
        seeds=seeds,
        splits=[_split(name, part) for name, part in run.facts.get("splits", {}).items()],
        grid=_grid(test) if len(test) else None,
        reliability=_reliability(test),
        unit="log odds of a rise" if run.config.target == "movement" else "spreads of the median movement",
        training=training_curve(runs),
        selected_by=_selected_by(run),
        environment=environment(manifest, seeds),
        command=command("stocks", run.config, StockConfig.parse({})),
        notes=[f"{note[:1].upper()}{note[1:].rstrip('.')}." for note in run.facts.get("notes", ())],
        **detail,
    )


def _read(run: Run) -> tuple[Prepared | None, str]:
    """Samples of the run's data; else None and why."""
    try:
        return reload(run), ""
    except (MultiwayError, OSError) as error:
        return None, f"Answers, attention and backtest need the data, which could not be read again: {error}"


def _own_test(run: Run) -> pd.DataFrame:
    """Test predictions of the network that the protocol asks about."""
    rows = run.tables["predictions"]
    return rows[(rows["model"] == OURS) & (rows["split"] == "test") & (rows["label"] >= 0)]


def _score(row: dict[str, Any], seed: int) -> ClassScore:
    return ClassScore(
        model=MODELS.get(row["model"], row["model"]),
        metric=_metric(row["metric"]),
        value=row["value"],
        low=row.get("low"),
        high=row.get("high"),
        split=row["split"],
        seed=seed,
    )


def _metric(name: str) -> str:
    if name.startswith("coverage_"):
        return f"Coverage of {name.removeprefix('coverage_')} %"
    return METRICS.get(name, name)


def _selected_by(run: Run) -> str:
    by_loss = run.config.select == "loss" or run.config.target == "quantiles"
    return "lowest validation loss" if by_loss else f"highest validation {METRICS[run.config.select]}"


def _setting(run: Run) -> dict[str, str]:
    protocol, sizes = run.config.protocol, run.state.sizes
    named = f"{protocol.name}{', complete' if protocol.complete else ''}{', literal' if protocol.literal else ''}"
    low, high = protocol.dead_zone
    reads = getattr(getattr(run.model, "config", None), "modality", "price")
    return {
        "Protocol": named,
        "Not asked": f"{100 * low:g} to {100 * high:g} %".replace("-", "\u2212")
        if high > low and protocol.name != "published-code"
        else "none",
        "Tickers": str(len(run.state.tickers)),
        "Days of a window": str(sizes.get("slots", protocol.look_back)),
        "Reads": {"price": "prices", "text": "texts", "multimodal": "prices and texts"}.get(reads, reads),
        **({"Texts by": run.state.encoder} if run.state.encoder else {}),
        "Model": run.config.model_name,
    }


def _costs(run: Run) -> list[ModelCost]:
    parameters, seconds = run.facts.get("parameters", {}), run.facts.get("seconds", {})
    scored = {row["model"] for row in run.scores}
    return [
        ModelCost(model=MODELS.get(name, name), parameters=parameters.get(name), fit_seconds=seconds.get(name))
        for name in dict.fromkeys([*parameters, *seconds])
        if name in scored
    ]


def _split(name: str, part: dict[str, Any]) -> SplitMovements:
    return SplitMovements(
        name=name,
        first=part["first"],
        last=part["last"],
        days=part["days"],
        movements=part["count"],
        rises=part.get("rises"),
        with_text=part.get("with_text"),
    )


def _grid(test: pd.DataFrame) -> MovementGrid:
    months = pd.DatetimeIndex(test["date"]).strftime("%Y-%m")
    table = pd.DataFrame(
        {
            "ticker": test["ticker"].to_numpy(),
            "month": months,
            "count": 1,
            "right": (test["predicted"] == test["label"]).to_numpy().astype(int),
            "rises": (test["label"] == 1).to_numpy().astype(int),
        }
    )
    sums = table.groupby(["ticker", "month"]).sum().unstack(fill_value=0)
    counts, right, rises = (sums[name].to_numpy(np.int64) for name in ("count", "right", "rises"))
    return MovementGrid(
        tickers=list(map(str, sums.index)), months=list(sums["count"].columns), counts=counts, right=right, rises=rises
    )


def _reliability(test: pd.DataFrame) -> list[ReliabilityBin]:
    if not len(test):
        return []
    rises = test["p_up"].to_numpy(float)
    rows = reliability_table(test["label"].to_numpy(), np.stack([1 - rises, rises], axis=1), bins=20)
    return [ReliabilityBin(confidence=row["confidence"], accuracy=row["accuracy"], count=row["count"]) for row in rows]


def _details(run: Run, prepared: Prepared) -> dict[str, Any]:
    """Answers and their texts, attention, the deletion test and the backtest."""
    data = ExplainedData.of(run, prepared)
    shown, tested = explained_answers(run, data)
    curves = [item.deletion for item in tested if item.deletion is not None]
    traded = backtest_reloaded(run, prepared)
    return {
        **_check(run),
        "answers": [view_of_answer(heading, item) for heading, item in shown],
        "maps": average_attention(run, data, prepared.samples.splits["test"]),
        "deletion": average_curves(curves) if curves else None,
        "deletion_answers": len(curves),
        "deletion_note": deletion_note(curves),
        "backtest": None if traded is None else view_of_backtest(traded, evening_texts(run)),
    }


def _check(run: Run) -> dict[str, Any]:
    """The data check, with what there is by month or year apart; labels stand under the protocol."""
    try:
        found = check_stocks(source_of(run), run.config.read, run.config.protocol)
    except (MultiwayError, OSError):
        return {}
    known = {name: str(value) for name, value in found.summary.items() if value is not None}
    periods = {name: words for name, words in known.items() if PERIOD.fullmatch(name)}
    check = DataCheck(
        facts={
            name.capitalize(): words
            for name, words in known.items()
            if name not in periods and not name.startswith("labels of")
        },
        findings=findings_of(found),
    )
    return {"check": check, "coverage": periods}


def _compared(content: StockReport) -> ClassificationReport:
    """The parts that a comparison shows."""
    return ClassificationReport(
        title=content.title,
        chosen=content.chosen,
        setting=content.setting,
        scores=content.scores,
        splits=[
            SplitCases(name=split.name, cases=split.movements, classes={"rise": split.rises or 0})
            for split in content.splits
        ],
        environment=content.environment,
        command=content.command,
    )
