"""What maps of many modes refuse: sizes that multiply to the right number, and would be computed of other axes."""

import math

from torch import Tensor

from multiway.errors import ShapeError

Shapes = tuple[tuple[int, ...], ...]


def check_nd_linear(sizes: tuple[int, ...], weights: Shapes, biases: Shapes, full_bias: tuple[int, ...] | None) -> None:
    """Refuse modes of the input, weights and biases, by their shapes, that do not fit each other."""
    terms = weights[0][:-2] if weights else ()
    out_sizes = [shape[-2] for shape in weights]
    fit = sizes == tuple([shape[-1] for shape in weights]) and len(terms) < 2
    fit = fit and list(weights) == [(*terms, *pair) for pair in zip(out_sizes, sizes, strict=True)]
    fit = fit and (not biases or (full_bias is None and list(biases) == [(*terms, out) for out in out_sizes]))
    if not fit or (full_bias is not None and full_bias != tuple(out_sizes)):
        given = biases if full_bias is None else (*biases, full_bias)
        raise ShapeError(
            f"nd_linear: every mode of x takes a weight (out, in) or (terms, out, in), and biases are as many or one "
            f"of all outputs. Got sizes {tuple(sizes)}, weights {_plain(weights)} and biases {_plain(given)}."
        )


def check_train(sizes: tuple[int, ...], cores: Shapes, bias: tuple[int, ...] | None) -> None:
    """Refuse rows, cores and a bias, by their shapes, that do not fit each other."""
    fit = bool(cores) and all(len(shape) == 4 for shape in cores)
    fit = fit and [1, *(shape[3] for shape in cores)] == [*(shape[0] for shape in cores), 1]
    ins, outs = (math.prod([shape[axis] for shape in cores]) if fit else 0 for axis in (1, 2))
    if not fit or sizes != (ins,) or (bias is not None and bias != (outs,)):
        raise ShapeError(
            f"tt_linear: x is (batch, in), cores are (rank, in, out, next rank) with ranks that meet and ends of 1, "
            f"and a bias is of the outputs. Got sizes {tuple(sizes)}, cores {_plain(cores)} and bias "
            f"{None if bias is None else tuple(bias)}."
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
