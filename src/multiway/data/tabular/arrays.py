"""Arrays and frames of estimators as frames of named columns, checked as scikit-learn does."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.loading import as_pandas
from multiway.errors import DataError
from multiway.extras import load_extra

TARGET = "target"


def checked_frame(owner: Any, X: Any, *, reset: bool) -> pd.DataFrame:
    """Inputs as a frame; `owner` learns their number and names, or is fitted and held to them.

    Raises:
        ValueError: They are no table of numbers, or not like those of the training.
    """
    if not reset:
        _validation().check_is_fitted(owner)
    if _has_words(X) or (not reset and owner.run_.state.columns.categories):
        frame = as_pandas(X)
        if reset:
            owner.feature_names_in_, owner.n_features_in_ = np.array(frame.columns, dtype=object), frame.shape[1]
        return frame.reset_index(drop=True)
    values = _validation().validate_data(
        owner, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=reset, ensure_min_samples=2 if reset else 1
    )  # fmt: skip
    names = getattr(owner, "feature_names_in_", None)
    return pd.DataFrame(values, columns=[f"x{i}" for i in range(values.shape[1])] if names is None else list(names))


def checked_target(owner: Any, X: Any, y: Any) -> NDArray[Any]:
    """Targets as one column of as many rows; classes are no continuous numbers.

    Raises:
        ValueError: They are none, or not one per row.
    """
    validation = _validation()
    if y is None:
        raise ValueError(f"{type(owner).__name__} requires y to be passed, but the target y is None.")
    found: NDArray[Any] = validation.column_or_1d(y, warn=True)
    validation.check_consistent_length(X, found)
    if owner.kind == "classifier":
        validation._assert_all_finite(found, input_name="y")
        load_extra("sklearn.utils.multiclass", type(owner).__name__, "trees").check_classification_targets(found)
        return found
    checked: NDArray[Any] = validation.check_array(found, ensure_2d=False, dtype=np.float64, input_name="y")
    return checked


def joined_table(X: Any, y: Any) -> tuple[pd.DataFrame, str]:
    """Rows with their targets as one frame, and the name of the targets' column.

    Raises:
        DataError: There is not one target per row.
    """
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])]) if _is_array(X) else as_pandas(X)
    targets = np.asarray(y)
    if targets.shape != (len(frame),):
        raise DataError(f"y: one target is needed per row, ({len(frame)},). Got {targets.shape}.")
    name = target_name(frame)
    return frame.assign(**{name: targets}), name


def _is_array(X: Any) -> bool:
    return isinstance(X, np.ndarray) and X.ndim == 2


def target_name(frame: pd.DataFrame) -> str:
    """A name for the target that no input has."""
    name = TARGET
    while name in frame.columns:
        name += "_"
    return name


def _has_words(X: Any) -> bool:
    """Whether X is a frame with a column that is not of numbers."""
    types = getattr(X, "dtypes", None)
    if types is None or not hasattr(X, "columns"):
        return False
    return not all(getattr(each, "kind", "?") in "biufc" or _is_number(each) for each in types)


def _is_number(dtype: Any) -> bool:
    return bool(getattr(dtype, "is_numeric", lambda: False)())


def _validation() -> Any:
    return load_extra("sklearn.utils.validation", "an estimator of tables", "trees")
