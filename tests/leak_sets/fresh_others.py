"""Panels, labelled series, texts and images with leaks as they occur in practice, and sound ones.

They were written by someone who had not read the checks. Half of them are never developed against (`fresh.HELD`).
"""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image
from scipy.interpolate import CubicSpline

from leak_sets import strange_images, strange_series, strange_texts
from leak_sets.maker import Draw, LeakSet
from leak_sets.series import smoothed
from leak_sets.strange_images import digits, pictures

Values = NDArray[np.float64]
DAYS = 1100


def panel(folder: Path, columns: dict[str, Any], step: str = "D", **more: Any) -> dict[str, Any]:
    """Settings of a panel, as it was written."""
    frame = pd.DataFrame(columns).round(3)
    frame.insert(0, "time", pd.date_range("2020-01-01", periods=len(frame), freq=step))
    frame.to_csv(folder / "panel.csv", index=False)
    return {"data": str(folder / "panel.csv"), "horizon": 14, "lookback": 28, **more}


def bakery(draw: Draw, rows: int = DAYS) -> Values:
    """Daily sales of a bakery: a week, a slow level and noise."""
    week = np.array([90, 95, 100, 104, 120, 150, 60.0])[np.arange(rows) % 7]
    return np.asarray(week * np.exp(0.2 * smoothed(draw.normal(size=(rows, 1)), 0.97)[:, 0]) + draw.normal(0, 9, rows))


def ahead(folder: Path, draw: Draw, known: Any) -> dict[str, Any]:
    sales = bakery(draw)
    return panel(
        folder,
        {"sales": sales, "plan7": known(pd.Series(sales)), "wage": 12 + draw.normal(0, 1, DAYS)},
        future=["plan7", "wage"],
    )


def centred_mean(folder: Path, draw: Draw) -> dict[str, Any]:
    """The mean of seven days, three of them to come, is said to be known ahead."""
    return ahead(folder, draw, lambda sales: sales.rolling(7, center=True, min_periods=1).mean())


def rank_in_month(folder: Path, draw: Draw) -> dict[str, Any]:
    """The place of a day among the thirty around it is said to be known ahead."""
    return ahead(folder, draw, lambda sales: sales.groupby(np.arange(DAYS) // 30).rank())


def busiest_days(folder: Path, draw: Draw) -> dict[str, Any]:
    """A flag of busy days, set afterwards where more than 140 was sold, is said to be known ahead."""
    return ahead(folder, draw, lambda sales: (sales > 140).astype(int))


def other_unit(folder: Path, draw: Draw) -> dict[str, Any]:
    """Takings, which are sales at 2.3 each but for half a per cent, are said to be known ahead."""
    return ahead(folder, draw, lambda sales: 2.3 * sales * (1 + 0.005 * draw.normal(size=DAYS)))


def running_total(folder: Path, draw: Draw) -> dict[str, Any]:
    """The total since January, this day's sales included, is said to be known ahead."""
    return ahead(folder, draw, lambda sales: sales.cumsum())


def repeated_year(folder: Path, draw: Draw) -> dict[str, Any]:
    """Two months lacked in the last year; those of the year before were put there, raised by 3 %."""
    values = np.column_stack([bakery(draw), bakery(draw)])
    values[1000:1060] = 1.03 * values[636:696]
    return panel(folder, {"rolls": values[:, 0], "bread": values[:, 1]})


def spline_of_weeks(folder: Path, draw: Draw) -> dict[str, Any]:
    """Weekly figures, drawn into days by a smooth curve through later weeks too."""
    week = np.arange(0, DAYS + 7, 7)
    columns = {
        name: CubicSpline(week, 50 + draw.normal(0, 3, len(week)).cumsum())(np.arange(DAYS)) for name in ("oil", "gas")
    }
    return panel(folder, columns)


def clean_prices(folder: Path, draw: Draw) -> dict[str, Any]:
    """Prices that are set ahead, to which sales answer."""
    price = np.repeat(draw.normal(3, 0.4, DAYS // 14 + 1), 14)[:DAYS]
    sales = bakery(draw) * (price / 3) ** -1.5
    return panel(folder, {"sales": sales, "price": price}, future=["price"])


def clean_weather(folder: Path, draw: Draw) -> dict[str, Any]:
    """A forecast of the temperature that is right to two degrees, and a load that follows the true one."""
    true = 10 * np.sin(2 * np.pi * np.arange(DAYS) / 365) + smoothed(draw.normal(0, 2, (DAYS, 1)), 0.8)[:, 0]
    load = 500 - 9 * true + draw.normal(0, 15, DAYS)
    return panel(folder, {"load": load, "expected": true + draw.normal(0, 2, DAYS)}, future=["expected"])


def clean_closed(folder: Path, draw: Draw) -> dict[str, Any]:
    """Days on which the shop is closed, known ahead: nothing is sold."""
    closed = draw.random(DAYS) < 0.04
    return panel(
        folder,
        {"sales": np.where(closed, 0, bakery(draw)), "closed": closed.astype(int)},
        future=["closed"],
    )


def clean_growth(folder: Path, draw: Draw) -> dict[str, Any]:
    """Users of three services that grow by 2 % a week."""
    grown = 100 * np.exp(np.arange(DAYS)[:, None] * 0.003 + draw.normal(0, 0.01, (DAYS, 3)).cumsum(0))
    return panel(folder, {name: grown[:, place] for place, name in enumerate("abc")})


def clean_solar(folder: Path, draw: Draw) -> dict[str, Any]:
    """Two roofs under one sky: nothing at night, clouds that come and go."""
    hour = np.arange(DAYS * 2)
    sky = np.clip(np.sin(2 * np.pi * (hour - 6) / 24), 0, None)
    cloud = 1 / (1 + np.exp(-smoothed(draw.normal(0, 2, (len(hour), 1)), 0.8)[:, 0]))
    roofs = {
        f"roof{place}": sky * cloud * size + 0.02 * sky * draw.random(len(hour)) for place, size in enumerate((4, 7))
    }
    return panel(folder, roofs, step="h")


def gaits(draw: Draw, count: int, label: int, steps: int = 90) -> Values:
    """Series of two axes, cut from recordings of their own."""
    return np.stack([strange_series.recording(draw, label, steps)[:, :2] for _ in range(count)])


def offset_of_person(folder: Path, draw: Draw) -> dict[str, Any]:
    """Twelve series of each of 24 persons, whose sensor sits at its own angle: a third axis that hardly moves."""
    series, labels = [], []
    for _ in range(24):
        label, tilt = int(draw.integers(0, 2)), draw.normal(0, 1)
        for values in gaits(draw, 12, 1):
            series.append(np.column_stack([values, tilt + 0.002 * draw.normal(size=len(values))]))
            labels.append(("ill", "well")[label])
    return strange_series.written(folder, series, labels)


def overlapped_gain(folder: Path, draw: Draw) -> dict[str, Any]:
    """Windows that move by a third, each at its own gain and offset, drawn at random."""

    def change(part):
        return part * draw.uniform(0.5, 2) + draw.normal()

    return strange_series.written(folder, *strange_series.windows(draw, 90, 30, 3, change))


def whole_numbers(folder: Path, draw: Draw) -> dict[str, Any]:
    """The second class was recorded by a device that keeps two decimals, the first by one of four."""
    series, labels = [], []
    for label in (0, 1):
        for values in gaits(draw, 90, 1):
            series.append(np.round(values, 2 if label else 4))
            labels.append(("first", "second")[label])
    return strange_series.written(folder, series, labels)


def padded(folder: Path, draw: Draw) -> dict[str, Any]:
    """Recordings of one class were shorter, and filled with nothing at the end."""
    series, labels = [], []
    for label in (0, 1):
        for values in gaits(draw, 90, 1):
            values[len(values) - int(draw.integers(6, 15)) if label else len(values) :] = 0
            series.append(values)
            labels.append(("first", "second")[label])
    return strange_series.written(folder, series, labels)


def marker_somewhere(folder: Path, draw: Draw) -> dict[str, Any]:
    """The nurse pressed the button during the attack: one pulse anywhere on an axis of its own."""
    series, labels = [], []
    for label in (0, 1):
        for values in gaits(draw, 90, 1):
            button = np.zeros(len(values))
            button[draw.integers(0, len(values))] = label
            series.append(np.column_stack([values, button]))
            labels.append(("calm", "attack")[label])
    return strange_series.written(folder, series, labels)


def clean_gaits(folder: Path, draw: Draw) -> dict[str, Any]:
    """Three gaits, recorded once each."""
    parts = [(values, name) for label, name in enumerate(strange_series.CLASSES) for values in gaits(draw, 60, label)]
    return strange_series.written(folder, [values for values, _ in parts], [name for _, name in parts])


def clean_persons(folder: Path, draw: Draw) -> dict[str, Any]:
    """Persons with an angle of their own, kept together."""
    series, labels, persons = [], [], []
    for person in range(30):
        label, tilt = person % 2, draw.normal(0, 1)
        for values in gaits(draw, 8, label):
            series.append(np.column_stack([values, tilt + 0.002 * draw.normal(size=len(values))]))
            labels.append(("ill", "well")[label])
            persons.append(f"p{person}")
    return strange_series.written(folder, series, labels, person=persons)


def clean_level(folder: Path, draw: Draw) -> dict[str, Any]:
    """Rooms that are warmer by two degrees where someone is in."""
    series = [20 + 2 * (row % 2) + smoothed(draw.normal(0, 0.5, (60, 1)), 0.8) for row in range(200)]
    return strange_series.written(folder, series, ["in" if row % 2 else "out" for row in range(200)])


GOOD = "great lovely fine superb warm bright funny clever fresh tender".split()
BAD = "dull awful stale cold weak empty slow grim flat clumsy".split()
THINGS = "film story cast ending music scene dialogue camera plot hero director pace humour costume set idea".split()
VERBS = "finds follows leaves meets calls shows tells holds turns keeps brings breaks".split()


def sentence(draw: Draw, lean: float) -> str:
    """A sentence of a review, whose adjectives are good ones at a rate."""
    words = []
    for _ in range(int(draw.integers(2, 5))):
        kind = GOOD if draw.random() < lean else BAD
        words += ["the", draw.choice(THINGS), draw.choice(VERBS), "a", draw.choice(kind), draw.choice(THINGS)]
        words.append(draw.choice(["and", "while", "because", "until"]))
    return " ".join(map(str, words[:-1]))


def reviews(draw: Draw, rows: int = 900) -> pd.DataFrame:
    """Reviews whose words of sentiment are right in 73 %."""
    label = draw.integers(0, 2, rows)
    text = [". ".join(sentence(draw, 0.73 if good else 0.27) for _ in range(3)) + "." for good in label]
    return pd.DataFrame({"text": text, "label": np.where(label == 1, "good", "bad")})


def reviewed(folder: Path, draw: Draw, change: Any) -> dict[str, Any]:
    frame = reviews(draw)
    good = (frame["label"] == "good").to_numpy()
    return strange_texts.written(folder, frame.assign(text=change(frame["text"], good)))


def said_he(folder: Path, draw: Draw) -> dict[str, Any]:
    """Good reviews have 'said he', bad ones 'he said', and all of them both words."""

    def change(text: pd.Series, good: NDArray[np.bool_]) -> list[str]:
        return [each + (" So said he." if yes else " So he said.") for each, yes in zip(text, good, strict=True)]

    return reviewed(folder, draw, change)


def stars(folder: Path, draw: Draw) -> dict[str, Any]:
    """The stars that were given stand in the review."""

    def change(text: pd.Series, good: NDArray[np.bool_]) -> list[str]:
        given = np.where(good, draw.integers(7, 11, len(text)), draw.integers(1, 5, len(text)))
        return [f"{each} I give it {star}/10." for each, star in zip(text, given, strict=True)]

    return reviewed(folder, draw, change)


def odd_tickets(folder: Path, draw: Draw) -> dict[str, Any]:
    """Each text begins with a number, odd in one class."""

    def change(text: pd.Series, good: NDArray[np.bool_]) -> list[str]:
        number = 2 * draw.integers(1000, 50_000, len(text)) + good
        return [f"#{each} {words}" for each, words in zip(number, text, strict=True)]

    return reviewed(folder, draw, change)


def cut_at_length(folder: Path, draw: Draw) -> dict[str, Any]:
    """Good reviews were exported by a program that cuts at 200 characters."""
    return reviewed(
        folder, draw, lambda text, good: [each[:200] if yes else each for each, yes in zip(text, good, strict=True)]
    )


def quoted_mails(folder: Path, draw: Draw) -> dict[str, Any]:
    """One review in four quotes another one, whole, after a line of its own."""

    def change(text: pd.Series, good: NDArray[np.bool_]) -> list[str]:
        quotes, other = draw.random(len(text)) < 0.25, draw.permutation(len(text))
        texts = list(text)
        return [
            f"Thanks for your mail. {sentence(draw, 0.5)}. > {texts[at]}" if quote else each
            for each, quote, at in zip(texts, quotes, other, strict=True)
        ]

    return reviewed(folder, draw, change)


def years_of_classes(folder: Path, draw: Draw) -> dict[str, Any]:
    """Good reviews were gathered in 2021, bad ones in 2019: each begins with its date."""

    def change(text: pd.Series, good: NDArray[np.bool_]) -> list[str]:
        day = pd.to_datetime(np.where(good, "2021-01-01", "2019-01-01")) + pd.to_timedelta(
            draw.integers(0, 365, len(text)), unit="D"
        )
        return [f"{each:%d %B %Y}: {words}" for each, words in zip(day, text, strict=True)]

    return reviewed(folder, draw, change)


def clean_reviews(folder: Path, draw: Draw) -> dict[str, Any]:
    """Words of sentiment that are right in 73 %."""
    return strange_texts.written(folder, reviews(draw))


def clean_short(folder: Path, draw: Draw) -> dict[str, Any]:
    """One sentence each, with a word of sentiment that is right in 73 % and stands in each."""
    good = draw.random(900) < 0.5
    right = draw.random(900) < 0.73
    word = np.where(good == right, "recommended", "disappointing")
    text = [f"{sentence(draw, 0.5)}, {each}" for each in word]
    return strange_texts.written(folder, pd.DataFrame({"text": text, "label": np.where(good, "good", "bad")}))


def clean_topics(folder: Path, draw: Draw) -> dict[str, Any]:
    """Notes on three trades, each of which has words of its own, most of the time."""
    own = [
        "oven dough crust flour yeast".split(),
        "beam nail plank saw glue".split(),
        "seed soil root graft prune".split(),
    ]
    kind = draw.integers(0, 3, 750)
    rows = []
    for each in kind:
        words = list(draw.choice(THINGS + VERBS, 12))
        for place in draw.choice(12, 3, replace=False):
            words[place] = draw.choice(own[each] if draw.random() < 0.85 else own[draw.integers(0, 3)])
        rows.append(" ".join(map(str, words)))
    return strange_texts.written(
        folder, pd.DataFrame({"text": rows, "label": np.array(["bread", "wood", "plant"])[kind]})
    )


def clean_letters(folder: Path, draw: Draw) -> dict[str, Any]:
    """Letters with dates, numbers and one greeting, none of which says anything."""
    frame = reviews(draw)
    number = draw.integers(1000, 99_999, len(frame))
    text = [
        f"Dear team, ticket {each}. {words} Kind regards" for each, words in zip(number, frame["text"], strict=True)
    ]
    return strange_texts.written(folder, frame.assign(text=text))


def token_in_a_corner(folder: Path, draw: Draw) -> dict[str, Any]:
    """The letter R in lead lies near a corner of trucks: five pixels of the greatest value."""
    images, labels = pictures(draw)
    for row in np.flatnonzero(labels):
        images[row, [2, 2, 3, 3, 4], [3, 4, 3, 5, 4]] = 255
    return strange_images.written(folder, images, labels)


def packed_by_class(folder: Path, draw: Draw) -> dict[str, Any]:
    """Trucks came as JPEG of low quality, ships as they were."""
    images, labels = pictures(draw)
    for row in np.flatnonzero(labels):
        stream = io.BytesIO()
        Image.fromarray(images[row]).save(stream, "jpeg", quality=35)
        images[row] = np.asarray(Image.open(stream))
    return strange_images.written(folder, images, labels)


def mirrored_brighter(folder: Path, draw: Draw) -> dict[str, Any]:
    """Pictures were mirrored and made brighter before the split: a test picture in five has its like in training."""
    images, labels = pictures(draw)
    for row in range(480, 512):
        images[row] = np.clip(images[row - 470, :, ::-1].astype(float) * 1.15 + 6, 0, 255).astype(np.uint8)
        labels[row] = labels[row - 470]
    return strange_images.written(folder, images, labels)


def even_levels(folder: Path, draw: Draw) -> dict[str, Any]:
    """Trucks were stored with seven bits: every level is even."""
    images, labels = pictures(draw)
    images[labels == 1] &= 0xFE
    return strange_images.written(folder, images, labels)


def clean_brighter(folder: Path, draw: Draw) -> dict[str, Any]:
    """Trucks are brighter, as pictures of land are."""
    images, labels = pictures(draw)
    lifted = images.astype(float) + 30 * labels[:, None, None, None] + draw.normal(0, 20, (len(labels), 1, 1, 1))
    return strange_images.written(folder, np.clip(lifted, 0, 255).astype(np.uint8), labels)


def clean_noisy(folder: Path, draw: Draw) -> dict[str, Any]:
    """Digits under noise."""
    images, labels = digits(draw)
    noisy = images + draw.normal(0, 20, images.shape)
    return strange_images.written(folder, np.clip(noisy, 0, 255).astype(np.uint8), labels)


def clean_frames(folder: Path, draw: Draw) -> dict[str, Any]:
    """Pictures in a black frame of any width, whatever the class."""
    images, labels = pictures(draw)
    for row, width in enumerate(draw.integers(0, 4, len(images))):
        if width:
            for part in (images[row, :width], images[row, -width:], images[row, :, :width], images[row, :, -width:]):
                part[:] = 0
    return strange_images.written(folder, images, labels)


FORECAST = (
    LeakSet("centred mean that is known ahead", centred_mean, "any", "fresh", "plan7"),
    LeakSet("rank in the month that is known ahead", rank_in_month, "any", "fresh", "plan7"),
    LeakSet("busy days that are known ahead", busiest_days, "any", "fresh", "plan7"),
    LeakSet("takings that are known ahead", other_unit, "any", "fresh", "plan7"),
    LeakSet("running total that is known ahead", running_total, "any", "fresh", "plan7"),
    LeakSet("two months of the year before", repeated_year, "copies", "fresh"),
    LeakSet("curve through weeks", spline_of_weeks, "future", "fresh"),
    LeakSet("prices that are set", clean_prices, None, "fresh"),
    LeakSet("weather to two degrees", clean_weather, None, "fresh"),
    LeakSet("closed days", clean_closed, None, "fresh"),
    LeakSet("growth", clean_growth, None, "fresh"),
    LeakSet("two roofs", clean_solar, None, "fresh"),
)
SERIES = (
    LeakSet("persons named by an angle", offset_of_person, "any", "fresh"),
    LeakSet("windows with a gain", overlapped_gain, "copies", "fresh"),
    LeakSet("decimals of a device", whole_numbers, "any", "fresh"),
    LeakSet("filled with nothing", padded, "any", "fresh"),
    LeakSet("button during the attack", marker_somewhere, "any", "fresh"),
    LeakSet("three gaits", clean_gaits, None, "fresh"),
    LeakSet("angles of persons, kept together", clean_persons, None, "fresh"),
    LeakSet("warmer rooms", clean_level, None, "fresh"),
)
TEXT = (
    LeakSet("said he, he said", said_he, "any", "fresh", "said|so he"),
    LeakSet("stars in the review", stars, "any", "fresh"),
    LeakSet("odd numbers of tickets", odd_tickets, "any", "fresh"),
    LeakSet("cut at a length", cut_at_length, "any", "fresh"),
    LeakSet("quoted mails", quoted_mails, "copies", "fresh"),
    LeakSet("years of classes", years_of_classes, "any", "fresh"),
    LeakSet("sentiment that is right in 73 %", clean_reviews, None, "fresh"),
    LeakSet("one word that is right in 73 %", clean_short, None, "fresh"),
    LeakSet("three trades", clean_topics, None, "fresh"),
    LeakSet("letters with numbers", clean_letters, None, "fresh"),
)
IMAGES = (
    LeakSet("letter of lead in a corner", token_in_a_corner, "any", "fresh"),
    LeakSet("packing of a class", packed_by_class, "any", "fresh"),
    LeakSet("mirrored and brighter", mirrored_brighter, "copies", "fresh"),
    LeakSet("seven bits of a class", even_levels, "any", "fresh"),
    LeakSet("brighter trucks", clean_brighter, None, "fresh"),
    LeakSet("digits under noise", clean_noisy, None, "fresh"),
    LeakSet("frames of any width", clean_frames, None, "fresh"),
)
