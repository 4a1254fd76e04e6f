"""Parts that every report has: costs, data check, splits, training, environment and the command."""

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from multiway.config import Plain, leaves
from multiway.data import CheckReport
from multiway.errors import spell_message, write_command
from multiway.explain import ModeMap
from multiway.report import text
from multiway.report.attention import figures
from multiway.report.diagnostics import TrainingRow, training_chart
from multiway.report.scores import Scores
from multiway.report.sections import (
    CheckLine,
    CheckLines,
    Code,
    Fact,
    FactList,
    HeatMaps,
    PagePart,
    Section,
    Table,
    TableCell,
    Text,
)
from multiway.tasks.lifecycle import if_there
from multiway.tasks.run import Run
from multiway.tasks.scores import step_bytes
from multiway.training.stored import run_environment

NOT_ATTRIBUTION = "Attention is not attribution: it says where the network looked, not what made the answer."
PERIOD = re.compile(r"\d{4}(-\d{2})?")
"""Name of a fact on a month or a year."""
MANY = 4
"""Months or years from which on they are folded."""
PLACES, MISSING = 3, object()
"""Places of a flaw that the data check names."""


def manifest_of(run: Run) -> Plain:
    """What is written when the run is sealed."""
    if run.folder is None:
        return {}
    return run.folder.verify() if run.folder.is_finished else {"data_sha256": run.digest, **run_environment()}


def seeds_of(runs: Sequence[Run]) -> list[int]:
    """Seed of each run."""
    return [run.config.training.seed for run in runs]


def add_headings(items: Iterable[tuple[str, Section]]) -> Iterator[Section]:
    """Sections, each heading before the first under it."""
    for heading, group in itertools.groupby(items, key=lambda item: item[0]):
        yield Text(words=heading, style="heading")
        yield from (section for _, section in group)


def maps_part(maps: Sequence[ModeMap], side: Sequence[str], more: Iterable[Section | None] = ()) -> PagePart:
    """Maps per mode, what they are of at the side, and what else is said of them."""
    content = [HeatMaps(figures=figures(maps)) if maps else None, *more]
    return PagePart(id="attention", title="Attention", side=side, content=content)


def cost_table(run: Run, scores: Scores, colours: Mapping[str, int]) -> list[Table]:
    """Parameters and times of every model that has them, FLOPs and memory of ours; empty columns are left out."""
    parameters, seconds = run.facts.get("parameters", {}), run.facts.get("seconds", {})
    memory = {run.task.own: step_bytes(run)}
    flops = {run.task.own: run.facts.get("flops")}
    models = [model for model in dict.fromkeys([*parameters, *seconds]) if model in colours]
    columns = {
        "Parameters": [text.magnitude(parameters.get(model)) for model in models],
        "FLOPs": [text.magnitude(flops.get(model)) for model in models],
        "Memory of a step": [text.magnitude(memory.get(model), "B") for model in models],
        "Time to fit": [text.duration(seconds.get(model)) for model in models],
    }
    kept = {name: cells for name, cells in columns.items() if any(cell != text.MISSING for cell in cells)}
    heads = [TableCell(scores.name(model), swatch=f"s{colours[model]}") for model in models]
    rows = [list(row) for row in zip(heads, *kept.values(), strict=True)]
    return [Table(title="Cost", columns=["Model", *kept], rows=rows)] if rows else []


def check_of(run: Run) -> CheckReport | None:
    """What the check of the run's data sees; None where the data are gone."""
    data = run.config.data
    report = None if data is None else if_there(lambda: run.task.kind.check(run.config, run.task.locate(data)))
    is_read = report is not None and any(value is not None for value in report.summary.values())
    return report if is_read else None


def data_check(report: CheckReport | None) -> PagePart | None:
    """What the check of the data saw, with the first places of each flaw."""
    if report is None:
        return None
    known = {name: str(value).removesuffix(" 00:00:00") for name, value in report.summary.items() if value is not None}
    periods = {name: value for name, value in known.items() if PERIOD.fullmatch(name)}
    periods = periods if len(periods) >= MANY else {}
    facts = [Fact(name.capitalize(), value) for name, value in known.items() if name not in periods]
    findings = [
        CheckLine(
            item.severity,
            f"{item.rule} ({item.count})" if item.count > 1 else item.rule,
            "; ".join(map(str, item.places[:PLACES])),
            fix=spell_message(item.fix),
        )
        for item in report.findings
    ]
    side = ["What was found in the data before training, and what was or can be done about it."]
    content = [FactList(items=facts) if facts else None, _periods(periods), CheckLines(findings=findings)]
    return PagePart(id="data-check", title="Data check", side=side, content=content)


def _periods(facts: Mapping[str, str]) -> Table | None:
    """What there is in each month or year, folded."""
    unit = "month" if any("-" in name for name in facts) else "year"
    rows, heads = [list(item) for item in facts.items()], [unit.capitalize(), "What there is"]
    return Table(columns=heads, rows=rows, fold=f"Each of {len(rows)} {unit}s", style="words") if rows else None


def split_table(
    splits: Mapping[str, Mapping[str, Any]], titles: Mapping[str, str], *, total: str, shares: Sequence[str] = ()
) -> Table:
    """A row per split.

    `splits` has facts by split: numbers, words, or counts by name ("classes"), which become columns. `titles` has their
    heads, in order; `shares` are printed with their share of `total`.
    """
    flat = {name: _flat(part, titles) for name, part in splits.items()}
    names = list(dict.fromkeys(key for part in flat.values() for key, value in part.items() if value is not None))
    parts = {key for part in splits.values() for value in part.values() if isinstance(value, Mapping) for key in value}

    def cell(part: Plain, key: str) -> TableCell:
        value, whole = part.get(key), part.get(total) if key in parts | {*shares} else None
        words = text.count(value) if isinstance(value, int) else str(value or "")
        return TableCell(words, small=text.percent(100 * int(value or 0) / whole, 1) if whole and words else "")

    return Table(
        columns=["Split", *(titles.get(name, name) for name in names)],
        rows=[
            [TableCell(name, swatch=f"k{row % 3}"), *(cell(part, key) for key in names)]
            for row, (name, part) in enumerate(flat.items())
        ],
    )


def _flat(part: Mapping[str, Any], titles: Mapping[str, str]) -> Plain:
    """Facts of one split, those by name taken apart."""
    facts: Plain = {}
    for key in titles:
        value = part.get(key)
        facts |= dict(value) if isinstance(value, Mapping) else {key: value}
    return facts


def training(runs: Sequence[Run], words: str, selected_by: str) -> PagePart:
    """Loss of every run by epoch, the epoch of the kept weights marked; empty for runs without a log."""
    logs = [run.folder.read_log() if run.folder else [] for run in runs]
    rows = [
        TrainingRow(row["epoch"], row.get("train_loss"), row.get("validation_loss"), seed)
        for log, seed in zip(logs, seeds_of(runs), strict=True)
        for row in log
    ]
    kept = [run.facts["best"][run.task.own]["epoch"] for run in runs if run.task.own in run.facts["best"]]
    side = [f"Loss on the training and the validation {words}.", f"The weights with the {selected_by} are kept."]
    several = len({row.epoch for row in rows}) > 1
    alone = [Text(words="Trained for one epoch.")] if rows else []
    return PagePart(
        id="training", title="Training", side=side, content=[training_chart(rows, kept)] if several else alone
    )


def environment(facts: Mapping[str, str], words: str) -> PagePart:
    """Versions, machine, seeds and hash of the data, and the command that reproduces the run."""
    listing = FactList(items=[Fact(*item) for item in facts.items()], style="listing")
    content = [Code(words=words) if words else None, listing]
    side = ["What is needed to reproduce the numbers."]
    return PagePart(id="environment", title="Environment", side=side, content=content)


def environment_facts(runs: Sequence[Run], manifest: Plain) -> dict[str, str]:
    """What the manifest of a run says of the machine, and the seeds of all."""
    facts = {name: manifest.get(name) for name in ("python", "platform", "device", "threads", "data_sha256")}
    named = {name.replace("_", " "): str(value) for name, value in facts.items() if value is not None}
    versions = {name: str(value) for name, value in manifest.get("versions", {}).items()}
    return {**versions, **named, "seeds": ", ".join(map(str, seeds_of(runs)))}


def train_command(run: Run) -> str:
    """The command that reproduces a run: its data, and every setting that is not the usual one of these data."""
    config = run.config
    if config.data is None:
        return ""
    known = leaves(run.task.configure({"data": config.data}).plain())
    changed = {name: value for name, value in leaves(config.plain()).items() if value != known.get(name, MISSING)}
    return write_command(
        "train", run.task.name, data=config.data, set=[f"{n}={json.dumps(v)}" for n, v in changed.items()]
    )
