"""Whole networks, one file per system, and their registry."""

from multiway.models.cnn_image_classifier import CNNImageClassifier as CNNImageClassifier
from multiway.models.cnn_image_classifier import CNNImageClassifierConfig as CNNImageClassifierConfig
from multiway.models.cnn_volume_classifier import CNNVolumeClassifier as CNNVolumeClassifier
from multiway.models.cnn_volume_classifier import CNNVolumeClassifierConfig as CNNVolumeClassifierConfig
from multiway.models.hot_forecaster import HOTForecaster as HOTForecaster
from multiway.models.hot_forecaster import HOTForecasterConfig as HOTForecasterConfig
from multiway.models.hot_segmenter_2d import HOTSegmenter2d as HOTSegmenter2d
from multiway.models.hot_segmenter_2d import HOTSegmenter2dConfig as HOTSegmenter2dConfig
from multiway.models.hot_volume_classifier import HOTVolumeClassifier as HOTVolumeClassifier
from multiway.models.hot_volume_classifier import HOTVolumeClassifierConfig as HOTVolumeClassifierConfig
from multiway.models.olinear import OLinear as OLinear
from multiway.models.olinear import OLinearConfig as OLinearConfig
from multiway.models.registry import create_model as create_model
from multiway.models.registry import list_models as list_models
from multiway.models.registry import model_config as model_config
from multiway.models.registry import model_defaults as model_defaults
from multiway.models.registry import register as register
from multiway.models.series_classifier import SeriesClassifier as SeriesClassifier
from multiway.models.series_classifier import SeriesClassifierConfig as SeriesClassifierConfig
from multiway.models.sliding_window import sliding_window as sliding_window
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

register("hot_forecaster", HOTForecaster)
register("hot_forecaster_paper", HOTForecaster, **HOTForecasterConfig.paper())
register("hot_forecaster_later", HOTForecaster, **HOTForecasterConfig.later())
register("transformer_forecaster", TransformerForecaster)
register("transformer_forecaster_dense", TransformerForecaster, **TransformerForecasterConfig.dense())
register("olinear", OLinear)
register("olinear_small", OLinear, **OLinearConfig.small())
register("hot_volume_classifier", HOTVolumeClassifier)
register("hot_volume_classifier_7m", HOTVolumeClassifier, **HOTVolumeClassifierConfig.seven_million())
register("hot_volume_classifier_paper", HOTVolumeClassifier, **HOTVolumeClassifierConfig.paper())
register("cnn_volume_classifier", CNNVolumeClassifier)
register("cnn_image_classifier", CNNImageClassifier)
register("cnn_image_classifier_paper", CNNImageClassifier, **CNNImageClassifierConfig.paper())
register("cnn_image_classifier_dense", CNNImageClassifier, **CNNImageClassifierConfig.dense())
register("tabular_mlp", TabularMLP)
register("tabular_mlp_dense", TabularMLP, **TabularMLPConfig.dense())
register("series_classifier", SeriesClassifier)
register("text_classifier", TextClassifier)
register("tga_text_classifier", TGATextClassifier)
register("text_head", TextHead)
register("text_head_published", TextHead, **TextHeadConfig.published())
register("text_head_dense", TextHead, **TextHeadConfig.dense())
register("vision_transformer", VisionTransformer)
register("vision_transformer_paper", VisionTransformer, **VisionTransformerConfig.paper())
register("vision_transformer_naive", VisionTransformer, **VisionTransformerConfig.naive())
register("hot_volume_unet", VolumeUNet)
register("volume_unet", VolumeUNet, block="convolution")
register("unet_2d", VolumeUNet, block="convolution", num_modes=2, num_blocks=(0, 0, 0), channels=(12, 24, 48))
register("hot_segmenter_2d", HOTSegmenter2d)
