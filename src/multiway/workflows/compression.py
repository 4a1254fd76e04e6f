"""Making a trained model smaller."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack

from multiway import files, leftovers
from multiway.compress import NdLinear, Plan, Rule, compress_pretrained, parse_rule
from multiway.compress.budget import RankOptions
from multiway.errors import ConfigError, Fix, RunError
from multiway.tasks.compressed import Recovery, compress_run, recovery_line
from multiway.tasks.protocol import Row
from multiway.tasks.run import Run
from multiway.tasks.scores import score_table

HALF = 0.5
"""Share of a layer's parameters that a rule leaves which says nothing of its size."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Compressed:
    """The plan of a compression, and the smaller run if a run was compressed and written."""

    plan: Plan
    run: Run | None

    def lines(self) -> list[str]:
        """What came out of the run before and after."""
        if self.run is None:
            return []
        lines = [f"before: {self.run.facts['before_compression']}", f"after: {self.run.task.sentence(self.run)}"]
        recovery = self.run.facts.get("recovery")
        return lines if recovery is None else [*lines, recovery_line(self.run, recovery)]

    def table(self) -> list[Row]:
        """Its test scores, made anew."""
        return [] if self.run is None else score_table([self.run], "test")

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain values for JSON."""
        return self.plan.to_dict()


def compress(
    folder: Path,
    rules: Sequence[str],
    *,
    data: Path | None = None,
    out: Path | None = None,
    report: Path | None = None,
    finetune: int | None = None,
    distil: int | None = None,
    **limits: Unpack[RankOptions],
) -> Compressed:
    """Compress a run's network or a Hugging Face model by rules such as ".*fc1=tt:rank=8"; without `out` only plan.

    `limits` are as for `multiway.compress.plan`.
    """
    files.check_place(out, report)
    if out is not None and out.exists():
        raise RunError(f"{out} exists already. Set out to another folder (", Fix("out", like="FOLDER"), ").")
    parsed = _parse_rules(rules, has_budget=any(limit is not None for limit in limits.values()))
    is_run = (folder / "config.yaml").is_file()
    if is_run and data is not None:
        raise ConfigError("compress: a run is measured on its own validation samples. Leave out the data.")
    recovery = _recovery(finetune, distil, is_run=is_run)
    leftovers.remove(out, report)
    with files.all_or_nothing():
        if is_run:
            plan, run = compress_run(folder, parsed, **limits, out=out, recovery=recovery)
        else:
            plan, run = compress_pretrained(folder, parsed, **limits, data=data, out=out), None
        if report is not None:
            files.write_text(report, plan.html(folder.resolve().name))
    return Compressed(plan=plan, run=run)


def _recovery(finetune: int | None, distil: int | None, *, is_run: bool) -> Recovery | None:
    """How a run is trained further, if at all."""
    epochs = finetune if distil is None else distil
    if epochs is None:
        return None
    if finetune is not None and distil is not None:
        raise ConfigError("compress: give one of finetune and distil; distil learns from labels as well.")
    if not is_run:
        raise ConfigError("compress: a run is trained further on its own samples; a folder of Hugging Face has none.")
    if epochs < 1:
        raise ConfigError(f"compress: a recovery takes one epoch or more. Got {epochs}.")
    return Recovery(epochs, distil=distil is not None)


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
