"""Choose ranks: from a layer's own budget, or so that a whole model meets one and its outputs change least."""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypedDict

import numpy as np
from torch import Tensor, nn

from multiway.compress import measuring
from multiway.compress.fits import Compressed, Fit, RankChoice
from multiway.compress.kinds import example_input
from multiway.compress.layer_fits import fit_of_layer
from multiway.compress.measuring import Observed
from multiway.compress.rules import NdLinear, check_share
from multiway.compress.swap import lend_layers
from multiway.compress.targets import Target
from multiway.errors import ConfigError, Fix, MultiwayError

PROBED, TRIED, ROUNDING = (0.2, 0.5), 24, 1e-9
"""Weight errors near which a layer's sensitivity is measured, and that of the lowest rank; ranks of a layer that are
counted or timed; and the slack of sums."""


UNITS = {"max_parameters": "parameters", "max_flops": "FLOPs", "max_milliseconds": "ms"}
"""Limits of a whole model, and what they are counted in."""


class RankOptions(TypedDict, total=False):
    """Options of `plan` that choose ranks; see `ModelBudget`."""

    max_parameters: float | None
    max_flops: float | None
    max_milliseconds: float | None
    max_error: float | None


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelBudget:
    """What a whole model may cost, in one unit, and how far a weight may be from its own.

    max_parameters, max_flops: Shares of those that the model has, and takes on the data.
    max_milliseconds: Of the model on the data, on this machine.
    max_error: Relative error of a weight.
    """

    max_parameters: float | None = None
    max_flops: float | None = None
    max_milliseconds: float | None = None
    max_error: float | None = None

    def __post_init__(self) -> None:
        for option in ("max_parameters", "max_flops", "max_error"):
            check_share("plan", option, getattr(self, option))
        if self.max_milliseconds is not None and not 0 < self.max_milliseconds < math.inf:
            raise ConfigError(f"plan: max_milliseconds is a time above 0. Got {self.max_milliseconds}.")
        limits = [option for option in UNITS if getattr(self, option) is not None]
        if len(limits) > 1:
            raise ConfigError(f"plan: one budget chooses the ranks. Got {' and '.join(limits)}.")

    @property
    def unit(self) -> str | None:
        """The limit that is given: max_parameters, max_flops, max_milliseconds, or None."""
        return next((option for option in UNITS if getattr(self, option) is not None), None)


class LayerChoice(NamedTuple):
    """What a layer may become: what that costs, how much it harms, and its ranks; without ranks it stays dense."""

    cost: float
    harm: float = 0.0
    ranks: tuple[int, ...] | None = None


class RankSearch:
    """Ranks of layers under a budget: what each choice costs, and how far it moves the outputs of the model.

    With data, every layer is swapped alone at a few ranks and the squared change of the model's outputs is measured;
    between these it follows the squared error of the weight. Without data the harm is that squared error.
    """

    def __init__(self, model: nn.Module, targets: Sequence[Target], budget: ModelBudget, data: Any) -> None:
        self.model, self.targets, self.budget, self.data = model, targets, budget, data
        self.meter = METERS.get(budget.unit or "")
        if data is None and self.meter is not None:
            raise ConfigError(f"plan: {budget.unit} is measured on inputs of the model. Give a batch of it as data.")
        self.dense: dict[tuple[str, ...], nn.Module] = {target.names: target.module for target in targets}
        self.outputs = None if data is None or budget.unit is None else self._outputs({})

    def total(self) -> float:
        """Cost of the model as it is."""
        if self.meter is None:
            return count_parameters(self.model)
        with lend_layers(self.model, self.dense), measuring.evaluating(self.model):
            return sum(self.meter(self.model, batch) for batch in measuring.batches_of(self.data))

    def cost(self, layer: nn.Module, target: Target, seen: Observed) -> float:
        """Of a layer in the place of the target's."""
        if self.meter is None:
            return count_parameters(layer)
        return seen.calls * self.meter(layer, example_input(target.module, seen.shape, measuring.DEFAULT_ROWS))

    def choices(self, target: Target, fit: Fit, seen: Observed) -> list[LayerChoice]:
        """The dense layer, and every smaller one within the largest error."""
        most, dense = self.budget.max_error, count_parameters(target.module)
        options = [each for each in fit.options() if each.parameters < dense and (most is None or each.error <= most)]
        if self.meter is not None and options:  # each is built and counted or timed: some, each step the same factor
            places = sorted({round(len(options) ** (step / (TRIED - 1))) for step in range(TRIED)})
            options = [options[place - 1] for place in places]
        choices, weight = [LayerChoice(self.cost(target.module, target, seen))], target.module.get_parameter("weight")
        for option, harm in zip(options, self._harms(target, fit, options), strict=True):
            is_counted = self.meter is None
            cost = option.parameters if is_counted else self.cost(fit.empty(option.ranks).to(weight), target, seen)
            choices.append(LayerChoice(cost, harm, option.ranks))
        return choices

    def _harms(self, target: Target, fit: Fit, options: Sequence[RankChoice]) -> list[float]:
        """Squared relative change of the model's outputs at each choice, between the ones that are measured."""
        squares = [option.error**2 for option in options]
        if self.outputs is None or not options:
            return squares
        probes = {min(options, key=lambda option: abs(option.error - level)) for level in PROBED} | {options[0]}
        known = {0.0: 0.0}
        for probe in sorted(probes, key=lambda option: option.error):
            changed = self._outputs({target.names: fit.build(probe.ranks)})
            known[probe.error**2] = measuring.difference(self.outputs, changed) ** 2
        harms: list[float] = np.interp(squares, list(known), list(known.values())).tolist()
        return harms

    def _outputs(self, layers: dict[tuple[str, ...], nn.Module]) -> list[Tensor]:
        """Of the model with other layers; fused paths step aside for all, as they will."""
        with lend_layers(self.model, self.dense | layers):
            return measuring.layer_outputs(self.model, self.data)


METERS: dict[str, Callable[[nn.Module, Any], float]] = {
    "max_flops": lambda module, batch: measuring.count_flops(functools.partial(measuring.call, module, batch)),
    "max_milliseconds": measuring.milliseconds,
}
"""What a call costs; parameters are known without one."""


def fit_layers(
    model: nn.Module, targets: Sequence[Target], budget: ModelBudget, data: Any, seen: Sequence[Observed]
) -> list[Compressed | None]:
    """The layer that each target becomes, or None where it stays dense because nothing smaller is good enough.

    Layers whose rule has a rank or budget of its own are fitted first; the plan's budget is for the others.
    """
    search = RankSearch(model, targets, budget, data)
    fitted: dict[int, Compressed | None] = {}
    choices: dict[int, list[LayerChoice]] = {}
    for index, target in enumerate(targets):
        fit = _fit(target)
        rule = target.rule
        is_open = rule.rank is None and rule.max_error is None and rule.max_share is None
        if (budget.unit or budget.max_error) and is_open:
            choices[index] = search.choices(target, fit, seen[index])
        else:
            ranks = _own_ranks(target, fit)
            layer = None if ranks is None else fit.build(ranks)
            grows = layer is not None and count_parameters(layer) >= count_parameters(target.module)
            fitted[index] = None if grows else layer
    if budget.unit is None:
        chosen = [min(each) for each in choices.values()]
    else:
        total = search.total()
        saved = sum(
            search.cost(targets[index].module, targets[index], seen[index])
            - search.cost(layer, targets[index], seen[index])
            for index, layer in fitted.items()
            if layer is not None
        )
        others = total - saved - sum(options[0].cost for options in choices.values())
        chosen = choose_within(list(choices.values()), others=others, total=total, budget=budget)
    for index, choice in zip(choices, chosen, strict=True):  # fitted anew: all spectra together would fill memory
        fitted[index] = None if choice.ranks is None else _fit(targets[index]).build(choice.ranks)
    return [fitted[index] for index in range(len(targets))]


def count_parameters(module: nn.Module) -> int:
    """Numbers that a layer holds, as far as its sizes are known."""
    known = (each for each in module.parameters() if not isinstance(each, nn.UninitializedParameter))
    return sum(parameter.numel() for parameter in known)


def _fit(target: Target) -> Fit:
    try:
        return fit_of_layer(target.rule, target.module)
    except MultiwayError as error:
        raise type(error)(f"{target.names[0]}: {error}") from None


def _own_ranks(target: Target, fit: Fit) -> tuple[int, ...] | None:
    rule, dense = target.rule, count_parameters(target.module)
    if rule.rank is not None:
        return fit.limit_ranks(rule.rank)
    if rule.max_error is not None:
        option = smaller(within_error(fit.options(), rule.max_error), dense)
    elif rule.max_share is not None:
        option = within_share(fit.options(), rule.max_share, dense)
    elif isinstance(rule, NdLinear):
        return fit.limit_ranks(1)
    else:
        raise ConfigError(
            f"{target.names[0]}: {type(rule).__name__} needs a rank. Set rank, max_error or max_share "
            f"({rule.kind}:rank=8), or a budget for the plan, max_parameters, max_flops, max_milliseconds or "
            f"max_error (",
            Fix("max_parameters", 0.5),
            ").",
        )
    return None if option is None else option.ranks


def smaller(option: RankChoice | None, dense: int) -> RankChoice | None:
    """The choice, if it saves anything."""
    return option if option is not None and option.parameters < dense else None


def within_error(options: Sequence[RankChoice], max_error: float) -> RankChoice | None:
    """The cheapest choice that loses no more."""
    return next((option for option in options if option.error <= max_error), None)


def within_share(options: Sequence[RankChoice], max_share: float, dense: int) -> RankChoice | None:
    """The most accurate choice within a share of the dense layer's parameters."""
    return next((option for option in reversed(options) if option.parameters <= max_share * dense), None)


def choose_within(
    layers: Sequence[Sequence[LayerChoice]], *, others: float, total: float, budget: ModelBudget
) -> list[LayerChoice]:
    """One choice per layer, all of them, with the rest of the model, within the budget."""
    option = budget.unit or ""
    limit, is_time = getattr(budget, option), option == "max_milliseconds"
    most = limit if is_time else limit * total
    chosen = share_out(layers, most - others)
    least = others + sum(choice.cost for choice in chosen)
    if least <= most * (1 + ROUNDING):
        return fill_up(chosen, layers, most - others)
    goal = f"{limit:g} ms" if is_time else f"{limit:.1%} of its {UNITS[option]}"
    error = "" if budget.max_error is None else f" within max_error={budget.max_error}"
    reached = f"{least:.3g} ms" if is_time else f"{least / total:.1%}"
    raise ConfigError(
        f"plan: these rules cannot bring the model to {goal}{error}; they reach {reached}. Match more layers, or raise "
        f"{option}."
    )


def share_out(layers: Sequence[Sequence[LayerChoice]], limit: float) -> list[LayerChoice]:
    """One choice per layer with the least sum of harm within a sum of costs; the cheapest if none is within it.

    From the dense layers, the first of each, down the lower convex hull of every layer's choices, the step that harms
    least for what it saves before all others (Everett 1963). No other choices that cost as little harm less.
    """
    hulls = [lower_hull(choices) for choices in layers]
    steps = sorted(
        (_slope(*hull[place - 1 : place + 1]), index, place)
        for index, hull in enumerate(hulls)
        for place in range(1, len(hull))
    )
    chosen = [hull[0] for hull in hulls]
    cost = sum(choice.cost for choice in chosen)
    for _, index, place in steps:
        if cost <= limit:
            break
        cost += hulls[index][place].cost - chosen[index].cost
        chosen[index] = hulls[index][place]
    return chosen


def fill_up(chosen: Sequence[LayerChoice], layers: Sequence[Sequence[LayerChoice]], limit: float) -> list[LayerChoice]:
    """What the last steps saved beyond need, spent again: layer by layer, most harmed first, the best that fits."""
    choices, left = list(chosen), limit - sum(choice.cost for choice in chosen)
    for index in sorted(range(len(choices)), key=lambda index: -choices[index].harm):
        fitting = [each for each in layers[index] if each.cost <= choices[index].cost + left]
        best = min(fitting, key=lambda each: (each.harm, each.cost), default=choices[index])
        left -= best.cost - choices[index].cost
        choices[index] = best
    return choices


def lower_hull(choices: Sequence[LayerChoice]) -> list[LayerChoice]:
    """From the first choice on, those that some price of cost makes the best, the dearest first."""
    dense, *others = choices
    hull = [dense]
    for choice in sorted(others, key=lambda each: (-each.cost, each.harm)):
        if choice.cost < hull[-1].cost:
            while len(hull) > 1 and _slope(*hull[-2:]) >= _slope(hull[-1], choice):
                hull.pop()
            hull.append(choice)
    return hull


def _slope(dear: LayerChoice, cheap: LayerChoice) -> float:
    """Harm for each unit saved."""
    return (cheap.harm - dear.harm) / (dear.cost - cheap.cost)
