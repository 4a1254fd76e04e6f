"""The report on movements of stocks: its verdict, its grid, its parts, and hostile names as text."""

import dataclasses
import html
import re

import numpy as np
import pytest

from multiway.explain import DeletionCurves, mode_maps
from multiway.report import (
    AnswerView,
    BacktestView,
    ClassScore,
    DataCheck,
    ModelCost,
    MovementGrid,
    ReliabilityBin,
    SplitMovements,
    StockReport,
    TextView,
    TrainingRow,
    render_stock_report,
)
from multiway.report.stocks import backtest_rows, movement_grid
from multiway.report.stocks_scores import interval, supporting, verdict
from report_pages import HOSTILE, Page

SECTIONS = {
    "summary": {},
    "data-check": {"check": None},
    "splits": {"splits": ()},
    "scores": {"scores": (), "costs": (), "notes": ()},
    "grid": {"grid": None},
    "calibration": {"reliability": ()},
    "answers": {"answers": (), "answer_note": ""},
    "attention": {"maps": (), "deletion": None},
    "backtest": {"backtest": None},
    "training": {"training": ()},
    "environment": {"environment": {}, "command": ""},
}
TICKERS, MONTHS = ("AAPL", "BRK-A", "NA"), ("2015-10", "2015-11")


def score(model, metric, value, low=None, high=None, **more):
    return ClassScore(model=model, metric=metric, value=value, low=low, high=high, **more)


def scores(own=(0.56, 0.53, 0.59), mcc=(0.11, 0.05, 0.17), majority=0.513, calendar=0.50):
    return [
        score("multiway", "ACC", *own),
        score("multiway", "MCC", *mcc),
        score("majority", "ACC", majority, 0.49, 0.53),
        score("majority", "MCC", None),
        score("logistic regression", "MCC", 0.06, 0.0, 0.12),
        score("calendar look-up", "ACC", calendar, 0.47, 0.53),
    ]


def make_report(names=TICKERS, **changes):
    chance = np.random.default_rng(0)
    counts = chance.integers(20, 40, (len(names), 2))
    days = np.arange("2015-10-01", "2015-10-08", dtype="datetime64[D]")
    row = {"return_gross": 0.021, "return_net": -0.013, "sharpe": -0.7, "sharpe_error": 2.0, "turnover": 0.5}
    content = {
        "title": "stocknet",
        "calendar": "calendar look-up",
        "source": "stocknet",
        "setting": {"Protocol": "stocknet"},
        "scores": scores(),
        "costs": [ModelCost(model="multiway", parameters=366_000, fit_seconds=99.0)],
        "seeds": (0,),
        "check": DataCheck(facts={"Tickers": "87"}),
        "coverage": {"2015-10": "22 days"},
        "splits": [
            SplitMovements(name="train", first="2014-01-02", last="2015-07-31", days=398, movements=20_345),
            SplitMovements(
                name="test", first="2015-10-01", last="2015-12-31", days=64, movements=3_720, rises=1_908, with_text=99
            ),
        ],
        "grid": MovementGrid(tickers=names, months=MONTHS, counts=counts, right=counts // 2, rises=counts // 3),
        "reliability": [ReliabilityBin(confidence=0.55, accuracy=0.5, count=200)],
        "answers": [
            AnswerView(
                ticker=names[0], date="2015-11-03", group="Most confident errors", p_up=0.78, actual="fall",
                movement=-0.012, prices=0.2, texts=-0.1, moved_by=[(names[1], 0.1)], looks_at=[(names[1], 0.2)],
                strongest=[TextView(ticker=names[0], day="2015-11-02", text="$ aapl up", share=0.02)],
            ),
        ],
        "maps": mode_maps([[chance.dirichlet(np.ones(3), (1, 2, 3))]], ["stocks (prices)"], [names]),
        "deletion": DeletionCurves(
            np.array([0, 0.5, 1]), {"gradients": np.array([0.6, 0.4, 0.5])}, np.array([0.6, 0.55, 0.5])
        ),
        "deletion_answers": 16,
        "backtest": BacktestView(
            days=days, lines={"long-short": np.linspace(0, 0.02, 7), "buy and hold": np.linspace(0, -0.01, 7)},
            band=(np.full(7, -0.03), np.full(7, 0.03)), sentence="It returned nothing.", words="Not investment advice.",
            rows=[{"portfolio": "long-short", **row, "max_drawdown": 0.04}],
        ),
        "training": [TrainingRow(epoch=e, train=0.7, validation=0.69 + 0.01 * e, seed=0) for e in range(1, 4)],
        "environment": {"torch": "2"},
        "command": "multiway train stocks",
        "notes": ["Movements are those of the file."],
    }  # fmt: skip
    return StockReport(**{**content, **changes})


def test_every_section_is_there_in_well_formed_html():
    page = Page(render_stock_report(make_report()))
    assert page.sections() == list(SECTIONS)
    assert [attrs["href"] for attrs in page.all("a")] == [f"#{name}" for name in list(SECTIONS)[1:]]


@pytest.mark.parametrize("name", list(SECTIONS)[1:])
def test_a_part_without_content_vanishes(name):
    page = Page(render_stock_report(make_report(**SECTIONS[name])))
    assert page.sections() == [section for section in SECTIONS if section != name]


def test_a_title_alone_makes_a_report():
    page = Page(render_stock_report(StockReport(title="nothing yet")))
    assert page.sections() == [] and "None" not in page.text


def test_nothing_is_asked_of_the_network():
    bare = re.sub(r"data:image/png;base64,[A-Za-z0-9+/=]*", "", render_stock_report(make_report()))
    assert not re.search(r"https?:|//[a-z]|@import|<link|xlink|javascript:", bare, re.IGNORECASE)


def test_hostile_names_stay_text_everywhere():
    answer = AnswerView(
        ticker=HOSTILE, date=HOSTILE, group=HOSTILE, p_up=0.9, actual="fall", moved_by=[(HOSTILE, 0.1)],
        looks_at=[(HOSTILE, 0.2)], strongest=[TextView(ticker=HOSTILE, day=HOSTILE, text=HOSTILE, share=0.1)],
    )  # fmt: skip
    rows = [{"portfolio": HOSTILE, "sharpe": None}]
    base = make_report()
    content = make_report(
        (HOSTILE, "b", "c"), title=HOSTILE, source=HOSTILE, chosen=HOSTILE, setting={HOSTILE: HOSTILE},
        answers=[answer], answer_note=HOSTILE, notes=[HOSTILE], command=HOSTILE, environment={HOSTILE: HOSTILE},
        coverage={HOSTILE: HOSTILE}, unit=HOSTILE, deletion_note=HOSTILE, selected_by=HOSTILE,
        scores=[score(HOSTILE, HOSTILE, 0.5, split=split) for split in ("test", HOSTILE)],
        backtest=dataclasses.replace(base.backtest, rows=rows, sentence=HOSTILE, assumptions=[HOSTILE], words=HOSTILE),
    )  # fmt: skip
    text = render_stock_report(content)
    page = Page(text)
    assert len(page.all("script")) == 2
    assert all(attrs["src"].startswith("data:") for attrs in page.all("img"))
    assert not set("\x00\x1b\u202e\ud800") & set(html.unescape(text))
    assert text.encode()


@pytest.mark.parametrize(
    ("own", "words"),
    [
        ((0.56, 0.53, 0.59), "its interval lies above that"),
        ((0.52, 0.49, 0.55), "its interval holds that, so it may be chance"),
        ((0.47, 0.44, 0.50), "its interval lies below that"),
        ((0.56, None, None), "that is above"),
        ((0.513, None, None), "that is the same"),
    ],
)
def test_the_verdict_sets_the_share_beside_always_naming_one_direction(own, words):
    found = verdict(make_report(scores=scores(own=own)))
    assert found.endswith(f"{words}.") and "is right in 51.3\u202f%" in found
    assert (" interval over days " in found) == (own[1] is not None)


def test_over_seeds_the_interval_over_days_is_averaged():
    rows = [score("multiway", "ACC", 0.5 + s / 100, 0.4 + s / 100, 0.6 + s / 100, seed=s) for s in (0, 2)]
    content = make_report(scores=rows)
    assert interval(content, "multiway", "ACC") == pytest.approx((0.51, 0.41, 0.61, 2))
    assert "mean over 2 seeds (95\u202f% interval over days 41.0 to 61.0" in verdict(content)
    assert interval(content, "multiway", "MCC") is None


@pytest.mark.parametrize(
    ("mcc", "words"),
    [
        ((0.11, 0.05, 0.17), "0 is chance, and the interval is above it"),
        ((0.02, -0.05, 0.08), "0 is chance, and the interval is around it"),
        ((-0.1, -0.2, -0.01), "0 is chance, and the interval is below it"),
    ],
)
def test_the_correlation_is_set_beside_chance(mcc, words):
    assert words in " ".join(supporting(make_report(scores=scores(mcc=mcc))))


def test_a_network_that_a_baseline_beats_has_not_earned_its_place():
    better, worse = (" ".join(supporting(make_report(scores=scores(mcc=(value, -1, 1))))) for value in (0.11, 0.02))
    assert "not earned" not in better and "The best baseline by that measure, logistic regression, has 0.060" in better
    assert "The network has not earned its place: the best baseline by that measure, logistic regression" in worse


def test_labels_that_follow_from_the_calendar_are_said_to():
    assert not any("calendar" in line for line in supporting(make_report()))
    found = supporting(make_report(scores=scores(own=(0.95, 0.9, 0.99), calendar=0.9868)))
    assert "is right in 98.7\u202f%: these labels follow from the calendar" in found[-1]


def test_the_grid_counts_by_month_and_by_ticker():
    counts, right = np.array([[10, 30], [0, 0], [20, 20]]), np.array([[5, 30], [0, 0], [4, 10]])
    grid = movement_grid(MovementGrid(tickers=TICKERS, months=MONTHS, counts=counts, right=right, rises=counts // 2))
    assert [(row.name, row.cells[0].share, row.movements) for row in grid.by_month] == [
        ("2015-10", "30\u202f%", "30"), ("2015-11", "80\u202f%", "50"),
    ]  # fmt: skip
    assert [row.name for row in grid.by_ticker] == ["AAPL", "NA"]
    assert [cell.share for cell in grid.by_ticker[0].cells] == ["88\u202f%", "50\u202f%", "100\u202f%"]
    assert [cell.is_above for cell in grid.by_ticker[1].cells] == [False, False, True]
    few, many = grid.by_ticker[0].cells[1], grid.by_ticker[0].cells[2]
    assert few.shade == 0 and many.shade == pytest.approx(30 / 40)


def test_the_spread_between_tickers_is_set_beside_chance():
    chance = np.random.default_rng(0)
    counts = np.full((400, 1), 50)
    alike = MovementGrid(
        tickers=[f"T{i}" for i in range(400)], months=["2015-10"], counts=counts,
        right=chance.binomial(50, 0.5, (400, 1)), rises=counts // 2,
    )  # fmt: skip
    found = re.findall(r"\d+\.\d", movement_grid(alike).chance)
    assert float(found[1]) == pytest.approx(7.1) and float(found[0]) == pytest.approx(7.1, abs=0.6)


def test_of_many_months_the_last_twelve_are_shown():
    months = [f"20{year}-{month:02d}" for year in (14, 15) for month in range(1, 13)]
    counts = np.full((2, 24), 6)
    grid = movement_grid(
        MovementGrid(tickers=("A", "B"), months=months, counts=counts, right=counts // 2, rises=counts // 2)
    )
    assert grid.months == months[12:] and len(grid.by_month) == 24 and len(grid.by_ticker[0].cells) == 13
    assert "last 12 of 24 months" in grid.note and grid.by_ticker[0].movements == "144"


def test_an_undefined_sharpe_ratio_is_a_dash():
    view = dataclasses.replace(make_report().backtest, rows=[{"portfolio": "a", "sharpe": None, "sharpe_error": None}])
    assert backtest_rows(view) == [("a", ["–", "–", "–", "–", "–"])]
    assert backtest_rows(make_report().backtest)[0][1][:3] == ["+2.1\u202f%", "−1.3\u202f%", "−0.70 ± 2.00"]


def test_texts_and_errors_stand_with_their_answers():
    text = Page(render_stock_report(make_report())).text
    assert "AAPL, 2015-11-03 . named a rise with 78 %; it was a fall (−1.2 %)" in text
    assert "$ aapl up" in text and "+0.0200" in text and "looks most at BRK-A 20.0" in text


def test_the_deletion_chart_shows_the_range_that_there_is():
    text = render_stock_report(make_report())
    chart = text[text.index("Probability of the direction named, by share") :]
    labels = re.findall(r'<span style="bottom:[\d.]+%">([\d.]+)</span>', chart[: chart.index("</figure>")])
    assert labels[0] == "0.40" and labels[-1] == "0.60"
