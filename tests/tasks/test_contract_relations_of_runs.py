"""What every task promises of a run told in another way: where it lies, and with data in memory."""

import re
import shutil
from collections.abc import Mapping

import numpy as np
import pandas as pd
import polars
import pytest
import xarray
from PIL import Image

import multiway
from command import printed
from multiway.tasks.lifecycle import reread
from multiway.tasks.run import load
from tasks.answered import answered, assert_same_answers, own_answers, place_of
from tasks.finished import finished
from tasks.later_data import NUMBERS, copied, read, typed
from tasks.tiny import TASKS
from tolerances import ROUNDING32

PIXELS = dict.fromkeys(["volumes", "segment", "images", "grids"], "an array of pixels is no frame")
SPELLINGS = ("NA", "null", "n/a", "nan", "None", "#N/A")
NO_HOLES: Mapping[str, str] = {
    "forecast": "a missing value is refused unless a policy is chosen",
    "stocks": "every row of prices is whole",
    "segment": "its table names a file in every row",
    "volumes": "its table names a file in every row",
    "text": "a row without a text is refused",
    "images": "a folder of images has no cells",
    "language": "a text is there or is none",
    "grids": "a field has no cells of text",
}
FIRST = {"tabular": 2, "text": 2, "language": 1}
"""Lines of the first sample, where samples are called by their lines."""
NOT_STORED = {
    "forecast": "its file holds what follows the data",
    "segment": "masks are not stored with a run",
    "stocks": "its file holds the test days, and `predict` answers for the next",
    "grids": "its file holds what follows the data",
}
EXCEPTED: Mapping[str, Mapping[str, str]] = {
    "another folder": {},
    "another format of the answer": {
        "segment": "its answer is masks, each in the format of its image",
        "grids": "its answer is fields, whose formats its own tests compare",
    },
    "said twice": {},
    "stored at the end": NOT_STORED,
    "empty cells in other words": NO_HOLES,
    "in memory": {},
    "in polars": PIXELS,
}
"""Relations of this file, and the tasks that they say nothing of."""


def applied(name):
    return pytest.mark.parametrize("task", [task for task in TASKS if task not in EXCEPTED[name]])


@pytest.fixture
def made(task, tmp_path_factory):
    return finished(task, tmp_path_factory)


@pytest.fixture
def expected(made, tmp_path):
    return own_answers(made, tmp_path)


@applied("another folder")
def test_a_run_answers_from_wherever_it_lies(task, made, expected, tmp_path):
    run = shutil.copytree(made.run, tmp_path / "später" / "neuer lauf")
    assert_same_answers(answered(task, run, made.tiny.data, tmp_path / "out"), expected)


@applied("said twice")
def test_the_same_words_give_the_same_bytes(task, made, tmp_path):
    words = ["predict", made.run, "--data", made.tiny.data, "--out"]
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        printed(*words, tmp_path / name if task == "segment" else place_of(task, tmp_path / name / "answer"))
    one, two = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("one", "two"))
    assert one == two and one


@applied("another format of the answer")
def test_an_answer_is_the_same_in_every_format(task, made, expected, tmp_path):
    for ending, reader in (("parquet", pd.read_parquet), ("xlsx", pd.read_excel)):
        printed("predict", made.run, "--data", made.tiny.data, "--out", tmp_path / f"out.{ending}")
        assert_same_numbers(reader(tmp_path / f"out.{ending}"), expected)


@applied("stored at the end")
def test_what_a_training_stored_is_what_its_run_answers(task, made, expected):
    run = load(made.run)
    stored = pd.read_parquet(made.run / "predictions.parquet")
    stored = stored[stored["model"] == run.answer.name].reset_index(drop=True)
    if run.refits:  # what predicts has seen the rows that are scored; what was scored is there still
        assert {*run.refits} <= {*run.answer.shares} and run.facts["refitted"]["rows"] > run.facts["refitted"]["fitted"]
        prepared = reread(run)
        tables = [run.task.predict(run, prepared, split).frame(split) for split in ("validation", "test")]
        repeated = pd.concat(tables)
        assert_same_numbers(repeated[repeated["model"] == run.answer.name], stored)
        return
    places = stored.iloc[:, 0].astype(str)
    if task in FIRST:
        rows = expected.iloc[places.str.extract(r"(\d+)$")[0].astype(int) - FIRST[task]]
    else:
        rows = expected.loc[places]
    assert len(stored) > 5
    if task == "language":
        rows, stored = rows[["nats_per_token"]], (stored["nats"] / stored["tokens"]).to_frame("nats_per_token")
    assert_same_numbers(stored, rows)


@applied("empty cells in other words")
def test_empty_cells_are_spelt_in_any_way(task, made, tmp_path):
    name = NUMBERS[task][0]
    tables = []
    for mark in ("", *SPELLINGS):
        later = copied(made, tmp_path / f"later {len(tables)}")
        data = later.rewritten(lambda rows, m=mark: rows.assign(**{name: rows[name].where(rows.index % 5 > 0, m)}))
        tables.append(answered(task, made.run, data, tmp_path / f"out{len(tables)}"))
    for table in tables[1:]:
        assert_same_answers(table, tables[0])


def in_memory(task, run, rows, frame):
    """Answers of an estimator as a table; `rows` are cells as text, `frame` makes what the user holds of them."""
    if task == "forecast":
        wide = frame(rows[0].assign(date=pd.to_datetime(rows[0]["date"])))
        table = multiway.Forecaster.load(run).predict(wide, layout="long")
        return pd.DataFrame({name: list(table[name]) for name in table.columns})
    if task == "stocks":
        return multiway.StockMovementClassifier.load(run).forecast(*map(frame, rows))
    if task == "language":
        return multiway.LanguageModel.load(run).surprise(frame(rows[0])["text"])
    estimator = {"series": "SeriesClassifier", "text": "TextClassifier", "tabular": "TabularClassifier"}[task]
    model = getattr(multiway, estimator).load(run)
    given = rows[0] if task != "tabular" else rows[0][["age", "weight", "city", "smokes"]]
    return pd.DataFrame(model.predict_proba(frame(given)), columns=[f"p_{name}" for name in model.classes_])


def of_pixels(made):
    """Answers of an estimator for arrays."""
    task, data = made.tiny.task, made.tiny.data
    if task == "grids":
        with np.load(data) as arrays:
            places = {"time": arrays["time"].astype("datetime64[ns]"), "lat": arrays["lat"], "lon": arrays["lon"]}
            given = xarray.DataArray(arrays["sst"], places, [*places], "sst", {"units": str(*arrays["units"])})
        fields = multiway.GridForecaster.load(made.run).predict(given).to_numpy()
        return pd.DataFrame({"multiway": fields.ravel()})
    if task == "images":
        arrays = [np.asarray(Image.open(path)) for path in sorted(data.rglob("*.png"))]
        model = multiway.ImageClassifier.load(made.run)
    else:
        arrays = [np.load(data.parent / name) for name in read(data)["path"]]
        model = (multiway.VolumeClassifier if task == "volumes" else multiway.Segmenter).load(made.run)
    if task == "segment":
        return pd.DataFrame({"voxels 1": (model.predict(np.stack(arrays)) == 1).sum((1, 2, 3))})
    return pd.DataFrame(model.predict_proba(np.stack(arrays)), columns=[f"p_{name}" for name in model.classes_])


def assert_same_numbers(table, expected):
    names = [name for name in expected if re.match("multiway|p_|nats|voxels", name)]
    assert names and len(table) == len(expected)
    for name in names:
        numbers = table[name].to_numpy(float), expected[name].replace("", np.nan).to_numpy(float)
        np.testing.assert_allclose(*numbers, rtol=10 * ROUNDING32, atol=ROUNDING32)


@applied("in memory")
def test_data_in_memory_are_answered_as_those_of_a_file(task, made, expected, tmp_path):
    if task in PIXELS:
        assert_same_numbers(of_pixels(made), expected)
        return
    rows = [typed(read(path)) for path in copied(made, tmp_path / "later").tables]
    assert_same_numbers(in_memory(task, made.run, rows, lambda frame: frame), expected)


@applied("in polars")
def test_frames_of_polars_are_answered_as_files(task, made, expected, tmp_path):
    rows = [typed(read(path)) for path in copied(made, tmp_path / "later").tables]
    assert_same_numbers(in_memory(task, made.run, rows, polars.from_pandas), expected)


def test_every_relation_holds_of_a_task_or_says_why_not():
    for excepted in EXCEPTED.values():
        assert set(excepted) < set(TASKS)
        assert all(len(reason.split()) > 3 for reason in excepted.values())
