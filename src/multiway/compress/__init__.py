"""Swap layers of an existing model for NdLinear, tensor trains, Tucker, CP or low rank, and tell what it costs."""

from multiway.compress.adapters import Adapted as Adapted
from multiway.compress.adapters import adapt as adapt
from multiway.compress.adapters import adapter_state_dict as adapter_state_dict
from multiway.compress.adapters import load_adapters as load_adapters
from multiway.compress.adapters import merge_adapters as merge_adapters
from multiway.compress.adapters import remove_adapters as remove_adapters
from multiway.compress.adapters import save_adapters as save_adapters
from multiway.compress.plan import Plan as Plan
from multiway.compress.plan import plan as plan
from multiway.compress.rules import CP as CP
from multiway.compress.rules import LowRank as LowRank
from multiway.compress.rules import NdLinear as NdLinear
from multiway.compress.rules import Rule as Rule
from multiway.compress.rules import TensorTrain as TensorTrain
from multiway.compress.rules import Tucker as Tucker
from multiway.compress.rules import balanced_sizes as balanced_sizes
from multiway.compress.rules import parse_rule as parse_rule
from multiway.compress.storage import SWAPS as SWAPS
from multiway.compress.storage import compress_pretrained as compress_pretrained
from multiway.compress.storage import load as load
from multiway.compress.storage import restore as restore
from multiway.compress.storage import save as save
from multiway.compress.storage import write_swaps as write_swaps
from multiway.compress.swap import undo as undo
from multiway.compress.targets import LayerPlan as LayerPlan
