"""What `check` takes data for, and the command that it ends with."""

import json
import shlex

import numpy as np
import pandas as pd
import pytest

from command import outcome
from multiway.cli.options import command_line
from multiway.errors import Fix
from tasks.images.shapes import write_folder, write_picture


def rows(count=200, **columns):
    generator = np.random.default_rng(4)
    frame = pd.DataFrame({"a": generator.normal(size=count), "b": generator.normal(size=count)})
    return frame.assign(y=(frame.a > 0).astype(int), **columns)


def steps(count=200, freq="D"):
    times = pd.date_range("2023-01-01", periods=count, freq=freq).strftime("%Y-%m-%d")
    return pd.DataFrame({"date": times, "north": np.arange(count) % 7 + 1.5, "south": np.arange(count) % 5 + 0.5})


def shops():
    return steps(1000).melt("date", var_name="shop").assign(size=3)


def reviews():
    texts = [
        f"the {word} film was {kind} and number {n}"
        for n in range(40)
        for word, kind in (("new", "good"), ("old", "bad"))
    ]
    return pd.DataFrame({"C": texts, "D": ["x", "z"] * 40})


def recordings(first=0, **columns):
    """Steps of twelve recordings of three activities, one after another; the step before each is `first`."""
    generator, parts = np.random.default_rng(6), []
    for place in range(12):
        t = np.arange(20 + place % 3)
        own = {"recording": f"rec {place}", "t": t + first, "acc_x": generator.normal(size=len(t)), "acc_y": t % 5 / 7}
        parts.append(pd.DataFrame({**own, "activity": ("walk", "run", "sit")[place % 3]}))
    return pd.concat(parts, ignore_index=True).assign(**columns)


def commands_of(path, *words):
    code, out, err = outcome("check", path, *words)
    assert code == 0, out + err
    lines = out.splitlines()
    start = lines.index("The file can be used as it is.") + 1
    assert lines[start].startswith("train: ") and all(line.startswith("or: ") for line in lines[start + 1 :])
    return [line.partition(": ")[2] for line in lines[start:]]


@pytest.mark.parametrize(
    ("frame", "words", "commands"),
    [
        (rows(), "--target y", ["tabular --data {} --target y"]),
        (rows(), "", ["tabular --data {} --target y", "forecast --data {} --horizon 14 --lookback 60"]),
        (rows(city="Ulm\nBonn\n".split() * 100), "--target b --drop a", ["tabular --data {} --target b --drop a"]),
        (steps(), "--target north --drop date", ["tabular --data {} --target north --drop date"]),
        (steps(1000), "", ["forecast --data {} --horizon 14"]),
        (steps(), "--horizon 7", ["forecast --data {} --horizon 7 --lookback 63"]),
        (steps(60, "MS"), "--horizon 12", ["forecast --data {} --horizon 12 --lookback 12 --set split.train=0.6"]),
        (reviews(), "--text C --target D", ["text --data {} --target D --text C"]),
        (reviews(), "", ["text --data {} --target D"]),
        (shops(), "--id shop", ["forecast --data {} --id shop --horizon 14"]),
        (recordings(), "", ["series --data {} --id recording --time t --target activity",
                            "tabular --data {} --target activity"]),
        (recordings(1), "", ["series --data {} --id recording --time t --target activity"]),
        (recordings(1990), "", ["tabular --data {} --target activity"]),  # years of countries count from no 0 or 1
        (recordings(activity=np.arange(252) % 3), "", ["tabular --data {} --target activity"]),
        (recordings().sample(frac=1, random_state=0), "", ["tabular --data {} --target activity"]),
        (recordings().drop(columns=["acc_x", "acc_y"]), "", ["tabular --data {} --target activity"]),
    ],
)  # fmt: skip
def test_options_and_contents_decide_together(frame, words, commands, tmp_path):
    path = tmp_path / "my data.csv"
    frame.to_csv(path, index=False)
    found = commands_of(path, *words.split())
    expected = [f"multiway train {command.format(shlex.quote(str(path)))}" for command in commands]
    assert found[: len(expected)] == expected and (not words or len(found) == len(expected))


def test_scans_with_masks_are_segmented_and_those_with_classes_classified(tmp_path):
    generator = np.random.default_rng(0)
    for place in range(10):
        np.save(tmp_path / f"scan{place}.npy", generator.normal(size=(8, 8, 8)))
        np.save(tmp_path / f"mask{place}.npy", (generator.random((8, 8, 8)) > 0.7).astype(np.uint8))
    frame = pd.DataFrame({role: [f"{role}{place}.npy" for place in range(10)] for role in ("scan", "mask")})
    frame = frame.rename(columns={"scan": "path"})
    for name, table, task in (("a", frame, "segment"), ("b", frame.assign(label=["x", "y"] * 5), "volumes")):
        table.to_csv(tmp_path / f"{name}.csv", index=False)
        first, *_ = commands_of(tmp_path / f"{name}.csv")
        assert first.startswith(f"multiway train {task} --data {tmp_path / name}.csv")


def cases():
    """Customers with a number, the day on which each came, two columns of words, and whether they left."""
    draw = np.random.default_rng(0)
    days = pd.Timestamp("2021-01-01") + pd.to_timedelta(draw.integers(0, 900, 300), unit="D")
    words = {"employer": draw.integers(0, 60, 300).astype(str), "town": draw.choice(["Ulm", "Bonn", "Kiel"], 300)}
    words["employer"] = [f"E{number}" for number in words["employer"]]
    frame = pd.DataFrame({"Id": range(1, 301), "signup": days.strftime("%d/%m/%Y"), **words})
    return frame.assign(income=draw.normal(size=300).round(3), churn=draw.choice(["No", "Yes"], 300))


def test_cases_with_a_day_each_are_rows_and_no_series(tmp_path):
    cases().to_csv(tmp_path / "x.csv", index=False)
    (found,) = commands_of(tmp_path / "x.csv", "--target", "churn")
    assert found == f"multiway train tabular --data {tmp_path / 'x.csv'} --target churn"
    first, *_ = commands_of(tmp_path / "x.csv")
    assert first.startswith("multiway train tabular")


def test_an_option_is_read_as_by_the_likeliest_task(tmp_path):
    folder = write_folder(tmp_path / "shapes")
    write_picture(folder / "bar" / "large.png", 12)
    assert "--size 8" in outcome("check", folder)[1]
    (found,) = commands_of(folder, "--size", "8")
    assert found == f"multiway train images --data {folder} --size 8"


def test_settings_are_in_the_command_and_a_document_has_it(tmp_path):
    rows(**{"the y": np.arange(200) % 2}).to_csv(tmp_path / "x.csv", index=False)
    words = ["--target", "the y", "--set", "training.epochs=1"]
    (found,) = commands_of(tmp_path / "x.csv", *words)
    assert shlex.split(found) == ["multiway", "train", "tabular", "--data", str(tmp_path / "x.csv"), *words]
    code, out, _ = outcome("check", tmp_path / "x.csv", *words, "--json")
    document = json.loads(out)
    assert code == 0 and (document["task"], document["train"], document["others"]) == ("tabular", found, [])


def test_no_command_is_shown_for_what_cannot_be_used(tmp_path):
    steps().assign(north=lambda own: own["north"].where(own.index != 7)).to_csv(tmp_path / "x.csv", index=False)
    code, out, _ = outcome("check", tmp_path / "x.csv")
    assert code == 1 and "train: " not in out
    steps(3).to_csv(tmp_path / "short.csv", index=False)
    code, out, _ = outcome("check", tmp_path / "short.csv", "--horizon", "2")
    assert code == 0 and "train: " not in out and "3 rows are too few for a horizon of 2" in out


def test_a_fix_names_options_of_the_command_that_prints_it():
    fix = Fix("read.missing", "mask")
    assert command_line("forecast", "check")(fix) == command_line("forecast", "tune")(fix) == "--missing mask"
    assert command_line("forecast", "predict")(fix) == "--missing mask in training"
    assert command_line("forecast", "predict")(Fix("levels", [80, 95])) == "--levels 80,95"
    assert command_line("forecast", "predict")(Fix("data", like="FILE")) == "--data FILE"
    assert command_line("forecast", "check")(Fix("season", 7)) == "--set season=7"
