"""What training learns of text: its tokens; and documents with their splits, cut into windows of tokens."""

import dataclasses
import functools
import itertools
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from multiway.config import Config, Plain
from multiway.data.encoders.pretrained import CONFIG, TEXTS, fetch_model, in_one_line, quietly
from multiway.data.findings import quote
from multiway.data.samples import Prepared, Rows, Samples
from multiway.errors import ConfigError, DataError, Fix
from multiway.lazy import load_extra
from multiway_papers.language.config import TokenOptions
from multiway_papers.language.source import Documents
from multiway_papers.language.windows import COUNTED, Tally, TokenWindows
from multiway_papers.networks.next_token import ORDERS, table_sizes

Ids = NDArray[np.int64]
WORD = re.compile(r" ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s")
"""Letters, digits or signs with a blank before them, and other white space: no byte pair crosses their borders."""
MARK = "<|end|>"
"""Stands before and after every document; no text holds it."""
BYTES, LOSSLESS = 256, ("bytes", "bpe")
WITHOUT_NETWORK = ("Known without network: bpe and bytes (", Fix("tokens.tokenizer", "bpe"), ").")


class Vocabulary(Config):
    """Which tokens there are."""

    kind: str
    """bytes, bpe, or the name of a published tokenizer."""
    definition: str
    """JSON of the library tokenizers; empty for bytes."""
    size: int = Field(gt=0)
    """How many tokens there are, the mark among them."""
    mark: int = Field(ge=0)
    """The token before and after every document."""

    @functools.cached_property
    def _library(self) -> Any:
        """The tokenizer itself."""
        tokenizers = _tokenizers()
        try:
            return tokenizers.Tokenizer.from_str(self.definition)
        except Exception as error:  # the library raises the base class alone
            raise ConfigError(f"tokenizer: its definition cannot be read ({quote(error, 80)}).") from None

    @functools.cached_property
    def _known(self) -> dict[str, list[int]]:
        """Tokens of every word met so far."""
        return {}

    def encode(self, texts: Sequence[str]) -> list[Ids]:
        """Tokens of each text, without marks."""
        if self.kind == "bytes":
            return [np.frombuffer(text.encode(), np.uint8).astype(np.int64) for text in texts]
        if self.kind == "bpe":
            return [self._by_word(WORD.findall(text)) for text in texts]
        return [np.array(ids, np.int64) for ids in self._encoded(texts)]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of some tokens; bytes that are no whole character become U+FFFD, marks nothing."""
        kept = [token for token in ids if token != self.mark]
        if self.kind == "bytes":
            return bytes(kept).decode("utf-8", "replace")
        return str(self._library.decode(kept, skip_special_tokens=False))

    def _by_word(self, words: list[str]) -> Ids:
        new = sorted(set(words) - self._known.keys())
        self._known.update(zip(new, self._encoded(new), strict=True))
        return np.fromiter(itertools.chain.from_iterable(map(self._known.__getitem__, words)), np.int64)

    def _encoded(self, texts: Sequence[str]) -> list[list[int]]:
        return [text.ids for text in self._library.encode_batch(list(texts), add_special_tokens=False)]


class LanguageState(Config):
    """What training learnt of the text, and a loaded run needs to rebuild its models."""

    vocabulary: Vocabulary
    """Its tokens."""
    counts: dict[str, list[int]]
    """Of each baseline, different sequences and their beginnings by length, one after the other."""
    characters: str = ""
    """Those of the training text; none in a run that does not say it."""


def learn_vocabulary(options: TokenOptions, texts: Sequence[str]) -> Vocabulary:
    """The vocabulary of a config; byte pairs are learnt from the texts."""
    if options.tokenizer == "bytes":
        return Vocabulary(kind="bytes", definition="", size=BYTES + 1, mark=BYTES)
    if options.tokenizer == "bpe":
        return _byte_pairs(options.vocabulary, texts)
    return _published(options.tokenizer)


def _byte_pairs(size: int, texts: Sequence[str]) -> Vocabulary:
    """Merge the most frequent neighbours until there are so many tokens; every byte is one, so that none is unknown."""
    tokenizers = _tokenizers()
    bytes_of = tokenizers.pre_tokenizers.ByteLevel
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = bytes_of(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=size, special_tokens=[MARK], initial_alphabet=sorted(bytes_of.alphabet()), show_progress=False
    )
    tokenizer.train_from_iterator(map(WORD.findall, texts), trainer)
    mark = int(tokenizer.token_to_id(MARK))
    return Vocabulary(kind="bpe", definition=tokenizer.to_str(), size=int(tokenizer.get_vocab_size()), mark=mark)


def _published(name: str) -> Vocabulary:
    """A tokenizer of Hugging Face: from a folder, the cache or the hub; code of its own is never run."""
    transformers: Any = load_extra("transformers", f"the tokenizer {name}", "text")
    folder = Path(name).expanduser()
    folder = folder if folder.exists() else fetch_model(name, "tokenizer", WITHOUT_NETWORK, [CONFIG, *TEXTS])
    rule = f"tokens.tokenizer must be bpe, bytes, or a tokenizer that can be loaded. Got {quote(name)}"
    with in_one_line(rule), quietly(transformers):
        loaded = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        definition = loaded.backend_tokenizer.to_str()
        marks = [loaded.eos_token_id, loaded.bos_token_id, loaded.sep_token_id]
    mark = next((token for token in marks if token is not None), None)
    if mark is None:
        raise ConfigError(f"tokens.tokenizer: {quote(name)} has no token for the end of a text. Take another.")
    return Vocabulary(kind=name, definition=definition, size=len(loaded), mark=int(mark))


def _tokenizers() -> Any:
    return load_extra("tokenizers", "a tokenizer other than bytes", "text")


class TextCounts(Config):
    """Size of a split."""

    documents: int
    words: int
    bytes: int
    tokens: int


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class TokenDocuments:
    """Documents as tokens.

    texts, places: `(documents,)` what they say, and where they stand.
    pieces: `(documents,)` tokens of each, without marks.
    vocabulary, options: How they became so.
    """

    texts: Documents
    places: NDArray[np.object_]
    pieces: NDArray[np.object_]
    vocabulary: Vocabulary
    options: TokenOptions

    @classmethod
    def of(cls, samples: Samples[Documents], vocabulary: Vocabulary, options: TokenOptions) -> Self:
        """Cut texts into tokens."""
        places, pieces = (np.empty(len(samples), object) for _ in range(2))
        places[:] = samples.labels_of(np.arange(len(samples)))
        pieces[:] = vocabulary.encode(list(samples.inputs))
        return cls(texts=samples.inputs, places=places, pieces=pieces, vocabulary=vocabulary, options=options)

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, rows: Rows) -> Self:
        some = {name: getattr(self, name)[rows] for name in ("texts", "places", "pieces")}
        return dataclasses.replace(self, **some)

    @property
    def is_whole(self) -> bool:
        """Whether every text is what its tokens say: of what is lost, nothing can be said per word or byte."""
        known = zip(self.pieces, self.texts, strict=True)
        return self.vocabulary.kind in LOSSLESS or all(self.vocabulary.decode(piece) == text for piece, text in known)

    @property
    def windows(self) -> TokenWindows:
        """All of their windows."""
        return TokenWindows.of(list(self.pieces), self.options.context, self.vocabulary.mark)

    @property
    def learnt(self) -> TokenWindows:
        """Windows to learn from: as many as the options say."""
        return self.windows.head(self.options.most_tokens)

    @property
    def longest(self) -> int:
        """Tokens of the longest document."""
        return max(map(len, self.pieces))

    def tally(self, split: str, windows: TokenWindows | None = None) -> Tally:
        """What is counted of them and of their windows, or of some of these."""
        windows = self.windows if windows is None else windows
        return Tally.of(split, list(self.places), list(self.texts), windows, is_whole=self.is_whole)

    def counts(self, windows: TokenWindows | None = None) -> Plain:
        """Size of them and of their windows, or of some of these."""
        documents = self.tally("", windows).documents
        return {"documents": len(documents), **{name: int(documents[name].sum()) for name in COUNTED}}


PreparedText = Prepared[Documents, LanguageState]


def learn_language(options: TokenOptions, training: Samples[Documents], baselines: Sequence[str]) -> LanguageState:
    """The vocabulary of the training text, and how much each baseline has to hold of it."""
    vocabulary = learn_vocabulary(options, list(training.inputs))
    windows, context = TokenDocuments.of(training, vocabulary, options).learnt, options.context
    if windows.targets < context:
        rule = f"the training text has {windows.targets:,} tokens, fewer than the context of {context:,}"
        fix = ("Give more text, or a smaller context (", Fix("tokens.context", max(2, windows.targets // 8)), ").")
        raise DataError(f"{training.source}: {rule}. ", *fix)
    documents = windows.stretches()
    counts = {name: table_sizes(documents, ORDERS[name], vocabulary.size) for name in baselines}
    characters = "".join(sorted(set().union(*training.inputs)))
    return LanguageState(vocabulary=vocabulary, counts=counts, characters=characters)
