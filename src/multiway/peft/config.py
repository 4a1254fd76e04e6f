"""Settings of a factorised adapter, saved and loaded by PEFT as LoRA's are; its LoKr without the whole weight."""

import dataclasses
import warnings
from typing import Any

import peft
import torch
from jaxtyping import Float
from peft import LoraConfig
from peft.tuners.lokr.layer import Linear
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from multiway import ops
from multiway.compress.rules import MIN_CORES
from multiway.errors import ConfigError, closest
from multiway.peft.branches import LAYERS, OWN, Branched

TARGETS = (nn.Linear, Conv1D, *OWN)
"""Layers that take a branch."""
SAVED_STARTS: dict[Any, Any] = {"multiway": True, "multiway_nonzero": False}
"""How `init_lora_weights` is saved: by names that LoRA, which the file would else be taken for, does not know."""


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
        given = vars(self)["init_lora_weights"]
        self.init_lora_weights = SAVED_STARTS.get(given, given)
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
        self._register_custom_module(dict.fromkeys(TARGETS, Branched))

    def to_dict(self) -> dict[str, Any]:
        """The settings as they are saved: an initialisation that PEFT refuses where `multiway.peft` is not imported."""
        saved = next(name for name, starts in SAVED_STARTS.items() if starts == self.init_lora_weights)
        return {**super().to_dict(), "init_lora_weights": saved}


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


class KroneckerLinear(Linear):  # type: ignore[misc]  # PEFT's classes are not typed
    r"""A Kronecker adapter, $y = W x + s \, (A \otimes B) x$, whose second product is taken mode by mode.

    PEFT 0.21 forms $A \otimes B$, as large as W, in each call. Here x is a matrix X of the two modes, and
    $A X B^\top$ costs as much as two small layers. `merge`, files and settings are those of `peft.LoKrConfig`.
    """

    def _get_delta_activations(self, adapter_name: str, input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """What the adapter adds to the outputs; PEFT's name and arguments."""
        left, right = self._factors(adapter_name)
        x = self._cast_input_dtype(input, left.dtype)
        added = kronecker_rows(x, left * self.scaling[adapter_name], right)
        if self.training and self.rank_dropout[adapter_name]:
            added = added * self._kept_outputs(adapter_name, added)
        return added

    def _factors(self, adapter_name: str) -> tuple[Tensor, Tensor]:
        """A and B; either may be a product of two thin matrices."""
        left, right = (
            whole[adapter_name] if adapter_name in whole else down[adapter_name] @ up[adapter_name]
            for whole, down, up in (
                (self.lokr_w1, self.lokr_w1_a, self.lokr_w1_b),
                (self.lokr_w2, self.lokr_w2_a, self.lokr_w2_b),
            )
        )
        return left, right

    def _kept_outputs(self, adapter_name: str, like: Tensor) -> Tensor:
        """Which outputs the dropout keeps: PEFT drops rows of the weight, drawn in the same way."""
        kept = (torch.rand(self.out_features) > self.rank_dropout[adapter_name]).float()
        scaled: Tensor = kept / kept.mean() if self.rank_dropout_scale[adapter_name] else kept
        return scaled.to(like)


def kronecker_rows(
    x: Float[Tensor, "*lead in"], left: Float[Tensor, "a c"], right: Float[Tensor, "b d"]
) -> Float[Tensor, "*lead out"]:
    """Multiply the last axis by left ⊗ right, without forming it."""
    rows = x.reshape(-1, left.shape[1], right.shape[1])
    out: Tensor = ops.nd_linear(rows, [left, right], [])
    return out.reshape(*x.shape[:-1], -1)
