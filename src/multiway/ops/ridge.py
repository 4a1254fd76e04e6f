"""Ridge regression from second moments: one eigendecomposition serves every penalty."""

import math
from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from multiway.errors import ConfigError, DataError, ShapeError


def ridge_path(
    gram: Float[Tensor, "*groups rows columns"], cross: Float[Tensor, "*groups in out"], penalties: Sequence[float]
) -> Iterator[Float[Tensor, "*groups out in"]]:
    """Yield, penalty by penalty, the weights that minimise ‖Y - X Wᵀ‖² + penalty ‖W‖².

    W = ((XᵀX + λI)⁻¹ XᵀY)ᵀ with XᵀX = U diag(e) Uᵀ, so each penalty costs one product and no new factorisation. The
    penalty is added to the sum over rows as it is, so its meaning depends on the number of rows and on the scale of
    X. Computed in float64; eigenvalues that rounding made negative count as zero.

    Args:
        gram: XᵀX, symmetric: `(*groups, in, in)`.
        cross: XᵀY.
        penalties: λ > 0 each; each solution is made when it is asked for.

    Raises:
        ShapeError: `gram` is not square, or `cross` does not belong to it.
        ConfigError: A penalty is not a positive number.
        DataError: A moment is NaN or infinite.
    """
    _check(gram, cross, penalties)
    values, vectors = torch.linalg.eigh(gram.double())
    rotated = cross.double().mT @ vectors  # (*groups, out, in)
    values = values.clamp_min(0)[..., None, :]
    return ((rotated / (values + penalty)) @ vectors.mT for penalty in penalties)


def _check(gram: Tensor, cross: Tensor, penalties: Sequence[float]) -> None:
    if gram.shape[-1] != gram.shape[-2] or cross.shape[:-1] != gram.shape[:-1]:
        raise ShapeError(
            f"ridge_path: gram must be (*groups, in, in) and cross (*groups, in, out). Got gram {tuple(gram.shape)} "
            f"and cross {tuple(cross.shape)}."
        )
    wrong = [penalty for penalty in penalties if not (penalty > 0 and math.isfinite(penalty))]
    if wrong:
        raise ConfigError(f"ridge_path: every penalty must be a positive number. Got {wrong}.")
    for name, moments in {"gram": gram, "cross": cross}.items():
        if not bool(moments.isfinite().all()):
            raise DataError(f"ridge_path: {name} has a NaN or an infinity; leave out or fill missing rows first.")
