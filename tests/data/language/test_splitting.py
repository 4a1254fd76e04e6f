"""Where one text is cut into its splits."""

import pytest

from multiway.data.language.options import TextSplit
from multiway.data.language.splitting import split_texts
from multiway.data.language.texts import Texts


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("123456789\n" * 10, [80, 10, 10]),  # the shares end with a line: the cut is there, not a line later
        ("123456\n" * 14 + "xx", [84, 7, 9]),  # else at the next end of a line
        ("123456789 " * 10, [80, 10, 10]),  # or of a word, where no line ends
        ("x" * 100, [80, 10, 10]),  # or where the shares end
    ],
)
def test_one_text_is_cut_at_the_first_end_of_a_line_from_its_share_on(text, sizes):
    shares = TextSplit.parse({"validation": 0.1, "test": 0.1})
    texts, _ = split_texts(Texts(documents=(text,), places=("a.txt",), source="a.txt"), shares)
    assert [len(part) for part in texts.documents] == sizes and "".join(texts.documents) == text
