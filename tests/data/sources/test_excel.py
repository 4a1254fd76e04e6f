"""Workbooks whose cells are larger than Excel's, or whose one text stands in every row."""

import io
import zipfile
from pathlib import Path

import pandas as pd
import pytest

from multiway.data.findings import Findings, Unreadable
from multiway.data.options import FileOptions
from multiway.data.sources.tables import load_table

SHARED = '<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><si><t>{}</t></si></sst>'
KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
TYPE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/sharedStrings"


def workbook(path: Path, text: str, rows: int) -> Path:
    """A sheet of two columns, of which one names the one text that all rows share."""
    plain = io.BytesIO()
    pd.DataFrame({"x": range(rows), "text": "MARK"}).to_excel(plain, index=False)
    with zipfile.ZipFile(plain) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            part = old.read(name).decode()
            part = part.replace('t="inlineStr"><is><t>MARK</t></is>', 't="s"><v>0</v>')
            part = part.replace(
                "</Types>", f'<Override PartName="/xl/sharedStrings.xml" ContentType="{KIND}"/></Types>'
            )
            if name.endswith("workbook.xml.rels"):
                link = f'<Relationship Type="{TYPE}" Target="sharedStrings.xml" Id="rId99"/></Relationships>'
                part = part.replace("</Relationships>", link)
            new.writestr(name, part)
        new.writestr("xl/sharedStrings.xml", SHARED.format(text))
    return path


def read(path: Path, **options: int) -> pd.DataFrame:
    return load_table(path, FileOptions(**options), Findings(path.name)).frame


def refusal(path: Path, **options: int) -> str:
    findings = Findings(path.name)
    with pytest.raises(Unreadable):
        load_table(path, FileOptions(**options), findings)
    return findings.found[-1].rule


def test_a_shared_text_stands_in_every_row(tmp_path):
    frame = read(workbook(tmp_path / "fine.xlsx", "a" * 32_767, 3))
    assert frame["text"].tolist() == ["a" * 32_767] * 3


def test_a_cell_longer_than_excels_is_refused_before_it_is_parsed(tmp_path):
    path = workbook(tmp_path / "long.xlsx", "a" * (32_767 * 6 + 1), 2)
    assert refusal(path) == "a cell holds more than 32,767 characters, which Excel cannot"


def test_a_shared_text_counts_in_every_row(tmp_path):
    path = workbook(tmp_path / "shared.xlsx", "a" * 1000, 50)
    assert len(read(path, max_bytes=60_000)) == 50
    assert refusal(path, max_bytes=40_000) == "its cells take more than 40,000 bytes"
