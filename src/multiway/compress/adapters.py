"""Small trainable branches on frozen dense layers: NdLinear, tensor-train and low-rank adapters for fine-tuning."""

import copy
import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from multiway import files
from multiway.compress.attentions import close, open_attentions
from multiway.compress.branches import branch_weight, zero_branch
from multiway.compress.fits import Compressed
from multiway.compress.kinds import features_of
from multiway.compress.layers import build_layer, describe_layer
from multiway.compress.reading import leave_fast_paths
from multiway.compress.rules import Rule
from multiway.compress.storage import fill, read_json, read_tensors, save_tensors
from multiway.compress.swap import ADAPTERS, set_module
from multiway.compress.targets import find_targets
from multiway.errors import ConfigError, RunError, warn

TENSORS, SHAPES = "adapters.safetensors", "adapters.json"


class Adapted(nn.Module):
    """A frozen dense layer and a parallel branch: $y = W x + b + s · branch(dropout(x))$.

    Args:
        dense: The layer; its parameters are left as they are.
        branch: A factorised layer without bias, whose last factor is zero at first.
        scale: s.
        dropout: Share of the branch's inputs dropped in training.

    Shape:
        As the dense layer.
    """

    def __init__(self, dense: nn.Module, branch: Compressed, *, scale: float, dropout: float) -> None:
        super().__init__()
        self.dense, self.branch, self.scale = dense, branch, scale
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "*lead in"]) -> Float[Tensor, "*lead out"]:
        """Add the branch to the dense layer's answer."""
        dense: Tensor = self.dense(x)
        added: Tensor = self.branch(self.dropout(x))
        return dense + self.scale * added

    def merge(self) -> nn.Module:
        """Add the branch to the dense layer's weight and return that layer."""
        with torch.no_grad():
            self.dense.get_parameter("weight").add_(branch_weight(self.branch, self.scale, self.dense))
        return self.dense

    def extra_repr(self) -> str:
        """Scale of the branch."""
        return f"scale={self.scale}"


@dataclasses.dataclass
class Adaptation:
    """What a model with adapters remembers: their layers, what was trainable, and settings of parents that changed."""

    names: list[tuple[str, ...]] = dataclasses.field(default_factory=list)
    trainable: list[nn.Parameter] = dataclasses.field(default_factory=list)
    settings: list[tuple[str, str, Any]] = dataclasses.field(default_factory=list)


def adapt(
    model: nn.Module,
    rules: Mapping[str, Rule],
    *,
    scale: float = 1.0,
    dropout: float = 0.05,
    generator: torch.Generator | None = None,
    inplace: bool = False,
) -> nn.Module:
    """Freeze a copy of a model and put trainable branches on its matched dense layers.

    The last factor of every branch is zero, so that the model's answers are the same until it is trained. Sizes are
    the two most balanced factors of each side unless the rule says otherwise (the choice of NdLinear-LoRA).

    Args:
        model: Any module; all parameters of the result stop being trainable, and `merge_adapters` makes those that
            were so trainable.
        rules: Patterns and rules as for `plan`; a rule needs a rank, except NdLinear, which takes one term.
        scale: Factor of every branch.
        dropout: Share of a branch's inputs dropped in training.
        generator: Source of the other factors; torch's own if not given.
        inplace: Change the model itself, as `Plan.apply` does.

    Returns:
        The adapted model.

    Raises:
        ConfigError: A pattern matches nothing that can be adapted, a rule has no rank, or the model has adapters.
    """
    if ADAPTERS in model.__dict__:
        raise ConfigError("adapt: this model has adapters already. Merge them first, or give all rules at once.")
    if not 0 <= dropout < 1:
        raise ConfigError(f"adapt: dropout is a share from 0 to below 1. Got dropout={dropout}.")
    if not inplace:
        with torch.no_grad():
            model = copy.deepcopy(model)
    with open_attentions(model):
        targets, _ = find_targets(model, rules, families=("dense",))
    layers = {}
    for target in targets:
        branch = zero_branch(target.names[0], target.rule, *features_of(target.module), generator)
        branch = branch.to(target.module.get_parameter("weight"))
        layers[target.names] = Adapted(target.module, branch, scale=scale, dropout=dropout)
    return _put_in(model, layers)


def merge_adapters(model: nn.Module) -> nn.Module:
    """Add every branch to its dense layer's weight and take the branches away, in place.

    What was trainable before `adapt` is so again.

    Returns:
        The same model.

    Raises:
        ConfigError: The model has no adapters.
    """
    for adapted in _find_adapted(model).values():
        adapted.merge()
    return remove_adapters(model)


def remove_adapters(model: nn.Module) -> nn.Module:
    """Take the branches away, in place: the model is what it was before `adapt`.

    Raises:
        ConfigError: The model has no adapters.
    """
    record = _record(model)
    for names, adapted in zip(record.names, _find_adapted(model).values(), strict=True):
        set_module(model, names, adapted.dense)
    for parameter in record.trainable:
        parameter.requires_grad_(True)
    close(model, record.settings)
    del model.__dict__[ADAPTERS]
    return model


def adapter_state_dict(model: nn.Module) -> dict[str, Tensor]:
    """The branches' parameters under the names that they have in the model.

    Raises:
        ConfigError: The model has no adapters.
    """
    return {
        f"{name}.branch.{key}": tensor
        for name, adapted in _find_adapted(model).items()
        for key, tensor in adapted.branch.state_dict().items()
    }


def save_adapters(model: nn.Module, folder: str | Path) -> None:
    """Write the branches alone, `adapters.safetensors` and `adapters.json`, and hashes of the layers they belong to.

    Raises:
        ConfigError: The model has no adapters.
    """
    path, record = Path(folder), _record(model)
    layers = [
        {
            "names": names,
            "scale": adapted.scale,
            "dropout": adapted.dropout.p,
            "base_sha256": files.tensor_digest(adapted.dense.state_dict()),
            **describe_layer(adapted.branch),
        }
        for names, adapted in zip(record.names, _find_adapted(model).values(), strict=True)
    ]
    with files.folder_to_fill(path) as made:
        save_tensors(adapter_state_dict(model), made / TENSORS)
        files.write_text(made / SHAPES, json.dumps({"format": 1, "layers": layers}, indent=1) + "\n")


def load_adapters(model: nn.Module, folder: str | Path, *, any_base: bool = False) -> nn.Module:
    """Put saved branches on the layers of the dense model that they were trained with, in place.

    Args:
        model: The dense model.
        folder: Where `save_adapters` wrote.
        any_base: Take layers of other weights too, such as the same ones in another precision.

    Raises:
        ConfigError: The model has adapters already.
        RunError: A file is missing or damaged, or the model is of another architecture or has other weights.
    """
    path = Path(folder)
    stored = read_json(path / SHAPES)
    if ADAPTERS in model.__dict__:
        raise ConfigError("load_adapters: this model has adapters already. Merge or remove them first.")
    tensors = read_tensors(path / TENSORS)
    with open_attentions(model):
        try:
            adapted = {
                tuple(entry["names"]): _load_layer(model, entry, tensors, path / TENSORS) for entry in stored["layers"]
            }
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise RunError(f"{path / SHAPES} does not fit this model ({error}).") from None
        if not any_base:
            _check_base(model, stored["layers"], path / SHAPES)
    return _put_in(model, adapted)


def _load_layer(model: nn.Module, entry: Mapping[str, Any], tensors: Mapping[str, Tensor], path: Path) -> Adapted:
    """A dense layer of the model with the branch that a file has for it."""
    name = entry["names"][0]
    dense = model.get_submodule(name)
    branch = build_layer(entry, features_of(dense), dense).to(dense.get_parameter("weight"))
    prefix = f"{name}.branch."
    fill(branch, {key.removeprefix(prefix): each for key, each in tensors.items() if key.startswith(prefix)}, path)
    return Adapted(dense, branch, scale=entry["scale"], dropout=entry["dropout"])


def _check_base(model: nn.Module, layers: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Whether the layers are those that the branches were trained with; a file without hashes cannot tell."""
    if not all("base_sha256" in entry for entry in layers):
        words = f"{path} holds no hashes of its model: the adapters may be of another."
        warn(words)
        return
    for entry in layers:
        name, expected = entry["names"][0], str(entry["base_sha256"])
        digest = files.tensor_digest(model.get_submodule(name).state_dict())
        if digest != expected:
            raise RunError(
                f"{path}: {name} is of other weights than those that its adapter was trained with. Got sha256 "
                f"{digest[:12]}, expected {expected[:12]}. Load the model of the training, or set any_base=True."
            )


def _put_in(model: nn.Module, layers: Mapping[tuple[str, ...], Adapted]) -> nn.Module:
    """Freeze a model and put adapted layers in the places of its own; what was trainable is remembered."""
    record = Adaptation(trainable=[tensor for tensor in model.parameters() if tensor.requires_grad])
    model.requires_grad_(False)
    with open_attentions(model):
        for names, adapted in layers.items():
            set_module(model, names, adapted.train(adapted.dense.training))
            record.names.append(names)
    for names in layers:
        record.settings += leave_fast_paths(model, names)
    model.__dict__[ADAPTERS] = record
    return model


def _record(model: nn.Module) -> Adaptation:
    record: Adaptation | None = model.__dict__.get(ADAPTERS)
    if record is None:
        raise ConfigError("compress: this model has no adapters. Give the model that adapt() returned.")
    return record


def _find_adapted(model: nn.Module) -> dict[str, Adapted]:
    return {
        names[0]: module
        for names in _record(model).names
        if isinstance(module := model.get_submodule(names[0]), Adapted)
    }
