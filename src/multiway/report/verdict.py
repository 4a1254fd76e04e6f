"""The verdict in sentences: which model was chosen, by how much, and whether the test rows bear it out."""

import math
from collections.abc import Mapping

from multiway.report import text
from multiway.report.content import Candidate, ForecastReport, Selection
from multiway.report.palette import title
from multiway.report.scores import SeedMean, primary, reference_of


def verdict(content: ForecastReport) -> str:
    """One sentence: what was chosen and by how much."""
    metric, test = primary(content)
    if content.selection is None:
        return _best_on_test(metric, test)
    if content.selection.sentence is not None:
        return content.selection.sentence
    return _choice(content.selection)


def supporting_sentences(content: ForecastReport) -> list[str]:
    """Say what the test rows make of the choice, and of every other model that was tried."""
    metric, test = primary(content)
    if content.selection is None or not test:
        return []
    selection, reference = content.selection, reference_of(content)
    chosen = [_chosen_on_test(selection.chosen, reference, metric, test)]
    tried = [candidate.model for candidate in selection.candidates]
    others = [
        _other_on_test(model, reference, metric, test) for model in tried if model not in (selection.chosen, reference)
    ]
    return [sentence for sentence in chosen + others if sentence]


def _choice(selection: Selection) -> str:
    by_name = {candidate.model: candidate for candidate in selection.candidates}
    chosen, reference = by_name.get(selection.chosen), by_name.get(selection.reference)
    name = text.sentence_case(title(selection.chosen))
    if selection.chosen == selection.reference:
        return f"{name} makes these forecasts{_why_kept(selection, reference)}."
    if chosen is None or reference is None:
        return f"{name} was chosen on validation."
    return (
        f"{name} was chosen: its validation {selection.metric} is {_relative(chosen.value, reference.value)} "
        f"{title(selection.reference)} ({_value(chosen)} against {_value(reference)}{_uncertainty(chosen)})."
    )


def _why_kept(selection: Selection, reference: Candidate | None) -> str:
    rivals = [item for item in selection.candidates if item.model != selection.reference]
    if reference is None or not rivals:
        return ""
    rival = min(rivals, key=lambda item: item.value)
    other = title(rival.model)
    values = f"{selection.metric} {_value(rival)} against {_value(reference)}{_uncertainty(rival)}"
    if rival.value >= reference.value:
        return f": the {other} did not beat it on validation ({values})"
    return f": the gain of the {other} on validation is too small to trust ({values})"


def _best_on_test(metric: str, test: Mapping[str, SeedMean]) -> str:
    finite = {model: mean.mean for model, mean in test.items() if math.isfinite(mean.mean)}
    if not finite:
        return ""
    best = min(finite, key=lambda model: finite[model])
    return (
        f"{text.sentence_case(title(best))} has the lowest {metric} on the test rows: "
        f"{text.number(finite[best], text.decimals_for([finite[best]]))}."
    )


def _chosen_on_test(chosen: str, reference: str, metric: str, test: Mapping[str, SeedMean]) -> str:
    if chosen not in test:
        return ""
    value = test[chosen].mean
    others = [model for model in test if model != chosen and _is_baseline(model, reference)]
    compared = [f"{_relative(value, test[model].mean)} {title(model)}" for model in others]
    opening = f"On the test rows its {metric} is {text.number(value, text.decimals_for([value]))}"
    sentence = opening + (f": {text.listing(compared)}." if compared else ".")
    if chosen != reference and reference in test and value > test[reference].mean:
        sentence += f" It does not beat {title(reference)} there: the gain seen on validation did not hold."
    return sentence


def _other_on_test(model: str, reference: str, metric: str, test: Mapping[str, SeedMean]) -> str:
    if model not in test or reference not in test:
        return ""
    gap = _relative(test[model].mean, test[reference].mean)
    verb = "does not beat" if test[model].mean >= test[reference].mean else "beats"
    return f"The {title(model)} alone {verb} {title(reference)} on the test rows: its {metric} is {gap} it."


def _is_baseline(model: str, reference: str) -> bool:
    return model == reference or "naive" in model.lower()


def _relative(value: float, other: float) -> str:
    """Say "1.8 % below", "0.4 % above" or "equal to"."""
    if not (math.isfinite(value) and math.isfinite(other) and other):
        return "not comparable with"
    change = 100 * (value / other - 1)
    if abs(change) < 0.05:
        return "within 0.05\u202f% of"
    return f"{text.percent(abs(change))} {'below' if change < 0 else 'above'}"


def _value(candidate: Candidate) -> str:
    return text.number(candidate.value, text.decimals_for([candidate.value]))


def _uncertainty(candidate: Candidate) -> str:
    if candidate.difference is None or candidate.standard_error is None:
        return ""
    decimals = text.decimals_of_error(candidate.standard_error)
    return (
        f"; difference {text.signed(candidate.difference, decimals)}, "
        f"standard error {text.number(candidate.standard_error, decimals)}"
    )
