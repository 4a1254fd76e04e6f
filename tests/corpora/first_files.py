"""Forty files as people have them, from seeded generators, each with the reading that is meant."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

Rows = pd.DataFrame


class Case(NamedTuple):
    """A file or folder, the options that a user gives, and what `check` then says of it.

    write: Into a folder; the path to give.
    facts: Of the summary: those that show whether it was read as it is meant.
    """

    name: str
    write: Callable[[Path], Path]
    task: str
    facts: Mapping[str, object]
    words: str = ""


def _noise(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).normal(size=shape)


def _times(count: int = 400, step: str = "D", start: str = "2022-01-03") -> pd.DatetimeIndex:
    return pd.date_range(start, periods=count, freq=step)


def _level(count: int, season: float, seed: int) -> Any:
    return 100 + 20 * np.sin(np.arange(count) * 2 * np.pi / season) + 3 * _noise(seed, count)


def _wide(count: int = 400, step: str = "D", form: str = "%Y-%m-%d", name: str = "date", season: float = 7) -> Rows:
    values = {shop: _level(count, season, seed).round(2) for seed, shop in enumerate(("north", "south", "west"))}
    return pd.DataFrame({name: _times(count, step).strftime(form), **values})


def _long(ids: list[Any], count: int = 300, **names: str) -> Rows:
    known = {"id": "store", "time": "date", "value": "sales", **names}
    frames = [
        pd.DataFrame(
            {
                known["id"]: [name] * count,
                known["time"]: _times(count).strftime("%Y-%m-%d"),
                known["value"]: _level(count, 7, seed).round().astype(int),
            }
        )
        for seed, name in enumerate(ids)
    ]
    return pd.concat(frames, ignore_index=True)


def _german(frame: Rows) -> Rows:
    """Numbers as 1.203,27."""
    swap = str.maketrans(",.", ".,")
    numbers = frame.select_dtypes("number").columns
    return frame.assign(**{name: [f"{value:,.2f}".translate(swap) for value in frame[name]] for name in numbers})


def _patients(count: int = 240) -> Rows:
    generator = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "age": generator.integers(20, 90, count),
            "weight": generator.normal(75, 12, count).round(1),
            "city": generator.choice(["Ulm", "Bonn", "Kiel"], count),
            "smokes": generator.random(count) < 0.3,
        }
    )
    return frame.assign(ill=np.where(frame.age + 9 * generator.normal(size=count) > 55, "yes", "no"))


def _numbers(count: int = 300) -> Rows:
    frame = pd.DataFrame(_noise(8, count, 4).round(3), columns=["alcohol", "malic", "ash", "hue"])
    return frame.assign(**{"class": (frame.alcohol > 0).astype(int) + (frame.ash > 0.8)})


def _texts(count: int = 120) -> Rows:
    kinds = [("good", "pos"), ("bad", "neg")]
    return pd.DataFrame(
        [(f"the film number {n} was really {kinds[n % 2][0]} for us", kinds[n % 2][1]) for n in range(count)],
        columns=["text", "label"],
    )


def _beats(count: int = 60, steps: int = 20) -> Rows:
    noise = _noise(3, count, steps)
    return pd.DataFrame(
        [
            (series, step, noise[series, step] + 3 * (series % 2) * np.sin(step), "ab"[series % 2])
            for series in range(count)
            for step in range(steps)
        ],
        columns=["id", "time", "lead", "class"],
    )


def csv(name: str, frame: Callable[[], Rows], **how: Any) -> Callable[[Path], Path]:
    """Writes a frame as CSV."""

    def write(folder: Path) -> Path:
        frame().to_csv(folder / name, **{"index": False, **how})
        return folder / name

    return write


def parquet(name: str, frame: Callable[[], Rows]) -> Callable[[Path], Path]:
    """Writes a frame as Parquet."""

    def write(folder: Path) -> Path:
        frame().to_parquet(folder / name, index=False)
        return folder / name

    return write


def workbook(name: str, **sheets: Callable[[], Rows]) -> Callable[[Path], Path]:
    """Writes sheets into a workbook."""

    def write(folder: Path) -> Path:
        with pd.ExcelWriter(folder / name) as writer:
            for title, frame in sheets.items():
                frame().to_excel(writer, sheet_name=title, index=False)
        return folder / name

    return write


def _lines(folder: Path) -> Path:
    records = _texts().rename(columns={"label": "sentiment"}).to_dict("records")
    (folder / "reviews.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return folder / "reviews.jsonl"


def _archive(folder: Path) -> Path:
    values = _noise(1, 60, 24) + np.arange(60)[:, None] % 2 * np.sin(np.arange(24))
    np.savez(folder / "beats.npz", X=values, y=np.arange(60) % 2)
    return folder / "beats.npz"


def _pictures(folder: Path) -> Path:
    from PIL import Image

    generator = np.random.default_rng(6)
    for place in range(48):
        (folder / "shapes" / "ab"[place % 2]).mkdir(parents=True, exist_ok=True)
        pixels = generator.integers(0, 99, (16, 16, 3), dtype=np.uint8) + np.uint8(120 * (place % 2))
        Image.fromarray(pixels).save(folder / "shapes" / "ab"[place % 2] / f"{place:02d}.png")
    return folder / "shapes"


def _scans(folder: Path) -> Path:
    generator, rows = np.random.default_rng(7), []
    for place in range(30):
        volume = generator.normal(size=(8, 8, 8)) + np.float64(place % 2)
        np.save(folder / f"scan{place:02d}.npy", volume.astype(np.float32))
        rows.append((f"scan{place:02d}.npy", ["clear", "lesion"][place % 2], f"p{place:02d}"))
    pd.DataFrame(rows, columns=["path", "label", "patient"]).to_csv(folder / "scans.csv", index=False)
    return folder / "scans.csv"


def _stories(folder: Path) -> Path:
    (folder / "stories").mkdir()
    words = "the cat sees a dog and the old dog sees a small cat in the long grass".split()
    for part in range(3):
        chosen = np.random.default_rng(part).choice(words, 4000)
        text = "\n\n".join(" ".join(chosen[at : at + 40]) + "." for at in range(0, 4000, 40))
        (folder / "stories" / f"part{part}.txt").write_text(text)
    return folder / "stories"


def _prices() -> Rows:
    days = _times(300, "B")
    walk = np.exp(0.01 * _noise(9, 3, 300).cumsum(1))
    return pd.DataFrame(
        [
            (ticker, day.strftime("%Y-%m-%d"), round(50 * walk[place, row] * 0.999, 2), round(50 * walk[place, row], 2))
            for place, ticker in enumerate(("AAA", "BBB", "CCC"))
            for row, day in enumerate(days)
        ],
        columns=["ticker", "date", "open", "close"],
    )


def _late() -> Rows:
    frame = _long([1, 2, 3])
    keep = ~((frame.store == 2) & (frame.date < "2022-05-01")) & ~((frame.store == 3) & (frame.date > "2022-09-01"))
    return frame[keep]


def _items() -> Rows:
    frame = pd.concat([_long([7, 8, 9], value="sales").assign(shop=shop) for shop in (1, 2)])
    return frame.rename(columns={"store": "item", "shop": "store"})[["date", "store", "item", "sales"]]


def _holed() -> Rows:
    frame = _wide()
    frame.loc[50:54, "south"] = np.nan
    return frame


def _orders() -> Rows:
    generator = np.random.default_rng(2)
    frame = _patients().rename(columns={"ill": "returned", "age": "items"})
    return frame.assign(date=_times(240).strftime("%Y-%m-%d").to_numpy()[generator.integers(0, 60, 240)])


def _zones() -> Rows:
    times = pd.date_range("2024-02-01", periods=900, freq="h", tz="Europe/Berlin")
    return pd.DataFrame({"time": [time.isoformat() for time in times], "load": _level(900, 24, 3).round(2)})


SERIES = {"variates": 3}
CASES = (
    Case("wide, daily", csv("sales.csv", _wide), "forecast", {**SERIES, "rows": 400, "step": "D", "layout": "wide"}),
    Case(
        "long, usual names",
        csv("long.csv", lambda: _long(["a", "b"], id="unique_id", time="ds", value="y")),
        "forecast",
        {"variates": 2, "rows": 300, "names": "a, b"},
    ),
    Case(
        "long, whole numbers and a holiday",
        csv(
            "shops.csv",
            lambda: _long([1, 2, 30]).assign(holiday=lambda frame: frame.date.str.endswith("-05").astype(int)),
        ),
        "forecast",
        {**SERIES, "rows": 300, "names": "1, 2, 30", "layout": "long"},
    ),
    Case("long, two id columns", csv("items.csv", _items), "forecast", {"variates": 6, "rows": 300, "layout": "long"}),
    Case(
        "long, words, price and promotion",
        csv(
            "demand.csv",
            lambda: _long(["x", "y", "z"], id="region").assign(
                price=lambda frame: frame.region.map({"x": 1.5, "y": 2.0, "z": 2.5}),
                promo=lambda frame: frame.date.str.endswith("1").astype(int),
            ),
        ),
        "forecast",
        {**SERIES, "names": "x, y, z", "rows": 300},
    ),
    Case(
        "long, named value",
        csv(
            "energy.csv",
            lambda: _long(["m1", "m2"], id="meter", value="kwh").assign(cost=lambda frame: frame.kwh * 0.3 + 1.0),
        ),
        "forecast",
        {"variates": 2, "rows": 300, "layout": "long"},
        "--value kwh",
    ),
    Case(
        "long, codes with zeros",
        csv("plants.csv", lambda: _long(["001", "002", "010"], id="plant")),
        "forecast",
        {**SERIES, "names": "001, 002, 010"},
    ),
    Case(
        "long, late start and early end",
        csv("late.csv", _late),
        "forecast",
        {**SERIES, "missing cells": 0, "rows": 300},
    ),
    Case(
        "long, a year per row",
        csv(
            "gdp.csv",
            lambda: pd.DataFrame(
                [
                    (land, year, round(9.0 + place + 0.3 * (year - 1960) + 0.2 * _noise(year, 1)[0], 3))
                    for place, land in enumerate(("DE", "FR"))
                    for year in range(1960, 2024)
                ],
                columns=["country", "year", "gdp"],
            ),
        ),
        "forecast",
        {"variates": 2, "rows": 64, "names": "DE, FR"},
    ),
    Case(
        "German, semicolons",
        csv(
            "umsatz.csv",
            lambda: _german(_wide(form="%d.%m.%Y", name="Datum").assign(west=lambda frame: frame.west * 12)),
            sep=";",
        ),
        "forecast",
        {**SERIES, "rows": 400, "from": "2022-01-03 00:00:00"},
    ),
    Case(
        "German, long",
        csv(
            "filialen.csv",
            lambda: _german(_long(["Ulm", "Bonn"], id="Filiale", time="Tag", value="Umsatz")),
            sep=";",
            encoding="cp1252",
        ),
        "forecast",
        {"variates": 2, "names": "Ulm, Bonn"},
    ),
    Case(
        "sixty months, twelve ahead",
        csv("months.csv", lambda: _wide(60, "MS", "%Y-%m", "Month", 12)),
        "forecast",
        {**SERIES, "rows": 60, "step": "MS"},
        "--horizon 12",
    ),
    Case(
        "months in words",
        csv("visitors.csv", lambda: _wide(120, "MS", "%b %Y", "month", 12)),
        "forecast",
        {**SERIES, "rows": 120, "step": "MS"},
    ),
    Case(
        "quarters",
        csv(
            "quarters.csv",
            lambda: _wide(80, "QS", season=4).assign(date=[f"{time.year}Q{time.quarter}" for time in _times(80, "QS")]),
        ),
        "forecast",
        {**SERIES, "rows": 80, "season": 4},
    ),
    Case("weeks", csv("weeks.csv", lambda: _wide(200, "W-MON", season=52)), "forecast", {**SERIES, "rows": 200}),
    Case(
        "quarters of an hour",
        csv("load.csv", lambda: _wide(900, "15min", "%d/%m/%Y %H:%M", "timestamp", 96)),
        "forecast",
        {**SERIES, "rows": 900, "step": "15min"},
    ),
    Case("hours with offsets", csv("zones.csv", _zones), "forecast", {"variates": 1, "rows": 900, "step": "h"}),
    Case("days before months", csv("uk.csv", lambda: _wide(form="%d/%m/%Y")), "forecast", {**SERIES, "step": "D"}),
    Case(
        "thousands in quotation marks",
        csv("us.csv", lambda: _wide().assign(north=lambda frame: [f"{1000 * value:,.2f}" for value in frame.north])),
        "forecast",
        {**SERIES, "rows": 400},
    ),
    Case("newest first", csv("down.csv", lambda: _wide()[::-1]), "forecast", {**SERIES, "from": "2022-01-03 00:00:00"}),
    Case("with row numbers", csv("index.csv", _wide, index=True), "forecast", {**SERIES, "rows": 400}),
    Case("packed", csv("sales.csv.gz", _wide), "forecast", {**SERIES, "rows": 400}),
    Case(
        "numbers without times",
        csv("walk.csv", lambda: pd.DataFrame(_noise(4, 500, 3).cumsum(0).round(3), columns=["a", "b", "c"])),
        "forecast",
        {**SERIES, "rows": 500},
    ),
    Case("missing cells", csv("holes.csv", _holed), "forecast", {**SERIES, "missing cells": 5}, "--missing mask"),
    Case(
        "Excel, dates",
        workbook("sales.xlsx", Sheet1=lambda: _wide().assign(date=_times())),
        "forecast",
        {**SERIES, "rows": 400},
    ),
    Case(
        "Excel, second sheet",
        workbook("book.xlsx", Notes=lambda: pd.DataFrame({"about": ["sales of shops"]}), Daten=_wide),
        "forecast",
        {**SERIES, "rows": 400},
        "--set read.sheet=Daten",
    ),
    Case(
        "Parquet, long",
        parquet("long.parquet", lambda: _long([4, 5]).assign(date=lambda frame: pd.to_datetime(frame.date))),
        "forecast",
        {"variates": 2, "names": "4, 5"},
    ),
    Case("rows with words", csv("patients.csv", _patients), "tabular", {"rows": 240, "target": "ill"}, "--target ill"),
    Case(
        "rows of numbers, a class",
        csv("wine.csv", _numbers),
        "tabular",
        {"rows": 300, "target": "class"},
        "--target class",
    ),
    Case("rows of numbers, nothing said", csv("wine2.csv", _numbers), "tabular", {"rows": 300}),
    Case(
        "rows, a number to predict",
        csv("weights.csv", lambda: _patients().assign(id=range(240))),
        "tabular",
        {"target": "weight"},
        "--target weight",
    ),
    Case(
        "rows, German",
        csv(
            "preise.csv", lambda: _german(_patients().rename(columns={"weight": "Preis"}).drop(columns="age")), sep=";"
        ),
        "tabular",
        {"target": "Preis", "rows": 240},
        "--target Preis",
    ),
    Case(
        "rows of events with dates",
        csv("orders.csv", _orders),
        "tabular",
        {"target": "returned"},
        "--target returned --time date",
    ),
    Case("rows, Excel", workbook("patients.xlsx", Sheet1=_patients), "tabular", {"target": "ill"}, "--target ill"),
    Case("texts", csv("reviews.csv", _texts), "text", {"target": "label"}),
    Case(
        "texts, other names",
        csv("mails.csv", lambda: _texts().set_axis(["C", "D"], axis=1)),
        "text",
        {"target": "D"},
        "--text C --target D",
    ),
    Case("texts, JSON lines", _lines, "text", {"target": "sentiment"}),
    Case("labelled series", csv("beats.csv", _beats), "series", {"series": 60, "variates": "lead"}),
    Case("folder of pictures", _pictures, "images", {"images": 48}),
    Case("scans", _scans, "volumes", {"cases": 30}),
)
"""Forty; `_archive`, `_stories` and `_prices` stand in for others below."""
MORE = (
    Case("labelled series, npz", _archive, "series", {"series": 60}),
    Case("folder of prose", _stories, "language", {}),
    Case("prices", csv("prices.csv", _prices), "stocks", {}),
)
