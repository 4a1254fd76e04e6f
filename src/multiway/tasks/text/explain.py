"""Words of test texts with what each does to the answer, as a table."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.data.encoders import make_encoder
from multiway.data.samples import Samples
from multiway.explain.deletion import leave_one_out
from multiway.explain.spectra import Filtering, spectrum_table
from multiway.tasks.run import Run
from multiway.tasks.samples import answered
from multiway.tasks.targets import class_values


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
