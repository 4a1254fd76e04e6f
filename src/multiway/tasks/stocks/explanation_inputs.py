"""One sample at a time, as the network takes it, with the texts that its vectors are the means of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.data.encoders import encode_texts
from multiway.tasks.run import Run
from multiway.tasks.stocks.attribution import Batch, SampleTexts, texts_of_rows
from multiway.tasks.stocks.prepared import Prepared

if TYPE_CHECKING:
    from multiway.tasks.stocks.config import StockConfig

INPUTS = ("prices", "price_valid", "dates", "text", "text_valid")


class ExplainedData:
    """Samples of a run with the vectors of single texts, which are encoded when they are first asked for.

    Args:
        config: Of the run.
        prepared: Its samples.
    """

    def __init__(self, config: StockConfig, prepared: Prepared) -> None:
        self.config = config
        self.prepared = prepared
        self.inputs = prepared.inputs(np.arange(len(prepared.samples.targets)))
        self.vectors: dict[int, NDArray[np.float32]] = {}

    @classmethod
    def of(cls, run: Run, prepared: Prepared) -> Self:
        """Samples that are at hand."""
        return cls(run.config, prepared)

    @property
    def has_texts(self) -> bool:
        """Whether the network reads texts."""
        return self.prepared.vectors is not None

    @property
    def target_days(self) -> NDArray[np.datetime64]:
        """The day that each sample asks about."""
        samples = self.prepared.samples
        return np.asarray(samples.days[samples.targets])

    def batch(self, sample: int) -> Batch:
        """Inputs of one sample, the batch axis first."""
        found = self.inputs.gather(torch.tensor([sample]))
        return {name: found[name] for name in INPUTS if name in found}

    def texts_of(self, sample: int) -> SampleTexts | None:
        """Texts of one sample; None where the network reads none."""
        if not self.has_texts:
            return None
        self.load([sample])
        samples = self.prepared.samples
        return texts_of_rows(samples.text_rows[sample], samples.groups.of, self._standardised)

    def load(self, samples: Iterable[int]) -> None:
        """Encode the texts of these samples together, as far as they are not yet: the encoder starts once."""
        if not self.has_texts:
            return
        groups = self.prepared.samples.groups
        rows = np.unique(self.prepared.samples.text_rows[list(samples)])
        items = np.unique(np.concatenate([groups.of(int(row)) for row in rows])).tolist()
        missing = [item for item in items if item not in self.vectors]
        if missing:
            self.vectors |= dict(zip(missing, self._encoded(missing), strict=True))

    def _encoded(self, items: list[int]) -> NDArray[np.float32]:
        texts = self.prepared.texts
        assert texts is not None
        if texts.vectors is not None:
            return texts.vectors[items]
        assert texts.text is not None
        found = encode_texts([texts.text[item] for item in items], self.config.text)
        return found.vectors[found.rows]

    def _standardised(self, items: NDArray[np.int64]) -> Tensor:
        """Vectors of texts, standardised as the means of groups are."""
        scale = self.prepared.scale
        assert scale.text_centre is not None and scale.text_spread is not None
        raw = np.zeros((len(items), len(scale.text_centre)), np.float32)
        for place, item in enumerate(items.tolist()):
            raw[place] = self.vectors[item]
        return torch.from_numpy((raw - scale.text_centre) / scale.text_spread)
