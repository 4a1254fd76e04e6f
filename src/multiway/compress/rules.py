"""What a dense layer may become: rules with a rank of their own, or one found from a budget."""

import dataclasses
import functools
import math
from collections.abc import Mapping
from typing import Any, ClassVar

from multiway.errors import ConfigError, ShapeError, closest

MIN_CORES = 2
SWAPS = "compression.json"
"""File of a folder that says what became of its layers."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Ranked:
    """A rule with a rank, or a budget to find one by."""

    kind: ClassVar[str]
    families: ClassVar[tuple[str, ...]] = ("dense",)
    rank: int | None = None
    max_error: float | None = None
    max_share: float | None = None

    def __post_init__(self) -> None:
        name = type(self).__name__
        if self.rank is not None and self.rank < 1:
            raise ConfigError(f"{name}: rank must be at least 1, or None to find it. Got rank={self.rank}.")
        given = [option for option in ("rank", "max_error", "max_share") if getattr(self, option) is not None]
        if len(given) > 1:
            raise ConfigError(f"{name}: give one of rank, max_error and max_share. Got {' and '.join(given)}.")
        check_share(name, "max_error", self.max_error)
        check_share(name, "max_share", self.max_share)


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Factored(_Ranked):
    """A rule that takes the features of a layer as several modes."""

    counted: ClassVar[str]
    """Option with the number of factors of each side where no sizes are given."""
    fewest: ClassVar[str]
    """What is said where these are too few."""
    in_sizes: tuple[int, ...] | None = None
    out_sizes: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for option in ("in_sizes", "out_sizes"):
            sizes = getattr(self, option)
            if sizes is not None and (len(sizes) < MIN_CORES or min(sizes) < 1):
                raise ConfigError(f"{type(self).__name__}: {option} holds at least two positive factors. Got {sizes}.")
            if sizes is not None:
                object.__setattr__(self, option, tuple(sizes))
        if self.count < MIN_CORES:
            raise ConfigError(f"{type(self).__name__}: {self.fewest}. Got {self.counted}={self.count}.")

    @property
    def count(self) -> int:
        """Factors of each side where no sizes are given."""
        return int(getattr(self, self.counted))

    def sizes(self, in_features: int, out_features: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Factors of inputs and outputs, as many as either side gives."""
        given = self.in_sizes or self.out_sizes
        count = len(given) if given else self.count
        in_sizes = self.in_sizes or balanced_sizes(in_features, count)
        out_sizes = self.out_sizes or balanced_sizes(out_features, count)
        if (
            math.prod(in_sizes) != in_features
            or math.prod(out_sizes) != out_features
            or len(in_sizes) != len(out_sizes)
        ):
            raise ShapeError(
                f"{type(self).__name__}: sizes must be as many for inputs as for outputs and multiply to the layer's "
                f"{in_features} inputs and {out_features} outputs. Got in_sizes={in_sizes}, out_sizes={out_sizes}."
            )
        return in_sizes, out_sizes


@dataclasses.dataclass(frozen=True, kw_only=True)
class LowRank(_Ranked):
    """A product of two thin matrices, see `nn.LowRankLinear`; of a convolution as `Tucker`.

    Args:
        rank: Width between the two; None to find it from one of the budgets, here or in the plan.
        max_error: Stay within this relative error of the weight (Frobenius).
        max_share: Stay within this share of the dense layer's parameters.
    """

    kind = "lowrank"
    families = ("dense", "convolution", "embedding")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Tucker(_Ranked):
    """A convolution of low rank in both modes of channels, see `nn.TuckerConv`.

    Args:
        rank: Channels between its parts; None to find them from a budget.
        max_error: As in `LowRank`.
        max_share: As in `LowRank`.
    """

    kind = "tucker"
    families = ("convolution",)


@dataclasses.dataclass(frozen=True, kw_only=True)
class CP(_Ranked):
    """A convolution as a sum of outer products, see `nn.CPConv`.

    Args:
        rank: Number of products; None to find it from a budget.
        max_error: As in `LowRank`.
        max_share: As in `LowRank`.
    """

    kind = "cp"
    families = ("convolution",)


@dataclasses.dataclass(frozen=True, kw_only=True)
class NdLinear(_Factored):
    """One small matrix per mode of the features, or a sum of `rank` such maps, see `nn.NdLinear`.

    Args:
        rank: Number of terms; None to find it from a budget, and without any budget one term.
        in_sizes: Factors of the number of inputs; the two most balanced if not given.
        out_sizes: Factors of the number of outputs, as many.
        num_modes: Number of factors where no sizes are given.
        max_error: As in `LowRank`.
        max_share: As in `LowRank`.
    """

    kind, counted, fewest = "nd", "num_modes", "there are at least two modes"
    num_modes: int = MIN_CORES


@dataclasses.dataclass(frozen=True, kw_only=True)
class TensorTrain(_Factored):
    """A chain of small cores, see `nn.TTLinear`, and `nn.TTEmbedding` for tables of vectors.

    Args:
        rank: Rank of every bond; None to find the ranks from a budget.
        num_cores: Number of cores; their sizes are the most balanced if not given.
        in_sizes: Factors of the number of inputs; as many as cores.
        out_sizes: Factors of the number of outputs.
        max_error: As in `LowRank`.
        max_share: As in `LowRank`.
    """

    kind, counted, fewest = "tt", "num_cores", "a chain has at least two cores"
    families = ("dense", "embedding")
    num_cores: int = MIN_CORES


Rule = LowRank | NdLinear | TensorTrain | Tucker | CP
RULES: dict[str, type[Rule]] = {rule.kind: rule for rule in (NdLinear, TensorTrain, LowRank, Tucker, CP)}
FAMILIES = {"dense": "a dense layer", "convolution": "a convolution", "embedding": "an embedding"}
"""Kinds of layers that a rule may be for."""


def parse_rule(text: str) -> tuple[str, Rule]:
    """Read a pattern and its rule from "REGEX=tt:rank=8,num_cores=3"; sizes are written 32x24.

    Raises:
        ConfigError: The text has another form, or names an unknown kind or option.
    """
    for position in reversed([index for index, character in enumerate(text) if character == "="]):
        pattern, (kind, colon, options) = text[:position], text[position + 1 :].partition(":")
        if pattern and kind in RULES and (options or not colon):
            return pattern, RULES[kind](**_options(RULES[kind], options, text))
    raise ConfigError(f"rule: write REGEX=KIND:option=value, with a KIND of {', '.join(RULES)}. Got {text!r}.")


def balanced_sizes(features: int, count: int) -> tuple[int, ...]:
    """The factors of a number that lie closest together, largest first; ones where it has too few.

    Raises:
        ConfigError: A number below one.
    """
    if features < 1 or count < 1:
        raise ConfigError(f"balanced_sizes: give positive numbers. Got features={features}, count={count}.")
    return tuple(sorted(_find_balance(features, count), reverse=True))


@functools.lru_cache(maxsize=4096)
def _find_balance(features: int, count: int) -> tuple[int, ...]:
    """Of all factorisations the one with the smallest sum."""
    if count == 1:
        return (features,)
    small = [divisor for divisor in range(1, math.isqrt(features) + 1) if features % divisor == 0]
    # The smallest factor is at most the root of that many parts
    tried = [
        (divisor, *_find_balance(features // divisor, count - 1)) for divisor in small if divisor**count <= features
    ]
    return min(tried, key=sum)


def check_rules(rules: Any) -> None:
    """Refuse rules that are no mapping of patterns to rules; a rule in words is of the command line."""
    for pattern, rule in rules.items() if isinstance(rules, Mapping) else [(rules, None)]:
        if not isinstance(pattern, str) or not isinstance(rule, Rule):
            got = f"{{{pattern!r}: {rule!r}}}" if isinstance(rules, Mapping) else repr(rules)
            raise ConfigError(
                f"compress: rules map patterns to rules, such as {{r'.*\\.fc1': TensorTrain(rank=8)}}. Got "
                f"{got[:80]}. Give LowRank(...), NdLinear(...) or TensorTrain(...)."
            )


def check_share(where: str, option: str, value: float | None) -> None:
    """Refuse a share that is not between 0 and 1."""
    if value is not None and not 0 < value < 1:
        raise ConfigError(f"{where}: {option} is a share between 0 and 1. Got {option}={value}.")


def _options(rule: type[Rule], text: str, whole: str) -> dict[str, Any]:
    fields = [field.name for field in dataclasses.fields(rule)]
    result: dict[str, Any] = {}
    for part in filter(None, text.split(",")):
        name, _, value = part.partition("=")
        if name not in fields:
            raise ConfigError(f"rule {whole!r}: {rule.kind} has no option {name}{closest(name, fields)}")
        try:
            result[name] = _value(name, value)
        except ValueError:
            raise ConfigError(f"rule {whole!r}: {name} cannot be {value!r}.") from None
    return result


def _value(name: str, text: str) -> int | float | tuple[int, ...]:
    if name.endswith("_sizes"):
        return tuple(int(part) for part in text.split("x"))
    return float(text) if name.startswith("max_") else int(text)
