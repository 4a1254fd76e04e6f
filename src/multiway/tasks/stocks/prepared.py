"""The data of a run: what it is trained on, the same once more, and other data of its stocks."""

from pathlib import Path

from multiway.data.stocks import StockOptions, StockPanel, StockTexts, read_stocks
from multiway.data.stocks.prepared import PreparedStocks, match_stocks, prepare_stocks
from multiway.errors import ConfigError, DataError
from multiway.models.arima import load_statsforecast
from multiway.tasks.run import Run
from multiway.tasks.stocks.config import StockConfig

Source = str | Path | tuple[StockPanel, StockTexts | None]
"""A path, or prices and texts."""


def read(config: StockConfig, source: Source) -> tuple[StockPanel, StockTexts | None]:
    """Prices and texts of a path, or those given."""
    return source if isinstance(source, tuple) else read_stocks(source, config.read)


def prepare(config: StockConfig, source: Source, *, progress: bool = False) -> PreparedStocks:
    """Read and encode everything.

    Raises:
        DataError: A file is not sound, a split has no target, or texts are to be read and there are none.
        ConfigError: An option does not fit the data, or the encoder or what fits a baseline is not installed.
    """
    if config.target == "movement" and "arima" in config.baselines:
        load_statsforecast()
    panel, texts = read(config, source)
    if config.modality in ("multimodal", "text") and (texts is None or not texts.count):
        raise DataError(
            f"{panel.source}: model.modality={config.modality} needs texts, and there are none. Give them "
            f"(--texts FILE), or --set model.modality=price."
        )
    return prepare_stocks(
        panel, texts, config.protocol, None if config.modality == "price" else config.text,
        quantiles=config.quantiles if config.target == "quantiles" else (), date_features=config.dates,
        progress=progress,
    )  # fmt: skip


def read_for(run: Run, data: str | None, texts: str | None = None) -> tuple[StockPanel, StockTexts | None]:
    """Prices and texts of a path, read as the run's; of other data all days, whatever the run was limited to.

    Raises:
        ConfigError: No path is given, and the run was fitted on tables in memory.
    """
    source = run.config.data if data is None else data
    if source is None:
        raise ConfigError("this run was fitted on tables in memory, which are gone. Train on a file, or give --data.")
    return read_stocks(run.task.locate(source), reading_of(run, data is not None, texts))


def reading_of(run: Run, is_other: bool, texts: str | None = None) -> StockOptions:
    """How the run reads its data, or other data."""
    read: StockOptions = run.config.read
    if is_other:
        read = read.replace(start=None, end=None)
    return read if texts is None else read.replace(texts=str(texts))


def reload(run: Run) -> PreparedStocks:
    """The samples that the run was trained, chosen and scored on.

    Raises:
        ConfigError: It was fitted on tables in memory.
        DataError: The data is no longer there, or no longer sound.
        RunError: What encoded the texts is no longer the same.
    """
    return match_stocks(run.state, *read_for(run, None), run.config.protocol, run.config.text)


def prepared_within(run: Run, panel: StockPanel, texts: StockTexts | None) -> PreparedStocks:
    """Samples of any prices of the run's stocks, split where the run's own are."""
    return match_stocks(run.state, panel, texts, run.state.protocol(run.config.protocol), run.config.text)
