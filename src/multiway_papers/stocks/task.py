"""The task `stocks`."""

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

import numpy as np
from torch import Tensor, nn

from multiway.auditing import AuditReport
from multiway.config import Plain
from multiway.data.checking import Hook
from multiway.data.findings import Findings
from multiway.data.matching import Far, far_columns
from multiway.data.samples import Prepared, Rows, Samples
from multiway.data.sources.tables import pair_of
from multiway.data.splitting import Splits, split
from multiway.errors import DataError, Fix
from multiway.models.arima import load_statsforecast
from multiway.tasks.answers import Answer
from multiway.tasks.choice import Evidence
from multiway.tasks.encoded_task import EncodedTask
from multiway.tasks.options import read_names, read_number
from multiway.tasks.protocol import NETWORK, VALIDATION, Fitted, Metric, Option, Row
from multiway.tasks.run import Run
from multiway.tasks.scores import sentence_of
from multiway.tasks.stored import same_length
from multiway.training import Objective
from multiway_papers.stocks.answers import explain_stocks, predict_next
from multiway_papers.stocks.audit import audit_stocks
from multiway_papers.stocks.baselines import QUANTILES, StockBaseline, build_stock_baseline
from multiway_papers.stocks.checking import check_days, check_unpriced, count_labels, describe_market
from multiway_papers.stocks.config import StockConfig, StockFacts
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
from multiway_papers.stocks.samples import StockWindows, samples_of
from multiway_papers.stocks.source import looks_like_stocks, market_of, source_label
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


class Stocks(EncodedTask[StockConfig, StockWindows, StockState]):
    """Rise or fall of stocks on the next day, from prices and texts."""

    name = "stocks"
    example = "--data prices.csv --texts texts.jsonl"
    page = PAGE
    config = StockConfig
    state = StockState
    facts = StockFacts
    counting = ("tfidf", "tfidf_ticker")
    fields_of_validation = (*VALIDATION, "protocol", "target", "quantiles", "select")
    options = (
        Option(
            name="texts",
            field="read.texts",
            commands=("train", "check", "audit", "predict"),
            help="Texts of each ticker, or ready vectors: a file or folder. 'none': none.",
        ),
        Option(
            name="time_zone", field="read.time_zone", help="Zone of time stamps that state none: UTC, Europe/London."
        ),
        Option(name="exchange_zone", field="read.exchange_zone", help="Zone of the exchange."),
        Option(
            name="close",
            field="read.close",
            help="When the exchange closes, 16:00; later texts count as the next day's.",
        ),
        Option(
            name="protocol",
            field="protocol.name",
            help="How samples are labelled and split: chronological, or as published: stocknet, published-code.",
        ),
        Option(
            name="encoder",
            field="text.encoder",
            commands=("train", "audit"),
            help="Turns texts into vectors: auto, minilm, finbert, hashed, a folder.",
        ),
        Option(
            name="modality",
            field="model.modality",
            commands=("train", "audit"),
            choices=("multimodal", "price", "text"),
            help="What the network sees.",
        ),
        Option(
            name="date",
            commands=("explain",),
            help="Day to explain, 2015-11-03; if not given, the last tested, or those of confident errors.",
        ),
        Option(
            name="tickers",
            commands=("explain",),
            read=read_names,
            help="Stocks to explain, separated by commas; a few if not given.",
        ),
        Option(
            name="top",
            commands=("backtest",),
            read=read_number,
            help="Share of the tickers to buy, and to sell short: 0.2; above and below one half if not given.",
        ),
        Option(
            name="cost_bps",
            commands=("backtest",),
            read=read_number,
            help="Cost of a trade in hundredths of a percent; 10 if not given.",
        ),
    )

    def recognises(self, source: object) -> bool:
        """Prices in any of the known layouts."""
        return looks_like_stocks(source if isinstance(source, str | Path) else pair_of(source)[0])

    def called(self, source: object) -> str:
        """The file or folder of prices."""
        return source_label(source)

    def read(
        self,
        config: StockConfig,
        source: object,
        findings: Findings,
        state: StockState | None = None,
        *,
        has_target: bool = True,
    ) -> Samples[StockWindows]:
        """Target days of prices and texts; later ones of the run's stocks, or the next session where none is known."""
        if state is None:
            return samples_of(market_of(source, config.read, findings), config.protocol)
        market = market_of(source, config.read.replace(start=None, end=None), findings)
        state.check(market[0])
        return samples_of(market, state.protocol(config.protocol), ahead=not has_target)

    def learnt(self, config: StockConfig, samples: Samples[StockWindows], train: Rows) -> StockState:
        """What arranging learns."""
        return self.arranged(config, samples, split(samples, config.split)).state

    def arranged(
        self, config: StockConfig, samples: Samples[StockWindows], splits: Splits, *, progress: bool = False
    ) -> PreparedStocks:
        """Texts are encoded at once, since training learns from their vectors."""
        _check_needs(config, samples.inputs)
        check_targets(samples.inputs, splits, quantiles=bool(config.levels))
        seen = None if config.modality == "price" else encode_shown(samples.inputs, config.text, progress=progress)
        state = learn_stocks(config, samples.inputs, splits, seen)
        encoded = samples.with_inputs(StockInputs.of(samples.inputs, state, seen))
        return Prepared(raw=samples, encoded=encoded, state=state, splits=splits, notes=samples.notes)

    def encode(
        self, config: StockConfig, samples: Samples[StockWindows], state: StockState, *, progress: bool = False
    ) -> Samples[StockInputs]:
        """Prices scaled, and texts as vectors, as those of the training are."""
        seen = None
        if state.encoder is not None:
            seen = encode_shown(samples.inputs, config.text, progress=progress)
            state.check_encoder(seen, samples.source)
        return samples.with_inputs(StockInputs.of(samples.inputs, state, seen))

    def later_splits(self, config: StockConfig, samples: Samples[StockWindows]) -> Splits:
        """By the borders of the training."""
        return split(samples, config.split)

    def described(self, samples: Samples[StockWindows]) -> Plain:
        """How far prices and texts reach."""
        return describe_market(samples)

    def hooks(self, config: StockConfig) -> Sequence[Hook]:
        """Odd days, numbers that mean missing, and what the labels of the protocol are."""
        return check_days, check_unpriced, functools.partial(count_labels, how=config.split, protocol=config.protocol)

    def audit(self, config: StockConfig, run: Run | None = None) -> AuditReport:
        """See `multiway_papers.stocks.audit`; nothing is encoded for it."""
        samples = self._soundly(config, self.locate(config.data or ""), None)
        texts, encoder = samples.inputs.texts, None
        if texts is not None and texts.count and config.modality != "price":
            encoder = encoder_of(texts, config.text) if run is None else run.state.encoder
        scale = None if run is None else run.state.scale
        return audit_stocks(samples.inputs, split(samples, config.split), config.protocol, scale, encoder)

    def names(self, config: StockConfig, state: StockState) -> tuple[str, ...]:
        """The network and the baselines of the config; quantiles have those of the training days."""
        if config.levels:
            return NETWORK, QUANTILES
        return tuple(name for name in super().names(config, state) if state.words or name not in OF_WORDS)

    def build(self, config: StockConfig, state: StockState, name: str) -> nn.Module:
        """The network or a baseline."""
        return config.network(**state.sizes.plain()) if name == NETWORK else build_stock_baseline(config, state, name)

    def objective(self, run: Run, training: Samples[StockInputs]) -> Objective:
        """Cross-entropy of directions, or pinball loss of quantiles."""
        return MovementLoss.in_training(run.config, training.inputs)

    def validated_by(
        self, run: Run, validation: Samples[StockInputs]
    ) -> tuple[Objective, Callable[[nn.Module], float] | None]:
        """The loss without weights and smoothing, and the score that chooses the epoch."""
        return MovementLoss(run.config, run.state.scale), validation_score(run.config, validation.inputs)

    def loss_of(self, run: Run, name: str, validation: Samples[StockInputs]) -> float | None:
        """Cross-entropy of rises and falls; none of quantiles, or where a score chooses the epoch."""
        if run.config.levels or run.config.select != "loss":
            return None
        return movement_loss(chances_of(run, name, validation.inputs), validation.inputs)

    def fit_baseline(
        self, model: nn.Module, run: Run, training: Samples[StockInputs], validation: Samples[StockInputs]
    ) -> Fitted:
        """Closed forms and counts; see `multiway_papers.stocks.baselines`."""
        return cast(StockBaseline, model).fit(training.inputs, validation.inputs)

    def evidence(self, run: Run, prepared: PreparedStocks, *, refit: bool = True) -> Evidence:
        """Brier scores of validation, or pinball losses of quantiles."""
        return self.predict(run, prepared, "validation").evidence()

    def check_stored(self, run: Run) -> None:
        """The scale is of what the network reads."""
        scale, sizes = run.state.scale, run.state.sizes
        same_length({"centre": scale.centre, "spread": scale.spread, "price features": range(sizes.price_features)})
        if scale.date_features != run.config.dates:
            raise ValueError(f"of dates {scale.date_features} in place of {run.config.dates}")

    def predict(self, run: Run, prepared: PreparedStocks, split: str) -> Scored:
        """Probabilities of a rise, or quantiles, of every candidate for the target movements of a split."""
        inputs: StockInputs = prepared.part(split).inputs
        if not inputs.target_mask.any():
            raise DataError(f"{prepared.source}: {split} has no movement to score. Give prices that reach further.")
        outputs = run.once(prepared, split, lambda: {name: chances_of(run, name, inputs) for name in run.models})
        answers = outputs | {run.answer.name: run.answer.mixed(outputs)}
        return Scored.of(run.config, inputs.windows, inputs.target_mask, answers)

    def describe(self, run: Run, prepared: PreparedStocks) -> Plain:
        """Days, texts and movements."""
        texts, days = prepared.raw.inputs.texts, prepared.raw.inputs.panel.days
        return {
            "tickers": len(run.state.tickers),
            "days": [str(days[0]), str(days[-1])],
            "texts": 0 if texts is None else texts.count,
            "texts_dropped": {} if texts is None else texts.dropped,
            "encoder": run.state.encoder,
            **super().describe(run, prepared),
        }

    def metrics(self, config: StockConfig) -> tuple[Metric, ...]:
        """Of directions, or of quantiles."""
        if not config.levels:
            return (*OF_MOVEMENTS, *OF_BATCHES) if config.batch_days else OF_MOVEMENTS
        titles = {name: f"Coverage of {name.removeprefix('coverage_')} %" for name in coverage_names(config.levels)}
        coverage = [Metric(name=name, title=title, higher=None) for name, title in titles.items()]
        return (*OF_QUANTILES, *coverage, COUNT)

    def sentence(self, run: Run) -> str:
        """Test scores."""
        return sentence_of(run, *(("pinball", "mae") if run.config.levels else ("mcc", "acc")))

    def cell_facts(self, runs: Sequence[Run]) -> Row:
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

    def far(self, run: Run, later: Samples[StockInputs]) -> Sequence[Far]:
        """Movements of prices far from those of the training days."""
        windows = later.inputs.windows
        seen = windows.features[windows.days_seen].astype(np.float64)
        return far_columns(seen, windows.feature_names, run.state.scale.of_prices, "the days")

    def far_scored(self, run: Run, prepared: Prepared[StockWindows, StockState]) -> Sequence[Far]:
        """As the models take them."""
        return self.far(run, prepared.encoded)

    def answer(self, run: Run, data: str | None, out: Path | None, options: Plain) -> Answer:
        """The next session of every stock."""
        return predict_next(run, data, out, options)

    def sample(self, run: Run, prepared: Prepared[StockWindows, StockState]) -> tuple[Tensor | None, ...]:
        """Some validation days."""
        validation = prepared.part("validation")
        batch = validation.inputs.batch(validation.some(self.sampled))
        return tuple(batch.get(name) for name in INPUTS)

    def explain(self, run: Run, out: Path | None, options: Plain) -> Answer:
        """What moved the answers of some tickers and days."""
        return explain_stocks(run, out, options)

    def backtest(self, run: Run, data: str | None, out: Path | None, options: Plain) -> Answer:
        """What trading by the predictions would have returned."""
        from multiway_papers.stocks.backtest import backtest_run

        return backtest_run(run, data, out, options)


def _check_needs(config: StockConfig, windows: StockWindows) -> None:
    """Whether there are the texts and the library that the config names."""
    texts = windows.texts
    if config.modality in ("multimodal", "text") and (texts is None or not texts.count):
        raise DataError(
            f"{windows.panel.source}: model.modality={config.modality} needs texts, and there are none. Give them (",
            Fix("read.texts", like="FILE"),
            "), or ",
            Fix("model.modality", "price"),
            ".",
        )
    if not config.levels and "arima" in config.baselines:
        load_statsforecast()


TASK = Stocks()
