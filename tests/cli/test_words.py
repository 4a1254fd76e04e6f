"""What is printed names models in words, as the report does; JSON names them as files do, and both names are taken."""

import json

import pytest

from command import printed
from multiway.tasks.candidate import words_of
from multiway.tasks.registry import task_of
from report_pages import Page
from tasks.finished import finished


@pytest.mark.parametrize(("task", "least"), [("forecast", {"seasonal_naive"}), ("stocks", {"previous", "calendar"})])
def test_models_are_printed_in_words_and_written_by_their_names_in_files(task, least, tmp_path_factory, tmp_path):
    made = finished(task, tmp_path_factory)
    ids = {row["model"] for row in json.loads(printed("evaluate", made.run, "--json"))}
    told = {**words_of(task_of(task).candidates()), **task_of(task).page.SUBJECT.models}
    words = {name: told.get(name, name.replace("_", " ")) for name in ids}
    other = {name: word for name, word in words.items() if word != name}
    assert least <= other.keys()
    for said in (made.said, printed("evaluate", made.run), printed("compare", made.run, made.run)):
        assert all(word in said for word in words.values())
        rows = [line.replace(str(made.run), "").split("  ")[0].strip() for line in said.splitlines()]
        assert not other.keys() & {*rows}


def test_the_line_on_the_answer_is_in_words_wherever_it_is_printed(tmp_path_factory, tmp_path):
    made = finished("forecast", tmp_path_factory)
    file = tmp_path / "a.csv"
    named = ("--model", "seasonal_naive")
    for said in (printed("predict", made.run, *named, "--out", file), printed("backtest", made.run, *named)):
        assert said.startswith("Answer: seasonal naive, chosen by name") and "seasonal_naive" not in said
    document = json.loads(printed("backtest", made.run, *named, "--json"))
    assert document["answer"].startswith("Answer: seasonal_naive") and document["rows"][0]["model"] == "seasonal_naive"


def test_train_prints_the_sentence_that_the_report_begins_with(tmp_path_factory):
    made = finished("forecast", tmp_path_factory)
    (line,) = [line for line in made.said.splitlines() if line.startswith(f"{made.run}: ")]
    sentence = line.removeprefix(f"{made.run}: ")
    assert "is off by" in sentence and sentence in Page(made.page).text.replace("\u202f", " ")


def test_a_model_is_named_by_its_words_too(tmp_path_factory, tmp_path):
    made = finished("forecast", tmp_path_factory)
    for file, name in (("a.csv", "seasonal_naive"), ("b.csv", "seasonal naive")):
        printed("predict", made.run, "--model", name, "--out", tmp_path / file)
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()
