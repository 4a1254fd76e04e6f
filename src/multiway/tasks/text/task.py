"""The task `text`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from torch import nn

from multiway.auditing import AuditReport
from multiway.auditing.labelled_texts import audit_texts
from multiway.data import CheckReport
from multiway.data.encoders import TextOptions
from multiway.data.labelled import Labelled, PreparedSamples
from multiway.data.labelled_text import (
    PreparedTexts,
    TextState,
    check_texts,
    looks_like_texts,
    match_texts,
    prepare_texts,
    read_frame,
)
from multiway.metrics.classes import accuracy
from multiway.tasks import pages, targets
from multiway.tasks.answers import Answer, in_folder, written
from multiway.tasks.class_page import class_page
from multiway.tasks.class_task import ClassTask, probabilities
from multiway.tasks.lifecycle import reread
from multiway.tasks.options import whole
from multiway.tasks.protocol import Option, Row
from multiway.tasks.run import Run
from multiway.tasks.scores import deviation, mean
from multiway.tasks.text import models
from multiway.tasks.text.config import TextConfig
from multiway.tasks.text.explaining import explain_graphs, explain_words
from multiway.tasks.text.facts import TextFacts
from multiway.training import History

EXPLAINED = 10
"""Test texts that are explained where nobody says how many."""
GRAPHS = "with --out FOLDER, the eigenvalues of the graph filters are written too, with their gains."
INPUTS = {"words": "words, from scratch", "vectors": "vectors of {}", "tokens": "{}, tuned"}


def _setting(run: Run) -> dict[str, str]:
    state, model = run.state, run.config.model
    layer = {"Layer": str(model["layer"])} if "layer" in model else {}
    return {
        "Text": " and ".join(state.columns.texts), "Classes": str(len(state.classes)),
        "Inputs": INPUTS[state.inputs].format(state.encoder), "Model": run.config.model_name, **layer,
    }  # fmt: skip


class Text(ClassTask[TextConfig, TextState]):
    """Classes of texts."""

    name = "text"
    needs = "texts. Give a table, or one text on each line,"
    config = TextConfig
    state = TextState
    facts = TextFacts
    scored = (*targets.CLASSES, targets.MORE["f1"], targets.MORE["hard_auc"])
    page = class_page(
        pages.Subject(
            kicker="Report on texts", rows="texts", selected_by=lambda run: "lowest validation loss",
            models=models.WORDS, setting=_setting,
            interval="over texts, or over groups where they are known (bootstrap)",
        )
    )  # fmt: skip
    options = (
        Option(name="text", field="read.text", help="Column of texts; found if not given."),
        Option(name="target", field="read.target", help="Column of classes; found if not given."),
        Option(name="second", field="read.second", help="Column of a second text, such as an answer."),
        Option(name="split", field="read.split", help="Column that says train, validation or test."),
        Option(name="group", field="read.group", help="Column whose rows stay in one split, such as an author."),
        Option(
            name="inputs", field="inputs", choices=("words", "vectors", "tokens"), commands=("train",),
            help="What the network sees: words from scratch, vectors of a frozen encoder, or an encoder that is tuned.",
        ),
        Option(
            name="encoder", field="text.encoder", commands=("train",),
            help="minilm, hashed, or any encoder of Hugging Face, by name or folder.",
        ),
        Option(name="count", commands=("explain",), read=whole, help="Test texts to explain; 10 if not given."),
    )  # fmt: skip

    def recognises(self, source: Any) -> bool:
        """Tables with columns called text and label, or the like, and lists of texts with classes."""
        return looks_like_texts(source)

    def prepare(
        self, config: TextConfig, source: Any, state: TextState | None = None, *, progress: bool = False
    ) -> PreparedTexts:
        """Texts, split and encoded; later ones matched by the names of their columns."""
        if state is not None:
            return match_texts(source, config.read, state, config.text, progress=progress)
        parts = (config.read, config.split, config.inputs, config.words, config.text)
        return prepare_texts(source, *parts, progress=progress)

    def unlabelled(self, config: TextConfig, source: Any, state: TextState) -> PreparedTexts:
        """Texts whose classes nobody needs to know."""
        return match_texts(source, config.read, state, config.text, has_target=False)

    def check(self, config: TextConfig, source: Any) -> CheckReport:
        """What is in a table of texts, or in lists of texts and classes."""
        return check_texts(source, config.read, config.split)

    def audit(self, config: TextConfig, run: Run | None = None) -> AuditReport:
        """See `multiway.auditing.labelled_texts`; nothing is encoded for it."""
        hashed = TextOptions(encoder="hashed")
        source = self.locate(config.data or "")
        return audit_texts(prepare_texts(source, config.read, config.split, "words", config.words, hashed))

    def learn(self, config: TextConfig, prepared: PreparedTexts) -> TextState:  # type: ignore[override]
        """Columns, vocabulary and scale of the training rows."""
        return prepared.state

    def settle(self, config: TextConfig, state: TextState, *, progress: bool = False) -> TextConfig:
        """Name the encoder, which may be another one on another machine."""
        return config.replace(text=config.text.replace(encoder=state.encoder))

    def build(self, config: TextConfig, state: TextState, name: str) -> nn.Module:
        """See `multiway.tasks.text.models`."""
        return models.build(config, state, name)

    def seen_by(self, run: Run, name: str, samples: Labelled) -> Labelled:
        """See `multiway.tasks.text.models`."""
        return models.seen_by(run, name, samples)

    def fit_baseline(
        self, run: Run, name: str, training: Labelled, validation: Labelled
    ) -> History | dict[str, Any] | None:
        """See `multiway.tasks.text.models`."""
        return models.fit_baseline(run.models[name], training, validation)

    def describe(self, run: Run, prepared: PreparedSamples) -> dict[str, Any]:
        """Samples of each split, and what the network has learnt of the training texts."""
        training, count = prepared.part("train"), getattr(run.model, "attention_parameters", None)
        right = accuracy(training.truth, probabilities(run.model, training))
        return {**super().describe(run, prepared), "train_acc": right, "attention_parameters": count}

    def cell_facts(self, runs: Sequence[Run]) -> Row:
        """Test samples, accuracy in training, and parameters of attention."""
        shares, count = [run.facts["train_acc"] for run in runs], runs[0].facts["attention_parameters"]
        own = {"train_acc": mean(shares), "train_acc_sd": deviation(shares), "attention_parameters": count}
        return {**super().cell_facts(runs), **{name: value for name, value in own.items() if value is not None}}

    def answer(self, run: Run, data: str | None, out: Path | None, options: dict[str, Any]) -> Answer:
        """The rows of a file with their class beside them."""
        source = self.later(data, out)
        later = self.unlabelled(run.config, source, run.state)
        found = targets.answers(probabilities(run.model, later.samples), run.state.classes)
        frame = read_frame(source, run.config.read).drop(columns=found.columns, errors="ignore")
        return written(pd.concat([frame, found], axis=1), out, later.notes)

    def explain(self, run: Run, out: Path | None, options: dict[str, Any]) -> Answer:
        """How far each word of some test texts moves the probability of the answer, by leaving it out."""
        test = reread(run).part("test")
        count = int(options.get("count") or EXPLAINED)
        found, graphs = explain_words(run, test, count), explain_graphs(run, test, count)
        notes = ["the probability of the predicted class falls by `importance` where the word is left out of the text."]
        if graphs is None:
            return in_folder(found, out, "words.csv", notes)
        return in_folder(found, out, "words.csv", notes if out else [*notes, GRAPHS], {"spectra.csv": graphs})


TASK = Text()
