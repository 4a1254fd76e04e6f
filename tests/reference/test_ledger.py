"""The paper's page: its code runs, and the names of its symbol table exist where it says."""

import re
from pathlib import Path

import pytest

from documents import run_document

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "papers" / "hot.md"
ROWS = [
    ([cell.strip() for cell in line.strip("|").split("|")])
    for line in PAGE.read_text().splitlines()
    if line.startswith("|") and ".py" in line
]


def test_the_page_runs(tmp_path):
    assert run_document(PAGE, tmp_path) == 1


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_every_name_is_in_a_file_beside_it(row):
    paths = re.findall(r"`([\w/]+\.py)`", row[-1])
    files = [ROOT / path if path.startswith("tests") else ROOT / "src" / "multiway" / path for path in paths]
    text = "".join(path.read_text() for path in files)
    names = re.findall(r"`(\w+)", row[1]) if len(row) == 3 else []
    assert files
    assert [name for name in names if not re.search(rf"\b{name}\b", text)] == []
