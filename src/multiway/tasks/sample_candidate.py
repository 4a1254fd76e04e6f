"""Candidates for samples: the network, which is trained by steps, and the baselines that several tasks have."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import torch
from torch import Tensor, nn

from multiway.data.samples import Prepared, Samples
from multiway.models import baselines
from multiway.models.baselines import PENALTIES, Linear, PooledLinear, fit_logistic, fit_ridge
from multiway.models.tree_ensemble import TreeEnsemble
from multiway.tasks import targets
from multiway.tasks.candidate import CONSTANT, LINEAR, NETWORK, TREES, Candidate, ModelT
from multiway.tasks.declarations import Context, Fitted
from multiway.tasks.fitting import Rival, nearing
from multiway.tasks.lifecycle import announce
from multiway.tasks.run import Run
from multiway.training import Objective, Source, TrainingConfig, train
from multiway.training.losses import TargetLoss
from multiway.training.validation import mean_loss

FOLDS, LEAST = 5, 2
"""Folds that candidates are fitted on where validation is small, and those of a network at least."""
STEPS, WORK = 1_500, 5e10
"""Steps of a network on all folds, and operations in them, up to which it is fitted anew."""
ROUNDS, LEAVES = 400, 31
"""Of the boosted trees, at most."""


class Basis(NamedTuple):
    """What a candidate is built from: the config of a run, and what training learnt of the data."""

    config: Any
    state: Any


class Lesson(NamedTuple):
    """Samples of a split as a candidate sees them, the run that it is fitted for, and what the work carries along.

    learnt: What validation decided when it was fitted on training samples; empty before.
    """

    samples: Samples[Any]
    run: Run
    context: Context
    learnt: Mapping[str, Any] = MappingProxyType({})

    @property
    def tensors(self) -> tuple[Tensor, Tensor]:
        """Inputs and targets."""
        return self.samples.inputs, self.samples.target_tensor

    @property
    def weights(self) -> Tensor | None:
        """How much each sample counts; None where they count alike."""
        return None if self.samples.weights is None else torch.from_numpy(self.samples.weights)

    @property
    def signs(self) -> Sequence[int] | None:
        """Which way the answer may go with each input, where the settings of the run say so."""
        own = getattr(self.run.config, "signs", None)
        return None if own is None else own(self.run.state.names)

    def penalties(self, usual: Sequence[float] = PENALTIES) -> Sequence[float]:
        """Those to try: the usual ones, or the one that validation chose."""
        return [self.learnt["penalty"]] if "penalty" in self.learnt else usual


class SampleCandidate(Candidate[Basis, Basis, Lesson, ModelT]):
    """A candidate for samples.

    by_steps: Whether it is trained by steps.
    answers: Targets that it is for; None for both.
    keeps_signs: Whether it can be held to rise or to fall with an input.
    """

    by_steps: ClassVar[bool] = False
    keeps_signs: ClassVar[bool] = False
    answers: ClassVar[Literal["classes", "numbers"] | None] = None

    def can_answer(self, basis: Basis) -> bool:
        """Whether it is for such targets."""
        return self.answers is None or self.answers == ("numbers" if basis.state.classes is None else "classes")

    def is_usual(self, basis: Basis) -> bool:
        """Whether it is fitted where a config names no baselines: its library is there."""
        signs = getattr(basis.config, "signs", lambda names: None)(())
        return self.can_answer(basis) and self.is_installed() and (self.keeps_signs or signs is None)

    def inputs(self, run: Run, samples: Samples[Any]) -> Samples[Any]:
        """Samples with the inputs that it takes, where it has others than the network."""
        return samples

    def refit(self, model: ModelT, fitted: ModelT | None, data: Lesson) -> None:
        """Fit a model on more samples, with what was learnt of validation in place of it."""
        self.fit(model, data, data)

    def count_folds(self, run: Run) -> int:
        """On how many folds of few samples it can be fitted anew soon."""
        return FOLDS


AnySampleCandidate = SampleCandidate[Any]


class Part(Source, Protocol):
    """Samples of a split."""

    def some(self, most: int) -> Tensor:
        """Indices of so many samples at most, evenly spread."""


class Network(SampleCandidate[nn.Module]):
    """A network that is trained by steps, and keeps its best epoch by validation.

    sampled: Validation samples that a compression is measured on.
    """

    name, cost = NETWORK, 100
    by_steps = True
    sampled: ClassVar[int] = 64

    def objective(self, run: Run, training: Samples[Any]) -> Objective:
        """What its training minimises."""
        raise NotImplementedError

    def options(self, config: Any) -> TrainingConfig:
        """How it is trained."""
        training: TrainingConfig = config.training
        return training

    def training_source(self, run: Run, training: Samples[Any]) -> Source:
        """Training samples as it sees them, changed at random where a config says so."""
        return training

    def validation_source(self, run: Run, validation: Samples[Any]) -> Part:
        """Validation samples as it sees them."""
        return validation

    def validation(
        self, run: Run, validation: Samples[Any]
    ) -> tuple[Objective | None, Callable[[nn.Module], float] | None]:
        """Another objective for the choice of the epoch, and a score that takes its place."""
        return None, None

    def watch(self, run: Run) -> Callable[[nn.Module], dict[str, list[float]]] | None:
        """What the log keeps of it at each validation."""
        return None

    def loss_of(self, run: Run, name: str, validation: Samples[Any]) -> float | None:
        """Loss of a fitted candidate as this one is validated, or one less its score; None where it has none."""
        return None

    def fit(self, model: nn.Module, training: Lesson, validation: Lesson) -> Fitted:
        """Train by steps; where it falls far behind what is fitted already, it stops."""
        samples, run, context = training.samples, training.run, training.context
        announce(self.name, context)
        others = context.fitted if self.name == NETWORK else ()
        losses = {each: self.loss_of(run, each, validation.samples) for each in others}
        rival = Rival.among(losses, run.config.answer)
        objective = self.objective(run, samples)
        if context.teacher is not None:
            objective = nearing(context.teacher, objective)
        validated, score = self.validation(run, validation.samples)
        return train(
            model,
            objective,
            self.training_source(run, samples),
            self.validation_source(run, validation.samples),
            self.options(run.config),
            validation_objective=validated,
            validation_score=score,
            watch=self.watch(run),
            run=context.own_folder(),
            progress=context.progress,
            callbacks=context.callbacks,
            stops=None if rival is None else rival.stops,
        )

    def refit(self, model: nn.Module, fitted: nn.Module | None, data: Lesson) -> None:
        """Train it from its seed for the epochs that were best."""
        samples, run, context = data.samples, data.run, data.context
        train(
            model,
            self.objective(run, samples),
            self.training_source(run, samples),
            None,
            self.options(run.config),
            epochs=run.facts["best"][self.name]["epoch"],
            run=context.own_folder(),
            progress=context.progress,
        )

    def count_folds(self, run: Run) -> int:
        """By steps and operations of its training, not by a clock; none if it was far behind."""
        best, flops = run.facts["best"][NETWORK], run.facts["flops"]
        if self.name != NETWORK or flops is None or best["stopped"]:
            return 0
        steps = best["steps"]
        work = 3 * steps * run.config.training.batch_size * flops
        folds = int(min(FOLDS, STEPS // max(steps, 1), WORK // max(work, 1)))
        return folds if folds >= LEAST else 0

    def sample(self, run: Run, prepared: Prepared[Any, Any]) -> tuple[Tensor | None, ...]:
        """Some validation inputs, evenly spread, to measure a compression on."""
        samples = self.validation_source(run, prepared.part("validation"))
        return (samples.gather(samples.some(self.sampled))["inputs"],)


class TargetNetwork(Network):
    """A network whose outputs are logits of classes, or a number."""

    def objective(self, run: Run, training: Samples[Any]) -> Objective:
        """Cross-entropy of classes, the loss of the config of numbers."""
        return TargetLoss(run.config.training, run.state.classes, training.truth)

    def loss_of(self, run: Run, name: str, validation: Samples[Any]) -> float | None:
        """By its logits, one of which stands for two classes."""
        model = targets.WholeLogits(run.models[name], run.state.classes)
        seen = run.task.candidates()[name].inputs(run, validation)
        objective, score = self.validation(run, seen)
        return 1 - score(model) if score else mean_loss(model, objective or self.objective(run, seen), seen)


class Majority(SampleCandidate[baselines.Majority]):
    """Shares of the classes in training."""

    name, cost, rank, answers, keeps_signs = "majority", 0, CONSTANT, "classes", True

    def build(self, basis: Basis) -> baselines.Majority:
        """Equal shares."""
        return baselines.Majority(len(basis.state.classes), several=targets.has_several(basis.state))

    def fit(self, model: baselines.Majority, training: Lesson, validation: Lesson) -> None:
        """Count the classes."""
        model.fit(training.samples.target_tensor, training.weights)


class Mean(SampleCandidate[baselines.Mean]):
    """The mean of the training targets."""

    name, cost, rank, answers, keeps_signs = "mean", 0, CONSTANT, "numbers", True

    def build(self, basis: Basis) -> baselines.Mean:
        """Zero."""
        return baselines.Mean()

    def fit(self, model: baselines.Mean, training: Lesson, validation: Lesson) -> None:
        """Average."""
        model.fit(training.samples.target_tensor[:, None], training.weights)


class Logistic(SampleCandidate[Linear]):
    """Logistic regression of the classes on all inputs of a sample."""

    name, words, cost, rank, answers = "logistic", "logistic regression", 1, LINEAR, "classes"

    def build(self, basis: Basis) -> Linear:
        """Weights of zero for each input that the state counts."""
        return Linear(basis.state.num_inputs, len(basis.state.classes))

    def fit(self, model: Linear, training: Lesson, validation: Lesson) -> Fitted:
        """Fit; validation chooses the penalty."""
        tensors, weights = (*training.tensors, *validation.tensors), (training.weights, validation.weights)
        return fit_logistic(model, *tensors, training.penalties(), weights=weights)


class Ridge(SampleCandidate[Linear]):
    """Ridge regression of a number on all inputs of a sample."""

    name, words, cost, rank, answers = "ridge", "ridge regression", 1, LINEAR, "numbers"

    def build(self, basis: Basis) -> Linear:
        """Weights of zero for each input that the state counts."""
        return Linear(basis.state.num_inputs, 1)

    def fit(self, model: Linear, training: Lesson, validation: Lesson) -> Fitted:
        """Fit; validation chooses the penalty."""
        (x, y), (held_x, held_y) = training.tensors, validation.tensors
        weights = training.weights, validation.weights
        return fit_ridge(model, x, y[:, None], held_x, held_y[:, None], training.penalties(), weights=weights)


class Trees(SampleCandidate[TreeEnsemble]):
    """Boosted trees of classes or numbers.

    leaves: Of a tree, at most.
    """

    name, words, cost, rank, keeps_signs = "trees", "boosted trees", 2, TREES, True
    library = ("sklearn", "trees")
    leaves: ClassVar[int] = LEAVES

    def build(self, basis: Basis) -> TreeEnsemble:
        """Room for the trees; one of each round stands for two classes."""
        outputs = 1 if basis.state.classes is None else len(basis.state.classes)
        both = outputs == 2 and not targets.has_several(basis.state)
        return TreeEnsemble(ROUNDS, self.leaves, 1 if both else outputs)

    def fit(self, model: TreeEnsemble, training: Lesson, validation: Lesson) -> Fitted:
        """Boost; validation chooses the size and the number of the trees."""
        tensors, weights = (*training.tensors, *validation.tensors), (training.weights, validation.weights)
        return model.tune(*tensors, training.run.config.training.seed, weights=weights, signs=training.signs)

    def refit(self, model: TreeEnsemble, fitted: TreeEnsemble | None, data: Lesson) -> None:
        """Boost trees of that size and number."""
        seed, how = data.run.config.training.seed, data.learnt
        model.fit(*data.tensors, seed, weights=data.weights, signs=data.signs, **how)


class Boosters(Trees):
    """Boosted trees of another library.

    boost: Fits a `TreeEnsemble`, and finds the number of the trees on rows that are held out.
    """

    boost: ClassVar[Callable[..., dict[str, Any]]]

    def fit(self, model: TreeEnsemble, training: Lesson, validation: Lesson) -> Fitted:
        """Boost; validation chooses the number of the trees."""
        how: dict[str, Any] = {"weights": (training.weights, validation.weights), "signs": training.signs}
        return self.boost(model, *training.tensors, training.run.config.training.seed, held=validation.tensors, **how)

    def refit(self, model: TreeEnsemble, fitted: TreeEnsemble | None, data: Lesson) -> None:
        """Boost as many trees."""
        how = {"weights": (data.weights, None), "signs": data.signs, **data.learnt}
        self.boost(model, *data.tensors, data.run.config.training.seed, **how)


class Pooled(SampleCandidate[PooledLinear]):
    """Logistic regression on means of blocks of images or volumes."""

    name, words, cost, rank = "logistic", "logistic regression", 1, LINEAR
    answers: ClassVar[Literal["classes", "numbers"] | None] = "classes"

    def build(self, basis: Basis) -> PooledLinear:
        """Weights of zero for each block of each channel."""
        state = basis.state
        return PooledLinear(state.sizes, state.channels, 1 if state.classes is None else len(state.classes))
