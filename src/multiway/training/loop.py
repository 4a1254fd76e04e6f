"""The training loop: any module, any source of batches, exact to the bit when it is interrupted and resumed."""

import contextlib
import dataclasses
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from torch import nn

from multiway.terminal import TerminalBar
from multiway.training.config import Callback, Objective, Source, TrainingConfig
from multiway.training.processes import Interrupted, StopRequest
from multiway.training.run_folder import RunFolder
from multiway.training.state import Checkpoint
from multiway.training.steps import Engine, Standing, Steps, seed_everything
from multiway.training.tracking import Tracker
from multiway.training.validation import BATCH, Stops, Validation, Watched

APART = (
    "Dropout draws its masks in each of {} processes apart, so the weights are others than those of one process; "
    "without dropout (model.dropout=0) they are the same up to rounding."
)

SHARDED = "Weights lie in parts on all processes (FSDP2), and no state is saved: an interrupted training starts anew."


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class History:
    """What happened: one row per validation, and which was best.

    best_loss, best_score: Of the validation whose weights were kept; the score is None where the loss chose them.
    notes: What a reader of the scores should know of the training.
    stopped: Why it ended early by what the caller gave as `stops`; None where it did not.
    """

    rows: list[dict[str, Any]]
    best_loss: float
    best_epoch: float
    steps: int
    best_score: float | None = None
    notes: tuple[str, ...] = ()
    stopped: str | None = None


def train(
    model: nn.Module,
    objective: Objective,
    training: Source,
    validation: Source | None,
    config: TrainingConfig,
    *,
    epochs: float | None = None,
    validation_objective: Objective | None = None,
    validation_score: Callable[[nn.Module], float] | None = None,
    watch: Callable[[nn.Module], Watched] | None = None,
    run: RunFolder | None = None,
    progress: bool = False,
    callbacks: Sequence[Callback] = (),
    stops: Stops | None = None,
) -> History:
    """Train and leave the weights of the best validation in `model`.

    Where the launcher sets FSDP, as `accelerate launch --use_fsdp`, weights, gradients and moments lie in parts on
    all processes.

    Under `torchrun` every process calls this with the same arguments; each takes its share of the same global
    batches, and the gradient is that of one process up to rounding; dropout, however, draws its masks in each process
    apart, which the notes say.

    Args:
        model: Trained in place.
        objective: Sum of losses and count of terms for a batch.
        training: Samples to learn from.
        validation: Samples that choose the best weights and stop the training; never learned from. Without any the
            last weights are left, or their average.
        config: Optimiser, schedule, stopping.
        epochs: Passes after which a training without validation ends; the schedule is that of the config's own.
        validation_objective: Another objective for the choice.
        validation_score: Score of the model as validated, higher for better; it takes the place of the loss in the
            choice. Of equal scores that of the lower loss wins; one that is not a number never does. It draws no
            random numbers.
        watch: Numbers of the model as validated, kept as `watched` in each row of the log; it draws none at random.
        run: Folder for the log and the state; training continues from a state that lies there.
        progress: Show a bar or lines on stderr.
        callbacks: Are given the row of each validation, and told of the end.
        stops: Is given the rows of all validations, those before an interruption too, and how many are left; the
            reason that it returns, if any, ends the training, whose best weights are kept.

    Raises:
        RunError: A loss is not finite; the message names the batch and the first bad tensor.
        Interrupted: SIGTERM, SIGINT or SIGHUP came, or stderr is gone; the state is saved.
    """
    seed_everything(config.seed)
    engine = Engine(model, config)
    steps = Steps(engine, objective, training, config)
    last = steps.total if epochs is None else max(round(epochs * steps.per_epoch), 1)
    held_out = None
    if validation is not None:
        held_out = Validation(
            samples=validation,
            objective=validation_objective or objective,
            score=validation_score,
            watch=watch,
            stops=stops,
            batch_size=config.validation_batch_size or max(config.batch_size, BATCH),
        )
    checkpoint = Checkpoint(run, steps)
    standing, notes = checkpoint.restore()
    notes = (*list_cautions(engine), *notes)
    bar = TrainingProgress(last, progress and engine.is_main)
    bar.say(notes)
    listeners = list(callbacks)
    if config.track is not None and run is not None and engine.is_main:
        listeners.append(Tracker(config.track, run))
    with StopRequest() as request, contextlib.closing(bar):
        try:
            _run(standing, steps, last, held_out, checkpoint, bar, request, listeners)
        finally:
            for listener in listeners:
                listener.finish()
    engine.unwrap()
    if standing.best:
        model.load_state_dict(standing.best)
    model.eval()
    stopped = None if held_out is None else held_out.why_stopped(steps, standing)
    return History(
        rows=standing.rows,
        best_loss=standing.best_loss,
        best_epoch=standing.best_epoch,
        steps=standing.step,
        best_score=standing.best_score,
        notes=notes if stopped is None else (*notes, stopped),
        stopped=stopped,
    )


class TrainingProgress:
    """Shows how far the training is."""

    def __init__(self, steps: int, show: bool) -> None:
        self.steps, self._shows, self._bar = steps, show, TerminalBar("training", steps, show)
        self.is_shown = self._bar.is_shown

    def show(self, step: int, row: dict[str, Any] | None) -> None:
        """Move the bar, and show a validation where there is one: on the bar, or as a line."""
        if self.is_shown:
            self._bar.update(completed=step)
        if row is None:
            return
        text = f"epoch {row['epoch']:g}  train {row['train_loss']:.4f}  validation {row['validation_loss']:.4f}"
        if "validation_score" in row:
            best = row["best_score"]  # none where no score was defined, as of weights that have overflown
            text += f"  score {row['validation_score']:.4f}" + ("" if best is None else f" (best {best:.4f})")
        if self.is_shown:
            self._bar.update(description=text)
        elif self._shows:
            print(f"{text}  ({row['seconds']:.0f} s, step {row['step']} of {self.steps})", file=sys.stderr, flush=True)

    def say(self, notes: Iterable[str]) -> None:
        """Show notes on the training, a line each."""
        for note in notes:
            if self._shows:
                print(note, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Take the bar down."""
        self._bar.close()


def _run(
    standing: Standing,
    steps: Steps,
    last: int,
    held_out: Validation | None,
    checkpoint: Checkpoint,
    bar: TrainingProgress,
    request: StopRequest,
    callbacks: Sequence[Callback],
) -> None:
    """Step until the last one, a stop, or an error."""
    saved = time.monotonic()
    started = saved - standing.seconds
    steps.engine.wrapped.train()
    while standing.step < last and not standing.finished:
        stop = steps.take(standing, request)
        is_due = time.monotonic() - saved >= steps.config.checkpoint_seconds
        row = None
        if held_out is None and standing.step == last:
            with steps.average_in_place():
                standing.best, standing.finished = steps.engine.weights(), True
        if held_out is not None and steps.ends_stretch(standing.step):
            row = held_out.judge(steps, standing, started)
            if checkpoint.folder is not None:
                checkpoint.folder.log(row)
            for callback in callbacks:
                callback.log(row, step=row["step"])
        if row is not None or bar.is_shown:
            try:
                bar.show(standing.step, row)
            except OSError as error:  # nobody would see how the training goes on
                request.name = f"a stderr that cannot be written ({error.strerror})"
        if row is not None and steps.engine.world == 1:  # a signal during it; several processes agree on one in `take`
            stop = stop or request.name
        if stop is not None or standing.finished or is_due:
            saved = time.monotonic()
            standing.seconds = saved - started
            if checkpoint.folder is not None:
                checkpoint.save(standing)
        if stop is not None:
            where = checkpoint.how_to_continue()
            raise Interrupted(f"training stopped by {stop} after step {standing.step} of {last}. {where}")


def list_cautions(engine: Engine) -> list[str]:
    """What several processes do otherwise than one: no state is saved, or layers draw which values they drop."""
    shares = (getattr(module, name, 0) for module in engine.model.modules() for name in ("p", "dropout"))
    draws = any(isinstance(share, float) and share > 0 for share in shares)
    return [SHARDED] * engine.sharded + [APART.format(engine.world)] * (draws and engine.world > 1)
