"""Texts with their splits, their vocabulary and their inputs: what every later step starts from."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
from torch import Tensor

from multiway.data.encoders import TextOptions, make_encoder
from multiway.data.labelled import UNKNOWN, Labelled, PreparedSamples
from multiway.data.labelled_text.inputs import check_encoder, make_inputs, scaled
from multiway.data.labelled_text.options import InputKind, LabelledTextOptions, TextSplit, WordOptions
from multiway.data.labelled_text.reading import read_texts
from multiway.data.labelled_text.splitting import dropped, split_texts
from multiway.data.labelled_text.state import TextState
from multiway.data.labelled_text.table import TextTable
from multiway.data.labelled_text.vocabulary import Vocabulary, longest
from multiway.data.series.scaling import Scaler
from multiway.errors import ConfigError


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class PreparedTexts(PreparedSamples):
    """Samples whose column `text` holds the texts, with what was learnt of the training rows."""

    state: TextState

    def content(self) -> Iterator[object]:
        """Everything that was read; an encoder counts by its hash, as its vectors may round otherwise elsewhere."""
        samples = self.samples
        yield from (self.state.digest, samples.truth, samples.classes, samples.groups)
        yield from (list(map(str, column)) for column in samples.names.values())
        yield from self.splits.values()


def prepare_texts(
    source: Any,
    read: LabelledTextOptions,
    split: TextSplit,
    kind: InputKind,
    words: WordOptions,
    text: TextOptions,
    *,
    progress: bool = False,
) -> PreparedTexts:
    """Read, split, learn the vocabulary, and make the inputs of all rows.

    Raises:
        DataError: The texts are not sound, or a split has no rows.
        ConfigError: No column of classes is named or found, or the encoder is not there.
    """
    table = read_texts(source, read)
    if table.columns.target is None:
        raise ConfigError(f"{table.source}: texts need a column of classes. Name it (--target NAME).")
    splits, encoder = split_texts(table, split), make_encoder(text)
    training = [table.texts[row] for row in splits["train"].tolist()]
    vocabulary, length = Vocabulary.fit(training, words), longest(training, text.max_tokens)
    found = make_inputs(kind, table.texts, vocabulary, length, text, progress=progress)
    vectors = found.values[splits["train"]].double().numpy() if kind == "vectors" else None
    state = TextState(
        columns=table.columns, inputs=kind, vocabulary=vocabulary, length=length, encoder=encoder.name,
        width=encoder.dim, digest=found.digest, scaler=None if vectors is None else Scaler.fit(vectors),
    )  # fmt: skip
    out = dropped(table, splits)
    left = (f"{out} rows are left out of a split, as their text is in a later one too",) if out else ()
    return _prepared(table, found.values, state, splits=splits, notes=(*table.notes, *left))


def match_texts(
    source: Any, read: LabelledTextOptions, state: TextState, text: TextOptions, *, has_target: bool = True,
    progress: bool = False,
) -> PreparedTexts:  # fmt: skip
    """Texts that came after the training, matched to it by name; nothing is learnt from them.

    Raises:
        DataError: A column lacks, or a class is unknown.
        ConfigError: The encoder is not that of the training.
    """
    columns = state.columns if has_target else dataclasses.replace(state.columns, target=None)
    table = read_texts(source, read, columns)
    found = make_inputs(state.inputs, table.texts, state.vocabulary, state.length, text, progress=progress)
    check_encoder(found, state.encoder, state.digest)
    return _prepared(table, found.values, state, notes=table.notes)


def _prepared(table: TextTable, values: Tensor, state: TextState, **rest: Any) -> PreparedTexts:
    truth = np.full(len(table), UNKNOWN) if table.truth is None else table.truth
    names = {table.unit: table.rows.tolist(), "text": list(table.texts)}
    samples = Labelled(
        inputs=scaled(values, state.scaler), truth=truth, classes=tuple(state.classes), names=names, groups=table.groups
    )  # fmt: skip
    return PreparedTexts(source=table.source, samples=samples, state=state, **rest)
