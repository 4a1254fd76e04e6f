"""Half-widths of intervals from the errors of a forecast on data that it did not learn from."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def conformal_radii(errors: NDArray[np.float32], levels: Sequence[float]) -> NDArray[np.float32]:
    """Split conformal quantiles of absolute errors along the last axis; NaN is no error, and 0 stands for none at all.

    The radius at level α is the ⌈(n + 1) α⌉-th smallest of n errors (Vovk et al. 2005; Lei et al. 2018), so that a new
    exchangeable case is covered with probability at least α; with fewer than α / (1 - α) errors it is the largest,
    and covers less; `is_too_few` says where.

    Args:
        errors: `(*cells, cases)`; sorted in part in place.
        levels: α, each between 0 and 1.

    Returns:
        `(levels, *cells)`.
    """
    count = (~np.isnan(errors)).sum(-1)
    ranks = [
        np.clip(np.ceil((count + 1) * level).astype(np.int64) - 1, 0, np.maximum(count - 1, 0)) for level in levels
    ]
    errors.partition(np.unique(ranks), axis=-1)  # NaN goes last
    radii = [np.take_along_axis(errors, rank[..., None], -1)[..., 0] for rank in ranks]
    return np.nan_to_num(np.stack(radii), nan=0.0)


def is_too_few(errors: NDArray[np.float32], levels: Sequence[float]) -> NDArray[np.bool_]:
    """Whether the quantile of a level lies beyond the largest error, `(levels, *cells)`."""
    count = (~np.isnan(errors)).sum(-1)
    return np.stack([np.ceil((count + 1) * level) > count for level in levels])
