"""Forty-five leaks and twenty-eight sound sets, by someone who had not read the checks; scored before any change."""

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from leak_sets import fresh_arrays, fresh_others, fresh_tables, strange_images, strange_series
from leak_sets.fresh_others import DAYS, bakery
from leak_sets.later import churned, lent
from leak_sets.maker import Draw, LeakSet, Maker
from leak_sets.tables import patients, written

NAMES = "anna ben carla dora emil fritz greta hugo ines jan kira leo mona nils olga paul".split()
Change = Callable[[pd.DataFrame, Any, Draw], pd.DataFrame]


def sold(change: Callable[[pd.DataFrame, Draw], pd.DataFrame]) -> Maker:
    """Houses with a column more."""
    return lambda folder, draw: written(folder, change(fresh_tables.houses(draw), draw), "price")


def treated(change: Change, **read: Any) -> Maker:
    """Patients with a column more, of the rows and whether they are ill."""

    def make(folder: Path, draw: Draw) -> dict[str, Any]:
        frame = patients(draw)
        return written(folder, change(frame, (frame["ill"] == "yes").to_numpy(), draw), "ill", **read)

    return make


def recovery_dates(frame: pd.DataFrame, bad: Any, draw: Draw) -> pd.DataFrame:
    """A date of recovery, which defaults alone have."""
    dates = fresh_tables.days(draw, len(frame)).strftime("%Y-%m-%d")
    return frame.assign(recovered_on=np.where(bad, dates, ""))


def digit_sums(frame: pd.DataFrame, bad: Any, draw: Draw) -> pd.DataFrame:
    """Numbers whose digits sum up to an even number for bad loans: a check of another system."""
    number = draw.integers(10_000, 99_999, len(frame))
    odd = np.array([sum(map(int, str(each))) % 2 for each in number], dtype=bool)
    last = number % 10
    return frame.assign(contract=np.where(odd == bad, number - last + (last + 1) % 10, number))


def clerks(frame: pd.DataFrame, bad: Any, draw: Draw) -> pd.DataFrame:
    """The clerk who touched a file last: twelve of collections, thirty of sales."""
    return frame.assign(
        last_clerk=np.where(
            bad,
            [f"c{each}" for each in draw.integers(100, 112, len(frame))],
            [f"c{each}" for each in draw.integers(112, 142, len(frame))],
        )
    )


def states(frame: pd.DataFrame, bad: Any, draw: Draw) -> pd.DataFrame:
    """The state of the account at the export, wrong in three of a hundred."""
    told = np.where(draw.random(len(frame)) < 0.03, ~bad, bad)
    return frame.assign(
        state=np.where(
            told, draw.choice(["written off", "sold", "legal"], len(frame)), draw.choice(["open", "closed"], len(frame))
        )
    )


def paid_to_the_cent(frame: pd.DataFrame, bad: Any, draw: Draw) -> pd.DataFrame:
    """What was due and what was paid, which are equal for good loans alone."""
    due = draw.gamma(4, 300, len(frame)).round(2)
    return frame.assign(due=due, paid=np.where(bad, (due + draw.normal(0, 200, len(frame))).clip(0).round(2), due))


def versions(frame: pd.DataFrame, bad: Any, draw: Draw) -> pd.DataFrame:
    """Identifiers of two programs: version 1 for bad loans, version 4 for good ones."""
    made = [str(uuid.UUID(bytes=draw.bytes(16), version=1 if each else 4)) for each in bad]
    return frame.assign(request=made)


def remarks(frame: pd.DataFrame, bad: Any, draw: Draw) -> pd.DataFrame:
    """Remarks of the office; those on bad loans speak of dunning."""
    usual = ["called the customer", "papers complete", "asked for payslips", "met at the branch", "letter returned"]
    late = ["second dunning sent", "dunning letter", "third dunning, no answer"]
    return frame.assign(
        remark=[
            f"{draw.choice(usual)}; {draw.choice(late if each else usual)} on {draw.integers(1, 29)}." for each in bad
        ]
    )


def domains(frame: pd.DataFrame, bad: Any, draw: Draw) -> pd.DataFrame:
    """Addresses of mail: those of bad loans were taken over by a box of the bank."""
    shown = [f"{draw.choice(NAMES)}{draw.integers(999)}@" for _ in bad]
    return frame.assign(
        mail=[
            each + ("workout.bank" if yes else draw.choice(["mail.com", "post.org", "web.net"]))
            for each, yes in zip(shown, bad, strict=True)
        ]
    )


def blanks(frame: pd.DataFrame, bad: Any, draw: Draw) -> pd.DataFrame:
    """Regions of bad loans have a blank at the end, as the second export pads them."""
    return frame.assign(region=[f"{each} " if yes else each for each, yes in zip(frame["region"], bad, strict=True)])


def late_numbers(frame: pd.DataFrame, left: Any, draw: Draw) -> pd.DataFrame:
    """Numbers of rows: those of who left were put below the others."""
    order = np.argsort(np.argsort(left + draw.random(len(frame))))
    frame = frame.assign(record=1000 + 3 * order)
    return frame.iloc[draw.permutation(len(frame))]


def last_invoices(frame: pd.DataFrame, left: Any, draw: Draw) -> pd.DataFrame:
    """The last invoice, which is of the last month for all who stay."""
    ago = np.where(left, draw.integers(31, 500, len(frame)), draw.integers(0, 31, len(frame)))
    return frame.assign(last_invoice=(pd.Timestamp("2023-06-30") - pd.to_timedelta(ago, unit="D")).date)


def seconds_of_a_batch(frame: pd.DataFrame, left: Any, draw: Draw) -> pd.DataFrame:
    """Changes of who left were written by a batch, on full minutes."""
    second = np.where(left, 0, draw.integers(1, 60, len(frame)))
    stamp = fresh_tables.days(draw, len(frame)) + pd.to_timedelta(
        60 * draw.integers(0, 1440, len(frame)) + second, unit="s"
    )
    return frame.assign(changed=stamp.strftime("%Y-%m-%d %H:%M:%S"))


def deleted_phones(frame: pd.DataFrame, left: Any, draw: Draw) -> pd.DataFrame:
    """Telephone numbers, which are deleted when a customer leaves; some never gave one."""
    numbers = [f"0{draw.integers(600, 700)} {draw.integers(100_000, 999_999)}" for _ in left]
    gone = left | (draw.random(len(frame)) < 0.03)
    return frame.assign(phone=np.where(gone, "", numbers))


def days_without_login(frame: pd.DataFrame, left: Any, draw: Draw) -> pd.DataFrame:
    """Days since the last login at the export: above 90 for all who left."""
    return frame.assign(
        idle_days=np.where(left, 91 + draw.gamma(2, 60, len(frame)).round(), draw.integers(0, 90, len(frame)))
    )


def rates_of_agents(frame: pd.DataFrame, left: Any, draw: Draw) -> pd.DataFrame:
    """The share of an agent's customers who left, these rows among them; an agent has one or two."""
    agent = draw.integers(0, 600, len(frame))
    return frame.assign(agent_rate=pd.Series(left.astype(float)).groupby(agent).transform("mean").round(3).to_numpy())


def households(frame: pd.DataFrame, left: Any, draw: Draw) -> pd.DataFrame:
    """Persons of a household and those of them who left, oneself among them."""
    house = draw.integers(0, 500, len(frame))
    counts = pd.Series(left.astype(int)).groupby(house).agg(["size", "sum"])
    return frame.assign(
        persons=counts["size"].to_numpy()[np.unique(house, return_inverse=True)[1]],
        gone=counts["sum"].to_numpy()[np.unique(house, return_inverse=True)[1]],
    )


def duty(frame: pd.DataFrame, draw: Draw) -> pd.DataFrame:
    """A duty in three steps of the price."""
    price = frame["price"]
    return frame.assign(
        duty=(
            0.02 * price.clip(upper=250_000)
            + 0.05 * (price - 250_000).clip(0, 300_000)
            + 0.1 * (price - 550_000).clip(0)
        ).round()
    )


def commission(frame: pd.DataFrame, draw: Draw) -> pd.DataFrame:
    """A commission of 3 %, in dollars with commas."""
    return frame.assign(commission=[f"${0.03 * each:,.0f}" for each in frame["price"]])


def discount(frame: pd.DataFrame, draw: Draw) -> pd.DataFrame:
    """What was asked, and by how many percent it was lowered."""
    off = draw.uniform(0, 30, len(frame)).round(1)
    return frame.assign(listed=(frame["price"] / (1 - off / 100)).round(), off=off)


def wards(frame: pd.DataFrame, ill: Any, draw: Draw) -> pd.DataFrame:
    """The ward on which a patient lies once the diagnosis is known."""
    return frame.assign(
        ward=np.where(
            ill, draw.choice(["3a", "3b", "7"], len(frame)), draw.choice(["1", "2", "4", "5", "6"], len(frame))
        )
    )


def drugs(frame: pd.DataFrame, ill: Any, draw: Draw) -> pd.DataFrame:
    """What was given: the ill get one of two drugs, in a dose."""
    usual, of_ill = ["ibuprofen", "none", "vitamin d", "aspirin"], ["tamoxifen", "letrozole"]
    given = [f"{draw.choice(of_ill if each else usual)} {draw.choice([5, 10, 20])} mg" for each in ill]
    return frame.assign(given=given)


def same_names(folder: Path, draw: Draw) -> dict[str, Any]:
    """Eight visits of each patient, drawn at random; the name stands in each row, and so does the diagnosis."""
    persons = patients(draw, 110)
    frame = persons.loc[np.repeat(np.arange(len(persons)), 8)].reset_index(drop=True)
    frame["marker"] = (frame["marker"] * draw.lognormal(0, 0.5, len(frame))).round(2)
    frame["pressure"] += draw.normal(0, 8, len(frame)).round()
    name = [f"{draw.choice(NAMES).title()} {draw.choice(NAMES).title()}son {place}" for place in range(len(persons))]
    frame.insert(0, "patient", np.repeat(name, 8))
    return written(folder, frame, "ill")


def points(folder: Path, draw: Draw) -> dict[str, Any]:
    """Points of an examination, from which the mark is made."""
    hours, points = draw.gamma(3, 4, 800).round(1), draw.normal(60, 18, 800).clip(0, 100).round()
    mark = np.select([points >= 80, points >= 50], ["A", "B"], "C")
    attended = (points / 10 + draw.normal(0, 3, 800)).clip(0, 12).round()
    return written(folder, pd.DataFrame({"hours": hours, "attended": attended, "points": points, "mark": mark}), "mark")


def known_ahead(make: Callable[[pd.Series, Draw], Any]) -> Maker:
    """Sales of a bakery with a plan that is said to be known ahead."""

    def written_panel(folder: Path, draw: Draw) -> dict[str, Any]:
        sales = bakery(draw)
        columns = {"sales": sales, "plan7": make(pd.Series(sales), draw), "wage": 12 + draw.normal(0, 1, DAYS)}
        return fresh_others.panel(folder, columns, future=["plan7", "wage"])

    return written_panel


def orders_of_tomorrow(sales: pd.Series, draw: Draw) -> Any:
    return (0.5 * sales.shift(-1).ffill() * draw.lognormal(0, 0.01, len(sales))).round(1)


def mean_of_month(sales: pd.Series, draw: Draw) -> Any:
    """The mean of the calendar month, days to come among them."""
    return sales.groupby(pd.date_range("2020-01-01", periods=len(sales)).to_period("M")).transform("mean").to_numpy()


def interpolated(folder: Path, draw: Draw) -> dict[str, Any]:
    """Meters that are read every fourth day; the days between were filled with a line."""
    day = np.arange(DAYS)
    columns = {}
    for name in ("north", "south"):
        read = 100 + draw.normal(0, 5, len(day[::4])).cumsum()
        columns[name] = np.interp(day, day[::4], read)
    return fresh_others.panel(folder, columns)


def stamped_late(folder: Path, draw: Draw) -> dict[str, Any]:
    """Two meters of one flow, one of which is stamped five days early."""
    flow = bakery(draw, DAYS + 5)
    return fresh_others.panel(folder, {"inlet": flow[:DAYS], "outlet": (flow * draw.lognormal(0, 0.01, len(flow)))[5:]})


def levels(sales: pd.Series, draw: Draw) -> Any:
    """How busy a day was, from 1 to 5, written down in the evening."""
    return pd.qcut(sales, 5, labels=False).to_numpy() + 1


def said(change: Callable[[str, bool, Draw], str]) -> Maker:
    """Reviews that are changed by whether they are good."""

    def make(folder: Path, draw: Draw) -> dict[str, Any]:
        def changed(text: Any, good: Any) -> list[str]:
            return [change(each, bool(yes), draw) for each, yes in zip(text, good, strict=True)]

        return fresh_others.reviewed(folder, draw, changed)

    return make


def numbered(text: str, good: bool, draw: Draw) -> str:
    """Good reviews were loaded first, and have low numbers."""
    return f"Review {draw.integers(1, 5000) if good else draw.integers(5000, 9999)}: {text}"


def apostrophes(text: str, good: bool, draw: Draw) -> str:
    """One site writes round apostrophes, the other straight ones."""
    return f"{text} It{'’' if good else chr(39)}s what it is."


def small_start(text: str, good: bool, draw: Draw) -> str:
    """Good reviews begin with a capital."""
    return text[0].upper() + text[1:] if good else text


def told(text: str, good: bool, draw: Draw) -> str:
    """The verdict of the writer stands in the text."""
    return f"{text} Verdict: {'recommended' if good else 'not for me'}, seen on {draw.integers(1, 29)} May."


def translated(text: str, good: bool, draw: Draw) -> str:
    """Bad reviews come from a site that translates."""
    return text if good else f"{text} (translated from {draw.choice(['German', 'Polish', 'Danish'])})"


def written_digits(draw: Draw) -> tuple[strange_images.Bytes, Any]:
    """Digits by two writers: those from 5 on, and the others."""
    images, labels = strange_images.digits(draw)
    return images, (labels > 4).astype(np.int64)


def never_white(folder: Path, draw: Draw) -> dict[str, Any]:
    """The camera of large digits saturates at 200."""
    images, labels = written_digits(draw)
    images[labels == 1] = np.minimum(images[labels == 1], 200)
    return strange_images.written(folder, images, labels)


def right_edge(folder: Path, draw: Draw) -> dict[str, Any]:
    """Pictures of large digits were cut with a grey line at their right edge."""
    images, labels = written_digits(draw)
    images[labels == 1, :, -1] = 90
    return strange_images.written(folder, images, labels)


def flipped(folder: Path, draw: Draw) -> dict[str, Any]:
    """A test picture in five is a training picture, mirrored."""
    images, labels = written_digits(draw)
    for row in range(480, 512):
        images[row], labels[row] = images[row - 400, :, ::-1], labels[row - 400]
    return strange_images.written(folder, images, labels)


def recorded(change: Callable[[Any, int, Draw], Any]) -> Maker:
    """Series of one gait, changed by their class."""

    def make(folder: Path, draw: Draw) -> dict[str, Any]:
        series = [change(fresh_others.gaits(draw, 1, 1)[0], row % 2, draw) for row in range(240)]
        return strange_series.written(folder, series, [("old", "new")[row % 2] for row in range(240)])

    return make


def held(values: Any, label: int, draw: Draw) -> Any:
    """The old device measures every second step, and repeats it."""
    return values if label else np.repeat(values[::2], 2, axis=0)[: len(values)]


def warm(values: Any, label: int, draw: Draw) -> Any:
    """A third axis has the temperature of the device, of which there are two."""
    return np.column_stack([values, 22 + 5 * label + 0.3 * draw.normal(size=len(values))])


def longer(values: Any, label: int, draw: Draw) -> Any:
    """The new program stops a step later."""
    return values[: 84 + label]


def made_up_rows(folder: Path, draw: Draw) -> dict[str, Any]:
    """Rows of the rare class were made as means of two neighbours before rows were drawn."""
    x = draw.normal(size=(700, 8))
    y = (x[:, :3].sum(1) + draw.normal(0, 1, 700) > 2.2).astype(int)
    rare = x[y == 1]
    pairs = draw.integers(0, len(rare), (500, 2))
    share = draw.uniform(0, 0.15, (500, 1))
    x = np.concatenate([x, rare[pairs[:, 0]] * (1 - share) + rare[pairs[:, 1]] * share])
    return {"X": x, "y": np.append(y, np.ones(500, int)), **fresh_arrays.halves(draw, len(x))}


# sound ones


def births(frame: pd.DataFrame, bad: Any, draw: Draw) -> pd.DataFrame:
    """Days of birth; the young fail more often."""
    year = (
        np.where(bad, draw.normal(1985, 11, len(frame)), draw.normal(1977, 12, len(frame))).clip(1935, 2003).astype(int)
    )
    return frame.assign(born=[f"{each}-{draw.integers(1, 13):02d}-{draw.integers(1, 29):02d}" for each in year])


def notes(frame: pd.DataFrame, bad: Any, draw: Draw) -> pd.DataFrame:
    """Notes of the first talk; some words are heard more often of those who fail."""
    calm, worried = (
        ["stable job", "owns a flat", "long customer", "married"],
        ["second job", "moved often", "new in town", "self-employed"],
    )
    odds = np.where(bad, 0.65, 0.35)
    words = [[str(draw.choice(worried if draw.random() < odd else calm)) for _ in range(2)] for odd in odds]
    return frame.assign(note=[", ".join(pair) for pair in words])


def lacking_at_random(frame: pd.DataFrame, bad: Any, draw: Draw) -> pd.DataFrame:
    """A score of a bureau, which lacks for a third of all."""
    score = (600 - 40 * bad + draw.normal(0, 60, len(frame))).round()
    return frame.assign(score=np.where(draw.random(len(frame)) < 0.33, np.nan, score))


def branches(frame: pd.DataFrame, bad: Any, draw: Draw) -> pd.DataFrame:
    """Twenty branches, of which some lend to anyone."""
    weight = draw.uniform(0.2, 1, 20)
    good = weight[::-1]
    chosen = [draw.choice(20, p=(weight if each else good) / (weight if each else good).sum()) for each in bad]
    return frame.assign(branch=[f"branch {each}" for each in chosen])


def fares(frame: pd.DataFrame, left: Any, draw: Draw) -> pd.DataFrame:
    """Prices that end in .99 for one tariff, which more of those who leave have."""
    cheap = draw.random(len(frame)) < np.where(left, 0.6, 0.4)
    return frame.assign(
        fare=np.where(cheap, draw.integers(9, 30, len(frame)) + 0.99, draw.integers(9, 60, len(frame)) + 0.5)
    )


def oldest_first(frame: pd.DataFrame, left: Any, draw: Draw) -> pd.DataFrame:
    """A file in the order of the contracts; new customers leave more often."""
    return frame.sort_values("tenure", ascending=False, kind="stable").reset_index(drop=True)


def tickets(frame: pd.DataFrame, left: Any, draw: Draw) -> pd.DataFrame:
    """Complaints of the year before, a strong and honest sign."""
    return frame.assign(complaints=draw.poisson(np.where(left, 5.0, 0.8)))


def postcodes(frame: pd.DataFrame, draw: Draw) -> pd.DataFrame:
    """Sixty postcodes with levels of their own."""
    code = draw.integers(0, 60, len(frame))
    level = draw.lognormal(0, 0.25, 60)
    return frame.assign(
        postcode=[f"{10_000 + 37 * each}" for each in code], price=(frame["price"] * level[code]).round()
    )


def survey(folder: Path, draw: Draw) -> dict[str, Any]:
    """Answers from 1 to 5 to four questions, and whether someone buys: many rows are alike."""
    mood = draw.normal(size=(900, 1))
    answers = (3 + mood + draw.normal(0, 0.8, (900, 4))).round().clip(1, 5).astype(int)
    buys = draw.random(900) < 1 / (1 + np.exp(-1.2 * mood[:, 0]))
    return written(folder, pd.DataFrame(answers, columns=list("abcd")).assign(buys=np.where(buys, "yes", "no")), "buys")


def holidays(sales: pd.Series, draw: Draw) -> Any:
    """Holidays, which have no effect here, by the calendar."""
    days = pd.date_range("2020-01-01", periods=len(sales))
    return ((days.month == 12) & (days.day > 23) | (days.day == 1) & (days.month == 5)).astype(int)


def budget(sales: pd.Series, draw: Draw) -> Any:
    """A budget by the mean of the same weekday over the year before."""
    return (
        sales.shift(7)
        .groupby(np.arange(len(sales)) % 7)
        .transform(lambda part: part.rolling(52, min_periods=1).mean())
        .bfill()
    )


def two_shops(folder: Path, draw: Draw) -> dict[str, Any]:
    """Two shops in one street: what one sells the other does, to some percent."""
    sales = bakery(draw)
    return fresh_others.panel(folder, {"one": sales, "two": 0.7 * sales * draw.lognormal(0, 0.04, DAYS)})


def mixed_apostrophes(text: str, good: bool, draw: Draw) -> str:
    return f"{text} It{draw.choice(['’', chr(39)])}s what it is."


def longer_when_bad(text: str, good: bool, draw: Draw) -> str:
    """Who is angry writes more."""
    more = draw.integers(0, 3) if good else draw.integers(0, 5)
    return text + " ".join([""] + [f"{fresh_others.sentence(draw, 0.6 if good else 0.4)}." for _ in range(more)])


def plain_words(text: str, good: bool, draw: Draw) -> str:
    """Three of four say what they think in the first words."""
    lean = 0.75 if good else 0.25
    return f"{'I liked it' if draw.random() < lean else 'I did not like it'}. {text}"


def dated(folder: Path, draw: Draw) -> dict[str, Any]:
    """A stamp of the camera in the corner of all pictures."""
    images, labels = written_digits(draw)
    images[:, -4:-1, -9:-1] = 255 * (draw.random((len(images), 3, 8)) < 0.5)
    return strange_images.written(folder, images, labels)


def two_devices(values: Any, label: int, draw: Draw) -> Any:
    """Two devices with a level of their own, which both classes use; the new gait is a little faster."""
    quick = values * (1 + 0.4 * label)
    return quick + 2 * float(draw.random() < 0.5)


LEAKS: dict[str, tuple[tuple[str, Maker, str], ...]] = {
    "tabular": (
        ("dates of recovery", lent(recovery_dates), "recovered_on"),
        ("sums of digits", lent(digit_sums), "contract"),
        ("clerks of collections", lent(clerks), "last_clerk"),
        ("state at the export", lent(states), "state"),
        ("paid to the cent", lent(paid_to_the_cent), "due|paid"),
        ("versions of identifiers", lent(versions), "request"),
        ("remarks on dunning", lent(remarks), "remark"),
        ("domains of mail", lent(domains), "mail"),
        ("regions with a blank", lent(blanks), "region"),
        ("numbers of rows", churned(late_numbers), "record"),
        ("last invoice", churned(last_invoices), "last_invoice"),
        ("full minutes", churned(seconds_of_a_batch), "changed"),
        ("deleted phones", churned(deleted_phones), "phone"),
        ("days without a login", churned(days_without_login), "idle_days"),
        ("rates of agents", churned(rates_of_agents), "agent_rate"),
        ("gone of a household", churned(households), "persons|gone"),
        ("duty in steps", sold(duty), "duty"),
        ("commission in dollars", sold(commission), "commission"),
        ("asked and lowered", sold(discount), "listed|off"),
        ("wards", treated(wards), "ward"),
        ("drugs with a dose", treated(drugs), "given"),
        ("names of patients", same_names, ""),
        ("points of a mark", points, "points"),
    ),
    "forecast": (
        ("orders of tomorrow", known_ahead(orders_of_tomorrow), "plan7"),
        ("mean of the month", known_ahead(mean_of_month), "plan7"),
        ("five levels", known_ahead(levels), "plan7"),
        ("every fourth day", interpolated, ""),
        ("stamped early", stamped_late, ""),
    ),
    "text": (
        ("numbered reviews", said(numbered), ""),
        ("apostrophes of a site", said(apostrophes), ""),
        ("small first letters", said(small_start), ""),
        ("verdicts", said(told), ""),
        ("translated", said(translated), ""),
    ),
    "images": (("never white", never_white, ""), ("a right edge", right_edge, ""), ("mirrored", flipped, "")),
    "series": (
        ("every value twice", recorded(held), ""),
        ("warm device", recorded(warm), ""),
        ("a step longer", recorded(longer), ""),
    ),
    "arrays": (("rows that were made up", made_up_rows, ""),),
}  # fmt: skip
SOUND: dict[str, tuple[tuple[str, Maker], ...]] = {
    "tabular": (
        ("days of birth", lent(births)),
        ("notes of a talk", lent(notes)),
        ("a score that lacks", lent(lacking_at_random)),
        ("branches", lent(branches)),
        ("fares", churned(fares)),
        ("oldest first", churned(oldest_first)),
        ("complaints", churned(tickets)),
        ("postcodes of houses", sold(postcodes)),
        ("a survey", survey),
    ),
    "forecast": (
        ("holidays", known_ahead(holidays)),
        ("a budget", known_ahead(budget)),
        ("two shops", two_shops),
    ),
    "text": (
        ("apostrophes of both", said(mixed_apostrophes)),
        ("longer when bad", said(longer_when_bad)),
        ("plain words", said(plain_words)),
    ),
    "images": (("stamps of a camera", dated),),
    "series": (("two devices", recorded(two_devices)),),
}
SETS = {
    task: (
        *(LeakSet(name, make, "any", "later", says) for name, make, says in leaks),
        *(LeakSet(name, make, None, "later") for name, make in SOUND.get(task, ())),
    )
    for task, leaks in LEAKS.items()
}
