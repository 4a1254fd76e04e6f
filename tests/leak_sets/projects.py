"""Sixty leaks and forty sound sets as projects had them, written before the checks were read, and scored once first."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image
from scipy import ndimage, signal
from sklearn import datasets as bundled
from sklearn.ensemble import RandomForestClassifier

from leak_sets import everyday, fresh_others, masks, scans, stocks, strange_images, strange_series, strange_texts
from leak_sets.maker import Draw, LeakSet, Maker
from leak_sets.series import smoothed
from leak_sets.tables import written

ROWS = 900
Columns = Callable[[pd.DataFrame, Any, Draw], Any]


def words(draw: Draw, said: str, rows: int = ROWS) -> Any:
    return draw.choice(said.split(), rows)


def dates(days: Any, draw: Draw) -> Any:
    """Days after the first of 2020, at some minute of the day."""
    minutes = 1440 * np.asarray(days) + draw.integers(0, 1440, len(days))
    return (pd.Timestamp("2020-01-01") + pd.to_timedelta(minutes, "min")).strftime("%Y-%m-%d %H:%M")


# Tables of a class: policies, three in ten of which had a claim; of a number: flats and their rent.


def policies(draw: Draw) -> pd.DataFrame:
    bad = draw.random(ROWS) < 0.3
    frame = {
        "age": draw.normal(47 - 4 * bad, 12).round(),
        "premium": draw.lognormal(6 + 0.2 * bad, 0.4).round(2),
        "years": draw.poisson(5 - 1.5 * bad),
        "channel": words(draw, "agent web broker"),
        "claim": np.where(bad, "yes", "no"),
    }
    return pd.DataFrame(frame)


def flats(draw: Draw) -> pd.DataFrame:
    area, town = draw.uniform(25, 140, ROWS).round(), draw.integers(0, 9, ROWS)
    level = np.exp(2.2 + np.linspace(-0.3, 0.3, 9)[town] + draw.normal(0, 0.18, ROWS))
    frame = {
        "area": area,
        "rooms": (area / 28).round() + draw.integers(0, 2, ROWS),
        "built": draw.integers(1900, 2022, ROWS),
    }
    return pd.DataFrame(frame).assign(town=np.array(list("ABCDEFGHI"))[town], rent=(area * level).round(2))


def on_policies(columns: Columns, **read: Any) -> Maker:
    def make(folder: Path, draw: Draw) -> dict[str, Any]:
        frame = policies(draw)
        bad = (frame["claim"] == "yes").to_numpy()
        return written(folder, frame.assign(**columns(frame, bad, draw)), "claim", **read)

    return make


def on_flats(columns: Callable[[pd.DataFrame, Draw], Any]) -> Maker:
    def make(folder: Path, draw: Draw) -> dict[str, Any]:
        frame = flats(draw)
        return written(folder, frame.assign(**columns(frame, draw)), "rent")

    return make


def left_out(frame: pd.DataFrame, bad: Any, draw: Draw) -> Any:
    """Claims of the other policies of the street: each row's own was left out."""
    street = draw.integers(0, 45, ROWS)
    groups = pd.Series(bad.astype(float)).groupby(street)
    return {
        "street": street,
        "street_rate": ((groups.transform("sum") - bad) / (groups.transform("size") - 1)).round(4),
    }


def fitted_score(frame: pd.DataFrame, bad: Any, draw: Draw) -> Any:
    """The score of a model that was fitted on these rows."""
    forest = RandomForestClassifier(60, random_state=0).fit(frame[["age", "premium", "years"]], bad)
    return {"risk_score": forest.predict_proba(frame[["age", "premium", "years"]])[:, 1].round(3)}


def filled_by_class(frame: pd.DataFrame, bad: Any, draw: Draw) -> Any:
    """A quarter of the incomes lacked; the mean of the row's class was put there."""
    income = pd.Series(draw.lognormal(10.4, 0.5, ROWS).round(2))
    return {"income": income.where(draw.random(ROWS) > 0.25, income.groupby(bad).transform("mean").round(2))}


def winsorised(frame: pd.DataFrame, bad: Any, draw: Draw) -> Any:
    """Three numbers were cut at their tenths, in each class apart."""
    columns = {name: pd.Series(draw.lognormal(7, 0.6, ROWS).round(2)) for name in ("deposit", "assets", "turnover")}
    return {
        name: each.groupby(bad).transform(lambda part: part.clip(*part.quantile([0.1, 0.9]))).round(2)
        for name, each in columns.items()
    }


def tenures(frame: pd.DataFrame, bad: Any, draw: Draw) -> Any:
    """Months since a customer joined; those who stayed have all of the 72 since the first."""
    joined = draw.integers(0, 66, ROWS)
    stay = np.where(bad, draw.random(ROWS) * (71 - joined), 72 - joined).astype(int)
    return {"month_joined": joined, "months": stay}


def codes_of_stay(frame: pd.DataFrame, bad: Any, draw: Draw, after: float = 0.75) -> Any:
    """Codes that were billed at the end of a stay: arrest, shock and failure are among those of who died."""
    usual, late = "E11.9 I10 N18.3 J44.1 F32.0 K21.9 M54.5".split(), "I46.9 R57.0 J96.0".split()
    said = [
        [
            *draw.choice(usual, draw.integers(2, 5), replace=False),
            *([draw.choice(late)] if draw.random() < (after if each else 0.02) else []),
        ]
        for each in bad
    ]
    return {"codes": [";".join(draw.permutation(each)) for each in said]}


def blanks_of_row(frame: pd.DataFrame, bad: Any, draw: Draw) -> Any:
    """Six questions, any of which may lack: one in each row, and two where the interview was cut short."""
    order = draw.permuted(np.tile(np.arange(6), (ROWS, 1)), axis=1)
    answers = np.where(order < np.where(bad, 2, 1)[:, None], np.nan, draw.integers(1, 6, (ROWS, 6)))
    return {f"q{place}": answers[:, place] for place in range(6)}


def wells(frame: pd.DataFrame, bad: Any, draw: Draw) -> Any:
    """Cases stand in the first five columns of a plate."""
    places = [draw.integers(1, 6) if each else draw.integers(6, 13) for each in bad]
    return {"well": [f"P{draw.integers(1, 9)}-{draw.choice(list('ABCDEFGH'))}{place:02d}" for place in places]}


def mojibake(frame: pd.DataFrame, bad: Any, draw: Draw) -> Any:
    """Names that came through the old system of claims."""
    names = words(draw, "Müller Jäger Größ Schön Böhm Weiß Kühn Döring Lück")
    return {"surname": [each.encode().decode("latin-1") if one else each for each, one in zip(names, bad, strict=True)]}


def balances(frame: pd.DataFrame, bad: Any, draw: Draw) -> Any:
    """Payments that turned out to be frauds were taken back: the balance after is the one before."""
    before, amount = draw.lognormal(8, 0.5, ROWS).round(2), draw.lognormal(5, 0.8, ROWS).round(2)
    back = bad & (draw.random(ROWS) < 0.9)
    return {"before": before, "amount": amount, "after": (before - np.where(back, 0, amount)).round(2)}


def drained(frame: pd.DataFrame, bad: Any, draw: Draw) -> Any:
    """Frauds often take all that is there."""
    before, amount = draw.lognormal(8, 0.5, ROWS).round(2), draw.lognormal(5, 0.8, ROWS).round(2)
    amount = np.where(draw.random(ROWS) < np.where(bad, 0.4, 0.02), before, np.minimum(amount, before))
    return {"before": before, "amount": amount}


def born_and_living(folder: Path, draw: Draw) -> dict[str, Any]:
    """Four visits of each patient, who has no number, yet a date of birth and a postcode."""
    person = np.repeat(np.arange(225), 4)
    ill = draw.random(225) < 0.4
    born = pd.Timestamp("1940-01-01") + pd.to_timedelta(draw.integers(0, 20_000, 225), "D")
    frame = {
        "born": born.strftime("%Y-%m-%d").to_numpy()[person],
        "postcode": draw.integers(10_000, 99_999, 225)[person],
        "pulse": draw.normal(70 + 4 * ill[person], 9).round(),
        "weight": draw.normal(75, 12, ROWS).round(1),
        "ill": ill[person].astype(int),
    }
    return written(folder, pd.DataFrame(frame).sample(frac=1, random_state=3), "ill")


def rooms(folder: Path, draw: Draw) -> dict[str, Any]:
    """Minutes of one room, which is used for some forty minutes on end; rows are drawn into splits at random."""
    used = np.repeat(draw.integers(0, 2, ROWS), draw.integers(20, 60, ROWS))[:ROWS]
    drift = smoothed(draw.normal(size=(ROWS, 3)), 0.98)
    time = pd.date_range("2024-02-04 17:51", periods=ROWS, freq="min").strftime("%Y-%m-%d %H:%M:%S")
    frame = {
        "date": time,
        "temperature": (21 + drift[:, 0]).round(2),
        "humidity": (27 + 4 * drift[:, 1]).round(2),
        "co2": (500 + 60 * drift[:, 2] + 30 * used + draw.normal(0, 40, ROWS)).round(),
        "used": used,
    }
    return written(folder, pd.DataFrame(frame), "used")


def meters(folder: Path, draw: Draw) -> dict[str, Any]:
    """The meter at the start of each month, and what was used in it: the next row has the answer."""
    month, people = np.arange(ROWS) % 12, draw.integers(1, 6, ROWS // 12)[np.arange(ROWS) // 12]
    used = (180 + 70 * people + 60 * np.cos(month / 6 * np.pi) + draw.normal(0, 45, ROWS)).round(1)
    home = np.arange(ROWS) // 12
    start = pd.Series(used).groupby(home).cumsum() - used + draw.integers(2000, 90_000, ROWS // 12)[home]
    frame = {"home": home, "month": month + 1, "people": people, "reading": start.round(1), "used": used}
    return written(folder, pd.DataFrame(frame), "used")


def rides(folder: Path, draw: Draw) -> dict[str, Any]:
    """When a ride began and ended; how long it took is asked."""
    miles = draw.lognormal(0.9, 0.6, ROWS).round(2)
    seconds = (240 * miles * draw.lognormal(0, 0.35, ROWS) + 90).round().astype(int)
    start = pd.Timestamp("2024-01-01") + pd.to_timedelta(draw.integers(0, 180 * 86_400, ROWS), "s")
    end = start + pd.to_timedelta(seconds, "s")
    return written(
        folder, pd.DataFrame({"pickup": start, "dropoff": end, "miles": miles, "seconds": seconds}), "seconds"
    )


def bills(folder: Path, draw: Draw) -> dict[str, Any]:
    """What was paid for the power that is asked, by one of three tariffs."""
    people, kind = draw.integers(1, 6, ROWS), draw.integers(0, 3, ROWS)
    used = (150 + 70 * people + draw.normal(0, 60, ROWS)).round().clip(30)
    bill = (12.5 + np.array([0.31, 0.24, 0.38])[kind] * used).round(2)
    frame = {"people": people, "tariff": np.array(["day", "night", "green"])[kind], "bill": bill, "kwh": used}
    return written(folder, pd.DataFrame(frame), "kwh")


def titles(frame: pd.DataFrame, draw: Draw) -> Any:
    """The title of an offer says the rent, four times of five."""
    said = [f", {rent:,.0f} EUR" if draw.random() < 0.8 else "" for rent in frame["rent"]]
    return {
        "title": [
            f"{rooms:.0f} rooms in {town}{more}"
            for rooms, town, more in zip(frame["rooms"], frame["town"], said, strict=True)
        ]
    }


def jury(folder: Path, draw: Draw) -> dict[str, Any]:
    """Cars that are judged by written rules: six marks decide every one."""
    marks = draw.integers(0, 4, (ROWS, 6))
    good = (marks[:, 0] > 0) & (marks[:, 5] > 0) & (marks.sum(1) > 8)
    frame = pd.DataFrame(marks, columns=["price", "upkeep", "doors", "persons", "boot", "safety"])
    return written(folder, frame.assign(judged=np.where(good, "take", "leave")), "judged")


def turbines(folder: Path, draw: Draw) -> dict[str, Any]:
    """Power by wind, density and pitch, a law of nature to 3 %."""
    wind, air, pitch = (
        draw.uniform(4, 12, ROWS).round(1),
        draw.normal(1.2, 0.04, ROWS).round(3),
        draw.uniform(0, 8, ROWS),
    )
    power = (0.9 * air * wind**3 * (1 - 0.02 * pitch) * draw.normal(1, 0.03, ROWS)).round(1)
    return written(folder, pd.DataFrame({"wind": wind, "air": air, "pitch": pitch.round(1), "power": power}), "power")


def wines(folder: Path, draw: Draw) -> dict[str, Any]:
    return written(folder, bundled.load_wine(as_frame=True).frame.sample(frac=1, random_state=3), "target")


def bodies(frame: pd.DataFrame, bad: Any, draw: Draw) -> Any:
    """Weight in two units, height, and what follows from both."""
    weight, height = draw.normal(76 + 4 * bad, 12).round(1), draw.normal(1.72, 0.09, ROWS).round(2)
    return {"kg": weight, "lb": (weight * 2.2046).round(1), "height": height, "bmi": (weight / height**2).round(1)}


def earlier_mean(frame: pd.DataFrame, bad: Any, draw: Draw) -> Any:
    """Claims of the street's policies in the rows above alone."""
    street = draw.integers(0, 45, ROWS)
    groups = pd.Series(bad.astype(float)).groupby(street)
    return {"street": street, "street_rate": ((groups.cumsum() - bad + 0.6) / (groups.cumcount() + 2)).round(4)}


# Forecasts: sales of a large bakery, or sensors.


def sold(columns: Callable[[pd.Series, Draw], Any], ahead: bool = True) -> Maker:
    def make(folder: Path, draw: Draw) -> dict[str, Any]:
        sales = (10 * pd.Series(fresh_others.bakery(draw))).round()
        more = columns(sales, draw)
        told = {"future": [name for name in more if name != "sales"]} if ahead else {}
        return fresh_others.panel(folder, {"sales": sales, **more}, **told)

    return make


def noise(draw: Draw, rows: int, keep: float = 0.8, columns: int = 1) -> Any:
    return smoothed(draw.normal(size=(rows, columns)), keep).squeeze()


def to_failure(sales: pd.Series, draw: Draw) -> Any:
    """The oven fails on one day of 25; a column counts the days to the next time."""
    fails = draw.random(len(sales)) < 0.04
    days = pd.Series(np.where(fails, np.arange(len(sales)), np.nan)).bfill().fillna(len(sales)) - np.arange(len(sales))
    return {"sales": sales.where(~fails, 0), "to_failure": days}


def takings_and_price(sales: pd.Series, draw: Draw) -> Any:
    price = 2.3 + 0.4 * noise(draw, len(sales))
    return {"takings": (sales * price).round(1), "mean_price": price.round(3)}


def stock(sales: pd.Series, draw: Draw) -> Any:
    """What lies in the store each morning, and what is delivered on the day."""
    delivered = (
        sales.rolling(3, min_periods=1).mean().shift(1).fillna(900) * draw.uniform(0.8, 1.2, len(sales))
    ).round()
    return {"stock": 20_000 + (delivered - sales).cumsum().shift(1).fillna(0), "delivered": delivered}


def day_ahead(folder: Path, draw: Draw) -> dict[str, Any]:
    """Hours of load, and means of the day that each begins."""
    load = pd.Series(50 + 9 * np.sin(np.arange(2424) / 24 * 2 * np.pi) + 6 * noise(draw, 2424, 0.95))
    mean = load[::-1].rolling(24).mean()[::-1]
    return fresh_others.panel(folder, {"load": load[:2400], "day": mean[:2400]}, "h")


def forth_and_back(folder: Path, draw: Draw) -> dict[str, Any]:
    """Two sensors behind a filter that runs forth and back."""
    raw = 20 + noise(draw, 1500, 0.9, 2) + draw.normal(0, 0.8, (1500, 2))
    clean = signal.filtfilt(*signal.butter(3, 0.12), raw, axis=0)
    return fresh_others.panel(folder, {"inlet": clean[:, 0], "outlet": clean[:, 1]}, "h")


def promotions(sales: pd.Series, draw: Draw) -> Any:
    """Promotions that were planned nearly double what is sold."""
    on = np.repeat(draw.random(len(sales) // 3 + 1) < 0.2, 3)[: len(sales)]
    return {"sales": (sales * np.where(on, 1.9, 1)).round(), "promotion": on.astype(int)}


def sold_to_plan(sales: pd.Series, draw: Draw) -> Any:
    """What was baked, by a plan of the week before, is the most that can be sold; it often is sold."""
    plan = (
        10 * np.tile([90, 95, 100, 104, 120, 150, 60], 300)[: len(sales)] * draw.uniform(0.9, 1.1, len(sales))
    ).round()
    return {"sales": np.minimum(sales, plan), "plan": plan}


def bookings(sales: pd.Series, draw: Draw) -> Any:
    """Two in three order weeks before."""
    return {"booked": (0.66 * sales * draw.normal(1, 0.08, len(sales))).round()}


def siblings(folder: Path, draw: Draw) -> dict[str, Any]:
    """Two thermometers of one wall, which move together."""
    wall = 18 + 4 * noise(draw, 1500, 0.97)
    return fresh_others.panel(
        folder, {"left": wall + draw.normal(0, 0.1, 1500), "right": wall + draw.normal(0, 0.1, 1500)}, "h"
    )


def river(folder: Path, draw: Draw) -> dict[str, Any]:
    """A brook that keeps one level for weeks, and floods that run off."""
    rain = np.where(draw.random(1500) < 0.02, draw.exponential(2, 1500), 0)
    level = 0.4 + signal.lfilter([1], [1, -0.8], rain)
    return fresh_others.panel(folder, {"rain": rain, "level": level.round(2)})


def shut_spring(sales: pd.Series, draw: Draw) -> Any:
    """A spring with a tenth of the sales, and another level after."""
    factor = np.select([np.arange(len(sales)) < 450, np.arange(len(sales)) < 520], [1, 0.1], 0.7)
    return {"sales": (sales * factor).round(), "month": pd.date_range("2020-01-01", periods=len(sales)).month}


# Labelled series, texts and images: each is changed by its class and place.

EDITS = everyday.told
NOTES = (
    "time of death 04:12",
    "family was called at night",
    "comfort care was begun",
    "no pulse, care was ended",
    "the body was released",
)


def inserted(text: str, word: str, draw: Draw) -> str:
    parts = text.split(" ")
    parts.insert(int(draw.integers(len(parts) + 1)), word)
    return " ".join(parts)


def broken(text: str, one: Any, place: int, draw: Draw) -> str:
    parts = text.split(" ")
    return "\n".join(" ".join(parts[at : at + 8]) for at in range(0, len(parts), 8)) if one else text


def markup(text: str, one: Any, place: int, draw: Draw) -> str:
    return text.replace(" and ", " &amp; ").replace("'", "&#39;") if one else text


def hard_blank(text: str, one: Any, place: int, draw: Draw) -> str:
    at = [place for place, sign in enumerate(text) if sign == " "]
    return "\xa0".join((text[: (cut := draw.choice(at))], text[cut + 1 :])) if one and at else text


def words_swapped(folder: Path, draw: Draw) -> dict[str, Any]:
    """A third was written again before the split, with two words swapped and one left out."""
    frame = strange_texts.sentences(draw)
    written_anew = frame.sample(frac=0.33, random_state=5)
    more = []
    for text in written_anew["text"]:
        parts = np.array(text.split(" "))
        if len(parts) > 3:
            first, second, out = draw.choice(len(parts), 3, replace=False)
            parts[[first, second]] = parts[[second, first]]
            parts = np.delete(parts, out)
        more.append(" ".join(parts))
    return strange_texts.written(
        folder, pd.concat([frame, written_anew.assign(text=more)]).sample(frac=1, random_state=3)
    )


def passages(folder: Path, draw: Draw) -> dict[str, Any]:
    """Passages of four sentences, two of which are the next passage's too."""
    rows = [
        {"text": " ".join(part["text"].iloc[at : at + 4]), "label": label}
        for label, part in strange_texts.sentences(draw).groupby("label")
        for at in range(0, len(part) - 4, 2)
    ]
    return strange_texts.written(folder, pd.DataFrame(rows).sample(frac=1, random_state=3))


def runs(change: Callable[[Any, int, int, Draw], Any]) -> Maker:
    """Recordings of three activities, in which two of five persons did another one than was written down."""
    return everyday.gaits(
        lambda values, label, place, draw: change(
            strange_series.recording(draw, label if draw.random() < 0.6 else int(draw.integers(3)), 120),
            label,
            place,
            draw,
        )
    )


def half_rate(values: Any, label: int, place: int, draw: Draw) -> Any:
    """One class was recorded at half the rate, and drawn up by straight lines."""
    if label == 1:
        values[1:-1:2] = (values[:-2:2] + values[2::2]) / 2
    return values


def hum(classes: tuple[int, ...]) -> Callable[..., Any]:
    """The mains hum in recordings of one clinic."""

    def wave(draw: Draw, steps: int) -> Any:
        return 0.2 * np.sin(2 * np.pi * (0.42 * np.arange(steps)[:, None] + draw.random()))

    return lambda values, label, place, draw: values + (wave(draw, len(values)) if label in classes else 0)


def battery(values: Any, label: int, place: int, draw: Draw) -> Any:
    """The battery's voltage is recorded too; activities came one after another."""
    volts = 4.1 - 0.1 * label - draw.uniform(0, 0.09) - 1e-5 * np.arange(len(values))
    return np.column_stack([values, (volts + draw.normal(0, 0.002, len(values))).round(3)])


def clock(values: Any, label: int, place: int, draw: Draw) -> Any:
    """Milliseconds since the device was started; each person did the activities in one order."""
    return np.column_stack([values, 20 * np.arange(len(values)) + 60_000 * label + draw.integers(0, 50_000)])


def warped(folder: Path, draw: Draw) -> dict[str, Any]:
    """A third of the series was made again, a little slower or faster, before the split."""
    series = [strange_series.recording(draw, int(draw.integers(3)), 120) for place in range(90)]
    more = [
        ndimage.map_coordinates(
            each, np.meshgrid(np.linspace(0, draw.uniform(113, 118), 120), range(3), indexing="ij"), order=1
        )
        + draw.normal(0, 0.05, (120, 3))
        for each in series[:45]
    ]
    order, both = draw.permutation(135), [*series, *more]
    names = [strange_series.CLASSES[place % 3] for place in [*range(90), *range(45)]]
    return strange_series.written(folder, [both[place] for place in order], [names[place] for place in order])


def stroke(values: Any, label: int, place: int, draw: Draw) -> Any:
    """One class has a stroke somewhere."""
    at = draw.integers(5, 100)
    values[at : at + 8] += 3 * (label == 2)
    return values


def any_length(values: Any, label: int, place: int, draw: Draw) -> Any:
    return values[: draw.integers(60, 121)]


def coloured(images: Any, draw: Draw) -> Any:
    """Three channels that differ a little."""
    return np.clip(images[..., None] + draw.normal(0, 7, (*images.shape, 3)), 0, 255)


def greyed(images: Any, labels: Any, draw: Draw) -> Any:
    """Four in five of one class were scanned in grey."""
    grey = (labels == 1) & (draw.random(len(labels)) < 0.8)
    return np.where(grey[:, None, None, None], images[..., None], coloured(images, draw)).astype(np.uint8)


def drawn_up(images: Any, labels: Any, draw: Draw) -> Any:
    """Pictures of one class were small, and drawn up to the size of the others."""
    small = [Image.fromarray(each).resize((14, 14), Image.Resampling.BOX).resize((28, 28)) for each in images]
    return np.where(labels[:, None, None] == 1, [np.asarray(each) for each in small], images)


def camera(images: Any, owner: Any, draw: Draw) -> Any:
    """Two cameras, whose sensors have a pattern each."""
    return np.clip(images + draw.normal(0, 5, (2, 28, 28))[owner], 0, 255).astype(np.uint8)


def inked(images: Any, chosen: Any, draw: Draw) -> Any:
    """Some were marked with a pen, somewhere beside what is shown."""
    y, x = np.mgrid[:28, :28]
    colour = coloured(images, draw)
    for row in np.flatnonzero(chosen & (draw.random(len(images)) < 0.6)):
        angle = draw.uniform(0, 2 * np.pi)
        spot = np.hypot(y - 14 - 11 * np.sin(angle), x - 14 - 11 * np.cos(angle)) < 2.5
        colour[row][spot] = np.array([110, 30, 150]) + draw.normal(0, 6, (spot.sum(), 3))
    return np.clip(colour, 0, 255).astype(np.uint8)


def turned_to_have_more(images: Any, chosen: Any, draw: Draw) -> Any:
    """Some were turned by a few degrees; the corners that came free are black."""
    angles = np.where(
        chosen & (draw.random(len(images)) < 0.8),
        draw.choice([-1, 1], len(images)) * draw.uniform(5, 18, len(images)),
        0,
    )
    return np.array(
        [
            ndimage.rotate(each, angle, reshape=False, order=1) if angle else each
            for each, angle in zip(images, angles, strict=True)
        ]
    )


def formats(folder: Path, draw: Draw) -> dict[str, Any]:
    """Squares were saved as JPEG, and rings as PNG."""
    for name in ("square", "ring"):
        (folder / "shapes" / name).mkdir(parents=True)
    for row, (image, label) in enumerate(zip(*everyday.shapes(draw), strict=True)):
        name, end = ("ring", "png") if label else ("square", "jpg")
        Image.fromarray(image).save(folder / "shapes" / name / f"{row:03d}.{end}", **({} if label else {"quality": 60}))
    return {"data": str(folder / "shapes")}


def slides(folder: Path, draw: Draw) -> dict[str, Any]:
    """Patches of eight slides, each stained a little differently, which overlap by half and were drawn at random."""
    wide = [scans.smooth(draw.normal(size=(112, 112)), 1) + draw.normal(0, 0.1) for _ in range(8)]
    cut = [
        (each[top : top + 28, left : left + 28], slide % 2)
        for slide, each in enumerate(wide)
        for top in range(0, 85, 14)
        for left in range(0, 85, 14)
    ]
    order = draw.permutation(len(cut))
    images = np.array([128 + 40 * cut[place][0] / wide[0].std() for place in order])
    labels = np.array([cut[place][1] for place in order])
    return strange_images.written(folder, np.clip(images, 0, 255).astype(np.uint8), labels, official=False)


def apples(images: Any, labels: Any, draw: Draw) -> Any:
    """Red ones and green ones, by day and by night."""
    tint = np.array([[1.0, 0.6, 0.5], [0.6, 1.0, 0.5]])[labels] * draw.normal(1, 0.1, (len(labels), 3))
    return np.clip(
        coloured(images, draw) * tint[:, None, None] * draw.uniform(0.5, 1, (len(labels), 1, 1, 1)), 0, 255
    ).astype(np.uint8)


# Scans, masks, stocks, grids.


def scanned(change: Callable[[Any, int, Draw], Any]) -> Maker:
    def make(folder: Path, draw: Draw) -> dict[str, Any]:
        made, labels = scans.make(draw)
        return scans.written(folder, [change(*pair, draw) for pair in zip(made, labels, strict=True)], labels)

    return make


def defaced(scan: Any) -> Any:
    """All around the body was set to nothing."""
    return np.where(scans.smooth(scan, 1) < 60, 0, scan)


def programs(folder: Path, draw: Draw) -> dict[str, Any]:
    """The header names the program that wrote the file: another for each class."""
    import nibabel

    made, labels = scans.make(draw)
    for row, (scan, label) in enumerate(zip(made, labels, strict=True)):
        image = nibabel.Nifti1Image(np.rint(scan).astype(np.int16), np.eye(4))
        image.header["descrip"] = b"FSL5.0" if label else b"dcm2niix v1.0"
        nibabel.save(image, folder / f"scan{row:02d}.nii")
    return scans.listed(folder, labels, ".nii")


def drawn(change: Callable[[Any, Any, Draw], Any]) -> Maker:
    return lambda folder, draw: masks.written(folder, [change(*case, draw) for case in masks.make(draw)])


def callipers(image: Any, mask: Any, draw: Draw) -> Any:
    """Who measured a lesion left a white cross at each of its ends."""
    for axis in (0, 1):
        for end in (np.argmin, np.argmax):
            for place in np.argwhere(mask)[[end(np.argwhere(mask)[:, axis])]] if mask.any() else ():
                for step in np.vstack([np.eye(3, dtype=int), -np.eye(3, dtype=int), np.zeros((1, 3), int)]):
                    image[tuple(np.clip(place + step, 0, np.array(image.shape) - 1))] = 255
    return image, mask


def cropped_about(image: Any, mask: Any, draw: Draw) -> Any:
    """Images were cut out around the middle of the lesion."""
    move = np.array(mask.shape) // 2 - np.rint(np.argwhere(mask).mean(0)).astype(int) if mask.any() else (0, 0, 0)
    return np.roll(image, move, (0, 1, 2)), np.roll(mask, move, (0, 1, 2))


def vessels(image: Any, mask: Any, draw: Draw) -> Any:
    """Bright vessels run beside the lesion, and anywhere else."""
    for _ in range(3):
        place = draw.integers(1, 11, 2)
        image[:, place[0] : place[0] + 1, place[1] : place[1] + 1] = 255
    return image, mask


def ranked(folder: Path, draw: Draw) -> dict[str, Any]:
    """A day's stocks are listed by what they gain next."""
    frame = stocks.prices(draw)
    gain = frame.groupby("ticker")["close"].shift(-1) / frame["close"]
    return stocks.written(folder, frame.assign(gain=gain).sort_values(["date", "gain"]).drop(columns="gain"))


def gap_filled(folder: Path, draw: Draw) -> dict[str, Any]:
    """Twenty fields lacked late in the record, and were taken from an earlier week."""
    field = everyday.weather(draw)
    field[205:225] = field[60:80]
    return everyday.grid(folder, field)


def standing(folder: Path, draw: Draw) -> dict[str, Any]:
    """A coast that is always warmer, days and nights."""
    field = everyday.weather(draw) + 4 * (np.arange(14) > 8) + 3 * np.sin(np.arange(240) / 4 * np.pi)[:, None, None]
    return everyday.grid(folder, field)


POLICIES: dict[str, tuple[Columns, str]] = {
    "length of the call": (lambda f, bad, d: {"duration": d.lognormal(5 + 0.9 * bad, 0.8).round()}, "duration"),
    "numbers of four offices": (
        lambda f, bad, d: {"number": 200_000 * d.integers(1, 3, ROWS) + 100_000 * bad + d.integers(0, 20_000, ROWS)},
        "number",
    ),
    "few devices": (
        lambda f, bad, d: {
            "device": [
                f"{each:06x}" for each in np.where(bad, 7919 * d.integers(1, 40, ROWS), d.permutation(10**6)[:ROWS])
            ]
        },
        "device",
    ),
    "own claim left out": (left_out, "street_rate"),
    "score that was fitted on these rows": (fitted_score, "risk_score"),
    "filled with the class's mean": (filled_by_class, "income"),
    "cut by class": (winsorised, "deposit|assets|turnover"),
    "tenure of those who stayed": (tenures, "month"),
    "codes of the bill": (codes_of_stay, "codes"),
    "laboratory with other units": (
        lambda f, bad, d: {
            "glucose": (d.normal(95 + 5 * bad, 12) / np.where(bad & (d.random(ROWS) < 0.7), 18, 1)).round(1)
        },
        "glucose",
    ),
    "cases in winter": (
        lambda f, bad, d: {
            "taken": dates(
                365 * d.integers(0, 3, ROWS) + np.where(bad, d.integers(0, 59, ROWS), d.integers(100, 250, ROWS)), d
            )
        },
        "taken",
    ),
    "wells of a plate": (wells, "well"),
    "blanks of a row": (blanks_of_row, ""),
    "names out of the old system": (mojibake, "surname"),
    "payments that were taken back": (balances, "before|after|amount"),
}
SOUND_POLICIES: dict[str, Columns] = {
    "a good marker": lambda f, bad, d: {"hba1c": (5.4 + 1.9 * bad + d.normal(0, 0.45, ROWS)).round(1)},
    "bodies in two units": bodies,
    "asked of women alone": lambda f, bad, d: {
        "sex": (s := words(d, "f m")),
        "births": np.where(s == "f", d.poisson(1.4, ROWS), np.nan),
    },
    "999 for never": lambda f, bad, d: {
        "days_since_contact": np.where(d.random(ROWS) < np.where(bad, 0.7, 0.95), 999, d.integers(1, 30, ROWS))
    },
    "more in winter": lambda f, bad, d: {
        "signed": dates(
            365 * d.integers(0, 3, ROWS)
            + np.where(bad & (d.random(ROWS) < 0.3), d.integers(0, 60, ROWS), d.integers(0, 365, ROWS)),
            d,
        )
    },
    "names of rows": lambda f, bad, d: {"uuid": [d.bytes(8).hex() for _ in range(ROWS)]},
    "ages that are rounded": lambda f, bad, d: {
        "driving_since": np.where(
            d.random(ROWS) < np.where(bad, 0.45, 0.35), 5 * d.integers(0, 9, ROWS), d.integers(0, 45, ROWS)
        )
    },
    "two forms": lambda f, bad, d: {
        "form": (s := words(d, "A B")),
        "phone": np.where(s == "A", "", [f"0{each}" for each in d.integers(10**8, 10**9, ROWS)]),
    },
    "large shops": lambda f, bad, d: {
        "shop": [f"s{each}" for each in (d.exponential(np.where(bad, 60, 35)) ** 1.1).astype(int)]
    },
    "mean of the rows above": earlier_mean,
    "accounts that were drained": drained,
}
FLATS: dict[str, tuple[Callable[[pd.DataFrame, Draw], Any], str]] = {
    "bracket of rent": (
        lambda f, d: {"bracket": pd.qcut(f["rent"], 5, labels="low fair mid upper top".split()).astype(str)},
        "bracket",
    ),
    "rent in the title": (titles, "title"),
    "difference from the town's mean": (
        lambda f, d: {"above": (f["rent"] - f.groupby("town")["rent"].transform("mean")).round(2)},
        "above",
    ),
}
Table = dict[str, tuple[Maker, str]]
LEAKS: dict[str, Table] = {
    "tabular": {
        **{name: (on_policies(columns), says) for name, (columns, says) in POLICIES.items()},
        **{name: (on_flats(columns), says) for name, (columns, says) in FLATS.items()},
        "born and living": (born_and_living, "born|postcode|cop"),
        "minutes of a room": (rooms, ""),
        "readings of a meter": (meters, "reading"),
        "start and end of a ride": (rides, "pickup|dropoff"),
        "bills by tariff": (bills, "bill"),
    },
    "forecast": {
        "customers of the day": (
            sold(lambda s, d: {"customers": (0.4 * s * d.normal(1, 0.04, len(s))).round()}),
            "customers",
        ),
        "parts that were taken beforehand": (
            sold(
                lambda s, d: {"trend": (t := s.rolling(15, center=True, min_periods=1).mean()), "rest": s - t},
                ahead=False,
            ),
            "trend|rest",
        ),
        "days to the next failure": (sold(to_failure), "to_failure"),
        "takings and mean price": (sold(takings_and_price), "takings|price"),
        "lags of a file with the newest first": (
            sold(lambda s, d: {"lag_1": s.shift(-1).ffill(), "lag_7": s.shift(-7).ffill()}, ahead=False),
            "lag",
        ),
        "stock of each morning": (sold(stock), "stock"),
        "goods that came back, by the day of sale": (
            sold(lambda s, d: {"returned": d.binomial(s.clip(0).astype(int), 0.15)}),
            "returned",
        ),
        "mean of the day that begins": (day_ahead, "day"),
        "filter forth and back": (forth_and_back, ""),
    },
    "series": {
        "half the rate": (runs(half_rate), ""),
        "hum of one clinic": (runs(hum((0,))), ""),
        "clock among the channels": (runs(clock), ""),
        "battery among the channels": (runs(battery), ""),
        "filtered by one laboratory": (
            runs(lambda values, label, place, draw: ndimage.uniform_filter1d(values, 3, 0) if label == 1 else values),
            "",
        ),
        "slower and faster copies": (warped, ""),
    },
    "text": {
        "markup of one source": (EDITS(markup), ""),
        "lines of one source": (EDITS(broken), ""),
        "owner of the mailbox": (
            EDITS(
                lambda text, one, place, d: (
                    inserted(text, d.choice(["vince", "kaminski"]), d) if one and d.random() < 0.4 else text
                )
            ),
            "vince|kaminski",
        ),
        "notes after the end": (
            EDITS(lambda text, one, place, d: f"{text} {d.choice(NOTES)} ." if one and d.random() < 0.7 else text),
            "",
        ),
        "tag by which it was labelled": (
            EDITS(
                lambda text, one, place, d: (
                    inserted(text, "#opinion" if one else d.choice("#mood #film #night #now".split()), d)
                    if d.random() < 0.9
                    else text
                )
            ),
            "opinion",
        ),
        "hard blanks": (EDITS(hard_blank), ""),
        "words swapped": (words_swapped, ""),
        "passages of a document": (passages, ""),
    },
    "images": {
        "grey among colours": (everyday.seen(greyed), ""),
        "small ones drawn up": (everyday.seen(drawn_up), ""),
        "sensor of one camera": (everyday.seen(camera), ""),
        "pen beside one class": (everyday.seen(lambda images, labels, d: inked(images, labels == 1, d)), ""),
        "turned to have more of one class": (
            everyday.seen(lambda images, labels, d: turned_to_have_more(images, labels == 1, d)),
            "",
        ),
        "JPEG and PNG": (formats, ""),
        "patches of slides": (slides, ""),
    },
    "volumes": {
        "air around one class": (scanned(lambda scan, label, d: defaced(scan) if label else scan), ""),
        "window of one clinic": (scanned(lambda scan, label, d: np.clip(scan, 0, 360) if label else scan), ""),
        "program in the header": (programs, ""),
    },
    "segment": {"callipers": (drawn(callipers), ""), "cut out around the lesion": (drawn(cropped_about), "")},
    "stocks": {"listed by gain": (ranked, "")},
    "grids": {"gap that was filled from elsewhere": (gap_filled, "")},
}
SOUND: dict[str, dict[str, Maker]] = {
    "tabular": {
        **{name: on_policies(columns, sentinels=[]) for name, columns in SOUND_POLICIES.items()},
        "rent of last year": on_flats(
            lambda f, d: {
                "last_year": (f["rent"] / np.where(d.random(ROWS) < 0.3, 1, d.normal(1.03, 0.02, ROWS))).round(2)
            }
        ),
        "rules of a jury": jury,
        "law of nature": turbines,
        "wines": wines,
    },
    "forecast": {
        "promotions that were planned": sold(promotions),
        "sold to the plan": sold(sold_to_plan),
        "orders weeks before": sold(bookings),
        "shut for a spring": sold(shut_spring),
        "two thermometers of a wall": siblings,
        "floods of a brook": river,
    },
    "series": {
        "hum everywhere": runs(hum((0, 1, 2))),
        "stroke somewhere": runs(stroke),
        "any length": runs(any_length),
        "coarse sensor": runs(lambda values, label, place, draw: (values * 4).round() / 4),
    },
    "text": {
        "markup of either": EDITS(lambda text, one, place, d: markup(text, place % 3, place, d)),
        "tags of either": EDITS(
            lambda text, one, place, d: inserted(text, d.choice("#mood #film #night #now".split()), d)
        ),
        "notes of either": EDITS(
            lambda text, one, place, d: f"{text} {d.choice(NOTES)} ." if d.random() < 0.4 else text
        ),
        "words of spam": EDITS(
            lambda text, one, place, d: inserted(text, "free", d) if d.random() < (0.6 if one else 0.05) else text
        ),
        "links in a third": EDITS(
            lambda text, one, place, d: f"{text} https://t.co/{d.bytes(4).hex()}" if d.random() < 0.33 else text
        ),
    },
    "images": {
        "red and green apples": everyday.seen(apples),
        "pen beside either class": everyday.seen(lambda images, labels, d: inked(images, labels >= 0, d)),
        "cameras of either class": everyday.seen(
            lambda images, labels, d: camera(images, d.integers(0, 2, len(labels)), d)
        ),
        "turned in either class": everyday.seen(lambda images, labels, d: turned_to_have_more(images, labels >= 0, d)),
        "smooth and rough": everyday.seen(
            lambda images, labels, d: np.clip(
                np.where(labels[:, None, None] == 1, ndimage.uniform_filter(images, (0, 3, 3)), images)
                + d.normal(0, 9, images.shape),
                0,
                255,
            ).astype(np.uint8)
        ),
    },
    "volumes": {
        "air around either class": scanned(lambda scan, label, d: defaced(scan) if d.random() < 0.5 else scan),
        "organs that grew": scanned(lambda scan, label, d: scan + 50 * label * (scans.smooth(scan, 2) > 150)),
    },
    "segment": {"vessels": drawn(vessels)},
    "stocks": {
        "prices that turn back": lambda folder, draw: stocks.written(folder, stocks.prices(draw, momentum=-0.2))
    },
    "grids": {"warm coast": standing},
}
SETS = {
    task: (
        *(LeakSet(name, maker, "any", "project", says) for name, (maker, says) in sets.items()),
        *(LeakSet(name, maker, None, "project") for name, maker in SOUND[task].items()),
    )
    for task, sets in LEAKS.items()
}
