"""Curves of a report on classes, and the part on errors of numbers."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from multiway.metrics import classes
from multiway.report import Metric, render
from multiway.report import Page as Content
from multiway.tasks import pages
from multiway.tasks.misses import miss_part
from multiway.tasks.registry import task_of
from multiway.tasks.target_page import class_curves, confusion_part, number_errors, target_headline
from report_pages import Page

LABELS = np.array([0, 1, 2, 1, 0, 2])
SHARES = np.random.default_rng(0).dirichlet([1, 1, 1], 6)


def test_more_than_two_classes_have_a_curve_each_of_our_model():
    found = class_curves(["a", "b", "c"], LABELS, {"network": SHARES, "majority": SHARES[:, ::-1]})
    assert [each.name for each in found] == ["a", "b", "c"]
    assert np.mean([each.auc for each in found]) == pytest.approx(classes.auc(LABELS, SHARES))


def test_two_classes_have_a_curve_per_model():
    labels, shares = LABELS % 2, np.stack([SHARES[:, 0], 1 - SHARES[:, 0]], 1)
    found = class_curves(["a", "b"], labels, {"network": shares, "logistic": shares[:, ::-1]})
    assert [each.name for each in found] == ["network", "logistic"]
    assert found[0].auc == pytest.approx(classes.auc(labels, shares)) == pytest.approx(1 - found[1].auc)
    assert class_curves(["a", "b"], np.zeros(6, int), {"network": shares}) == []


def test_errors_of_numbers_are_shown_by_tenths_of_the_prediction():
    test = pd.DataFrame({"predicted": np.arange(20.0)[::-1], "label": np.arange(20.0)[::-1] + 1})
    (table,) = number_errors(test, "rows").content
    assert len(table.rows) == 10
    assert [float(cell) for cell in table.rows[0][:2]] == [0.5, 1.5]


@pytest.mark.parametrize(
    ("shift", "words"), [(0.1234, "off by 0.123 on average; 92\u202f% better"), (2, "33\u202f% worse")]
)
def test_numbers_are_told_by_how_far_they_are_off_in_three_digits(shift, words):
    """The labels lie 1.5 from the mean, which is a candidate of its own."""
    of_answer = {"model": "ridge", "split": "test", "label": [0.0, 3.0], "predicted": [shift, 3 + shift]}
    rows = [pd.DataFrame(of_answer), pd.DataFrame({**of_answer, "model": "mean", "predicted": 1.5})]
    run = SimpleNamespace(
        tables={"predictions": pd.concat(rows)}, answer=SimpleNamespace(name="ridge"),
        state=SimpleNamespace(classes=None, target_name="weight"),
    )  # fmt: skip
    said = target_headline(None, run)
    assert said.startswith("Weight is off by ") and words in said and said.endswith(" than the mean alone.")


def test_what_is_always_named_is_the_most_frequent_class_of_the_training():
    """Most test rows are of the other class: that nobody could have known, and the table of scores does not say."""
    labels, shares = np.repeat(["a", "b"], [2, 6]), {"network": (0.2, 0.8), "majority": (0.7, 0.3)}
    rows = [
        pd.DataFrame({"model": name, "split": "test", "label": labels, "predicted": "b", "p_a": a, "p_b": b})
        for name, (a, b) in shares.items()
    ]
    assert headline_of(rows).endswith(
        "75.0\u202f% of 8 test rows are named correctly; "
        "always naming a, the most frequent class in training, is right in 25.0\u202f%."
    )
    assert headline_of(rows[:1]) == "75.0\u202f% of 8 test rows are named correctly."


def headline_of(rows):
    run = SimpleNamespace(
        tables={"predictions": pd.concat(rows)}, answer=SimpleNamespace(name="network"),
        state=SimpleNamespace(classes=("a", "b")),
    )  # fmt: skip
    return target_headline(SimpleNamespace(rows="rows"), run)


def test_confusions_of_many_classes_are_counted():
    """Of three pairs all are listed; of twelve the ten most frequent."""
    names = [f"class {place:02d}" for place in range(13)]
    labels = np.repeat(np.arange(13), 3)
    for count, title in ((3, "Every confusion"), (12, "The 10 most frequent of 12 confusions")):
        predicted = labels.copy()
        predicted[: 3 * count : 3] += 1
        part = confusion_part(names, labels, predicted, [], {}, "the network", "texts")
        assert part.side == ["On the test texts. Which classes the network took for which."]
        assert part.content[0].title == title and len(part.content[0].rows) == min(count, 10)


@pytest.mark.parametrize("count", [2, 13])
def test_where_none_is_confused_no_empty_table_stands(count):
    labels = np.repeat(np.arange(count), 3)
    said, *rest = confusion_part([f"c{place}" for place in range(count)], labels, labels, [], {}, "m", "series").content
    assert said.words == "No test series was misclassified."
    assert all(section is None or section.rows for section in rest)


@pytest.mark.parametrize(
    ("name", "words"),
    [("tfidf", "logistic regression on TF-IDF"), ("blend", "the blend"), ("network", "the network")],
)
def test_errors_are_of_a_model_in_words(name, words):
    (part,) = miss_part(SUBJECT, [run_of_texts(name, ["so fine"] * 7)])
    assert part.side[0] == f"The most confident errors of {words} on test texts, 20 at most."
    first, others = part.content
    assert len(first.rows) == 5 and others.fold == "2 more" and len(others.rows) == 2


def test_a_long_text_is_whole_and_its_end_is_folded():
    long = " ".join(f"word{place}" for place in range(300))
    (part,) = miss_part(SUBJECT, [run_of_texts("network", [long])])
    (cell, *_) = part.content[0].rows[0]
    assert cell.text + cell.rest == long and 80 < len(cell.text) <= 160 and cell.rest.startswith(" word")
    page = Page(render(Content(title="t", kicker="k", parts=[part])))
    assert "word299" in page.text and page.all("details", class_="rest")


SUBJECT = pages.Subject(
    kicker="", rows="texts", setting=lambda run: {}, selected_by=lambda run: "",
    order=lambda run: [Metric(name="acc", title="Accuracy")],
)  # fmt: skip


def run_of_texts(name, texts):
    """All of them are named wrongly by the model that answers."""
    shares = np.linspace(0.6, 0.9, len(texts))
    table = pd.DataFrame({
        "text": texts, "model": name, "split": "test", "label": "a", "predicted": "b", "p_a": 1 - shares, "p_b": shares
    })  # fmt: skip
    scores = [{"model": name, "split": "test", "metric": "acc", "value": 0.0}]
    return SimpleNamespace(
        tables={"predictions": table}, answer=SimpleNamespace(name=name), scores=scores,
        state=SimpleNamespace(classes=("a", "b")), 
        task=SimpleNamespace(score_name=lambda run: run.answer.name, candidates=task_of("text").candidates),
    )  # fmt: skip
