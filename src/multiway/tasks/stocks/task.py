"""The task `stocks`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from torch import nn

from multiway.auditing import AuditReport
from multiway.auditing.stocks import audit_stocks
from multiway.data import CheckReport
from multiway.data.loading import pair_of
from multiway.data.stocks import check_stocks, looks_like_stocks
from multiway.data.stocks.encoding import encoder_of
from multiway.data.stocks.prepared import PreparedStocks, StockState, match_stocks
from multiway.tasks.answers import Answer
from multiway.tasks.protocol import OURS, SPLITS, VALIDATION, Context, Metric, Row, Task
from multiway.tasks.run import Run
from multiway.tasks.scores import sentence_of
from multiway.tasks.stocks import sections
from multiway.tasks.stocks.config import StockConfig
from multiway.tasks.stocks.evaluation import Scored, coverage_names, prediction_frame, score_rows
from multiway.tasks.stocks.facts import StockFacts
from multiway.tasks.stocks.fitting import QUANTILES, build_model, fit_model
from multiway.tasks.stocks.options import STOCKS
from multiway.tasks.stocks.over_seeds import intervals_of_means
from multiway.tasks.stocks.prediction import evaluate_stocks, predict_next, predict_split
from multiway.tasks.stocks.prepared import prepare, read, read_for
from multiway.tasks.stocks.trading import backtest_run
from multiway.tasks.stored import same_length
from multiway.training import History

COUNT = Metric(name="count", title="Movements", higher=None)
OF_MOVEMENTS = (
    Metric(name="acc", title="ACC", spread=True),
    Metric(name="f1", title="F1"),
    Metric(name="macro_f1", title="Macro F1"),
    Metric(name="mcc", title="MCC", spread=True),
    Metric(name="auc", title="AUC"),
    COUNT,
)
OF_QUANTILES = (
    Metric(name="pinball", title="Pinball loss", higher=False, decimals=None, spread=True),
    Metric(name="mae", title="MAE", higher=False, decimals=None),
)


class Stocks(Task[StockConfig, PreparedStocks, StockState]):
    """Rise or fall of stocks on the next day, from prices and texts."""

    name = "stocks"
    page = sections
    config = StockConfig
    state = StockState
    facts = StockFacts
    sections_of_reading = ("read", "protocol")
    fields_of_validation = (*VALIDATION, "protocol", "target", "quantiles", "select")
    options = STOCKS

    def recognises(self, source: Any) -> bool:
        """Prices in any of the known layouts."""
        return looks_like_stocks(source if isinstance(source, str | Path) else pair_of(source)[0])

    def prepare(
        self, config: StockConfig, source: Any, state: StockState | None = None, *, progress: bool = False
    ) -> PreparedStocks:
        """See `multiway.tasks.stocks.prepared`; a source is a path, or prices and texts."""
        if state is None:
            return prepare(config, source, progress=progress)
        protocol = state.protocol(config.protocol)
        return match_stocks(state, *read(config, source), protocol, config.text, progress=progress)

    def check(self, config: StockConfig, source: Any) -> CheckReport:
        """What is in prices, or in a pair of prices and texts."""
        prices, texts = pair_of(source)
        return check_stocks(prices, config.read, config.protocol, texts=texts)

    def audit(self, config: StockConfig, run: Run | None = None) -> AuditReport:
        """See `multiway.auditing.stocks`."""
        panel, texts = read(config, self.locate(config.data or ""))
        state, encoder = None if run is None else run.state, None
        if texts is not None and len(texts.day) and config.modality != "price":
            encoder = encoder_of(texts, config.text) if state is None else state.encoder
        return audit_stocks(panel, texts, config.protocol, state and state.scale, encoder)

    def learn(self, config: StockConfig, prepared: PreparedStocks) -> StockState:
        """Names, sizes and scale."""
        return StockState.of(prepared)

    def names(self, config: StockConfig, state: StockState) -> tuple[str, ...]:
        """The network and the baselines of the config; quantiles have those of the training days."""
        return (OURS, *(config.baselines if config.target == "movement" else (QUANTILES,)))

    def build(self, config: StockConfig, state: StockState, name: str) -> nn.Module:
        """The network or a baseline."""
        return build_model(config, state, name)

    def fit(self, run: Run, name: str, prepared: PreparedStocks, context: Context) -> History | dict[str, Any] | None:
        """See `multiway.tasks.stocks.fitting`."""
        return fit_model(run.models[name], name, prepared, run.config, context)

    def check_stored(self, run: Run) -> None:
        """The scale is of what the network reads.

        Raises:
            ValueError: They do not.
        """
        scale, sizes = run.state.scale, run.state.sizes
        same_length({"centre": scale.centre, "spread": scale.spread, "price features": range(sizes["price_features"])})
        if scale.date_features != run.config.dates:
            raise ValueError(f"of dates {scale.date_features} in place of {run.config.dates}")

    def predict(self, run: Run, prepared: PreparedStocks, split: str) -> Scored:
        """Probabilities of a rise, or quantiles, of every model."""
        return predict_split(run, prepared, split)

    def score(self, run: Run, predictions: Scored, split: str) -> list[Row]:
        """Pooled over days and tickers, with intervals over blocks of days."""
        return score_rows(predictions, split, run.config)

    def tables(self, run: Run, predictions: Scored, split: str) -> dict[str, pd.DataFrame]:
        """Predictions by day and ticker."""
        return {"predictions": prediction_frame(predictions, split, run.config)}

    def describe(self, run: Run, prepared: PreparedStocks) -> dict[str, Any]:
        """Days, texts and movements."""
        texts, days = prepared.texts, prepared.panel.days
        return {
            "tickers": len(prepared.samples.tickers),
            "days": [str(days[0]), str(days[-1])],
            "texts": 0 if texts is None else texts.count,
            "texts_dropped": {} if texts is None else texts.dropped,
            "encoder": run.state.encoder,
            "splits": {split: _split_facts(prepared, split) for split in SPLITS},
        }

    def evaluate(self, run: Run, data: str, split: str) -> list[Row]:
        """Scores of a split of other data, with the days of the run's borders."""
        return evaluate_stocks(run, *read_for(run, data), split)

    def metrics(self, config: StockConfig) -> tuple[Metric, ...]:
        """Of directions, or of quantiles."""
        if config.target == "movement":
            return OF_MOVEMENTS
        titles = {name: f"Coverage of {name.removeprefix('coverage_')} %" for name in coverage_names(config.quantiles)}
        coverage = [Metric(name=name, title=title, higher=None) for name, title in titles.items()]
        return (*OF_QUANTILES, *coverage, COUNT)

    def sentence(self, run: Run) -> str:
        """Test scores."""
        return sentence_of(run, *(("mcc", "acc") if run.config.target == "movement" else ("pinball", "mae")))

    def cell_facts(self, runs: Sequence[Run]) -> Row:
        """Counts, the encoder, and intervals of the means over seeds."""
        facts = runs[0].facts["splits"]
        return {
            **_intervals_of_means(runs),
            "encoder": runs[0].state.encoder,
            "counts": {split: part["count"] for split, part in facts.items()},
            "test_rises": facts["test"]["rises"],
        }

    def answer(self, run: Run, data: str | None, out: Path | None, options: dict[str, Any]) -> Answer:
        """The next session of every stock."""
        return predict_next(run, data, out, options)

    def explain(self, run: Run, out: Path | None, options: dict[str, Any]) -> Answer:
        """What moved the answers of some tickers and days."""
        from multiway.tasks.stocks.explanation_files import explain

        return explain(run, out, options)

    def backtest(self, run: Run, data: str | None, out: Path | None, options: dict[str, Any]) -> Answer:
        """What trading by the predictions would have returned."""
        return backtest_run(run, data, out, options)


def _split_facts(prepared: PreparedStocks, split: str) -> Row:
    samples, rows = prepared.samples, prepared.samples.splits[split]
    mask = prepared.target_mask[rows]
    days = samples.target_days[rows]
    return {
        "days": len(rows),
        "first": str(days.min()),
        "last": str(days.max()),
        "count": int(mask.sum()),
        "rises": int((samples.labels[rows][mask] == 1).sum()),
        "tickers": int(mask.any(0).sum()),
        "with_text": int((mask & (samples.text_rows[rows] > 0).any(-1)).sum()),
    }


def _intervals_of_means(runs: Sequence[Run]) -> Row:
    """95 % intervals of the means over seeds; none for quantiles, whose scores are not of rises and falls."""
    if runs[0].config.target == "quantiles" or not runs[0].config.draws:
        return {}
    return {
        f"{name}_{side}": None if interval is None else interval[place]
        for name, interval in intervals_of_means(runs).items()
        for place, side in enumerate(("low", "high"))
    }


TASK = Stocks()
