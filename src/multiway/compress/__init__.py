"""Swap the dense layers of an existing model for NdLinear, tensor trains or low rank, and tell what it costs."""

from multiway.compress.layer import LayerPlan as LayerPlan
from multiway.compress.plan import Plan as Plan
from multiway.compress.plan import plan as plan
from multiway.compress.rules import LowRank as LowRank
from multiway.compress.rules import NdLinear as NdLinear
from multiway.compress.rules import Rule as Rule
from multiway.compress.rules import TensorTrain as TensorTrain
from multiway.compress.rules import balanced_sizes as balanced_sizes
from multiway.compress.rules import parse_rule as parse_rule
from multiway.compress.swap import undo as undo
