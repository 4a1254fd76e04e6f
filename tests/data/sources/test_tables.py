"""Tables that are packed, in Parquet or in Excel: read alike, and refused before they fill the memory."""

import bz2
import contextlib
import gzip
import io
import json
import lzma
import random
import re
import tracemalloc
import zipfile

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from multiway import lazy
from multiway.data import ReadOptions
from multiway.data.findings import Findings, reading_once
from multiway.data.looking import look_at
from multiway.data.sources import columns, excel, parquet, tables, text
from multiway.data.sources.spelling import Spelling, read_numbers
from multiway.data.writing import write_table
from multiway.errors import ConfigError, DataError
from multiway.tasks.forecasting.read import check_file, read_panel
from multiway.tasks.tabular.config import TableOptions
from tasks.tabular.rows import read_table

GOOD = "date,a,b\n" + "".join(f"2024-01-{day:02d},{day}.5,{day * 2}\n" for day in range(1, 13))


def zipped(raw, names=("sales.csv",)):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, raw)
    return content.getvalue()


PACKED = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zip": zipped}


def refusal(path, options=None):
    with pytest.raises(DataError) as caught:
        read_panel(path, options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("ending", PACKED)
def test_packed_text_is_read(ending, tmp_path):
    path = tmp_path / f"sales.csv.{ending}"
    path.write_bytes(PACKED[ending](GOOD.encode()))
    assert read_panel(path).values[:, 0].tolist() == [day + 0.5 for day in range(1, 13)]


@pytest.mark.parametrize("ending", PACKED)
def test_packed_text_is_refused_before_it_fills_the_memory(ending, tmp_path):
    path = tmp_path / f"sales.csv.{ending}"
    content = GOOD.encode() + b"2024-01-13,1,2\n" * (2_000_000 if ending == "xz" else 400_000)  # xz needs 8 MB itself
    path.write_bytes(PACKED[ending](content))
    options = ReadOptions(max_bytes=1_000_000)
    tracemalloc.start()
    text = refusal(path, options)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "it unpacks to more than 1,000,000 bytes. Raise max_bytes" in text
    assert "(read.max_bytes=4000000)" in text
    assert peak < 0.7 * len(content)


@pytest.mark.parametrize("ending", PACKED)
def test_packed_text_that_is_cut_is_refused(ending, tmp_path):
    path = tmp_path / f"sales.csv.{ending}"
    path.write_bytes(PACKED[ending](GOOD.encode())[:-30])
    assert "broken" in refusal(path)


def test_an_archive_of_several_files_is_no_table(tmp_path):
    (tmp_path / "sales.zip").write_bytes(zipped(GOOD, ("a.csv", "b.csv")))
    assert "it is a ZIP archive of 2 files, and a table is one" in refusal(tmp_path / "sales.zip")


def test_a_parquet_file_of_countless_rows_is_refused_from_its_header(tmp_path):
    path = tmp_path / "sales.parquet"
    block = pa.table({"a": pa.array(np.zeros(1_000_000))})
    with pyarrow.parquet.ParquetWriter(path, block.schema) as writer:
        for _ in range(80):
            writer.write_table(block)
    assert path.stat().st_size < 1_000_000
    text = refusal(path)
    assert "80,000,000 rows x 1 columns take 640,000,000 bytes, and a table may take 67,108,864" in text
    assert "(read.max_bytes=640000000)" in text


def test_words_that_parquet_holds_once_are_counted_as_often_as_they_stand(tmp_path):
    words = pa.DictionaryArray.from_arrays(pa.array([0] * 10_000, pa.int32()), pa.array(["x" * 100_000]))
    pyarrow.parquet.write_table(pa.table({"a": words}), tmp_path / "words.parquet")
    assert (tmp_path / "words.parquet").stat().st_size < 1_000_000
    assert "take 1,000,080,000 bytes" in refusal(tmp_path / "words.parquet")


def broken_words(path):
    """Text that is no UTF-8, which Arrow reads without looking."""
    text = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(np.array([0, 2, 4], np.int32)), pa.py_buffer(b"\xff\xfeok")]
    )
    pyarrow.parquet.write_table(pa.table({"unique_id": text, "y": [1.0, 2.0]}), path)


def test_broken_words_of_parquet_are_one_line(tmp_path):
    broken_words(tmp_path / "words.parquet")
    assert "it is not a whole Parquet file" in refusal(tmp_path / "words.parquet")
    assert "UTF8" in refusal(tmp_path / "words.parquet")


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
def test_a_parquet_file_that_is_cut_is_one_line(share, tmp_path):
    whole = tmp_path / "whole.parquet"
    pd.read_csv(io.StringIO(GOOD)).to_parquet(whole)
    raw = whole.read_bytes()
    (tmp_path / "cut.parquet").write_bytes(raw[: int(share * len(raw))])
    assert "it is not a whole Parquet file" in refusal(tmp_path / "cut.parquet")


def sheet(path, rows, *others):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for name in others:
        book.create_sheet(name)
    book.save(path)
    return path


def test_a_sheet_is_read_like_the_same_text(tmp_path):
    frame = pd.read_csv(io.StringIO(GOOD), parse_dates=["date"])
    path = sheet(tmp_path / "sales.xlsx", [list(frame.columns), *frame.itertuples(index=False)], "notes")
    panel = read_panel(path)
    assert np.array_equal(panel.values, frame[["a", "b"]].to_numpy(float))
    assert (panel.times == pd.DatetimeIndex(frame["date"])).all() and panel.frequency == "D"
    assert any("sheet 'Sheet' is read, the first of 2" in note for note in panel.notes)


def test_a_flaw_of_a_sheet_is_named_by_excels_own_row(tmp_path):
    rows = [["date", "a"], *([f"2024-01-{day:02d}", day] for day in range(1, 13))]
    rows[4][1] = "x4"
    assert "row 5, column 'a', value 'x4'" in refusal(sheet(tmp_path / "sales.xlsx", rows))


def test_words_of_a_sheet_stay_words(tmp_path):
    rows = [["code", "old", "ill"], *([f"{row % 3:03d}x", row % 2 == 0, row * 0.5] for row in range(8))]
    table = read_table(sheet(tmp_path / "rows.xlsx", rows), TableOptions())
    assert (table.inputs.of_words, table.inputs.of_numbers) == (("code", "old"), ("ill",))
    assert table.inputs.words[:2].tolist() == [["000x", "True"], ["001x", "False"]]


@pytest.mark.parametrize(
    ("rows", "text"),
    [([], "its sheet holds no table"), ([["a", "b"]], "holds no table"), ([["a", "a"], [1, 2]], "one name")],
)
def test_what_is_no_table_of_excel(rows, text, tmp_path):
    assert text in refusal(sheet(tmp_path / "sales.xlsx", rows))


def test_a_sheet_that_unfolds_to_too_much_is_refused_unread(tmp_path):
    path = sheet(tmp_path / "sales.xlsx", [["date", "a"], *([f"2024-01-{day:02d}", day] for day in range(1, 13))])
    assert "unpacks to" in refusal(path, ReadOptions(max_bytes=1000))


def test_cells_beyond_the_names_are_named_by_their_row(tmp_path):
    rows = [["date", "a"], *([f"2024-01-{day:02d}", day] for day in range(1, 13))]
    rows[3] += [None, 7]
    text = "1 rows have cells beyond the 2 columns that row 1 names: row 4. Name these columns"
    assert text in refusal(sheet(tmp_path / "sales.xlsx", rows))


def with_sheet(path, xml):
    """A workbook whose sheet says this."""
    sheet(path, [["a"], [1]])
    parts = {name: zipfile.ZipFile(path).read(name) for name in zipfile.ZipFile(path).namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, xml if name == "xl/worksheets/sheet1.xml" else content)
    return path


def cells(rows):
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    return f'<worksheet xmlns="{space}"><sheetData>{rows}</sheetData></worksheet>'


FAR = '<row r="999999999"><c r="A999999999"><v>1</v></c></row>'
WIDE = "".join(f'<row r="{row}"><c r="ZZZ{row}"><v>1</v></c></row>' for row in range(2, 600))


@pytest.mark.parametrize(("rows", "text"), [(FAR, "holds no table"), (WIDE, "its cells take more than 10,000,000")])
def test_a_sheet_that_names_far_cells_takes_no_memory(rows, text, tmp_path, monkeypatch):
    monkeypatch.setattr(excel, "MOST_ROWS", 10_000)
    path = with_sheet(tmp_path / "sales.xlsx", cells('<row r="1"><c r="A1"><v>1</v></c></row>' + rows))
    tracemalloc.start()
    assert text in refusal(path, ReadOptions(max_bytes=10_000_000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000


@pytest.mark.parametrize("seed", range(40))
def test_a_damaged_workbook_is_read_or_refused_in_one_line(seed, tmp_path):
    path = sheet(tmp_path / "sales.xlsx", [["date", "a"], *([f"2024-01-{day:02d}", day] for day in range(1, 13))])
    chance, raw = random.Random(seed), bytearray(path.read_bytes())
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(raw))
        raw[at : at + chance.choice([1, 1, 5, 20])] = bytes([chance.randrange(256)])
    path.write_bytes(raw)
    with contextlib.suppress(DataError):
        read_panel(path)
    assert all("\n" not in line for line in check_file(path).lines())


def test_an_old_or_broken_workbook_is_one_line(tmp_path):
    (tmp_path / "old.xls").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100))
    assert "it is an Excel file of the old form (.xls). Save it as .xlsx or CSV." in refusal(tmp_path / "old.xls")
    (tmp_path / "sales.xlsx").write_bytes(zipped(b"<broken", ("xl/workbook.xml", "[Content_Types].xml")))
    assert "it is no whole Excel file" in refusal(tmp_path / "sales.xlsx")


def test_without_openpyxl_the_extra_is_named(tmp_path, monkeypatch):
    path = sheet(tmp_path / "sales.xlsx", [["date", "a"], ["2024-01-01", 1]])

    def absent(name):
        raise ImportError(name)

    monkeypatch.setattr(lazy.importlib, "import_module", absent)
    with pytest.raises(ConfigError, match=r"Reading Excel needs openpyxl.*pip install 'multiway\[excel\]'"):
        read_panel(path)
    with pytest.raises(ConfigError, match=r"Writing Excel needs openpyxl.*pip install 'multiway\[excel\]'"):
        write_table(pd.DataFrame({"a": [1]}), tmp_path / "out.xlsx")


def test_what_excel_cannot_hold_is_one_line(tmp_path):
    with pytest.raises(DataError, match=r"out\.xlsx: a sheet of Excel cannot hold it .*Write \.csv or \.parquet"):
        write_table(pd.DataFrame({"a": ["bell\x07"]}), tmp_path / "out.xlsx")
    assert list(tmp_path.iterdir()) == []


def test_zoned_times_are_written_with_their_offset(tmp_path):
    times = pd.date_range("2024-03-30", periods=3, tz="Europe/Berlin")
    write_table(pd.DataFrame({"ds": times, "a": [1.0, 2.0, 3.0]}), tmp_path / "out.xlsx")
    cells = list(openpyxl.load_workbook(tmp_path / "out.xlsx").active.values)
    assert [row[0] for row in cells[1:]] == [str(time) for time in times]


LATE = [
    "3",
    "2.5",
    "abc",
    "0x1F",
    "1e400",
    "9007199254740993",
    "",
    "NA",
    "007",
    "2024-01-01",
    "true",
    "1,5",
    "é",
    "a" * 90,
]


def read_columns(raw):
    findings, spelling = Findings("sales.csv"), Spelling("auto", frozenset(), frozenset())
    read = text.read_text(raw, ReadOptions(), findings)
    return pd.DataFrame(read_numbers(read.columns, read.separator, spelling, findings)), read.rows.tolist()


@pytest.mark.parametrize("early", ["1", "2.5", "", "x", "2024-01-01", "true"])
def test_cells_mean_the_same_whichever_block_of_a_file_they_stand_in(early, monkeypatch):
    for late in LATE:
        rows = "".join(f"{early};{number}\n" for number in range(30))
        raw = f"a;b\n{rows}{late};30\n{rows}".encode()
        whole = read_columns(raw)
        with monkeypatch.context() as patched:
            patched.setattr(text, "BLOCK", 48)
            parted = read_columns(raw)
        pd.testing.assert_frame_equal(parted[0], whole[0])
        assert parted[1] == whole[1]


def test_a_file_is_parsed_once_within_a_block_and_its_findings_are_noted_each_time(tmp_path, monkeypatch):
    path = tmp_path / "sales.csv"
    path.write_text(GOOD.replace("date,", "wann,"), encoding="utf-8")
    calls, parse = [], text.read_text
    monkeypatch.setattr(tables, "read_text", lambda *given: calls.append(1) or parse(*given))
    with reading_once():
        reports = [check_file(path), check_file(path), check_file(path, ReadOptions(time_column="a"))]
    assert reports[0] == reports[1] and reports[0].findings and reports[2] != reports[0]
    assert len(calls) == 1
    check_file(path)
    assert len(calls) == 2


def test_a_wide_parquet_file_is_read_a_part_after_the_other_to_the_same_frame(tmp_path, monkeypatch):
    times = pd.date_range("2024-01-01", periods=4, name="when")
    frame = pd.DataFrame({"a": [1, 2, 3, 4], "a.b": list("wxyz"), "b": [0.5, np.nan, 2, 3], "c": times}, index=times)
    frame.to_parquet(tmp_path / "wide.parquet")
    findings = Findings("wide.parquet")
    whole = parquet.read_parquet(tmp_path / "wide.parquet", 10**6, findings)
    monkeypatch.setattr(parquet, "COLUMNS", 2)
    pd.testing.assert_frame_equal(parquet.read_parquet(tmp_path / "wide.parquet", 10**6, findings), whole)


def test_times_of_a_long_table_are_read_once_within_a_block_as_outside_of_it(tmp_path, monkeypatch):
    path = tmp_path / "sales.csv"
    days = pd.date_range("2024-01-01", periods=11).strftime("%Y-%m-%d")
    rows = [
        f"{day},{shop},{len(shop) + number}" for shop in ("Köln", "Aachen", "Bonn") for number, day in enumerate(days)
    ]
    path.write_text("\n".join(["date,shop,sales", *rows]), encoding="cp1252")
    calls, read = [], columns.read_times
    monkeypatch.setattr(columns, "read_times", lambda *given: calls.append(1) or read(*given))
    with reading_once():
        look_at(path)
        report = check_file(path)
    assert len(calls) == 1
    assert report == check_file(path) and report.summary["encoding"] != "utf-8"


SMALL_FILES = {
    "cells": ("a.csv.gz", lambda: gzip.compress(b"a,b\n" + b"1,2\n" * 3_100_000), r"unpack to 6,200,00\d cells"),
    "text": (
        "a.csv.gz",
        lambda: gzip.compress(b"a,b\n1," + b"x" * 70_000_000),
        r"unpacks to more than 67,108,864 bytes",
    ),
    "zip": ("a.zip", lambda: zipped(b"a,b\n1," + b"x" * 70_000_000), r"unpacks to more than 67,108,864 bytes"),
    "objects": ("a.jsonl.gz", lambda: gzip.compress(b'{"a":1}\n' * 800_001), r"to more than 800,000 objects"),
}


@pytest.mark.parametrize("name", SMALL_FILES)
def test_a_small_packed_file_does_not_unfold_to_more_than_memory_of_a_laptop(name, tmp_path):
    """Each of these took gigabytes; a limit that is set is taken as it is."""
    file, make, text = SMALL_FILES[name]
    (tmp_path / file).write_bytes(make())
    said = refusal(tmp_path / file)
    assert re.search(text, said) and "Raise max_bytes if that is meant (" in said


ODD_FILES = {
    "a cell without end": ("a.csv", lambda: b'a,b\n"' + b"x y " * 40_000 + b'",1\nc,2\n', "it is not a regular table"),
    "a name a line": (
        "a.jsonl",
        lambda: b"".join(b'{"a%d":1}\n' % line for line in range(60_001)),
        "it has 60,001 columns; at most 60,000 are read",
    ),
    "nothing a line": ("a.jsonl", lambda: b"{}\n" * 9, "it holds no objects"),
}


@pytest.mark.parametrize("name", ODD_FILES)
def test_files_of_an_odd_shape_are_refused_in_one_line(name, tmp_path):
    """Each of these was a traceback, or asked for terabytes."""
    file, make, text = ODD_FILES[name]
    (tmp_path / file).write_bytes(make())
    assert text in refusal(tmp_path / file)


@pytest.mark.parametrize(("keys", "names"), [((" day", "b "), ["day", "b"]), (("b", "b "), ["b", "b "])])
def test_blanks_around_keys_of_objects_are_no_part_of_names(keys, names, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"{keys[0]}": 1, "{keys[1]}": 2}}\n' * 2)
    read = tables.load_table(path, ReadOptions(), Findings("a"))
    assert list(read.names) == names == tables.names_of_json(path)


@pytest.mark.parametrize(
    ("encoding", "name"),
    [("cp932", "気温（ひる）"), ("euc_kr", "서울 기온"), ("gb2312", "北京气温"), ("cp1252", "Temp. à l’été – °C")],
)
def test_an_encoding_is_found_by_the_letters_of_its_language(encoding, name, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f"day,{name}\n" + "".join(f"2024-01-{day:02d},{day}\n" for day in range(1, 9)), encoding=encoding)
    findings = Findings("a")
    assert tables.load_table(path, ReadOptions(), findings).names == ["day", name]
    assert findings.encoding == encoding and [each.kind for each in findings.found] == ["encoding"]


HOURS = [1704067200 + 3600 * row for row in range(9)]


@pytest.mark.parametrize(
    "document",
    [
        {"series": {"a": {str(at): row for row, at in enumerate(HOURS)}, "b": {str(at): 7 for at in HOURS}}},
        {"Label": "CPU", "points": [{"time": at, "a": row, "b": 7} for row, at in enumerate(HOURS)]},
        {"a": [[at, row] for row, at in enumerate(HOURS)], "b": [[at, 7] for at in HOURS]},
        {"columns": ["time", "a", "b"], "data": [[at, row, 7] for row, at in enumerate(HOURS)]},
    ],
    ids=["names of rows", "objects", "pairs", "cells beside names"],
)
def test_the_table_in_a_document_is_found(document, tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(document, indent=1))
    read = tables.load_table(path, ReadOptions(), Findings("a"))
    assert read.names == ["time", "a", "b"] == tables.names_of_json(path)
    assert read.frame["time"].tolist() == HOURS
    assert read.frame["a"].tolist() == list(range(9)) and (read.frame["b"] == 7).all()


def test_a_sheet_without_end_has_no_names(tmp_path):
    """Reading a few rows by their numbers went through gigabytes of XML."""
    plain, path = tmp_path / "plain.xlsx", tmp_path / "a.xlsx"
    pd.DataFrame({"a": [1]}).to_excel(plain, index=False)
    head, tail = (
        b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>',
        b"</sheetData></worksheet>",
    )
    sheet = head + b'<row r="1"><c r="A1"><v>1</v></c></row>' * 1_000_000 + tail
    with zipfile.ZipFile(plain) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for part in old.namelist():
            new.writestr(part, sheet if part == "xl/worksheets/sheet1.xml" else old.read(part))
    assert tables.column_names(path) == [] and "it unpacks to" in refusal(path)


def test_columns_that_are_built_in_groups_stay_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "GROUP", 3)
    rows = pd.DataFrame(np.random.default_rng(0).integers(0, 99, (7, 11)), columns=list("abcdefghijk"))
    rows.to_csv(tmp_path / "a.csv", index=False)
    read = tables.load_table(tmp_path / "a.csv", ReadOptions(), Findings("a"))
    assert read.names == [*rows] and (read.frame.to_numpy() == rows.to_numpy()).all()


def test_a_small_parquet_file_does_not_unfold_either(tmp_path):
    pd.DataFrame({"a": np.zeros(9_000_000)}).to_parquet(tmp_path / "a.parquet")
    assert "9,000,000 rows x 1 columns take 72,000,000 bytes, and a table may take 67,108,864" in refusal(
        tmp_path / "a.parquet"
    )
