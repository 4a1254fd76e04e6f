"""Every flaw of a table is named in one line, with its place and the fix."""

import random
import re
import traceback

import pytest

from multiway.errors import DataError
from multiway.tasks.tabular.config import TableOptions
from tasks.tabular.rows import as_csv, check_table, patients, read_table

GOOD = as_csv(patients(40))
DEBRIS = [b",", b"\n", b";", b'"', b"\x00", b"-", b"NaN", b"inf", b"1e999", b"\xff", b"\r", b"9" * 23, b" ", b"NA", b""]


def replaced(line: int, text: str) -> bytes:
    """The good file with one line (1-based) put another way."""
    lines = GOOD.splitlines()
    lines[line - 1] = text
    return ("\n".join(lines) + "\n").encode()


BAD = {
    "empty": (b"", r"the file is empty"),
    "header only": (b"age,ill\n", r"it has a header and no rows"),
    "Excel": (b"PK\x03\x04" + bytes(40), r"it is a ZIP or Excel file"),
    "short row": (replaced(6, "30,70.5"), r"1 of 40 rows do not have the 5 fields of the header: line 6"),
    "one column name twice": (replaced(1, "age,age,city,smokes,ill"), r"two columns have one name"),
    "no such target": (replaced(1, "age,weight,city,smokes,sick"), r"target names 'ill', which is not there\. There"),
    "nearly the target": (replaced(1, "age,weight,city,smokes,kill"), r"not there\. Did you mean kill\? There are"),
    "letter in a number": (
        replaced(5, "x4,70.5,Ulm,False,no"),
        (
            r"1 cell is no finite number: line 5, column 'age', value 'x4'\. Correct or empty them, or take the "
            r"column as categories"
        ),
    ),
    "infinite": (replaced(5, "40,inf,Ulm,False,no"), r"line 5, column 'weight', value 'inf'"),
    "decimal comma": (
        re.sub(r"(\d)[.](\d)\d*", r"\1,\g<2>00", GOOD.replace(",", ";")).encode(),
        r"40 cells are no finite number: line 2, column 'weight'.*Set decimal to ','",
    ),
    "missing target": (replaced(7, "40,70.5,Ulm,False,"), r"1 of 40 rows have no target: line 7, column 'ill'\. Fill"),
    "one class": (GOOD.replace("yes", "no").encode(), r"the target 'ill' has one class\. Give another target"),
    "a class per row": (
        "\n".join(["age,ill", *(f"{i * i % 7},c{i}" for i in range(40))]).encode(),
        r"the target 'ill' has 40 classes in 40 rows",
    ),
    "words in a target of numbers": (
        "\n".join(["age,ill", *(f"{i * i % 7},{i}.5" for i in range(40)), "3,many"]).encode(),
        r"1 targets are no finite number: line 42, column 'ill', value 'many'\. Correct them",
    ),
    "constant number": (
        "\n".join(["age,ill", *(f"{i * i % 7},1.5" for i in range(40))]).encode(),
        r"the target 'ill' never changes",
    ),
    "a date of another form": (
        "\n".join(["day,ill", *(f"2024-01-{i % 28 + 1:02d},{i % 2}" for i in range(40)), "soon,1"]).encode(),
        r"1 of 41 dates are not written like the others: line 42, column 'day', value 'soon'\. Write .*read\.drop=day",
    ),
    "nothing to learn from": (
        "\n".join(["row,ill", *(f"{i},{i % 2}" for i in range(40))]).encode(),
        r"no column is left to learn from",
    ),
}


@pytest.mark.parametrize("case", BAD, ids=str)
def test_a_flaw_is_named_in_one_line(case, tmp_path):
    content, pattern = BAD[case]
    path = tmp_path / "patients.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=pattern) as caught:
        read_table(path, TableOptions(target="ill"))
    message = str(caught.value)
    assert message.startswith("patients.csv: ") and "\n" not in message and len(message) < 500
    assert "During handling" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("case", BAD, ids=str)
def test_check_reports_what_reading_refuses(case, tmp_path):
    path = tmp_path / "patients.csv"
    path.write_bytes(BAD[case][0])
    report = check_table(path, TableOptions(target="ill"))
    assert not report.is_usable
    assert all("\n" not in line for line in report.lines())


def test_what_is_no_file(tmp_path):
    with pytest.raises(DataError, match=r"none\.csv does not exist\. Give the path"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(DataError, match=r"the data: a table is needed\. Got int"):
        read_table(3)


def test_missing_inputs_can_be_refused():
    frame = patients()
    frame.loc[3, "weight"] = None
    with pytest.raises(
        DataError, match=r"1 inputs are missing: column 'weight', 1 cells\. Fill .*read\.missing=impute"
    ):
        read_table(frame, TableOptions(target="ill", missing="error"))


def test_rows_without_a_group_or_a_time():
    frame = patients().assign(clinic="a", day="2024-01-01")
    frame.loc[2, ["clinic", "day"]] = None
    with pytest.raises(DataError, match=r"1 rows have no group: row 2, column 'clinic'"):
        read_table(frame, TableOptions(target="ill", group="clinic", drop=("day",)))
    with pytest.raises(DataError, match=r"1 of 60 times are absent"):
        read_table(frame, TableOptions(target="ill", time="day"))


@pytest.mark.parametrize("seed", range(6))
def test_damage(seed, tmp_path):
    chance, path = random.Random(seed), tmp_path / "f.csv"
    for _ in range(8):
        content = bytearray(GOOD.encode())
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(content) + 1)
            content[at : at + chance.choice([0, 0, 1, 3, 10])] = chance.choice(DEBRIS)
        path.write_bytes(bytes(content))
        options = TableOptions(target="ill")
        try:
            table = read_table(path, options)
        except DataError as error:
            assert str(error).startswith("f.csv: ") and "\n" not in str(error)
            assert not check_table(path, options).is_usable
            continue
        assert table.inputs.numbers.shape == (len(table), len(table.inputs.of_numbers))


def test_one_problem_hides_no_other(tmp_path):
    lines = GOOD.splitlines()
    lines[3], lines[5], lines[7] = "30,70.5", "x4,70.5,Ulm,False,no", "40,70.5,Ulm,False,"
    (tmp_path / "patients.csv").write_text("\n".join(lines) + "\n")
    said = "\n".join(check_table(tmp_path / "patients.csv", TableOptions(target="ill")).lines())
    assert "1 of 40 rows do not have the 5 fields of the header: line 4" in said
    assert "line 6, column 'age', value 'x4'" in said
    assert "1 of 39 rows have no target: line 8" in said
    said = "\n".join(check_table(tmp_path / "patients.csv", TableOptions(target="sick", drop=("id",))).lines())
    assert "target names 'sick'" in said and "drop names 'id'" in said
