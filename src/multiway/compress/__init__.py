"""Swap layers of an existing model for NdLinear, tensor trains, Tucker, CP or low rank, and tell what it costs."""

from typing import TYPE_CHECKING

from multiway.lazy import lazily

if TYPE_CHECKING:
    from multiway.compress.adapters import Adapted as Adapted
    from multiway.compress.adapters import adapt as adapt
    from multiway.compress.adapters import adapter_state_dict as adapter_state_dict
    from multiway.compress.adapters import load_adapters as load_adapters
    from multiway.compress.adapters import merge_adapters as merge_adapters
    from multiway.compress.adapters import remove_adapters as remove_adapters
    from multiway.compress.adapters import save_adapters as save_adapters
    from multiway.compress.plans import Plan as Plan
    from multiway.compress.plans import plan as plan
    from multiway.compress.pretrained import compress_pretrained as compress_pretrained
    from multiway.compress.pretrained import distil_pretrained as distil_pretrained
    from multiway.compress.recovering import distil as distil
    from multiway.compress.recovering import finetune as finetune
    from multiway.compress.rules import CP as CP
    from multiway.compress.rules import SWAPS as SWAPS
    from multiway.compress.rules import LowRank as LowRank
    from multiway.compress.rules import NdLinear as NdLinear
    from multiway.compress.rules import Rule as Rule
    from multiway.compress.rules import TensorTrain as TensorTrain
    from multiway.compress.rules import Tucker as Tucker
    from multiway.compress.rules import balanced_sizes as balanced_sizes
    from multiway.compress.rules import parse_rule as parse_rule
    from multiway.compress.storage import from_pretrained as from_pretrained
    from multiway.compress.storage import load as load
    from multiway.compress.storage import push_to_hub as push_to_hub
    from multiway.compress.storage import restore as restore
    from multiway.compress.storage import save as save
    from multiway.compress.storage import save_pretrained as save_pretrained
    from multiway.compress.storage import write_swaps as write_swaps
    from multiway.compress.swap import undo as undo
    from multiway.compress.targets import LayerPlan as LayerPlan

__getattr__ = lazily(__name__)
