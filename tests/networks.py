"""The network of a run field by field, with its defaults."""

from typing import Any

from multiway.config import leaves
from multiway.models import model_config
from multiway.tasks.options import network_fields
from multiway.tasks.registry import task_of
from multiway.workflows.recipe import load_recipe

BY_INPUTS = {
    "vectors": {"in_features": 384, "num_classes": 2},
    "tokens": {"in_features": 384, "num_classes": 2},
    "words": {"num_words": 1000, "num_tokens": 50, "num_classes": 2},
}
"""Fields of a network of texts that its data give."""


def network_of(config: Any) -> dict[str, Any]:
    """All fields of the network that a run's config names."""
    by_data = BY_INPUTS[config.inputs] if hasattr(config, "inputs") else getattr(config, "BY_DATA", {"num_variates": 6})
    return leaves(model_config(config.model_name, **network_fields(config.model, **by_data)).plain())


def config_of(name: str, model: dict[str, Any] | None = None) -> Any:
    """Config of a recipe's first run; the fields of `model` stand above its network's."""
    recipe = load_recipe(name)
    return task_of(recipe.task).configure(recipe.settings_of_runs()[0], {"model": model or {}})
