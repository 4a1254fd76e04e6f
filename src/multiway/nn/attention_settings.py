"""The presets of Kronecker attention: names for values of its arguments."""

from typing import Any, NamedTuple

from multiway.nn.attention_checks import choose

POOLINGS = ("mean", "sum", "max", "learned")
PRESETS: dict[str, dict[str, Any]] = {
    "paper": {
        "shared_projections": True, "pooling": "sum", "centred": False, "qk_norm": "none",
        "learn_temperature": False, "bias": True,
    },
    "per_mode": {
        "shared_projections": False, "pooling": "sum", "centred": False, "qk_norm": "layer",
        "learn_temperature": False, "bias": False,
    },
    "trainable": {
        "shared_projections": False, "pooling": "mean", "centred": True, "qk_norm": "rms",
        "learn_temperature": True, "bias": False,
    },
}  # fmt: skip


class Settings(NamedTuple):
    """How queries and keys are made; the arguments of `KroneckerAttention` say what each means."""

    shared_projections: bool
    pooling: str
    centred: bool
    qk_norm: str
    learn_temperature: bool
    bias: bool


def choose_settings(preset: str, **given: Any) -> Settings:
    """Take the preset's value wherever None is given.

    Raises:
        ConfigError: A name is unknown.
    """
    values = PRESETS[choose("preset", preset, PRESETS)]
    settings = Settings(**{name: values[name] if value is None else value for name, value in given.items()})
    choose("pooling", settings.pooling, POOLINGS)
    choose("qk_norm", settings.qk_norm, ("none", "rms", "layer"))
    return settings
