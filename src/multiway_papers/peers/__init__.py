"""Networks of published tables that are used nowhere else; `create_model` finds them by name."""

from multiway.models.registry import register
from multiway_papers.peers.linear_forecasters import DLinear, RLinear
from multiway_papers.peers.monai_resnet import ResNet3D as ResNet3D
from multiway_papers.peers.recurrent_forecaster import RecurrentForecaster
from multiway_papers.peers.transformers import ITransformer, PatchTST, PatchTSTConfig

register("rlinear", RLinear)
register("dlinear", DLinear)
register("patchtst", PatchTST)
register("patchtst_paper", PatchTST, **PatchTSTConfig.paper())
register("patchtst_small", PatchTST, **PatchTSTConfig.small())
register("itransformer", ITransformer)
register("recurrent_forecaster", RecurrentForecaster)
register("recurrent_forecaster_dense", RecurrentForecaster, hidden_sizes=(96,), layer="linear")
register("resnet18_3d", ResNet3D, depth=18)
register("resnet50_3d", ResNet3D, depth=50)
