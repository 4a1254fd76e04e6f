"""A finished run made smaller: its network compressed, calibrated and scored anew."""

import contextlib
import copy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from multiway import compress
from multiway.compress.budget import RankOptions
from multiway.data.findings import list_some
from multiway.errors import ConfigError
from multiway.report.text import number
from multiway.tasks.declarations import Context
from multiway.tasks.lifecycle import choose_answer, costs_of, finish, parameters_of, reread
from multiway.tasks.protocol import NETWORK
from multiway.tasks.run import Run, load, opening, store
from multiway.training import RunFolder


class Recovery(NamedTuple):
    """Training of a network whose layers were swapped.

    epochs: Passes over the training samples.
    distil: Whether it nears the outputs of the uncompressed network as well.
    rate: Learning rate; by default half of that of a run, and 1e-4 for a Hugging Face model.
    """

    epochs: int
    distil: bool = False
    rate: float | None = None


RATE = 0.5
"""Share of the learning rate of the run."""


def compress_run(
    path: Path,
    rules: Mapping[str, compress.Rule],
    *,
    recovery: Recovery | None = None,
    out: Path | None = None,
    **limits: Unpack[RankOptions],
) -> tuple[compress.Plan, Run | None]:
    """Plan the compression of a run's network on its validation samples; with `out`, also make the smaller run.

    `limits` are as for `compress.plan`.

    Where the network has a part in the answer, validation chooses anew; else the answer stays. The new run is
    calibrated on validation and reads the test rows as a new training would: none of the old scores
    are carried over.
    """
    run = load(path)
    run.task.prepare_compression(run)
    network = run.task.network_in(run.model)
    run.prepared = reread(run)
    sample = run.task.sample(run, run.prepared)
    plan = compress.plan(network, rules, data=sample, **limits)
    if out is not None and all(layer.replacement is None for layer in plan.layers):
        names = list_some(layer.name for layer in plan.layers)
        raise ConfigError(f"compress: no layer becomes smaller by these rules. Matched are {names}; give other rules.")
    return plan, None if out is None else _smaller(run, plan, out, recovery)


def _smaller(run: Run, plan: compress.Plan, out: Path, recovery: Recovery | None) -> Run:
    """Swap layers of the run itself, which was loaded for that, and keep it in a folder of its own."""
    assert run.folder is not None
    log = run.folder.read_log()
    run.facts["before_compression"] = run.task.sentence(run)
    teacher = copy.deepcopy(run.task.network_in(run.model)) if recovery is not None and recovery.distil else None
    scores = {} if recovery is None else {"before": network_score(run)}
    network = plan.apply(inplace=True, keep_originals=False)
    if recovery is not None:
        scores["after"] = network_score(run)
        with _briefly(run, recovery):
            run.task.fit(run, run.task.own, run.prepared, Context(teacher=teacher))
        run.model.to("cpu").eval()
        run.facts["recovery"] = {**scores, "recovered": network_score(run), **recovery._asdict()}
    run.facts |= costs_of(run)
    if run.answer.shares.keys() & {NETWORK, run.task.own}:
        run.answer = choose_answer(run, refit=False)
    finish(run)
    run.facts["parameters"] = parameters_of(run, run.models)
    with RunFolder.at_once(out, opening(run)) as folder:
        folder.rewrite_log(log)
        compress.write_swaps(network, folder.path)
        run.folder = folder
        store(run, folder)
    return run


def recovery_line(run: Run, recovery: dict[str, Any]) -> str:
    """The network's score on the validation samples before, after, and after its training."""
    metric = run.task.metrics(run.config)[0]
    figures = (number(recovery[name], 4) for name in ("before", "after", "recovered"))
    return "{} of the network on validation: {} before, {} with smaller layers, {} after recovery".format(
        metric.title, *figures
    )


def network_score(run: Run) -> float | None:
    """The network's first metric on the validation samples."""
    run.known.clear()
    metric = run.task.metrics(run.config)[0]
    rows = run.task.score(run, run.task.predict(run, run.prepared, "validation"), "validation")
    value: float | None = next((row["value"] for row in rows if row["model"] == NETWORK and metric.measures(row)), None)
    return value


@contextlib.contextmanager
def _briefly(run: Run, recovery: Recovery) -> Iterator[None]:
    """Lend a run the settings of a short training."""
    config, training = run.config, run.config.training
    rate = recovery.rate or RATE * training.learning_rate
    shorter = training.model_copy(update={"epochs": recovery.epochs, "learning_rate": rate})
    try:
        run.config = config.model_copy(update={"training": shorter})
        yield
    finally:
        run.config = config
