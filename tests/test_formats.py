"""Tables of hard cells are the same table in every format; `python -m corpora.formats` looks at all of them."""

import pytest

from corpora.formats import compared
from corpora.hard_tables import CELLS
from fewer import few
from multiway.data.findings import Findings
from multiway.data.sources.options import FileOptions
from multiway.data.sources.tables import load_texts_table

KINDS = list(CELLS)


@pytest.mark.parametrize("kind", few(["zeros", "lines", "large"], "lines"))
def test_a_table_of_hard_cells_has_the_same_classes_and_predictions_in_six_formats(kind):
    """The second also has a column of formulas, the third one of hexadecimal numbers."""
    told, wrong = compared(KINDS.index(kind))
    assert not wrong and (told.refused or told.shares.size)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["0x10", "0x1F", "16"], ["0x10", "0x1F", "16"]),
        (["=1+1", "'=1", "x"], ["=1+1", "'=1", "x"]),  # not written by us, who would have marked the first
        (["'=1+1", "'=1", "-2"], ["=1+1", "=1", "-2"]),
    ],
)
def test_text_of_a_file_is_text_as_written(cells, expected, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["name,word", *(f"{row},{cell}" for row, cell in enumerate(cells))]) + "\n")
    table = load_texts_table(path, FileOptions(), Findings(""))
    assert list(table.frame["word"].astype(str)) == expected
