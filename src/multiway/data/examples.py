"""Small data sets that come with the package, made by formulas but for two: passengers, and temperatures of the sea."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator

from multiway.errors import ConfigError, closest

PASSENGERS = (
    "112 118 132 129 121 135 148 148 136 119 104 118 115 126 141 135 125 149 170 170 158 133 114 140 145 150 178 163 "
    "172 178 199 199 184 162 146 166 171 180 193 181 183 218 230 242 209 191 172 194 196 196 236 235 229 243 264 272 "
    "237 211 180 201 204 188 235 227 234 264 302 293 259 229 203 229 242 233 267 269 270 315 364 347 312 274 237 278 "
    "284 277 317 313 318 374 413 405 355 306 271 306 315 301 356 348 355 422 465 467 404 347 305 336 340 318 362 348 "
    "363 435 491 505 404 359 310 337 360 342 406 396 420 472 548 559 463 407 362 405 417 391 419 461 472 535 622 606 "
    "508 461 390 432"
)
"""Passengers of airlines in thousands, January 1949 to December 1960 (Box and Jenkins, 1976, series G)."""
SEA = Path(__file__).with_name("sst.npz")
"""Temperatures of the sea by OSTIA in twentieths of a kelvin, 0 on land: monthly means of the Met Office, those of
`ostia_monthly.nc` in `iris-sample-data` 2.5.2 averaged over squares of 2 x 6 cells (Open Government Licence)."""
HOLIDAYS = ("01-01", "05-01", "07-04", "11-28", "12-24", "12-25", "12-31")
STORES, LAST_DAY = ("harbour", "market", "north", "station"), pd.Timestamp("2024-12-31")
WARM, COLD = ("warm", "lovely", "bright", "moving"), ("dull", "tired", "cold", "loud")
SCENES = "The plot, the actors and the music of film {} were {}, {} and {}"


def load_example(name: str) -> Any:
    """A small data set by name, the same on every machine.

    air_passengers: a frame of date and passengers, monthly. store_sales: date, store, units and holiday, daily;
    store_plan: the holidays of the next fortnight.
    patients: a frame with the class `ill`. beats: series of two classes, a row per step. reviews: texts with labels.
    prices: date, ticker and prices of stocks. stories: a list of texts. shapes: images `(count, height, width)` and
    classes. scans: volumes `(count, depth, height, width)` and classes. lesions: such volumes and their masks.
    sst: arrays by name, monthly temperatures of tropical seas and their axes; `np.savez(path, **arrays)` makes a file.

    Raises:
        ConfigError: There is no such set.
    """
    if name not in EXAMPLES:
        raise ConfigError(f"no example is called {name}{closest(name, list(EXAMPLES))} Known: {', '.join(EXAMPLES)}.")
    return EXAMPLES[name](np.random.default_rng(7))


def _air_passengers(_: Generator) -> pd.DataFrame:
    months = pd.date_range("1949-01-01", periods=144, freq="MS")
    return pd.DataFrame({"date": months, "passengers": [int(count) for count in PASSENGERS.split()]})


def _store_sales(draw: Generator) -> pd.DataFrame:
    """Four stores over three years: a week, a year, a trend, and half as much more on holidays."""
    dates = pd.date_range("2022-01-01", LAST_DAY, freq="D")
    days, is_holiday = np.arange(len(dates)), dates.strftime("%m-%d").isin(HOLIDAYS)
    week = np.array([0.85, 0.8, 0.9, 1.0, 1.25, 1.4, 0.8])[dates.day_of_week]
    year = 1 + 0.15 * np.sin(2 * np.pi * (days - 80) / 365.25)
    frames = []
    for place, store in enumerate(STORES):
        level = (40 + 25 * place) * (1 + 0.0002 * days) * week * year * (1 + 0.5 * is_holiday)
        units = draw.poisson(level * np.exp(draw.normal(0, 0.06, len(days))))
        frames.append(pd.DataFrame({"date": dates, "store": store, "units": units, "holiday": is_holiday.astype(int)}))
    return pd.concat(frames, ignore_index=True)


def _store_plan(_: Generator) -> pd.DataFrame:
    """The holidays of the fortnight after the sales."""
    dates = pd.date_range(LAST_DAY, periods=15, freq="D")[1:]
    is_holiday = dates.strftime("%m-%d").isin(HOLIDAYS).astype(int)
    return pd.concat([pd.DataFrame({"date": dates, "store": store, "holiday": is_holiday}) for store in STORES])


def _patients(draw: Generator) -> pd.DataFrame:
    age, smokes = draw.integers(20, 80, 400), draw.random(400) < 0.3
    pressure = (100 + 0.6 * age + draw.normal(0, 10, 400)).round()
    risk = 0.06 * (age - 50) + 1.2 * smokes + 0.03 * (pressure - 130) + draw.normal(0, 0.8, 400)
    city = draw.choice(["Bonn", "Kiel", "Ulm"], 400)
    frame = {"age": age, "pressure": pressure, "city": city, "smokes": smokes, "ill": np.where(risk > 0, "yes", "no")}
    return pd.DataFrame(frame)


def _beats(draw: Generator) -> pd.DataFrame:
    steps, frames = np.arange(48), []
    for series in range(120):
        is_late = series % 2
        bump = np.exp(-(((steps - draw.integers(12, 20) - 12 * is_late) / 4) ** 2))
        values = {"pulse": bump + draw.normal(0, 0.8, 48), "pressure": 0.5 * bump + draw.normal(0, 0.8, 48)}
        names = {"id": f"beat {series:03d}", "time": steps, "class": ("early", "late")[is_late]}
        frames.append(pd.DataFrame({**names, **{name: part.round(3) for name, part in values.items()}}))
    return pd.concat(frames, ignore_index=True)


def _reviews(draw: Generator) -> pd.DataFrame:
    """Three words a text, one in five of the other side."""
    good = draw.random(240) < 0.5
    is_warm = (draw.random((240, 3)) < 0.2) != good[:, None]
    words = np.where(is_warm, draw.choice(WARM, (240, 3)), draw.choice(COLD, (240, 3)))
    texts = [SCENES.format(row, *three) for row, three in enumerate(words)]
    return pd.DataFrame({"review": texts, "label": np.where(good, "good", "bad")})


def _prices(draw: Generator) -> pd.DataFrame:
    dates, frames = pd.bdate_range("2022-01-03", periods=400), []
    common = draw.normal(0, 0.008, 400)
    for ticker in ("ANCH", "BARK", "CLAY", "DUNE"):
        close = 50 * np.exp(np.cumsum(common + draw.normal(0, 0.01, 400)))
        first = close * np.exp(draw.normal(0, 0.003, 400))
        high, low = 1.004 * np.maximum(first, close), 0.996 * np.minimum(first, close)
        prices = {"open": first, "high": high, "low": low, "close": close}
        columns = {name: part.round(2) for name, part in prices.items()}
        volume = draw.integers(10**5, 10**6, 400)
        frames.append(pd.DataFrame({"date": dates, "ticker": ticker, **columns, "volume": volume}))
    return pd.concat(frames, ignore_index=True)


def _stories(draw: Generator) -> list[str]:
    parts = (["The hen", "A fox", "The old cow"], ["barn", "hill", "river"], ["sings", "sleeps", "waits"])
    words = np.stack([draw.choice(part, (80, 8)) for part in parts], axis=-1)
    return [
        " ".join(f"{who} walks to the {where} and {what} all day." for who, where, what in story) for story in words
    ]


def _balls(draw: Generator, sizes: tuple[int, ...], count: int) -> tuple[Any, Any]:
    """Noise with one bright ball, small or large, and where the ball is."""
    grid = np.stack(np.meshgrid(*map(np.arange, sizes), indexing="ij"), axis=-1)
    centres = draw.uniform(0.35, 0.65, (count, len(sizes))) * sizes
    radii = np.where(np.arange(count) % 2, 0.3, 0.16) * min(sizes)
    masks = np.linalg.norm(grid - centres.reshape(count, *[1] * len(sizes), -1), axis=-1) < radii.reshape(
        count, *[1] * len(sizes)
    )
    return draw.integers(0, 120, masks.shape).astype(np.uint8) + 100 * masks.astype(np.uint8), masks


def _sst(_: Generator) -> dict[str, Any]:
    """Kelvin `(time, lat, lon)`, NaN on land, from April 2006 on."""
    with np.load(SEA) as stored:
        kelvin = np.where(stored["twentieths"] > 0, stored["twentieths"] / 20, np.nan)
        places = {"lat": stored["lat"], "lon": stored["lon"]}
    months = np.arange("2006-04", "2010-10", dtype="datetime64[M]").astype("datetime64[D]").astype(str)
    names = {"axes": np.array(["time", "lat", "lon"]), "units": np.array(["K"])}
    return {"sst": kelvin, "time": months, **places, **names}


EXAMPLES: dict[str, Callable[[Generator], Any]] = {
    "air_passengers": _air_passengers,
    "store_sales": _store_sales,
    "store_plan": _store_plan,
    "patients": _patients,
    "beats": _beats,
    "reviews": _reviews,
    "prices": _prices,
    "stories": _stories,
    "sst": _sst,
    "shapes": lambda draw: (_balls(draw, (16, 16), 160)[0], np.tile(["dot", "disc"], 80)),
    "scans": lambda draw: (_balls(draw, (12, 14, 16), 80)[0], np.tile(["small", "large"], 40)),
    "lesions": lambda draw: _balls(draw, (12, 14, 16), 40),
}
