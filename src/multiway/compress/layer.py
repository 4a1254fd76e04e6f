"""What a plan holds: of each layer what it is and would become, and of the whole model."""

import dataclasses

from multiway.compress.fits import Compressed
from multiway.compress.spread import Spread, Times
from multiway.compress.targets import Refused


@dataclasses.dataclass(frozen=True, kw_only=True)
class LayerPlan:
    """One dense layer, and what it would become.

    names: Every name that the layer goes by; a shared layer has several.
    becomes: Kind, sizes and ranks in words; "dense" if it is left as it is.
    input_shape: Input on which FLOPs and times are for one call: the layer's own on the data, or 256 rows.
    weight_error: ‖W - Ŵ‖ / ‖W‖.
    output_error: Relative error of the layer's outputs on the data, biases included; None without data.
    advice: What to think over before applying.
    """

    names: tuple[str, ...]
    kind: str
    in_features: int
    out_features: int
    becomes: str
    parameters: tuple[int, int]
    input_shape: tuple[int, ...]
    flops: tuple[int, int]
    times: Times | None
    weight_error: float
    output_error: float | None
    advice: tuple[str, ...]
    replacement: Compressed | None = dataclasses.field(repr=False, compare=False)

    @property
    def name(self) -> str:
        """The first of its names."""
        return self.names[0]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Comparison:
    """A model before and after.

    layers: The dense layers that the rules match.
    refused: Layers that they match and that cannot be swapped, with the reason.
    parameters: Of the whole model, before and after.
    output_error: Relative error of the model's floating outputs on the data; None without data.
    sample_errors: The same, sample by sample.
    times: Of the whole model on the data; None without data or where nothing is swapped.
    has_data: Whether data was given.
    """

    layers: list[LayerPlan]
    refused: list[Refused]
    parameters: tuple[int, int]
    output_error: float | None
    sample_errors: Spread | None
    times: Times | None
    has_data: bool
