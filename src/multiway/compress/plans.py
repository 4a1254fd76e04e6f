"""A dry run: what each layer would become, what that costs and loses, and whether it pays."""

import copy
import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from multiway.compress import measuring
from multiway.compress.attentions import close, open_attentions
from multiway.compress.budget import ModelBudget, count_parameters, fit_layers
from multiway.compress.fits import Compressed
from multiway.compress.measuring import Times
from multiway.compress.page import advice_of_model, measure_layer, report_text
from multiway.compress.reading import leave_fast_paths, take_fast_paths, watch_weights
from multiway.compress.rules import Rule
from multiway.compress.swap import copy_without, lend_layers, swap_in
from multiway.compress.targets import Comparison, LayerPlan, Refused, Target, find_targets
from multiway.errors import ConfigError


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plan(Comparison):
    """What compressing a model would do to it. The model itself is not changed until `apply`.

    model: The model as it was given.
    versions: Of the parameters of each layer, to see whether they change.
    """

    model: nn.Module = dataclasses.field(repr=False)
    versions: dict[str, list[tuple[int, int]]] = dataclasses.field(repr=False)

    def rows(self) -> list[dict[str, Any]]:
        """One mapping of plain values per layer, for a data frame."""
        return [
            {
                "layer": layer.name,
                "becomes": layer.becomes,
                "in_features": layer.in_features,
                "out_features": layer.out_features,
                "parameters_before": layer.parameters[0],
                "parameters_after": layer.parameters[1],
                "flops_before": layer.flops[0],
                "flops_after": layer.flops[1],
                **_plain(layer.times),
                "weight_error": layer.weight_error,
                "output_error": layer.output_error,
                "advice": "; ".join(layer.advice),
            }
            for layer in self.layers
        ]

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain values for JSON: of the whole model, layer by layer, and what was refused."""
        return {
            "parameters_before": self.parameters[0],
            "parameters_after": self.parameters[1],
            "output_error": self.output_error,
            "output_error_quartiles": None if self.sample_errors is None else list(self.sample_errors),
            **_plain(self.times),
            "advice": list(advice_of_model(self)),
            "layers": self.rows(),
            "left": self.left,
            "refused": [{"layer": layer.name, "reason": layer.reason} for layer in self.refused],
        }

    def report(self) -> str:
        """The plan as text: a table of layers, totals, advice, and what was refused."""
        return report_text(self)

    def html(self, title: str = "Compression") -> str:
        """The plan as one self-contained HTML page."""
        from multiway.compress.page import plan_page

        return plan_page(self, title)

    def apply(self, *, inplace: bool = False, keep_originals: bool = True) -> nn.Module:
        """Swap the layers.

        Args:
            inplace: Change the model itself; otherwise a copy is changed, and the dense layers are never copied.
            keep_originals: Remember the dense layers for `undo`. They are the model's own, so this takes memory only
                if that model would otherwise be thrown away.

        Returns:
            The compressed model.

        Raises:
            ConfigError: The model changed since the plan was made.
        """
        chosen = {layer.names: layer.replacement for layer in self.layers if layer.replacement is not None}
        with open_attentions(self.model) as settings:
            for layer in self.layers:
                if _version(self.model.get_submodule(layer.name)) != self.versions[layer.name]:
                    raise ConfigError(f"plan: {layer.name} changed since the plan was made. Make a new plan.")
            model = self.model if inplace else copy_without(self.model, list(chosen))
        if not inplace:
            close(model, settings)
        layers = {names: copy.deepcopy(layer) for names, layer in chosen.items()}
        swap_in(model, layers, keep_originals=keep_originals)
        return model

    def without(self, *names: str) -> "Plan":
        """The same plan with these layers left as they are.

        Raises:
            ConfigError: The plan has no layer of that name.
        """
        unknown = set(names) - {layer.name for layer in self.layers}
        if unknown:
            raise ConfigError(f"plan: there is no layer {sorted(unknown)[0]} to leave out.")
        left = [layer for layer in self.layers if layer.name in names]
        saved = sum(layer.parameters[0] - layer.parameters[1] for layer in left)
        return dataclasses.replace(
            self,
            layers=[layer for layer in self.layers if layer.name not in names],
            parameters=(self.parameters[0], self.parameters[1] + saved),
            output_error=None,
            sample_errors=None,
            times=None,
        )


def plan(
    model: nn.Module,
    rules: Mapping[str, Rule],
    *,
    data: Any = None,
    max_parameters: float | None = None,
    max_flops: float | None = None,
    max_milliseconds: float | None = None,
    max_error: float | None = None,
    measure: bool = True,
) -> Plan:
    """Fit every matched layer to its rule and measure the result; the model stays as it is.

    Args:
        model: Any module.
        rules: Patterns, matched against whole names of modules, and what their dense layers become. The first
            pattern that matches counts.
        data: One batch as the model takes it: a tensor, a tuple of arguments or a mapping of named ones; or a list
            of batches. With it, errors of outputs are measured, and time is taken on the layers' own input shapes.
        max_parameters: Share of the model's parameters to come down to. Rules without a rank or budget of their own
            get the ranks for it that change the model's outputs on the data least; without data, the sum of squared
            relative weight errors.
        max_flops: The same, as a share of the FLOPs that the model takes on the data.
        max_milliseconds: The same, as the time that it takes on the data on this machine.
        max_error: Relative weight error that no layer exceeds; without a budget every layer is as small as it allows.
        measure: Time the layers, and with data the whole model.

    Raises:
        ConfigError: A pattern matches nothing, or nothing that can be swapped; a rule has no rank and there is no
            budget; the budget cannot be met.
        ShapeError: Given sizes do not fit a layer.
    """
    budget = ModelBudget(
        max_parameters=max_parameters, max_flops=max_flops, max_milliseconds=max_milliseconds, max_error=max_error
    )
    with open_attentions(model):
        targets, refused = find_targets(model, rules)
        if data is not None:
            targets, refused = _without_read(model, targets, refused, data)
        total = count_parameters(model)
        with torch.random.fork_rng(devices=[]):  # new layers are drawn before they are fitted
            built = fit_layers(model, targets, budget, data, _watch(model, targets, [None] * len(targets), data))
        watched = _watch(model, targets, built, data)
        layers = [
            measure_layer(target, layer, seen, measure=measure)
            for target, layer, seen in zip(targets, built, watched, strict=True)
        ]
        left = _count_left(model, targets)
        versions = {target.names[0]: _version(target.module) for target in targets}
    saved = sum(layer.parameters[0] - layer.parameters[1] for layer in layers)
    outputs, times = (None, None) if data is None else _whole(model, layers, data, measure=measure)
    return Plan(
        model=model,
        layers=layers,
        refused=refused,
        parameters=(total, total - saved),
        output_error=None if outputs is None else measuring.difference(*outputs),
        sample_errors=None if outputs is None else measuring.spread_of_errors(*outputs),
        times=times,
        has_data=data is not None,
        left=left,
        versions=versions,
    )


def _without_read(
    model: nn.Module, targets: list[Target], refused: list[Refused], data: Any
) -> tuple[list[Target], list[Refused]]:
    """Leave layers whose weight the model reads on the data as they are."""
    settings = [setting for target in targets for setting in leave_fast_paths(model, target.names)]
    try:
        with watch_weights({target.names[0]: target.module for target in targets}) as read:
            measuring.layer_outputs(model, data)
    finally:
        take_fast_paths(model, settings)
    kept = [target for target in targets if target.names[0] not in read]
    if not kept:
        raise ConfigError(
            f"plan: the model reads the weight of {sorted(read)[0]} in place of calling it. Match others."
        )
    reason = "the model reads its weight on this data, so that a swap would break it"
    return kept, [*refused, *(Refused(target.names[0], reason) for target in targets if target.names[0] in read)]


def _count_left(model: nn.Module, targets: list[Target]) -> dict[str, int]:
    """Parameters outside of the matched layers by the class that holds them, most first; a shared one counts once."""
    seen = {id(parameter) for target in targets for parameter in target.module.parameters()}
    counts: dict[str, int] = {}
    for module in model.modules():
        for parameter in module.parameters(recurse=False):
            if id(parameter) not in seen and not isinstance(parameter, nn.UninitializedParameter):
                seen.add(id(parameter))
                counts[type(module).__name__] = counts.get(type(module).__name__, 0) + parameter.numel()
    return dict(sorted(counts.items(), key=lambda item: -item[1]))


def _watch(
    model: nn.Module, targets: list[Target], built: list[Compressed | None], data: Any
) -> list[measuring.Observed]:
    if data is None:
        return [measuring.Observed(layer, was_called=True) for layer in built]
    pairs = [(target.module, layer) for target, layer in zip(targets, built, strict=True)]
    return measuring.observe(model, pairs, data)


def _whole(
    model: nn.Module, layers: list[LayerPlan], data: Any, *, measure: bool
) -> tuple[tuple[list[Tensor], list[Tensor]], Times | None]:
    """Outputs of the whole model before and after, and the times that they take."""
    before = measuring.layer_outputs(model, data)
    chosen = {layer.names: layer.replacement for layer in layers if layer.replacement is not None}
    lent = functools.partial(lend_layers, model, chosen)
    try:
        with lent():
            after = measuring.layer_outputs(model, data)
    except (AttributeError, TypeError) as error:
        raise ConfigError(
            f"plan: the model uses what only a dense layer has of a swapped one ({error}). Leave that layer out of "
            f"the patterns."
        ) from None
    return (before, after), measuring.compare_models(model, lent, data) if measure and chosen else None


def _plain(times: Times | None) -> dict[str, Any]:
    """Medians of seconds, and quartiles of the speed."""
    names = ("seconds_before", "seconds_after", "speed", "speed_low", "speed_high")
    if times is None:
        return dict.fromkeys(names)
    low, middle, high = times.speed
    return dict(zip(names, (times.before.middle, times.after.middle, middle, low, high), strict=True))


def _version(module: nn.Module) -> list[tuple[int, int]]:
    """Changes when a parameter is another tensor, or was written to."""
    return [(id(parameter), parameter._version) for parameter in module.parameters()]
