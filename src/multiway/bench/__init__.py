"""Layers timed on the machine at hand: ours, the usual package, the dense layer, and the least that it could take."""

from multiway.bench.layers import LAYERS as LAYERS
from multiway.bench.layers import attention_flops as attention_flops
from multiway.bench.layers import nd_linear_flops as nd_linear_flops
from multiway.bench.layers import train_flops as train_flops
from multiway.bench.linear import bandwidth as bandwidth
from multiway.bench.linear import bench as bench
from multiway.bench.linear import gemm_flops as gemm_flops
from multiway.bench.linear import median as median
from multiway.bench.linear import rounds as rounds
