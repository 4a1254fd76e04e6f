"""A finished run's data taken up again, and other data made ready for it, by the scale of its training days."""

from __future__ import annotations

from typing import TYPE_CHECKING

from multiway.data.findings import listed
from multiway.data.stocks import StockPanel, StockSamples, StockTexts, build_samples, read_stocks
from multiway.errors import ConfigError, DataError, RunError
from multiway.tasks.stocks.inputs import asked_of, group_means
from multiway.tasks.stocks.prepared import Prepared, digest_of, encode, locate

if TYPE_CHECKING:
    from multiway.data.encoders import Encoded
    from multiway.tasks.stocks.run import StockRun


def source_of(run: StockRun) -> str:
    """Path of the data that the run was trained on.

    Raises:
        ConfigError: It was fitted on tables in memory.
    """
    data = run.config.data
    if data is None:
        raise ConfigError("this run was fitted on tables in memory, which are gone. Train on a file, or give --data.")
    return locate(data)


def read_again(run: StockRun) -> Prepared:
    """The samples that the run was trained, chosen and scored on.

    Raises:
        ConfigError: It was fitted on tables in memory.
        DataError: The data is no longer there, or no longer sound.
        RunError: What encoded the texts is no longer the same.
    """
    panel, texts = read_stocks(source_of(run), run.config.read)
    return prepared_for(run, panel, texts, build_samples(panel, texts, run.config.protocol))


def prepared_for(
    run: StockRun, panel: StockPanel, texts: StockTexts | None, samples: StockSamples, *, progress: bool = False
) -> Prepared:
    """Samples of any data of the run's stocks, scaled and encoded as those that it was trained on.

    Raises:
        DataError: The stocks are others, or the run reads texts and there are none.
        RunError: What encodes the texts is not what encoded those of the training.
    """
    check_tickers(run, panel)
    if run.encoder is not None and (texts is None or not len(texts.day)):
        raise DataError(f"{panel.source}: the run reads texts, and there are none. Give them (--texts FILE).")
    encoded = None if run.encoder is None else encode(run.config, texts, samples, progress=progress)
    _check_encoder(run, encoded)
    means = None if encoded is None else group_means(samples, encoded)
    return Prepared(
        panel=panel,
        texts=texts,
        samples=samples,
        scale=run.scale,
        vectors=None if means is None else run.scale.texts(means),
        encoder=run.encoder,
        encoder_digest=run.encoder_digest,
        asked=asked_of(samples, run.config.target),
        digest=digest_of(panel, texts, encoded),
        notes=(*panel.notes, *samples.notes),
    )


def check_tickers(run: StockRun, panel: StockPanel) -> None:
    """Whether the data is of the run's stocks, all of them and no others.

    Raises:
        DataError: A stock is missing or unknown.
    """
    if panel.tickers == run.tickers:
        return
    missing = sorted(set(run.tickers) - set(panel.tickers))
    unknown = sorted(set(panel.tickers) - set(run.tickers))
    parts = [f"{listed(names)} {word}" for names, word in ((missing, "missing"), (unknown, "unknown")) if names]
    raise DataError(
        f"{panel.source}: the run was trained on {len(run.tickers)} stocks, and needs those. Got "
        f"{len(panel.tickers)}: {', '.join(parts)}. Give prices of the same stocks, or train on these."
    )


def _check_encoder(run: StockRun, encoded: Encoded | None) -> None:
    if encoded is None or (encoded.name, encoded.digest) == (run.encoder, run.encoder_digest):
        return
    raise RunError(
        f"the texts of the training were encoded by {run.encoder} ({str(run.encoder_digest)[:12]}). Got "
        f"{encoded.name} ({encoded.digest[:12]}). Install that encoder, or train again."
    )
