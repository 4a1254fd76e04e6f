"""Which layers of a model the patterns mean, which of those cannot be swapped, and what one layer becomes."""

import dataclasses
import difflib
import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

from torch import nn

from multiway.compress.fits import Compressed
from multiway.compress.kinds import FAMILY, OF_TORCH, layer_kind
from multiway.compress.measuring import Spread, Times
from multiway.compress.rules import FAMILIES, RULES, Rule, check_rules
from multiway.compress.swap import parameter_owners, refusal
from multiway.errors import ConfigError

NAMED = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d, nn.EmbeddingBag, nn.MultiheadAttention)
"""What else holds weights that a reader would look for among the swapped ones."""


class Target(NamedTuple):
    """A layer to swap, with every name that a shared module goes by."""

    names: tuple[str, ...]
    module: nn.Module
    rule: Rule


class Refused(NamedTuple):
    """A layer that a pattern means and that stays as it is."""

    name: str
    reason: str


def find_targets(
    model: nn.Module, rules: Mapping[str, Rule], families: Collection[str] = tuple(FAMILIES)
) -> tuple[list[Target], list[Refused]]:
    """Match names of modules, whole, against the patterns; of several that match, the first counts.

    A pattern may take in blocks and activations along with layers: they are passed over. A layer that
    cannot be swapped is refused with its reason.
    """
    if not rules:
        raise ConfigError(
            "compress: no rules. Give a mapping of patterns to rules, such as {r'.*\\.fc1': TensorTrain()}."
        )
    check_rules(rules)
    modules = {name: module for name, module in model.named_modules(remove_duplicate=False) if name}
    matched = {pattern: _matches(pattern, modules) for pattern in rules}
    owners, targets, refused = parameter_owners(model), dict[int, Target](), dict[str, str]()
    for pattern, rule in rules.items():
        for name in matched[pattern]:
            module = modules[name]
            reason = refusal(model, name, module, owners) or explain_unfit(rule, module, families)
            if reason is not None:
                refused.setdefault(name, reason)
            elif id(module) not in targets:
                names = tuple(other for other, same in modules.items() if same is module)
                targets[id(module)] = Target(names, module, rule)
        if not any(id(modules[name]) in targets for name in matched[pattern]):
            name = next((name for name in matched[pattern] if _looks_swappable(modules[name])), matched[pattern][0])
            raise ConfigError(
                f"compress: nothing that the pattern {pattern!r} matches can be swapped. {name}: {refused[name]}."
            )
    return list(targets.values()), [
        Refused(name, reason)
        for name, reason in refused.items()
        if _looks_swappable(modules[name]) and id(modules[name]) not in targets
    ]


def explain_unfit(rule: Rule, module: nn.Module, families: Collection[str]) -> str | None:
    """Why a rule does not fit this kind of layer, or None."""
    family = FAMILY[layer_kind(module) or "Linear"]
    if family not in families:
        return f"it is {FAMILIES[family]}, and an adapter needs a dense layer"
    if family in rule.families:
        return None
    others = [kind for kind, other in RULES.items() if family in other.families]
    return f"{type(rule).__name__} is not for {FAMILIES[family]}, which takes {', '.join(others)}"


def _matches(pattern: str, modules: Mapping[str, nn.Module]) -> list[str]:
    try:
        expression = re.compile(pattern)
    except re.error as error:
        raise ConfigError(f"compress: the pattern {pattern!r} is no regular expression: {error}.") from None
    matches = [name for name in modules if expression.fullmatch(name)]
    if not matches:
        layers = [name for name, module in modules.items() if layer_kind(module)]
        near = difflib.get_close_matches(pattern.replace("\\", ""), layers, n=3, cutoff=0.3) or layers[:3]
        known = (
            f"Among the layers that can be swapped are {', '.join(near)}"
            if near
            else "There is no layer below the model itself that can be swapped"
        )
        raise ConfigError(
            f"compress: the pattern {pattern!r} matches no module's whole name. {known}; '.*' stands for any beginning."
        )
    return matches


def _looks_swappable(module: nn.Module) -> bool:
    """Whether a reader of the pattern would expect this layer to be swapped."""
    is_kind = isinstance(module, (*OF_TORCH.values(), *NAMED)) or bool(layer_kind(module))
    return is_kind or ("Linear" in type(module).__name__ and not any(True for _ in module.children()))


@dataclasses.dataclass(frozen=True, kw_only=True)
class LayerPlan:
    """One layer, and what it would become.

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

    layers: The layers that the rules match and are for.
    refused: Layers that they match and that cannot be swapped, with the reason.
    parameters: Of the whole model, before and after.
    output_error: Relative error of the model's floating outputs on the data; None without data.
    sample_errors: The same, sample by sample.
    times: Of the whole model on the data; None without data or where nothing is swapped.
    has_data: Whether data was given.
    left: Parameters outside of the matched layers, by the class that holds them.
    """

    layers: list[LayerPlan]
    refused: list[Refused]
    parameters: tuple[int, int]
    output_error: float | None
    sample_errors: Spread | None
    times: Times | None
    has_data: bool
    left: dict[str, int]
