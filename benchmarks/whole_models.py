"""`python -m benchmarks.whole_models`: random weights of transformers and timm: `compress '.*'`, saved and reloaded.

Those of timm are looked at where it is installed, at their own size of images.
"""

import argparse
import importlib.util
import logging
import tempfile
import warnings
from pathlib import Path
from typing import Any

import torch
import transformers

from benchmarks.rows import keep
from multiway import compress

TEXT = {"vocab_size": 211, "hidden_size": 48, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4}
DECODER = {**TEXT, "num_key_value_heads": 2, "max_position_embeddings": 64}
IMAGE = {"image_size": 32, "patch_size": 8}
SMALL = {"vocab_size": 211, "hidden_size": 48}
MODELS: dict[str, tuple[str, dict[str, Any], str]] = {
    "bert": ("BertForSequenceClassification", TEXT, "text"),
    "roberta": ("RobertaForMaskedLM", {**TEXT, "max_position_embeddings": 64}, "text"),
    "distilbert": (
        "DistilBertForSequenceClassification",
        {"vocab_size": 211, "dim": 48, "hidden_dim": 96, "n_layers": 2, "n_heads": 4},
        "text",
    ),
    "albert": ("AlbertForMaskedLM", {**TEXT, "embedding_size": 24}, "text"),
    "electra": ("ElectraForSequenceClassification", {**TEXT, "embedding_size": 24}, "text"),
    "deberta": ("DebertaV2ForSequenceClassification", TEXT, "text"),
    "gpt2": (
        "GPT2LMHeadModel",
        {"vocab_size": 211, "n_embd": 48, "n_layer": 2, "n_head": 4},
        "text",
    ),
    "opt": (
        "OPTForCausalLM",
        {
            "vocab_size": 211,
            "hidden_size": 48,
            "ffn_dim": 96,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "max_position_embeddings": 64,
            "word_embed_proj_dim": 48,
        },
        "text",
    ),
    "llama": ("LlamaForCausalLM", DECODER, "text"),
    "mistral": ("MistralForCausalLM", DECODER, "text"),
    "qwen2": ("Qwen2ForCausalLM", DECODER, "text"),
    "gpt_neox": ("GPTNeoXForCausalLM", {**TEXT, "max_position_embeddings": 64}, "text"),
    "t5": (
        "T5ForConditionalGeneration",
        {"vocab_size": 211, "d_model": 48, "d_ff": 96, "num_layers": 2, "num_heads": 4, "d_kv": 12},
        "pair",
    ),
    "bart": (
        "BartForConditionalGeneration",
        {
            "vocab_size": 211,
            "d_model": 48,
            "encoder_layers": 2,
            "decoder_layers": 2,
            "encoder_attention_heads": 4,
            "decoder_attention_heads": 4,
            "encoder_ffn_dim": 96,
            "decoder_ffn_dim": 96,
            "max_position_embeddings": 64,
        },
        "pair",
    ),
    "vit": ("ViTForImageClassification", {**TEXT, **IMAGE}, "image"),
    "deit": ("DeiTForImageClassification", {**TEXT, **IMAGE}, "image"),
    "swin": (
        "SwinForImageClassification",
        {"image_size": 32, "patch_size": 4, "embed_dim": 24, "depths": [2, 2], "num_heads": [2, 4], "window_size": 4},
        "image",
    ),
    "resnet": (
        "ResNetForImageClassification",
        {"embedding_size": 24, "hidden_sizes": [24, 48, 64, 96], "depths": [1, 1, 1, 1], "layer_type": "basic"},
        "image",
    ),
    "convnext": ("ConvNextForImageClassification", {"hidden_sizes": [16, 32, 48, 64], "depths": [1, 1, 2, 1]}, "image"),
    "mobilenet_v2": ("MobileNetV2ForImageClassification", {"image_size": 32}, "image"),
    "wav2vec2": (
        "Wav2Vec2ForCTC",
        {
            **TEXT,
            "conv_dim": [32, 32],
            "conv_kernel": [5, 3],
            "conv_stride": [3, 2],
            "num_conv_pos_embeddings": 15,
            "num_conv_pos_embedding_groups": 4,
        },
        "sound",
    ),
    "mamba": (
        "MambaForCausalLM",
        {**SMALL, "num_hidden_layers": 2, "state_size": 8},
        "text",
    ),
}
"""Name, class of transformers, settings of its config, and what it reads."""

TIMM = (
    "resnet18",
    "repvgg_a0",
    "vit_tiny_patch16_224",
    "mixer_s32_224",
    "convnext_atto",
    "mobilenetv3_small_050",
    "efficientnet_b0",
    "regnetx_002",
    "densenet121",
    "swin_tiny_patch4_window7_224",
)


def batch_of(kind: str) -> dict[str, torch.Tensor]:
    """Inputs of one kind."""
    generator = torch.Generator().manual_seed(0)
    words = torch.randint(5, 200, (2, 11), generator=generator)
    if kind == "image":
        return {"pixel_values": torch.randn(2, 3, 32, 32, generator=generator)}
    if kind == "sound":
        return {"input_values": torch.randn(2, 800, generator=generator)}
    return {"input_ids": words, **({"decoder_input_ids": words} if kind == "pair" else {})}


def built(name: str) -> Any:
    """The model, with random weights."""
    if name in TIMM:
        torch.manual_seed(0)
        return importlib.import_module("timm").create_model(name, pretrained=False).eval()
    cls = getattr(transformers, MODELS[name][0])
    torch.manual_seed(0)
    return cls(cls.config_class(**MODELS[name][1])).eval()


def inputs_of(name: str, model: Any) -> dict[str, torch.Tensor]:
    """What the model reads; images of timm under the name that its models share."""
    if name not in TIMM:
        return batch_of(MODELS[name][2])
    generator = torch.Generator().manual_seed(0)
    return {"x": torch.randn(2, *model.default_cfg["input_size"], generator=generator)}


def first_of(answer: Any) -> torch.Tensor:
    """The scores of a model of transformers, or of timm."""
    return answer if isinstance(answer, torch.Tensor) else next(iter(answer.values()))


def compressed(name: str, folder: Path, *, with_data: bool) -> dict[str, Any]:
    """Halve every layer that can be, save, load and compare the answers to the bit: transformers from its folder."""
    model = built(name)
    batch = inputs_of(name, model)
    rules = {".*": compress.LowRank(max_share=0.5)}
    plan = compress.plan(model, rules, data=batch if with_data else None, measure=False)
    small = plan.apply()
    compress.save(small, folder)
    loaded = compress.load(folder, model=built(name) if name in TIMM else None)
    with torch.no_grad():
        before, after = (first_of(each(**batch)) for each in (small, loaded))
    swapped = sum(layer.replacement is not None for layer in plan.layers)
    works = bool(torch.isfinite(before).all()) and torch.equal(before, after) and swapped > 0
    return {
        "benchmark": "whole_models",
        "model": name,
        "data": with_data,
        "works": works,
        "swapped": swapped,
        "left": len(plan.layers) - swapped,
        "refused": len(plan.refused),
        "parameters": round(plan.parameters[1] / plan.parameters[0], 3),
        "elsewhere": round(sum(plan.left.values()) / plan.parameters[0], 3),
    }


def main() -> None:
    """Print a row for every model, and how many work."""
    known = [*MODELS, *(TIMM if importlib.util.find_spec("timm") else ())]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=known, help="models; all if none is given")
    parser.add_argument("--out", type=Path, help="file to add the rows to")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.getLogger("transformers").setLevel(logging.ERROR)
    rows = []
    for name in given.names:
        for with_data in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                try:
                    row = compressed(name, Path(folder), with_data=with_data)
                except Exception as error:  # the next model is looked at all the same
                    row = {"benchmark": "whole_models", "model": name, "data": with_data, "works": False}
                    row["error"] = str(error)[:300]
            rows.append(row)
            keep(row, given.out)
    for with_data in (False, True):
        chosen = [row for row in rows if row["data"] is with_data]
        print(
            f"{sum(row['works'] for row in chosen)} of {len(chosen)} work ({'with' if with_data else 'without'} data)"
        )


if __name__ == "__main__":
    main()
