"""Words of test texts with what each does to the answer, as a table."""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.data.encoders import make_encoder
from multiway.data.labelled import UNKNOWN, Labelled
from multiway.data.labelled_text import make_inputs
from multiway.data.labelled_text.inputs import scaled
from multiway.explain.spectra import Spectrum, graph_spectrum
from multiway.explain.words import leave_one_out
from multiway.models import TGATextClassifier
from multiway.nn import TensorGraphAttention
from multiway.tasks.class_task import probabilities
from multiway.tasks.classes import class_values
from multiway.tasks.run import Run

Values = NDArray[np.float64]
BESIDE = ("gain", "share_before", "share_after")


def explain_words(run: Run, test: Labelled, count: int) -> pd.DataFrame:
    """A row per word of the first texts: the word, the answer and its probability, and the word's importance."""
    classes, (unit, rows) = class_values(run.state.classes), next(iter(test.names.items()))
    found = leave_one_out(test.names["text"][:count], lambda texts: shares_of(run, texts))
    frames = [
        pd.DataFrame({
            unit: rows[place], "position": range(len(each.words)), "word": each.words,
            "label": classes[test.truth[place]], "predicted": classes[each.predicted],
            "probability": each.probability, "importance": each.falls,
        })
        for place, each in enumerate(found)
    ]  # fmt: skip
    return pd.concat(frames, ignore_index=True)


def explain_graphs(run: Run, test: Labelled, count: int) -> pd.DataFrame | None:
    """A row per eigenvector of each head's filter on the first texts; None where no graph is filtered."""
    model, (unit, rows) = run.model, next(iter(test.names.items()))
    if not isinstance(model, TGATextClassifier) or model.config.attention.kind != "graph" or not model.axes[0]:
        return None
    frames = [
        pd.DataFrame({unit: rows[place], "block": block, "head": head, "frequency": frequency, **values})
        for place in range(min(count, len(test)))
        for block, spectra in enumerate(_spectra(model, test.inputs[place]), start=1)
        for head, frequency, values in spectra
    ]
    return pd.concat(frames, ignore_index=True)


@torch.no_grad()
def _spectra(model: TGATextClassifier, ids: Tensor) -> Iterator[list[tuple[int, Values, dict[str, Values]]]]:
    """Of each block, for every head: frequencies, and the columns that stand beside them."""
    x, keep = model.embedded(ids[None])
    for block in model.blocks_of(0):
        assert isinstance(block.attention, TensorGraphAttention)
        frequency, *others = (each.numpy() for each in _head_spectra(block.attention, x[0, keep[0]]))
        yield [
            (head + 1, frequency[head], {name: each[head] for name, each in zip(BESIDE, others, strict=True)})
            for head in range(len(frequency))
        ]
        x = block(x, keep)


def _head_spectra(layer: TensorGraphAttention, words: Tensor) -> Spectrum:
    """The filter of every head on the words of one text, and the values that it filters: `(heads, words)` each."""
    _, graph = layer.forward_with_maps(words)
    values = torch.stack([head(words) for head in layer.values])
    return graph_spectrum(graph, values, by_degree=layer.preset != "paper")


def shares_of(run: Run, texts: Sequence[str]) -> NDArray[np.float64]:
    """Class probabilities of texts by the network of a run; vectors of what is asked once are not kept."""
    state, options = run.state, run.config.text
    if state.inputs == "vectors":
        values = scaled(torch.from_numpy(make_encoder(options).encode(texts)), state.scaler)
    else:
        values = make_inputs(state.inputs, texts, state.vocabulary, state.length, options, progress=False).values
    truth = np.full(len(texts), UNKNOWN)
    return probabilities(run.model, Labelled(inputs=values, truth=truth, classes=tuple(state.classes), names={}))
