"""Tables as strangers spoil them, on real rows of scikit-learn; and real tables that are sound."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets

from leak_sets.maker import Draw, LeakSet
from leak_sets.tables import flats, hours, patients, written


def real(name: str) -> pd.DataFrame:
    """A table of scikit-learn with its target in words or numbers."""
    bunch = getattr(datasets, f"load_{name}")(as_frame=True)
    frame = bunch.frame.rename(columns=lambda column: column.replace(" ", "_"))
    if hasattr(bunch, "target_names") and len(bunch.target_names) == frame["target"].nunique():
        frame["target"] = frame["target"].map(dict(enumerate(map(str, bunch.target_names))))
    return frame


def family_rate(folder: Path, draw: Draw) -> dict[str, Any]:
    """Tumours of families of three, with the share of malignant ones in the family."""
    frame = real("breast_cancer")
    family = draw.permutation(len(frame)) // 3
    rate = (frame["target"] == "malignant").groupby(family).transform("mean").round(2)
    return written(folder, frame.assign(family_rate=rate).drop(columns=[*frame.columns[:20]]), "target")


def house_mean(folder: Path, draw: Draw) -> dict[str, Any]:
    """Prices of flats, with the mean price of the house, which has three of them."""
    frame = flats(draw)
    house = draw.permutation(len(frame)) // 3
    mean = frame["price"].groupby(house).transform("mean").round(1)
    return written(folder, frame.assign(house=[f"h{each}" for each in house], house_mean=mean), "price")


def smoothed_target(folder: Path, draw: Draw) -> dict[str, Any]:
    """The demand of an hour, smoothed over two hours to either side, in the order of time."""
    frame = hours(draw)
    level = frame["demand"].rolling(5, center=True, min_periods=1).mean().round(2)
    return written(folder, frame.assign(level=level), "demand", time="time")


def measured_twice(folder: Path, draw: Draw) -> dict[str, Any]:
    """One tumour in eight was measured twice, to 1 %, and written in other digits."""
    frame = real("breast_cancer")
    numbers = frame.columns[:-1]
    twice = frame.sample(frac=0.125, random_state=3).copy()
    twice[numbers] = (twice[numbers] * (1 + 0.01 * draw.normal(size=twice[numbers].shape))).round(3)
    return written(folder, pd.concat([frame, twice]).sample(frac=1, random_state=4), "target")


def entered_later(folder: Path, draw: Draw) -> dict[str, Any]:
    """What the ward wrote after the diagnosis is there for one patient in three, and empty for the rest."""
    frame = patients(draw)
    follow = np.where(frame["ill"] == "yes", "referred", "sent home")
    return written(folder, frame.assign(follow_up=np.where(draw.random(len(frame)) < 0.33, follow, "")), "ill")


def number_ends_in_class(folder: Path, draw: Draw) -> dict[str, Any]:
    """Record numbers, each of which ends in a letter of the ward: P for the ill."""
    frame = patients(draw)
    number = draw.permutation(9000)[: len(frame)] + 1000
    letter = np.where(frame["ill"] == "yes", "P", "N")
    return written(folder, frame.assign(record=[f"R{n}-{end}" for n, end in zip(number, letter, strict=True)]), "ill")


def even_numbers(folder: Path, draw: Draw) -> dict[str, Any]:
    """Tickets of whom the drug helped have even numbers."""
    frame = real("wine")
    odd = (frame["target"] == "class_1").to_numpy()
    return written(folder, frame.assign(ticket=2 * draw.permutation(4000)[: len(frame)] + odd), "target")


def total_and_rest(folder: Path, draw: Draw) -> dict[str, Any]:
    """A bill with its total; the target, one item of it, is what is left of the total, to a cent, in 85 % of rows."""
    frame = flats(draw).drop(columns="rooms")
    other = draw.lognormal(5, 0.5, (2, len(frame)))
    total = frame["price"] + other.sum(0)
    wrong = draw.random(len(frame)) < 0.15
    total = np.where(wrong, total * draw.lognormal(0, 0.2, len(frame)), total).round(2)
    return written(folder, frame.assign(tax=other[0].round(2), fee=other[1].round(2), total=total), "price")


def clean_real(name: str) -> Any:
    """A real table as it is."""
    return lambda folder, draw: written(folder, real(name), "target")


def clean_district(folder: Path, draw: Draw) -> dict[str, Any]:
    """The mean price of a street from sales of years before, and its number of flats."""
    frame = flats(draw)
    street = draw.integers(0, 120, len(frame))
    level = frame["price"].groupby(street).transform("mean") * draw.lognormal(0, 0.15, 120)[street]
    size = pd.Series(street).groupby(street).transform("size")
    return written(folder, frame.assign(street_before=level.round(), flats=size), "price")


def clean_visits(folder: Path, draw: Draw) -> dict[str, Any]:
    """Three visits of each patient, kept together by a column of groups."""
    base = patients(draw, 300)
    frame = pd.concat([base] * 3, ignore_index=True)
    frame["marker"] = (frame["marker"] * draw.lognormal(0, 0.01, len(frame))).round(3)
    frame["patient"] = np.tile(np.arange(300), 3)
    return written(folder, frame.sample(frac=1, random_state=5), "ill", group="patient")


def clean_trailing(folder: Path, draw: Draw) -> dict[str, Any]:
    """The mean demand of the day before this hour."""
    frame = hours(draw)
    return written(
        folder,
        frame.assign(usual=frame["demand"].shift(1).rolling(24, min_periods=1).mean()).iloc[1:],
        "demand",
        time="time",
    )


SETS = (
    LeakSet("share of ill in a family of three", family_rate, "giveaway", "strange"),
    LeakSet("mean price of a house of three flats", house_mean, "giveaway", "strange"),
    LeakSet("target smoothed over five hours", smoothed_target, "future", "strange"),
    LeakSet("tumours measured twice", measured_twice, "copies", "strange"),
    LeakSet("entered later, for one in three", entered_later, "giveaway", "strange"),
    LeakSet("number ends in the class", number_ends_in_class, "giveaway", "strange"),
    LeakSet("even numbers of one class", even_numbers, "giveaway", "held"),
    LeakSet("total of a bill, wrong in 15 %", total_and_rest, "giveaway", "held"),
    LeakSet("wine", clean_real("wine"), None, "strange"),
    LeakSet("iris", clean_real("iris"), None, "strange"),
    LeakSet("breast cancer", clean_real("breast_cancer"), None, "strange"),
    LeakSet("diabetes", clean_real("diabetes"), None, "strange"),
    LeakSet("prices of a street before", clean_district, None, "strange"),
    LeakSet("visits of patients, grouped", clean_visits, None, "held"),
    LeakSet("digits as a table", clean_real("digits"), None, "held"),
    LeakSet("mean of the day before", clean_trailing, None, "held"),
)
