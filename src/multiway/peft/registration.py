"""What PEFT is told of the layers here, and the calls of its LoRA that would pass them over without a word."""

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any

from peft.config import PeftConfigMixin
from peft.tuners.lokr import LoKrModel
from peft.tuners.lora import LoraModel
from peft.tuners.lora.layer import LoraLayer
from peft.tuners.tuners_utils import BaseTunerLayer
from torch import Tensor, nn

from multiway.errors import ConfigError
from multiway.peft.branches import Branched
from multiway.peft.config import TARGETS, AdapterConfig, KroneckerLinear

NAMED = re.compile(r"\.lora_branch\.[^.]+\.(?=\w+\.\d+$)")
"""A factor of a branch whose key holds the name of its adapter."""


def register_adapters() -> None:
    """Tell PEFT of the layers here; done once, when the package is imported."""
    LoKrModel.layers_mapping[nn.Linear] = KroneckerLinear
    known = PeftConfigMixin.from_peft_type.__func__

    def from_peft_type(cls: type[Any], /, **settings: Any) -> Any:
        """A config of the kind that was saved."""
        return AdapterConfig(**settings) if "multiway_layer" in settings else known(cls, **settings)

    PeftConfigMixin.from_peft_type = classmethod(from_peft_type)
    LoraModel.add_weighted_adapter = _checked(LoraModel.add_weighted_adapter, refuse_sums)
    LoraModel._create_and_replace = _checked(LoraModel._create_and_replace, refuse_target)
    _name_keys(LoraModel)


def _checked(method: Callable[..., Any], check: Callable[..., None]) -> Callable[..., Any]:
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
        return unnamed(key) if NAMED.search(key) else str(without_name(cls, key, adapter_name))

    def _remap_adapter_state_dict_for_load(
        cls: type[Any], model: nn.Module, config: Any, adapter_name: str, state_dict: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        """PEFT's name."""
        plain = {unnamed(key): tensor for key, tensor in state_dict.items()}
        loaded: dict[str, Tensor] = for_load(cls, model, config, adapter_name, plain)
        return loaded

    cls._remove_adapter_name_from_key = classmethod(_remove_adapter_name_from_key)
    cls._remap_adapter_state_dict_for_load = classmethod(_remap_adapter_state_dict_for_load)


def unnamed(key: str) -> str:
    """The key of a branch's factor without the name of its adapter; any other as it is."""
    return NAMED.sub(".lora_branch.", key)
