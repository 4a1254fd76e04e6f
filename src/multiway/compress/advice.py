"""What to think over before a layer is swapped."""

from multiway.compress.layer import Comparison, LayerPlan
from multiway.compress.spread import Times

SLOWER = 0.95
"""Speed against the dense layer below which a swap is called slower, if it lies outside of the noise."""
LOSSY, MODEL_LOSSY = 0.3, 0.1
"""Relative errors of a layer and of the whole model above which a model usually has to be trained further."""
TRAIN = "train further before use"


def advice_of(layer: LayerPlan, *, is_called: bool = True) -> tuple[str, ...]:
    """Every reason against the swap, worst first; none if there is nothing to say."""
    before, after = layer.parameters
    said: list[str] = []
    if layer.replacement is None:
        return ("left dense: no smaller layer is good enough",)
    if not is_called:
        said.append("never called on this data: its parent may read its weight instead, or the data may pass it by")
    if after >= before:
        said.append(f"no smaller than dense: {after / before:.2f}x the parameters")
    if layer.times is not None and _is_slower(layer.times):
        said.append(f"swapping is slower here: {layer.times.speed.middle:.2f}x")
    if layer.times is None and layer.flops[1] > layer.flops[0]:
        said.append(f"takes more FLOPs than dense: {layer.flops[1] / layer.flops[0]:.2f}x; measure it before use")
    error = layer.weight_error if layer.output_error is None else layer.output_error
    what = "weight" if layer.output_error is None else "outputs"
    if error > LOSSY:
        said.append(f"changes its {what} by {error:.0%} of the norm: {TRAIN}")
    return tuple(said)


def advice_of_model(plan: Comparison) -> tuple[str, ...]:
    """Every reason against the whole plan."""
    said: list[str] = []
    if plan.times is not None and _is_slower(plan.times):
        said.append(f"the whole model is slower: {plan.times.speed.middle:.2f}x")
    if plan.output_error is not None and plan.output_error > MODEL_LOSSY:
        said.append(f"the model's outputs change by {plan.output_error:.0%} of their norm: {TRAIN}")
    return tuple(said)


def _is_slower(times: Times) -> bool:
    return times.is_slower and times.speed.middle < SLOWER
