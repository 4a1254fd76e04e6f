"""Layers that PEFT puts in the place of dense ones: frozen ones with factorised branches, and LoKr by mode products."""

import math
import warnings
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from peft.tuners.lokr.layer import Linear
from peft.tuners.lora.layer import LoraLayer
from peft.tuners.tuners_utils import check_adapters_to_merge
from torch import Tensor, nn

from multiway import ops
from multiway.compress.branches import branch_weight, zero_branch
from multiway.compress.rules import NdLinear, Rule, TensorTrain
from multiway.errors import ConfigError, DataError, warn
from multiway.nn import LowRankLinear, TTLinear
from multiway.nn import NdLinear as NdLayer

LAYERS = ("nd_linear", "tensor_train")
OWN = (NdLayer, TTLinear, LowRankLinear)
"""Layers of multiway that take a branch."""


class Branched(nn.Module, LoraLayer):  # type: ignore[misc]  # PEFT's classes are not typed
    r"""A frozen dense layer and parallel branches: $y = W x + b + \sum s \, branch(dropout(x))$ over active adapters.

    Args:
        base_layer: `nn.Linear`, Conv1D of transformers, or a layer of multiway, which a branch cannot be merged into.
        adapter_name: Of the first branch.
        config: An `AdapterConfig`.
        r: Rank of the branch; of `nd_linear` its number of terms.
        lora_alpha: The scale is `lora_alpha / r`, as in LoRA.
        given: What else PEFT gives its layers.
    """

    adapter_layer_names = (*LoraLayer.adapter_layer_names, "lora_branch")

    in_features: int
    out_features: int
    r: dict[str, int]
    lora_alpha: dict[str, int]
    scaling: dict[str, float]
    use_rslora: dict[str, bool]
    lora_dropout: nn.ModuleDict
    merged_adapters: list[str]
    base_layer: nn.Module
    active_adapters: list[str]
    get_base_layer: Callable[[], Any]
    resolve_lora_variant: Callable[..., None]
    set_adapter: Callable[..., None]
    _move_adapter_to_device_of_base_layer: Callable[[str], None]
    _cast_input_dtype: Callable[[Tensor, torch.dtype], Tensor]

    def __init__(
        self, base_layer: nn.Module, adapter_name: str, config: Any, r: int = 0, lora_alpha: int = 1, **given: Any
    ) -> None:
        super().__init__()
        LoraLayer.__init__(self, base_layer, **given)
        self.lora_branch = nn.ModuleDict()
        self._active_adapter = adapter_name
        self.update_layer(adapter_name, r, lora_alpha=lora_alpha, config=config, **given)

    def update_layer(
        self, adapter_name: str, r: int, lora_alpha: int, config: Any, target_name: str = "a layer", **_: Any
    ) -> None:
        """Add a branch whose last factor is zero; PEFT calls this for every further adapter."""
        self.resolve_lora_variant(config=config)  # refuses DoRA and other variants
        rule = read_rule(config, r)
        if config.lora_bias:
            raise ConfigError("AdapterConfig: these branches have no bias. Leave lora_bias=False.")
        self.r[adapter_name], self.lora_alpha[adapter_name] = r, lora_alpha
        self.use_rslora[adapter_name] = config.use_rslora
        self.scaling[adapter_name] = lora_alpha / (r**0.5 if config.use_rslora else r)
        dropout = nn.Dropout(config.lora_dropout) if config.lora_dropout > 0 else nn.Identity()
        self.lora_dropout[adapter_name] = dropout
        branch = zero_branch("AdapterConfig", rule, self.in_features, self.out_features)
        count, dense = sum(factor.numel() for factor in branch.parameters()), self.in_features * self.out_features
        if count >= dense:
            warn(
                f"AdapterConfig: the adapter of {target_name} has {count:,} parameters, and a dense weight there "
                f"{dense:,}. Lower r, or leave the layer out."
            )
        if isinstance(self.get_base_layer(), OWN):  # PEFT looks for the device and dtype of a dense weight
            like = next(self.get_base_layer().parameters())
            is_meta = next(branch.parameters()).is_meta  # loaded there later
            branch.to(device=None if is_meta else like.device, dtype=like.dtype)
        if config.init_lora_weights is False:  # as LoRA does: no factor is zero
            branch.reset_parameters()  # type: ignore[operator]
        self.lora_branch[adapter_name] = branch
        self._move_adapter_to_device_of_base_layer(adapter_name)
        self.set_adapter(self.active_adapters, inference_mode=config.inference_mode)

    def forward(self, x: Tensor, *args: Any, **named: Any) -> Tensor:
        """The dense layer's answer, and what the active branches add."""
        if named.pop("adapter_names", None) is not None:
            raise ConfigError("multiway.peft: batches of several adapters are LoRA's alone. Use convert_to_lora first.")
        if self.disable_adapters and self.merged:
            self.unmerge()
        result: Tensor = self.base_layer(x, *args, **named)
        if self.disable_adapters or self.merged:
            return result
        dtype, base = result.dtype, self.get_base_layer()
        modes = len(base.in_sizes) if isinstance(base, NdLayer) and not base.flat else 1
        rows = x.flatten(x.ndim - modes)
        for name in self._branches(self.active_adapters):
            branch = self.lora_branch[name]
            given = self._cast_input_dtype(rows, next(branch.parameters()).dtype)
            result = result + branch(self.lora_dropout[name](given)).reshape(result.shape) * self.scaling[name]
        return result.to(dtype)

    def merge(self, safe_merge: bool = False, adapter_names: list[str] | None = None) -> None:
        """Add branches to the dense weight.

        Args:
            safe_merge: Refuse a weight that would hold a NaN or an infinity.
            adapter_names: The active ones if not given.

        Raises:
            DataError: `safe_merge` found one.
            ConfigError: The layer is one of multiway.
        """
        if isinstance(self.get_base_layer(), OWN):
            raise ConfigError(
                f"multiway.peft: {type(self.get_base_layer()).__name__} has no dense weight to add a branch to. Keep "
                f"the adapter next to it, or put a dense layer in its place by compress.undo."
            )
        weight = self.get_base_layer().weight
        for name in self._branches(check_adapters_to_merge(self, adapter_names)):
            merged = weight.data + self.get_delta_weight(name).to(weight.dtype)
            if safe_merge and not torch.isfinite(merged).all():
                raise DataError(f"multiway.peft: the adapter {name} holds a NaN or an infinity. It was not merged.")
            weight.data = merged
            self.merged_adapters.append(name)

    def unmerge(self) -> None:
        """Take merged branches out of the dense weight."""
        if not self.merged:
            warnings.warn("Already unmerged. Nothing to do.", stacklevel=2)
        weight = self.get_base_layer().weight
        while self.merged_adapters:
            weight.data = weight.data - self.get_delta_weight(self.merged_adapters.pop()).to(weight.dtype)

    def get_delta_weight(self, adapter: str) -> Tensor:
        """The weight that a branch stands for, laid out as the dense one; PEFT's name."""
        return branch_weight(self.lora_branch[adapter], self.scaling[adapter], self.get_base_layer())

    def supports_lora_conversion(self, adapter_name: str = "default") -> bool:
        """Whether `peft.convert_to_lora` takes this layer."""
        return adapter_name in self.lora_branch

    def _get_in_out_features(self, module: nn.Module) -> tuple[int | None, int | None]:
        """PEFT's name; it knows no layers of multiway."""
        if isinstance(module, NdLayer | TTLinear):
            return math.prod(module.in_sizes), math.prod(module.out_sizes)
        if isinstance(module, LowRankLinear):
            return module.in_features, module.out_features
        features: tuple[int | None, int | None] = super()._get_in_out_features(module)
        return features

    def _branches(self, names: list[str] | None) -> list[str]:
        return [name for name in names or [] if name in self.lora_branch]


class KroneckerLinear(Linear):  # type: ignore[misc]  # PEFT's classes are not typed
    r"""A Kronecker adapter, $y = W x + s \, (A \otimes B) x$, whose second product is taken mode by mode.

    PEFT 0.21 forms $A \otimes B$, as large as W, in each call. Here x is a matrix X of the two modes, and
    $A X B^\top$ costs as much as two small layers. `merge`, files and settings are those of `peft.LoKrConfig`.
    """

    def _get_delta_activations(self, adapter_name: str, input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """What the adapter adds to the outputs; PEFT's name and arguments."""
        left, right = (
            whole[adapter_name] if adapter_name in whole else down[adapter_name] @ up[adapter_name]
            for whole, down, up in (  # either may be a product of two thin matrices
                (self.lokr_w1, self.lokr_w1_a, self.lokr_w1_b),
                (self.lokr_w2, self.lokr_w2_a, self.lokr_w2_b),
            )
        )
        x = self._cast_input_dtype(input, left.dtype)
        added = kronecker_rows(x, left * self.scaling[adapter_name], right)
        if self.training and self.rank_dropout[adapter_name]:
            kept = (torch.rand(self.out_features) > self.rank_dropout[adapter_name]).float()  # drawn as PEFT does
            added = added * (kept / kept.mean() if self.rank_dropout_scale[adapter_name] else kept).to(added)
        return added


def kronecker_rows(
    x: Float[Tensor, "*lead in"], left: Float[Tensor, "a c"], right: Float[Tensor, "b d"]
) -> Float[Tensor, "*lead out"]:
    """Multiply the last axis by left ⊗ right, without forming it."""
    rows = x.reshape(-1, left.shape[1], right.shape[1])
    out: Tensor = ops.nd_linear(rows, [left, right], [])
    return out.reshape(*x.shape[:-1], -1)


def read_rule(config: Any, rank: int) -> Rule:
    """The rule of `compress` that describes a config's branches."""
    modes = getattr(config, "multiway_modes", 2)
    layer = getattr(config, "multiway_layer", None)
    if layer == "tensor_train":
        return TensorTrain(rank=rank, num_cores=modes)
    if layer == "nd_linear":
        return NdLinear(rank=rank, num_modes=modes)
    raise ConfigError("multiway.peft: this layer has a branch of multiway and takes no LoRA. Give an AdapterConfig.")
