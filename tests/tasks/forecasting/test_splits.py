"""Borders of the published protocols and of the user's; window counts as published."""

import itertools

import numpy as np
import pandas as pd
import pytest

from multiway.config import merge, nest
from multiway.data.catalogue import entries
from multiway.errors import ConfigError, DataError, Fix, MultiwayWarning
from multiway.tasks import lifecycle
from multiway.tasks.forecasting import ForecastConfig
from multiway.tasks.forecasting.config import SplitOptions
from multiway.tasks.forecasting.encode import prepare_panel
from multiway.tasks.forecasting.panel import Panel
from multiway.tasks.forecasting.sizes import Borders
from multiway.tasks.forecasting.splitting import ETT_NAMES, borders_of
from multiway.tasks.forecasting.task import TASK
from multiway.tasks.forecasting.windows import check_borders, split_windows
from multiway.tasks.known import settings_for
from tasks.forecasting.panels import make_frame


def panel(rows: int, freq: str = "h", names: tuple[str, ...] = ("a",), tz: str | None = None) -> Panel:
    times = pd.date_range("2020-01-01", periods=rows, freq=freq, tz=tz)
    values = np.zeros((rows, len(names)))
    return Panel(values=values, times=times, names=names, frequency=freq, layout="wide", source="x.csv")


PUBLISHED = [
    ("ett_h1", 96, (8449, 2785, 2785)),
    ("ett_h2", 96, (8449, 2785, 2785)),
    ("ett_m1", 96, (34369, 11425, 11425)),
    ("exchange", 96, (5120, 665, 1422)),
    ("exchange", 720, (4496, 41, 798)),
    ("weather", 96, (36696, 5175, 10444)),
]


@pytest.mark.parametrize(("name", "horizon", "counts"), PUBLISHED)
def test_window_counts_are_the_published_ones(name, horizon, counts):
    known = entries()[name]
    borders = borders_of(panel(known.size[0]), SplitOptions.parse(settings_for(name)["split"]))
    windows = split_windows(np.zeros((known.size[0], 1)), borders, 96, horizon)
    assert tuple(len(windows[split]) for split in ("train", "validation", "test")) == counts


def test_ett_leaves_the_rest_of_the_file_unused():
    assert borders_of(panel(17_420), SplitOptions(protocol="ett_hourly")) == Borders(
        train=(0, 8640), validation=(8640, 11520), test=(11520, 14400)
    )
    assert borders_of(panel(69_680), SplitOptions(protocol="ett_quarter_hourly")).test == (46080, 57600)
    with pytest.raises(
        DataError, match=r"^x\.csv: the protocol ett_hourly uses 14,400 rows\. Got 100\. Set protocol to fraction"
    ):
        borders_of(panel(100), SplitOptions(protocol="ett_hourly"))


def test_auto_knows_an_ett_file():
    auto = SplitOptions(protocol="auto")
    assert borders_of(panel(17_420, "h", ETT_NAMES), auto).train == (0, 8640)
    assert borders_of(panel(69_680, "15min", ETT_NAMES), auto).train == (0, 34560)
    assert borders_of(panel(17_420, "h"), auto).train == (0, 12194)
    assert borders_of(panel(10_000, "h", ETT_NAMES), auto).train == (0, 7000)


def test_fractions_round_down_and_validation_is_the_rest():
    assert borders_of(panel(7_588), SplitOptions()) == Borders(
        train=(0, 5311), validation=(5311, 6071), test=(6071, 7588)
    )
    with pytest.raises(ConfigError, match=r"shares train=0\.8 and test=0\.3 of 10 rows leave no row for one split"):
        borders_of(panel(10), SplitOptions(train=0.8, test=0.3))


@pytest.mark.parametrize("tz", [None, "Europe/Berlin"])
def test_dates(tz):
    options = SplitOptions(protocol="dates", validation_start="2020-02-01", test_start="2020-03-01 12:00")
    borders = borders_of(panel(100, "D", tz=tz), options)
    assert borders == Borders(train=(0, 31), validation=(31, 61), test=(61, 100))


def test_dates_that_cannot_be():
    def split(first: str | None, last: str | None) -> Borders:
        return borders_of(panel(100, "D"), SplitOptions(protocol="dates", validation_start=first, test_start=last))

    with pytest.raises(ConfigError, match="needs validation_start and test_start"):
        split("2020-02-01", None)
    with pytest.raises(ConfigError, match="'soon' is not a time like 2020-01-01"):
        split("soon", "2020-03-01")
    with pytest.raises(
        DataError, match=r"validation_start=2020-03-01 is row 60 and test_start=2020-02-01 is row 31 of 100"
    ):
        split("2020-03-01", "2020-02-01")
    with pytest.raises(DataError, match=r"test_start=2021-01-01 is row 100 of 100.*The data goes from 2020-01-01"):
        split("2020-02-01", "2021-01-01")


def test_whole_numbers_split_too():
    counted = Panel(
        values=np.zeros((50, 1)), times=pd.RangeIndex(100, 150), names=("a",), frequency=None, layout="wide", source="x"
    )
    options = SplitOptions(protocol="dates", validation_start="130", test_start="140")
    assert borders_of(counted, options).validation == (30, 40)


def test_borders_past_the_rows():
    borders = Borders(train=(0, 50), validation=(50, 70), test=(70, 100))
    check_borders(borders, 20, 10, 100)
    with pytest.raises(DataError, match=r"test covers rows 70 to 100 and its past 20 more.*Got 90 rows"):
        check_borders(borders, 20, 10, 90)
    with pytest.raises(DataError, match=r"train has 50 rows and one window needs 60 \(lookback 50, horizon 10"):
        check_borders(borders, 50, 10)


def test_a_short_file_has_sizes_that_fit_it(tmp_path):
    """144 months: neither 96 steps of horizon nor of look-back fit, and a line says what does."""
    path = tmp_path / "months.csv"
    make_frame(rows=144, variates=1, freq="MS").to_csv(path, index=False)
    config = ForecastConfig.parse({"data": str(path), "network": False, "answer": "ridge"})
    said = r"months.csv: shortened to lookback 36 and horizon 12, since there are 100 training rows\."
    with pytest.warns(MultiwayWarning, match=said):
        run = lifecycle.make(TASK, config, str(path))
    assert (run.config.lookback, run.config.horizon) == (36, 12)
    windows = run.prepared.windows["test"]
    assert (windows.lookback, windows.horizon, len(windows)) == (36, 12, 17)


def test_sizes_that_are_given_or_fit_stay():
    short, long = make_frame(rows=144, variates=1, freq="MS"), make_frame(rows=500, variates=1)
    given = ForecastConfig.parse({"lookback": 96, "horizon": 12})
    assert prepared_sizes(ForecastConfig.parse({"horizon": 9}), short) == (36, 9)
    assert prepared_sizes(ForecastConfig.parse({"horizon": 24}), long) == (96, 24)
    with pytest.raises(DataError, match="train has 100 rows and one window needs 108"):
        prepare_panel(given, short)


def prepared_sizes(config, frame):
    windows = prepare_panel(config, frame).windows["train"]
    return windows.lookback, windows.horizon


def advised(config: ForecastConfig, source: object) -> ForecastConfig:
    """A config with all settings that the error of its sizes names."""
    with pytest.raises(DataError, match="needs") as error:
        prepare_panel(config, source)
    fixes = [part for part in error.value.args if isinstance(part, Fix)]
    changed = config.plain()
    changed = {name: changed[name] for name in config.model_fields_set}
    for fix in fixes:
        changed = merge(changed, nest(fix.field, fix.value))
    return ForecastConfig.parse(changed)


DATES = {"protocol": "dates", "validation_start": "2024-02-02", "test_start": "2024-02-05"}


ROWS = [40, 41, 57, 100, 203]
"""Days, among which are those dates."""
GIVEN = [
    {"horizon": 14}, {"horizon": 14, "lookback": 30}, {"horizon": 60, "lookback": 8}, {"horizon": 200},
    {"horizon": 20, "split": {"train": 0.5, "test": 0.49}},
]  # fmt: skip


@pytest.mark.parametrize(("rows", "given"), [
    *itertools.product([9, *ROWS], GIVEN), *((rows, {"horizon": 14, "split": DATES}) for rows in ROWS),
])  # fmt: skip
def test_all_settings_that_an_error_names_fit_together(rows, given):
    frame, config = make_frame(rows=rows, variates=1, freq="D"), ForecastConfig.parse({"network": False, **given})
    try:
        prepare_panel(config, frame)
    except DataError:
        prepare_panel(advised(config, frame), frame)


def test_settings_that_an_error_names_are_all_that_it_takes():
    with pytest.raises(DataError, match=r"\(horizon=8 split.train=0.6\), or give more rows"):
        prepare_panel(ForecastConfig.parse({"horizon": 14}), make_frame(rows=40, variates=1, freq="D"))


def hours(*, weekly, rows=1100):
    """Hours of a day, of which those of two days of a week are low; or a walk."""
    hour, noise = np.arange(rows), np.random.default_rng(3).standard_normal(rows)
    values = np.sin(2 * np.pi * hour / 24) - 3 * (hour // 24 % 7 > 4) + 0.3 * noise if weekly else noise.cumsum()
    return pd.DataFrame({"date": pd.date_range("2024-01-01", periods=rows, freq="h"), "load": values})


@pytest.mark.parametrize(("weekly", "expected"), [(True, 168), (False, 96)])
def test_the_look_back_is_a_week_where_ridge_errs_less_with_it(weekly, expected):
    config = ForecastConfig.parse({"network": False, "horizon": 24})
    prepared = prepare_panel(config, hours(weekly=weekly))
    assert prepared.windows["train"].lookback == expected
    errors = {
        lookback: prepare_panel(config.replace(lookback=lookback), hours(weekly=weekly)).ridge.validation_mse
        for lookback in (96, 168, 336)
    }
    assert min(errors, key=lambda each: errors[each] * (0.8 if each == 96 else 1)) == expected
    assert prepare_panel(config.replace(lookback=48), hours(weekly=weekly)).windows["train"].lookback == 48
