"""A finished run made smaller: its network compressed, weighed against ridge again, and scored anew."""

import copy
from collections.abc import Mapping
from pathlib import Path

import torch

from multiway import compress, files
from multiway.errors import RunError
from multiway.tasks.forecasting.fitting import score_again
from multiway.tasks.forecasting.prepared import Prepared, locate, prepare
from multiway.tasks.forecasting.run import ForecastRun, from_fitted, load, store
from multiway.training import RunFolder

MAX_WINDOWS = 64


def compress_run(
    path: Path,
    rules: Mapping[str, compress.Rule],
    *,
    max_parameters: float | None = None,
    max_error: float | None = None,
    out: Path | None = None,
) -> tuple[compress.Plan, ForecastRun | None]:
    """Plan the compression of a run's network on its validation windows; with `out`, also make the smaller run.

    The new run weighs its network against ridge on validation, calibrates its intervals and reads the test rows as a
    new training would: none of the old scores are carried over.

    Raises:
        RunError: The run has no network, its data changed, or `out` exists.
        ConfigError: The rules do not fit the network.
    """
    run = load(path)
    if run.model.network is None or run.folder is None:
        raise RunError(
            f"{path}: the run has no network to compress. Set network to true in training (--set network=true)."
        )
    prepared, digest = _prepare(run, run.folder)
    plan = compress.plan(
        run.model.network, rules, data=_windows(prepared), max_parameters=max_parameters, max_error=max_error
    )
    return plan, None if out is None else _store(run, plan, prepared, digest, out)


def _prepare(run: ForecastRun, folder: RunFolder) -> tuple[Prepared, str]:
    if run.config.data is None:
        raise RunError(f"{folder.path}: the run was fitted on a frame in memory, and its scores cannot be made anew.")
    source, digest = locate(run.config.data), folder.config().get("data_sha256")
    if not Path(source).is_file() or files.sha256_of(Path(source)) != digest:
        raise RunError(f"{folder.path}: {source} is not the file of the training any more. Restore it.")
    return prepare(run.config, source), str(digest)


def _windows(prepared: Prepared) -> tuple[torch.Tensor | None, ...]:
    """Validation windows, evenly spread."""
    windows = prepared.windows["validation"]
    batch = windows.gather(torch.linspace(0, len(windows) - 1, min(MAX_WINDOWS, len(windows))).long())
    return batch["past"], batch.get("past_observed")


def _store(run: ForecastRun, plan: compress.Plan, prepared: Prepared, digest: str, out: Path) -> ForecastRun:
    assert run.folder is not None
    model = copy.copy(run.model)
    model._modules = {**run.model._modules, "network": plan.apply(keep_originals=False)}
    fitted = score_again(prepared, run.config, copy.deepcopy(model), run.facts["seconds"])
    folder = RunFolder.create(out, run.folder.config())
    with folder.lock():
        folder.rewrite_log(run.folder.read_log())
        assert fitted.model.network is not None
        compress.write_swaps(fitted.model.network, folder.path)
        smaller = from_fitted(run.config, prepared, fitted)
        smaller.folder = folder
        store(smaller, folder, prepared, fitted, digest)
    return smaller
