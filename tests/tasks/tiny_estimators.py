"""Every estimator with the arguments of a tiny fit, and of a prediction on data that it has not seen."""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import multiway
from papers.stocks.quotes import NETWORK as STOCKS
from papers.stocks.quotes import make_prices, trading_days
from tasks.forecasting.panels import QUICK, make_frame
from tasks.forecasting.panels import TINY as FORECASTER
from tasks.grids.fields import make_field
from tasks.images.shapes import make_shapes
from tasks.scans.classes.blocks import NETWORK, make_volumes
from tasks.scans.masks.lesion_files import FAST, box_case
from tasks.tiny import notes, people, stories, waves

Split = tuple[Any, Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class TinyEstimator:
    """An unfitted estimator, what it is fitted on, what it predicts, and one split of the former for a search.

    grid: A parameter with two values of it.
    """

    make: Callable[[], Any]
    fit: tuple[Any, ...]
    new: tuple[Any, ...]
    split: Split
    grid: dict[str, list[Any]]


def halves(count: int) -> Split:
    """Rows to fit on and rows to score."""
    return np.arange(count * 2 // 3), np.arange(count * 2 // 3, count)


def forecaster() -> TinyEstimator:
    settings = {"model": FORECASTER, "training": QUICK, "answer": "network"}
    return TinyEstimator(
        make=lambda: multiway.Forecaster(4, lookback=12, season=12, levels=(80.0,), settings=settings),
        fit=(make_frame(rows=220),), new=(make_frame(rows=60, seed=6),), split=halves(220), grid={"lookback": [8, 12]},
    )  # fmt: skip


VOLUMES = {"model": NETWORK, "training": {"batch_size": 8, "warmup_steps": 2}, "draws": 5}


def volume_classifier() -> TinyEstimator:
    return TinyEstimator(
        make=lambda: multiway.VolumeClassifier(epochs=1, baselines=("majority",), settings=VOLUMES),
        fit=make_volumes(36), new=(make_volumes(5, seed=5)[0],), split=halves(36), grid={"epochs": [1, 2]},
    )  # fmt: skip


def volume_regressor() -> TinyEstimator:
    volumes, labels = make_volumes(36, num_classes=3)
    numbers = 10 * labels + np.arange(36) / 36
    return dataclasses.replace(
        volume_classifier(),
        make=lambda: multiway.VolumeRegressor(epochs=1, baselines=("mean",), settings=VOLUMES),
        fit=(volumes, numbers),
    )


def segmenter() -> TinyEstimator:
    images, masks = (np.stack(parts) for parts in zip(*map(box_case, range(18)), strict=True))
    settings = {"model": FAST["model"], "training": {"batch_size": 4, "warmup_steps": 1}, "draws": 5}
    return TinyEstimator(
        make=lambda: multiway.Segmenter(epochs=1, settings=settings),
        fit=(images, masks), new=(images[:2],), split=halves(18), grid={"epochs": [1, 2]},
    )  # fmt: skip


def stock_classifier() -> TinyEstimator:
    prices = make_prices()
    early = np.flatnonzero(prices["date"] < trading_days()[70])
    training = {"batch_size": 16, "warmup_steps": 2}
    settings = {"model": STOCKS, "protocol": {"look_back": 3}, "training": training, "draws": 5}
    return TinyEstimator(
        make=lambda: multiway.StockMovementClassifier(epochs=1, baselines=("majority",), settings=settings),
        fit=(prices,), new=(prices,), split=(early, np.arange(len(prices))), grid={"epochs": [1, 2]},
    )  # fmt: skip


def tabular_classifier() -> TinyEstimator:
    rows = people()
    settings = {"model": {"hidden": [8]}, "training": {"batch_size": 16, "warmup_steps": 2}, "draws": 5}
    return TinyEstimator(
        make=lambda: multiway.TabularClassifier(epochs=1, baselines=("majority",), settings=settings),
        fit=(rows[["age", "weight", "city"]], rows["ill"]), new=(rows[["age", "weight", "city"]][:7],),
        split=halves(len(rows)), grid={"epochs": [1, 2]},
    )  # fmt: skip


def tabular_regressor() -> TinyEstimator:
    numbers = people()[["age", "weight"]].to_numpy(float)
    usual = tabular_classifier()
    return dataclasses.replace(
        usual,
        make=lambda: multiway.TabularRegressor(**{**usual.make().get_params(), "baselines": ("mean",)}),
        fit=(numbers, numbers.sum(1)), new=(numbers[:7],),
    )  # fmt: skip


def series_classifier() -> TinyEstimator:
    rows = waves(48)
    series = [part[["x", "y"]].to_numpy(float) for _, part in rows.groupby("id")]
    training = {"batch_size": 16, "warmup_steps": 2}
    settings = {"model": {"dim": 4, "num_heads": 2}, "training": training, "draws": 5}
    padded = np.full((len(series), 12, 2), np.nan)
    for row, each in enumerate(series):
        padded[row, : len(each)] = each
    return TinyEstimator(
        make=lambda: multiway.SeriesClassifier(epochs=1, baselines=("majority",), settings=settings),
        fit=(padded, rows.groupby("id")["class"].first().to_numpy()), new=(series[:7],), split=halves(len(series)),
        grid={"epochs": [1, 2]},
    )  # fmt: skip


def text_classifier() -> TinyEstimator:
    rows = notes()
    settings = {"training": {"batch_size": 16, "warmup_steps": 2}, "draws": 5}
    return TinyEstimator(
        make=lambda: multiway.TextClassifier(epochs=1, encoder="hashed", baselines=("majority",), settings=settings),
        fit=(list(rows["text"]), rows["label"]), new=(list(rows["text"][:7]),), split=halves(len(rows)),
        grid={"epochs": [1, 2]},
    )  # fmt: skip


def image_classifier() -> TinyEstimator:
    pixels, names = make_shapes(40)
    settings = {"model": {"channels": [4]}, "training": {"batch_size": 8, "warmup_steps": 2}, "draws": 5}
    return TinyEstimator(
        make=lambda: multiway.ImageClassifier(epochs=1, baselines=("majority",), settings=settings),
        fit=(pixels, names), new=(make_shapes(5, seed=5)[0],), split=halves(40), grid={"epochs": [1, 2]},
    )  # fmt: skip


def language_model() -> TinyEstimator:
    texts = stories()
    model = {"dim": 6, "num_heads": 3, "num_blocks": 1}
    settings = {"model": model, "training": {"batch_size": 8, "warmup_steps": 2}, "draws": 5}
    return TinyEstimator(
        make=lambda: multiway.LanguageModel(
            epochs=1, vocabulary=300, context=16, baselines=("unigram",), settings=settings
        ),
        fit=(texts,), new=(texts[:4],), split=halves(len(texts)), grid={"epochs": [1, 2]},
    )  # fmt: skip


def grid_forecaster() -> TinyEstimator:
    values, settings = make_field(120), {"model": {"name": "fno_grid_forecaster", "dim": 4, "patch_size": 2}}
    return TinyEstimator(
        make=lambda: multiway.GridForecaster(2, context=5, season=12, epochs=1, settings=settings),
        fit=(values,), new=(make_field(60, seed=5),), split=halves(len(values)), grid={"epochs": [1, 2]},
    )  # fmt: skip


ESTIMATORS: dict[str, Callable[[], TinyEstimator]] = {
    "Forecaster": forecaster,
    "VolumeClassifier": volume_classifier,
    "VolumeRegressor": volume_regressor,
    "Segmenter": segmenter,
    "StockMovementClassifier": stock_classifier,
    "SeriesClassifier": series_classifier,
    "TabularClassifier": tabular_classifier,
    "TabularRegressor": tabular_regressor,
    "TextClassifier": text_classifier,
    "ImageClassifier": image_classifier,
    "LanguageModel": language_model,
    "GridForecaster": grid_forecaster,
}


def estimators() -> Iterator[str]:
    """Names of the estimators that the package gives."""
    return (name for name in dir(multiway) if hasattr(getattr(multiway, name), "get_params"))
