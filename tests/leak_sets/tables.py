"""Tables of rows: patients, flats, flowers; and columns that know too much."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from leak_sets.maker import Draw, LeakSet

ROWS = 900


def written(folder: Path, frame: pd.DataFrame, target: str, **read: Any) -> dict[str, Any]:
    """Settings of a table that was written as CSV."""
    frame.to_csv(folder / "rows.csv", index=False)
    return {"data": str(folder / "rows.csv"), "read": {"target": target, **read}}


def patients(draw: Draw, rows: int = ROWS) -> pd.DataFrame:
    """A disease that some measurements honestly show."""
    ill = draw.random(rows) < 0.4
    age = np.where(ill, draw.normal(62, 10, rows), draw.normal(54, 12, rows)).round()
    marker = np.where(ill, draw.lognormal(1.1, 0.4, rows), draw.lognormal(0.4, 0.4, rows)).round(2)
    pressure = draw.normal(125 + 8 * ill, 14).round()
    return pd.DataFrame(
        {
            "age": age,
            "marker": marker,
            "pressure": pressure,
            "sex": draw.choice(["f", "m"], rows),
            "city": draw.choice(["Rome", "Bern", "Oslo", "Lima"], rows),
            "smoker": draw.random(rows) < 0.2 + 0.15 * ill,
            "ill": np.where(ill, "yes", "no"),
        }
    )


def flats(draw: Draw, rows: int = ROWS) -> pd.DataFrame:
    """Prices that area, place and age explain but for some per cent."""
    area, age = draw.lognormal(4.2, 0.35, rows), draw.integers(0, 90, rows).astype(float)
    city = draw.choice(["Rome", "Bern", "Oslo", "Lima"], rows)
    level = pd.Series(city).map({"Rome": 4.0, "Bern": 7.5, "Oslo": 6.0, "Lima": 2.0}).to_numpy()
    price = area * level * (1 - 0.003 * age) * draw.lognormal(0, 0.06, rows)
    return pd.DataFrame(
        {
            "area": area.round(1),
            "age": age,
            "city": city,
            "floor": draw.integers(0, 12, rows),
            "rooms": (area / 25 + draw.normal(0, 0.5, rows)).round().clip(1),
            "price": price.round(2),
        }
    )


def clean_patients(folder: Path, draw: Draw) -> dict[str, Any]:
    return written(folder, patients(draw), "ill")


def clean_test_result(folder: Path, draw: Draw) -> dict[str, Any]:
    """A laboratory test that is right in 19 cases of 20, as good ones are."""
    frame = patients(draw)
    right = draw.random(ROWS) < 0.95
    frame["rapid_test"] = np.where((frame["ill"] == "yes") == right, "positive", "negative")
    return written(folder, frame, "ill")


def clean_flats(folder: Path, draw: Draw) -> dict[str, Any]:
    """The valuation of an expert is among the columns, right to 5 %."""
    frame = flats(draw)
    frame["valuation"] = (frame["price"] * draw.lognormal(0, 0.05, ROWS)).round(-1)
    return written(folder, frame, "price")


def clean_flowers(folder: Path, draw: Draw) -> dict[str, Any]:
    """150 flowers, the species told by petals nearly without error, listed species by species."""
    species = np.repeat([0, 1, 2], 50)
    petal = draw.normal(np.array([1.46, 4.26, 5.55])[species], np.array([0.17, 0.47, 0.55])[species])
    width = draw.normal(np.array([0.25, 1.33, 2.03])[species], np.array([0.11, 0.2, 0.27])[species])
    sepal = draw.normal(np.array([5.0, 5.94, 6.59])[species], np.array([0.35, 0.52, 0.64])[species])
    names = np.array(["setosa", "versicolor", "virginica"])[species]
    columns = {"petal_length": petal, "petal_width": width, "sepal_length": sepal}
    return written(folder, pd.DataFrame({**columns, "species": names}).round(1), "species")


def hours(draw: Draw) -> pd.DataFrame:
    """Demand by the hour, which lasts from hour to hour."""
    noise = pd.Series(draw.normal(0, 1, ROWS)).ewm(alpha=0.1).mean().to_numpy()
    day = np.arange(ROWS) % 24
    demand = 50 + 10 * np.sin(2 * np.pi * day / 24) + 20 * noise + draw.normal(0, 1, ROWS)
    times = pd.date_range("2023-01-01", periods=ROWS, freq="h")
    return pd.DataFrame({"time": times, "hour": day, "wind": draw.gamma(2, 3, ROWS), "demand": demand})


def clean_lags(folder: Path, draw: Draw) -> dict[str, Any]:
    """Rows in the order of time, with the demand of one and of 24 hours before."""
    frame = hours(draw)
    frame["before"], frame["day_before"] = frame["demand"].shift(1), frame["demand"].shift(24)
    return written(folder, frame.iloc[24:], "demand", time="time")


def other_words(folder: Path, draw: Draw) -> dict[str, Any]:
    frame = patients(draw)
    return written(folder, frame.assign(code=frame["ill"].map({"yes": "K35.8", "no": "Z00.0"})), "ill")


def other_units(folder: Path, draw: Draw) -> dict[str, Any]:
    frame = flats(draw)
    return written(folder, frame.assign(price_usd=(frame["price"] * 1.08).round()), "price")


def treatment(folder: Path, draw: Draw) -> dict[str, Any]:
    """A treatment that follows from the diagnosis, recorded wrongly in one case of a hundred."""
    frame = patients(draw)
    treated = (frame["ill"] == "yes") == (draw.random(ROWS) < 0.99)
    return written(folder, frame.assign(treated=np.where(treated, "yes", "no")), "ill")


def parts(folder: Path, draw: Draw) -> dict[str, Any]:
    """Two columns that sum to the target."""
    frame = flats(draw)
    land = frame["price"] * draw.uniform(0.2, 0.6, ROWS)
    return written(folder, frame.assign(land=land, house=frame["price"] - land), "price")


def per_area(folder: Path, draw: Draw) -> dict[str, Any]:
    """The price per square metre and the area."""
    frame = flats(draw)
    return written(folder, frame.assign(per_metre=frame["price"] / frame["area"]), "price")


def id_by_class(folder: Path, draw: Draw) -> dict[str, Any]:
    """Record numbers that were given clinic by clinic, and one clinic has the ill."""
    frame = patients(draw).sort_values("ill", ignore_index=True)
    frame["record"] = 5000 + np.arange(ROWS) * 3
    return written(folder, frame.sample(frac=1, random_state=1), "ill")


def missing_tells(folder: Path, draw: Draw) -> dict[str, Any]:
    """Days in hospital, which only the ill have."""
    frame = patients(draw)
    days = draw.integers(1, 30, ROWS).astype(float)
    return written(folder, frame.assign(days_in=np.where(frame["ill"] == "yes", days, np.nan)), "ill")


def rows_twice(folder: Path, draw: Draw) -> dict[str, Any]:
    """The ill were doubled before the split, to balance the classes."""
    frame = patients(draw)
    return written(folder, pd.concat([frame, frame[frame["ill"] == "yes"]]).sample(frac=1, random_state=1), "ill")


def rows_jittered(folder: Path, draw: Draw) -> dict[str, Any]:
    """The ill were doubled before the split with a little noise."""
    frame = patients(draw)
    repeated = frame[frame["ill"] == "yes"].copy()
    for name in ("age", "marker", "pressure"):
        repeated[name] += 0.01 * frame[name].std() * draw.normal(size=len(repeated))
    return written(folder, pd.concat([frame, repeated]).sample(frac=1, random_state=1), "ill")


def folded(folder: Path, draw: Draw) -> dict[str, Any]:
    """The target is the size of a column, without its sign."""
    frame = flats(draw)
    frame["balance"] = draw.normal(0, 100, ROWS)
    frame["price"] = np.abs(frame["balance"])
    return written(folder, frame, "price")


def target_shifted(folder: Path, draw: Draw) -> dict[str, Any]:
    """Rows in the order of time, with the demand of the next hour in the row of this one."""
    frame = hours(draw)
    return written(folder, frame.assign(meter=frame["demand"].shift(-1).ffill()), "demand", time="time")


def encoded_over_all(folder: Path, draw: Draw) -> dict[str, Any]:
    """The mean of the target over all rows of a street, of which each has few."""
    frame = patients(draw)
    street = draw.integers(0, ROWS // 2, ROWS)
    share = (frame["ill"] == "yes").groupby(street).transform("mean")
    return written(folder, frame.assign(street_risk=share), "ill")


SETS = (
    LeakSet("patients", clean_patients),
    LeakSet("test that is right in 95 %", clean_test_result),
    LeakSet("flats with a valuation", clean_flats),
    LeakSet("flowers listed by species", clean_flowers),
    LeakSet("hours with lags", clean_lags),
    LeakSet("target in other words", other_words, "copy"),
    LeakSet("target in other units", other_units, "copy"),
    LeakSet("treatment that follows from the diagnosis", treatment, "copy"),
    LeakSet("parts that sum to the target", parts, "formula"),
    LeakSet("target per area, and the area", per_area, "formula"),
    LeakSet("record numbers by class", id_by_class, "copy"),
    LeakSet("missing cells tell", missing_tells, "copy"),
    LeakSet("rows doubled before the split", rows_twice, "duplicates"),
    LeakSet("rows doubled with noise", rows_jittered, "near"),
    LeakSet("target is a fold of a column", folded, "copy"),
    LeakSet("column is the next row's target", target_shifted, "shifted"),
    LeakSet("street's mean over all rows", encoded_over_all, "copy"),
)
