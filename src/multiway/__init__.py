"""multiway: neural networks that keep the axes of a tensor."""

from typing import TYPE_CHECKING

from multiway import errors as errors
from multiway.errors import MultiwayError as MultiwayError
from multiway.lazy import extensions, lazily

if TYPE_CHECKING:
    from multiway import compress, data, explain, models, nn, ops, report, tasks, training, workflows
    from multiway.compress.storage import from_pretrained, push_to_hub, save_pretrained
    from multiway.data.examples import load_example
    from multiway.models import create_model, list_models
    from multiway.tasks.forecasting import Forecaster
    from multiway.tasks.images import ImageClassifier
    from multiway.tasks.scans import Segmenter, VolumeClassifier, VolumeRegressor
    from multiway.tasks.series import SeriesClassifier
    from multiway.tasks.tabular import TabularClassifier, TabularRegressor
    from multiway.tasks.text import TextClassifier
    from multiway.workflows import audit, check, compare, train, tune

__version__ = "0.1.0"

__all__ = [
    "Forecaster",
    "ImageClassifier",
    "MultiwayError",
    "Segmenter",
    "SeriesClassifier",
    "TabularClassifier",
    "TabularRegressor",
    "TextClassifier",
    "VolumeClassifier",
    "VolumeRegressor",
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
# Estimators of tasks that other packages add are names of this one.
__getattr__ = lazily(__name__, "estimators")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *extensions("estimators")})
