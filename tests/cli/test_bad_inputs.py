"""Every flaw of a forecasting file, at the command line: one line, exit 1, no traceback, nothing half-written."""

import contextlib
import re
import shlex
import shutil

import pandas as pd
import pytest

from command import assert_one_line, assert_refused, call, printed
from fewer import fit_fewer
from multiway.cli.options import command_line
from multiway.data import ReadOptions
from multiway.errors import spell_message
from multiway.tasks.forecasting.read import check_file
from tasks.forecasting.test_bad_inputs import BAD, GOOD

TRAIN = ["train", "forecast", "--horizon", "2", "--lookback", "4", "--out", "run", "--set", "network=false"]


@pytest.mark.parametrize("case", BAD)
def test_training_refuses_in_one_line_and_leaves_nothing(case, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sales.csv").write_bytes(BAD[case][0])
    assert_one_line(call([*TRAIN, "--data", "sales.csv"], monkeypatch, capsys), "sales.csv: ")
    assert [path.name for path in tmp_path.iterdir()] == ["sales.csv"]


@pytest.mark.parametrize("case", BAD)
def test_check_says_it_and_exits_with_1(case, tmp_path, monkeypatch, capsys):
    (tmp_path / "sales.csv").write_bytes(BAD[case][0])
    code, out, err = call(["check", str(tmp_path / "sales.csv")], monkeypatch, capsys)
    assert (code, err) == (1, "")
    assert "error: " in out and "Traceback" not in out


def test_the_fix_that_check_names_fixes(tmp_path, monkeypatch, capsys):
    file = tmp_path / "sales.csv"
    file.write_bytes(BAD["decimal comma"][0])
    assert "--set read.decimal=," in call(["check", str(file)], monkeypatch, capsys)[1]
    code, out, _ = call(["check", str(file), "--set", "read.decimal=,"], monkeypatch, capsys)
    assert (code, out.splitlines()[-2]) == (0, "The file can be used as it is.")


def fixes_of(content, folder):
    """Every error and warning that a check of this content names."""
    (folder / "sales.csv").write_bytes(content)
    findings = check_file(folder / "sales.csv").findings
    return [spell_message(finding.fix, command_line("forecast")) for finding in findings]


@pytest.mark.parametrize("case", BAD)
def test_a_fix_names_its_option_in_python_and_on_the_command_line(case, tmp_path, monkeypatch, capsys):
    fields = "|".join(ReadOptions.model_fields)
    for fix in fixes_of(BAD[case][0], tmp_path):
        for name in re.findall(rf"(?:[Ss]et|with) ({fields})\b", fix):
            assert re.search(rf"\(--(set read\.)?{name}\b", fix), fix
        for words in re.findall(r"\((--[^)]*)\)", fix):
            code, _, err = call(["check", str(tmp_path / "sales.csv"), *shlex.split(words)], monkeypatch, capsys)
            assert code in (0, 1) and "known field" not in err and "Input should" not in err, (words, err)


@pytest.mark.parametrize(("assignment", "text"), [("read=5", "read"), ("decimal=,", "decimal is not a known field")])
def test_a_check_takes_the_settings_of_a_training(assignment, text, tmp_path, monkeypatch, capsys):
    (tmp_path / "sales.csv").write_text(GOOD)
    words = ["check", str(tmp_path / "sales.csv"), "--set"]
    assert_one_line(call([*words, assignment], monkeypatch, capsys), text)
    code, out, _ = call([*words, "training.epochs=1"], monkeypatch, capsys)
    assert code == 0 and "--set training.epochs=1" in out.splitlines()[-1]


def test_an_unknown_field_of_read_is_one_line(tmp_path, monkeypatch, capsys):
    (tmp_path / "sales.csv").write_text(GOOD)
    words = ["check", str(tmp_path / "sales.csv"), "--set", "read.decimals=,"]
    assert_one_line(call(words, monkeypatch, capsys), "decimals is not a known field, did you mean decimal?")


def test_in_a_check_as_in_a_training_a_set_wins_over_an_option(tmp_path, monkeypatch, capsys):
    (tmp_path / "sales.csv").write_bytes(BAD["missing"][0])
    words = ["check", str(tmp_path / "sales.csv"), "--missing", "error", "--set", "read.missing=ffill"]
    code, out, _ = call(words, monkeypatch, capsys)
    assert code == 0 and "1 cell is missing (missing=ffill)" in out


def test_of_several_seeds_the_first_forecasts_and_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sales.csv").write_text(GOOD)
    for seed in (10, 9):  # 9 is first, though "seed-10" sorts before it
        words = [*TRAIN, "--data", "sales.csv", "--set", f"training.seed={seed}", "--set", "levels=[]"]
        words[words.index("--out") + 1] = f"run/seed-{seed}"
        assert call(words, monkeypatch, capsys)[0] == 0
    together, alone = (call(["predict", run], monkeypatch, capsys) for run in ("run", "run/seed-9"))
    assert together[:2] == alone[:2]
    assert together[2] == f"run holds 2 seeds; this is run/seed-9. Name another to use that.\n{alone[2]}"
    assert alone[2].startswith("Answer: ") and alone[2].count("\n") == 1


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    """A run on sound data."""
    folder = tmp_path_factory.mktemp("trained")
    days = pd.date_range("2024-01-01", periods=240)
    values = {"a": [float(i % 7) for i in range(240)], "b": [float(i % 5) for i in range(240)]}
    pd.DataFrame({"date": days, **values}).to_csv(folder / "good.csv", index=False)
    with contextlib.chdir(folder), pytest.MonkeyPatch.context() as patch:
        fit_fewer(patch)
        printed(*TRAIN, "--data", "good.csv")
    return folder


@pytest.fixture
def trained(once, tmp_path, monkeypatch):
    """The same in a folder in which a test may do what it likes."""
    shutil.copytree(once, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([*TRAIN, "--data", "good.csv"], "run exists already"),
        (["predict", "run", "--data", "lacking.csv"], "lacking.csv: none of the run's series a, b are in it"),
        (["predict", "run", "--data", "short.csv"], "needs 4 steps of history; there are 3"),
        (
            ["predict", "run", "--data", "empty.csv"],
            "(--missing mask in training). A run keeps the options it was trained with: fix",
        ),
        (["predict", "run", "--out", "absent/next.csv"], "there is no folder absent"),
        (["predict", "run", "--out", "next.ods"], "must end in .csv, .csv.gz, .parquet or .xlsx"),
        (["predict", "run", "--levels", "100"], "levels"),
        (["evaluate", "run", "--data", "short.csv"], "6"),
        (["explain", "run"], "no network"),
        (["compare", "run"], "at least two runs"),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else None,
)
def test_using_a_run_wrongly(words, text, trained, monkeypatch, capsys):
    (trained / "lacking.csv").write_text("date,c\n" + "".join(f"2024-01-{day:02d},{day}\n" for day in range(1, 13)))
    (trained / "short.csv").write_text("\n".join(GOOD.splitlines()[:4]) + "\n")
    (trained / "empty.csv").write_text(GOOD.replace("5.5", ""))
    assert_refused(words, text, trained, monkeypatch, capsys)


def test_columns_are_matched_by_name(trained, monkeypatch, capsys):
    frame = pd.read_csv("good.csv")
    frame.assign(extra=1.0)[["extra", "b", "date", "a"]].to_csv("turned.csv", index=False)
    answers = [call(["predict", "run", "--data", name], monkeypatch, capsys)[1] for name in ("good.csv", "turned.csv")]
    assert answers[0] == answers[1]
    assert answers[0].startswith("unique_id,date,multiway,")


def test_too_little_for_a_split(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sales.csv").write_text(GOOD)
    words = ["train", "forecast", "--data", "sales.csv", "--horizon", "9", "--lookback", "20", "--out", "run"]
    assert_one_line(call(words, monkeypatch, capsys), "train has 8 rows and one window needs 29")
    assert [path.name for path in tmp_path.iterdir()] == ["sales.csv"]
