"""The answer of small runs against every candidate and the best in hindsight, on the test rows of thirty data sets.

Tables are scikit-learn's and vega_datasets', images are its digits, series and texts are made with a planted signal;
more texts are read where they lie. One seed, the usual settings of the estimators.

    python -m benchmarks.answers [NAME ...] --out results/answers.jsonl [--texts FOLDER]
    python -m benchmarks.answers --panel      # 300 series x 800 rows: CPU seconds, memory, MSE over ridge's
    python -m benchmarks.answers --market     # news that tell the next day: accuracy where there are texts
"""

import argparse
import json
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets
from vega_datasets import local_data

import multiway
from benchmarks.bars import market, panel
from benchmarks.rows import facts, keep
from multiway.errors import MultiwayWarning
from multiway.tasks.declarations import NETWORK, OURS
from multiway.tasks.run import Run

Fit = Callable[[], Any]
ROWS = 600
"""Of sets that are made, and of texts that are read."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.answers", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these sets")
    parser.add_argument("--out", type=Path, help="append one JSON line per set")
    parser.add_argument("--texts", type=Path, help="folder of parquet tables with columns sentence or text, and label")
    parser.add_argument("--panel", action="store_true", help="measure the panel instead")
    parser.add_argument("--market", action="store_true", help="measure the market instead")
    chosen = parser.parse_args()
    if chosen.panel or chosen.market:
        for measure in [panel] * chosen.panel + [market] * chosen.market:
            print(json.dumps(measure()))
        return
    warnings.simplefilter("ignore", MultiwayWarning)
    every = {**tables(), **others(), **({} if chosen.texts is None else texts_in(chosen.texts))}
    rows = list(measured({name: every[name] for name in chosen.names or every}, chosen.out))
    print(json.dumps(summary(rows)))


def measured(sets: dict[str, Fit], out: Path | None) -> Iterator[dict[str, Any]]:
    """A row per set, printed and kept as it is done."""
    for name, fit in sets.items():
        clock = time.process_time()
        row = {"set": name, **row_of(fit().run_), "cpu_seconds": round(time.process_time() - clock, 1)}
        keep(row, out, **facts())
        yield row


def row_of(run: Run) -> dict[str, Any]:
    """Test scores of every candidate in the metric that decides, the answer's with its interval, and its regret."""
    metric, sign = ("acc", 1) if run.state.classes is not None else ("mse", -1)
    test = {row["model"]: row for row in run.scores if (row["split"], row["metric"]) == ("test", metric)}
    values = {name: float(row["value"]) for name, row in test.items()}
    alone = {name: value for name, value in values.items() if name in run.models}
    best = max(alone, key=lambda name: sign * alone[name])
    own, middle = test[run.answer.name], statistics.median(alone.values())
    behind, span = max(0.0, sign * (alone[best] - own["value"])), sign * (alone[best] - middle)
    return {
        "task": run.task.name,
        "metric": metric,
        "answer": run.answer.name,
        "best": best,
        "value": own["value"],
        "low": own["low"],
        "high": own["high"],
        "best_value": alone[best],
        "within": bool(behind == 0 or own["low"] <= alone[best] <= own["high"]),
        "regret": round(min(behind / span, 2.0) if span > 0 else float(behind > 0), 3),
        "values": values,
        "reason": run.answer.line(),
    }


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """How often the answer is no worse than the best candidate, within its interval, and the mean regret."""
    return {
        "sets": len(rows),
        "within": sum(row["within"] for row in rows),
        "network_within": sum(_network_within(row) for row in rows),
        "mean_regret": round(statistics.fmean(row["regret"] for row in rows), 3),
    }


def _network_within(row: dict[str, Any]) -> bool:
    """Whether the network alone would have been within the same distance of the best."""
    reach, values = (row["high"] - row["low"]) / 2, row["values"]
    network = values[NETWORK] if NETWORK in values else values[OURS]  # as rows of old call it
    return bool(abs(row["best_value"] - network) <= reach)


def tables() -> dict[str, Fit]:
    """Classes and numbers of rows."""
    named = {name: getattr(datasets, f"load_{name}")(as_frame=True) for name in ("iris", "wine", "breast_cancer")}
    classes: dict[str, Any] = {name: (each.data, each.target) for name, each in named.items()}
    classes |= {
        "digits": datasets.load_digits(return_X_y=True),
        "classification": datasets.make_classification(ROWS, 20, n_informative=5, random_state=0),
        "noisy": datasets.make_classification(ROWS, 20, n_informative=3, flip_y=0.3, random_state=1),
        "five": datasets.make_classification(ROWS, 12, n_informative=8, n_classes=5, random_state=2),
        "moons": datasets.make_moons(ROWS, noise=0.3, random_state=0),
        "circles": datasets.make_circles(ROWS, noise=0.1, factor=0.6, random_state=0),
        "blobs": datasets.make_blobs(ROWS, 6, centers=4, cluster_std=4.0, random_state=0),
        "quantiles": datasets.make_gaussian_quantiles(n_samples=ROWS, n_features=6, random_state=0),
        "hastie": datasets.make_hastie_10_2(ROWS, random_state=0),
        "few": datasets.make_classification(120, 30, n_informative=4, random_state=3),
        "chance": datasets.make_classification(ROWS, 10, flip_y=1.0, random_state=4),
        "origin": vega("cars", "Origin", ["Name", "Year"]),
        "weather": vega("seattle_weather", "weather", ["date"]),
    }
    numbers: dict[str, Any] = {
        "diabetes": datasets.load_diabetes(return_X_y=True),
        "friedman1": datasets.make_friedman1(ROWS, noise=1.0, random_state=0),
        "friedman2": datasets.make_friedman2(ROWS, noise=100.0, random_state=0),
        "friedman3": datasets.make_friedman3(ROWS, noise=0.2, random_state=0),
        "sparse": datasets.make_sparse_uncorrelated(ROWS, random_state=0),
        "regression": datasets.make_regression(ROWS, 30, n_informative=6, noise=40.0, random_state=0),
        "roll": datasets.make_swiss_roll(ROWS, noise=0.5, random_state=0),
        "curve": datasets.make_s_curve(ROWS, noise=0.1, random_state=0),
        "miles": vega("cars", "Miles_per_Gallon", ["Name", "Year"]),
        "barley": vega("barley", "yield", []),
        "driving": vega("driving", "gas", ["side"]),
    }
    return {
        **{name: fitting(multiway.TabularClassifier, x, y) for name, (x, y) in classes.items()},
        **{name: fitting(multiway.TabularRegressor, x, y) for name, (x, y) in numbers.items()},
    }


def vega(name: str, target: str, drop: list[str]) -> tuple[pd.DataFrame, np.ndarray]:
    """A table of vega_datasets, without rows whose target is missing."""
    frame = getattr(local_data, name)().dropna(subset=[target]).drop(columns=drop).reset_index(drop=True)
    return frame.drop(columns=target), frame[target].to_numpy()


def others() -> dict[str, Fit]:
    """Images, series and texts."""
    digits = datasets.load_digits()
    pictures = (digits.images[:900] * 15).astype(np.uint8)
    draw = np.random.default_rng(0)
    kinds = np.arange(300) % 3
    waves = [
        np.sin(np.arange(40)[:, None] * (0.3 + 0.15 * kind) + draw.uniform(0, 6)) + draw.normal(0, 0.8, (40, 1))
        for kind in kinds
    ]
    return {
        "digits-images": fitting(multiway.ImageClassifier, pictures, digits.target[:900]),
        "waves": fitting(multiway.SeriesClassifier, waves, np.array(["slow", "middle", "fast"])[kinds]),
        "planted-words": fitting(multiway.TextClassifier, *planted(draw)),
    }


def planted(draw: np.random.Generator) -> tuple[list[str], np.ndarray]:
    """Texts of common words, in three of four of which one word tells the class."""
    words = np.array([f"w{number}" for number in range(300)])
    classes = draw.integers(0, 2, ROWS)
    labels = np.where(draw.random(ROWS) < 0.75, classes, draw.integers(0, 2, ROWS))
    texts = [" ".join([*draw.choice(words, 12), ("sun", "moon")[kind], *draw.choice(words, 12)]) for kind in labels]
    return texts, np.array(["day", "night"])[classes]


def texts_in(folder: Path) -> dict[str, Fit]:
    """Some texts of each table that lies in a folder."""
    sets: dict[str, Fit] = {}
    for path in sorted(folder.glob("*.parquet")):
        frame = pd.read_parquet(path)
        text = next((name for name in ("text", "sentence") if name in frame), None)
        if text is not None and "label" in frame:
            some = frame.drop_duplicates(text).sample(min(ROWS, len(frame)), random_state=0)
            sets[path.stem] = fitting(multiway.TextClassifier, some[text].tolist(), some["label"].to_numpy())
    return sets


def fitting(kind: Any, x: object, y: object) -> Fit:
    """What fits an estimator of its usual settings."""
    return lambda: kind().fit(x, y)


if __name__ == "__main__":
    main()
