"""A segmentation run: started, continued, stored and taken up again."""

import dataclasses
from pathlib import Path
from typing import Any

import pandas as pd
from torch import Tensor, nn

from multiway import files
from multiway.data.volumes import IntensityScale
from multiway.errors import RunError
from multiway.tasks.processes import is_main
from multiway.tasks.run_folders import UNREADABLE, continued, open_finished, readable, started
from multiway.tasks.segmentation.config import SegmentConfig
from multiway.tasks.segmentation.examples import Examples
from multiway.tasks.segmentation.fitting import (
    OURS,
    PLAIN,
    Fitted,
    build_network,
    check_fits,
    fit,
    network_predictor,
)
from multiway.tasks.segmentation.predictors import (
    ConstantPredictor,
    LogisticPredictor,
    NetworkPredictor,
    Predictor,
    ThresholdPredictor,
)
from multiway.tasks.segmentation.showing import SLICES, save_slices
from multiway.tasks.segmentation.sources import fingerprint, locate, read_examples
from multiway.training import RunFolder
from multiway.training.run_folder import WEIGHTS

NAME = "segment"
PREPROCESSING, SCORES, CASES, LOGISTIC = "preprocessing.json", "scores.json", "cases.parquet", "logistic.safetensors"
BASELINES = "baselines"


@dataclasses.dataclass(kw_only=True)
class SegmentRun:
    """A fitted segmenter with all that is needed to use it on other images.

    values: Values of the masks, in the order of `classes`.
    predictors: The network under "multiway", then the baselines.
    scores: One row per model, split, metric and class, with its interval.
    cases: One row per model, split, case and class.
    facts: What the report says of data and fit.
    """

    config: SegmentConfig
    classes: tuple[str, ...]
    values: tuple[int, ...]
    channels: int
    axes: tuple[str, ...]
    scale: IntensityScale
    patch: tuple[int, ...]
    predictors: dict[str, Predictor]
    scores: list[dict[str, Any]]
    cases: pd.DataFrame
    facts: dict[str, Any]
    folder: RunFolder | None = None

    @property
    def num_modes(self) -> int:
        """Axes of an image."""
        return len(self.axes)

    @property
    def network(self) -> NetworkPredictor:
        """The network, over windows."""
        predictor = self.predictors[OURS]
        assert isinstance(predictor, NetworkPredictor)
        return predictor

    @property
    def model(self) -> nn.Module:
        """The network itself."""
        return self.network.model


def start(config: SegmentConfig, path: Path, *, progress: bool = False) -> SegmentRun:
    """Read the data, then make the folder, then fit: an error in the data leaves nothing behind."""
    if config.data is None:
        raise RunError("a run on disk needs data: give a table of images and masks, a scene, or a known name.")
    source = locate(config.data)
    examples = read_examples(source, config)
    check_fits(config, examples)
    digest = fingerprint(source)
    with started(path, NAME, digest, config) as folder:
        return _fit_into(folder, examples, config, digest, progress)


def resume(path: Path, *, progress: bool = False) -> SegmentRun:
    """Continue an interrupted run to the same weights; a finished one is only loaded.

    Raises:
        RunError: The data changed since the start, or the folder is no run of this task.
    """
    folder = RunFolder.open(path)
    if folder.is_finished:
        return load(path)
    with continued(folder, NAME, SegmentConfig) as (config, digest):
        source = locate(config.data or "")
        if fingerprint(source) != digest:
            raise RunError(f"{path}: {source} changed since the run was started. Start a new run, or restore the file.")
        return _fit_into(folder, read_examples(source, config), config, digest, progress)


def _fit_into(folder: RunFolder, examples: Examples, config: SegmentConfig, digest: str, progress: bool) -> SegmentRun:
    fitted = fit(examples, config, run=folder, progress=progress)
    run = SegmentRun(
        config=config, classes=examples.classes, values=examples.values, channels=examples.channels,
        axes=examples.axes, scale=fitted.scale, patch=fitted.patch, predictors=fitted.predictors,
        scores=fitted.scores, cases=fitted.cases, facts=_facts(examples, fitted), folder=folder,
    )  # fmt: skip
    if is_main():
        _store(run, folder, examples, digest)
    return run


def _facts(examples: Examples, fitted: Fitted) -> dict[str, Any]:
    first = examples.read(examples.rows("train")[0])
    return {
        "source": examples.source,
        "notes": list(examples.notes),
        "background": examples.background,
        "splits": {split: len(rows) for split, rows in examples.splits.items()},
        "sizes": list(first.target.shape),
        "distance": "voxels" if first.spacing is None else "mm",
        "seconds": {name: round(value, 3) for name, value in fitted.seconds.items()},
        "parameters": {
            name: sum(parameter.numel() for parameter in predictor.model.parameters())
            for name, predictor in fitted.predictors.items()
            if isinstance(predictor, NetworkPredictor)
        },
    }


def _store(run: SegmentRun, folder: RunFolder, examples: Examples, digest: str) -> None:
    """Write every file of a finished run, then seal it."""
    folder.save_weights(run.model)
    (folder.path / BASELINES).mkdir(exist_ok=True)
    plain: dict[str, Any] = {}
    for name, predictor in run.predictors.items():
        if isinstance(predictor, NetworkPredictor) and name != OURS:
            folder.save_weights(predictor.model, f"{BASELINES}/{name}.safetensors")
        elif isinstance(predictor, LogisticPredictor):
            _save_tensors(folder.path / LOGISTIC, {"weight": predictor.weight, "bias": predictor.bias})
        elif isinstance(predictor, ConstantPredictor | ThresholdPredictor):
            plain[name] = dataclasses.asdict(predictor)
    folder.write_json(
        PREPROCESSING,
        {
            "classes": run.classes,
            "values": run.values,
            "channels": run.channels,
            "axes": run.axes,
            "patch": run.patch,
            "scale": run.scale.to_dict(),
            "models": list(run.predictors),
            "baselines": plain,
            "facts": run.facts,
        },
    )
    folder.write_json(SCORES, run.scores)
    files.write_with(folder.path / CASES, lambda path: run.cases.to_parquet(path, index=False))
    save_slices(folder.path / SLICES, run.cases, run.network, examples)
    folder.finish({"task": NAME, "data_sha256": digest, "seed": run.config.training.seed})


def _save_tensors(path: Path, tensors: dict[str, Tensor]) -> None:
    from safetensors.torch import save_file

    files.write_with(path, lambda temporary: save_file({k: v.contiguous() for k, v in tensors.items()}, temporary))


def load(path: Path) -> SegmentRun:
    """Take up a finished run; every file is checked against its hash first.

    Raises:
        RunError: It is unfinished, damaged, or no run of this task.
    """
    folder, config = open_finished(path, NAME, SegmentConfig)
    state, scores = folder.read_json(PREPROCESSING), folder.read_json(SCORES)
    with readable(path, "segmentation run", (*UNREADABLE, OSError)):
        run = SegmentRun(
            config=config, classes=tuple(state["classes"]), values=tuple(state["values"]), channels=state["channels"],
            axes=tuple(state["axes"]), scale=IntensityScale.from_dict(state["scale"]), patch=tuple(state["patch"]),
            predictors={}, scores=scores, cases=pd.read_parquet(folder.path / CASES), facts=state["facts"],
            folder=folder,
        )  # fmt: skip
        for name in state["models"]:
            run.predictors[name] = _load_predictor(name, run, folder, state["baselines"])
        return run


def _load_predictor(name: str, run: SegmentRun, folder: RunFolder, baselines: dict[str, Any]) -> Predictor:
    if name in (OURS, PLAIN):
        model = build_network(run.config, run, plain=name == PLAIN)
        folder.load_weights(model, WEIGHTS if name == OURS else f"{BASELINES}/{name}.safetensors")
        return network_predictor(model, run.scale, run.patch, run.config)
    if name == "logistic":
        from safetensors.torch import load_file

        tensors = load_file(folder.path / LOGISTIC)
        return LogisticPredictor(weight=tensors["weight"], bias=tensors["bias"], scale=run.scale)
    return (ConstantPredictor if name == "background" else ThresholdPredictor)(**baselines[name])
