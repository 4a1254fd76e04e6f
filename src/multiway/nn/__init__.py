"""Layers: thin owners of parameters over the functions of `multiway.ops`."""

from multiway.nn.blocks import Dropout as Dropout
from multiway.nn.blocks import FlattenHead as FlattenHead
from multiway.nn.blocks import HOTBlock as HOTBlock
from multiway.nn.blocks import PatchEmbedding as PatchEmbedding
from multiway.nn.blocks import PooledHead as PooledHead
from multiway.nn.blocks import SwiGLU as SwiGLU
from multiway.nn.blocks import make_norm as make_norm
from multiway.nn.comparators import AxialAttention as AxialAttention
from multiway.nn.comparators import FullAttention as FullAttention
from multiway.nn.comparators import FullKernelAttention as FullKernelAttention
from multiway.nn.convolutions import ConvBlock as ConvBlock
from multiway.nn.convolutions import ConvStem as ConvStem
from multiway.nn.convolutions import make_convolution as make_convolution
from multiway.nn.convolutions import make_group_norm as make_group_norm
from multiway.nn.factorised import Approximation as Approximation
from multiway.nn.factorised import LowRankLinear as LowRankLinear
from multiway.nn.kronecker_attention import KroneckerAttention as KroneckerAttention
from multiway.nn.nd_linear import NdLinear as NdLinear
from multiway.nn.nd_rnn import NdRNN as NdRNN
from multiway.nn.pooled_queries import PRESETS as PRESETS
from multiway.nn.tensor_graph_attention import TensorGraphAttention as TensorGraphAttention
from multiway.nn.token_attention import AdditiveAttention as AdditiveAttention
from multiway.nn.token_attention import DotProductAttention as DotProductAttention
from multiway.nn.tt_embedding import TTEmbedding as TTEmbedding
from multiway.nn.tt_linear import TTLinear as TTLinear
