"""Words of test texts with what each does to the answer, as a table."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.data.encoders import make_encoder
from multiway.data.samples import Samples
from multiway.explain.occlusion import WordEffects, leave_one_out
from multiway.explain.spectra import Filtering, spectrum_table
from multiway.report.sections import CaseAnswer, Marked, PagePart
from multiway.report.text import percent
from multiway.tasks.run import Run
from multiway.tasks.samples import answered
from multiway.tasks.target_page import wrong_answers
from multiway.tasks.targets import class_values

SHOWN, LONGEST, FAINT = 8, 60, 0.2
"""Misclassified texts of a report, the words of one whose words are left out in turn, and a share too small to show."""


def explain_words(run: Run, test: Samples[Tensor], count: int) -> pd.DataFrame:
    """A row per word of the first texts: the word, the answer and its probability, and the word's importance.

    The class stands there where one is known.
    """
    classes, (unit, rows) = class_values(run.state.classes), next(iter(test.names.items()))
    words = leave_one_out(test.names["text"][:count], lambda texts: shares_of(run, texts))
    frames = [
        pd.DataFrame({
            unit: rows[row], "position": range(len(text.words)), "word": text.words,
            **({} if test.target is None else {"label": classes[test.target[row]]}),
            "predicted": classes[text.effects.predicted],
            "probability": text.effects.probability, "importance": text.effects.falls,
        })
        for row, text in enumerate(words)
    ]  # fmt: skip
    return pd.concat(frames, ignore_index=True)


def wrong_texts(runs: Sequence[Run]) -> Iterator[PagePart]:
    """The most confident errors of the first run, their words shaded by what each does to the answer."""
    run, found = runs[0], wrong_answers(runs[0], SHOWN)
    if not len(found):
        return
    marked = [text for text in found["text"].astype(str) if len(text.split()) <= LONGEST]
    effects = {text: item.effects.falls for text, item in zip(marked, _effects(run, marked), strict=True)}
    cases = [
        CaseAnswer(
            name=f"Named {row['predicted']} with {percent(100 * row['probability'], 0)}",
            sentence=f"it is {row['true']}", is_wrong=True, content=[Marked(_shaded(str(row["text"]), effects))],
        )
        for _, row in found.iterrows()
    ]  # fmt: skip
    side: list[str | tuple[str, str]] = [
        "The test texts that the answer is most surely wrong about, and the words that mattered.",
        ("for", "the probability of the named class falls without this word"), ("against", "it rises"),
        f"Of texts over {LONGEST} words none is shaded.",
    ]  # fmt: skip
    yield PagePart(id="texts", title="Misclassified texts", side=side, content=cases)


def _effects(run: Run, texts: Sequence[str]) -> list[WordEffects]:
    return leave_one_out(texts, lambda some: shares_of(run, some)) if texts else []


def _shaded(text: str, effects: Mapping[str, NDArray[np.float64]]) -> list[tuple[str, float]]:
    """Words with their effect over the largest of the text; small ones are not shaded."""
    words = text.split()
    falls = effects.get(text, np.zeros(len(words)))
    shares = falls / (np.abs(falls).max(initial=0.0) or 1.0)
    return [(word, float(share) if abs(share) >= FAINT else 0.0) for word, share in zip(words, shares, strict=True)]


def explain_graphs(run: Run, test: Samples[Tensor], count: int) -> pd.DataFrame | None:
    """A row per eigenvector of each head's filter on the first texts; None where no graph is filtered."""
    model, (unit, rows) = run.model, next(iter(test.names.items()))
    if not isinstance(model, Filtering) or not model.has_graphs:
        return None
    frames = {
        (rows[row], block): spectrum_table(graph, values, by_degree=model.by_degree)
        for row in range(min(count, len(test)))
        for block, (graph, values) in enumerate(model.graphs(test.inputs[row]), start=1)
    }
    return pd.concat(frames, names=[unit, "block"]).reset_index([unit, "block"]).reset_index(drop=True)


def shares_of(run: Run, texts: Sequence[str]) -> NDArray[np.float64]:
    """Class probabilities of texts by the answer of a run; vectors of what is looked at once are not kept."""
    state, options = run.state, run.config.text
    vectors = state.inputs == "vectors"
    values = torch.from_numpy(make_encoder(options).encode(texts)) if vectors else state.seen(texts, options).values
    samples = Samples(inputs=state.scaled(values), source="texts", names={"text": list(texts)})
    return answered(run, samples)
