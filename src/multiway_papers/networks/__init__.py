"""Whole networks of the papers' own tasks; `create_model` finds them by name."""

from multiway.models import CNNImageClassifier, HOTForecaster, HOTVolumeClassifier, VisionTransformer
from multiway.models.registry import register
from multiway_papers.networks import sizes
from multiway_papers.networks.hot_stock_classifier import HOTStockClassifier as HOTStockClassifier
from multiway_papers.networks.hot_stock_classifier import HOTStockClassifierConfig as HOTStockClassifierConfig
from multiway_papers.networks.language_model import OPT_125M, OPT_125M_NDLINEAR, OPT_350M, OPT_350M_NDLINEAR
from multiway_papers.networks.language_model import CausalTransformer as CausalTransformer
from multiway_papers.networks.language_model import CausalTransformerConfig as CausalTransformerConfig
from multiway_papers.networks.nd_images import GridImageClassifier as GridImageClassifier
from multiway_papers.networks.nd_images import GridImageClassifierConfig as GridImageClassifierConfig
from multiway_papers.networks.nd_images import MixedCNN as MixedCNN
from multiway_papers.networks.tga_controls import TGAControl as TGAControl
from multiway_papers.networks.tga_controls import TGAControlConfig as TGAControlConfig

register("hot_stock_classifier", HOTStockClassifier)
register("hot_stock_classifier_paper", HOTStockClassifier, **HOTStockClassifierConfig.paper())
register("causal_transformer", CausalTransformer)
register("opt_125m", CausalTransformer, **OPT_125M)
register("opt_350m", CausalTransformer, **OPT_350M)
register("opt_125m_ndlinear", CausalTransformer, **OPT_125M_NDLINEAR)
register("opt_350m_ndlinear", CausalTransformer, **OPT_350M_NDLINEAR)
for control in ("no_time", "trains", "filter"):
    register(f"tga_text_classifier_{control}", TGAControl, control=control)
register("cnn_image_classifier_mixed", MixedCNN, **sizes.CNN_IMAGE_CLASSIFIER)
register("cnn_image_classifier_paper", CNNImageClassifier, **sizes.CNN_IMAGE_CLASSIFIER)
register("cnn_image_classifier_dense", CNNImageClassifier, **sizes.CNN_IMAGE_CLASSIFIER_DENSE)
register("hot_forecaster_paper", HOTForecaster, **sizes.HOT_FORECASTER)
register("hot_forecaster_later", HOTForecaster, **sizes.HOT_FORECASTER_LATER)
register("hot_volume_classifier_7m", HOTVolumeClassifier, **sizes.SEVEN_MILLION)
register("hot_volume_classifier_paper", HOTVolumeClassifier, **sizes.HOT_VOLUME_CLASSIFIER)
register("vision_transformer_paper", VisionTransformer, **sizes.vision_transformer())
register("vision_transformer_naive", VisionTransformer, **sizes.VISION_TRANSFORMER_NAIVE)
register("grid_image_classifier", GridImageClassifier)
