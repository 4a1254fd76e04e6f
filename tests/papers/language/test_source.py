"""Text from files, folders and memory, cut into documents and splits."""

import gzip
import json

import pandas as pd
import pyarrow as pa
import pytest

from multiway.data.splitting import split
from multiway.errors import DataError
from multiway_papers.language.source import TextOptions, TextSplit, cut
from papers.language.prepared import read_documents

ARTICLES = " = One = \n\n first text .\n = = Part = = \n more of it .\n = Two = \n second .\n = Three = \n third .\n"


def split_texts(texts, how):
    texts = cut(texts, how)
    return texts, split(texts, how)


def written(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def packed(path, text, codec):
    with pa.CompressedOutputStream(pa.OSFile(str(path), "wb"), codec) as stream:
        stream.write(text.encode())
    return path


def test_articles_begin_at_headings_and_not_at_those_of_parts(tmp_path):
    texts = read_documents(written(tmp_path / "wiki.txt", ARTICLES))
    assert [text.split(" = \n")[0].strip(" =\n") for text in texts.inputs] == ["One", "Two", "Three"]
    assert "".join(texts.inputs) == ARTICLES


@pytest.mark.parametrize(("how", "count"), [("file", 1), ("line", 8), ("paragraph", 2), ("heading", 3)])
def test_documents_are_what_the_options_say(how, count, tmp_path):
    path = written(tmp_path / "wiki.txt", ARTICLES)
    assert len(read_documents(path, TextOptions(documents=how))) == count


@pytest.mark.parametrize("ending", ["zst", "gz"])
def test_a_packed_text_is_its_text(ending, tmp_path):
    codec = {"zst": "zstd", "gz": "gzip"}[ending]
    path = packed(tmp_path / f"plain.txt.{ending}", "Schöne Grüße\n" * 99, codec)
    assert [*read_documents(path).inputs] == ["Schöne Grüße\n" * 99]


def test_a_packed_text_that_is_cut_short_is_refused(tmp_path):
    path = packed(tmp_path / "plain.txt.zst", "".join(map(str, range(9999))), "zstd")
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(DataError, match=r"plain\.txt\.zst: its Zstandard stream is broken"):
        read_documents(path)


def test_a_packed_text_beyond_the_limit_is_refused(tmp_path):
    path = packed(tmp_path / "plain.txt.zst", "a" * 5000, "zstd")
    with pytest.raises(DataError, match="unpacks to more than 4,000 bytes"):
        read_documents(path, TextOptions(max_bytes=4000))


def test_rows_of_lines_and_of_tables_are_documents(tmp_path):
    rows = [{"body": "one two", "n": 1}, {"body": " ", "n": 2}, {"body": "three\ud800", "n": 3}]
    text = "\n".join(map(json.dumps, rows))
    (tmp_path / "rows.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    pd.DataFrame({"body": ["one two", None, "three?"], "n": [1, 2, 3]}).to_parquet(tmp_path / "rows.parquet")
    for name, place in (("rows.jsonl.gz", "line 3"), ("rows.parquet", "row 2")):
        texts = read_documents(tmp_path / name, TextOptions(column="body"))
        assert [*texts.inputs] == ["one two", "three?"] and texts.names["document"][1] == place


def test_a_table_may_have_the_texts_alone(tmp_path):
    path = written(tmp_path / "rows.csv", 'body\none two\n"three, four"\n')
    for options in (TextOptions(), TextOptions(column="body")):
        assert [*read_documents(path, options).inputs] == ["one two", "three, four"]


def test_lines_without_a_text_are_left_out_and_others_are_refused(tmp_path):
    path = written(tmp_path / "rows.jsonl", '{"text": null}\n{"text": "one"}\n')
    assert [*read_documents(path).inputs] == ["one"]
    written(path, '{"text": "one"}\n{"text": 7}\n')
    with pytest.raises(DataError, match=r"rows\.jsonl: it is no text: line 2, column 'text', value '7'\. Write it in"):
        read_documents(path)


def test_a_file_of_a_split_that_is_empty_is_refused(tmp_path):
    written(tmp_path / "texts" / "train.txt", "learn\n" * 9)
    written(tmp_path / "texts" / "test.txt", "\n")
    with pytest.raises(DataError, match=r"texts: test\.txt holds no text, and its name says test\. Fill it"):
        read_documents(tmp_path / "texts")
    assert len(read_documents(tmp_path / "texts", later=True)) == 1


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.csv"])
def test_a_column_that_is_not_there_is_named_with_those_that_are(name, tmp_path):
    content = '{"body": "one", "n": 1}\n' if name.endswith("jsonl") else "body,n\none,1\n"
    with pytest.raises(DataError, match=r"'text'.*body.*read.column=NAME"):
        read_documents(written(tmp_path / name, content))


def test_a_training_file_brings_its_other_splits_and_alone_is_itself(tmp_path):
    for name, text in (("train", "learn .\n"), ("valid", "choose .\n"), ("test", "score .\n")):
        written(tmp_path / f"wiki.{name}.tokens", text)
    texts, splits = split_texts(read_documents(tmp_path / "wiki.train.tokens"), TextSplit())
    chosen = {name: [texts.inputs[row] for row in rows] for name, rows in splits.items()}
    assert chosen == {"train": ["learn .\n"], "validation": ["choose .\n"], "test": ["score .\n"]}
    assert [*read_documents(tmp_path / "wiki.train.tokens", later=True).inputs] == ["learn .\n"]
    assert read_documents(tmp_path / "wiki.test.tokens").official is None


def test_files_of_a_folder_name_their_splits_and_others_are_left_out_with_a_note(tmp_path):
    for name in ("train/a.txt", "train/b.txt", "dev/c.txt", "test/d.txt", "readme.md", "picture.png"):
        written(tmp_path / "texts" / name, f"{name}\n")
    texts = read_documents(tmp_path / "texts")
    assert texts.official == ("validation", "test", "train", "train")
    assert texts.notes == ("1 documents are in no file of a split and are left out.",)


def test_a_split_that_no_file_names_is_the_last_share_of_the_training_text(tmp_path):
    written(tmp_path / "train.txt", "".join(f"line {row}\n" for row in range(10)))
    written(tmp_path / "test.txt", "score one\nscore two\n")
    texts = read_documents(tmp_path / "train.txt", TextOptions(documents="line"))
    _, splits = split_texts(texts, TextSplit(validation=0.2))
    assert {name: rows.tolist() for name, rows in splits.items()} == {
        "train": list(range(8)), "validation": [8, 9], "test": [10, 11]
    }  # fmt: skip


def test_shares_are_of_the_text_in_its_order_and_no_document_is_in_two():
    documents = ["a " * 40, "b " * 40, "c " * 10, "d " * 10]
    texts, splits = split_texts(read_documents(documents), TextSplit(validation=0.1, test=0.1))
    assert {name: rows.tolist() for name, rows in splits.items()} == {"train": [0, 1], "validation": [2], "test": [3]}
    assert [*texts.inputs] == documents


def test_one_text_is_cut_at_line_ends(tmp_path):
    text = "".join(f"line {row:03}\n" for row in range(100))
    texts, splits = split_texts(read_documents(written(tmp_path / "book.txt", text)), TextSplit())
    assert "".join(texts.inputs) == text and all(part.endswith("\n") for part in texts.inputs)
    assert [len(part.splitlines()) for part in texts.inputs] == [80, 10, 10]
    assert [rows.tolist() for rows in splits.values()] == [[0], [1], [2]]


def test_too_few_documents_are_refused_with_the_counts():
    with pytest.raises(DataError, match=r"each split needs documents\. Got train 0, validation 1, test 1"):
        split_texts(read_documents(["one", "two"]), TextSplit())


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "there is no text"), (b"sound\nnot \x00 sound\n", "line 2"), (b" \n\n ", "there is no text")],
)
def test_files_without_text_are_refused(content, words, tmp_path):
    (tmp_path / "bad.txt").write_bytes(content)
    with pytest.raises(DataError, match=words):
        read_documents(tmp_path / "bad.txt")


def test_what_is_no_text_in_memory_is_named():
    with pytest.raises(DataError, match="Got int at position 1"):
        read_documents(["one", 2])
    with pytest.raises(DataError, match=r"a list or a series of texts is needed\. Got dict"):
        read_documents({"text": "one"})


def test_a_column_of_a_text_file_is_refused_unless_a_training_on_a_table_named_it(tmp_path):
    path = written(tmp_path / "book.txt", "one\ntwo\n")
    with pytest.raises(DataError, match=r"book\.txt: text files have no columns.*'q'\. Name no column"):
        read_documents(path, TextOptions(column="q"))
    assert [*read_documents(path, TextOptions(column="q"), later=True).inputs] == ["one\ntwo\n"]


def test_headings_that_are_not_there_are_refused_and_noted_of_one_file_among_others(tmp_path):
    path, heading = written(tmp_path / "texts" / "book.txt", "one\ntwo\n"), TextOptions(documents="heading")
    with pytest.raises(DataError, match=r"it has no heading such as = Title =.* \(read\.documents=paragraph\)"):
        read_documents(path, heading)
    note = "has no heading such as = Title =, so it is one document."
    assert read_documents(path, heading, later=True).notes == (f"it {note}",)
    written(tmp_path / "texts" / "wiki.txt", ARTICLES)
    texts = read_documents(tmp_path / "texts", heading)
    assert len(texts) == 4 and texts.notes == (f"book.txt {note}",)


def test_a_folder_without_training_text_is_refused_and_a_file_is_what_its_user_says(tmp_path):
    path = written(tmp_path / "texts" / "test.txt", "line\n" * 9)
    with pytest.raises(DataError, match=r"there is no training text: its files are called test\. Add a file called tr"):
        read_documents(tmp_path / "texts")
    assert len(read_documents(path)) == len(read_documents(tmp_path / "texts", later=True)) == 1
    written(tmp_path / "texts" / "valid.txt", "line\n")
    with pytest.raises(DataError, match="its files are called test and validation"):
        read_documents(tmp_path / "texts")
    written(tmp_path / "texts" / "book.txt", "line\n")
    (note,) = read_documents(tmp_path / "texts").notes
    assert note.startswith("2 documents are in files called test and validation, and as none is called train, they are")
