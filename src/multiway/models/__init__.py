"""Whole networks, one file per system, and their registry."""

from typing import TYPE_CHECKING

from multiway.lazy import extend, lazily
from multiway.models.registry import create_model as create_model
from multiway.models.registry import list_models as list_models
from multiway.models.registry import model_config as model_config
from multiway.models.registry import model_defaults as model_defaults
from multiway.models.registry import register as register
from multiway.models.sliding_window import sliding_window as sliding_window

if TYPE_CHECKING:
    from multiway.models.cnn_image_classifier import CNNImageClassifier as CNNImageClassifier
    from multiway.models.cnn_image_classifier import CNNImageClassifierConfig as CNNImageClassifierConfig
    from multiway.models.cnn_volume_classifier import CNNVolumeClassifier as CNNVolumeClassifier
    from multiway.models.cnn_volume_classifier import CNNVolumeClassifierConfig as CNNVolumeClassifierConfig
    from multiway.models.grid_forecasters import FNO as FNO
    from multiway.models.grid_forecasters import ConvLSTM as ConvLSTM
    from multiway.models.grid_forecasters import FactorisedAttention as FactorisedAttention
    from multiway.models.grid_forecasters import FactorisedAttentionConfig as FactorisedAttentionConfig
    from multiway.models.grid_forecasters import GridForecasterConfig as GridForecasterConfig
    from multiway.models.grid_forecasters import SimVP as SimVP
    from multiway.models.hot_forecaster import HOTForecaster as HOTForecaster
    from multiway.models.hot_forecaster import HOTForecasterConfig as HOTForecasterConfig
    from multiway.models.hot_grid_forecaster import HOTGridForecaster as HOTGridForecaster
    from multiway.models.hot_grid_forecaster import HOTGridForecasterConfig as HOTGridForecasterConfig
    from multiway.models.hot_segmenter_2d import HOTSegmenter2d as HOTSegmenter2d
    from multiway.models.hot_segmenter_2d import HOTSegmenter2dConfig as HOTSegmenter2dConfig
    from multiway.models.hot_volume_classifier import HOTVolumeClassifier as HOTVolumeClassifier
    from multiway.models.hot_volume_classifier import HOTVolumeClassifierConfig as HOTVolumeClassifierConfig
    from multiway.models.olinear import OLinear as OLinear
    from multiway.models.olinear import OLinearConfig as OLinearConfig
    from multiway.models.series_classifier import SeriesClassifier as SeriesClassifier
    from multiway.models.series_classifier import SeriesClassifierConfig as SeriesClassifierConfig
    from multiway.models.tabular_mlp import TabularMLP as TabularMLP
    from multiway.models.tabular_mlp import TabularMLPConfig as TabularMLPConfig
    from multiway.models.text_classifier import TextClassifier as TextClassifier
    from multiway.models.text_classifier import TextClassifierConfig as TextClassifierConfig
    from multiway.models.text_classifier import TunedText as TunedText
    from multiway.models.text_head import TextHead as TextHead
    from multiway.models.text_head import TextHeadConfig as TextHeadConfig
    from multiway.models.tga_text_classifier import TGATextClassifier as TGATextClassifier
    from multiway.models.tga_text_classifier import TGATextClassifierConfig as TGATextClassifierConfig
    from multiway.models.transformer_forecaster import TransformerForecaster as TransformerForecaster
    from multiway.models.transformer_forecaster import TransformerForecasterConfig as TransformerForecasterConfig
    from multiway.models.vision_transformer import VisionTransformer as VisionTransformer
    from multiway.models.vision_transformer import VisionTransformerConfig as VisionTransformerConfig
    from multiway.models.volume_unet import VolumeUNet as VolumeUNet
    from multiway.models.volume_unet import VolumeUNetConfig as VolumeUNetConfig

# Each registers its networks, which are imported when one is first used: a forecast needs none that is of images.
for network in (
    "hot_forecaster transformer_forecaster olinear hot_volume_classifier cnn_volume_classifier cnn_image_classifier "
    "tabular_mlp series_classifier text_classifier tga_text_classifier text_head vision_transformer volume_unet "
    "hot_segmenter_2d grid_forecasters hot_grid_forecaster"
).split():
    extend("models", f"multiway.models.{network}")

__getattr__ = lazily(__name__)
