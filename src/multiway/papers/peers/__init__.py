"""Networks that stand beside ours in published tables alone; `create_model` finds them by name."""

from multiway.models.registry import register
from multiway.papers.peers.itransformer import ITransformer as ITransformer
from multiway.papers.peers.itransformer import ITransformerConfig as ITransformerConfig
from multiway.papers.peers.linear_forecasters import DLinear as DLinear
from multiway.papers.peers.linear_forecasters import DLinearConfig as DLinearConfig
from multiway.papers.peers.linear_forecasters import RLinear as RLinear
from multiway.papers.peers.linear_forecasters import RLinearConfig as RLinearConfig
from multiway.papers.peers.monai_resnet import ResNet3D as ResNet3D
from multiway.papers.peers.monai_resnet import ResNet3DConfig as ResNet3DConfig
from multiway.papers.peers.patchtst import PatchTST as PatchTST
from multiway.papers.peers.patchtst import PatchTSTConfig as PatchTSTConfig
from multiway.papers.peers.recurrent_forecaster import RecurrentForecaster as RecurrentForecaster
from multiway.papers.peers.recurrent_forecaster import RecurrentForecasterConfig as RecurrentForecasterConfig

register("rlinear", RLinear, RLinearConfig)
register("dlinear", DLinear, DLinearConfig)
register("patchtst", PatchTST, PatchTSTConfig)
register("patchtst_paper", PatchTST, PatchTSTConfig, **PatchTSTConfig.paper())
register("patchtst_small", PatchTST, PatchTSTConfig, **PatchTSTConfig.small())
register("itransformer", ITransformer, ITransformerConfig)
register("recurrent_forecaster", RecurrentForecaster, RecurrentForecasterConfig)
register(
    "recurrent_forecaster_dense", RecurrentForecaster, RecurrentForecasterConfig, hidden_sizes=(96,), layer="linear"
)
register("resnet18_3d", ResNet3D, ResNet3DConfig, depth=18)
register("resnet50_3d", ResNet3D, ResNet3DConfig, depth=50)
