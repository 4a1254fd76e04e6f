"""A finished run or a Hugging Face model made smaller, and brought near its old answers again."""

import contextlib
import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack

from multiway import files, leftovers
from multiway.compress import NdLinear, Plan, Rule, compress_pretrained, distil_pretrained, parse_rule
from multiway.compress.budget import RankOptions
from multiway.compress.storage import read_tensors
from multiway.errors import ConfigError, Fix, RunError
from multiway.tasks.compressed import Recovery, compress_run, recovery_line
from multiway.tasks.protocol import Row
from multiway.tasks.run import Run
from multiway.tasks.scores import in_words, score_table, words_of
from multiway.tasks.text.source import read_texts

HALF = 0.5
"""Share of a layer's parameters that a rule leaves which says nothing of its size."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Compressed:
    """The plan of a compression, and the smaller run if a run was compressed and written.

    recovered: What `distil_pretrained` returned.
    """

    plan: Plan
    run: Run | None
    recovered: dict[str, float] = dataclasses.field(default_factory=dict)

    def lines(self) -> list[str]:
        """What came out of the run before and after."""
        if self.run is None:
            return [f"{name} on rows held out: {value:.4g}" for name, value in self.recovered.items()]
        before, after = self.run.facts["before_compression"], self.run.task.sentence(self.run)
        lines = [f"before: {in_words(self.run, before)}", f"after: {in_words(self.run, after)}"]
        recovery = self.run.facts.get("recovery")
        return lines if recovery is None else [*lines, recovery_line(self.run, recovery)]

    def table(self) -> list[Row]:
        """Its test scores, made anew."""
        return [] if self.run is None else score_table([self.run], "test")

    @property
    def words(self) -> dict[str, str]:
        """Names of the models in words, by what the table calls them."""
        return {} if self.run is None else words_of([self.run])

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain values for JSON."""
        return {**self.plan.to_dict(), "recovery": self.recovered} if self.recovered else self.plan.to_dict()


@files.sparing_inputs()
def compress(
    folder: Path,
    rules: Sequence[str],
    *,
    data: Path | None = None,
    out: Path | None = None,
    report: Path | None = None,
    finetune: int | None = None,
    distil: int | None = None,
    rate: float | None = None,
    **limits: Unpack[RankOptions],
) -> Compressed:
    """Compress a run's network or a Hugging Face model by rules such as ".*fc1=tt:rank=8"; without `out` only plan.

    `limits` are as for `multiway.compress.plan`.
    """
    is_run = (folder / "config.yaml").is_file()
    files.add_input(data, *(() if is_run or not folder.is_dir() else folder.iterdir()))
    files.check_place(out, report)
    if out is not None and out.exists():
        raise RunError(f"{out} exists already. Set out to another folder (", Fix("out", like="FOLDER"), ").")
    parsed = _parse_rules(rules, has_budget=any(limit is not None for limit in limits.values()))
    if is_run and data is not None:
        raise ConfigError("compress: a run is measured on its own validation samples. Leave out the data.")
    recovery = _recovery(finetune, distil, rate, is_run=is_run, has_data=data is not None)
    recovered: dict[str, float] = {}
    leftovers.remove(out, report)
    with files.all_or_nothing():
        if is_run:
            plan, run = compress_run(folder, parsed, **limits, out=out, recovery=recovery)
        else:
            rows, labels = _rows(data, is_cut=recovery is not None)
            with contextlib.nullcontext() if out is None else files.folder_to_fill(out) as made:
                plan, run = compress_pretrained(folder, parsed, **limits, data=rows, out=made), None
                if made is not None and recovery is not None:
                    rates = {} if recovery.rate is None else {"rate": recovery.rate}
                    recovered = distil_pretrained(made, folder, rows, labels=labels, epochs=recovery.epochs, **rates)
        if report is not None:
            files.write_text(report, plan.html(folder.resolve().name))
    return Compressed(plan=plan, run=run, recovered=recovered)


def _rows(data: Path | None, *, is_cut: bool) -> tuple[Any, Any]:
    """Rows of a table of texts or of a safetensors file, and their classes; the file itself where it is one batch."""
    if data is None or (data.suffix == ".safetensors" and not is_cut):
        return data, None
    if data.suffix == ".safetensors":
        tensors = read_tensors(data)
        labels = tensors.pop("labels", None)
        return tensors, None if labels is None else labels.tolist()
    texts = read_texts(data)
    classes = None if texts.target is None else [(texts.classes or ())[place] for place in texts.target.tolist()]
    return texts.inputs.tolist(), classes


def _recovery(
    finetune: int | None, distil: int | None, rate: float | None, *, is_run: bool, has_data: bool
) -> Recovery | None:
    """How a run is trained further, if at all."""
    epochs = finetune if distil is None else distil
    if rate is not None and (epochs is None or not 0 < rate < math.inf):
        raise ConfigError(
            f"compress: rate is a learning rate above 0 for finetune or distil. Got {rate}; give one too."
        )
    if epochs is None:
        return None
    if finetune is not None and distil is not None:
        raise ConfigError("compress: give one of finetune and distil; distil learns from labels as well.")
    if not is_run and (finetune is not None or not has_data):
        raise ConfigError(
            "compress: a folder of Hugging Face has no samples of its own. Give texts or tensors as data to distil it, "
            "or train it in Python on a loss of yours: compress.finetune(compress.load(OUT), batches, loss)."
        )
    if epochs < 1:
        raise ConfigError(f"compress: a recovery takes one epoch or more. Got {epochs}.")
    return Recovery(epochs, distil=distil is not None, rate=rate)


def _parse_rules(texts: Sequence[str], *, has_budget: bool) -> dict[str, Rule]:
    """Rules by pattern; one that says nothing of its size, where no budget does either, halves each of its layers."""
    parsed: dict[str, Rule] = {}
    for text in texts:
        pattern, rule = parse_rule(text)
        if pattern in parsed:
            raise ConfigError(f"compress: the pattern {pattern!r} has two rules. Give it one.")
        is_open = rule.rank is None and rule.max_error is None and rule.max_share is None
        halved = is_open and not has_budget and not isinstance(rule, NdLinear)
        parsed[pattern] = dataclasses.replace(rule, max_share=HALF) if halved else rule
    return parsed
