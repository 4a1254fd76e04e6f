"""What a run on texts stores beside what all tasks do."""

from collections.abc import Sequence
from typing import Any

from multiway.data.labelled import PreparedSamples
from multiway.tasks.class_task import ClassFacts, probabilities
from multiway.tasks.protocol import Row
from multiway.tasks.run import Run
from multiway.tasks.scores import deviation, mean


class TextFacts(ClassFacts):
    """Of texts and the network on them."""

    train_acc: float
    """Share of the training texts that the network has right: how much it can express (TGA, figure 2)."""
    attention_parameters: int | None = None
    """Trained numbers of its attention layers, where it counts them."""


def network_facts(run: Run, prepared: PreparedSamples) -> dict[str, Any]:
    """The fields of `TextFacts` that are its own."""
    training = prepared.part("train")
    right = probabilities(run.model, training).argmax(1) == training.truth
    return {
        "train_acc": float(right.mean()), "attention_parameters": getattr(run.model, "attention_parameters", None)
    }  # fmt: skip


def network_cells(runs: Sequence[Run]) -> Row:
    """The same for a row of results: a mean over the runs with its deviation, and a count."""
    shares = [run.facts["train_acc"] for run in runs]
    facts: Row = {"train_acc": mean(shares), "train_acc_sd": deviation(shares)}
    count = runs[0].facts["attention_parameters"]
    return facts if count is None else {**facts, "attention_parameters": count}
