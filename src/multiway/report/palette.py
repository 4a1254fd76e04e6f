"""One colour and dash per model, the same in every chart; colours are apart for colour-blind readers too."""

from collections.abc import Iterable, Mapping

NUM_COLOURS = 8
NUM_LINES = 2 * NUM_COLOURS
"""Lines that can be told apart: every colour with two dashes."""
_USUAL = {"ridge": 1, "seasonal naive": 2, "naive": 3, "network": 4, "blend": 5}


def title(model: str) -> str:
    """Write a model's name as it is read: underscores become spaces."""
    return model.replace("_", " ").strip() or "model"


def number(models: Iterable[str], chosen: str | None) -> dict[str, int]:
    """Give each name the number of its colour, the chosen one 0."""
    names = list(dict.fromkeys(models))
    found = {chosen: 0} if chosen is not None else {}
    for model in names:
        usual = _USUAL.get(title(model).lower())
        if model not in found and usual is not None and usual not in found.values():
            found[model] = usual
    for model in names:
        if model not in found:
            free = (index for index in (0, *range(4, NUM_COLOURS)) if index not in found.values())
            found[model] = next(free, len(found) % NUM_COLOURS)
    return found


def in_order(models: Iterable[str], numbers: Mapping[str, int]) -> list[str]:
    """Models in the order of their colours, the chosen first."""
    return sorted(models, key=lambda model: numbers.get(model, NUM_COLOURS))
