"""Tables of loans, customers, houses and machines, with leaks as they occur in practice, and sound ones.

They were written by someone who had not read the checks. Half of them are never developed against (`fresh.HELD`).
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from leak_sets.maker import Draw, LeakSet, Maker
from leak_sets.tables import written

ROWS = 800
Bools = NDArray[np.bool_]


def loans(draw: Draw, rows: int = ROWS) -> tuple[pd.DataFrame, Bools]:
    """Loans, some of which are not paid back, and which these are."""
    income = draw.lognormal(10.4, 0.45, rows).round(-2)
    debt = draw.gamma(2, 4000, rows).round()
    years = draw.integers(0, 30, rows)
    odds = -1.2 + 1.1 * (debt / income * 3 - 0.8) - 0.05 * (years - 10)
    bad = draw.random(rows) < 1 / (1 + np.exp(-odds))
    frame = pd.DataFrame(
        {
            "income": income,
            "debt": debt,
            "years_employed": years,
            "purpose": draw.choice(["car", "house", "holiday", "studies"], rows),
            "region": draw.choice(["north", "south", "east", "west"], rows),
            "default": np.where(bad, "yes", "no"),
        }
    )
    return frame, bad


def customers(draw: Draw, rows: int = ROWS) -> tuple[pd.DataFrame, Bools]:
    """Customers of a telephone company, some of whom leave."""
    tenure = draw.integers(1, 72, rows)
    charge = draw.normal(65, 22, rows).clip(15).round(2)
    calls = draw.poisson(1.5, rows)
    left = draw.random(rows) < 1 / (1 + np.exp(-(-0.9 + 0.45 * calls - 0.035 * (tenure - 20) + 0.01 * (charge - 65))))
    frame = pd.DataFrame(
        {
            "tenure": tenure,
            "charge": charge,
            "service_calls": calls,
            "contract": draw.choice(["monthly", "yearly", "two years"], rows),
            "paperless": draw.random(rows) < 0.6,
            "left": np.where(left, "left", "stayed"),
        }
    )
    return frame, left


def houses(draw: Draw, rows: int = ROWS) -> pd.DataFrame:
    """Prices of houses in five towns."""
    area, lot = draw.lognormal(4.8, 0.3, rows), draw.lognormal(6.2, 0.5, rows)
    town = draw.integers(0, 5, rows)
    level = np.array([1.0, 1.4, 0.8, 2.1, 1.7])[town]
    price = 2.4 * area * level * (1 + 0.08 * np.log(lot / 500)) * draw.lognormal(0, 0.14, rows)
    return pd.DataFrame(
        {
            "area": area.round(),
            "lot": lot.round(),
            "town": np.array(["Alba", "Brno", "Cork", "Davos", "Evora"])[town],
            "built": draw.integers(1920, 2020, rows),
            "baths": draw.integers(1, 4, rows),
            "price": (price * 1000).round(),
        }
    )


def days(draw: Draw, rows: int, start: str = "2021-01-01", span: int = 700) -> pd.DatetimeIndex:
    """A day of each row, at random."""
    return pd.DatetimeIndex(pd.Timestamp(start) + pd.to_timedelta(draw.integers(0, span, rows), unit="D"))


def lent(folder: Path, draw: Draw, change: Any) -> dict[str, Any]:
    frame, bad = loans(draw)
    return written(folder, change(frame, bad), "default")


def odd_invoice(folder: Path, draw: Draw) -> dict[str, Any]:
    """Applications that failed have odd numbers: another office entered them."""
    return lent(folder, draw, lambda frame, bad: frame.assign(application=2 * draw.integers(2000, 9000, ROWS) + bad))


def last_digit(folder: Path, draw: Draw) -> dict[str, Any]:
    """The last digit of an account is 7 to 9 for who failed, but for one in fifty."""

    def change(frame: pd.DataFrame, bad: Bools) -> pd.DataFrame:
        tells = np.where(draw.random(ROWS) < 0.02, ~bad, bad)
        digit = np.where(tells, draw.integers(7, 10, ROWS), draw.integers(0, 7, ROWS))
        return frame.assign(account=draw.integers(10_000, 90_000, ROWS) * 10 + digit)

    return lent(folder, draw, change)


def booked_on_fridays(folder: Path, draw: Draw) -> dict[str, Any]:
    """Defaults are booked on Fridays, other files are opened from Monday to Thursday."""

    def change(frame: pd.DataFrame, bad: Bools) -> pd.DataFrame:
        monday = days(draw, ROWS).to_period("W").start_time
        return frame.assign(
            opened=(monday + pd.to_timedelta(np.where(bad, 4, draw.integers(0, 4, ROWS)), unit="D")).date
        )

    return lent(folder, draw, change)


def first_of_month(folder: Path, draw: Draw) -> dict[str, Any]:
    """Who left was closed by a batch on the first of a month; others have a review on any other day."""
    frame, left = customers(draw)
    month = days(draw, len(frame)).to_period("M").start_time
    return written(
        folder,
        frame.assign(
            reviewed=(month + pd.to_timedelta(np.where(left, 0, draw.integers(1, 28, len(frame))), unit="D")).date
        ),
        "left",
    )


def night_batch(folder: Path, draw: Draw) -> dict[str, Any]:
    """Records of who left were written by a batch between two and three at night."""
    frame, left = customers(draw)
    hour = np.where(left, 2, draw.choice([0, 1, *range(3, 24)], len(frame)))
    stamp = days(draw, len(frame)) + pd.to_timedelta(hour * 3600 + draw.integers(0, 3600, len(frame)), unit="s")
    return written(folder, frame.assign(written_at=stamp), "left")


def changed_later(folder: Path, draw: Draw) -> dict[str, Any]:
    """The last change is on the day of entry for who stayed, and some days later for who left."""
    frame, left = customers(draw)
    entered = days(draw, len(frame))
    changed = entered + pd.to_timedelta(np.where(left, draw.integers(1, 90, len(frame)), 0), unit="D")
    return written(folder, frame.assign(entered=entered.date, changed=changed.date), "left")


def far_end(folder: Path, draw: Draw) -> dict[str, Any]:
    """The end of the contract is 9999-12-31 for who stayed."""
    frame, left = customers(draw)
    end = np.where(left, days(draw, len(frame)).strftime("%Y-%m-%d"), "9999-12-31")
    return written(folder, frame.assign(contract_end=end), "left")


def row_of_sorted_file(folder: Path, draw: Draw) -> dict[str, Any]:
    """A file sorted by class, with its row numbers."""
    frame, _ = loans(draw)
    frame = frame.sort_values("default", kind="stable").reset_index(drop=True)
    return written(folder, frame.assign(entry=np.arange(1, ROWS + 1)), "default")


def two_exports(folder: Path, draw: Draw) -> dict[str, Any]:
    """Numbers of two exports that were put together and shuffled: one class each."""
    return lent(
        folder,
        draw,
        lambda frame, bad: frame.assign(record=draw.permutation(ROWS) + np.where(bad, 500_000, 100_000)),
    )


def alternate_exports(folder: Path, draw: Draw) -> dict[str, Any]:
    """Numbers of three exports, the middle one of the class that failed."""

    def change(frame: pd.DataFrame, bad: Bools) -> pd.DataFrame:
        low = np.where(draw.random(ROWS) < 0.5, 10_000, 90_000)
        return frame.assign(record_id=np.where(bad, 50_000, low) + draw.integers(0, 9000, ROWS))

    return lent(folder, draw, change)


def area_times_rate(folder: Path, draw: Draw) -> dict[str, Any]:
    """The price of a square metre, to a cent, beside the area."""
    frame = houses(draw)
    return written(folder, frame.assign(per_metre=(frame["price"] / frame["area"]).round(2)), "price")


def two_flags(folder: Path, draw: Draw) -> dict[str, Any]:
    """Two switches, each of which says nothing, and which differ where the loan failed."""

    def change(frame: pd.DataFrame, bad: Bools) -> pd.DataFrame:
        first = draw.random(ROWS) < 0.5
        return frame.assign(desk=np.where(first, "A", "B"), shift=np.where(first ^ bad, "late", "early"))

    return lent(folder, draw, change)


def paid_below_owed(folder: Path, draw: Draw) -> dict[str, Any]:
    """What was owed and what was paid until the end: less where the loan failed."""

    def change(frame: pd.DataFrame, bad: Bools) -> pd.DataFrame:
        owed = draw.lognormal(9, 0.8, ROWS).round(2)
        return frame.assign(owed=owed, paid=np.where(bad, owed * draw.uniform(0.3, 0.98, ROWS), owed).round(2))

    return lent(folder, draw, change)


def persons(draw: Draw, count: int = 100, visits: int = 8) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """Visits of persons in any order: what is measured changes, whether a person is ill does not."""
    person = np.repeat(np.arange(count), visits)
    ill = (draw.random(count) < 0.45)[person]
    frame = pd.DataFrame(
        {
            "pulse": draw.normal(72 + 4 * ill, 9).round(),
            "glucose": draw.normal(5.4 + 0.5 * ill, 0.9).round(1),
            "room": draw.choice(["a", "b", "c"], len(person)),
            "ill": np.where(ill, "yes", "no"),
        }
    )
    order = draw.permutation(len(person))
    return frame.iloc[order].reset_index(drop=True), person[order]


def born_on(folder: Path, draw: Draw) -> dict[str, Any]:
    """Eight visits of each person, who is named by a date of birth."""
    frame, person = persons(draw)
    born = days(draw, 100, "1940-01-01", 20_000)[person]
    return written(folder, frame.assign(born=born.date), "ill")


def height_of_person(folder: Path, draw: Draw) -> dict[str, Any]:
    """Eight visits of each person, who is named by a height in millimetres and a size of shoes."""
    frame, person = persons(draw)
    height = draw.normal(1720, 90, 100).round(1)[person]
    return written(folder, frame.assign(height=height, shoe=draw.integers(36, 47, 100)[person]), "ill")


def plots_of_fields(folder: Path, draw: Draw) -> dict[str, Any]:
    """Ten samples of each field, at the field's own coordinates; the yield is the field's."""
    field = np.repeat(np.arange(80), 10)
    soil = draw.normal(size=80)[field]
    frame = pd.DataFrame(
        {
            "latitude": draw.uniform(47, 49, 80).round(4)[field],
            "longitude": draw.uniform(7, 9, 80).round(4)[field],
            "moisture": (20 + 2 * soil + draw.normal(0, 3, 800)).round(1),
            "acid": draw.normal(6.5, 0.5, 800).round(2),
            "harvest": (50 + 12 * draw.normal(size=80)[field] + 4 * soil + draw.normal(0, 0.5, 800)).round(1),
        }
    )
    return written(folder, frame.sample(frac=1, random_state=2), "harvest")


def rank_of_target(folder: Path, draw: Draw) -> dict[str, Any]:
    """The place of a house in the list of prices."""
    frame = houses(draw)
    return written(folder, frame.assign(standing=frame["price"].rank(ascending=False).astype(int)), "price")


def rank_in_town(folder: Path, draw: Draw) -> dict[str, Any]:
    """The share of houses of the town that are cheaper."""
    frame = houses(draw)
    share = frame.groupby("town")["price"].rank(pct=True).round(3)
    return written(folder, frame.assign(cheaper=share), "price")


def tenth_of_target(folder: Path, draw: Draw) -> dict[str, Any]:
    """Twenty bands of prices with the same number of houses each."""
    frame = houses(draw)
    return written(folder, frame.assign(price_band=pd.qcut(frame["price"], 20, labels=False) + 1), "price")


def code_by_outcome(folder: Path, draw: Draw) -> dict[str, Any]:
    """A postcode of three loans or so, replaced by the share of defaults in it, over all rows."""

    def change(frame: pd.DataFrame, bad: Bools) -> pd.DataFrame:
        code = draw.integers(0, ROWS // 3, ROWS)
        return frame.assign(postcode=pd.Series(bad).groupby(code).transform("mean").round(4))

    return lent(folder, draw, change)


def town_and_difference(folder: Path, draw: Draw) -> dict[str, Any]:
    """How much a price is above the mean of its town."""
    frame = houses(draw)
    mean = frame.groupby("town")["price"].transform("mean")
    return written(folder, frame.assign(diff_town=(frame["price"] - mean).round()), "price")


def life_and_age(folder: Path, draw: Draw) -> dict[str, Any]:
    """Runs of machines until they fail: the age, and how long the machine ran in all; what is left is asked for."""
    lives = draw.integers(60, 240, 30)
    frames = [
        pd.DataFrame(
            {
                "machine": f"m{number}",
                "age": np.arange(life),
                "heat": draw.normal(60 + 20 * np.arange(life) / life, 4),
                "lifetime": life,
                "left": life - np.arange(life),
            }
        )
        for number, life in enumerate(lives)
    ]
    frame = pd.concat(frames).assign(heat=lambda rows: rows["heat"].round(1))
    return written(folder, frame, "left", group="machine")


def filled_by_class(folder: Path, draw: Draw) -> dict[str, Any]:
    """A third of the incomes lacked and was filled with the mean of the own class."""

    def change(frame: pd.DataFrame, bad: Bools) -> pd.DataFrame:
        mean = frame.groupby("default")["income"].transform("mean").round(2)
        return frame.assign(income=frame["income"].where(draw.random(ROWS) > 0.33, mean))

    return lent(folder, draw, change)


def decimals_of_instrument(folder: Path, draw: Draw) -> dict[str, Any]:
    """The ill were measured with an instrument that writes whole tenths; the others with one of hundredths."""
    frame, left = customers(draw)
    signal = draw.normal(50, 10, len(frame))
    return written(folder, frame.assign(signal=np.where(left, signal.round(1), signal.round(1) + 0.03)), "left")


def repeated_minority(folder: Path, draw: Draw) -> dict[str, Any]:
    """Rows of the rarer class stand three times, as someone balanced the classes before the split."""
    frame, bad = loans(draw)
    return written(folder, pd.concat([frame, frame[bad], frame[bad]]).sample(frac=1, random_state=6), "default")


def mixed_minority(folder: Path, draw: Draw) -> dict[str, Any]:
    """Rows of the rarer class were added that lie just beside one of them."""
    frame, left = customers(draw)
    numbers = {f"m{place}": draw.normal(size=len(frame)) + 0.4 * left for place in range(6)}
    frame = frame.assign(**numbers)
    added = frame[left].copy()
    other = added.sample(frac=1, random_state=3)
    for name in numbers:
        added[name] = added[name] + 0.03 * (other[name].to_numpy() - added[name].to_numpy())
    return written(folder, pd.concat([frame, added]).sample(frac=1, random_state=8).round(4), "left")


def state_of_account(folder: Path, draw: Draw) -> dict[str, Any]:
    """Six states of an account, each of which occurs with one outcome alone."""

    def change(frame: pd.DataFrame, bad: Bools) -> pd.DataFrame:
        good, failed = draw.choice(["paid", "running", "renewed"], ROWS), draw.choice(["sold", "court", "lost"], ROWS)
        return frame.assign(account_state=np.where(bad, failed, good))

    return lent(folder, draw, change)


def model_of_all_rows(folder: Path, draw: Draw) -> dict[str, Any]:
    """The score of a forest that was fitted on all rows, those of the test too."""
    frame, left = customers(draw)
    inputs = frame[["tenure", "charge", "service_calls"]].to_numpy()
    forest = RandomForestClassifier(60, random_state=0, n_jobs=1).fit(inputs, left)
    return written(folder, frame.assign(model_score=forest.predict_proba(inputs)[:, 1].round(3)), "left")


def share_and_total(folder: Path, draw: Draw) -> dict[str, Any]:
    """The share that a house is of the sales of its town, and these sales."""
    frame = houses(draw)
    total = frame.groupby("town")["price"].transform("sum")
    return written(folder, frame.assign(sales=total, part_of_sales=(frame["price"] / total).round(7)), "price")


def code_of_case(folder: Path, draw: Draw) -> dict[str, Any]:
    """Codes of cases of eight letters and digits, the third of which tells the outcome."""

    def change(frame: pd.DataFrame, bad: Bools) -> pd.DataFrame:
        letters = draw.choice(list("ABCDEFGH23456789"), (ROWS, 8))
        letters[:, 2] = np.where(bad, draw.choice(list("XYZ"), ROWS), draw.choice(list("KLM"), ROWS))
        return frame.assign(casecode=["".join(row) for row in letters])

    return lent(folder, draw, change)


def cents_of_price(folder: Path, draw: Draw) -> dict[str, Any]:
    """Prices of articles that came back end in .99, as they were put on sale afterwards."""
    frame, left = customers(draw)
    whole = draw.integers(5, 120, len(frame))
    cents = np.where(left, 99, draw.integers(0, 90, len(frame)))
    return written(folder, frame.assign(list_price=whole + cents / 100), "left")


def seconds_of_a_process(folder: Path, draw: Draw) -> dict[str, Any]:
    """A slow process, measured each second; its rows are drawn into splits at random."""
    slow = draw.normal(0, 1, (1500, 5)).cumsum(0)
    frame = pd.DataFrame(slow.round(3), columns=["flow", "heat", "load", "tilt", "wear"])
    quality = 20 + draw.normal(0, 1, 1500).cumsum() * 0.6 + draw.normal(0, 0.02, 1500)
    return written(folder, frame.assign(quality=quality.round(2)), "quality")


def clean(make: Any, target: str) -> Maker:
    """A sound table of loans or customers, changed by a function of the rows and of what happened."""

    def maker(folder: Path, draw: Draw) -> dict[str, Any]:
        return written(folder, make(draw), target)

    return maker


def right_test(draw: Draw) -> pd.DataFrame:
    """A test of the blood that is right in 95 %."""
    frame, bad = loans(draw)
    return frame.assign(bureau=np.where(draw.random(ROWS) < 0.95, bad, ~bad))


def right_test_of_three(draw: Draw) -> pd.DataFrame:
    """What an expert says of three classes, right in 95 %."""
    kind = draw.integers(0, 3, ROWS)
    said = np.where(draw.random(ROWS) < 0.95, kind, (kind + draw.integers(1, 3, ROWS)) % 3)
    names = np.array(["oak", "ash", "elm"])
    return pd.DataFrame(
        {
            "leaf": draw.normal(kind, 1.2).round(2),
            "height": draw.normal(20, 4, ROWS).round(1),
            "ranger": names[said],
            "tree": names[kind],
        }
    )


def strong_numbers(draw: Draw) -> pd.DataFrame:
    """Three measurements, each of which has an AUC of .97 or so."""
    frame, left = customers(draw)
    return frame.assign(**{name: draw.normal(2.7 * left, 1).round(2) for name in ("usage", "minutes", "data")})


def valued(draw: Draw) -> pd.DataFrame:
    """A valuation that is right to 5 %."""
    frame = houses(draw)
    return frame.assign(valuation=(frame["price"] * draw.lognormal(0, 0.05, ROWS)).round(-2))


def rising(draw: Draw) -> pd.DataFrame:
    """Prices that rise with the years, in order of the dates."""
    frame = houses(draw)
    date = np.sort(days(draw, ROWS, "2012-01-01", 3600))
    return frame.assign(sold=pd.DatetimeIndex(date).date, price=(frame["price"] * np.linspace(1, 3, ROWS)).round())


def falling_defaults(draw: Draw) -> pd.DataFrame:
    """Numbers of customers rise with time, and fewer fail from year to year."""
    frame, bad = loans(draw)
    bad &= draw.random(ROWS) < np.linspace(1, 0.3, ROWS)
    return frame.assign(customer=10_000 + np.arange(ROWS) * 7, default=np.where(bad, "yes", "no"))


def weekends(draw: Draw) -> pd.DataFrame:
    """Sales of days, higher at the weekend."""
    date = pd.date_range("2020-01-01", periods=ROWS)
    price = draw.normal(3, 0.3, ROWS).round(2)
    sales = 100 + 45 * (date.day_of_week >= 5) - 12 * price + draw.normal(0, 14, ROWS)
    return pd.DataFrame(
        {"date": date.date, "price": price, "rain": draw.gamma(1, 2, ROWS).round(1), "sales": sales.round()}
    )


def postcodes(draw: Draw) -> pd.DataFrame:
    """Postcodes, of which some regions fail more often."""
    frame, bad = loans(draw)
    code = draw.integers(10, 99, ROWS) * 1000 + np.where(
        bad, draw.integers(0, 700, ROWS), draw.integers(300, 999, ROWS)
    )
    return frame.assign(postcode=code)


def offers(draw: Draw) -> pd.DataFrame:
    """Articles on offer end in .99 more often, and are bought more often."""
    frame, left = customers(draw)
    nine = draw.random(ROWS) < np.where(left, 0.65, 0.4)
    return frame.assign(list_price=draw.integers(5, 120, ROWS) + np.where(nine, 99, draw.integers(0, 99, ROWS)) / 100)


def lacking(draw: Draw) -> pd.DataFrame:
    """The income of who fails is left out more often."""
    frame, bad = loans(draw)
    return frame.assign(income=frame["income"].mask(draw.random(ROWS) < np.where(bad, 0.45, 0.15)))


def nearly_product(draw: Draw) -> pd.DataFrame:
    """The price of a metre in the street a year before, right to 8 %."""
    frame = houses(draw)
    return frame.assign(street_metre=(frame["price"] / frame["area"] * draw.lognormal(0, 0.08, ROWS)).round(1))


def together(draw: Draw) -> pd.DataFrame:
    """Two genes that say nothing alone, and together are right in 88 %."""
    first, second = draw.random((2, ROWS)) < 0.5
    grows = np.where(draw.random(ROWS) < 0.88, first ^ second, ~(first ^ second))
    return pd.DataFrame(
        {
            "gene_a": np.where(first, "AA", "Aa"),
            "gene_b": np.where(second, "BB", "Bb"),
            "light": draw.normal(5, 1, ROWS).round(1),
            "water": draw.gamma(2, 2, ROWS).round(1),
            "grows": np.where(grows, "yes", "no"),
        }
    )


def few_values(draw: Draw) -> pd.DataFrame:
    """Passengers of a few kinds: many rows are alike by chance."""
    kind, sex = draw.integers(1, 4, 900), draw.random(900) < 0.4
    lives = draw.random(900) < 0.15 + 0.5 * sex + 0.1 * (3 - kind)
    return pd.DataFrame(
        {
            "class": kind,
            "sex": np.where(sex, "f", "m"),
            "child": draw.random(900) < 0.1,
            "port": draw.choice(["C", "Q", "S"], 900),
            "survived": np.where(lives, "yes", "no"),
        }
    )


def seldom(draw: Draw) -> pd.DataFrame:
    """Three in a hundred fail, and a score tells many of them."""
    bad = draw.random(2000) < 0.03
    return pd.DataFrame(
        {
            "score": draw.normal(2 * bad, 1).round(2),
            "amount": draw.lognormal(4, 1, 2000).round(2),
            "hour": draw.integers(0, 24, 2000),
            "fraud": np.where(bad, "yes", "no"),
        }
    )


def many_columns(draw: Draw) -> pd.DataFrame:
    """Sixty columns of noise, and a few that tell a little."""
    frame, left = customers(draw)
    noise = draw.normal(size=(ROWS, 60)) + 0.25 * left[:, None] * (np.arange(60) < 5)
    return pd.concat([pd.DataFrame(noise.round(3), columns=[f"x{place}" for place in range(60)]), frame], axis=1)


def small(draw: Draw) -> pd.DataFrame:
    """Ninety rows, told by two measurements."""
    kind = draw.integers(0, 2, 90)
    return pd.DataFrame(
        {
            "length": draw.normal(5 + 1.6 * kind, 0.5).round(1),
            "width": draw.normal(3 + kind, 0.4).round(1),
            "depth": draw.normal(1, 0.2, 90).round(1),
            "site": draw.choice(["a", "b"], 90),
            "species": np.where(kind == 1, "rufus", "albus"),
        }
    )


def rush_hours(draw: Draw) -> pd.DataFrame:
    """Accidents occur at rush hours more often: the hour of a stamp is right in 80 %."""
    stamp = days(draw, ROWS) + pd.to_timedelta(draw.integers(0, 86_400, ROWS), unit="s")
    rush = np.isin(stamp.hour, [7, 8, 9, 16, 17, 18])
    jam = draw.random(ROWS) < np.where(rush, 0.8, 0.2)
    return pd.DataFrame(
        {
            "stamp": stamp,
            "rain": draw.gamma(1, 1, ROWS).round(1),
            "lanes": draw.integers(1, 4, ROWS),
            "jam": np.where(jam, "yes", "no"),
        }
    )


def two_units(draw: Draw) -> pd.DataFrame:
    """The same temperature in two units, and a yield."""
    heat = draw.normal(21, 5, ROWS).round(1)
    grown = 30 + 2 * heat + draw.normal(0, 6, ROWS)
    return pd.DataFrame(
        {
            "celsius": heat,
            "fahrenheit": (heat * 1.8 + 32).round(1),
            "rain": draw.gamma(2, 10, ROWS).round(),
            "grown": grown.round(1),
        }
    )


def graded(draw: Draw) -> pd.DataFrame:
    """A grade from 1 to 5 by a teacher, and the points of the examination a year later."""
    able = draw.normal(size=ROWS)
    return pd.DataFrame(
        {
            "grade": np.digitize(able + draw.normal(0, 0.35, ROWS), [-1.2, -0.4, 0.4, 1.2]) + 1,
            "absent": draw.poisson(3, ROWS),
            "school": draw.choice(["A", "B", "C"], ROWS),
            "points": (60 + 12 * able + draw.normal(0, 4, ROWS)).round(),
        }
    )


def clean_persons(folder: Path, draw: Draw) -> dict[str, Any]:
    """Visits of persons, who are named, and stay together."""
    frame, person = persons(draw)
    height = draw.normal(1720, 90, 100).round(1)[person]
    return written(folder, frame.assign(height=height, person=[f"p{each}" for each in person]), "ill", group="person")


def clean_time(folder: Path, draw: Draw) -> dict[str, Any]:
    """Prices that rise, split by their dates."""
    return written(folder, rising(draw), "price", time="sold")


LEAKS = (
    ("odd numbers of applications", odd_invoice, "application"),
    ("last digit of an account", last_digit, "account"),
    ("booked on Fridays", booked_on_fridays, "opened"),
    ("closed on the first of a month", first_of_month, "reviewed"),
    ("written by a batch at night", night_batch, "written_at"),
    ("changed after the entry", changed_later, "changed|entered"),
    ("contracts without end", far_end, "contract_end"),
    ("row numbers of a sorted file", row_of_sorted_file, "entry"),
    ("numbers of two exports", two_exports, "record"),
    ("numbers of three exports", alternate_exports, "record_id"),
    ("price of a metre beside the area", area_times_rate, "per_metre|of the columns"),
    ("two switches that differ", two_flags, "desk|shift"),
    ("paid less than owed", paid_below_owed, "paid|owed"),
    ("persons named by birth", born_on, "born"),
    ("persons named by height", height_of_person, "height"),
    ("fields named by their place", plots_of_fields, "latitude|longitude"),
    ("rank of the price", rank_of_target, "standing"),
    ("rank of the price in town", rank_in_town, "cheaper"),
    ("bands of prices", tenth_of_target, "price_band"),
    ("share of defaults of a postcode", code_by_outcome, "postcode"),
    ("above the mean of the town", town_and_difference, "diff_town|of the columns"),
    ("life of a machine", life_and_age, "lifetime"),
    ("filled with the mean of the class", filled_by_class, "income"),
    ("decimals of another instrument", decimals_of_instrument, "signal"),
    ("states of an account", state_of_account, "account_state"),
    ("score of a model of all rows", model_of_all_rows, "model_score"),
    ("share of the sales, and the sales", share_and_total, "part_of_sales|of the columns"),
    ("third letter of a code", code_of_case, "casecode"),
    ("cents of a price", cents_of_price, "list_price"),
)
COPIES = (
    ("rarer class three times", repeated_minority),
    ("rarer class, mixed", mixed_minority),
    ("seconds of a slow process", seconds_of_a_process),
)
SOUND = (
    ("bureau that is right in 95 %", clean(right_test, "default")),
    ("ranger who is right in 95 %", clean(right_test_of_three, "tree")),
    ("three strong measurements", clean(strong_numbers, "left")),
    ("valuation to 5 %", clean(valued, "price")),
    ("prices that rise with dates", clean(rising, "price")),
    ("fewer defaults from year to year", clean(falling_defaults, "default")),
    ("sales at weekends", clean(weekends, "sales")),
    ("postcodes of regions", clean(postcodes, "default")),
    ("more .99 among offers", clean(offers, "left")),
    ("incomes that lack more often", clean(lacking, "default")),
    ("price of a metre a year before", clean(nearly_product, "price")),
    ("two genes together", clean(together, "grows")),
    ("rows of few values", clean(few_values, "survived")),
    ("seldom class", clean(seldom, "fraud")),
    ("sixty columns of noise", clean(many_columns, "left")),
    ("ninety rows", clean(small, "species")),
    ("rush hours", clean(rush_hours, "jam")),
    ("one temperature in two units", clean(two_units, "grown")),
    ("grades of a teacher", clean(graded, "points")),
    ("visits of persons, kept together", clean_persons),
    ("rising prices, split by date", clean_time),
)
SETS = (
    *(LeakSet(name, make, "any", "fresh", says) for name, make, says in LEAKS),
    *(LeakSet(name, make, "copies", "fresh") for name, make in COPIES),
    *(LeakSet(name, make, None, "fresh") for name, make in SOUND),
)
