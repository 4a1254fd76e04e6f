"""Parts of a report that tasks share: data check, training curve, machine, and the command that makes a run again."""

import json
import shlex
from collections.abc import Sequence
from typing import Any

from multiway.data import CheckReport
from multiway.report import CheckFinding, TrainingRow
from multiway.tasks.protocol import TaskConfig
from multiway.tasks.run import Run


def findings_of(check: CheckReport) -> list[CheckFinding]:
    """What a data check found, with the first places of each flaw."""
    return [
        CheckFinding(
            severity=finding.severity,
            message=f"{finding.rule} ({finding.count})" if finding.count > 1 else finding.rule,
            where="; ".join(map(str, finding.places[:3])),
            fix=finding.fix,
        )
        for finding in check.findings
    ]


def training_curve(runs: Sequence[Run]) -> list[TrainingRow]:
    """Every validation of every run, by its seed; nothing of runs without a folder."""
    return [
        TrainingRow(
            epoch=row["epoch"],
            train=row.get("train_loss"),
            validation=row.get("validation_loss"),
            score=row.get("validation_score"),
            seed=run.config.training.seed,
        )
        for run in runs
        for row in (run.folder.read_log() if run.folder else [])
    ]


def environment(manifest: dict[str, Any], seeds: Sequence[int]) -> dict[str, str]:
    """Versions, machine and hash of the data, as the manifest of a run holds them, and the seeds."""
    versions = manifest.get("versions", {})
    facts = {name: manifest.get(name) for name in ("python", "platform", "device", "threads", "data_sha256")}
    named = {name.replace("_", " "): str(value) for name, value in facts.items() if value is not None}
    return {**versions, **named, "seeds": ", ".join(map(str, seeds))}


def command(task: str, config: TaskConfig, usual: TaskConfig) -> str:
    """The command that makes a run again: its data, and every setting that is not the usual one."""
    if config.data is None:
        return ""
    known = _leaves(usual.plain())
    changed = {name: value for name, value in _leaves(config.plain()).items() if value != known.get(name)}
    changed.pop("data", None)
    options = [f"--set {shlex.quote(f'{name}={json.dumps(value)}')}" for name, value in changed.items()]
    return " ".join([f"multiway train {task} --data", shlex.quote(config.data), *options])


def _leaves(settings: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in settings.items():
        found |= _leaves(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}
    return found
