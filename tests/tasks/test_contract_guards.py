"""What every task refuses or says before it trains or answers, rather than being silently wrong."""

import functools
import json
import re
import unicodedata

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from command import outcome
from fewer import few, of_two
from multiway import workflows
from multiway.data.findings import Findings
from multiway.data.matching import far_columns, hold_to_training
from multiway.data.options import FileOptions
from multiway.data.scaling import Scaler
from multiway.data.sources.images import read_images
from multiway.data.sources.scans.intensity import IntensityScale, find_far
from multiway.data.sources.tables import load_table, load_texts_table
from multiway.data.targets import read_target
from multiway.errors import DataError
from multiway.tasks.forecasting.config import ForecastConfig
from multiway.tasks.forecasting.panel import Panel
from multiway.tasks.forecasting.read import _at_frequency
from multiway.tasks.run import load
from multiway_papers.language.config import TextOptions
from multiway_papers.language.source import documents_of
from tasks.finished import finished
from tasks.grids.fields import make_field, write_npz
from tasks.images.shapes import write_picture
from tasks.later_data import copied
from tasks.tiny import OUT, TINY, stories, written

HUGE = {"forecast": None, "tabular": "age", "series": "x"}
"""The column of numbers that is spoilt, the last one where it is not named: series, a target, labelled series."""


@pytest.mark.parametrize("value", ["1e300", "-1e38"])
@pytest.mark.parametrize("task", HUGE)
def test_a_number_that_overflows_is_named_before_anything_is_trained(task, value, tmp_path):
    tiny = TINY[task](tmp_path)
    frame = pd.read_csv(tiny.data, dtype=str)
    column = HUGE[task] or frame.columns[-1]
    frame.loc[7, column] = value
    frame.to_csv(tiny.data, index=False)
    more = {"read__target": "age", "baselines": ["mean"]} if task == "tabular" else {}
    code, _, err = outcome(*tiny.train(tmp_path / "run", **more))
    assert code == 1 and "Traceback" not in err and len(err.splitlines()) == 1
    assert (
        "1 number is larger than 1e+18" in err and f"'{column}'" in err and (value in err or f"{float(value):g}" in err)
    )
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("step", "follows"), [("h", True), ("B", False), ("D", False), ("30min", False)])
@pytest.mark.parametrize("task", ["forecast"])
def test_another_calendar_is_refused(task, step, follows, tmp_path_factory, tmp_path):
    made = finished(task, tmp_path_factory)
    frame = pd.read_csv(made.tiny.data)
    frame["date"] = pd.date_range("2024-01-01", periods=len(frame), freq=step)
    frame.to_csv(tmp_path / "later.csv", index=False)
    code, _, err = outcome("predict", made.run, "--data", tmp_path / "later.csv")
    assert code == (0 if follows else 1)
    assert follows or ("the run was trained on steps of h; these rows follow" in err and "Resample them" in err)


def test_business_days_are_not_those_of_a_run_on_days_though_most_days_are_there():
    days, business = (pd.date_range("2024-01-01", periods=60, freq=step) for step in ("D", "B"))
    for times, step, own in [(days, "D", "D"), (days.delete([7, 20]), "D", None), (business[:5], "B", "D")]:
        assert _at_frequency(panel_at(times, own), step, strict=True).frequency == step  # a week's five look like days
    for times, step, own in [(business, "D", "B"), (days, "B", "D")]:
        with pytest.raises(DataError, match=f"trained on steps of {step}; these rows follow {own}"):
            _at_frequency(panel_at(times, own), step, strict=True)


def panel_at(times, own):
    """A panel with these times, whose own step is known or not."""
    values = np.zeros((len(times), 1))
    return Panel(values=values, times=times, names=("y",), frequency=own, layout="wide", source="sales.csv")


def repeated(path):
    """Some samples once more, so that a check has something to warn of."""
    if path.is_dir():
        (path / "bar" / "99.png").write_bytes((path / "bar" / "03.png").read_bytes())
        return
    lines = path.read_text().splitlines()
    if path.name == "waves.csv":
        lines += [line.replace("s07", "s99", 1) for line in lines if line.startswith("s07")]
    else:
        lines += lines[7:9]
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("task", few(["tabular", "text", "series", "images", "language"], "tabular", "images"))
def test_a_training_says_once_what_a_check_warns_of_and_the_report_keeps_it(task, tmp_path):
    tiny = TINY[task](tmp_path)
    repeated(tiny.data)
    still = {name: value for name, value in tiny.still.items() if "epochs" in name or name == "baselines"}
    code, _, err = outcome(*tiny.train(tmp_path / "run", **still))
    assert code == 0, err
    _, checked, _ = outcome("check", tiny.data, "--task", task, "--json")
    found = json.loads(checked)["findings"]
    said = [line for line in err.splitlines() if "repeat an earlier one" in line or "repeat one of another" in line]
    assert said and len(said) == len([each for each in found if each["kind"] in ("leak", "duplicates")])
    assert all(line.startswith("multiway: warning: ") for line in said)
    page = load(tmp_path / "run").facts["notes"]
    assert all(any(note in line for note in page) for line in said)


def with_three_nines(tiny):
    """Three numbers replaced in one column, one ticker or one scan; what is said of them."""
    if tiny.task in ("volumes", "segment"):
        path = min(tiny.data.parent.rglob({"volumes": "scan*.npy", "segment": "image*.npy"}[tiny.task]))
        values = np.load(path).astype(np.float32)
        values.flat[[5, 6, 20]] = -999
        np.save(path, values)
        return "-999 stands in 3 voxels, far from all others of their scans"
    column = {"forecast": "series 2", "tabular": "age", "series": "x", "stocks": "high"}[tiny.task]
    path = tiny.data / "prices.csv" if tiny.task == "stocks" else tiny.data
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    value = "99999" if tiny.task == "stocks" else "-999"
    frame.loc[[7, 9, 11], column] = value
    frame.to_csv(path, index=False)
    return f"{value} stands apart from all other numbers, 3 times over: column '{column}', 3 cells"


@of_two("task", ["forecast", "tabular", "series", "stocks", "volumes", "segment"], "volumes", indirect=False)
def test_a_number_that_means_missing_is_said_by_a_check_and_by_a_training(task, tmp_path):
    tiny = TINY[task](tmp_path)
    words = with_three_nines(tiny)
    _, checked, _ = outcome("check", tiny.data, "--task", task)
    still = {name: value for name, value in tiny.still.items() if "epochs" in name or name == "baselines"}
    code, _, err = outcome(*tiny.train(tmp_path / "run", **still))
    assert words in checked and err.count(words) == 1, err
    if task not in ("volumes", "segment"):  # where it can be named, it is refused until it is
        assert code == 1 and not (tmp_path / "run").exists()
        gaps = ["--set", "read.missing=mask"] if task == "forecast" else []
        named = "[]" if task == "stocks" else "[-999]"  # no single price of a day is missing
        code, _, err = outcome(*tiny.train(tmp_path / "run", **still), "--set", f"read.sentinels={named}", *gaps)
        assert (words in err) == (task == "stocks")
    else:
        assert any(words in note for note in load(tmp_path / "run").facts["notes"])
    assert code == 0, err


@pytest.mark.parametrize(
    ("names", "is_near"), [(("Yes", "yes"), True), (("a  b", "A b"), True), (("a-b", "a_b"), False)]
)
def test_near_names_of_classes_are_said_once_by_a_training(names, is_near, tmp_path):
    tiny = TINY["tabular"](tmp_path)
    frame = pd.read_csv(tiny.data)
    frame.assign(ill=[names[row % 2] for row in range(len(frame))]).to_csv(tiny.data, index=False)
    code, _, err = outcome(*tiny.train(tmp_path / "run", training__epochs=1, baselines=["majority"]))
    assert code == 0 and err.count("classes of 'ill' differ in capitals, blanks or marks alone") == is_near, err


def grams(made, folder, column="weight"):
    """Kilograms sent as grams: every value a thousand times as large."""
    frame = pd.read_csv(made.tiny.data)
    frame.assign(**{column: 1000 * frame[column]}).to_csv(folder / "later.csv", index=False)
    return folder / "later.csv"


def strangers(made, folder):
    """Texts in words that training never saw."""
    frame = pd.read_csv(made.tiny.data)
    texts = [f"zwei{row} drei{row} vier{row}" for row in range(len(frame))]
    frame.assign(text=texts).to_csv(folder / "later.csv", index=False)
    return folder / "later.csv"


def cyrillic(made, folder):
    return written(folder / "later.jsonl", [json.dumps({"text": "\u043a\u043e\u0448\u043a\u0430" * 9})])


def rescaled(made, folder):
    """A scan whose intensities are in another unit."""
    path = made.tiny.alone(folder / "later") / {"volumes": "scan12.npy", "segment": "image5.npy"}[made.tiny.task]
    np.save(path, np.float32(1000) * np.load(path))
    return path.parent


def shares(made, folder):
    """Images of numbers from 0 to 1, saved as bytes."""
    path = made.tiny.alone(folder / "later")
    for picture in path.rglob("*.png"):
        Image.fromarray(np.asarray(Image.open(picture)) // 128).save(picture)
    return path


def cents(made, folder):
    """Highest prices of the days in another unit than the others."""
    path = made.tiny.alone(folder / "later")
    frame = pd.read_csv(path / "prices.csv", keep_default_na=False)
    frame.assign(high=100 * frame["high"]).to_csv(path / "prices.csv", index=False)
    return path


OFF = r"[\d,]+ deviations from training"


def millikelvin(made, folder):
    """Fields in another unit."""
    return write_npz(folder / "sea.npz", 1000 * make_field(60))


STRANGE = {
    "forecast": (functools.partial(grams, column="series 1"), rf"'series 1' lies {OFF} in 100 % of the last 12 rows"),
    "tabular": (grams, rf"'weight' lies {OFF} in 100 % of rows"),
    "series": (functools.partial(grams, column="x"), rf"'x' lies {OFF} in \d+ % of the values"),
    "text": (strangers, "100 % of the words are unknown to the training"),
    "language": (cyrillic, "100 % of the characters are unknown to the training"),
    "volumes": (rescaled, rf"scan12.npy: values lie {OFF}"),
    "segment": (rescaled, rf"image5.npy: values lie {OFF}"),
    "images": (shares, "values spread [\\d,]+ times less than in training"),
    "grids": (millikelvin, rf"'sst' lies {OFF} in 100 % of the values"),
    "stocks": (cents, rf"'high' lies {OFF} in \d+ % of the days"),
}
"""By task, later data that lie far outside the training, and what is said of them."""


@pytest.mark.parametrize("task", TINY)
def test_what_lies_far_outside_the_training_is_refused_unless_told_otherwise(task, tmp_path_factory, tmp_path):
    made, (send, words) = finished(task, tmp_path_factory), STRANGE[task]
    data, out = send(made, tmp_path), tmp_path / OUT.get(task, "out.csv")
    code, _, err = outcome("predict", made.run, "--data", data, "--out", out)
    assert code == 1 and re.search(words, err) and "--far" in err and len(err.splitlines()) == 1
    assert not out.exists()
    code, said, err = outcome("predict", made.run, "--data", data, "--out", out, "--far")
    assert code == 0 and re.search(words, said), err
    with pytest.raises(DataError, match=words):
        workflows.predict(made.run, data=str(data), out=out)
    assert any(re.search(words, note) for note in workflows.predict(made.run, data=str(data), out=out, far=True).notes)


def in_another_unit(task, later):
    """Inputs of labelled data a thousand times as large, or in other letters."""
    if task == "images":
        for picture in later.data.rglob("*.png"):
            Image.fromarray(np.asarray(Image.open(picture)) // 128).save(picture)
    elif task in ("volumes", "segment"):
        for path in later.folder.rglob({"volumes": "scan*.npy", "segment": "image*.npy"}[task]):
            np.save(path, np.float32(1000) * np.load(path))
    elif task == "grids":
        write_npz(later.data, 1000 * make_field(60))
    elif task in ("text", "language"):
        later.rewritten(lambda rows: rows.assign(text=["\u043a\u043e\u0448\u043a\u0430 " * 60] * len(rows)))
    else:
        column = {"forecast": "series 1", "tabular": "weight", "series": "x", "stocks": "high"}[task]
        later.rewritten(
            lambda rows: rows.assign(**{column: pd.to_numeric(rows[column]) * 1000}) if column in rows else rows
        )


@of_two("task", TINY, "images", indirect=False)
def test_scores_on_what_lies_far_outside_the_training_come_with_a_warning(task, tmp_path_factory, tmp_path):
    made = finished(task, tmp_path_factory)
    later = copied(made, tmp_path / "later")
    code, _, err = outcome("evaluate", made.run, "--data", later.data)
    assert code == 0 and not re.search("deviations|unknown to|spread", err), err
    in_another_unit(task, later)
    code, said, err = outcome("evaluate", made.run, "--data", later.data)
    assert code == 0 and said, err
    words = "% of the (words|characters) are unknown|times less than" if task in ("text", "language", "images") else OFF
    assert any(re.search(words, line) and line.startswith("multiway: warning: ") for line in err.splitlines()), err


@pytest.mark.parametrize("task", TINY)
def test_usual_data_are_answered_without_a_word_of_the_training(task, tmp_path_factory, tmp_path):
    made = finished(task, tmp_path_factory)
    out = tmp_path / OUT.get(task, "out.csv")
    code, said, err = outcome("predict", made.run, "--data", made.tiny.alone(tmp_path / "one"), "--out", out)
    assert code == 0 and not re.search("deviations|unknown to|spread", said), err


def test_a_tenth_of_far_rows_is_told_and_not_refused():
    scaler = Scaler(np.array([70.0]), np.array([9.0]))
    rows = np.full((30, 1), 70.0)
    rows[:3] = 7e4
    (far,) = far_columns(rows, ["weight"], scaler, "rows")
    assert not far.is_refused and far.words == "'weight' lies 7,770 deviations from training in 10 % of rows"
    assert hold_to_training([far], "people.csv", is_allowed=False) == (far.words,)
    assert not far_columns(rows[3:], ["weight"], scaler, "rows")


def test_voxels_of_another_unit_are_told_from_thick_slices():
    scale, trained = IntensityScale((0.0,), (1.0,)), ((0.8, 1.0), (0.8, 1.0), (1.0, 5.0))
    values = np.zeros((1, 2, 2, 2))
    assert not find_far(values, (1.0, 1.0, 5.0), scale, trained) and not find_far(values, None, scale, trained)
    (far,) = find_far(values, (0.1, 0.1, 0.5), scale, trained)
    assert far.is_refused and far.words == "voxels of 0.1 x 0.1 x 0.5 mm are 8 times those of the training"


@pytest.mark.parametrize("form", ["csv", "parquet", "xlsx", "jsonl"])
def test_composed_and_decomposed_letters_are_one_name_and_one_class_in_every_table(form, tmp_path):
    names = [
        unicodedata.normalize("NFC" if row % 3 else "NFD", ["caf\u00e9", "th\u00e9"][row % 2]) for row in range(24)
    ]
    column = unicodedata.normalize("NFD", "pr\u00e9nom")
    frame = pd.DataFrame({"age": range(24), column: names, "drink": names})
    path = tmp_path / f"drinks.{form}"
    {"csv": lambda: frame.to_csv(path, index=False), "parquet": lambda: frame.to_parquet(path),
     "xlsx": lambda: frame.to_excel(path, index=False),
     "jsonl": lambda: frame.to_json(path, orient="records", lines=True)}[form]()  # fmt: skip
    table = load_texts_table(path, FileOptions(), Findings(""))
    assert table.names == ["age", "pr\u00e9nom", "drink"]
    assert read_target(table, "drink", None, "classes", Findings(""))[1] == ("caf\u00e9", "th\u00e9")


def rows_of(task, folder):
    """The table of a tiny run as objects, and the columns of a value and of a class."""
    frame = pd.DataFrame({"text": stories()}) if task == "language" else pd.read_csv(TINY[task](folder).data, dtype=str)
    return json.loads(frame.to_json(orient="records")), frame.columns[0], frame.columns[-1]


@pytest.mark.parametrize("task", ["forecast", "tabular", "series", "text", "language"])
def test_half_of_a_surrogate_pair_is_read_as_a_question_mark(task, tmp_path):
    """As a value, a key or a class of JSON lines; no file can hold it."""
    rows, value, label = rows_of(task, tmp_path)
    for name, torn in {"value": {value: "\ud83d owl"}, "key": {"\ud83d": 1}, "class": {label: "\ud83d"}}.items():
        lines = [json.dumps({**row, **(torn if place in (5, 8) else {})}) for place, row in enumerate(rows)]
        path = written(tmp_path / f"{name}.jsonl", lines)
        code, said, err = outcome("check", path, "--task", task)
        assert code in (0, 1) and "Traceback" not in err and "surrogates not" not in said + err, name


def test_half_of_a_surrogate_pair_in_memory_is_a_question_mark():
    frame = pd.DataFrame({"age": [1, 2], "word": pd.Series(["\ud83d owl", "owl"], dtype=object)})
    table = load_table(frame, FileOptions(), Findings(""))
    assert list(table.frame["word"]) == ["? owl", "owl"]


NFC, NFD = (unicodedata.normalize(form, "caf\u00e9") for form in ("NFC", "NFD"))


@pytest.mark.parametrize(("named", "written_as"), [(NFC, NFD), (NFD, NFC)])
def test_a_name_in_an_option_is_the_column_in_either_form(named, written_as, tmp_path):
    people = pd.read_csv(TINY["tabular"](tmp_path).data).rename(columns={"ill": written_as})
    people.to_csv(tmp_path / "people.csv", index=False)
    code, _, err = outcome("check", tmp_path / "people.csv", "--task", "tabular", "--target", named)
    assert code == 0, err
    loads = pd.read_csv(TINY["forecast"](tmp_path).data)
    loads.rename(columns={loads.columns[1]: written_as}).to_csv(tmp_path / "loads.csv", index=False)
    code, _, err = outcome("check", tmp_path / "loads.csv", "--task", "forecast", "--variates", named)
    assert code == 0, err
    assert ForecastConfig(targets=(named,)).targets == (NFC,)
    lines = written(tmp_path / "stories.jsonl", [json.dumps({written_as: text}) for text in stories()])
    assert len(documents_of(lines, TextOptions(column=named), Findings(""))) == len(stories())


def test_classes_of_folders_and_documents_have_one_form(tmp_path):
    for row, name in enumerate([NFC, NFD, "t"]):
        write_picture(tmp_path / "shapes" / name / f"{row}.png", 4)
    assert read_images(tmp_path / "shapes").classes == (NFC, "t")
    path = written(tmp_path / "story.txt", [f"one {NFD} more"])
    for source in (path, [f"one {NFD} more"]):
        assert documents_of(source, TextOptions(), Findings("")).inputs[0].strip() == f"one {NFC} more"


@pytest.mark.parametrize("task", TINY)
def test_reading_has_a_budget_of_files_and_seconds_that_an_option_lifts(task, tmp_path):
    data = TINY[task](tmp_path).data
    limits = {"max_seconds": 1e-9, **({"max_files": 1} if data.is_dir() else {})}
    for name, value in limits.items():
        code, said, err = outcome("check", data, "--task", task, "--set", f"read.{name}={value}")
        assert code == 1 and "Traceback" not in err and re.search(rf"Raise {name}|raise {name}", said + err), said + err
        code, _, err = outcome("train", task, "--data", data, "--set", f"read.{name}={value}", "--out", tmp_path / "r")
        assert code == 1 and name in err and len(err.splitlines()) == 1 and not (tmp_path / "r").exists()
        code, said, err = outcome("check", data, "--task", task, "--set", f"read.{name}=900")
        assert not re.search("are allowed|it holds more", said + err)


def test_a_folder_of_too_many_files_is_refused_before_anything_looks_at_them(tmp_path, monkeypatch):
    data = TINY["images"](tmp_path).data
    monkeypatch.setattr("multiway.data.sources.bytes.check_folder.__defaults__", (5,))
    code, _, err = outcome("check", data)
    assert code == 1 and "holds more than 5 files" in err and len(err.splitlines()) == 1


def test_a_folder_none_of_whose_images_is_whole_says_so_and_counts_nothing(tmp_path):
    data = TINY["images"](tmp_path).data
    for path in data.rglob("*.png"):
        path.write_bytes(path.read_bytes()[:50])  # its head alone
    code, said, err = outcome("check", data, "--task", "images")
    assert code == 1 and err == "" and "error: " in said and "images:" not in said
