"""The two texts at hand hold what is published of them."""

import pandas as pd
import pytest

from multiway.data import datasets
from multiway.data.splitting import split
from multiway.errors import DataError
from multiway.tasks.known import settings_for
from multiway_papers.language.config import TextOptions, TextSplit
from multiway_papers.language.source import cut
from papers.language.prepared import read_documents


def read(name, folder):
    known = datasets.dataset(name)
    options = TextOptions.parse(settings_for(name)["read"])
    texts = cut(read_documents(known.find([folder / "language"]), options), TextSplit())
    return texts, split(texts, TextSplit())


def test_wikitext_2_has_the_published_words_in_its_three_files(real_data):
    texts, splits = read("wikitext2", real_data)
    words = {name: sum(len(texts.inputs[row].split()) for row in rows) for name, rows in splits.items()}
    assert words == {"train": 2_051_910, "validation": 213_886, "test": 241_211}
    assert {name: len(rows) for name, rows in splits.items()} == {"train": 629, "validation": 60, "test": 62}


def test_tinyshakespeare_is_cut_in_its_order(real_data):
    texts, splits = read("tinyshakespeare", real_data)
    assert len("".join(texts.inputs)) == 1_115_394 and len(splits) == 3
    assert texts.inputs[0].startswith("First Citizen:\nBefore we proceed")


def test_a_set_of_another_size_is_refused(tmp_path):
    (tmp_path / "wiki.train.tokens").write_text("one two three\n")
    with pytest.raises(DataError, match=r"wikitext2: .* should hold 2,051,910 words\. Got 3\."):
        datasets.dataset("wikitext2").fetch("wikitext2", tmp_path)
    (tmp_path / "wiki40b_en").mkdir()
    pd.DataFrame({"text": ["a", "b"]}).to_parquet(tmp_path / "wiki40b_en" / "train.parquet")
    with pytest.raises(DataError, match=r"should hold 3,252,407 rows\. Got 2\."):
        datasets.dataset("wiki40b_en").fetch("wiki40b_en", tmp_path)


def test_a_set_behind_a_page_says_what_to_write(tmp_path):
    with pytest.raises(DataError, match=r"wiki40b_en: keep the Parquet files .* set MULTIWAY_DATA"):
        datasets.dataset("wiki40b_en").fetch("wiki40b_en", tmp_path)
