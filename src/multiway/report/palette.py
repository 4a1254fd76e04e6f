"""One colour and dash per model, the same in every chart; colours are apart for colour-blind readers too."""

from collections.abc import Iterable, Mapping

from multiway.report.content import ForecastReport

NUM_COLOURS = 8
_USUAL = {"ridge": 1, "seasonal naive": 2, "naive": 3, "network": 4, "blend": 5}


def title(model: str) -> str:
    """Write a model's name as it is read: underscores become spaces."""
    return model.replace("_", " ").strip() or "model"


def colours(content: ForecastReport) -> dict[str, int]:
    """Give each model the number of its colour: 0 for the chosen, fixed numbers for the usual baselines."""
    chosen = content.selection.chosen if content.selection else None
    return number(_model_names(content), chosen)


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


def _model_names(content: ForecastReport) -> Iterable[str]:
    yield from (row.model for row in content.scores)
    if content.selection:
        yield from (candidate.model for candidate in content.selection.candidates)
    yield from (cost.model for cost in content.costs)
    for panel in content.forecasts:
        yield from panel.lines
    for errors in (content.step_errors.lines if content.step_errors else {},):
        yield from errors
    yield from (content.variate_errors.bars if content.variate_errors else {})
