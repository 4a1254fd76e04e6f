"""What maps of many modes refuse: sizes that multiply to the right number, and would be computed of other axes."""

import math

from torch import Tensor

from multiway.errors import ShapeError

Shapes = tuple[tuple[int, ...], ...]


def check_nd_linear(sizes: tuple[int, ...], shapes: Shapes, count: int, kind: str | None) -> None:
    """Refuse modes of the input, so many weights and the biases after them that do not fit each other.

    Args:
        sizes: Of the input, without its batch.
        shapes: Of weights, of biases per mode, and of the bias of all outputs.
        count: Number of weights.
        kind: "full" with a bias of all outputs.
    """
    weights, biases = shapes[:count], list(shapes[count:])
    terms, outs = weights[0][:-2] if weights else (), [shape[-2] for shape in weights]
    fit = sizes == tuple([shape[-1] for shape in weights]) and len(terms) < 2
    fit = fit and list(weights) == [(*terms, *pair) for pair in zip(outs, sizes, strict=True)]
    wanted = [tuple(outs)] if kind == "full" else [(*terms, out) for out in outs] if kind else []
    if not fit or biases != wanted:
        raise ShapeError(
            f"nd_linear: every mode of x takes a weight (out, in) or (terms, out, in), and biases are as many or one "
            f"of all outputs. Got sizes {tuple(sizes)}, weights {_plain(weights)} and biases {_plain(shapes[count:])}."
        )


def check_train(sizes: tuple[int, ...], shapes: Shapes, count: int) -> None:
    """Refuse rows, so many cores and perhaps a bias, by their shapes, that do not fit each other."""
    cores, bias = shapes[:count], shapes[count:]
    fit = bool(cores) and all(len(shape) == 4 for shape in cores)
    fit = fit and [1, *(shape[3] for shape in cores)] == [*(shape[0] for shape in cores), 1]
    ins, outs = (math.prod([shape[axis] for shape in cores]) if fit else 0 for axis in (1, 2))
    if not fit or sizes != (ins,) or bias not in ((), ((outs,),)):
        raise ShapeError(
            f"tt_linear: x is (batch, in), cores are (rank, in, out, next rank) with ranks that meet and ends of 1, "
            f"and a bias is of the outputs. Got sizes {tuple(sizes)}, cores {_plain(cores)} and bias "
            f"{tuple(bias[0]) if bias else None}."
        )


def check_signals(where: str, key: Tensor, value: Tensor) -> None:
    """Refuse keys and values of another batch or length."""
    if key.shape[:-1] != value.shape[:-1]:
        raise ShapeError(
            f"{where}: keys and values need the same batch and length. Got key {tuple(key.shape)} and value "
            f"{tuple(value.shape)}."
        )


def _plain(shapes: Shapes) -> list[tuple[int, ...]]:
    return [tuple(shape) for shape in shapes]
