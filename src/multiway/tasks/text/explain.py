"""Words of test texts with what each does to the answer, as a table."""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.data.encoders import make_encoder
from multiway.data.samples import Samples
from multiway.data.targets import join_labels
from multiway.explain.occlusion import SPANS, WordEffects, leave_one_out
from multiway.explain.spectra import Filtering, spectrum_table
from multiway.report.sections import CaseAnswer, Marked, PagePart
from multiway.report.text import percent
from multiway.tasks.misses import misses_of
from multiway.tasks.run import Run
from multiway.tasks.target_task import answer_samples
from multiway.tasks.targets import class_values

SHOWN, LONGEST, FAINT = 8, 60, 0.2
"""Misclassified texts of a report, the words of one whose words are left out in turn, and a share too small to show.

At most `SHOWN * (1 + LONGEST)` answers are asked for, 488; of long texts alone 264.
"""
IN_SIGHT, MOST = 120, 2000
"""Words of a text that are not folded, and those that are on the page at all."""


def explain_words(run: Run, test: Samples[Tensor], count: int) -> pd.DataFrame:
    """A row per word of the first texts: the word, the answer and its probability, and the word's importance.

    The class stands there where one is known.
    """
    classes, (unit, rows) = class_values(run.state.classes), next(iter(test.names.items()))
    known = None
    if test.target is not None:
        known = join_labels(test.target, run.state.classes) if run.state.several else classes[test.target]
    words = leave_one_out(test.names["text"][:count], lambda texts: shares_of(run, texts))
    frames = [
        pd.DataFrame(
            {
                unit: rows[row],
                "position": range(len(text.words)),
                "word": text.words,
                **({} if known is None else {"label": known[row]}),
                "predicted": classes[text.effects.predicted],
                "probability": text.effects.probability,
                "importance": text.effects.falls,
            }
        )
        for row, text in enumerate(words)
    ]
    return pd.concat(frames, ignore_index=True)


def wrong_texts(runs: Sequence[Run]) -> Iterator[PagePart]:
    """What the answer of the first run says first, the words shaded by what each does to the answer."""
    _, found, remark = misses_of(runs[0], "texts", SHOWN)
    if not len(found) or runs[0].state.several:
        return
    effects = leave_one_out(found["text"].astype(str).tolist(), lambda some: shares_of(runs[0], some), LONGEST)
    cases = [
        CaseAnswer(
            name=f"Named {row['predicted']} with {percent(100 * row['probability'], 0)}",
            sentence="rightly" if remark else f"it is {row['true']}",
            is_wrong=not remark,
            content=[_mark_words(item)],
        )
        for (_, row), item in zip(found.iterrows(), effects, strict=True)
    ]
    kind = "right about, but least sure of" if remark else "most surely wrong about"
    side: list[str | tuple[str, str]] = [
        f"The test texts that the answer is {kind}, and the words that mattered.",
        ("for", "the probability of the named class falls without this word"),
        ("against", "it rises"),
        f"Of texts over {LONGEST} words, {SPANS} spans of neighbouring words are left out in turn.",
    ]
    support = [f"{remark} Below are those named least surely."] if remark else []
    title = "Least sure texts" if remark else "Misclassified texts"
    yield PagePart(id="texts", title=title, side=side, content=cases, support=support)


def _mark_words(item: WordEffects) -> Marked:
    """Words with their effect over the largest of the text, small ones not shaded; the end of a long text is folded."""
    falls = item.effects.falls
    shares = falls / (np.abs(falls).max(initial=0.0) or 1.0)
    words = [
        (word, float(share) if abs(share) >= FAINT else 0.0)
        for span, share in zip(item.words, shares, strict=True)
        for word in span.split()
    ]
    left = f"The other {len(words) - MOST:,} words are not on the page." if len(words) > MOST else ""
    return Marked(_together(words[:IN_SIGHT]), rest=_together(words[IN_SIGHT:MOST]), note=left)


def _together(words: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    """Neighbouring words of one shade as one span."""
    groups = itertools.groupby(words, key=lambda item: item[1])
    return [(" ".join(word for word, _ in group), share) for share, group in groups]


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
    values = (
        torch.from_numpy(make_encoder(options).encode(texts)) if vectors else state.build_inputs(texts, options).values
    )
    samples = Samples(inputs=state.scale(values), source="texts", names={"text": list(texts)})
    return answer_samples(run, samples)
