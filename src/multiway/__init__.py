"""multiway: neural networks that keep the axes of a tensor."""

from typing import TYPE_CHECKING

from multiway import errors as errors
from multiway.errors import MultiwayError as MultiwayError
from multiway.lazy import lazily

if TYPE_CHECKING:
    from multiway import compress, data, explain, models, nn, ops, report, tasks, training, workflows
    from multiway.models import create_model, list_models
    from multiway.tasks.forecasting import Forecaster
    from multiway.tasks.images import ImageClassifier
    from multiway.tasks.language import LanguageModel
    from multiway.tasks.segmentation import Segmenter
    from multiway.tasks.series import SeriesClassifier
    from multiway.tasks.stocks import StockMovementClassifier
    from multiway.tasks.tabular import TabularClassifier, TabularRegressor
    from multiway.tasks.text import TextClassifier
    from multiway.tasks.volumes import VolumeClassifier
    from multiway.workflows import audit, check, compare, train, tune

__version__ = "0.1.0"

__all__ = [
    "Forecaster",
    "ImageClassifier",
    "LanguageModel",
    "MultiwayError",
    "Segmenter",
    "SeriesClassifier",
    "StockMovementClassifier",
    "TabularClassifier",
    "TabularRegressor",
    "TextClassifier",
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
_PARTS = ("compress", "data", "explain", "nn", "ops", "report", "tasks", "training")
__getattr__ = lazily(
    __name__,
    {
        "multiway.tasks.forecasting": ("Forecaster",),
        "multiway.tasks.images": ("ImageClassifier",),
        "multiway.tasks.language": ("LanguageModel",),
        "multiway.tasks.segmentation": ("Segmenter",),
        "multiway.tasks.series": ("SeriesClassifier",),
        "multiway.tasks.stocks": ("StockMovementClassifier",),
        "multiway.tasks.tabular": ("TabularClassifier", "TabularRegressor"),
        "multiway.tasks.text": ("TextClassifier",),
        "multiway.tasks.volumes": ("VolumeClassifier",),
        "multiway.models": ("create_model", "list_models", "models"),
        "multiway.workflows": ("audit", "check", "compare", "train", "tune", "workflows"),
        **{f"multiway.{name}": (name,) for name in _PARTS},
    },
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
