"""NdLinear as printed, slow and literal: the oracle of `multiway.nn.NdLinear`, written without its code.

Weights are `(H_i, D_i)`, the transpose of the paper's W_i; modes count from 0. Inputs are `(batch, D_1, …, D_n)`.
Use float64.
"""

import itertools
from collections.abc import Sequence

import torch
from torch import Tensor


def ndlinear(
    x: Tensor, weights: Sequence[Tensor], biases: Sequence[Tensor] = (), *, descending: bool = False
) -> Tensor:
    """Algorithm 1, line by line; `descending` runs i from n to 1, as the package with `transform_outer=False`."""
    num_modes = len(weights)
    modes = range(num_modes)
    for mode in reversed(modes) if descending else modes:  # line 1
        x = x.transpose(mode + 1, num_modes)  # line 2: mode i and the last change places
        places = x.shape[:-1]
        rows = x.reshape(places.numel(), x.shape[-1])  # line 3
        rows = rows @ weights[mode].T  # line 4
        if biases:
            rows = rows + biases[mode]
        x = rows.reshape(*places, rows.shape[-1])  # line 5, in the order of line 2 and not in the one printed
        x = x.transpose(mode + 1, num_modes)  # line 6
    return x


def ndlinear_entries(x: Tensor, weights: Sequence[Tensor]) -> Tensor:
    """Without biases, entry by entry: Y[b, h] = Σ_d X[b, d] Π_i W_i[h_i, d_i]."""
    out = []
    for sample in x:
        for position in itertools.product(*(range(len(weight)) for weight in weights)):
            total = x.new_zeros(())
            for index in itertools.product(*map(range, sample.shape)):
                term = sample[index]
                for weight, h, d in zip(weights, position, index, strict=True):
                    term = term * weight[h, d]
                total = total + term
            out.append(total)
    return torch.stack(out).reshape(len(x), *(len(weight) for weight in weights))


def ndlinear_sum(
    x: Tensor, weights: Sequence[Tensor], biases: Sequence[Tensor] = (), *, descending: bool = False
) -> Tensor:
    """Add up R layers, as appendix A suggests: weights `(R, H_i, D_i)`, biases `(R, H_i)`."""
    terms = [
        ndlinear(x, [weight[term] for weight in weights], [bias[term] for bias in biases], descending=descending)
        for term in range(len(weights[0]))
    ]
    return torch.stack(terms).sum(0)


def dense(
    weights: Sequence[Tensor], biases: Sequence[Tensor] = (), *, descending: bool = False
) -> tuple[Tensor, Tensor]:
    """W_full and the bias of the flat layer that does the same: W_1 ⊗ ⋯ ⊗ W_n (appendix A), and what zeros become."""
    full = weights[0].new_ones(1, 1)
    for weight in weights:
        full = torch.kron(full, weight)
    nothing = full.new_zeros(1, *(weight.shape[1] for weight in weights))
    return full, ndlinear(nothing, weights, biases, descending=descending).flatten()


def num_parameters(in_sizes: Sequence[int], out_sizes: Sequence[int], *, bias: bool = True) -> int:
    """Count Σ D_i H_i weights (section 2.2), and Σ H_i biases."""
    return sum(h * (d + bias) for d, h in zip(in_sizes, out_sizes, strict=True))


def norm_penalty(weights: Sequence[Tensor], factors: Sequence[float]) -> Tensor:
    """Section 2.3, entry by entry: Σ_i λ_i Σ_hd W_i[h, d]²."""
    total = weights[0].new_zeros(())
    for weight, factor in zip(weights, factors, strict=True):
        for entry in weight.flatten():
            total = total + factor * entry * entry
    return total


def orthogonality_penalty(weights: Sequence[Tensor], factors: Sequence[float]) -> Tensor:
    """Section 2.3, pair of rows by pair of rows: Σ_i λ_i Σ_gh (W_i[g] · W_i[h] - δ_gh)²."""
    total = weights[0].new_zeros(())
    for weight, factor in zip(weights, factors, strict=True):
        for g, h in itertools.product(range(len(weight)), repeat=2):
            total = (
                total + factor * (sum(a * b for a, b in zip(weight[g], weight[h], strict=True)) - float(g == h)) ** 2
            )
    return total


def nd_rnn(
    steps: Tensor,
    from_step: tuple[Sequence[Tensor], Sequence[Tensor]],
    from_state: tuple[Sequence[Tensor], Sequence[Tensor]],
) -> Tensor:
    """Section 3.3 in the cell of Elman, step by step: H_t = tanh(NdLinear(X_t) + NdLinear(H_(t-1))), from zeros.

    `steps` is `(batch, time, D_1, …, D_n)`; each map is its weights and its biases; all states are returned.
    """
    state = steps.new_zeros(len(steps), *(len(weight) for weight in from_state[0]))
    states = []
    for time in range(steps.shape[1]):
        state = torch.tanh(ndlinear(steps[:, time], *from_step) + ndlinear(state, *from_state))
        states.append(state)
    return torch.stack(states, dim=1)
