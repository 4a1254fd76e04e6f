"""Tokens: bytes, byte pairs learnt from the training text, or those of a published tokenizer."""

import dataclasses
import functools
import itertools
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from multiway.data.encoders.pretrained import CONFIG, TEXTS, fetch_model, quietly
from multiway.data.findings import quoted
from multiway.data.language.options import TokenOptions
from multiway.errors import ConfigError, Fix
from multiway.extras import load_extra

Ids = NDArray[np.int64]
WORD = re.compile(r" ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s")
"""Letters, digits or signs with a blank before them, and other white space: no byte pair crosses their borders."""
MARK = "<|end|>"
"""Stands before and after every document; no text holds it."""
BYTES = 256
WITHOUT_NETWORK = ("Known without network: bpe and bytes (", Fix("tokens.tokenizer", "bpe"), ").")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """Which tokens there are.

    kind: bytes, bpe, or the name of a published tokenizer.
    definition: JSON of the library tokenizers; empty for bytes.
    size: How many tokens there are, the mark among them.
    mark: The token before and after every document.
    """

    kind: str
    definition: str
    size: int
    mark: int

    def plain(self) -> dict[str, Any]:
        """Values for JSON, exact."""
        return dataclasses.asdict(self)

    @classmethod
    def parse(cls, plain: dict[str, Any]) -> Self:
        """Undo `plain`."""
        return cls(**plain)

    @functools.cached_property
    def _library(self) -> Any:
        """The tokenizer itself.

        Raises:
            ConfigError: The library is not installed, or the definition is not one of its own.
        """
        tokenizers = _tokenizers()
        try:
            return tokenizers.Tokenizer.from_str(self.definition)
        except Exception as error:  # the library raises the base class alone
            raise ConfigError(f"tokenizer: its definition cannot be read ({quoted(error, 80)}).") from None

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
        return [np.array(each.ids, np.int64) for each in self._encoded(texts)]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of some tokens; bytes that are no whole character become U+FFFD, marks nothing."""
        kept = [each for each in ids if each != self.mark]
        if self.kind == "bytes":
            return bytes(kept).decode("utf-8", "replace")
        return str(self._library.decode(kept, skip_special_tokens=False))

    def _by_word(self, words: list[str]) -> Ids:
        new = sorted(set(words) - self._known.keys())
        self._known.update(zip(new, (each.ids for each in self._encoded(new)), strict=True))
        return np.fromiter(itertools.chain.from_iterable(map(self._known.__getitem__, words)), np.int64)

    def _encoded(self, texts: Sequence[str]) -> list[Any]:
        return list(self._library.encode_batch(list(texts), add_special_tokens=False))


def learn_vocabulary(options: TokenOptions, texts: Sequence[str]) -> Vocabulary:
    """The vocabulary of a config; byte pairs are learnt from the texts.

    Raises:
        ConfigError: A library is not installed, or no tokenizer has the name.
    """
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
    try:
        with quietly(transformers):
            found = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        definition = found.backend_tokenizer.to_str()
    except (OSError, ValueError, AttributeError, KeyError, ImportError, RuntimeError) as error:
        reason = quoted(" ".join(str(error).split()), 120)
        raise ConfigError(
            f"tokens.tokenizer must be bpe, bytes, or a tokenizer that can be loaded. Got {quoted(name)} ({reason})."
        ) from None
    mark = next(
        (each for each in (found.eos_token_id, found.bos_token_id, found.sep_token_id) if each is not None), None
    )
    if mark is None:
        raise ConfigError(f"tokens.tokenizer: {quoted(name)} has no token for the end of a text. Take another.")
    return Vocabulary(kind=name, definition=definition, size=len(found), mark=int(mark))


def _tokenizers() -> Any:
    return load_extra("tokenizers", "tokens other than bytes (--tokenizer bytes)", "text")
