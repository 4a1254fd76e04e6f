"""multiway: neural networks that keep the axes of a tensor."""

import importlib
from typing import TYPE_CHECKING, Any

from multiway import errors as errors
from multiway.errors import MultiwayError as MultiwayError

if TYPE_CHECKING:
    from multiway import compress, data, explain, models, nn, ops, report, tasks, training, workflows
    from multiway.models import create_model, list_models
    from multiway.tasks.forecasting import Forecaster
    from multiway.tasks.segmentation import Segmenter
    from multiway.tasks.stocks import StockMovementClassifier
    from multiway.tasks.tabular import TabularClassifier, TabularRegressor
    from multiway.tasks.volumes import VolumeClassifier
    from multiway.workflows import audit, check, compare, train, tune

__version__ = "0.1.0"

__all__ = [
    "Forecaster",
    "MultiwayError",
    "Segmenter",
    "StockMovementClassifier",
    "TabularClassifier",
    "TabularRegressor",
    "VolumeClassifier",
    "audit",
    "check",
    "compare",
    "compress",
    "create_model",
    "data",
    "errors",
    "explain",
    "list_models",
    "models",
    "nn",
    "ops",
    "report",
    "tasks",
    "train",
    "training",
    "tune",
    "workflows",
]

# All but the errors is imported when first used: a command's help costs no torch, and a layer nothing but torch.
_PARTS = ("compress", "data", "explain", "models", "nn", "ops", "report", "tasks", "training", "workflows")
_LAZY = {
    "Forecaster": "multiway.tasks.forecasting",
    "Segmenter": "multiway.tasks.segmentation",
    "StockMovementClassifier": "multiway.tasks.stocks",
    "TabularClassifier": "multiway.tasks.tabular",
    "TabularRegressor": "multiway.tasks.tabular",
    "VolumeClassifier": "multiway.tasks.volumes",
    **dict.fromkeys(("audit", "check", "compare", "train", "tune"), "multiway.workflows"),
    **dict.fromkeys(("create_model", "list_models"), "multiway.models"),
    **{name: f"multiway.{name}" for name in _PARTS},
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'multiway' has no attribute {name!r}")
    module = importlib.import_module(_LAZY[name])
    return module if _LAZY[name] == f"multiway.{name}" else getattr(module, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
