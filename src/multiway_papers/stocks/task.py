"""The task `stocks`."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

import numpy as np
from torch import Tensor, nn

from multiway.auditing import AuditReport
from multiway.config import Config, Plain
from multiway.data.matching import Far, far_columns
from multiway.data.samples import Prepared, Rows, Samples
from multiway.data.splitting import Splits, split
from multiway.errors import DataError, Fix
from multiway.models.arima import load_statsforecast
from multiway.tasks.answers import Answer
from multiway.tasks.choice import Evidence
from multiway.tasks.encoded_task import EncodedTask
from multiway.tasks.protocol import NETWORK, VALIDATION, Fitted, Metric, Row
from multiway.tasks.run import Run
from multiway.tasks.scores import sentence_of
from multiway.tasks.stored import SplitFacts, same_length
from multiway.training import Objective
from multiway_papers.stocks.answers import explain_stocks, predict_next
from multiway_papers.stocks.audit import audit_stocks
from multiway_papers.stocks.baselines import QUANTILES, StockBaseline, build_stock_baseline
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
    INPUTS,
    OVER_BATCHES,
    MovementLoss,
    Scored,
    chances_of,
    coverage_names,
    intervals_of_means,
    movement_loss,
    validation_score,
)
from multiway_papers.stocks.page import PAGE
from multiway_papers.stocks.regressions import OF_WORDS
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


def split_later(config: StockConfig, samples: Samples[StockWindows]) -> Splits:
    """By the borders of the training."""
    return split(samples, config.split)


def audit_run(config: StockConfig, run: Run | None = None) -> AuditReport:
    """See `multiway_papers.stocks.audit`; nothing is encoded for it."""
    samples = TASK.kind.read_sound(config, TASK.locate(config.data or ""))
    texts, encoder = samples.inputs.texts, None
    if texts is not None and texts.count and config.modality != "price":
        encoder = encoder_of(texts, config.text) if run is None else run.state.encoder
    scale = None if run is None else run.state.scale
    return audit_stocks(samples.inputs, split(samples, config.split), config.protocol, scale, encoder)


def name_models(config: StockConfig, state: StockState) -> tuple[str, ...]:
    """The network and the baselines of the config; quantiles have those of the training days."""
    if config.levels:
        return NETWORK, QUANTILES
    return tuple(name for name in EncodedTask.names(TASK, config, state) if state.words or name not in OF_WORDS)


def build_model(config: StockConfig, state: StockState, name: str) -> nn.Module:
    """The network or a baseline."""
    return config.network(**state.sizes.plain()) if name == NETWORK else build_stock_baseline(config, state, name)


def build_objective(run: Run, training: Samples[StockInputs]) -> Objective:
    """Cross-entropy of directions, or pinball loss of quantiles."""
    return MovementLoss.in_training(run.config, training.inputs)


def validation_measure(
    run: Run, validation: Samples[StockInputs]
) -> tuple[Objective, Callable[[nn.Module], float] | None]:
    """The loss without weights and smoothing, and the score that chooses the epoch."""
    return MovementLoss(run.config, run.state.scale), validation_score(run.config, validation.inputs)


def loss_of_baseline(run: Run, name: str, validation: Samples[StockInputs]) -> float | None:
    """Cross-entropy of rises and falls; none of quantiles, or where a score chooses the epoch."""
    if run.config.levels or run.config.select != "loss":
        return None
    return movement_loss(chances_of(run, name, validation.inputs), validation.inputs)


def fit_baseline(
    model: nn.Module, run: Run, training: Samples[StockInputs], validation: Samples[StockInputs]
) -> Fitted:
    """Closed forms and counts; see `multiway_papers.stocks.baselines`."""
    return cast(StockBaseline, model).fit(training.inputs, validation.inputs)


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
    answers = outputs | {run.answer.name: run.answer.mixed(outputs)}
    return Scored.of(run.config, inputs.windows, inputs.target_mask, answers)


def describe_run(run: Run, prepared: PreparedStocks) -> Plain:
    """Days, texts and movements."""
    texts, days = prepared.raw.inputs.texts, prepared.raw.inputs.panel.days
    return {
        "tickers": len(run.state.tickers),
        "days": [str(days[0]), str(days[-1])],
        "texts": 0 if texts is None else texts.count,
        "texts_dropped": {} if texts is None else texts.dropped,
        "encoder": run.state.encoder,
        **EncodedTask.describe(TASK, run, prepared),
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
    """Counts, the encoder, and 95 % intervals of the means over seeds; quantiles are no rises and falls."""
    facts, config = runs[0].facts["splits"], runs[0].config
    means = {} if config.levels or not config.draws else intervals_of_means(runs)
    sides = {name: interval or (None, None) for name, interval in means.items()}
    return {
        **{
            f"{name}_{side}": end
            for name, ends in sides.items()
            for side, end in zip(("low", "high"), ends, strict=True)
        },
        "encoder": runs[0].state.encoder,
        "counts": {split: part["count"] for split, part in facts.items()},
        "test_rises": facts["test"]["rises"],
    }


def find_far(run: Run, later: Samples[StockInputs]) -> Sequence[Far]:
    """Movements of prices far from those of the training days."""
    windows = later.inputs.windows
    seen = windows.features[windows.days_seen].astype(np.float64)
    return far_columns(seen, windows.feature_names, run.state.scale.of_prices, "the days")


def find_far_scored(run: Run, prepared: Prepared[StockWindows, StockState]) -> Sequence[Far]:
    """As the models take them."""
    return find_far(run, prepared.encoded)


def sample_inputs(run: Run, prepared: Prepared[StockWindows, StockState]) -> tuple[Tensor | None, ...]:
    """Some validation days."""
    validation = prepared.part("validation")
    batch = validation.inputs.batch(validation.some(TASK.sampled))
    return tuple(batch.get(name) for name in INPUTS)


def backtest_run(run: Run, data: str | None, out: Path | None, options: Plain) -> Answer:
    """What trading by the predictions would have returned."""
    from multiway_papers.stocks.backtest import backtest_run

    return backtest_run(run, data, out, options)


TASK: EncodedTask[StockConfig, StockWindows, StockState] = EncodedTask(
    **STOCKS.parts,
    page=PAGE,
    state=StockState,
    facts=StockFacts,
    counting=("tfidf", "tfidf_ticker"),
    fields_of_validation=(*VALIDATION, "protocol", "target", "quantiles", "select"),
    learnt=learn_state,
    arranged=encode_splits,
    encode=encode_samples,
    later_splits=split_later,
    audit=audit_run,
    names=name_models,
    build=build_model,
    objective=build_objective,
    validated_by=validation_measure,
    loss_of=loss_of_baseline,
    fit_baseline=fit_baseline,
    evidence=measure_candidates,
    check_stored=check_stored,
    predict=predict_split,
    describe=describe_run,
    metrics=list_metrics,
    sentence=summarise,
    cell_facts=facts_of_cell,
    far=find_far,
    far_scored=find_far_scored,
    answer=predict_next,
    sample=sample_inputs,
    explain=explain_stocks,
    backtest=backtest_run,
)
