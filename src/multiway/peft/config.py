"""Settings of a factorised adapter, saved and loaded by PEFT as those of LoRA are."""

import dataclasses
import warnings
from typing import Any

import peft
from peft import LoraConfig
from peft.config import PeftConfigMixin
from peft.tuners.lokr import LoKrModel
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from multiway.compress.rules import MIN_CORES
from multiway.errors import ConfigError, closest
from multiway.peft.branches import LAYERS, OWN, Branched
from multiway.peft.lokr import KroneckerLinear


@dataclasses.dataclass
class AdapterConfig(LoraConfig):  # type: ignore[misc]  # PEFT's classes are not typed
    """LoRA's settings for branches that are NdLinear or tensor trains.

    `r` is the number of terms of `nd_linear`, and the rank of every bond of `tensor_train`. What LoRA alone has (DoRA,
    `lora_bias`, special initialisations) is refused.

    Args:
        multiway_layer: `nd_linear` (NdLinear-LoRA) or `tensor_train` (as in LoRETTA).
        multiway_modes: Factors of the features of each side; the most balanced ones are taken.

    Raises:
        ConfigError: There is no such layer, or fewer than two modes.
    """

    multiway_layer: str = "nd_linear"
    multiway_modes: int = MIN_CORES

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.multiway_layer not in LAYERS:
            near = closest(self.multiway_layer, LAYERS)
            raise ConfigError(
                f"AdapterConfig: multiway_layer is one of {', '.join(LAYERS)}. Got {self.multiway_layer!r}{near}"
            )
        if self.multiway_modes < MIN_CORES:
            raise ConfigError(f"AdapterConfig: multiway_modes is at least {MIN_CORES}. Got {self.multiway_modes}.")
        if not isinstance(self.init_lora_weights, bool):
            raise ConfigError(
                f"AdapterConfig: init_lora_weights is True or False. Got {self.init_lora_weights!r}, which is LoRA's."
            )
        self._register_custom_module(dict.fromkeys((nn.Linear, Conv1D, *OWN), Branched))


def register_adapters() -> None:
    """Tell PEFT of the layers here; done once, when the package is imported."""
    LoKrModel.layers_mapping[nn.Linear] = KroneckerLinear
    known = PeftConfigMixin.from_peft_type.__func__

    def from_peft_type(cls: type[Any], /, **settings: Any) -> Any:
        """A config of the kind that was saved."""
        return AdapterConfig(**settings) if "multiway_layer" in settings else known(cls, **settings)

    PeftConfigMixin.from_peft_type = classmethod(from_peft_type)


def convert_to_lora(
    model: nn.Module, rank: int | float, adapter_name: str = "default"
) -> tuple[LoraConfig, dict[str, Tensor]]:
    """The LoRA nearest to an adapter, by `peft.convert_to_lora`: what reads LoRA files alone can then use it.

    Args:
        model: From `get_peft_model`.
        rank: Of the LoRA; below 1, the share of the squared singular values to keep.
        adapter_name: Of the adapter.

    Returns:
        The config and the weights, as `peft.set_peft_model_state_dict` takes them.
    """
    with warnings.catch_warnings():  # PEFT takes every LoraConfig for LoRA's layers
        warnings.filterwarnings("ignore", "Converting a PEFT adapter to LoRA that is already")
        config, weights = peft.convert_to_lora(model, rank=rank, adapter_name=adapter_name)
    return config, weights
