"""The task `stocks`."""

import functools
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from multiway.auditing import AuditReport
from multiway.config import Config, Plain
from multiway.data.matching import Far, far_columns
from multiway.data.samples import Prepared, Rows, Samples
from multiway.data.splitting import Splits, split
from multiway.errors import DataError, Fix
from multiway.models.recursions import load_statsforecast
from multiway.tasks.answers import Answer
from multiway.tasks.candidate import discover
from multiway.tasks.choice import Evidence
from multiway.tasks.declarations import Encoding
from multiway.tasks.protocol import NETWORK, VALIDATION, Metric, Row, choose_by
from multiway.tasks.run import Run
from multiway.tasks.sample_task import describe_splits, sample_task
from multiway.tasks.sample_task import name_models as name_usual_models
from multiway.tasks.scores import sentence_of
from multiway.tasks.stored import SplitFacts, same_length
from multiway_papers.stocks.answers import explain_stocks, predict_next
from multiway_papers.stocks.audit import audit_stocks
from multiway_papers.stocks.checking import MARKET
from multiway_papers.stocks.config import STOCKS, StockConfig
from multiway_papers.stocks.encode import (
    PreparedStocks,
    StockInputs,
    check_targets,
    encode_shown,
    encoder_of,
    learn_stocks,
)
from multiway_papers.stocks.network import (
    OVER_BATCHES,
    Scored,
    chances_of,
    coverage_names,
    intervals_of_means,
)
from multiway_papers.stocks.page import PAGE
from multiway_papers.stocks.samples import StockWindows
from multiway_papers.stocks.state import StockState

COUNT = Metric(name="count", title="Movements", higher=None)
OF_MOVEMENTS = (
    Metric(name="acc", title="Accuracy", spread=True),
    Metric(name="f1", title="F1"),
    Metric(name="macro_f1", title="Macro F1"),
    Metric(name="mcc", title="MCC", spread=True),
    Metric(name="auc", title="AUC"),
    Metric(name="acc_texts", title="Accuracy with texts"),
    Metric(name="mcc_texts", title="MCC with texts"),
    COUNT,
)
OF_BATCHES = tuple(
    Metric(name=f"{name}_batches", title=f"{'Accuracy' if name == 'acc' else name.upper()} by batch")
    for name in OVER_BATCHES
)
OF_QUANTILES = (
    Metric(name="pinball", title="Pinball loss", higher=False, decimals=None, spread=True),
    Metric(name="mae", title="MAE", higher=False, decimals=None),
)


class SplitCounts(Config):
    """Target days of a split, and the movements on them."""

    days: int
    first: str
    last: str
    count: int
    rises: int
    tickers: int
    with_text: int


class StockFacts(SplitFacts[SplitCounts]):
    """What a stored run says of prices and texts."""

    tickers: int
    days: tuple[str, str]
    texts: int
    texts_dropped: dict[str, int]
    encoder: str | None


def learn_state(config: StockConfig, samples: Samples[StockWindows], train: Rows) -> StockState:
    """What arranging learns."""
    return encode_splits(config, samples, split(samples, config.split)).state


def encode_splits(
    config: StockConfig, samples: Samples[StockWindows], splits: Splits, *, progress: bool = False
) -> PreparedStocks:
    """Texts are encoded at once, since training learns from their vectors."""
    texts = samples.inputs.texts
    if config.modality in ("multimodal", "text") and (texts is None or not texts.count):
        needs = f"{samples.source}: model.modality={config.modality} needs texts, and there are none. Give them ("
        raise DataError(needs, Fix("read.texts", like="FILE"), "), or ", Fix("model.modality", "price"), ".")
    if not config.levels and "arima" in config.baselines:
        load_statsforecast()
    check_targets(samples.inputs, splits, quantiles=bool(config.levels))
    seen = None if config.modality == "price" else encode_shown(samples.inputs, config.text, progress=progress)
    state = learn_stocks(config, samples.inputs, splits, seen)
    encoded = samples.with_inputs(StockInputs.of(samples.inputs, state, seen))
    return Prepared(raw=samples, encoded=encoded, state=state, splits=splits, notes=samples.notes)


def encode_samples(
    config: StockConfig, samples: Samples[StockWindows], state: StockState, *, progress: bool = False
) -> Samples[StockInputs]:
    """Prices scaled, and texts as vectors, as those of the training are."""
    seen = None
    if state.encoder is not None:
        seen = encode_shown(samples.inputs, config.text, progress=progress)
        state.check_encoder(seen, samples.source)
    return samples.with_inputs(StockInputs.of(samples.inputs, state, seen))


def audit_run(config: StockConfig, run: Run | None = None) -> AuditReport:
    """See `multiway_papers.stocks.audit`; nothing is encoded for it."""
    samples = MARKET.read_sound(config, TASK.locate(config.data or ""))
    texts, encoder = samples.inputs.texts, None
    if texts is not None and texts.count and config.modality != "price":
        encoder = encoder_of(texts, config.text) if run is None else run.state.encoder
    scale = None if run is None else run.state.scale
    return audit_stocks(samples.inputs, split(samples, config.split), config.protocol, scale, encoder)


candidates = functools.partial(discover, "multiway_papers.stocks.candidates", "stocks")


def name_models(config: StockConfig, state: StockState) -> tuple[str, ...]:
    """The network and the baselines of the config; quantiles have those of the training days."""
    if config.levels:
        return NETWORK, "training_quantiles"
    return name_usual_models(candidates, config, state)


def measure_candidates(run: Run, prepared: PreparedStocks, *, refit: bool = True) -> Evidence:
    """Brier scores of validation, or pinball losses of quantiles."""
    return predict_split(run, prepared, "validation").evidence()


def check_stored(run: Run) -> None:
    """The scale is of what the network reads."""
    scale, sizes = run.state.scale, run.state.sizes
    same_length({"centre": scale.centre, "spread": scale.spread, "price features": range(sizes.price_features)})
    if scale.date_features != run.config.dates:
        raise ValueError(f"of dates {scale.date_features} in place of {run.config.dates}")


def predict_split(run: Run, prepared: PreparedStocks, split: str) -> Scored:
    """Probabilities of a rise, or quantiles, of every candidate for the target movements of a split."""
    inputs: StockInputs = prepared.part(split).inputs
    if not inputs.target_mask.any():
        raise DataError(f"{prepared.source}: {split} has no movement to score. Give prices that reach further.")
    outputs = run.once(prepared, split, lambda: {name: chances_of(run, name, inputs) for name in run.models})
    answers = outputs | {run.answer.name: run.answer.mix(outputs)}
    return Scored.of(run.config, inputs.windows, inputs.target_mask, answers)


def describe_run(run: Run, prepared: PreparedStocks, predictions: Scored) -> Plain:
    """Days, texts and movements."""
    texts, days = prepared.raw.inputs.texts, prepared.raw.inputs.panel.days
    return {
        "tickers": len(run.state.tickers),
        "days": [str(days[0]), str(days[-1])],
        "texts": 0 if texts is None else texts.count,
        "texts_dropped": {} if texts is None else texts.dropped,
        "encoder": run.state.encoder,
        **describe_splits(run, prepared),
    }


def list_metrics(config: StockConfig) -> tuple[Metric, ...]:
    """Of directions, or of quantiles."""
    if not config.levels:
        return (*OF_MOVEMENTS, *OF_BATCHES) if config.batch_days else OF_MOVEMENTS
    titles = {name: f"Coverage of {name.removeprefix('coverage_')} %" for name in coverage_names(config.levels)}
    coverage = [Metric(name=name, title=title, higher=None) for name, title in titles.items()]
    return (*OF_QUANTILES, *coverage, COUNT)


def summarise(run: Run) -> str:
    """Test scores."""
    return sentence_of(run, *(("pinball", "mae") if run.config.levels else ("mcc", "acc")))


def facts_of_cell(runs: Sequence[Run]) -> Row:
    """Counts, the encoder, and 95 % intervals by blocks of days: of the means over seeds, and of baselines.

    Quantiles are no rises and falls.
    """
    facts, config = runs[0].facts["splits"], runs[0].config
    means = {} if config.levels or not config.draws else intervals_of_means(runs)
    sides = {name: interval or (None, None) for name, interval in means.items()}
    return {
        **{
            f"{name}_{side}": end
            for name, ends in sides.items()
            for side, end in zip(("low", "high"), ends, strict=True)
        },
        "intervals": intervals_of_baselines(runs[0]) if means else {},
        "encoder": runs[0].state.encoder,
        "counts": {split: part["count"] for split, part in facts.items()},
        "test_rises": facts["test"]["rises"],
    }


def intervals_of_baselines(run: Run) -> Row:
    """Low and high end of accuracy and correlation on the test days, by baseline and metric."""
    found: Row = {}
    for row in run.scores:
        if row["split"] == "test" and row["model"] != NETWORK and row["metric"] in ("acc", "mcc"):
            found.setdefault(row["model"], {})[row["metric"]] = [row["low"], row["high"]]
    return found


def find_far(run: Run, later: Samples[StockInputs]) -> Sequence[Far]:
    """Movements of prices far from those of the training days."""
    windows = later.inputs.windows
    seen = windows.features[windows.days_seen].astype(np.float64)
    return far_columns(seen, windows.feature_names, run.state.scale.of_prices, "the days")


def find_far_scored(run: Run, prepared: Prepared[StockWindows, StockState]) -> Sequence[Far]:
    """As the models take them."""
    return find_far(run, prepared.encoded)


def backtest_run(run: Run, data: str | None, out: Path | None, options: Plain) -> Answer:
    """What trading by the predictions would have returned."""
    from multiway_papers.stocks.backtest import backtest_run

    return backtest_run(run, data, out, options)


TASK = sample_task(
    Encoding(
        learn=learn_state,
        encode=encode_samples,
        arrange=encode_splits,
        split_later=lambda config, samples: split(samples, config.split),
    ),
    **STOCKS.parts,
    state=StockState,
    facts=StockFacts,
    fields_of_validation=(*VALIDATION, "protocol", "target", "quantiles", "select"),
    page=PAGE,
    metrics=list_metrics,
    candidates=candidates,
    audit=audit_run,
    names=name_models,
    choose=functools.partial(choose_by, measure_candidates),
    check_stored=check_stored,
    predict=predict_split,
    describe=describe_run,
    sentence=summarise,
    cell_facts=facts_of_cell,
    far=find_far,
    far_scored=find_far_scored,
    answer=predict_next,
    explain=explain_stocks,
    backtest=backtest_run,
)
