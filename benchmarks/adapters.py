"""Adapters in PEFT: the time of a Kronecker layer over PEFT's LoKr, and MiniLM fine-tuned on SST-2 by each kind.

`python -m benchmarks.adapters speed` and `MULTIWAY_DATA=... python -m benchmarks.adapters text --encoder FOLDER`.
"""

import argparse
import copy
import functools
import os
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import peft
import torch
from peft.tuners.lokr.layer import Linear
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import AutoModel, AutoTokenizer

from benchmarks import rows
from multiway.models.text_classifier import TunedText
from multiway.peft import AdapterConfig
from multiway_papers.bench import median, rounds

WIDTH = 1024
BARS = {64: 3.5, 512: 2.2}
ATTENTION = ["query", "value"]
ADAPTERS: dict[str, Callable[[], peft.PeftConfig]] = {
    "LoRA, rank 8": lambda: peft.LoraConfig(r=8, lora_alpha=16, target_modules=ATTENTION),
    "LoRA, rank 2": lambda: peft.LoraConfig(r=2, lora_alpha=4, target_modules=ATTENTION),
    "LoKr of PEFT": lambda: peft.LoKrConfig(r=64, alpha=64 * 4, target_modules=ATTENTION),
    "Kronecker": lambda: peft.LoKrConfig(r=64, alpha=64 * 4, target_modules=ATTENTION),
    "Kronecker, keys too": lambda: peft.LoKrConfig(r=64, alpha=64 * 4, target_modules=[*ATTENTION, "key"]),
    "NdLinear, one term": lambda: AdapterConfig(r=1, lora_alpha=4, target_modules=ATTENTION),
    "tensor train": lambda: AdapterConfig(
        r=4, lora_alpha=16, multiway_layer="tensor_train", multiway_modes=3, target_modules=ATTENTION
    ),
}
"""Every adapter but the first has at most a quarter of its parameters."""


def speed(repeats: int) -> Iterator[dict[str, Any]]:
    """Seconds of a frozen layer with each adapter, forward and backward."""
    for count, bar in BARS.items():
        torch.manual_seed(0)
        config = peft.LoKrConfig(r=WIDTH, target_modules=["0"])
        ours = peft.get_peft_model(nn.Sequential(nn.Linear(WIDTH, WIDTH)), config)
        theirs = as_pefts(copy.deepcopy(ours))
        x = torch.randn(count, WIDTH, requires_grad=True)
        cases = {"ours": ours, "LoKr of PEFT": theirs}
        times = rounds({name: functools.partial(step, model, x) for name, model in cases.items()}, repeats)
        ms = {name: round(1e3 * median(values), 3) for name, values in times.items()}
        ratio = round(ms["LoKr of PEFT"] / ms["ours"], 2)
        yield {
            "benchmark": "adapters",
            "rows": count,
            "width": WIDTH,
            "ms": ms,
            "ratio": ratio,
            "bar": bar,
            **machine(),
        }


def step(model: nn.Module, x: Tensor) -> None:
    """Forward and backward."""
    model(x).sum().backward()


def machine() -> dict[str, Any]:
    """Where and with what it was measured."""
    return {**rows.machine(), "peft": peft.__version__, "commit": rows.commit()}


def as_pefts(model: nn.Module) -> nn.Module:
    """The same model with PEFT's own layers."""
    for layer in model.modules():
        if isinstance(layer, Linear):
            layer.__class__ = Linear
    return model


def text(
    encoder: Path, sentences: int, epochs: int, rate: float, names: list[str], seeds: int, on: str
) -> Iterator[dict[str, Any]]:
    """Accuracy on the 872 sentences of SST-2's development split after training on some of its training split.

    A seed draws the adapter, the head and the order of sentences; all seeds see the same sentences. On validation,
    which is for choosing rates and targets, the score is of as many other sentences of the training split.
    """
    table = pd.read_parquet(Path(os.environ["MULTIWAY_DATA"]) / "text" / "sst2.parquet")
    tokenizer = AutoTokenizer.from_pretrained(encoder)
    training = table[table.split == "train"].sample(sentences, random_state=0)
    scored = table[table.split == "dev"]
    if on == "validation":
        others = table[table.split == "train"].drop(training.index)
        scored = others[~others.sentence.isin(training.sentence)].sample(len(scored), random_state=1)
    parts = [encoded(tokenizer, part) for part in (training, scored)]
    for name in names:
        done = [fine_tuned(encoder, name, parts, epochs, rate, seed) for seed in range(seeds)]
        each = [acc for _, acc, _ in done]
        yield {
            "benchmark": "adapters",
            "task": "SST-2",
            "on": on,
            "adapter": name,
            "parameters": done[0][0],
            "acc": round(statistics.mean(each), 4),
            "acc_sd": round(statistics.stdev(each), 4) if seeds > 1 else None,
            "each": each,
            "seconds": round(median([seconds for *_, seconds in done]), 1),
            "sentences": sentences,
            "epochs": epochs,
            "rate": rate,
            "seeds": seeds,
            **machine(),
        }


def fine_tuned(
    encoder: Path, name: str, parts: list[tuple[Tensor, Tensor]], epochs: int, rate: float, seed: int
) -> tuple[int, float, float]:
    """Parameters that learn, accuracy and the processor's seconds of one training."""
    torch.manual_seed(seed)
    network = AutoModel.from_pretrained(encoder)
    tuned = peft.get_peft_model(network, ADAPTERS[name]())
    tuned = as_pefts(tuned) if name == "LoKr of PEFT" else tuned
    parameters = sum(each.numel() for each in tuned.parameters() if each.requires_grad)
    model = TunedText(tuned, nn.Linear(network.config.hidden_size, 2))
    seconds = fine_tune(model, *parts[0], epochs, rate, seed)
    return parameters, round(accuracy(model, *parts[1]), 4), seconds


def encoded(tokenizer: Any, table: pd.DataFrame) -> tuple[Tensor, Tensor]:
    """Ids, one more than the tokenizer's and 0 behind each text, and labels."""
    words = tokenizer(list(table.sentence), padding=True, truncation=True, max_length=48, return_tensors="pt")
    return (words.input_ids + 1) * words.attention_mask, torch.tensor(table.label.to_numpy()).long()


def fine_tune(
    model: nn.Module, ids: Tensor, labels: Tensor, epochs: int, rate: float, seed: int, batch: int = 32
) -> float:
    """Train what may learn; the processor's seconds that it took."""
    learning = [each for each in model.parameters() if each.requires_grad]
    optimiser = torch.optim.AdamW(learning, lr=rate)
    steps = epochs * (len(ids) // batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, total_steps=steps, pct_start=0.1)
    generator, start = torch.Generator().manual_seed(seed), time.process_time()
    model.train()
    for _ in range(epochs):
        for chosen in torch.randperm(len(ids), generator=generator).split(batch)[: len(ids) // batch]:
            loss = F.cross_entropy(model(ids[chosen]), labels[chosen])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
    return time.process_time() - start


@torch.no_grad()
def accuracy(model: nn.Module, ids: Tensor, labels: Tensor) -> float:
    """Share of right answers."""
    model.eval()
    right = sum(int((model(ids[each]).argmax(1) == labels[each]).sum()) for each in torch.arange(len(ids)).split(64))
    return right / len(ids)


def main() -> None:
    """Print and keep rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["speed", "text"])
    parser.add_argument("--encoder", type=Path, help="folder of MiniLM")
    parser.add_argument("--sentences", type=int, default=1600)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--on", choices=["dev", "validation"], default="dev", help="which sentences are scored")
    parser.add_argument("--repeats", type=int, default=31)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--names", nargs="*", default=list(ADAPTERS))
    parser.add_argument("--out", type=Path, help="file to add the rows to")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    settings = (given.encoder, given.sentences, given.epochs, given.rate, given.names, given.seeds, given.on)
    for row in speed(given.repeats) if given.what == "speed" else text(*settings):
        rows.keep(row, given.out)


if __name__ == "__main__":
    main()
