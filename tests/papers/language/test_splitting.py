"""Where texts are cut into their splits."""

import numpy as np
import pytest

from multiway.data.samples import Samples
from multiway.data.splitting import split
from multiway_papers.language.source import TextSplit, cut
from papers.language.prepared import read_documents


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("123456789\n" * 10, [80, 10, 10]),  # the shares end with a line: the cut is there, not a line later
        ("12345678\n" + "123456789\n" * 9 + "x", [89, 10, 1]),  # a line that ends one sign before is not the cut
        ("123456\n" * 14 + "xx", [84, 7, 9]),  # else at the next end of a line
        ("123456789 " * 10, [80, 10, 10]),  # or of a word, where no line ends
        ("x" * 100, [80, 10, 10]),  # or where the shares end
        ("x" * 99 + "\n", [80, 10, 10]),  # the end of the last line leaves nothing after it
    ],
)
def test_one_text_is_cut_at_the_first_end_of_a_line_from_its_share_on(text, sizes, tmp_path):
    (tmp_path / "a.txt").write_text(text)
    shares = TextSplit.parse({"validation": 0.1, "test": 0.1})
    texts = cut(read_documents(tmp_path / "a.txt"), shares)
    assert [len(part) for part in texts.inputs] == sizes and "".join(texts.inputs) == text
    assert texts.names["document"] == [f"a.txt, {name}" for name in ("train", "validation", "test")]
    assert {name: rows.tolist() for name, rows in split(texts, shares).items()} == {
        "train": [0], "validation": [1], "test": [2]
    }  # fmt: skip


@pytest.mark.parametrize(
    ("sizes", "validation", "test", "held"),
    [
        ([10] * 10, 0.15, 0.15, (2, 2)),  # half a document more is taken whole
        ([10] * 10, 0.14, 0.14, (1, 1)),  # less than half of one is not
        ([10] * 10, 0.01, 0.01, (1, 1)),  # one at least
        ([4, 30, 2, 10], 0.1, 0.2, (1, 1)),  # the next document counts by its own size
        ([1, 1, 1, 50, 50], 0.1, 0.4, (1, 1)),
        ([50, 50, 1, 1, 1], 0.4, 0.02, (2, 2)),
    ],
)
def test_the_last_documents_are_held_out_until_their_share_of_the_text_is_met(sizes, validation, test, held):
    documents = Samples(inputs=np.arange(len(sizes)), source="texts", word="documents", sizes=np.array(sizes))
    splits = split(documents, TextSplit(validation=validation, test=test))
    assert (len(splits["validation"]), len(splits["test"])) == held
    assert np.concatenate(list(splits.values())).tolist() == list(range(len(sizes)))
