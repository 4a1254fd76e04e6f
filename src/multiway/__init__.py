"""multiway: neural networks that keep the axes of a tensor."""

from typing import TYPE_CHECKING

from multiway import errors as errors
from multiway.errors import MultiwayError as MultiwayError
from multiway.lazy import extend, lazily

if TYPE_CHECKING:
    from multiway import compress, data, explain, models, nn, ops, report, tasks, training, workflows
    from multiway.compress.storage import from_pretrained, push_to_hub, save_pretrained
    from multiway.data.examples import load_example
    from multiway.models import create_model, list_models
    from multiway.tasks.forecasting import Forecaster
    from multiway.tasks.images import ImageClassifier
    from multiway.tasks.scans import Segmenter, VolumeClassifier
    from multiway.tasks.series import SeriesClassifier
    from multiway.tasks.tabular import TabularClassifier, TabularRegressor
    from multiway.tasks.text import TextClassifier
    from multiway.workflows import audit, check, compare, train, tune
    from multiway_papers.language import LanguageModel
    from multiway_papers.stocks import StockMovementClassifier

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
    "from_pretrained",
    "list_models",
    "load_example",
    "models",
    "nn",
    "ops",
    "push_to_hub",
    "report",
    "save_pretrained",
    "tasks",
    "train",
    "training",
    "tune",
    "workflows",
]

# All but the errors is imported when first used: a command's help costs no torch, and a layer nothing but torch.
__getattr__ = lazily(__name__)

# Rooms that nothing below imports say here what they add to: it is imported with the first name that is used.
extend("models", "multiway_papers.networks")
extend("models", "multiway_papers.peers")
extend("recipes", "multiway_papers.cells")
extend("spaces", "multiway_papers.cells")
extend("stock protocols", "multiway_papers.protocols.stocknet")
extend("stock protocols", "multiway_papers.protocols.stock_hot_code")
extend("data sets", "multiway_papers.protocols.stocknet_set", "stocknet")
extend("window protocols", "multiway_papers.protocols.random_windows")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
