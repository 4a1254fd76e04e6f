"""Which model answers, in a sentence that reads well with any model, a blend, and one that nothing chose."""

from types import SimpleNamespace

import pytest

from multiway.report.scores import Metric, Scores
from multiway.tasks.candidate import words_of
from multiway.tasks.choice import Candidate, Choice, choice_of_settings
from multiway.tasks.pages import _answering
from multiway.tasks.registry import task_of


def sentence(choice, *models):
    rows = [{"model": name, "split": "test", "metric": "dice", "value": 0.5} for name in models]
    scores = Scores(
        [rows], [Metric(name="dice", title="Dice", higher=True)], choice.name, words_of(task_of("segment").candidates())
    )
    return _answering(SimpleNamespace(answer=choice), scores)


def chosen(name, **more):
    measured = Candidate(name=name, loss=0.1, difference=0.0, error=None, cases=3)
    return Choice(name=name, reason="", candidates=(measured,), **more)


@pytest.mark.parametrize(
    ("choice", "models", "words"),
    [
        (chosen("threshold"), ["threshold", "network", "unet"], "thresholding, chosen among 3 models."),
        (chosen("network"), ["threshold", "network"], "the network, chosen among 2 models."),
        (chosen("logistic"), ["logistic"], "logistic regression."),
        (choice_of_settings("unet"), ["unet", "network"], "U-Net, compared with 1 other."),
        (choice_of_settings("network"), ["unet", "network", "logistic"], "the network, compared with 2 others."),
        (chosen("blend", weights={"unet": 0.3, "network": 0.68, "logistic": 0.02}), ["blend", "unet", "network"],
         "a blend of the network, U-Net and 1 more, chosen among 3 models."),
    ],
    ids=lambda value: value.name if isinstance(value, Choice) else "",
)  # fmt: skip
def test_any_model_can_be_what_the_answer_comes_from(choice, models, words):
    assert sentence(choice, *models) == f"The answer comes from {words}"
