"""Choose ranks: from a layer's own budget, or so that a whole model meets one."""

from collections.abc import Sequence

from torch import nn

from multiway.compress.fits import Compressed, Fit, RankChoice
from multiway.compress.layer_fits import fit_of_layer
from multiway.compress.rules import NdLinear
from multiway.compress.targets import Target
from multiway.errors import ConfigError, Fix, MultiwayError


def fit_layers(
    targets: Sequence[Target], total: int, max_parameters: float | None, max_error: float | None
) -> list[Compressed | None]:
    """The layer that each target becomes, or None where it stays dense because nothing smaller is good enough.

    Layers whose rule has a rank or budget of its own are fitted first; the plan's budget is for the others.
    """
    has_budget = max_parameters is not None or max_error is not None
    fitted: dict[int, Compressed | None] = {}
    open_layers: dict[int, list[RankChoice]] = {}
    for index, target in enumerate(targets):
        fit = _fit(target)
        if has_budget and _is_open(target):
            open_layers[index] = fit.options()
        else:
            ranks = _own_ranks(target, fit)
            layer = None if ranks is None else fit.build(ranks)
            grows = layer is not None and count_parameters(layer) >= count_parameters(target.module)
            fitted[index] = None if grows else layer
    dense = [count_parameters(target.module) for target in targets]
    layers = [(dense[index], options) for index, options in open_layers.items()]
    if max_parameters is not None:
        others = total - sum(dense) + sum(_cost(layer, dense[index]) for index, layer in fitted.items())
        chosen = share_out(layers, others=others, total=total, max_parameters=max_parameters)
        _check_error([targets[index].names[0] for index in open_layers], chosen, max_error)
    else:
        chosen = [smaller(within_error(options, max_error or 0), size) for size, options in layers]
    for index, option in zip(open_layers, chosen, strict=True):  # fitted anew: all spectra together would fill memory
        fitted[index] = None if option is None else _fit(targets[index]).build(option.ranks)
    return [fitted[index] for index in range(len(targets))]


def count_parameters(module: nn.Module) -> int:
    """Numbers that a layer holds."""
    return sum(parameter.numel() for parameter in module.parameters())


def _fit(target: Target) -> Fit:
    try:
        return fit_of_layer(target.rule, target.module)
    except MultiwayError as error:
        raise type(error)(f"{target.names[0]}: {error}") from None


def _is_open(target: Target) -> bool:
    rule = target.rule
    return rule.rank is None and rule.max_error is None and rule.max_share is None


def _own_ranks(target: Target, fit: Fit) -> tuple[int, ...] | None:
    rule, dense = target.rule, count_parameters(target.module)
    if rule.rank is not None:
        return fit.fixed(rule.rank)
    if rule.max_error is not None:
        option = smaller(within_error(fit.options(), rule.max_error), dense)
    elif rule.max_share is not None:
        option = within_share(fit.options(), rule.max_share, dense)
    elif isinstance(rule, NdLinear):
        return fit.fixed(1)
    else:
        raise ConfigError(
            f"{target.names[0]}: {type(rule).__name__} needs a rank. Set rank, max_error or max_share "
            f"({rule.kind}:rank=8), or a budget for the plan, max_parameters or max_error (",
            Fix("max_parameters", 0.5),
            ").",
        )
    return None if option is None else option.ranks


def _cost(layer: Compressed | None, dense: int) -> int:
    return dense if layer is None else count_parameters(layer)


def _check_error(names: Sequence[str], chosen: Sequence[RankChoice | None], max_error: float | None) -> None:
    errors = [(option.error, name) for name, option in zip(names, chosen, strict=True) if option is not None]
    worst, name = max(errors, default=(0.0, ""))
    if max_error is not None and worst > max_error:
        raise ConfigError(
            f"plan: max_parameters can only be met with a relative error of {worst:.3g} ({name}), above "
            f"max_error={max_error}. Raise one of them."
        )


def smaller(option: RankChoice | None, dense: int) -> RankChoice | None:
    """The choice, if it saves anything."""
    return option if option is not None and option.parameters < dense else None


def within_error(options: Sequence[RankChoice], max_error: float) -> RankChoice | None:
    """The cheapest choice that loses no more."""
    return next((option for option in options if option.error <= max_error), None)


def within_share(options: Sequence[RankChoice], max_share: float, dense: int) -> RankChoice | None:
    """The most accurate choice within a share of the dense layer's parameters."""
    return next((option for option in reversed(options) if option.parameters <= max_share * dense), None)


def share_out(
    layers: Sequence[tuple[int, Sequence[RankChoice]]], *, others: int, total: int, max_parameters: float
) -> list[RankChoice | None]:
    """One threshold of error for all layers, the smallest with which the model is within its share.

    Under a threshold each layer takes its cheapest choice, or stays dense where that is no smaller.

    Args:
        layers: Per layer its dense parameters and its choices, cheapest first.
        others: Parameters of all that is not among these layers.
        total: Parameters of the whole model.
        max_parameters: Share of the total to stay within.
    """
    thresholds = sorted({option.error for _, options in layers for option in options})
    low, high = 0, len(thresholds)
    while low < high:  # the smallest threshold that is enough
        middle = (low + high) // 2
        enough = others + _parameters(layers, thresholds[middle]) <= max_parameters * total
        low, high = (low, middle) if enough else (middle + 1, high)
    if low == len(thresholds):
        least = (others + _parameters(layers, float("inf"))) / total
        raise ConfigError(
            f"plan: these rules cannot bring the model to {max_parameters:.1%} of its parameters; they reach "
            f"{least:.1%}. Match more layers, or raise max_parameters."
        )
    return [_under(dense, options, thresholds[low]) for dense, options in layers]


def _parameters(layers: Sequence[tuple[int, Sequence[RankChoice]]], threshold: float) -> int:
    chosen = ((dense, _under(dense, options, threshold)) for dense, options in layers)
    return sum(dense if option is None else option.parameters for dense, option in chosen)


def _under(dense: int, options: Sequence[RankChoice], threshold: float) -> RankChoice | None:
    return smaller(within_error(options, threshold), dense)
