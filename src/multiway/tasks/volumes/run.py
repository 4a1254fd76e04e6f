"""A run that classifies volumes: started, continued, stored and taken up again."""

import dataclasses
from pathlib import Path
from typing import Any

import pandas as pd
from torch import nn

from multiway import files
from multiway.data.volumes import Cases, IntensityScale
from multiway.errors import RunError
from multiway.tasks.processes import is_main
from multiway.tasks.run_folders import continued, open_finished, readable, started
from multiway.tasks.volumes.config import VolumeConfig
from multiway.tasks.volumes.fitting import OURS, Fitted, build_model, check_models, fit
from multiway.tasks.volumes.prepared import SPLITS, Prepared, locate, prepare
from multiway.training import RunFolder

NAME = "volumes"
PREPROCESSING, SCORES, PREDICTIONS, BASELINES = "preprocessing.json", "scores.json", "predictions.parquet", "baselines"


@dataclasses.dataclass(kw_only=True)
class VolumeRun:
    """A fitted classifier with all that is needed to use it on other volumes.

    classes: Names of the classes, in the order of the logits.
    channels: Values per voxel.
    sizes: Voxels along each axis, after preparing.
    axes: Names of the axes.
    threshold: Of the second of two classes, chosen on validation; None for more than two.
    thresholds: The same for every model of the run.
    scores: One row per model, split and metric, with its interval.
    predictions: One row per case of validation and test, and model.
    facts: What a report says of data and fit.
    baselines: Those fitted beside it, as far as they are loaded; see `baselines_of`.
    """

    config: VolumeConfig
    model: nn.Module
    classes: tuple[str, ...]
    channels: int
    sizes: tuple[int, ...]
    axes: tuple[str, ...]
    scale: IntensityScale
    threshold: float | None
    thresholds: dict[str, float | None]
    scores: list[dict[str, Any]]
    predictions: pd.DataFrame
    facts: dict[str, Any]
    folder: RunFolder | None = None
    baselines: dict[str, nn.Module] = dataclasses.field(default_factory=dict)


def start(config: VolumeConfig, path: Path, *, progress: bool = False) -> VolumeRun:
    """Read the data, then make the folder, then fit: an error in the data leaves nothing behind."""
    if config.data is None:
        raise RunError("a run on disk needs data: give a .npz, a table of scans, or the name of a known data set.")
    prepared = prepare(config, locate(config.data))
    check_models(prepared, config)
    with started(path, NAME, prepared.digest, config) as folder:
        return _fit_into(folder, prepared, config, progress)


def resume(path: Path, *, progress: bool = False) -> VolumeRun:
    """Continue an interrupted run to the same weights; a finished one is only loaded.

    Raises:
        RunError: The data changed since the start, or the folder is no run of this task.
    """
    folder = RunFolder.open(path)
    if folder.is_finished:
        return load(path)
    with continued(folder, NAME, VolumeConfig) as (config, digest):
        prepared = prepare(config, locate(config.data or ""))
        if prepared.digest != digest:
            raise RunError(
                f"{path}: {config.data} changed since the run was started. Start a new run, or restore the data."
            )
        return _fit_into(folder, prepared, config, progress)


def _fit_into(folder: RunFolder, prepared: Prepared, config: VolumeConfig, progress: bool) -> VolumeRun:
    fitted = fit(prepared, config, run=folder, progress=progress)
    run = from_fitted(config, prepared, fitted)
    run.folder = folder
    if is_main():
        store(run, folder, prepared.digest)
    return run


def from_fitted(config: VolumeConfig, prepared: Prepared, fitted: Fitted) -> VolumeRun:
    """Gather what a run keeps."""
    return VolumeRun(
        config=config,
        model=fitted.models[OURS],
        classes=prepared.cases.classes,
        channels=prepared.channels,
        sizes=prepared.sizes,
        axes=prepared.cases.axes,
        scale=prepared.scale,
        threshold=fitted.thresholds[OURS],
        thresholds=fitted.thresholds,
        scores=fitted.scores,
        predictions=fitted.predictions,
        facts=_facts(prepared, fitted),
        baselines={name: model for name, model in fitted.models.items() if name != OURS},
    )


def _facts(prepared: Prepared, fitted: Fitted) -> dict[str, Any]:
    cases = prepared.cases
    return {
        "source": cases.source,
        "cases": cases.count,
        "notes": list(prepared.notes),
        "splits": {split: _split_facts(cases, split) for split in SPLITS},
        "parameters": {
            name: sum(tensor.numel() for tensor in model.parameters())
            for name, model in fitted.models.items()
            if name in fitted.histories
        },
        "best": {
            name: {"epoch": each.best_epoch, "validation_loss": each.best_loss, "validation_auc": each.best_score}
            for name, each in fitted.histories.items()
        },
        "histories": {name: each.rows for name, each in fitted.histories.items() if name != OURS},
        "seconds": {name: round(value, 3) for name, value in fitted.seconds.items()},
        **fitted.facts,
    }


def _split_facts(cases: Cases, split: str) -> dict[str, Any]:
    rows = cases.indices(split)
    patients = None if cases.patients is None else len({cases.patients[row] for row in rows})
    return {"cases": len(rows), "patients": patients, "classes": cases.class_counts()[split]}


def store(run: VolumeRun, folder: RunFolder, digest: str | None) -> None:
    """Write every file of a finished run, then seal it."""
    folder.save_weights(run.model)
    (folder.path / BASELINES).mkdir(exist_ok=True)
    for name, model in run.baselines.items():
        folder.save_weights(model, f"{BASELINES}/{name}.safetensors")
    folder.write_json(
        PREPROCESSING,
        {
            "classes": run.classes,
            "channels": run.channels,
            "sizes": run.sizes,
            "axes": run.axes,
            "scale": run.scale.to_dict(),
            "thresholds": run.thresholds,
            "facts": run.facts,
        },
    )
    folder.write_json(SCORES, run.scores)
    files.write_with(folder.path / PREDICTIONS, lambda path: run.predictions.to_parquet(path, index=False))
    folder.finish({"task": NAME, "data_sha256": digest, "seed": run.config.training.seed})


def load(path: Path) -> VolumeRun:
    """Take up a finished run; every file is checked against its hash first.

    Raises:
        RunError: It is unfinished, damaged, or no run of this task.
    """
    folder, config = open_finished(path, NAME, VolumeConfig)
    state, scores = folder.read_json(PREPROCESSING), folder.read_json(SCORES)
    with readable(path, "run of volumes"):
        classes, sizes, channels = tuple(state["classes"]), tuple(state["sizes"]), int(state["channels"])
        model = build_model(OURS, config, sizes, channels, len(classes))
        folder.load_weights(model)
        return VolumeRun(
            config=config,
            model=model.eval(),
            classes=classes,
            channels=channels,
            sizes=sizes,
            axes=tuple(state["axes"]),
            scale=IntensityScale.from_dict(state["scale"]),
            threshold=state["thresholds"][OURS],
            thresholds=state["thresholds"],
            scores=scores,
            predictions=pd.read_parquet(folder.path / PREDICTIONS),
            facts=state["facts"],
            folder=folder,
        )


def baselines_of(run: VolumeRun) -> dict[str, nn.Module]:
    """The fitted baselines of a run, read from its folder when they are first asked for.

    Raises:
        RunError: A file is damaged.
        ConfigError: One needs a package that is not installed.
    """
    for name in run.config.baselines:
        if name not in run.baselines and run.folder is not None:
            model = build_model(name, run.config, run.sizes, run.channels, len(run.classes))
            run.folder.load_weights(model, f"{BASELINES}/{name}.safetensors")
            run.baselines[name] = model.eval()
    return run.baselines
