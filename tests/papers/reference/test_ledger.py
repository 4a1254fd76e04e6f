"""The papers' pages: their code runs, and the names of their symbol tables exist where they say."""

import re
from pathlib import Path

import pytest

from documents import run_document
from loops import check_all

ROOT = Path(__file__).parents[3]
PAGES = sorted((ROOT / "docs" / "papers").glob("[!Rf]*.md"))
"""All but README, which `tests/test_what_holds.py` reads, and the page of our own forecaster."""
ROOTS = (ROOT, ROOT / "src", ROOT / "src" / "multiway")
"""Folders that paths in the tables start from."""
ROWS = [
    (page.stem, [cell.strip() for cell in line.strip("|").split("|")])
    for page in PAGES
    for line in page.read_text().splitlines()
    if line.startswith("|") and ".py" in line
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_page_runs(page, tmp_path):
    assert run_document(page, tmp_path) > 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_test_row_and_recipe_that_is_named_exists(page):
    text = page.read_text()
    files = re.findall(r"`((?:tests|benchmarks|docs|results)/[\w/-]+\.(?:py|jsonl))`(?!\s+of\s+commit)", text)
    files += [f"src/multiway_papers/{name}" for name in re.findall(r"`(recipes/[\w/-]+\.yaml)`", text)]
    assert files
    assert [name for name in files if not (ROOT / name).is_file()] == []


def test_every_name_is_in_a_file_next_to_it():
    check_all(check_row, ROWS)


def check_row(page, row):
    paths = re.findall(r"`([\w/]+\.py)`", row[-1])
    files = [next(root / path for root in ROOTS if (root / path).is_file()) for path in paths]
    text = "".join(path.read_text() for path in files)
    names = re.findall(r"`(\w+)", row[1]) if len(row) == 3 else []
    assert files
    assert [name for name in names if not re.search(rf"\b{name}\b", text)] == []
