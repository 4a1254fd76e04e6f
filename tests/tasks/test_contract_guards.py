"""What every task refuses or says before it trains or answers, rather than being silently wrong."""

import json
import re
import unicodedata

import pandas as pd
import pytest

from command import outcome
from multiway.data.findings import Findings
from multiway.data.sources.options import FileOptions
from multiway.data.sources.tables import load_texts_table
from multiway.data.targets import read_target
from multiway.tasks.forecasting.source import _follows
from multiway.tasks.run import load
from tasks.finished import finished
from tasks.tiny import TINY

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
def test_another_calendar_is_refused(step, follows, tmp_path_factory, tmp_path):
    made = finished("forecast", tmp_path_factory)
    frame = pd.read_csv(made.tiny.data)
    frame["date"] = pd.date_range("2024-01-01", periods=len(frame), freq=step)
    frame.to_csv(tmp_path / "later.csv", index=False)
    code, _, err = outcome("predict", made.run, "--data", tmp_path / "later.csv")
    assert code == (0 if follows else 1)
    assert follows or ("the run was trained on steps of h; these rows follow" in err and "Resample them" in err)


def test_business_days_are_not_those_of_a_run_on_days_though_most_days_are_there():
    days, business = (pd.date_range("2024-01-01", periods=60, freq=step) for step in ("D", "B"))
    assert _follows(days, "D", "D") and _follows(days.delete([7, 20]), "D", None)
    assert not _follows(business, "D", "B") and not _follows(days, "B", "D")
    assert _follows(business[:5], "B", "D")  # a week's five look like days


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


@pytest.mark.parametrize("task", ["tabular", "text", "series", "images", "language"])
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


def grams(path, out):
    """Kilograms sent as grams: every value a thousand times as large."""
    frame = pd.read_csv(path)
    column = "weight" if "weight" in frame else "x"
    frame.assign(**{column: 1000 * frame[column]}).to_csv(out, index=False)


def strangers(path, out):
    """Texts in words that training never saw."""
    frame = pd.read_csv(path)
    frame.assign(text=[f"zwei{row} drei{row} vier{row}" for row in range(len(frame))]).to_csv(out, index=False)


@pytest.mark.parametrize(
    ("task", "send", "words"),
    [
        ("tabular", grams, r"'weight' lies [\d,]+ deviations from training in 100 % of rows"),
        ("series", grams, r"'x' lies [\d,]+ deviations from training in \d+ % of the values"),
        ("text", strangers, "100 % of the words are unknown to the training"),
    ],
)
def test_what_lies_far_outside_the_training_is_refused_unless_told_otherwise(
    task, send, words, tmp_path_factory, tmp_path
):  # fmt: skip
    made = finished(task, tmp_path_factory)
    send(made.tiny.data, tmp_path / "later.csv")
    code, _, err = outcome("predict", made.run, "--data", tmp_path / "later.csv", "--out", tmp_path / "out.csv")
    assert code == 1 and re.search(words, err) and "--far" in err and not (tmp_path / "out.csv").exists()
    words_of = ["predict", made.run, "--data", tmp_path / "later.csv", "--out", tmp_path / "out.csv", "--far"]
    code, said, err = outcome(*words_of)
    assert code == 0 and re.search(words, said), err
    code, said, _ = outcome("predict", made.run, "--data", made.tiny.data, "--out", tmp_path / "usual.csv")
    assert code == 0 and "deviations" not in said and "unknown" not in said


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
