"""Ridge regression from second moments: one eigendecomposition serves every penalty."""

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Float
from torch import Tensor


def ridge_path(
    gram: Float[Tensor, "*groups in in"], cross: Float[Tensor, "*groups in out"], penalties: Sequence[float]
) -> Iterator[Float[Tensor, "*groups out in"]]:
    """Yield, penalty by penalty, the weights that minimise ‖Y - X Wᵀ‖² + penalty ‖W‖².

    W = ((XᵀX + λI)⁻¹ XᵀY)ᵀ with XᵀX = U diag(e) Uᵀ, so each penalty costs two products and no new factorisation. The
    penalty is added to the sum over rows as it is, so its meaning depends on the number of rows. Computed in
    float64; eigenvalues that rounding made negative count as zero.

    Args:
        gram: XᵀX, symmetric.
        cross: XᵀY.
        penalties: λ > 0 each.
    """
    values, vectors = torch.linalg.eigh(gram.double())
    rotated = cross.double().mT @ vectors  # (..., out, in)
    for penalty in penalties:
        yield (rotated / (values.clamp_min(0)[..., None, :] + penalty)) @ vectors.mT
