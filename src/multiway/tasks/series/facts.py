"""Schema of what a stored run says of its series."""

from multiway.config import Config
from multiway.tasks.class_task import ClassFacts


class Importance(Config):
    """Share of each step and of each variate in what moved the logits of test series."""

    step: dict[str, float]
    variate: dict[str, float]


class SeriesFacts(ClassFacts):
    """Of labelled series."""

    importance: Importance
