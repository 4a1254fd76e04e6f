"""Words of test texts with what each does to the answer, as a table."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from multiway.data.encoders import make_encoder
from multiway.data.labelled import UNKNOWN, Labelled
from multiway.data.labelled_text import make_inputs
from multiway.data.labelled_text.inputs import scaled
from multiway.explain.spectra import spectrum_table
from multiway.explain.words import leave_one_out
from multiway.models import TGATextClassifier
from multiway.tasks.class_task import probabilities
from multiway.tasks.classes import class_values
from multiway.tasks.run import Run


def explain_words(run: Run, test: Labelled, count: int) -> pd.DataFrame:
    """A row per word of the first texts: the word, the answer and its probability, and the word's importance.

    The class stands there where one is known.
    """
    classes, (unit, rows) = class_values(run.state.classes), next(iter(test.names.items()))
    found = leave_one_out(test.names["text"][:count], lambda texts: shares_of(run, texts))
    frames = [
        pd.DataFrame({
            unit: rows[place], "position": range(len(each.words)), "word": each.words,
            **({} if test.truth[place] == UNKNOWN else {"label": classes[test.truth[place]]}),
            "predicted": classes[each.predicted],
            "probability": each.probability, "importance": each.falls,
        })
        for place, each in enumerate(found)
    ]  # fmt: skip
    return pd.concat(frames, ignore_index=True)


def explain_graphs(run: Run, test: Labelled, count: int) -> pd.DataFrame | None:
    """A row per eigenvector of each head's filter on the first texts; None where no graph is filtered."""
    model, (unit, rows) = run.model, next(iter(test.names.items()))
    if not isinstance(model, TGATextClassifier) or not model.has_graphs:
        return None
    by_degree = model.config.attention.preset != "paper"
    frames = {
        (rows[place], block): spectrum_table(graph, values, by_degree=by_degree)
        for place in range(min(count, len(test)))
        for block, (graph, values) in enumerate(model.graphs(test.inputs[place]), start=1)
    }
    return pd.concat(frames, names=[unit, "block"]).reset_index([unit, "block"]).reset_index(drop=True)


def shares_of(run: Run, texts: Sequence[str]) -> NDArray[np.float64]:
    """Class probabilities of texts by the network of a run; vectors of what is asked once are not kept."""
    state, options = run.state, run.config.text
    if state.inputs == "vectors":
        values = scaled(torch.from_numpy(make_encoder(options).encode(texts)), state.scaler)
    else:
        values = make_inputs(state.inputs, texts, state.vocabulary, state.length, options, progress=False).values
    truth = np.full(len(texts), UNKNOWN)
    return probabilities(run.model, Labelled(inputs=values, truth=truth, classes=tuple(state.classes), names={}))
