"""What to think over before a layer is swapped."""

from multiway.compress.layer import LayerPlan

SLOWER = 0.95
"""Speed against the dense layer below which a swap is called slower."""
LOSSY = 0.3
"""Relative error above which a model usually has to be trained further."""
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
    if layer.seconds is not None and layer.seconds[0] < SLOWER * layer.seconds[1]:
        said.append(f"swapping is slower here: {layer.seconds[0] / layer.seconds[1]:.2f}x")
    if layer.seconds is None and layer.flops[1] > layer.flops[0]:
        said.append(f"takes more FLOPs than dense: {layer.flops[1] / layer.flops[0]:.2f}x; measure it before use")
    error = layer.weight_error if layer.output_error is None else layer.output_error
    what = "weight" if layer.output_error is None else "outputs"
    if error > LOSSY:
        said.append(f"changes its {what} by {error:.0%} of the norm: {TRAIN}")
    return tuple(said)
