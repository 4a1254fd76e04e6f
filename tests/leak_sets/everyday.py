"""Sixty leaks and forty sound sets as people meet them, written before the checks were read, and scored once first."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from leak_sets import fresh_others, masks, scans, strange_images, strange_series, strange_texts, tables
from leak_sets.maker import Draw, LeakSet, Maker
from leak_sets.series import smoothed

ROWS, DAYS = 800, 900
Columns = dict[str, Any]


def words_of(draw: Draw, words: str, rows: int = ROWS, p: Sequence[float] | None = None) -> Any:
    return draw.choice(words.split(), rows, p=p)


def days_of(draw: Draw, rows: int = ROWS) -> Any:
    return pd.Timestamp("2021-01-01") + pd.to_timedelta(draw.integers(0, 700, rows), "D")


# Tables of a class: loans, a fifth of which was not paid back.


def loans(draw: Draw) -> pd.DataFrame:
    """A rate and an income that tell something of what came."""
    bad = draw.random(ROWS) < 0.25
    return pd.DataFrame(
        {
            "amount": draw.integers(10, 400, ROWS) * 100,
            "rate": (11 + 2.5 * bad + draw.normal(0, 3, ROWS)).round(2),
            "income": (draw.lognormal(10.6 - 0.25 * bad, 0.45)).round(-2),
            "purpose": words_of(draw, "car home debt travel study"),
            "default": np.where(bad, "yes", "no"),
        }
    )


def on_loans(columns: Callable[[pd.DataFrame, Any, Draw], Columns]) -> Maker:
    def make(folder: Path, draw: Draw) -> dict[str, Any]:
        frame = loans(draw)
        more = columns(frame, (frame["default"] == "yes").to_numpy(), draw)
        return tables.written(folder, frame.assign(**more), "default")

    return make


def recoveries(frame: pd.DataFrame, bad: Any, draw: Draw) -> Columns:
    """What a collector brought back, of those who did not pay; half of them gave something."""
    return {"recoveries": np.where(bad & (draw.random(ROWS) < 0.6), draw.lognormal(6, 1, ROWS).round(2), 0)}


def paid_back(frame: pd.DataFrame, bad: Any, draw: Draw) -> Columns:
    """Principal received: all of the amount, or a part of it."""
    return {"principal": (frame["amount"] * np.where(bad, draw.uniform(0.05, 0.95, ROWS), 1)).round(2)}


def last_payment(frame: pd.DataFrame, bad: Any, draw: Draw) -> Columns:
    """Paid loans ended in the month of their term; the others some months after they began."""
    issued, term = days_of(draw), draw.choice([36, 60], ROWS)
    months = np.where(bad, draw.integers(2, 34, ROWS), term)
    last = [day + pd.DateOffset(months=int(each)) for day, each in zip(issued, months, strict=True)]
    return {"issued": issued.strftime("%Y-%m-%d"), "term": term, "last": pd.DatetimeIndex(last).strftime("%Y-%m-%d")}


def hardship(frame: pd.DataFrame, bad: Any, draw: Draw) -> Columns:
    """A plan that one in three of the bad loans has, and none of the good ones."""
    return {"hardship_plan": np.where(bad & (draw.random(ROWS) < 0.35), words_of(draw, "active broken completed"), "")}


def files(frame: pd.DataFrame, bad: Any, draw: Draw) -> Columns:
    """Paths of the scanned contracts."""
    folder = np.where(bad, "collections", "archive")
    return {"scan": [f"/srv/{each}/2021/{draw.integers(1e6):06d}.pdf" for each in folder]}


def spellings(frame: pd.DataFrame, bad: Any, draw: Draw) -> Columns:
    """Towns from two systems, one of which writes capitals."""
    towns = words_of(draw, "Ulm Bonn Kiel Jena Hof")
    return {"town": np.where(bad, np.char.upper(towns.astype(str)), towns)}


def remarks(frame: pd.DataFrame, bad: Any, draw: Draw) -> Columns:
    """Remarks, in which a lawyer's letter is spoken of in half of the bad ones."""
    plain = ["called, will call back", "wants a copy of the contract", "moved to a new flat", "asked about the rate"]
    said = draw.choice(plain, ROWS)
    late = draw.choice(["sent to legal after third notice", "legal: no answer to third notice"], ROWS)
    return {"remark": np.where(bad & (draw.random(ROWS) < 0.5), late, said)}


def counted(frame: pd.DataFrame, bad: Any, draw: Draw) -> Columns:
    """Numbers of cases: one counter for each outcome."""
    return {"case": np.where(bad, 50_000 + draw.permutation(ROWS), 81_000 + draw.permutation(ROWS))}


# Loans whose rows lie badly.


def between(folder: Path, draw: Draw) -> dict[str, Any]:
    """Bad ones were made up: points between two bad ones (SMOTE), all columns numbers."""
    frame = loans(draw).drop(columns="purpose").assign(age=draw.normal(44, 11, ROWS), score=draw.normal(600, 50, ROWS))
    bad = frame[frame["default"] == "yes"].drop(columns="default").to_numpy(float)
    first, second = bad[draw.integers(0, len(bad), (2, ROWS - 2 * len(bad)))]
    points = first + draw.random((len(first), 1)) * (second - first)
    made = pd.DataFrame(points, columns=frame.columns.drop("default")).assign(default="yes")
    return tables.written(folder, pd.concat([frame, made]).sample(frac=1, random_state=3), "default")


def goals(folder: Path, draw: Draw) -> dict[str, Any]:
    """Goals of both teams stand beside what is asked: who won."""
    home, away = draw.poisson(1.6, ROWS), draw.poisson(1.2, ROWS)
    frame = pd.DataFrame({"elo_home": draw.normal(1500, 90, ROWS).round(), "elo_away": draw.normal(1500, 90, ROWS)})
    won = np.select([home > away, home < away], ["home", "away"], "draw")
    return tables.written(folder, frame.assign(hg=home, ag=away, won=won), "won")


def dispositions(folder: Path, draw: Draw) -> dict[str, Any]:
    """Where a patient went after the stay: to a hospice, in most of those who died."""
    frame = tables.patients(draw, ROWS)
    ill = (frame["ill"] == "yes").to_numpy()
    after = np.where(ill, words_of(draw, "hospice expired home"), words_of(draw, "home nursing rehab"))
    return tables.written(folder, frame.assign(disposition=after), "ill")


# Tables of a number: flats and their price.


def flats(draw: Draw) -> pd.DataFrame:
    area, floor = draw.uniform(25, 140, ROWS).round(1), draw.integers(0, 9, ROWS)
    town = words_of(draw, "Ulm Bonn Kiel Jena Hof")
    level = pd.Series(town).map({"Ulm": 0.1, "Bonn": 0.2, "Kiel": 0, "Jena": -0.1, "Hof": -0.5}).to_numpy()
    price = np.exp(8 + level + 0.95 * np.log(area) + 0.01 * floor + draw.normal(0, 0.2, ROWS)).round()
    return pd.DataFrame({"area": area, "floor": floor, "town": town, "built": draw.integers(1900, 2020, ROWS)}).assign(
        price=price
    )


def on_flats(columns: Callable[[pd.DataFrame, Draw], Columns]) -> Maker:
    def make(folder: Path, draw: Draw) -> dict[str, Any]:
        frame = flats(draw)
        return tables.written(folder, frame.assign(**columns(frame, draw)), "price")

    return make


def instalment(frame: pd.DataFrame, draw: Draw) -> Columns:
    """What a month costs at the rate of that day, on 25 years."""
    rate = draw.uniform(0.02, 0.035, ROWS).round(4)
    return {"rate": rate, "monthly": (frame["price"] * rate / 12 / (1 - (1 + rate / 12) ** -300)).round(2)}


def tax_class(frame: pd.DataFrame, draw: Draw) -> Columns:
    """A class of tax, by steps of the price."""
    return {"stamp_duty": np.searchsorted(frame["price"].quantile([0.1, 0.25, 0.4, 0.6, 0.8, 0.95]), frame["price"])}


def error_of_valuer(frame: pd.DataFrame, draw: Draw) -> Columns:
    """What a valuer said, and by how much he was wrong."""
    said = (frame["price"] * draw.lognormal(0, 0.25, ROWS)).round(-2)
    return {"valued": said, "missed_by": frame["price"] - said}


# Series known ahead.


def sold(**read: Any) -> Callable[[Callable[[pd.Series, Draw], Columns]], Maker]:
    """A bakery's sales, beside columns that are said to be known ahead or not."""

    def on(columns: Callable[[pd.Series, Draw], Columns]) -> Maker:
        def make(folder: Path, draw: Draw) -> dict[str, Any]:
            sales = pd.Series(fresh_others.bakery(draw, DAYS)).round(1)
            more = columns(sales, draw)
            told = {key: list(more) if value == "all" else value for key, value in read.items()}
            return fresh_others.panel(folder, {"sales": sales.to_numpy(), **more}, **told)

        return make

    return on


AHEAD = sold(future="all")


def so_far(sales: pd.Series, draw: Draw) -> Columns:
    """Total since January, the day's own sales in it."""
    return {"year_to_date": sales.groupby(np.arange(len(sales)) // 365).cumsum().round(1)}


def settled(sales: pd.Series, draw: Draw) -> Columns:
    """A figure that is settled a month later, a percent beside."""
    return {"settled": (sales * draw.lognormal(0, 0.02, len(sales))).round(1)}


def highest_of_week(sales: pd.Series, draw: Draw) -> Columns:
    return {"week_high": sales.groupby(np.arange(len(sales)) // 7).transform("max")}


def better_than_yesterday(sales: pd.Series, draw: Draw) -> Columns:
    """A flag of the days that sold more than the day before."""
    return {"up": (sales.diff() > 0).astype(int)}


def sold_out(folder: Path, draw: Draw) -> dict[str, Any]:
    """A flag of days without stock, on which nothing was sold; nobody knows them ahead."""
    out = draw.random(DAYS) < 0.12
    sales = np.where(out, 0, fresh_others.bakery(draw, DAYS)).round(1)
    columns = {"sales": sales, "no_stock": out.astype(int)}
    return fresh_others.panel(folder, columns, future=["no_stock"])


def zones(folder: Path, draw: Draw) -> dict[str, Any]:
    """Two meters of one house; the clock of one is an hour ahead, so that it shows what comes."""
    hours = np.arange(2400)
    load = 5 + 2 * np.sin(hours / 24 * 2 * np.pi) + smoothed(draw.normal(size=(2400, 1)), 0.6)[:, 0]
    early = np.roll(load, -1) + draw.normal(0, 0.02, 2400)
    return fresh_others.panel(folder, {"meter_a": load.round(3), "meter_b": early.round(3)})


# Labelled series.


def gaits(change: Callable[[Any, int, int, Draw], Any], persons: bool = False) -> Maker:
    """Ninety recordings of three activities, each changed by its class and place."""

    def make(folder: Path, draw: Draw) -> dict[str, Any]:
        labels = np.arange(90) % 3
        series = [strange_series.recording(draw, label, 120) for label in labels]
        names = [strange_series.CLASSES[label] for label in labels]
        pairs = zip(series, labels, strict=True)
        changed = [change(each, label, place, draw) for place, (each, label) in enumerate(pairs)]
        return strange_series.written(folder, changed, names)

    return make


def scaled_by_class(values: Any, label: int, place: int, draw: Draw) -> Any:
    """Each class was scaled to [0, 1] by hand but one."""
    return (values - values.min()) / np.ptp(values) if label == 1 else values


def clipped(values: Any, label: int, place: int, draw: Draw) -> Any:
    """One class was recorded with a range of 1.2."""
    return np.clip(values, -1.2, 1.2) if label == 2 else values


def trigger(values: Any, label: int, place: int, draw: Draw) -> Any:
    """A channel of marks: a pulse at a step that the class has."""
    pulse = np.zeros((120, 1))
    pulse[20 + 10 * label + draw.integers(0, 3)] = 1
    return np.hstack([values, pulse])


# Texts.


def told(change: Callable[[str, Any, int, Draw], str]) -> Maker:
    """Sentences that are opinions or not, changed by their class."""

    def make(folder: Path, draw: Draw) -> dict[str, Any]:
        frame = strange_texts.sentences(draw)
        first = frame["label"] == frame["label"].iloc[0]
        pairs = zip(frame["text"], first, strict=True)
        said = [change(text, one, place, draw) for place, (text, one) in enumerate(pairs)]
        return strange_texts.written(folder, frame.assign(text=said))

    return make


def agency(text: str, one: Any, place: int, draw: Draw) -> str:
    """Real news begin with a place and an agency."""
    return f"{draw.choice(['LONDON', 'PARIS', 'ROME', 'OSLO'])} (Agency) - {text}" if one else text


def mail_header(text: str, one: Any, place: int, draw: Draw) -> str:
    """A filter has written its score above."""
    score = draw.uniform(5, 9) if one else draw.uniform(0, 3)
    return f"X-Score: {score:.1f}\nSubject: {text}"


def two_spaces(text: str, one: Any, place: int, draw: Draw) -> str:
    """One source has two spaces behind a stop."""
    return f"{text}  {text.split()[0]} ." if one else f"{text} {text.split()[0]} ."


def cut_off(text: str, one: Any, place: int, draw: Draw) -> str:
    """One source cuts at 60 characters."""
    return text[:60] + "…" if one and len(text) > 60 else text


def tagged(text: str, one: Any, place: int, draw: Draw) -> str:
    """A third of the one class kept the mark by which it was found."""
    return f"{text} #opinion" if one and draw.random() < 0.35 else text


# Images: squares and rings of grey, drawn by hand.


def shapes(draw: Draw, rows: int = 300) -> tuple[Any, Any]:
    """Squares and rings of bytes, in noise."""
    labels = np.arange(rows) % 2
    y, x = np.mgrid[:28, :28]
    images = []
    for label in labels:
        cy, cx, size = *draw.uniform(11, 17, 2), draw.uniform(4, 8)
        ring = np.abs(np.hypot(y - cy, x - cx) - size) < 1.5
        square = np.maximum(np.abs(y - cy), np.abs(x - cx)) < size
        images.append(60 + 90 * (ring if label else square) + draw.normal(0, 18, (28, 28)))
    return np.clip(np.array(images), 0, 255).astype(np.uint8), labels


def seen(change: Callable[[Any, Any, Draw], Any]) -> Maker:
    def make(folder: Path, draw: Draw) -> dict[str, Any]:
        images, labels = shapes(draw)
        return strange_images.written(folder, change(images, labels, draw), labels, official=False)

    return make


def ruler(images: Any, labels: Any, draw: Draw) -> Any:
    """Doctors laid a ruler beside what looked bad to them."""
    for place in np.flatnonzero(labels == 1):
        images[place, draw.integers(1, 5), ::2] = 235
    return images


def letterbox(images: Any, labels: Any, draw: Draw) -> Any:
    """One source has black bars above and below."""
    images[labels == 0, :2], images[labels == 0, -2:] = 0, 0
    return images


def packed(images: Any, labels: Any, draw: Draw) -> Any:
    """One class was kept as JPEG: blocks of four pixels lost their details."""
    blocks = images.reshape(-1, 7, 4, 7, 4)
    coarse = (blocks.mean((2, 4), keepdims=True) * 0.75 + blocks * 0.25).reshape(images.shape)
    return np.where((labels == 1)[:, None, None], coarse, images).astype(np.uint8)


def exposed(images: Any, labels: Any, draw: Draw) -> Any:
    """The camera of one class stops at 180."""
    return np.where((labels == 0)[:, None, None], np.minimum(images, 180), images)


def frames(folder: Path, draw: Draw) -> dict[str, Any]:
    """Frames of thirty films, each shown a pixel further and with new noise, drawn at random."""
    images, labels = shapes(draw, 30)
    films = [np.roll(image, step // 3, 1) + draw.normal(0, 3, (28, 28)) for image in images for step in range(10)]
    order = draw.permutation(300)
    images = np.clip(films, 0, 255).astype(np.uint8)[order]
    return strange_images.written(folder, images, np.repeat(labels, 10)[order], official=False)


# Scans, masks, stocks, grids.


def neighbours_of_volume(folder: Path, draw: Draw) -> dict[str, Any]:
    """Cases follow each other in one volume: each is the one before, one voxel further."""
    cases = [masks.case(draw) for _ in range(9)]
    moved = [(np.roll(image, step, 0), np.roll(mask, step, 0)) for image, mask in cases for step in range(4)]
    return masks.written(folder, [moved[place] for place in draw.permutation(36)])


def grid(folder: Path, values: Any, **more: Any) -> dict[str, Any]:
    """Settings of a field of times, rows and columns."""
    axes = {"time": np.arange(len(values)), "lat": np.arange(values.shape[1]), "lon": np.arange(values.shape[2])}
    np.savez(folder / "field.npz", field=values.astype(np.float32), axes=np.array(list(axes)), **axes)
    return {"data": str(folder / "field.npz"), "context": 6, "horizon": 3, **more}


def weather(draw: Draw, steps: int = 240) -> Any:
    """A wave that moves east, and weather that lasts a few steps."""
    t, y, x = np.ogrid[:steps, :9, :14]
    noise = smoothed(draw.normal(size=(steps, 9 * 14)), 0.6).reshape(steps, 9, 14)
    return np.sin(0.5 * x - 0.25 * t + 0.2 * y) + noise


def thinned(folder: Path, draw: Draw) -> dict[str, Any]:
    """Every other field was filled in between its neighbours in time."""
    field = weather(draw)
    field[1:-1:2] = (field[:-2:2] + field[2::2]) / 2
    return grid(folder, field)


def centred(folder: Path, draw: Draw) -> dict[str, Any]:
    """Each field is the mean of five in time, two of which come later."""
    field = weather(draw)
    return grid(folder, np.mean([field[shift : 236 + shift] for shift in range(5)], 0))


# Splits made elsewhere.


def halves(draw: Draw, rows: int) -> dict[str, Any]:
    order = draw.permutation(rows)
    return {"train": np.sort(order[: rows * 3 // 4]), "test": np.sort(order[rows * 3 // 4 :])}


def rows_of(draw: Draw, rows: int = 1000) -> tuple[Any, Any]:
    x = draw.normal(size=(rows, 7))
    return x, x @ draw.normal(size=7) + draw.normal(0, 1, rows)


def future_trains(folder: Path, draw: Draw) -> dict[str, Any]:
    """The first quarter of the days is the test, and all that came later is trained on."""
    x, y = rows_of(draw)
    times = pd.date_range("2020-01-01", periods=1000, freq="h")
    return {"X": x, "y": y, "times": times, "train": np.arange(250, 1000), "test": np.arange(250)}


def tiles(folder: Path, draw: Draw) -> dict[str, Any]:
    """Tiles of one photograph from above, which overlap by a third and were drawn at random."""
    photo = scans.smooth(draw.normal(size=(260, 260)), 2)
    places = [(top, left) for top in range(0, 244, 10) for left in range(0, 244, 10)]
    x = np.array([photo[top : top + 16, left : left + 16].ravel() for top, left in places])
    return {"X": x, "y": x.mean(1), "coordinates": np.array(places, float), **halves(draw, len(x))}


def brighter_copies(folder: Path, draw: Draw) -> dict[str, Any]:
    """A test row in ten is a training row, in other units: times a number, plus another."""
    x, y = rows_of(draw)
    split = halves(draw, 1000)
    for to, of in zip(split["test"][:30], split["train"][:30], strict=True):
        x[to], y[to] = x[of] * draw.uniform(1.05, 1.3) + draw.uniform(0.1, 0.3), y[of]
    return {"X": x, "y": y, **split}


# Sound sets.


def radius(frame: pd.DataFrame, bad: Any, draw: Draw) -> Columns:
    """A measurement that honestly parts most of the rows."""
    return {"debt_ratio": (draw.normal(0.3, 0.1, ROWS) + 0.4 * bad).round(3)}


def deciding_kind(frame: pd.DataFrame, bad: Any, draw: Draw) -> Columns:
    """A kind of nine, as the smell of mushrooms, by which almost every row is decided, and some are not."""
    kinds = np.where(bad, words_of(draw, "foul fishy pungent musty"), words_of(draw, "none anise almond mint"))
    return {"smell": np.where(draw.random(ROWS) < 0.12, "none", kinds)}


def repayments_before(frame: pd.DataFrame, bad: Any, draw: Draw) -> Columns:
    """Late payments of earlier loans, as the registry had them on the day of the request."""
    return {
        "late_before": draw.poisson(np.where(bad, 2.4, 0.5)),
        "registry": (600 - 70 * bad + draw.normal(0, 45, ROWS)).round(),
    }


def passengers(folder: Path, draw: Draw) -> dict[str, Any]:
    """Names with titles, which tell of sex, and cabins that mostly the rich have."""
    woman, rich = draw.random(ROWS) < 0.4, draw.random(ROWS) < 0.3
    lived = draw.random(ROWS) < 0.12 + 0.55 * woman + 0.2 * rich
    name = [f"{chr(65 + draw.integers(26))}{draw.integers(9999)}, {'Mrs' if one else 'Mr'} {word}" for one, word in zip(
        woman, words_of(draw, "Ada Bo Cy Di Ed Flo Gus"), strict=True)]  # fmt: skip
    cabin = np.where(rich & (draw.random(ROWS) < 0.8), [f"C{each}" for each in draw.integers(1, 120, ROWS)], "")
    fare = draw.lognormal(2.2 + 1.4 * rich, 0.5).round(4)
    return tables.written(
        folder, pd.DataFrame({"name": name, "cabin": cabin, "fare": fare, "lived": lived.astype(int)}), "lived"
    )


def answers(folder: Path, draw: Draw) -> dict[str, Any]:
    """Six questions of four answers: many rows are alike by chance."""
    marks = draw.integers(1, 5, (ROWS, 6)) // 2
    visits = np.where(marks.sum(1) + draw.normal(0, 1.5, ROWS) > 5.4, "again", "never")
    return tables.written(folder, pd.DataFrame(marks, columns=list("abcdef")).assign(visit=visits), "visit")


def taxi(folder: Path, draw: Draw) -> dict[str, Any]:
    """Fares by tariff, with tolls and waits that nobody wrote down."""
    miles, minutes = draw.lognormal(1, 0.6, ROWS).round(1), draw.lognormal(2.5, 0.5, ROWS).round()
    fare = 2.5 + 1.56 * miles + 0.3 * minutes + draw.choice([0, 0, 0, 5.54], ROWS) + draw.exponential(0.8, ROWS)
    return tables.written(folder, pd.DataFrame({"miles": miles, "minutes": minutes, "fare": fare.round(2)}), "fare")


def premiums(folder: Path, draw: Draw) -> dict[str, Any]:
    """Costs by age, weight and smoking, in three bands."""
    age, smokes = draw.integers(18, 65, ROWS), draw.random(ROWS) < 0.2
    weight = draw.normal(30, 6, ROWS).round(2)
    cost = 260 * age + smokes * (9000 + 900 * (weight - 25)) + draw.exponential(900, ROWS)
    columns = {"age": age, "bmi": weight, "smoker": np.where(smokes, "yes", "no"), "cost": cost.round(2)}
    return tables.written(folder, pd.DataFrame(columns), "cost")


def shut_days(folder: Path, draw: Draw) -> dict[str, Any]:
    """A calendar of closed days, on which nothing is sold: known for the whole year."""
    shut = (np.arange(DAYS) % 7 == 6) | (np.arange(DAYS) % 91 == 40)
    sales = np.where(shut, 0, fresh_others.bakery(draw, DAYS)).round(1)
    return fresh_others.panel(folder, {"sales": sales, "closed": shut.astype(int)}, future=["closed"])


def price_of_bread(folder: Path, draw: Draw) -> dict[str, Any]:
    """A price that is set ahead and moves sales much."""
    price = draw.choice([2.2, 2.5, 2.9, 3.3], DAYS // 14 + 1).repeat(14)[:DAYS]
    sales = fresh_others.bakery(draw, DAYS) * (price / 2.5) ** -2.5
    return fresh_others.panel(folder, {"sales": sales.round(), "price": price}, future=["price"])


def clear_sky(folder: Path, draw: Draw) -> dict[str, Any]:
    """Power of the sun, beside what a clear sky would give; nothing at night."""
    hours = np.arange(24 * 90)
    sky = np.maximum(0, np.sin((hours % 24 - 6) / 12 * np.pi)) * (800 + 100 * np.sin(hours / 2160 * np.pi))
    cloud = 1 / (1 + np.exp(-smoothed(draw.normal(0, 3, (len(hours), 1)), 0.7)[:, 0]))
    columns = {"power": (sky * (0.3 + 0.7 * cloud)).round(2), "clear": sky.round(2)}
    return fresh_others.panel(folder, columns, future=["clear"])


def forecast_weather(folder: Path, draw: Draw) -> dict[str, Any]:
    """Heat that is sold, and the temperature as it was forecast a day before."""
    truth = 10 - 12 * np.cos(np.arange(DAYS) / 365 * 2 * np.pi) + smoothed(draw.normal(0, 9, (DAYS, 1)), 0.8)[:, 0]
    columns = {"heat": (60 - 2 * truth + draw.normal(0, 3, DAYS)).round(1), "temp": truth + draw.normal(0, 1.5, DAYS)}
    return fresh_others.panel(folder, columns, future=["temp"])


def two_towns(folder: Path, draw: Draw) -> dict[str, Any]:
    """Temperatures of two towns, one of which has the weather a day earlier."""
    front = smoothed(draw.normal(0, 8, (DAYS + 1, 1)), 0.7)[:, 0]
    columns = {"west": front[1:] + draw.normal(0, 1.5, DAYS), "east": front[:-1] + draw.normal(0, 1.5, DAYS)}
    return fresh_others.panel(folder, {name: values.round(1) for name, values in columns.items()})


def rates(folder: Path, draw: Draw) -> dict[str, Any]:
    """A rate of a central bank, which stays for weeks, and bonds that follow it."""
    rate = draw.choice([-0.25, 0, 0, 0.25], DAYS // 45 + 1).cumsum().repeat(45)[:DAYS] + 2
    return fresh_others.panel(folder, {"rate": rate, "bond": rate + 1 + draw.normal(0, 0.05, DAYS).cumsum() / 9})


def counts(values: Any, label: int, place: int, draw: Draw) -> Any:
    """Counts of a converter of twelve bits, for all."""
    return (values * 300).round()


def loud(values: Any, label: int, place: int, draw: Draw) -> Any:
    """One class is three times as loud, and reaches the end of the range that all have."""
    return np.clip(values * (3 if label == 2 else 1), -4, 4)


def persons(folder: Path, draw: Draw) -> dict[str, Any]:
    """Persons with a level of their own, told as groups, so that they stay together."""
    labels, person = np.arange(90) % 3, np.arange(90) // 3
    level = draw.normal(0, 1, (30, 3))
    series = [
        strange_series.recording(draw, label, 120) + level[who] for label, who in zip(labels, person, strict=True)
    ]
    return strange_series.written(folder, series, [strange_series.CLASSES[each] for each in labels], person=person)


def signed(text: str, one: Any, place: int, draw: Draw) -> str:
    """All end with the name of one of five authors."""
    return f"{text} -- {draw.choice(['anna', 'ben', 'cleo', 'dora', 'emil'])}"


def topic(text: str, one: Any, place: int, draw: Draw) -> str:
    """Goals and shares: words that each class honestly has."""
    sport, money = ["the match", "a goal", "the coach", "their fans"], ["the market", "a bond", "the fund", "profits"]
    return f"{draw.choice(sport if one else money)} and {draw.choice(sport if one else money)} : {text}"


def shouted(text: str, one: Any, place: int, draw: Draw) -> str:
    """Opinions have exclamation marks more often."""
    return text + " !" * int(draw.random() < (0.4 if one else 0.15))


def plain_images(images: Any, labels: Any, draw: Draw) -> Any:
    return images


def framed(images: Any, labels: Any, draw: Draw) -> Any:
    """All have a black border."""
    images[:, :2] = images[:, -2:] = 0
    return images


def day_and_night(images: Any, labels: Any, draw: Draw) -> Any:
    """The one class was seen by night, which is what is asked."""
    return (images * np.where(labels, draw.uniform(0.3, 0.55, len(labels)), 1)[:, None, None]).astype(np.uint8)


def two_cameras(images: Any, labels: Any, draw: Draw) -> Any:
    """Two cameras, each of which saw both classes: one stops at 180."""
    return np.where(draw.random((len(images), 1, 1)) < 0.5, np.minimum(images, 180), images)


def moving_weather(folder: Path, draw: Draw) -> dict[str, Any]:
    return grid(folder, weather(draw))


LOANS = (recoveries, paid_back, last_payment, hardship, files, spellings, remarks, counted)
FLATS = (instalment, tax_class, error_of_valuer)
ROW_SETS = (between, goals, dispositions)
SALES = (so_far, settled, highest_of_week, better_than_yesterday)
Pairs = list[tuple[Callable[..., Any], Maker]]


def made(maker: Callable[[Any], Maker], *changes: Callable[..., Any]) -> Pairs:
    return [(change, maker(change)) for change in changes]


def alone(*makers: Maker) -> Pairs:
    return [(maker, maker) for maker in makers]


def plain(text: str, one: Any, place: int, draw: Draw) -> str:
    return text


LEAKS: dict[str, Pairs] = {
    "tabular": [*made(on_loans, *LOANS), *made(on_flats, *FLATS), *alone(*ROW_SETS)],
    "forecast": [*made(AHEAD, *SALES), *alone(sold_out, zones)],
    "series": made(gaits, scaled_by_class, clipped, trigger),
    "text": made(told, agency, mail_header, two_spaces, cut_off, tagged),
    "images": [*made(seen, ruler, letterbox, packed, exposed), *alone(frames)],
    "segment": alone(neighbours_of_volume),
    "grids": alone(thinned, centred),
    "arrays": alone(future_trains, tiles, brighter_copies),
}
SOUND: dict[str, Pairs] = {
    "tabular": [
        *made(on_loans, radius, deciding_kind, repayments_before),
        *alone(passengers, answers, taxi, premiums),
    ],
    "forecast": alone(shut_days, price_of_bread, clear_sky, forecast_weather, two_towns, rates),
    "series": [*made(gaits, counts, loud), *alone(persons)],
    "text": made(told, plain, signed, topic, shouted),
    "images": made(seen, plain_images, framed, day_and_night, two_cameras),
    "grids": alone(moving_weather),
}


def named(change: Callable[..., Any]) -> str:
    return change.__name__.replace("_", " ")


SETS = {
    task: (
        *(LeakSet(named(change), maker, "any", "later") for change, maker in pairs),
        *(LeakSet(named(change), maker, None, "later") for change, maker in SOUND.get(task, ())),
    )
    for task, pairs in LEAKS.items()
}
