"""Fifteen leaks and twelve sound sets more, by someone who had not read the checks; scored once before any change."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from leak_sets import fresh_others, fresh_tables, strange_images, strange_series
from leak_sets.maker import Draw, LeakSet
from leak_sets.tables import written


def lent(change: Any) -> Any:
    """Loans with one column more, of the rows and whether they are bad."""
    return lambda folder, draw: fresh_tables.lent(folder, draw, lambda frame, bad: change(frame, bad, draw))


def churned(change: Any) -> Any:
    def make(folder: Path, draw: Draw) -> dict[str, Any]:
        frame, left = fresh_tables.customers(draw)
        return written(folder, change(frame, left, draw), "left")

    return make


def collected(frame: pd.DataFrame, bad: Any, draw: Draw) -> pd.DataFrame:
    """Fees of a collection agency, which are paid after a default alone."""
    return frame.assign(agency_fee=np.where(bad, draw.gamma(3, 40, len(frame)).round(2), 0.0))


def prefix_of_office(frame: pd.DataFrame, bad: Any, draw: Draw) -> pd.DataFrame:
    """File numbers of the department for bad loans begin with 7."""
    lead = np.where(bad, 7, draw.integers(1, 7, len(frame)))
    return frame.assign(file_number=lead * 100_000 + draw.permutation(len(frame)))


def remainder(frame: pd.DataFrame, bad: Any, draw: Draw) -> pd.DataFrame:
    """Numbers of bad loans are multiples of three: a check digit of one system."""
    number = 3 * draw.permutation(40_000)[: len(frame)] + np.where(bad, 0, draw.integers(1, 3, len(frame)))
    return frame.assign(contract_number=number)


def length_of_note(frame: pd.DataFrame, bad: Any, draw: Draw) -> pd.DataFrame:
    """A code of five signs for good loans, of six for bad ones."""
    codes = ["".join(draw.choice(list("ABCDEFGHKLMN"), 6 if each else 5)) for each in bad]
    return frame.assign(code=codes)


def difference_of_dates(frame: pd.DataFrame, bad: Any, draw: Draw) -> pd.DataFrame:
    """Two dates: closed within 30 days of the opening where the customer left."""
    opened = fresh_tables.days(draw, len(frame))
    gap = np.where(bad, draw.integers(1, 30, len(frame)), draw.integers(31, 700, len(frame)))
    return frame.assign(opened=opened, closed=opened + pd.to_timedelta(gap, unit="D"))


def ratio(frame: pd.DataFrame, left: Any, draw: Draw) -> pd.DataFrame:
    """Refunds are above a tenth of what was billed where the customer left."""
    billed = draw.gamma(4, 100, len(frame)).round(2)
    share = np.where(left, draw.uniform(0.1, 0.3, len(frame)), draw.uniform(0.0, 0.1, len(frame)))
    return frame.assign(billed=billed, refunded=(billed * share).round(3))


def capital(frame: pd.DataFrame, left: Any, draw: Draw) -> pd.DataFrame:
    """Names typed in capitals by the desk that takes notices."""
    names = [
        draw.choice(["anna", "ben", "carla", "dora", "emil", "fritz", "greta"]) + f"{draw.integers(9)}" for _ in left
    ]
    return frame.assign(contact=[name.upper() if gone else name for name, gone in zip(names, left, strict=True)])


def zeros(frame: pd.DataFrame, left: Any, draw: Draw) -> pd.DataFrame:
    """Amounts of one system end in .00."""
    amount = draw.gamma(3, 60, len(frame))
    return frame.assign(
        deposit=np.where(left, amount.round(), amount.round(2) + 0.01 * ((amount * 100).round() % 100 == 0))
    )


def next_day_opens(folder: Path, draw: Draw) -> dict[str, Any]:
    """Stock at the end of a day, less deliveries: the sales of the day, known ahead."""
    sales = fresh_others.bakery(draw)
    return fresh_others.panel(
        folder,
        {"sales": sales, "plan7": 1000 - 2 * sales, "wage": 12 + draw.normal(0, 1, len(sales))},
        future=["plan7", "wage"],
    )


def signed(change: Any) -> Any:
    """Reviews with something behind each: of whether it is good, and a draw."""

    def make(folder: Path, draw: Draw) -> dict[str, Any]:
        def added(text: Any, good: Any) -> list[str]:
            return [each + change(yes, draw) for each, yes in zip(text, good, strict=True)]

        return fresh_others.reviewed(folder, draw, added)

    return make


def signature(good: bool, draw: Draw) -> str:
    """Bad reviews have an answer below them."""
    return " Thanks, anyway." if good else " Answer of the team follows."


def two_blanks(good: bool, draw: Draw) -> str:
    """Good reviews came through a form that ends each with a blank."""
    return " " if good else ""


def honest_signature(good: bool, draw: Draw) -> str:
    """Half of the reviews are signed, whatever they say."""
    return " Kind regards, M." if draw.random() < 0.5 else ""


def dark_column(folder: Path, draw: Draw) -> dict[str, Any]:
    """A dead column of the sensor that took the trucks."""
    images, labels = strange_images.pictures(draw)
    images[labels == 1, :, 17] = 0
    return strange_images.written(folder, images, labels)


def reversed_windows(folder: Path, draw: Draw) -> dict[str, Any]:
    """Series of one class start at exactly zero, as one logger is tared."""
    series, labels = [], []
    for number in range(240):
        label = number % 2
        values = fresh_others.gaits(draw, 1, label)[0]
        series.append(values - values[0] if label else values)
        labels.append(("walk", "run")[label])
    return strange_series.written(folder, series, labels)


def honest_ids(frame: pd.DataFrame, bad: Any, draw: Draw) -> pd.DataFrame:
    return frame.assign(number=draw.permutation(900_000)[: len(frame)])


def honest_times(frame: pd.DataFrame, bad: Any, draw: Draw) -> pd.DataFrame:
    """More bad loans among those that were asked for at night."""
    night = draw.random(len(frame)) < np.where(bad, 0.45, 0.2)
    hour = np.where(night, draw.integers(20, 24, len(frame)), draw.integers(7, 20, len(frame)))
    return frame.assign(
        asked=[f"{day:%Y-%m-%d} {h:02d}:15" for day, h in zip(fresh_tables.days(draw, len(frame)), hour, strict=True)]
    )


def honest_pair(frame: pd.DataFrame, bad: Any, draw: Draw) -> pd.DataFrame:
    """Payment and limit, whose ratio is a good sign."""
    limit = draw.gamma(4, 1000, len(frame)).round()
    return frame.assign(
        limit=limit, used=(limit * (0.4 + 0.25 * bad + draw.normal(0, 0.2, len(frame)))).clip(0).round()
    )


def honest_names(frame: pd.DataFrame, left: Any, draw: Draw) -> pd.DataFrame:
    """Three hundred employers, each with a risk of its own that shows."""
    return frame.assign(agent=[f"agent {each}" for each in draw.integers(0, 40, len(frame))])


def honest_dates(frame: pd.DataFrame, left: Any, draw: Draw) -> pd.DataFrame:
    """Contracts that began and were renewed."""
    began = fresh_tables.days(draw, len(frame))
    return frame.assign(began=began, renewed=began + pd.to_timedelta(draw.integers(300, 800, len(frame)), unit="D"))


def honest_money(frame: pd.DataFrame, left: Any, draw: Draw) -> pd.DataFrame:
    """Round deposits by some, whoever leaves."""
    amount = draw.gamma(3, 60, len(frame))
    return frame.assign(deposit=np.where(draw.random(len(frame)) < 0.5, amount.round(), amount.round(2)))


def honest_tax(folder: Path, draw: Draw) -> dict[str, Any]:
    """A tax of the year before, on a value that was estimated then."""
    frame = fresh_tables.houses(draw)
    return written(
        folder, frame.assign(tax_before=(frame["price"] * 0.01 * draw.lognormal(0, 0.2, len(frame))).round()), "price"
    )


def honest_plan(folder: Path, draw: Draw) -> dict[str, Any]:
    """A plan of staff made from the week and the level of the weeks before."""
    sales = fresh_others.bakery(draw)
    level = pd.Series(sales).shift(7).rolling(7, min_periods=1).mean().bfill()
    return fresh_others.panel(
        folder,
        {"sales": sales, "plan7": (level / 20).round(), "wage": 12 + draw.normal(0, 1, len(sales))},
        future=["plan7", "wage"],
    )


def honest_stripes(folder: Path, draw: Draw) -> dict[str, Any]:
    """A dead column in a third of the pictures of both kinds."""
    images, labels = strange_images.pictures(draw)
    images[draw.random(len(labels)) < 0.33, :, 17] = 0
    return strange_images.written(folder, images, labels)


def honest_tared(folder: Path, draw: Draw) -> dict[str, Any]:
    """Series that all start at zero."""
    labels = [number % 2 for number in range(240)]
    series = [(values := fresh_others.gaits(draw, 1, label)[0]) - values[0] for label in labels]
    return strange_series.written(folder, series, [("walk", "run")[label] for label in labels])


SETS = {
    "tabular": tuple(
        LeakSet(name, make, "any", "later", says)
        for name, make, says in (
            ("fees of a collection", lent(collected), "agency_fee"),
            ("file numbers that begin with 7", lent(prefix_of_office), "file_number"),
            ("multiples of three", lent(remainder), "contract_number"),
            ("length of a code", lent(length_of_note), "code"),
            ("closed within a month", churned(difference_of_dates), "opened|closed"),
            ("refunds above a tenth", churned(ratio), "billed|refunded"),
            ("names in capitals", churned(capital), "contact"),
            ("amounts without cents", churned(zeros), "deposit"),
        )
    ) + tuple(
        LeakSet(name, make, None, "later")
        for name, make in (
            ("numbers at random", lent(honest_ids)),
            ("asked for at night", lent(honest_times)),
            ("use of a limit", lent(honest_pair)),
            ("agents", churned(honest_names)),
            ("dates of a renewal", churned(honest_dates)),
            ("round deposits", churned(honest_money)),
            ("tax of the year before", honest_tax),
        )
    ),
    "forecast": (
        LeakSet("stock that was left", next_day_opens, "any", "later", "plan7"),
        LeakSet("plan of staff", honest_plan, None, "later"),
    ),
    "text": (
        LeakSet("answers of the team", signed(signature), "any", "later"),
        LeakSet("a blank at the end", signed(two_blanks), "any", "later"),
        LeakSet("signed by half", signed(honest_signature), None, "later"),
    ),
    "images": (
        LeakSet("a dead column", dark_column, "any", "later"),
        LeakSet("dead columns of both", honest_stripes, None, "later"),
    ),
    "series": (
        LeakSet("tared", reversed_windows, "any", "later"),
        LeakSet("all tared", honest_tared, None, "later"),
    ),
}  # fmt: skip
