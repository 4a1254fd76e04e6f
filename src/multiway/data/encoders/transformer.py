"""A pretrained network as an encoder: the mean of its last layer over a text's tokens."""

import contextlib
import functools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.data.encoders.pretrained import digest_of_files, in_one_line, load_encoder, load_network, quietly
from multiway.data.options import EncoderOptions
from multiway.errors import ConfigError
from multiway.lazy import load_extra

UNUSED = ("pooler.",)
"""Parts whose weights a file may lack, since the mean does not pass through them."""


class TransformerEncoder:
    """Any encoder that transformers loads from a folder; only as many tokens as the options say are seen.

    Nothing is loaded before the first text; weights must be safetensors, and no code of the model's is run.
    """

    def __init__(self, folder: Path, name: str, options: EncoderOptions) -> None:
        self.folder, self.name, self.options = folder, name, options
        self.device = _device(options.device)
        self.is_bf16 = _uses_bf16(options.dtype, self.device)

    @functools.cached_property
    def digest(self) -> str:
        """Hash of weights, tokenizer and configuration, the number of tokens, and the precision.

        Vocabularies count where they are not in `tokenizer.json` already.
        """
        patterns = ["config.json", "tokenizer_config.json", "tokenizer.json", "*.safetensors"]
        if not (self.folder / "tokenizer.json").is_file():
            patterns += ["vocab*", "merges.txt", "*.model"]
        files = sorted({path for pattern in patterns for path in self.folder.glob(pattern)})
        parts = f" in {self.options.max_parts} parts" if self.options.max_parts > 1 else ""
        settings = f"mean 1, {self.options.max_tokens} tokens{parts}, {'bf16' if self.is_bf16 else 'float32'}"
        return digest_of_files(files, settings)

    @functools.cached_property
    def dim(self) -> int:
        """Features of a token in the last layer."""
        with self._in_one_line():
            return int(self._config.hidden_size)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Run texts of like length together; one row per text, in the order given."""
        tokens, owners = self._parts(texts)
        vectors = np.zeros((len(tokens), self.dim), np.float32)
        for rows in batches([len(ids) for ids in tokens], self.options.batch_tokens):
            with self._in_one_line():
                vectors[rows] = self._means([tokens[row] for row in rows])
        if len(tokens) == len(texts):
            return vectors
        counts, sums = np.array([*map(len, tokens)], np.float32), np.zeros((len(texts), self.dim), np.float32)
        np.add.at(sums, owners, counts[:, None] * vectors)
        return sums / np.bincount(owners, counts).astype(np.float32)[:, None]

    def _parts(self, texts: Sequence[str]) -> tuple[list[list[int]], list[int]]:
        """Ids of the parts of each text, and which text each is of."""
        most = self.options.max_parts
        if most == 1 or not texts:
            return self.tokens(texts), [*range(len(texts))]
        how = {"truncation": True, "max_length": self.options.max_tokens, "return_attention_mask": False}
        with self._in_one_line(), quietly(load_extra("transformers", self.name, "text")):
            encoded = self._tokenizer(list(texts), return_overflowing_tokens=True, **how)
        owners = [int(owner) for owner in encoded["overflow_to_sample_mapping"]]
        firsts = {owner: place for place, owner in reversed([*enumerate(owners)])}
        kept = [place for place, owner in enumerate(owners) if place - firsts[owner] < most]
        return [list(encoded["input_ids"][place]) for place in kept], [owners[place] for place in kept]

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of each text's tokens, the tokenizer's marks of its beginning and end among them."""
        if not texts:
            return []
        limit = self.options.max_tokens
        with self._in_one_line(), quietly(load_extra("transformers", self.name, "text")):
            encoded = self._tokenizer(list(texts), truncation=True, max_length=limit, return_attention_mask=False)
        return [list(ids) for ids in encoded["input_ids"]]

    @torch.inference_mode()
    def _means(self, tokens: list[list[int]]) -> NDArray[np.float32]:
        longest = max(1, *map(len, tokens))
        ids = torch.full((len(tokens), longest), self._tokenizer.pad_token_id or 0)
        mask = torch.zeros(len(tokens), longest, dtype=torch.int64)
        for row, text in enumerate(tokens):
            ids[row, : len(text)] = torch.tensor(text, dtype=torch.int64)
            mask[row, : len(text)] = 1
        ids, mask = ids.to(self.device), mask.to(self.device)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.is_bf16):
            hidden = self._model(input_ids=ids, attention_mask=mask).last_hidden_state
        weights = mask[..., None].float()
        means: Tensor = (hidden.float() * weights).sum(1) / weights.sum(1).clamp(min=1)
        return means.cpu().numpy()

    def _in_one_line(self) -> contextlib.AbstractContextManager[None]:
        return in_one_line(f"{self.name}: the model in {self.folder} cannot be used")

    @functools.cached_property
    def _config(self) -> Any:
        return load_encoder(self.folder, self.name, "AutoConfig")

    @functools.cached_property
    def _tokenizer(self) -> Any:
        tokenizer = load_encoder(self.folder, self.name, "AutoTokenizer")
        limits = (tokenizer.model_max_length, getattr(self._config, "max_position_embeddings", None))
        with self._in_one_line():
            limit = min(int(known) for known in limits if known)
        if self.options.max_tokens > limit:
            raise ConfigError(
                f"text.max_tokens: {self.name} takes at most {limit} tokens. Got {self.options.max_tokens}."
            )
        return tokenizer

    @functools.cached_property
    def _model(self) -> Any:
        return self.network().to(self.device)

    def network(self) -> Any:
        """The network itself, freshly loaded, to be tuned or applied: ids and mask to the last layer's features.

        On the device `meta`, where weights are counted and not filled, it is drawn by its configuration alone.
        """
        if torch.get_default_device().type == "meta":
            model = load_extra("transformers", self.name, "text").AutoModel.from_config(self._config)
        else:
            model = load_network(self.folder, self.name, UNUSED)
        with self._in_one_line():
            encoder = model.get_encoder() if self._config.is_encoder_decoder else model
            return encoder.eval()


def batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Rows from the longest to the shortest, as many at once as fit the budget when padded to their longest."""
    order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
    start = 0
    while start < len(order):
        count = max(1, budget // max(1, lengths[order[start]]))
        yield order[start : start + count]
        start += count


def _device(name: str) -> torch.device:
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError):  # an assertion is what torch built without CUDA gives
        raise ConfigError(f"text.device: there is no device {name}. Give cpu, or leave it out.") from None
    return device


def _uses_bf16(dtype: str, device: torch.device) -> bool:
    """Where not told: on processors with units for it; on others it would be slower than float32."""
    if dtype != "auto":
        return dtype == "bf16"
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    has_tiles = getattr(torch.cpu, "_is_amx_tile_supported", lambda: False)
    return device.type == "cpu" and bool(has_tiles())
