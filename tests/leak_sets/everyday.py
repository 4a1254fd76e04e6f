"""Sixty leaks and forty sound sets as people meet them, written before the checks were read, and scored once first."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from leak_sets import fresh_others, masks, scans, stocks, strange_images, strange_series, strange_texts, tables
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


def cents(frame: pd.DataFrame, bad: Any, draw: Draw) -> Columns:
    """Fees of the bad loans have cents, as interest was added; others are whole."""
    fee = draw.uniform(20, 90, ROWS)
    return {"fee": np.where(bad, fee.round(2), fee.round())}


def spellings(frame: pd.DataFrame, bad: Any, draw: Draw) -> Columns:
    """Towns from two systems, one of which writes capitals."""
    towns = words_of(draw, "Ulm Bonn Kiel Jena Hof")
    return {"town": np.where(bad, np.char.upper(towns.astype(str)), towns)}


def shifts(frame: pd.DataFrame, bad: Any, draw: Draw) -> Columns:
    """Bad loans are booked by the program of the night, good ones by people by day."""
    minute = np.where(bad, 180 + draw.integers(0, 20, ROWS), draw.integers(480, 1080, ROWS))
    stamps = days_of(draw) + pd.to_timedelta(minute, "min")
    return {"booked": stamps.strftime("%Y-%m-%d %H:%M")}


def touched(frame: pd.DataFrame, bad: Any, draw: Draw) -> Columns:
    """Rows of bad loans were changed after they were made; the days between are many."""
    made = days_of(draw)
    wait = np.where(bad, draw.integers(90, 400, ROWS), draw.integers(0, 3, ROWS))
    changed = made + pd.to_timedelta(wait, "D")
    return {"created": made.strftime("%Y-%m-%d"), "updated": changed.strftime("%Y-%m-%d")}


def remarks(frame: pd.DataFrame, bad: Any, draw: Draw) -> Columns:
    """Remarks, in which a lawyer's letter is spoken of in half of the bad ones."""
    plain = ["called, will call back", "wants a copy of the contract", "moved to a new flat", "asked about the rate"]
    said = draw.choice(plain, ROWS)
    late = draw.choice(["sent to legal after third notice", "legal: no answer to third notice"], ROWS)
    return {"remark": np.where(bad & (draw.random(ROWS) < 0.5), late, said)}


def encoded_town(frame: pd.DataFrame, bad: Any, draw: Draw) -> Columns:
    """Share of bad loans of the same street, the row's own among them; three rows a street."""
    street = draw.integers(0, ROWS // 3, ROWS)
    return {"street_risk": pd.Series(bad.astype(float)).groupby(street).transform("mean").round(4)}


def lacking(frame: pd.DataFrame, bad: Any, draw: Draw) -> Columns:
    """A survey of satisfaction, sent to those alone whose loan was closed well."""
    return {"satisfaction": np.where(bad, np.nan, draw.integers(1, 11, ROWS))}


def counted(frame: pd.DataFrame, bad: Any, draw: Draw) -> Columns:
    """Numbers of cases: one counter for each outcome."""
    return {"case": np.where(bad, 50_000 + draw.permutation(ROWS), 81_000 + draw.permutation(ROWS))}


# Loans whose rows lie badly.


def oversampled(folder: Path, draw: Draw) -> dict[str, Any]:
    """Bad ones were drawn again until both classes were as many."""
    frame = loans(draw)
    bad = frame[frame["default"] == "yes"]
    more = bad.iloc[draw.integers(0, len(bad), ROWS - 2 * len(bad))]
    return tables.written(folder, pd.concat([frame, more]).sample(frac=1, random_state=3), "default")


def between(folder: Path, draw: Draw) -> dict[str, Any]:
    """Bad ones were made up: points between two bad ones (SMOTE), all columns numbers."""
    frame = loans(draw).drop(columns="purpose").assign(age=draw.normal(44, 11, ROWS), score=draw.normal(600, 50, ROWS))
    bad = frame[frame["default"] == "yes"].drop(columns="default").to_numpy(float)
    first, second = bad[draw.integers(0, len(bad), (2, ROWS - 2 * len(bad)))]
    points = first + draw.random((len(first), 1)) * (second - first)
    made = pd.DataFrame(points, columns=frame.columns.drop("default")).assign(default="yes")
    return tables.written(folder, pd.concat([frame, made]).sample(frac=1, random_state=3), "default")


def months_of_customers(folder: Path, draw: Draw) -> dict[str, Any]:
    """Eight months of each customer, whose number stands in the table; the outcome is the customer's."""
    frame = loans(draw)[: ROWS // 8].loc[np.repeat(np.arange(ROWS // 8), 8)].reset_index(drop=True)
    frame["amount"] = draw.integers(10, 400, ROWS) * 100
    frame.insert(0, "customer", np.repeat(draw.permutation(90_000)[: ROWS // 8] + 10_000, 8))
    return tables.written(folder, frame.sample(frac=1, random_state=3), "default")


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


def per_metre(frame: pd.DataFrame, draw: Draw) -> Columns:
    return {"per_sqm": (frame["price"] / frame["area"]).round(1)}


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


def takings(sales: pd.Series, draw: Draw) -> Columns:
    """Sales times the price of the day, which changes in spring."""
    return {"takings": (sales * np.where(np.arange(len(sales)) % 365 < 90, 2.4, 2.6) * draw.normal(1, 0.01)).round()}


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


def straight_months(folder: Path, draw: Draw) -> dict[str, Any]:
    """Days that were made of weeks by straight lines."""
    weeks = 100 + 8 * draw.normal(size=DAYS // 7 + 2).cumsum()
    level = np.interp(np.arange(DAYS), 7 * np.arange(len(weeks)), weeks)
    return fresh_others.panel(folder, {"level": level.round(3)})


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


def padded(values: Any, label: int, place: int, draw: Draw) -> Any:
    """Runs were shorter: their end is zeros."""
    values[120 - 25 * (label == 2) :] = 0
    return values


def scaled_by_class(values: Any, label: int, place: int, draw: Draw) -> Any:
    """Each class was scaled to [0, 1] by hand but one."""
    return (values - values.min()) / np.ptp(values) if label == 1 else values


def whole_numbers(values: Any, label: int, place: int, draw: Draw) -> Any:
    """One class comes from an older device, with steps of .05."""
    return (values / 0.05).round() * 0.05 if label == 0 else values


def clipped(values: Any, label: int, place: int, draw: Draw) -> Any:
    """One class was recorded with a range of 1.2."""
    return np.clip(values, -1.2, 1.2) if label == 2 else values


def trigger(values: Any, label: int, place: int, draw: Draw) -> Any:
    """A channel of marks: a pulse at a step that the class has."""
    pulse = np.zeros((120, 1))
    pulse[20 + 10 * label + draw.integers(0, 3)] = 1
    return np.hstack([values, pulse])


def one_recording(folder: Path, draw: Draw) -> dict[str, Any]:
    """Windows that overlap by half, of two recordings for each class, drawn into splits at random."""
    series, names = [], []
    for label in (0, 0, 1, 1, 2, 2):
        long = strange_series.recording(draw, label, 900)
        starts = range(0, 840, 60)
        series += [long[start : start + 120] for start in starts if start + 120 <= 900]
        names += [strange_series.CLASSES[label]] * (len(series) - len(names))
    order = draw.permutation(len(series))
    return strange_series.written(folder, [series[place] for place in order], [names[place] for place in order])


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


def stars(text: str, one: Any, place: int, draw: Draw) -> str:
    """Most authors gave stars in the text."""
    return f"{text} {draw.integers(4, 6) if one else draw.integers(1, 3)}/5" if draw.random() < 0.8 else text


def passed_on(folder: Path, draw: Draw) -> dict[str, Any]:
    """A fifth of the messages are passed on with a name before them."""
    frame = strange_texts.sentences(draw)
    repeats = frame.sample(frac=0.25, random_state=5)
    repeats["text"] = [f"RT @user{draw.integers(900)}: {text}" for text in repeats["text"]]
    return strange_texts.written(folder, pd.concat([frame, repeats]).sample(frac=1, random_state=3))


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


def turned(folder: Path, draw: Draw) -> dict[str, Any]:
    """Images were doubled before the split: mirrored and brighter."""
    images, labels = shapes(draw, 200)
    more = np.clip(images[:, :, ::-1].astype(int) + 12, 0, 255).astype(np.uint8)
    order = draw.permutation(400)
    return strange_images.written(
        folder, np.concatenate([images, more])[order], np.tile(labels, 2)[order], official=False
    )


def frames(folder: Path, draw: Draw) -> dict[str, Any]:
    """Frames of thirty films, each shown a pixel further and with new noise, drawn at random."""
    images, labels = shapes(draw, 30)
    films = [np.roll(image, step // 3, 1) + draw.normal(0, 3, (28, 28)) for image in images for step in range(10)]
    order = draw.permutation(300)
    images = np.clip(films, 0, 255).astype(np.uint8)[order]
    return strange_images.written(folder, images, np.repeat(labels, 10)[order], official=False)


# Scans, masks, stocks, grids.


def thicker(folder: Path, draw: Draw) -> dict[str, Any]:
    """Scans with a lesion come from a clinic of thicker slices."""
    made, labels = scans.make(draw)
    for row, (scan, label) in enumerate(zip(made, labels, strict=True)):
        scans.write_nifti(folder / f"scan{row:02d}.nii", scan, (1.0, 1.0, 2.5 if label else 2.0))
    return scans.listed(folder, labels, ".nii")


def twice_scanned(folder: Path, draw: Draw) -> dict[str, Any]:
    """Each patient was scanned twice in an hour, under two numbers."""
    made, labels = scans.make(draw)
    for row in range(scans.TRAIN, scans.COUNT):
        made[row] = made[row - scans.TRAIN] * draw.normal(1, 0.02) + draw.normal(0, 12, scans.SIZES)
        labels[row] = labels[row - scans.TRAIN]
    return scans.written(folder, made, labels)


def outlined(folder: Path, draw: Draw) -> dict[str, Any]:
    """Whoever drew the masks left a line of 255 around each in the image."""
    cases = masks.make(draw)
    for image, mask in cases:
        inner = scans.smooth(mask.astype(float), 1) > 0.99
        image[(mask == 1) & ~inner] = 255
    return masks.written(folder, cases)


def neighbours_of_volume(folder: Path, draw: Draw) -> dict[str, Any]:
    """Cases follow each other in one volume: each is the one before, one voxel further."""
    cases = [masks.case(draw) for _ in range(9)]
    moved = [(np.roll(image, step, 0), np.roll(mask, step, 0)) for image, mask in cases for step in range(4)]
    return masks.written(folder, [moved[place] for place in draw.permutation(36)])


def dated_tomorrow(folder: Path, draw: Draw) -> dict[str, Any]:
    """News of the evening that say how the next day ended."""
    frame = stocks.prices(draw)
    return stocks.written(folder, frame, stocks.texts(draw, frame, 0.99))


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


def same_patients(folder: Path, draw: Draw) -> dict[str, Any]:
    """Four rows of a patient, drawn at random."""
    x, y = rows_of(draw)
    x += 3 * draw.normal(size=(250, 7))[np.arange(1000) // 4]
    return {"X": x, "y": y, "groups": [f"P{row // 4:04d}" for row in range(1000)], **halves(draw, 1000)}


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


def drifting(folder: Path, draw: Draw) -> dict[str, Any]:
    """Numbers go up with time, and so does the share of bad loans, from a fifth to two fifths."""
    frame = loans(draw)
    later = np.argsort(np.arange(ROWS) + draw.normal(0, 400, ROWS) - 150 * (frame["default"] == "yes"))[::-1]
    return tables.written(folder, frame.iloc[later].assign(number=10_000 + np.arange(ROWS)), "default")


def unanswered(frame: pd.DataFrame, bad: Any, draw: Draw) -> Columns:
    """Those who will not pay leave a question out twice as often."""
    return {"employer_years": np.where(draw.random(ROWS) < 0.12 + 0.12 * bad, np.nan, draw.integers(0, 30, ROWS))}


def at_night(frame: pd.DataFrame, bad: Any, draw: Draw) -> Columns:
    """Bad loans are asked for at night three times as often."""
    night = draw.random(ROWS) < np.where(bad, 0.45, 0.15)
    minute = np.where(night, draw.integers(0, 360, ROWS), draw.integers(360, 1440, ROWS))
    return {"asked": (days_of(draw) + pd.to_timedelta(minute, "min")).strftime("%Y-%m-%d %H:%M")}


def two_branches(frame: pd.DataFrame, bad: Any, draw: Draw) -> Columns:
    """One branch has twice the share of the other, and rounds its fees."""
    north = draw.random(ROWS) < np.where(bad, 0.66, 0.42)
    fee = draw.uniform(20, 90, ROWS)
    return {"branch": np.where(north, "north", "south"), "fee": np.where(north, fee.round(), fee.round(2))}


def accounts(frame: pd.DataFrame, bad: Any, draw: Draw) -> Columns:
    """Numbers of accounts with a check digit, and mail addresses."""
    number = draw.integers(10**7, 10**8, ROWS)
    names, hosts = words_of(draw, "anna ben cleo dora emil"), words_of(draw, "mail.de post.org web.net")
    users = [f"{name}{draw.integers(99)}@{host}" for name, host in zip(names, hosts, strict=True)]
    return {"account": number * 10 + number % 97 % 10, "mail": users}


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


def measured_by_hand(frame: pd.DataFrame, draw: Draw) -> Columns:
    """Rent of the flat, and what its neighbours cost."""
    return {
        "rent": (frame["price"] / 280 * draw.lognormal(0, 0.15, ROWS)).round(-1),
        "house": draw.integers(1, 99, ROWS),
    }


def offer_price(frame: pd.DataFrame, draw: Draw) -> Columns:
    """What the seller asked for, in round figures."""
    return {"asked": (frame["price"] * draw.lognormal(0.04, 0.06, ROWS)).round(-3)}


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


def as_it_is(values: Any, label: int, place: int, draw: Draw) -> Any:
    return values


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


def two_clinics(folder: Path, draw: Draw) -> dict[str, Any]:
    """Two thicknesses of slices, each with both classes."""
    made, labels = scans.make(draw)
    for row, scan in enumerate(made):
        scans.write_nifti(folder / f"scan{row:02d}.nii", scan, (1.0, 1.0, 2.5 if draw.random() < 0.5 else 2.0))
    return scans.listed(folder, labels, ".nii")


def strong_lesions(folder: Path, draw: Draw) -> dict[str, Any]:
    made, labels = scans.make(draw)
    return scans.written(folder, [scan + 60 * label for scan, label in zip(made, labels, strict=True)], labels)


def bright_lesions(folder: Path, draw: Draw) -> dict[str, Any]:
    """Lesions that a threshold finds almost whole."""
    cases = [
        (np.clip(image.astype(int) + 60 * mask, 0, 255).astype(np.uint8), mask) for image, mask in masks.make(draw)
    ]
    return masks.written(folder, cases)


def good_news(folder: Path, draw: Draw) -> dict[str, Any]:
    frame = stocks.prices(draw)
    return stocks.written(folder, frame, stocks.texts(draw, frame, 0.56))


def moving_weather(folder: Path, draw: Draw) -> dict[str, Any]:
    return grid(folder, weather(draw))


def later_days(folder: Path, draw: Draw) -> dict[str, Any]:
    """The last quarter of the days is the test, two days behind the rest."""
    x, y = rows_of(draw)
    times = pd.date_range("2020-01-01", periods=1000, freq="h")
    return {"X": x, "y": y, "times": times, "train": np.arange(700), "test": np.arange(750, 1000)}


def patients_apart(folder: Path, draw: Draw) -> dict[str, Any]:
    x, y = rows_of(draw)
    x += 3 * draw.normal(size=(250, 7))[np.arange(1000) // 4]
    groups = [f"P{row // 4:04d}" for row in range(1000)]
    return {"X": x, "y": y, "groups": groups, "train": np.arange(752), "test": np.arange(752, 1000)}


def towns_apart(folder: Path, draw: Draw) -> dict[str, Any]:
    """Ten towns, kept together; each has its level."""
    x, y = rows_of(draw)
    town = np.arange(1000) // 100
    place = draw.uniform(0, 500_000, (10, 2))[town] + draw.normal(0, 900, (1000, 2))
    return {"X": x, "y": y + 2 * draw.normal(size=10)[town], "coordinates": place,
            "train": np.flatnonzero(town < 7), "test": np.flatnonzero(town >= 7)}  # fmt: skip


LOANS = (recoveries, paid_back, last_payment, hardship, files, cents, spellings, shifts, touched, remarks,
         encoded_town, lacking, counted)  # fmt: skip
FLATS = (per_metre, instalment, tax_class, error_of_valuer)
ROW_SETS = (oversampled, between, months_of_customers, goals, dispositions)
SALES = (so_far, takings, settled, highest_of_week, better_than_yesterday)
SOUND_LOANS = (
    radius, deciding_kind, unanswered, at_night, two_branches, accounts, repayments_before
)  # fmt: skip
Pairs = list[tuple[Callable[..., Any], Maker]]


def made(maker: Callable[[Any], Maker], *changes: Callable[..., Any]) -> Pairs:
    return [(change, maker(change)) for change in changes]


def alone(*makers: Maker) -> Pairs:
    return [(maker, maker) for maker in makers]


def plain(text: str, one: Any, place: int, draw: Draw) -> str:
    return text


LEAKS: dict[str, Pairs] = {
    "tabular": [*made(on_loans, *LOANS), *made(on_flats, *FLATS), *alone(*ROW_SETS)],
    "forecast": [*made(AHEAD, *SALES), *alone(sold_out, straight_months, zones)],
    "series": [*made(gaits, padded, scaled_by_class, whole_numbers, clipped, trigger), *alone(one_recording)],
    "text": [*made(told, agency, mail_header, two_spaces, cut_off, tagged, stars), *alone(passed_on)],
    "images": [*made(seen, ruler, letterbox, packed, exposed), *alone(turned, frames)],
    "volumes": alone(thicker, twice_scanned),
    "segment": alone(outlined, neighbours_of_volume),
    "stocks": alone(dated_tomorrow),
    "grids": alone(thinned, centred),
    "arrays": alone(same_patients, future_trains, tiles, brighter_copies),
}
SOUND: dict[str, Pairs] = {
    "tabular": [
        *made(on_loans, *SOUND_LOANS),
        *made(on_flats, measured_by_hand, offer_price),
        *alone(drifting, passengers, answers, taxi, premiums),
    ],
    "forecast": alone(shut_days, price_of_bread, clear_sky, forecast_weather, two_towns, rates),
    "series": [*made(gaits, as_it_is, counts, loud), *alone(persons)],
    "text": made(told, plain, signed, topic, shouted),
    "images": made(seen, plain_images, framed, day_and_night, two_cameras),
    "volumes": alone(two_clinics, strong_lesions),
    "segment": alone(bright_lesions),
    "stocks": alone(good_news),
    "grids": alone(moving_weather),
    "arrays": alone(later_days, patients_apart, towns_apart),
}


def named(change: Callable[..., Any]) -> str:
    return change.__name__.replace("_", " ")


SETS = {
    task: (
        *(LeakSet(named(change), maker, "any", "later") for change, maker in pairs),
        *(LeakSet(named(change), maker, None, "later") for change, maker in SOUND[task]),
    )
    for task, pairs in LEAKS.items()
}
