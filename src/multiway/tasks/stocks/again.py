"""The data of a finished run, read again: for what is said of it beyond its stored scores."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.data.encoders import Encoded
from multiway.errors import RunError
from multiway.tasks.stocks.attribution import SampleTexts, texts_of_rows
from multiway.tasks.stocks.prepared import Prepared, encode, locate, prepare

if TYPE_CHECKING:
    from multiway.tasks.stocks.run import StockRun


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Again:
    """Samples of a run's data, with the vector of each text."""

    prepared: Prepared
    encoded: Encoded | None

    def texts_of(self, sample: int) -> SampleTexts | None:
        """Texts of one sample; None where the network reads none."""
        samples = self.prepared.samples
        return None if self.encoded is None else texts_of_rows(samples.text_rows[sample], samples.groups.of, self._of)

    def _of(self, items: NDArray[np.int64]) -> Tensor:
        """Vectors of texts, standardised as the means of groups are."""
        assert self.encoded is not None
        scale = self.prepared.scale
        assert scale.text_centre is not None and scale.text_spread is not None
        raw = self.encoded.vectors[self.encoded.rows[items]]
        return torch.from_numpy((raw - scale.text_centre) / scale.text_spread)

    def batch(self, sample: int) -> dict[str, Tensor]:
        """What the network takes of one sample, the batch axis first."""
        found = self.prepared.inputs(np.array([sample])).gather(torch.tensor([0]))
        return {name: found[name] for name in ("prices", "price_valid", "dates", "text", "text_valid") if name in found}

    def sample_of(self, date: str | np.datetime64) -> int | None:
        """Sample that asks about a day; None where there is none."""
        days = self.prepared.samples.days[self.prepared.samples.targets]
        found = np.flatnonzero(days == np.datetime64(date, "D"))
        return int(found[0]) if len(found) else None


def again(run: StockRun, prepared: Prepared) -> Again:
    """Samples that are at hand, with the vector of each text."""
    return Again(prepared=prepared, encoded=encode(run.config, prepared.texts))


def read_again(run: StockRun) -> Again:
    """Read the data of a run again.

    Raises:
        RunError: The run was made of tables in memory, or its data has changed.
        DataError: The data can no longer be read.
    """
    if run.config.data is None:
        raise RunError("the run was made of tables in memory; they are needed to explain it. Train on files.")
    prepared = prepare(run.config, locate(run.config.data))
    if tuple(prepared.panel.tickers) != tuple(run.tickers):
        raise RunError(f"{run.config.data} changed since the run was started: its tickers are others. Restore the data.")
    return again(run, prepared)
