"""A truth value is one value, however a file writes it, and a column that is written anew is refused."""

import numpy as np
import polars
import pytest

import multiway
from multiway.errors import DataError
from multiway.tasks.tabular.config import TableOptions
from multiway.tasks.tabular.encode import TableState
from tasks.tabular.rows import patients, read_table

ILL = TableOptions(target="ill")


def truths(rows=60):
    return patients(rows).assign(ill=lambda frame: frame["ill"] == "yes")


def written(frame, words):
    """Truth values as words."""
    return frame.assign(
        **{name: frame[name].map(dict(zip((False, True), words, strict=True))) for name in ("smokes", "ill")}
    )


@pytest.mark.parametrize("form", ["TRUE", "true", "xlsx", "parquet", "polars", "some missing"])
def test_one_table_in_every_form(form, tmp_path):
    frame, path = truths(), tmp_path / f"rows.{form}"
    state, wanted = TableState.fit(read_table(frame, ILL)), read_table(frame, ILL)
    source: object = path
    if form in ("TRUE", "true"):
        source = path.with_suffix(".csv")
        written(frame, ("FALSE", "TRUE") if form == "TRUE" else ("false", "true")).to_csv(source, index=False)
    elif form == "xlsx":
        frame.to_excel(path, index=False)
    elif form == "parquet":
        frame.to_parquet(path)
    elif form == "polars":
        source = polars.from_pandas(frame)
    else:
        source = frame.astype({"smokes": "boolean"})
    for found in (read_table(source, ILL), read_table(source, ILL, state)):
        assert found.classes == ("False", "True") and (found.target == wanted.target).all()
        assert (state.inputs(found.inputs) == state.inputs(wanted.inputs)).all()
        assert state.unknown(found.inputs) == {}


def test_words_among_truth_values_are_classes_as_written():
    frame = patients().assign(ill=["true", "false", "half-true"] * 20)
    table = read_table(frame, ILL)
    assert table.classes == ("false", "half-true", "true")
    later = read_table(frame[frame["ill"] == "true"], ILL, TableState.fit(table))
    assert set(later.target.tolist()) == {2}


def test_a_column_of_new_levels_is_refused_in_one_line():
    frame = patients()
    state = TableState.fit(read_table(frame, ILL))
    pattern = (
        r"none of the 60 cells of 'city' has a level that training had: column 'city', value 'ULM'\. Write them .*Bonn"
    )
    with pytest.raises(DataError, match=pattern) as caught:
        read_table(frame.assign(city="ULM"), ILL, state)
    assert "\n" not in str(caught.value)
    one = read_table(frame.assign(city=["Ulm"] + ["ULM"] * 59), ILL, state)
    assert state.unknown(one.inputs) == {"city": 59}
    assert state.unknown(read_table(frame[:3].assign(city="ULM"), ILL, state).inputs) == {"city": 3}
    assert len(read_table(frame.assign(city=None), ILL, state)) == 60


def test_an_estimator_gives_truth_values_back_as_they_were():
    frame = written(truths(), ("FALSE", "TRUE"))
    rows, ill = frame.drop(columns="ill"), frame["ill"]
    settings = {"model": {"hidden": [8]}, "draws": 2, "training": {"epochs": 1}}
    model = multiway.TabularClassifier(baselines=["majority"], settings=settings).fit(rows, ill)
    assert model.classes_.tolist() == ["FALSE", "TRUE"] and set(model.predict(rows)) <= {"FALSE", "TRUE"}
    assert model.predict_proba(rows).sum(1) == pytest.approx(np.ones(len(rows)))
