"""One sample at a time, as the network takes it, with the texts that its vectors are the means of."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.data.encoders import Encoded
from multiway.tasks.stocks.attribution import Batch, SampleTexts, texts_of_rows
from multiway.tasks.stocks.prepared import Prepared, encode

if TYPE_CHECKING:
    from multiway.tasks.stocks.run import StockRun

INPUTS = ("prices", "price_valid", "dates", "text", "text_valid")


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class ExplainedData:
    """Samples of a run with the vector of each text; `encoded` is None where the network reads none."""

    prepared: Prepared
    encoded: Encoded | None

    @classmethod
    def of(cls, run: StockRun, prepared: Prepared) -> ExplainedData:
        """Samples that are at hand; vectors come from the cache."""
        encoded = None if run.encoder is None else encode(run.config, prepared.texts, prepared.samples)
        return cls(prepared=prepared, encoded=encoded)

    @property
    def asked_days(self) -> NDArray[np.datetime64]:
        """The day that each sample asks about."""
        samples = self.prepared.samples
        return np.asarray(samples.days[samples.targets])

    def batch(self, sample: int) -> Batch:
        """Inputs of one sample, the batch axis first."""
        found = self.prepared.inputs(np.array([sample])).gather(torch.tensor([0]))
        return {name: found[name] for name in INPUTS if name in found}

    def texts_of(self, sample: int) -> SampleTexts | None:
        """Texts of one sample; None where the network reads none."""
        samples = self.prepared.samples
        return None if self.encoded is None else texts_of_rows(samples.text_rows[sample], samples.groups.of, self._of)

    def _of(self, items: NDArray[np.int64]) -> Tensor:
        """Vectors of texts, standardised as the means of groups are."""
        encoded, scale = self.encoded, self.prepared.scale
        assert encoded is not None and scale.text_centre is not None and scale.text_spread is not None
        return torch.from_numpy((encoded.vectors[encoded.rows[items]] - scale.text_centre) / scale.text_spread)
