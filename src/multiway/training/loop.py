"""The training loop: any module, any source of batches, exact to the bit when it is interrupted and resumed."""

import contextlib
import dataclasses
import math
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from multiway.errors import RunError
from multiway.training.averaging import WeightAverage
from multiway.training.config import TrainingConfig
from multiway.training.diagnosis import first_bad_tensor
from multiway.training.log import Position
from multiway.training.modes import Modes
from multiway.training.progress import Progress
from multiway.training.protocols import Batch, Objective, Source
from multiway.training.run_folder import RunFolder
from multiway.training.schedule import learning_rate_at
from multiway.training.seeds import epoch_order, seed_everything
from multiway.training.signals import Interrupted, StopRequest
from multiway.training.state import load_state, save_state


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class History:
    """What happened: one row per validation, and which was best.

    best_loss, best_score: Of the validation whose weights were kept; the score is None where the loss chose them.
    notes: What a reader of the scores should know of the training.
    """

    rows: list[dict[str, Any]]
    best_loss: float
    best_epoch: float
    steps: int
    best_score: float | None = None
    notes: tuple[str, ...] = ()


APART = (
    "Dropout draws its masks in each of {} processes apart, so the weights are others than those of one process; "
    "without dropout (--set model.dropout=0) they are the same up to rounding."
)
CARRIED = (
    *("step", "best_loss", "best_score", "best_epoch", "bad_validations"),
    *("loss_sum", "loss_count", "seconds", "finished", "rows"),
)
"""Variables of the loop that a saved state brings back."""


def train(
    model: nn.Module,
    objective: Objective,
    training: Source,
    validation: Source,
    config: TrainingConfig,
    *,
    validation_objective: Objective | None = None,
    validation_score: Callable[[nn.Module], float] | None = None,
    watch: Callable[[nn.Module], dict[str, list[float]]] | None = None,
    run: RunFolder | None = None,
    progress: bool = False,
) -> History:
    """Train and leave the weights of the best validation in `model`.

    Under `torchrun` every process calls this with the same arguments; each takes its share of the same global
    batches, and the gradient is that of one process up to rounding; dropout, however, draws its masks in each process
    apart, which the notes say.

    Args:
        model: Trained in place.
        objective: Sum of losses and count of terms for a batch.
        training: Samples to learn from.
        validation: Samples that choose the best weights and stop the training; never learned from.
        config: Optimiser, schedule, stopping.
        validation_objective: Another objective for the choice.
        validation_score: Score of the model as validated, higher for better; it takes the place of the loss in the
            choice. Of equal scores that of the lower loss wins; one that is not a number never does. It draws no
            random numbers.
        watch: Numbers of the model as validated, kept as `watched` in each row of the log; it draws none at random.
        run: Folder for the log and the state; training continues from a state that lies there.
        progress: Show a bar or lines on stderr.

    Raises:
        RunError: A loss is not finite; the message names the batch and the first bad tensor.
        Interrupted: SIGTERM, SIGINT or SIGHUP came, or stderr is gone; the state is saved.
    """
    loop = _Loop(
        model,
        objective,
        training,
        validation,
        config,
        validation_objective or objective,
        validation_score,
        watch,
        run,
        progress,
    )
    with StopRequest() as request:
        return loop.run_all(request)


class _Loop:
    """The variables of one training; each method is one thing that happens to them."""

    def __init__(
        self,
        model: nn.Module,
        objective: Objective,
        training: Source,
        validation: Source,
        config: TrainingConfig,
        validation_objective: Objective,
        validation_score: Callable[[nn.Module], float] | None,
        watch: Callable[[nn.Module], dict[str, list[float]]] | None,
        run: RunFolder | None,
        progress: bool,
    ) -> None:
        self.model, self.objective, self.config, self.run = model, objective, config, run
        self.training, self.validation, self.validation_objective = training, validation, validation_objective
        self.validation_score, self.watch = validation_score, watch
        self.rows_per_step = config.batch_size * config.accumulation
        self.steps_per_epoch = math.ceil(len(training) / self.rows_per_step)
        self.total_steps = self.steps_per_epoch * config.epochs_of(self.steps_per_epoch)
        seed_everything(config.seed)
        self._prepare()
        self.step = 0
        self.best: dict[str, Tensor] = {}
        self.best_loss, self.best_epoch, self.bad_validations = math.inf, 0.0, 0
        self.best_score: float | None = None
        self.average = None if config.average is None else WeightAverage(model, config.average)
        self.rows: list[dict[str, Any]] = []
        self.loss_sum, self.loss_count, self.seconds = 0.0, 0.0, 0.0
        self.finished = False
        self.order: Tensor | None = None
        self.notes = [APART.format(self.world)] if self.world > 1 and _draws_masks(model) else []
        self._restore()
        self.bar = Progress(self.total_steps, progress and self.accelerator.is_main_process)
        self.bar.say(self.notes)

    def _prepare(self) -> None:
        from accelerate import Accelerator
        from accelerate.state import AcceleratorState

        AcceleratorState._reset_state()  # another precision earlier in this process is none of ours
        wanted = "bf16" if self.config.precision == "bf16" else "no"
        self.accelerator = Accelerator(mixed_precision=wanted, cpu=not torch.cuda.is_available())
        self.modes = Modes(self.model, self.config)
        self.optimizer: torch.optim.Optimizer = _make_optimizer(self.model, self.config, self.modes)
        self.model.to(self.accelerator.device)
        wrapped: Any = torch.compile(self.model) if self.config.compile else self.model
        self.wrapped = self.accelerator.prepare_model(wrapped)
        self.device = self.accelerator.device
        self.world, self.rank = self.accelerator.num_processes, self.accelerator.process_index

    def run_all(self, request: StopRequest) -> History:
        """Step until the last step, a stop, or an error."""
        started, saved = time.monotonic() - self.seconds, time.monotonic()
        every = max(self.steps_per_epoch // self.config.validations_per_epoch, 1)
        self.wrapped.train()
        try:
            while self.step < self.total_steps and not self.finished:
                stop = self._step(request)
                with request.unless_written():
                    self.bar.update(self.step)
                in_epoch = self.step % self.steps_per_epoch
                if in_epoch == 0 or (in_epoch % every == 0 and self.steps_per_epoch - in_epoch >= every):
                    self._validate(started)
                    with request.unless_written():
                        self.bar.report(self.rows[-1])
                    if self.world == 1:  # a signal during validation; several processes agree on one in `_step`
                        stop = stop or request.name
                if stop is not None or time.monotonic() - saved >= self.config.checkpoint_seconds or self.finished:
                    self.seconds, saved = time.monotonic() - started, time.monotonic()
                    self._save()
                if stop is not None:
                    raise Interrupted(self._stop_message(stop))
        finally:
            self.bar.close()
        self._finish()
        return History(
            rows=self.rows,
            best_loss=self.best_loss,
            best_epoch=self.best_epoch,
            steps=self.step,
            best_score=self.best_score,
            notes=tuple(self.notes),
        )

    def _step(self, request: StopRequest) -> str | None:
        """One optimiser step; returns the name of a stop signal that any process has seen."""
        epoch, position = divmod(self.step, self.steps_per_epoch)
        if self.order is None or position == 0:
            self.order = epoch_order(len(self.training), self.config.seed, epoch)
        rows = self.order[position * self.rows_per_step : (position + 1) * self.rows_per_step]
        self._set_learning_rate()
        self.optimizer.zero_grad(set_to_none=True)
        batches = rows.split(self.config.batch_size)
        totals = torch.zeros(3, dtype=torch.float64)
        for number, part in enumerate(batches):
            totals[:2] += self._backward(part, is_last=number == len(batches) - 1)
        totals[2] = float(request.name is not None)
        totals = self._sum_over_processes(totals)
        self._scale_gradients(float(totals[1]))
        self.modes.add_penalties()
        if self.config.clip_norm is not None:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip_norm)
        self.optimizer.step()
        self.step += 1
        if self.average is not None:
            self.average.update(self.step)
        self.loss_sum, self.loss_count = self.loss_sum + float(totals[0]), self.loss_count + float(totals[1])
        return (request.name or "a signal to another process") if totals[2] else None

    def _backward(self, part: Tensor, is_last: bool) -> Tensor:
        """Add the gradient of one batch's sum of losses; an idle process runs one sample with weight zero."""
        mine = part.tensor_split(self.world)[self.rank]
        idle = len(mine) == 0
        batch = self._gather(self.training, part[:1] if idle else mine)
        with _synchronised(self.accelerator, self.wrapped, is_last):
            total, count = self.objective(self.wrapped, batch)
            value = float(total.detach())
            if not math.isfinite(value):
                self._stop_at_bad_loss(mine, batch)
            self.accelerator.backward(total * 0 if idle else total)
        return torch.zeros(2, dtype=torch.float64) if idle else torch.tensor([value, float(count)], dtype=torch.float64)

    def _scale_gradients(self, count: float) -> None:
        """From sums to the mean over every term of the step; processes have been averaged, not added, before."""
        gradients = [parameter.grad for parameter in self.model.parameters() if parameter.grad is not None]
        torch._foreach_mul_(gradients, self.world / max(count, 1.0))

    def _set_learning_rate(self) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate_at(self.step, self.total_steps, self.config) * group["factor"]

    @torch.no_grad()
    def _validate(self, started: float) -> None:
        """Score the validation samples, keep the weights if they are the best so far, decide whether to go on."""
        self.wrapped.eval()
        with contextlib.nullcontext() if self.average is None else self.average.in_place():
            loss = self._validation_loss()
            score = None if self.validation_score is None else self.validation_score(self.model)
            watched = {} if self.watch is None else {"watched": self.watch(self.model)}
            epoch = self.step / self.steps_per_epoch
            if self._is_better(loss, score):
                self.best_loss, self.best_score, self.best_epoch, self.bad_validations = loss, score, epoch, 0
                self.best = {name: tensor.detach().cpu().clone() for name, tensor in self.model.state_dict().items()}
            else:
                self.bad_validations += 1
        self.wrapped.train()
        self._log(loss, score, epoch, time.monotonic() - started, watched)
        self.finished = self.step == self.total_steps or 0 < self.config.patience <= self.bad_validations

    def _validation_loss(self) -> float:
        totals = torch.zeros(2, dtype=torch.float64)
        size = self.config.validation_batch_size or max(self.config.batch_size, 256)
        for part in torch.arange(len(self.validation)).split(size):
            mine = part.tensor_split(self.world)[self.rank]
            if len(mine):
                total, count = self.validation_objective(self.model, self._gather(self.validation, mine))
                totals += torch.tensor([float(total), float(count)], dtype=torch.float64)
        totals = self._sum_over_processes(totals)
        return float(totals[0] / totals[1].clamp_min(1))

    def _is_better(self, loss: float, score: float | None) -> bool:
        if score is None:
            return loss < self.best_loss
        best = -math.inf if self.best_score is None else self.best_score
        return (score, -loss) > (best, -self.best_loss)

    def _log(self, loss: float, score: float | None, epoch: float, seconds: float, watched: dict[str, Any]) -> None:
        row = {
            "step": self.step,
            "epoch": epoch,
            "train_loss": self.loss_sum / max(self.loss_count, 1.0),
            "validation_loss": loss,
            "best_loss": self.best_loss,
            **({} if score is None else {"validation_score": score, "best_score": self.best_score}),
            "learning_rate": self.optimizer.param_groups[0]["lr"],
            "seconds": round(seconds, 3),
            "samples_per_second": round(self.step * self.rows_per_step / max(seconds, 1e-9), 1),
            **watched,
        }
        self.loss_sum, self.loss_count = 0.0, 0.0
        self.rows.append(row)
        if self.run is not None and self.accelerator.is_main_process:
            self.run.log(row)

    def _save(self) -> None:
        if self.run is None or not self.accelerator.is_main_process:
            return
        position = Position(
            config_sha256=self.run.config_sha256,
            total_steps=self.total_steps,
            samples=len(self.training),
            world=self.world,
            threads=torch.get_num_threads(),
            torch=torch.__version__,
            **{name: getattr(self, name) for name in CARRIED},
        )
        average = {} if self.average is None else self.average.values
        save_state(self.run.state_dir, self.model, self.optimizer, self.best, average, position)

    def _restore(self) -> None:
        if self.run is None:
            return
        found = load_state(self.run.state_dir, self.model, self.optimizer)
        if found is None:
            self.run.rewrite_log([])
            return
        position, self.best, average = found
        self._check_same_training(position, self.run)
        for name in CARRIED:
            setattr(self, name, getattr(position, name))
        if self.average is not None:
            self.average.restore(average)
        self.run.rewrite_log(self.rows)

    def _check_same_training(self, position: Position, run: RunFolder) -> None:
        """Refuse what would be another training; another machine only rounds differently, which is noted."""
        if position.config_sha256 != run.config_sha256:
            raise RunError(
                f"{run.path}: the saved state was made with another config.yaml. Restore it, or start a new run."
            )
        for name, now in (("total_steps", self.total_steps), ("samples", len(self.training)), ("world", self.world)):
            stored = getattr(position, name)
            if stored != now:
                raise RunError(
                    f"{run.path}: the saved state is of a training with {name}={stored} and this one has "
                    f"{name}={now}. Resume it as it was started, or start a new run."
                )
        here = {"threads": torch.get_num_threads(), "torch": torch.__version__}
        other = {name: f"{getattr(position, name)}" for name, now in here.items() if getattr(position, name) != now}
        if other:
            was, now = (", ".join(f"{name} {values[name]}" for name in other) for values in (other, here))
            self.notes.append(
                f"The training was begun with {was} and continued with {now}: its weights are not to the bit those "
                f"of a training that was left alone."
            )

    def _finish(self) -> None:
        self.accelerator.unwrap_model(self.wrapped, keep_fp32_wrapper=False)  # precision is a matter of the training
        if self.best:
            self.model.load_state_dict(self.best)
        self.model.eval()

    def _stop_message(self, signal: str) -> str:
        where = (
            f"Continue with `multiway train --resume {self.run.root}`."
            if self.run is not None
            else "Nothing was saved."
        )
        return f"training stopped by {signal} after step {self.step} of {self.total_steps}. {where}"

    def _stop_at_bad_loss(self, rows: Tensor, batch: Batch) -> None:
        epoch, position = divmod(self.step, self.steps_per_epoch)
        shown = ", ".join(map(str, rows[:4].tolist())) + (" …" if len(rows) > 4 else "")
        bad = first_bad_tensor(self.model, self.objective, batch)
        raise RunError(
            f"the loss is not finite in epoch {epoch + 1}, batch {position + 1} of {self.steps_per_epoch} (samples "
            f"{shown}): first in {bad}. Lower training.learning_rate, or look at these rows; the best "
            f"weights so far are kept."
        )

    def _gather(self, source: Source, index: Tensor) -> Batch:
        return {name: tensor.to(self.device) for name, tensor in source.gather(index).items()}

    def _sum_over_processes(self, totals: Tensor) -> Tensor:
        if self.world == 1:
            return totals
        summed: Tensor = self.accelerator.reduce(totals.to(self.device), reduction="sum")
        return summed.cpu()


def _make_optimizer(model: nn.Module, config: TrainingConfig, modes: Modes) -> torch.optim.Optimizer:
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    kind = torch.optim.AdamW if config.optimizer == "adamw" else torch.optim.Adam
    groups = modes.groups_of(trained)
    return kind(groups, lr=config.learning_rate, weight_decay=config.weight_decay, fused=_can_fuse(trained))


def _draws_masks(model: nn.Module) -> bool:
    """Whether some layer drops values in training."""
    shares = (getattr(module, name, 0) for module in model.modules() for name in ("p", "dropout"))
    return any(isinstance(share, float) and share > 0 for share in shares)


def _can_fuse(parameters: list[nn.Parameter]) -> bool:
    return all(parameter.is_floating_point() for parameter in parameters)


def _synchronised(accelerator: Any, wrapped: nn.Module, is_last: bool) -> Any:
    """Processes exchange gradients once per step, with the last batch."""
    return contextlib.nullcontext() if is_last else accelerator.no_sync(wrapped)
