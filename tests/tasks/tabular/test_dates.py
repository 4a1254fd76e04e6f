"""A column of dates becomes days, and what the calendar says of them."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from multiway.errors import DataError
from multiway.tasks.tabular.config import TableOptions
from multiway.tasks.tabular.encode import DateParts, TableState, calendar
from tasks.tabular.rows import patients, read_table

ILL = TableOptions(target="ill")
STAMPS = pd.Series(pd.date_range("2023-11-28 05:00", periods=60, freq="31h"))


def dated(days=STAMPS):
    return patients().assign(day=days)


def test_a_calendar_by_hand():
    days = np.array([0.0, 0.75, -1.0, 19782.0])  # 1970-01-01, 18:00 of it, 1969-12-31, 2024-02-29
    parts = calendar(days)
    assert parts["year"].tolist() == [1970, 1970, 1969, 2024] and parts["month"].tolist() == [1, 1, 12, 2]
    assert parts["weekday"].tolist() == [3, 3, 2, 3] and parts["day"].tolist() == [1, 1, 31, 29]
    assert parts["hour"].tolist() == [0, 18, 0, 0]


def test_parts_that_change_get_inputs_and_a_missing_date_has_none():
    days = np.array([19723.0, 19724.25, np.nan, 19755.0])  # Monday 2024-01-01, Tuesday 06:00, nothing, Friday 02-02
    parts = DateParts.fit("day", "ISO8601", days)
    assert parts.names == (
        "day: month 1", "day: month 2", "day: Monday", "day: Tuesday", "day: Friday",
        "day: day, sine", "day: day, cosine", "day: hour, sine", "day: hour, cosine",
    )  # fmt: skip
    angle = 2 * np.pi / 31
    wanted = [1, 0, 0, 1, 0, np.sin(angle), np.cos(angle), 1, 0]
    assert parts.inputs(days)[1] == pytest.approx(wanted, abs=1e-12)
    assert (parts.inputs(days)[2] == 0).all() and parts.inputs(days)[3, :5].tolist() == [0, 1, 0, 0, 1]


def test_a_year_is_a_scaled_number_and_what_never_changes_is_left_out():
    parts = DateParts.fit("day", "ISO8601", np.array([0.0, 1461.0]))  # the first of January of 1970 and of 1974
    assert parts.names == ("day: year", "day: Tuesday", "day: Thursday")
    assert parts.inputs(np.array([0.0, 1461.0, 730.0]))[:, 0] == pytest.approx([-1, 1, 0])


FORMS = {
    "stamps": lambda days: days,
    "ISO": lambda days: days.dt.strftime("%Y-%m-%d %H:%M"),
    "with a T and an offset": lambda days: days.dt.strftime("%Y-%m-%dT%H:%M:%S+02:00"),
    "day first": lambda days: days.dt.strftime("%d.%m.%Y %H:%M"),
    "zoned": lambda days: days.dt.tz_localize("Asia/Tokyo"),
    "hours": lambda days: days.dt.to_period("h"),
    "objects": lambda days: days.dt.to_pydatetime().astype(object),
}


@pytest.mark.parametrize("form", FORMS)
def test_one_date_in_every_form(form):
    wanted = (STAMPS - pd.Timestamp(0)) / pd.Timedelta(days=1)
    table = read_table(dated(FORMS[form](STAMPS)), ILL)
    assert table.columns == ("age", "weight", "day", "city", "smokes")
    assert table.inputs.numbers[:, 2] == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("form", ["csv", "parquet", "xlsx"])
def test_files_of_dates_give_the_inputs_of_the_frame(form, tmp_path):
    path = tmp_path / f"rows.{form}"
    write = {"csv": "to_csv", "parquet": "to_parquet", "xlsx": "to_excel"}[form]
    getattr(dated(), write)(path, index=False)
    table, wanted = read_table(path, ILL), read_table(dated(), ILL)
    state = TableState.fit(wanted)
    assert state.inputs(table.inputs) == pytest.approx(state.inputs(wanted.inputs), abs=1e-6)
    repeated = read_table(path, ILL, state)
    assert (state.inputs(repeated.inputs) == state.inputs(table.inputs)).all()


def test_later_dates_are_read_by_the_form_of_the_training():
    """02.03.2024 alone could be February or March."""
    state = TableState.fit(read_table(dated(STAMPS.dt.strftime("%d.%m.%Y")), ILL))
    later = read_table(patients(3).assign(day=["02.03.2024", "2024-03-02", None]), ILL, state)
    assert later.inputs.numbers[:2, 2].tolist() == [19784, 19784] and np.isnan(later.inputs.numbers[2, 2])
    with pytest.raises(DataError, match=r"1 of 2 dates are not written like the others: row 1, column 'day', value 's"):
        read_table(patients(2).assign(day=["02.03.2024", "soon"]), ILL, state)


def test_a_missing_date_is_missing():
    frame = dated()
    frame.loc[:4, "day"] = pd.NaT
    table = read_table(frame, ILL)
    state = TableState.fit(table)
    assert table.inputs.missing() == {"day": 5} and "day is missing" in state.names
    inputs = state.inputs(table.inputs)
    assert inputs[:, 3].tolist() == [1.0] * 5 + [0.0] * 55
    assert (inputs[:5, -len(state.dates[0].names) :] == 0).all()


def test_a_state_with_dates_comes_back_from_json():
    table = read_table(dated(), ILL)
    state = TableState.fit(table)
    repeated = TableState.parse(json.loads(json.dumps(state.plain())))
    assert repeated.names == state.names and (repeated.inputs(table.inputs) == state.inputs(table.inputs)).all()


def test_quarters_and_dates_that_never_change():
    frame = patients().assign(quarter=[f"2023Q{i % 4 + 1}" for i in range(60)], made="2024-01-31", never=pd.NaT)
    table = read_table(frame, ILL)
    assert table.columns == ("age", "weight", "quarter", "city", "smokes")
    assert table.inputs.numbers[:4, 2].tolist() == [19358, 19448, 19539, 19631]


def test_a_linear_model_finds_the_months_that_matter():
    """No sine of the year is high in four months that do not follow each other."""
    chance, months = np.random.default_rng(5), (1, 4, 6, 11)
    day = pd.Series(pd.Timestamp("2021-01-01") + pd.to_timedelta(chance.integers(0, 1095, 900), "D"))
    yes = chance.random(900) < np.where(day.dt.month.isin(months), 0.9, 0.1)
    table = read_table(pd.DataFrame({"day": day, "y": np.where(yes, "yes", "no")}), TableOptions(target="y"))
    train, rest = np.arange(600), np.arange(600, 900)
    state = TableState.fit(table.take(train))
    inputs = state.inputs(table.inputs)
    model = LogisticRegression().fit(inputs[train], table.target[train])
    found = roc_auc_score(table.target[rest], model.decision_function(inputs[rest]))
    best = roc_auc_score(table.target[rest], day.dt.month.isin(months)[rest])
    assert found > best - 0.05 and best > 0.7
