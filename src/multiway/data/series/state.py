"""What training learnt of a panel: names, step, season, scaling, and whether variates share one matrix of weights."""

import dataclasses
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from multiway.data.series.scaling import Scaler


@dataclasses.dataclass(frozen=True, kw_only=True)
class ForecastState:
    """All that the models are rebuilt from and later data is read by.

    names: Of the variates, in the order of the models: those that are forecast last.
    frequency: Step between times as a pandas alias; None for integer times.
    season: Steps in a season.
    scaler: Fitted on the training rows.
    mase_scale: `(targets,)`, the denominators of MASE in scaled units.
    shared: One matrix of weights serves all variates, as validation has it.
    """

    names: tuple[str, ...]
    frequency: str | None
    season: int
    scaler: Scaler
    mase_scale: NDArray[np.float64]
    shared: bool

    @property
    def targets(self) -> tuple[str, ...]:
        """Names of the variates that are forecast."""
        return self.names[-len(self.mase_scale) :]

    @property
    def target_scaler(self) -> Scaler:
        """Scaling of the variates that are forecast."""
        return self.scaler.last(len(self.mase_scale))

    def plain(self) -> dict[str, Any]:
        """Values for JSON, exact."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {**fields, "scaler": self.scaler.to_dict(), "mase_scale": self.mase_scale.tolist()}

    @classmethod
    def parse(cls, plain: dict[str, Any]) -> Self:
        """Undo `plain`."""
        read = {
            "names": tuple(plain["names"]),
            "scaler": Scaler.from_dict(plain["scaler"]),
            "mase_scale": np.array(plain["mase_scale"], dtype=np.float64),
        }
        return cls(**{**plain, **read})
