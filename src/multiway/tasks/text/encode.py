"""From texts to ids of words, vectors, or ids of an encoder's tokens, by what training learnt of them."""

from collections.abc import Sequence
from typing import ClassVar, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from multiway.config import Config
from multiway.data.encoders import encode_texts, make_encoder, token_encoder
from multiway.data.encoders.hashed import FIRST, frequent_words, longest, word_ids
from multiway.data.options import EncoderOptions
from multiway.data.samples import Samples
from multiway.data.scaling import Scaler
from multiway.errors import ConfigError
from multiway.tasks.text.config import InputKind, WordOptions
from multiway.tasks.text.source import Strings

LONGEST = 2048
"""Words of a text that TF-IDF counts."""


class TextInputs(NamedTuple):
    """Inputs `(texts, *)`, and the hash of the encoder that made them; None for words."""

    values: Tensor
    digest: str | None = None


class TextState(Config):
    """Columns, vocabulary and encoder: what training learnt of texts, and later ones are read by."""

    target: ClassVar[None] = None
    columns: tuple[str, ...]
    """Of texts; later files are matched to them."""
    target_name: str
    """Column of classes."""
    classes: tuple[str, ...]
    """Names of the classes, in the order of the outputs."""
    several: bool = False
    """Whether a text has several of them, which are labels then."""
    inputs: InputKind
    """What a network sees of a text: ids of words, one vector, or ids of an encoder's tokens."""
    vocabulary: tuple[str, ...]
    """Words of the training rows with an id of their own; `vocabulary[i]` has id i + 2."""
    length: int
    """Words of the longest training text, capped."""
    encoder: str
    """Name of the encoder."""
    width: int
    """Features of its vectors and tokens."""
    digest: str | None = None
    """Hash of the encoder; None where a network sees words."""
    scaler: Scaler | None = None
    """Mean and deviation of each feature of the training rows' vectors; None where it sees no vectors."""

    @classmethod
    def fit(cls, training: Samples[Strings], kind: InputKind, words: WordOptions, text: EncoderOptions) -> Self:
        """Learn the vocabulary from the training rows and no others."""
        encoder, texts = make_encoder(text), training.inputs.tolist()
        return cls(
            columns=training.columns,
            target_name=training.target_name or "",
            classes=training.classes or (),
            several=training.has_several,
            inputs=kind,
            vocabulary=frequent_words(texts, words.max_words, words.min_count),
            encoder=encoder.name,
            length=longest(texts, text.max_tokens),
            width=encoder.dim,
        )

    @property
    def num_ids(self) -> int:
        """Ids of words there are, padding and the unknown word among them."""
        return len(self.vocabulary) + FIRST

    def ids(self, texts: Sequence[str], length: int) -> NDArray[np.int64]:
        """Ids `(texts, length)` int64, padded behind; what is longer is cut off."""
        return word_ids(texts, self.vocabulary, length)

    def build_inputs(self, texts: Sequence[str], text: EncoderOptions, *, progress: bool = False) -> TextInputs:
        """Unscaled inputs of some texts, each of which depends on its text alone."""
        if self.inputs == "words":
            return TextInputs(torch.from_numpy(self.ids(texts, self.length)))
        if self.inputs == "vectors":
            return encode_vectors(texts, text, progress=progress)
        encoder = token_encoder(text)
        ids = [torch.tensor(text, dtype=torch.int64) + 1 for text in encoder.tokens(texts)]
        return TextInputs(pad_sequence(ids, batch_first=True), encoder.digest)  # 0 is where a text has ended

    def with_inputs(self, seen: TextInputs, train: NDArray[np.int64]) -> Self:
        """The same with the encoder that made the inputs, and with their scale over the training rows."""
        vectors = seen.values[train].double().numpy() if self.inputs == "vectors" else None
        scaler = None if vectors is None else Scaler.fit(vectors)
        return self.model_copy(update={"digest": seen.digest, "scaler": scaler})

    def scale(self, values: Tensor) -> Tensor:
        """Vectors as a network sees them, float32; ids as they are."""
        if self.scaler is None:
            return values
        return torch.from_numpy(self.scaler.transform(values.double().numpy())).float()

    def encode(self, texts: Samples[Strings], seen: TextInputs) -> Samples[Tensor]:
        """Texts as the network takes them."""
        if seen.digest != self.digest:
            raise ConfigError(
                f"text.encoder: {self.encoder} is not what the run was trained with: its files or options have "
                "changed. Install the encoder of the training."
            )
        return texts.with_inputs(self.scale(seen.values))


def encode_vectors(texts: Sequence[str], text: EncoderOptions, *, progress: bool = False) -> TextInputs:
    """A vector of each text, and the hash of the encoder."""
    encoded = encode_texts(texts, text, progress=progress)
    return TextInputs(torch.from_numpy(encoded.vectors[encoded.rows]), encoded.digest)
