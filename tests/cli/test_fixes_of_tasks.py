"""What a message tells a user to write: every option in a fix is one that the task of the file has."""

import re
import shlex

import pytest

from command import call

SERIES = "id,time,x,class\n" + "".join(f"{row // 4},{row % 4},1.{row},{'ab'[row // 4 % 2]}\n" for row in range(48))
TABLE = "age,day,ill\n" + "".join(f"{row}.5,2024-01-{row % 28 + 1:02},{'yn'[row % 2]}\n" for row in range(40))
TEXTS = "review,label\n" + "".join(f"a film of {row} hours,{'yn'[row % 2]}\n" for row in range(40))
BAD = {
    "an infinity in a series": ("series", SERIES.replace("1.7,", "inf,"), ()),
    "words in place of values": ("series", re.sub(r"1\.\d+", "high", SERIES), ()),
    "no times of series": ("series", re.sub(r"(?m)^(\d+),\d+,", r"\1,soon,", SERIES), ()),
    "a gap in a series that may have none": ("series", SERIES.replace("1.5,", ","), ("--set", "read.missing=error")),
    "no times of rows": ("tabular", TABLE.replace("2024", "soon"), ("--target", "ill", "--time", "day")),
    "a gap in a table that may have none": (
        "tabular", TABLE.replace("7.5,", ","), ("--target", "ill", "--set", "read.missing=error"),
    ),
    "one class of texts": ("text", TEXTS.replace(",n\n", ",y\n"), ()),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_a_fix_names_options_of_its_task(case, tmp_path, monkeypatch, capsys):
    task, content, words = BAD[case]
    (tmp_path / "data.csv").write_text(content)
    command = ["check", str(tmp_path / "data.csv"), "--task", task, *words]
    code, out, _ = call(command, monkeypatch, capsys)
    assert code == 1 and "error: " in out
    errors = "\n".join(line for line in out.splitlines() if line.strip().startswith("error: "))
    assert "(--missing" not in errors and "(--variates" not in errors
    for named in re.findall(r"\((--[^)]*)\)", errors):
        code, _, err = call([*command, *shlex.split(named)], monkeypatch, capsys)
        assert code in (0, 1) and "known field" not in err and "Input should" not in err, (named, err)
