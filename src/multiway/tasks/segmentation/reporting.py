"""What a segmentation run has to say, as the content of a report."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from multiway.report import TrainingRow
from multiway.report.segmentation import SegmentationReport, SegmentationScore, SegmentedSlice
from multiway.tasks.run import Run
from multiway.tasks.scores import deviation, mean
from multiway.tasks.segmentation.evaluation import headline
from multiway.tasks.segmentation.showing import load_slices


def report_content(runs: Sequence[Run]) -> SegmentationReport:
    """Content of one report for runs that differ in their seed only; the first is shown in detail."""
    run = runs[0]
    seeds = [each.config.training.seed for each in runs]
    manifest = run.folder.verify() if run.folder else {}
    test = run.tables["cases"][(run.tables["cases"]["split"] == "test") & run.tables["cases"]["scored"]]
    by_case = test.groupby(["model", "case"], sort=False)["dice"].mean().dropna()
    return SegmentationReport(
        title=Path(run.facts["source"]).stem,
        sentence=run.task.sentence(run),
        headline=headline(run.state.num_modes),
        scores=[_score(runs, row) for row in run.scores if row["split"] == "test" and _is_shown(run, row)],
        classes=list(dict.fromkeys(test["class"])),
        splits=run.facts["splits"],
        seeds=seeds,
        distance=run.facts["distance"],
        source=str(run.config.data or ""),
        created=str(manifest.get("finished", "")),
        setting=_setting(run),
        dice_by_case={str(model): list(values) for model, values in by_case.groupby(level="model", sort=False)},
        slices=_slices(run),
        training=[
            TrainingRow(epoch=row["epoch"], train=row["train_loss"], validation=row["validation_loss"], seed=seed)
            for each, seed in zip(runs, seeds, strict=True)
            for row in (each.folder.read_log() if each.folder else [])
        ],
        notes=run.facts["notes"],
        environment=_environment(manifest),
    )


def _is_shown(run: Run, row: dict[str, Any]) -> bool:
    return run.state.num_modes == 3 or row["metric"] not in ("cl_dice", "hd95")


def _score(runs: Sequence[Run], row: dict[str, Any]) -> SegmentationScore:
    values = [_value(run, row) for run in runs]
    return SegmentationScore(
        model=row["model"],
        metric=row["metric"],
        name=row["class"],
        value=mean(values),
        low=row["low"],
        high=row["high"],
        deviation=deviation(values),
    )


def _setting(run: Run) -> dict[str, str]:
    name, _ = run.config.network(run.state.num_modes)
    return {
        "model": name,
        "parameters": ", ".join(f"{model} {count:,}" for model, count in run.facts["parameters"].items()),
        "classes": str(len(run.state.classes)),
        "channels": str(run.state.channels),
        "image": " x ".join(map(str, run.facts["sizes"])),
        "patch": " x ".join(map(str, run.state.patch)),
    }


def _slices(run: Run) -> list[SegmentedSlice]:
    if run.folder is None:
        return []
    return [
        SegmentedSlice(
            case=shown.case, dice=shown.dice, image=shown.image, target=shown.target, predicted=shown.predicted
        )
        for shown in load_slices(run.folder)
    ]


def _environment(manifest: dict[str, Any]) -> dict[str, str]:
    plain = {name: str(manifest[name]) for name in ("device", "python", "platform", "threads") if name in manifest}
    return plain | {str(name): str(value) for name, value in manifest.get("versions", {}).items()}


def _value(run: Run, wanted: dict[str, Any]) -> float | None:
    keys = ("model", "split", "metric", "class")
    return next((row["value"] for row in run.scores if all(row[key] == wanted[key] for key in keys)), None)
