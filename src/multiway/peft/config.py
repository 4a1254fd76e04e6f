"""Settings of a factorised adapter, and what PEFT is told of it: files as those of LoRA, and calls that it refuses."""

import dataclasses
import functools
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import peft
from peft import LoraConfig
from peft.config import PeftConfigMixin
from peft.tuners.lokr import LoKrModel
from peft.tuners.lora import LoraModel
from peft.tuners.lora.layer import LoraLayer
from peft.tuners.tuners_utils import BaseTunerLayer
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from multiway.compress.rules import MIN_CORES
from multiway.compress.swap import parameter_owners
from multiway.errors import ConfigError, closest
from multiway.peft.layers import LAYERS, OWN, Branched, KroneckerLinear

TARGETS = (nn.Linear, Conv1D, *OWN)
"""Layers that take a branch."""
SAVED_STARTS: dict[Any, Any] = {"multiway": True, "multiway_nonzero": False}
"""How `init_lora_weights` is saved: by names that LoRA, which the file would else be taken for, does not know."""
NAMED = re.compile(r"\.lora_branch\.[^.]+\.(?=\w+\.\d+$)")
"""A factor of a branch whose key holds the name of its adapter."""


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


def register_adapters() -> None:
    """Tell PEFT of the layers here; done once, when the package is imported."""
    LoKrModel.layers_mapping[nn.Linear] = KroneckerLinear
    known = PeftConfigMixin.from_peft_type.__func__

    def from_peft_type(cls: type[Any], /, **settings: Any) -> Any:
        """A config of the kind that was saved."""
        return AdapterConfig(**settings) if "multiway_layer" in settings else known(cls, **settings)

    PeftConfigMixin.from_peft_type = classmethod(from_peft_type)
    LoraModel.add_weighted_adapter = _check_before(LoraModel.add_weighted_adapter, refuse_sums)
    LoraModel._create_and_replace = _check_before(LoraModel._create_and_replace, refuse_target)
    for tuner in (LoraModel, LoKrModel):
        tuner._check_merge_allowed = _check_before(tuner._check_merge_allowed, refuse_tied)
    _name_keys(LoraModel)


def _check_before(method: Callable[..., Any], check: Callable[..., None]) -> Callable[..., Any]:
    """A method that is called once its arguments were looked at."""

    @functools.wraps(method)
    def checked(*given: Any, **named: Any) -> Any:
        check(*given, **named)
        return method(*given, **named)

    return checked


def refuse_sums(model: Any, *_: Any, **__: Any) -> None:
    """PEFT sums the matrices of LoRA, which a branch does not have: the sum would be zero."""
    if any(isinstance(module, Branched) for module in model.modules()):
        raise ConfigError(
            "multiway.peft: add_weighted_adapter sums LoRA's matrices. Make each adapter one by convert_to_lora first."
        )


def refuse_tied(tuner: Any) -> None:
    """A branch that is merged into the weight of two layers would change both, such as the embedding of words."""
    for names in parameter_owners(tuner.model).values():
        for name in names if len(names) > 1 else ():
            layer, _, end = name.rpartition(".base_layer.")
            if end == "weight" and isinstance(tuner.model.get_submodule(layer), Branched | KroneckerLinear):
                tied = " and ".join(each for each in names if each != name)
                raise ConfigError(
                    f"multiway.peft: {layer} is tied to {tied}, which merging would change too. Keep the adapter next "
                    f"to it, or give the layer a weight of its own first."
                )


def refuse_target(model: Any, config: Any, adapter: str, target: nn.Module, *_: Any, **named: Any) -> None:
    """PEFT gives its own LoRA to a layer that has one already, and to what is no layer of `AdapterConfig`."""
    if not isinstance(config, AdapterConfig):
        return
    name = named.get("current_key", "a target")
    if isinstance(target, LoraLayer) and not isinstance(target, Branched):
        raise ConfigError(f"AdapterConfig: {name} has a LoRA. Give the branches a model without one, or other targets.")
    base = target.get_base_layer() if isinstance(target, BaseTunerLayer) else target
    if not isinstance(base, TARGETS):
        raise ConfigError(
            f"AdapterConfig: {name} is a {type(base).__name__}, and these branches are for dense layers and those of "
            f"multiway. Leave it out of target_modules."
        )


def _name_keys(cls: type[Any]) -> None:
    """Save branches without the name of their adapter, as PEFT saves LoRA's matrices, and read files that have it."""
    without_name, for_load = cls._remove_adapter_name_from_key.__func__, cls._remap_adapter_state_dict_for_load.__func__

    def _remove_adapter_name_from_key(cls: type[Any], key: str, adapter_name: str) -> str:
        """PEFT's name."""
        return _key_without_name(key) if NAMED.search(key) else str(without_name(cls, key, adapter_name))

    def _remap_adapter_state_dict_for_load(
        cls: type[Any], model: nn.Module, config: Any, adapter_name: str, state_dict: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        """PEFT's name."""
        plain = {_key_without_name(key): tensor for key, tensor in state_dict.items()}
        loaded: dict[str, Tensor] = for_load(cls, model, config, adapter_name, plain)
        return loaded

    cls._remove_adapter_name_from_key = classmethod(_remove_adapter_name_from_key)
    cls._remap_adapter_state_dict_for_load = classmethod(_remap_adapter_state_dict_for_load)


def _key_without_name(key: str) -> str:
    """The key of a branch's factor without the name of its adapter; any other as it is."""
    return NAMED.sub(".lora_branch.", key)
