"""A finished run made smaller: its network compressed, calibrated and scored anew."""

from collections.abc import Mapping
from pathlib import Path

from multiway import compress
from multiway.data.findings import listed
from multiway.errors import ConfigError, RunError
from multiway.tasks.lifecycle import costs_of, finish, parameters_of
from multiway.tasks.protocol import NETWORK
from multiway.tasks.run import Run, digest_of, load, opening, store
from multiway.training import RunFolder


def compress_run(
    path: Path,
    rules: Mapping[str, compress.Rule],
    *,
    max_parameters: float | None = None,
    max_error: float | None = None,
    out: Path | None = None,
) -> tuple[compress.Plan, Run | None]:
    """Plan the compression of a run's network on its validation samples; with `out`, also make the smaller run.

    Where the network has a part in the answer, validation chooses anew; else the answer stays. The new run is
    calibrated on validation and reads the test rows as a new training would: none of the old scores
    are carried over.
    """
    run = load(path)
    network = run.task.swappable(run.model)
    run.prepared = _data_of(run, path)
    sample = run.task.sample(run, run.prepared)
    plan = compress.plan(network, rules, data=sample, max_parameters=max_parameters, max_error=max_error)
    if out is not None and all(layer.replacement is None for layer in plan.layers):
        names = listed(layer.name for layer in plan.layers)
        raise ConfigError(f"compress: no layer becomes smaller by these rules. Matched are {names}; give other rules.")
    return plan, None if out is None else _smaller(run, plan, out)


def _data_of(run: Run, path: Path) -> object:
    """The data of the training, prepared again."""
    if run.config.data is None:
        raise RunError(f"{path}: the run was fitted on data in memory, and its scores cannot be made anew.")
    prepared = run.task.prepare(run.config, run.task.locate(run.config.data))
    if digest_of(prepared.content()) != run.digest:
        raise RunError(f"{path}: {run.config.data} is not the data of the training any more. Restore it.")
    return prepared


def _smaller(run: Run, plan: compress.Plan, out: Path) -> Run:
    """Swap layers of the run itself, which was loaded for that, and keep it in a folder of its own."""
    assert run.folder is not None
    log = run.folder.read_log()
    run.facts["before_compression"] = run.task.sentence(run)
    network = plan.apply(inplace=True, keep_originals=False)
    run.facts |= costs_of(run)
    if NETWORK in run.answer.shares:
        run.answer = run.task.choice(run, run.prepared, refit=False)
    finish(run)
    run.facts["parameters"] = parameters_of(run, run.models)
    with RunFolder.at_once(out, opening(run)) as folder:
        folder.rewrite_log(log)
        compress.write_swaps(network, folder.path)
        run.folder = folder
        store(run, folder)
    return run
