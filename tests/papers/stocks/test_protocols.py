"""Which protocols can be chosen, and how shares and borders cut the days."""

import numpy as np
import pytest

from multiway.data.samples import Samples
from multiway.data.splitting import split
from multiway.errors import ConfigError, DataError
from multiway_papers.stocks.config import DaySplit, StockConfig, StockProtocol
from multiway_papers.stocks.protocols import find_official

DAYS = np.arange("2020-01-01", "2020-04-10", dtype="datetime64[D]")


def split_of(**shares):
    days = Samples(inputs=DAYS, source="made", word="days", labelling=())
    return split(days, DaySplit(**shares))


def test_shares_are_cut_in_the_order_of_time():
    splits = split_of(validation=0.1, test=0.25)
    assert {name: (rows[0], rows[-1] + 1) for name, rows in splits.items()} == {
        "train": (0, 65), "validation": (65, 75), "test": (75, 100),
    }  # fmt: skip


def test_borders_are_first_days():
    names = np.array(find_official(StockProtocol(borders=("2020-02-01", "2020-03-01")), DAYS, "made"))
    first = [str(DAYS[names == name][0]) for name in ("train", "validation", "test")]
    assert first == ["2020-01-01", "2020-02-01", "2020-03-01"] and len(names) == 100


def test_borders_outside_the_days_are_refused():
    with pytest.raises(DataError, match=r"Got train 100, validation 0, test 0, from 2020-01-01 to 2020-04-09"):
        find_official(StockProtocol(borders=("2021-02-01", "2021-03-01")), DAYS, "made")


@pytest.mark.parametrize(
    "values, words",
    [
        ({"name": "stocknett"}, "'chronological', 'stocknet' or 'published-code'"),
        ({"lookback": 5}, "did you mean look_back"),
        ({"look_back": 0}, "look_back: .*greater than or equal to 1"),
        ({"borders": ("2015-08-01", "2015-08-01")}, "borders must rise"),
        ({"borders": ("2015-08-01", "soon")}, "borders are days like 2015-08-01. Got 'soon'"),
        ({"name": "stocknet", "up": 0.01, "down": 0.3}, "down and up cannot be set, the protocol stocknet fixes them"),
        ({"name": "published-code", "borders": ("2015-01-01", "2016-01-01")}, "borders cannot be set"),
        ({"literal": True}, "literal belongs to the protocol published-code. Got chronological"),
        ({"name": "published-code", "complete": True}, "complete belongs to the protocols chronological and stocknet"),
        ({"name": "published-code", "prices": "levels"}, "published-code has levels of its own. Leave prices out"),
    ],
)
def test_contradictions_are_refused_in_one_line(values, words):
    with pytest.raises(ConfigError, match=words) as caught:
        StockProtocol.parse(values, "protocol")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["chronological", "stocknet", "published-code"])
def test_a_stored_protocol_is_read_back(name):
    protocol = StockProtocol(name=name)
    assert StockProtocol.parse(protocol.plain()) == protocol


def test_stocknets_dead_zone_is_fixed():
    assert StockProtocol(name="stocknet").dead_zone == (-0.005, 0.0055)
    assert StockProtocol(down=0.01, up=0.02).dead_zone == (-0.01, 0.02)


@pytest.mark.parametrize(
    "values, words",
    [
        ({"split": {"validation": 0.5, "test": 0.5}}, "must leave some to train on. Got 0.5 and 0.5"),
        (
            {"protocol": {"name": "stocknet"}, "split": {"test": 0.3}},
            "the protocol stocknet fixes it",
        ),
    ],
)
def test_shares_that_do_not_fit_are_refused(values, words):
    with pytest.raises(ConfigError, match=words):
        StockConfig.parse(values)
