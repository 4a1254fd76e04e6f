"""Layers timed on the machine at hand: ours, the usual package, the dense layer, and the least that it could take."""

from multiway_papers.bench.layers import LAYERS as LAYERS
from multiway_papers.bench.layers import attention_flops as attention_flops
from multiway_papers.bench.layers import nd_linear_flops as nd_linear_flops
from multiway_papers.bench.layers import train_flops as train_flops
from multiway_papers.bench.linear import bandwidth as bandwidth
from multiway_papers.bench.linear import bench as bench
from multiway_papers.bench.linear import gemm_flops as gemm_flops
from multiway_papers.bench.linear import median as median
from multiway_papers.bench.linear import rounds as rounds
