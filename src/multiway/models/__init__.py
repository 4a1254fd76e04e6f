"""Whole networks, one file per system, and their registry."""

from multiway.models.hot_forecaster import HOTForecaster as HOTForecaster
from multiway.models.hot_forecaster import HOTForecasterConfig as HOTForecasterConfig
from multiway.models.hot_volume_classifier import HOTVolumeClassifier as HOTVolumeClassifier
from multiway.models.hot_volume_classifier import HOTVolumeClassifierConfig as HOTVolumeClassifierConfig
from multiway.models.registry import create_model as create_model
from multiway.models.registry import list_models as list_models
from multiway.models.registry import model_config as model_config
from multiway.models.registry import register as register

register("hot_forecaster", HOTForecaster, HOTForecasterConfig)
register("hot_forecaster_paper", HOTForecaster, HOTForecasterConfig, **HOTForecasterConfig.paper())
register("hot_volume_classifier", HOTVolumeClassifier, HOTVolumeClassifierConfig)
register(
    "hot_volume_classifier_7m",
    HOTVolumeClassifier,
    HOTVolumeClassifierConfig,
    **HOTVolumeClassifierConfig.seven_million(),
)
