"""Every flaw of a forecasting file that RELIABILITY promises to name: one line, the file, the place, the fix."""

import traceback

import numpy as np
import pandas as pd
import pytest

from multiway.data import ReadOptions, Scaler
from multiway.data.sources import bytes as budget
from multiway.errors import DataError, MultiwayError
from multiway.tasks.forecasting.config import SplitOptions
from multiway.tasks.forecasting.panel import match_panel
from multiway.tasks.forecasting.read import check_file, read_panel
from multiway.tasks.forecasting.splitting import borders_of
from multiway.tasks.forecasting.windows import check_borders
from tolerances import ROUNDING64

GOOD = "date,a,b\n" + "".join(f"2024-01-{day:02d},{day}.5,{day * 2}\n" for day in range(1, 13))


def replaced(line: int, text: str) -> bytes:
    """The good file with one line (1-based) put another way."""
    lines = GOOD.splitlines()
    lines[line - 1] = text
    return ("\n".join(lines) + "\n").encode()


def semicolons(text: str) -> bytes:
    return text.replace(",", ";").replace(".", ",").encode()


BAD = {
    "empty": (b"", r"the file is empty"),
    "blank": (b"\n \n", r"the file is empty"),
    "header only": (b"date,a,b\n", r"it has a header and no rows"),
    "letter in a number": (replaced(5, "2024-01-04,x4.5,8"), r"line 5, column 'a', value 'x4\.5'\. Correct"),
    "column of words": (
        GOOD.replace(".5", "cold").encode(),
        r"hold words, not numbers: column 'a', value '1cold'.* with variates \(read\.variates=NAME,NAME\): b\.",
    ),
    "wrong separator": (GOOD.replace(",", "!").encode(), r"no column separator was found: line 1, value 'date!a!b'"),
    "decimal comma": (
        semicolons(GOOD.replace(".5", ".525")),
        r"12 cells are no finite number: line 2, column 'a', value '1,525' \(and 11 more\)\. Set decimal to ','",
    ),
    "decimal comma between commas": (
        GOOD.replace(".", ",").encode(),
        r"12 of 12 rows do not have the 3 fields.*line 2, value '2024-01-01,1,5,2', 4 fields.*need ';'",
    ),
    "duplicate column": (replaced(1, "date,a,a"), r"two columns have one name: line 1, column 'a', columns 2 and 3"),
    "short row": (replaced(6, "2024-01-05,5.5"), r"1 of 12 rows do not .*line 6, value '2024-01-05,5\.5', 2 fields"),
    "long row": (replaced(6, "2024-01-05,5.5,10,9"), r"1 of 12 rows .*line 6, value '2024-01-05,5\.5,10,9', 4 fields"),
    "open quote": (
        replaced(6, '2024-01-05,"5.5,10'),
        r"a quotation mark is never closed: line 6, value '2024-01-05,\"5\.5,10'",
    ),
    "open quote in the last column": (replaced(6, '2024-01-05,5.5,"10'), r"a quotation mark is never closed: line 6"),
    "open quote in the first row": (replaced(2, '2024-01-01,"1.5,2'), r"a quotation mark is never closed: line 2"),
    "open quote in the last cell": (replaced(13, '2024-01-12,12.5,"24'), r"a quotation mark is never closed: line 13"),
    "open quote below a stray one": (
        replaced(4, '2024-01-03,"3.5"x,6').replace(b"7.5,", b'"7.5,'),
        r"a quotation mark is never closed: line 8, value '2024-01-07,\"7\.5,14'",
    ),
    "open quote in the header": (replaced(1, 'date,"a,b'), r"mark in the header is not closed on its line: line 1"),
    "open quote in a long file": (
        replaced(6, '2024-01-05,"5.5,10') + b"2024-01-13,1.5,1\n" * 10_000,
        r"a field has more than 131,072 characters, as where a quotation mark is not closed: line 6, value '2024-01-05",
    ),
    "blank line": (replaced(7, "") + b"2024-01-13,1\n", r"1 of 12 rows do not .* header: line 14"),
    "inf": (replaced(4, "2024-01-03,inf,6"), r"1 cell is no finite number: line 4, column 'a', value 'inf'"),
    "1e400": (replaced(4, "2024-01-03,3,1e400"), r"1 cell is no finite number: line 4, column 'b', value '1e400'"),
    "a day that is not": (
        replaced(6, "2024-01-32,5.5,10"),
        r"1 of 12 times are absent or not written like the others: line 6, column 'date', value '2024-01-32'",
    ),
    "NUL byte": (replaced(4, "2024-01-03,3\x00,6"), r"holds a NUL byte.*: line 4, character 13"),
    "Excel": (b"PK\x03\x04" + bytes(40), r"it is a ZIP or Excel file"),
    "broken gzip": (b"\x1f\x8b\x08\x00" + bytes(20), r"its gzip stream is broken"),
    "23 digits": (
        replaced(4, "2024-01-03,12345678901234567890123,6"),
        r"1 cell is a whole number with more digits than float64 keeps: line 4, column 'a', value '1234567890123456",
    ),
    "16 digits": (replaced(4, "2024-01-03,9007199254740993,6"), r"more digits than float64 keeps: line 4, column 'a'"),
    "mixed day and month": (
        b"date,a\n01/13/2024,1\n14/01/2024,2\n01/15/2024,3\n",
        r"1 of 3 times are absent or not written like the others: line 3, column 'date', value '14/01/2024'",
    ),
    "day or month": (
        b"date,a\n01/02/2024,1\n01/03/2024,2\n01/04/2024,3\n",
        r"day and month can be read either way: line 2, column 'date', value '01/02/2024'\. Set day_first",
    ),
    "no date": (b"date,a\nsoon,1\nlater,2\n", r"the times cannot be understood: line 2, column 'date', value 'soon'"),
    "absent time": (replaced(4, ",3,6"), r"1 of 12 times are absent .*line 4, column 'date', value ''"),
    "duplicate time": (
        replaced(5, "2024-01-03,4.5,8"),
        r"1 row repeats a time: line 5, time 2024-01-03 00:00:00\. Set duplicates to first, last, .* 1 more",
    ),
    "unsorted": (replaced(5, "2023-12-31,4.5,8"), r"times run backwards at 1 row: line 5, time 2023-12-31"),
    "gap": (
        b"".join(GOOD.encode().splitlines(True)[:5] + GOOD.encode().splitlines(True)[7:]),
        r"2 times are absent in 1 gap: 2024-01-05 00:00:00 to 2024-01-06 00:00:00 \(2 steps\)\. Set gaps to fill",
    ),
    "off the step": (replaced(5, "2024-01-04 07:00,4.5,8"), r"1 row off the step of D: line 5, time 2024-01-04 07:00"),
    "a lone far time": (replaced(13, "9999-01-01,1,2"), r"12 times from .* leave 2,91\d,\d{3} absent"),
    "missing": (replaced(5, "2024-01-04,,8"), r"1 cell is missing: line 5, column 'a', time 2024-01-04.*Set missing"),
    "sentinel": (
        replaced(5, "2024-01-04,-9999,8"),
        r"1 cell holds -9999, which usually means missing: line 5, column 'a', value '-9999', time 2024-01-04",
    ),
    "all missing": (b"date,a\n2024-01-01,\n2024-01-02,\n2024-01-03,\n", r"3 cells are missing: line 2.*1 more"),
    "time only": (b"date\n2024-01-01\n2024-01-02\n", r"no column separator was found: line 1, value 'date'"),
    "a million columns": (
        (",".join(["date", *(f"c{i}" for i in range(1_000_000))]) + "\n").encode() * 2,
        r"it has 1,000,001 columns and would take 0\.016 GB; at most 60,000",
    ),
    "half a character": (b"\xff\xfed", r"it is not text in utf-16: line 1"),
    "HTML": (b"<html><body>\n404\n</body></html>\n", r"1 cell is no finite number: line 3"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD, ids=str)
def test_a_flaw_is_named_in_one_line(case, tmp_path):
    content, pattern = BAD[case]
    path = tmp_path / "sales.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=pattern) as caught:
        read_panel(path)
    message = str(caught.value)
    assert message.startswith("sales.csv: ")
    assert "\n" not in message
    assert len(message) < 500
    assert "During handling" not in "".join(traceback.format_exception(caught.value))
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("case", BAD, ids=str)
def test_check_reports_what_reading_refuses(case, tmp_path):
    path = tmp_path / "sales.csv"
    path.write_bytes(BAD[case][0])
    report = check_file(path)
    assert not report.is_usable
    assert all("\n" not in line for line in report.lines())


def test_what_is_no_file(tmp_path):
    with pytest.raises(DataError, match=r"absent\.csv does not exist\. Give the path"):
        read_panel(tmp_path / "absent.csv")
    with pytest.raises(DataError, match=r"is a folder\."):
        check_file(tmp_path)


@pytest.mark.parametrize("source", [None, 3, [1, 2], {"a": [1]}, np.zeros((3, 2, 2))], ids=lambda x: type(x).__name__)
def test_what_is_no_table(source):
    with pytest.raises(DataError, match=r"the data: a table is needed\. Got \w+\. Give a path"):
        read_panel(source)


def test_a_truncated_parquet_file(tmp_path):
    path = tmp_path / "sales.parquet"
    pd.DataFrame({"date": pd.date_range("2024", periods=9), "a": 1.0}).to_parquet(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match=r"^sales\.parquet: it is not a whole Parquet file \(") as caught:
        read_panel(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("form", "rule"),
    [
        ("csv", r"its 0\.00017 GB of text need three times that memory, and 0\.0003 GB are free"),
        ("csv.gz", r"it unpacks to more than 0\.0001 GB"),
        ("parquet", r"9,000 rows x 3 columns would take 0\.00043 GB and 0\.0003 GB are free"),
    ],
)
def test_what_memory_cannot_hold_is_refused_before_it_is_read(form, rule, tmp_path, monkeypatch):
    path = tmp_path / f"large.{form}"
    frame = pd.DataFrame({"date": pd.date_range("2024", periods=9000), "a": 1.0, "b": 2.0})
    frame.to_parquet(path) if form == "parquet" else frame.to_csv(path, index=False)
    monkeypatch.setattr(budget, "free_memory", lambda: 300_000)
    with pytest.raises(DataError, match=rf"^large\.{form}: {rule}"):
        read_panel(path)


def test_a_wrong_encoding_is_read_and_said(tmp_path):
    path = tmp_path / "strom.csv"
    path.write_bytes("date,Köln\n2024-01-01,1\n2024-01-02,2\n2024-01-03,3\n".encode("cp1252"))
    panel = read_panel(path)
    assert panel.names == ("Köln",)
    assert any("it is not UTF-8; read as Windows-1252: line 1, byte 0xf6" in note for note in panel.notes)
    with pytest.raises(DataError, match=r"strom\.csv: it is not text in utf-8: line 1, byte 0xf6"):
        read_panel(path, ReadOptions(encoding="utf-8"))
    with pytest.raises(DataError, match=r"no encoding is called 'klingon'"):
        read_panel(path, ReadOptions(encoding="klingon"))


def test_a_naive_hour_of_changed_clocks_gets_a_hint(tmp_path):
    local = pd.date_range("2024-03-30", "2024-04-02", freq="h", tz="Europe/Berlin").tz_localize(None)
    frame = pd.DataFrame({"time": local, "a": np.arange(len(local)) % 7.0})
    with pytest.raises(DataError, match=r"1 time is absent in 1 gap: 2024-03-31 02:00.*If clocks changed there"):
        read_panel(frame)
    local = pd.date_range("2024-10-26", "2024-10-29", freq="h", tz="Europe/Berlin").tz_localize(None)
    frame = pd.DataFrame({"time": local, "a": np.arange(len(local)) % 7.0})
    with pytest.raises(
        DataError, match=r"1 row repeats a time: row 27, time 2024-10-27 02:00.*If clocks changed there"
    ):
        read_panel(frame)


def test_a_constant_column_warns_and_scales_finite():
    frame = pd.DataFrame({"date": pd.date_range("2024", periods=20), "flat": 7.25, "b": np.arange(20.0)})
    panel = read_panel(frame)
    assert any("columns never change: column 'flat'" in note for note in panel.notes)
    scaler = Scaler.fit(panel.values)
    assert np.isfinite(scaler.transform(panel.values)).all()
    assert scaler.notes(panel.names) == ("flat never changes in the training rows, so it is shifted and not scaled.",)


def test_large_offsets_keep_their_detail():
    values = 1e8 + np.tile([1.0, -1.0], 50)[:, None]
    scaled = Scaler.fit(values).transform(values)
    np.testing.assert_allclose(scaled[:, 0], np.tile([1.0, -1.0], 50), rtol=ROUNDING64)


def test_too_short_for_a_split_gives_lengths():
    panel = read_panel(pd.DataFrame({"date": pd.date_range("2024", periods=100), "a": np.arange(100.0)}))
    borders = borders_of(panel, SplitOptions())
    with pytest.raises(
        DataError, match=r"validation has 10 rows and one window needs 12 .*train 70, validation 10, test 20"
    ):
        check_borders(borders, 24, 12)


def test_columns_are_matched_by_name():
    panel = read_panel(pd.DataFrame({"date": pd.date_range("2024", periods=5), "b": 2.0, "x": 3.0, "a": 1.0}))
    matched = match_panel(panel, ("a", "b"))
    assert matched.names == ("a", "b")
    assert matched.values[0].tolist() == [1.0, 2.0]
    assert matched.notes[-1] == "columns x are not used."
    with pytest.raises(
        DataError, match=r"^the table: columns are matched by name, and c, d are lacking\. It has b, x, a\."
    ):
        match_panel(panel, ("a", "c", "d"))


def test_control_characters_are_escaped_in_every_message(tmp_path):
    path = tmp_path / "evil\x1b[31m.csv"
    path.write_text("date,a\x1b]0;pwned\x07,b\n2024-01-01,\x1b[2Jx,1\n2024-01-02,2,1\n2024-01-03,3,2\n")
    with pytest.raises(MultiwayError) as caught:
        read_panel(path)
    lines = [str(caught.value), *check_file(path).lines()]
    assert all(line.isprintable() for line in lines)
    assert "\\x1b[2Jx" in lines[0]


def test_every_problem_at_once(tmp_path):
    path = tmp_path / "many.csv"
    rows = GOOD.splitlines()
    rows[2] = "2024-01-02,oops,4"
    rows[4] = "2024-01-03,4.5,8,99"
    rows[6] = "2024-01-06,,-9999"
    del rows[8:10]
    path.write_text("\n".join(rows) + "\n")
    report = check_file(path)
    errors = {finding.kind: finding for finding in report.findings if finding.severity == "error"}
    assert set(errors) == {"number", "fields", "duplicates", "missing", "sentinel", "gaps"}
    assert (errors["number"].places[0].row, errors["number"].places[0].column) == (3, "a")
    assert errors["number"].places[0].value == "oops"
    assert errors["fields"].places[0].row == 5
    assert errors["sentinel"].places[0].row == 7
    assert report.to_dict()["findings"][0]["places"][0]["row"] > 1
    with pytest.raises(DataError, match=r"5 more: run `multiway check` on the file\.$"):
        read_panel(path)


def test_findings_are_capped_with_a_count(tmp_path):
    path = tmp_path / "holes.csv"
    path.write_text("date,a\n" + "".join(f"2024-01-{day:02d},{'' if day % 2 else day}\n" for day in range(1, 29)))
    finding = next(finding for finding in check_file(path).findings if finding.kind == "missing")
    assert finding.count == 14
    assert "(and 9 more)" in finding.line()


def test_all_variates_that_are_lacking_are_named():
    frame = pd.DataFrame({"date": pd.date_range("2024-01-01", periods=12), "a": 1.0})
    with pytest.raises(DataError, match=r"variates names 'b', 'c', which are not there\. There are a\."):
        read_panel(frame, ReadOptions(variates=("a", "b", "c")))
