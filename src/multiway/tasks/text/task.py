"""The task `text`, and `TextClassifier`, the task in scikit-learn's manners."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pandas as pd
from torch import Tensor

from multiway.auditing import AuditReport
from multiway.auditing.texts import audit_texts
from multiway.config import Plain
from multiway.data.encoders.hashed import words_in
from multiway.data.findings import Findings
from multiway.data.matching import Far, far_share
from multiway.data.options import EncoderOptions
from multiway.data.samples import Prepared, Rows, Samples
from multiway.data.splitting import Splits, notes_on_draws
from multiway.errors import Fix
from multiway.metrics.classes import accuracy
from multiway.metrics.labels import exact
from multiway.tasks import pages, targets
from multiway.tasks.answers import Answer, in_folder
from multiway.tasks.candidate import discover
from multiway.tasks.declarations import Encoding
from multiway.tasks.lifecycle import reread
from multiway.tasks.protocol import NETWORK, Row, Settled
from multiway.tasks.run import Run
from multiway.tasks.sample_estimator import SampleClassifier
from multiway.tasks.sample_task import SampleFacts, describe_splits
from multiway.tasks.scores import deviation, mean
from multiway.tasks.target_page import class_page
from multiway.tasks.target_task import answer_targets, target_task
from multiway.tasks.text.config import TEXT, TextConfig
from multiway.tasks.text.encode import TextState
from multiway.tasks.text.explain import explain_graphs, explain_words, wrong_texts
from multiway.tasks.text.source import (
    Strings,
    list_texts,
    load_texts,
)

EXPLAINED = 10
"""Test texts that are explained where nobody says how many."""
GRAPHS = "with a folder to write to, the eigenvalues of the graph filters are written too, with their gains."
INPUTS = {"words": "words, from scratch", "vectors": "vectors of {}", "tokens": "{}, tuned"}


def _setting(run: Run) -> dict[str, str]:
    state, layer = run.state, run.config.model.get("layer")
    return {
        "Text": " and ".join(state.columns),
        "Labels" if state.several else "Classes": str(len(state.classes)),
        "Inputs": INPUTS[state.inputs].format(state.encoder),
        "Model": run.config.model_name,
        **({"Layer": str(layer)} if layer else {}),
    }


class TextFacts(SampleFacts):
    """Of texts and the network on them."""

    train_acc: float
    """Share of the training texts that the network has right: how much it can express (TGA, figure 2)."""
    attention_parameters: int | None = None
    """Trained numbers of its attention layers, where it counts them."""


def encode_splits(
    config: TextConfig, samples: Samples[Strings], splits: Splits, *, progress: bool = False
) -> Prepared[Strings, TextState]:
    """Texts encoded at once, since training learns from encoded ones."""
    texts, state = samples, learn_state(config, samples, splits["train"])
    seen = state.build_inputs(texts.inputs.tolist(), config.text, progress=progress)
    state = state.with_inputs(seen, splits["train"])
    notes = (*texts.notes, *notes_on_draws(texts, splits))
    return Prepared(raw=texts, encoded=state.encode(texts, seen), state=state, splits=splits, notes=notes)


def learn_state(config: TextConfig, samples: Samples[Strings], train: Rows) -> TextState:
    """Columns and vocabulary of the training rows."""
    return TextState.fit(samples.take(train), config.inputs, config.words, config.text)


def encode_texts(
    config: TextConfig, samples: Samples[Strings], state: TextState, *, progress: bool = False
) -> Samples[Tensor]:
    """Ids of words, scaled vectors, or ids of tokens."""
    return state.encode(samples, state.build_inputs(samples.inputs.tolist(), config.text, progress=progress))


def read_own_rows(config: TextConfig, source: object, samples: Samples[Strings]) -> pd.DataFrame:
    """The rows of the file."""
    return load_texts(source, config.read, Findings("")).frame


def audit_run(config: TextConfig, run: Run | None = None) -> AuditReport:
    """See `multiway.auditing.texts`; nothing is encoded for it."""
    words = config.plain() | {"inputs": "words", "model": {}, "text": EncoderOptions(encoder="hashed").plain()}
    return audit_texts(TASK.prepare(TextConfig.parse(words), TASK.locate(config.data or "")))


def name_encoder(
    config: TextConfig, prepared: Prepared[Strings, TextState], spent: float, *, progress: bool = False
) -> Settled:
    """Name the encoder, which may be another one on another machine."""
    state = prepared.state
    return Settled(config.replace(text=config.text.replace(encoder=state.encoder)), state)


def describe_run(run: Run, prepared: Prepared[Strings, TextState], predictions: targets.Predictions) -> Plain:
    """Samples of each split, and what the network has learnt of the training texts."""
    training, count = prepared.part("train"), getattr(run.model, "attention_parameters", None)
    right = (exact if training.has_several else accuracy)(training.truth, TASK.outputs(run, NETWORK, training))
    return {**describe_splits(run, prepared), "train_acc": right, "attention_parameters": count}


def facts_of_cell(runs: Sequence[Run]) -> Row:
    """Test samples, accuracy in training, and parameters of attention."""
    shares, count = [run.facts["train_acc"] for run in runs], runs[0].facts["attention_parameters"]
    own = {
        "test_samples": runs[0].facts["splits"]["test"]["samples"],
        "train_acc": mean(shares),
        "train_acc_sd": deviation(shares),
        "attention_parameters": count,
    }
    return {name: value for name, value in own.items() if value is not None}


def find_far(run: Run, samples: Samples[Strings]) -> Sequence[Far]:
    """Words that training did not know, where most are."""
    known, words = set(run.state.vocabulary), [word for text in samples.inputs for word in words_in(text)]
    return far_share(sum(word not in known for word in words), len(words), "words")


def explain_texts(run: Run, out: Path | None, options: Plain) -> Answer:
    """How far each word of some test texts moves the probability of the answer, by leaving it out."""
    test = reread(run).part("test")
    count = int(options.get("count") or EXPLAINED)
    words, graphs = explain_words(run, test, count), None
    if run.answer.name == NETWORK:
        graphs = explain_graphs(run, test, count)
    notes = ["the probability of the predicted class falls by `importance` where the word is left out of the text."]
    if graphs is None:
        return in_folder(words, out, "words.csv", notes)
    return in_folder(words, out, "words.csv", notes if out else [*notes, GRAPHS], {"spectra.csv": graphs})


TASK = target_task(
    Encoding(
        learn=learn_state,
        encode=encode_texts,
        arrange=encode_splits,
        split_field=Fix("read.split", like="NAME"),
    ),
    **TEXT.parts,
    needs="texts. Give a table, or one text on each line,",
    state=TextState,
    facts=TextFacts,
    page=class_page(
        pages.Subject(
            kicker="Report on texts",
            rows="texts",
            setting=_setting,
            interval="over texts, or over groups where they are known (bootstrap)",
        ),
        wrong_texts,
    ),
    metrics=lambda config: (*targets.CLASSES, *targets.OF_LABELS, targets.MORE["f1"], targets.MORE["hard_auc"]),
    candidates=partial(discover, "multiway.tasks.text.candidates", "text"),
    audit=audit_run,
    settle=name_encoder,
    describe=describe_run,
    cell_facts=facts_of_cell,
    far=find_far,
    answer=partial(answer_targets, own_columns=read_own_rows),
    explain=explain_texts,
)


class TextClassifier(SampleClassifier):
    """Classify texts with a head on a frozen encoder, an encoder that is tuned, or a network from scratch.

    Texts are a list, a series or an array of str.

    `fit` sets `run_`, `scores_` (a frame) and `classes_`.
    """

    task = "text"

    def _labelled(self, X: object, y: object) -> object:
        return super()._labelled(list_texts(X), y)

    def explain(self, X: object, model: str | None = None) -> pd.DataFrame:
        """How far the probability of each text's class falls when a word is left out: a row per word.

        It is of the answer, or of a model of the run.
        """
        texts = self._unlabelled(X)
        return explain_words(self._run().with_answer(model), texts, len(texts))
