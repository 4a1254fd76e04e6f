"""Adapters of factorised layers for Hugging Face's PEFT: importing this package registers them there.

PEFT's LoKr layers are then computed by mode products, and `get_peft_model` takes an `AdapterConfig`. Adapters saved by
either are read by `PeftModel.from_pretrained`. Needs `pip install 'multiway[peft]'`.
"""

from multiway.lazy import load_extra

load_extra("peft", "multiway.peft", "peft")

from multiway.peft.config import AdapterConfig as AdapterConfig  # noqa: E402
from multiway.peft.config import convert_to_lora as convert_to_lora  # noqa: E402
from multiway.peft.config import register_adapters as register_adapters  # noqa: E402
from multiway.peft.layers import Branched as Branched  # noqa: E402
from multiway.peft.layers import KroneckerLinear as KroneckerLinear  # noqa: E402

register_adapters()
