"""Classes of series by the default answer, with MultiRocket-Hydra and QUANT of aeon where it is installed.

    python -m benchmarks.series FOLDER ... --seeds 3 --out results/series-peers.jsonl

Each folder holds NAME_TRAIN.ts and NAME_TEST.ts; a file is an .npz with X_train, y_train, X_test and y_test. Every
model is fitted on the training series of the official split, and scored once on its test. Ours chooses on a part of the
training series, and is refitted on all of them. Processor seconds are of fitting and predicting.
"""

import argparse
import tempfile
import time
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.rows import facts, keep
from multiway import workflows
from multiway.data.options import SequenceOptions
from multiway.data.sources.series import Sequences
from multiway.data.sources.series_reading import read_sequences
from multiway.errors import MultiwayWarning

PEERS = {
    "aeon MultiRocket-Hydra": ("aeon.classification.convolution_based", "MultiRocketHydraClassifier"),
    "aeon QUANT": ("aeon.classification.interval_based", "QUANTClassifier"),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.series", description=__doc__)
    parser.add_argument("sets", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--out", type=Path, help="append one JSON line per set and seed")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore", MultiwayWarning)
    for path in chosen.sets:
        for seed in range(chosen.seeds):
            keep(compared(path, seed), chosen.out, **{**facts(), "seed": seed})


def compared(path: Path, seed: int) -> dict[str, Any]:
    """Test accuracy of the answer, of each of its candidates, and of the peers; and what each took."""
    with tempfile.TemporaryDirectory() as place:
        began = time.process_time()
        settings = {"data": str(path), "training": {"seed": seed}, "draws": 0}
        (run,) = workflows.train(settings, task="series", out=Path(place) / "run", progress=False).runs
        seconds = {"multiway": time.process_time() - began}
        values = {row["model"]: row["value"] for row in run.scores if (row["split"], row["metric"]) == ("test", "acc")}
        predicted = workflows.predict(Path(place) / "run", data=str(path)).frame
    series = read_sequences(path, SequenceOptions())
    values["multiway"] = refitted_accuracy(predicted, series)
    for name, (module, kind) in PEERS.items() if find_spec("aeon") else ():
        values[name], seconds[name] = peer_accuracy(getattr(__import__(module, fromlist=[kind]), kind), series, seed)
    return {"set": path.name.removesuffix(".npz"), "answer": run.answer.name, "values": values, "cpu_seconds": seconds}


def refitted_accuracy(predicted: pd.DataFrame, series: Sequences) -> float:
    """Of the official test series by the answer as it predicts: its models are refitted on all training series."""
    is_test = np.asarray(series.parts) == "test"
    return float((predicted["predicted"].astype(str).to_numpy() == np.asarray(series.labels))[is_test].mean())


def peer_accuracy(peer: Any, series: Sequences, seed: int) -> tuple[float, float]:
    """Test accuracy of a classifier of aeon on the official split, and processor seconds of fit and prediction."""
    x, y, is_test = series.values.swapaxes(1, 2), np.asarray(series.labels), np.asarray(series.parts) == "test"
    began = time.process_time()
    predicted = peer(random_state=seed).fit(x[~is_test], y[~is_test]).predict(x[is_test])
    return float((predicted == y[is_test]).mean()), time.process_time() - began


if __name__ == "__main__":
    main()
