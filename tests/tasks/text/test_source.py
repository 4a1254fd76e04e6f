import gzip
import json

import pandas as pd
import pytest

from multiway.errors import ConfigError, DataError
from multiway.tasks.text import TextConfig
from multiway.tasks.text.config import LabelledTextOptions
from multiway.tasks.text.source import likely_target, looks_like_texts, read_texts
from multiway.tasks.text.task import TASK
from tasks.text.reviews import reviews


def write(frame: pd.DataFrame, path) -> str:
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    elif path.suffix in {".jsonl", ".gz"}:
        lines = "\n".join(json.dumps(row) for row in frame.to_dict("records"))
        path.write_bytes(gzip.compress(lines.encode()) if path.suffix == ".gz" else lines.encode())
    else:
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    return str(path)


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.parquet", "a.jsonl", "a.jsonl.gz"])
def test_every_form_of_file_gives_the_same_texts(name, tmp_path):
    found = read_texts(write(reviews(), tmp_path / name))
    assert tuple(found.inputs) == tuple(reviews()["review"])
    assert found.columns == ("review",) and found.target_name == "label"
    assert [found.classes[label] for label in found.truth] == list(reviews()["label"])


def test_lists_are_read_as_tables_are():
    frame = reviews()
    found = read_texts((list(frame["review"]), frame["label"]))
    assert tuple(found.inputs) == tuple(read_texts(frame).inputs) and (found.truth == read_texts(frame).truth).all()
    assert read_texts(frame["review"]).target is None


def test_a_text_file_holds_a_text_on_each_line(tmp_path):
    (tmp_path / "new.txt").write_text("so good\n\nso, so bad\n")
    found = read_texts(tmp_path / "new.txt")
    assert tuple(found.inputs) == ("so good", "so, so bad") and found.rows.tolist() == [1, 3]


def test_a_csv_may_hold_texts_alone(tmp_path):
    (tmp_path / "new.csv").write_text('text\n"so good, so far"\n"a\nbad one"\nplain words\n')
    assert tuple(read_texts(tmp_path / "new.csv").inputs) == ("so good, so far", "a bad one", "plain words")
    (tmp_path / "torn.csv").write_text("text\nso good, so far\n")
    with pytest.raises(DataError, match="no column separator was found"):
        read_texts(tmp_path / "torn.csv")


def test_a_second_text_stands_on_a_line_of_its_own():
    frame = pd.DataFrame({"question": ["why  not?", "who?"], "answer": ["so\nbe it", "me"], "label": ["a", "b"]})
    found = read_texts(frame, LabelledTextOptions(second="answer"))
    assert tuple(found.inputs) == ("why not?\nso be it", "who?\nme")


def test_rows_are_kept_by_their_cells_from_the_top():
    found = read_texts(reviews(), LabelledTextOptions(where={"part": "dev"}, first=3))
    assert tuple(found.inputs) == tuple(reviews()["review"][40:43]) and found.rows.tolist() == [40, 41, 42]


def test_as_many_rows_are_kept_of_each_split():
    frame = reviews().iloc[::-1]
    found = read_texts(frame, LabelledTextOptions(split="part", first=3))
    rows = [*range(10, 13), *range(20, 23)]
    assert tuple(found.inputs) == tuple(frame["review"].iloc[[*range(3), *rows]])
    assert [found.official.count(name) for name in ("train", "test", "")] == [3, 3, 3]


def test_splits_go_by_several_names():
    config = TextConfig.parse({"read": {"split": "part"}, "text": {"encoder": "hashed"}})
    found = TASK.prepare(config, reviews())
    (said,) = found.raw.warned
    assert said.startswith("10 rows are left out: column 'part' says other, which is no split")
    assert [found.raw.official.count(name) for name in ("train", "test", "")] == [40, 10, 10]
    assert any(note.startswith("10 rows are left out: ") for note in found.notes)


@pytest.fixture(scope="module")
def trained():
    """A config, and what training learnt."""
    config = TextConfig.parse({"inputs": "words", "text": {"encoder": "hashed"}})
    return config, TASK.prepare(config, reviews()).state


def test_later_texts_are_matched_to_those_of_the_training(trained):
    config, state = trained
    later = reviews()[["label", "review"]].iloc[:4]
    assert tuple(TASK.prepare(config, later, state).raw.inputs) == tuple(reviews()["review"][:4])
    with pytest.raises(DataError, match="the training names 'review', which is not there"):
        TASK.prepare(config, later.drop(columns="review"), state)
    with pytest.raises(DataError, match="1 targets are none of the classes bad, good"):
        TASK.prepare(config, later.assign(label=["good", "good", "bad", "odd"]), state)


def test_lines_of_a_file_are_the_texts_of_the_training_whatever_these_are_called(tmp_path, trained):
    (tmp_path / "new.txt").write_bytes("für dich\r\n\r\nnot me".encode("latin1"))
    found = TASK.prepare(trained[0], tmp_path / "new.txt", trained[1], labelled=False).raw
    assert tuple(found.inputs) == ("für dich", "not me") and found.rows.tolist() == [1, 3]
    assert any("it is not UTF-8; read as Windows-1252" in note for note in found.notes)


@pytest.mark.parametrize(
    ("change", "options", "text"),
    [
        ({"review": [""] + ["word"] * 59}, {}, r"1 rows have no text: row 0, column 'review'. Fill it in"),
        ({}, {"text": "body"}, r"text names 'body', which is not there. There are review, label"),
        ({}, {"where": {"part": "nine"}}, r"no row has part = nine"),
        ({"label": [""] + ["good", "bad"] * 29 + ["bad"]}, {}, r"1 of 60 rows have no target: row 0"),
        ({"author": None}, {"group": "author"}, r"60 rows have no group"),
    ],
)
def test_a_flaw_is_named_with_its_place(change, options, text):
    with pytest.raises(DataError, match=text):
        read_texts(reviews().assign(**change), LabelledTextOptions(**options))


def test_a_table_without_a_column_of_texts_is_refused():
    frame = pd.DataFrame({"city": ["Ulm", "Bonn"], "age": [3, 4]})
    with pytest.raises(
        DataError, match=r"no column of texts was found. Name it \(read\.text=NAME\). There are city, age"
    ):
        read_texts(frame)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (["a", 3], r"texts\[1\] must be text. Got int"),
        ("nowhere.jsonl", "nowhere.jsonl does not exist"),
        ((["a", "b"], ["x"]), r"y: one class is needed per text, \(2,\). Got \(1,\)"),
        ((["a"], ["x"], ["z"]), "Got 3 parts"),
    ],
)
def test_what_are_no_texts_is_one_line(source, text):
    with pytest.raises(DataError, match=text) as caught:
        read_texts(source)
    assert "\n" not in str(caught.value)


def test_broken_lines_of_json_are_named(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "a b c", "label": 1}\n{"text": \n')
    with pytest.raises(DataError, match="1 lines hold no sound JSON object: line 2"):
        read_texts(tmp_path / "a.jsonl")


def test_columns_have_one_role():
    with pytest.raises(ConfigError, match=r"are different columns\. Got label, label"):
        LabelledTextOptions.parse({"text": "label", "target": "label"})
    with pytest.raises(ConfigError, match="split by group or by a column of splits"):
        LabelledTextOptions.parse({"group": "author", "split": "part"})


@pytest.mark.parametrize(
    ("source", "is_text"),
    [
        (reviews(), True),
        ((["some words here"], ["a"]), True),
        (reviews().rename(columns={"label": "group"}), True),
        (reviews().assign(date="2020-01-01"), True),
        (reviews().rename(columns={"label": "group"}).assign(a=1, b=2, c=3), False),
        (pd.DataFrame({"text": ["a", "b"], "label": [0, 1]}), False),
        ((pd.DataFrame({"age": [1]}), [0]), False),
    ],
)
def test_tables_of_texts_are_told_from_others(source, is_text):
    assert looks_like_texts(source) is is_text


def test_a_cell_that_holds_a_list_does_not_stop_the_search_for_a_target():
    texts = [f"the cow sees number {row}" for row in range(12)]
    frame = pd.DataFrame({"text": texts, "author": ["Ada"] * 11 + [["x", "x"]], "kind": [0, 1] * 6})
    assert likely_target(frame, LabelledTextOptions()) == "kind"
