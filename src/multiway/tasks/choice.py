"""Which candidate of a run answers: what validation prefers, the simpler of those it cannot tell apart, or a blend."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from multiway.config import Config
from multiway.errors import ConfigError, closest
from multiway.metrics.paired import clusters_of, standard_error
from multiway.models.complexity import BLEND, complexity_of
from multiway.ops.simplex import simplex_weights
from multiway.tasks.declarations import OURS

AUTO, NETWORK = "auto", "network"
"""Answers that a config can name besides a candidate: what validation prefers, and the network whatever it prefers."""
FOLDS, FEWEST = 5, 10
"""Parts that the weights of a blend are tried on in turn, and clusters below which no blend is tried."""
SMALLEST = 0.05
"""A weight below this is none: one model fewer serves as well."""
Floats = NDArray[np.float64]


class Candidate(Config):
    """What was measured of one candidate."""

    name: str
    loss: float
    difference: float
    """How far the loss is above the lowest of single models."""
    error: float
    """Standard error of the difference, over independent cases."""


class Choice(Config):
    """The model that answers for a run, and why."""

    name: str
    reason: str
    """Why, as the end of a sentence that begins with the name."""
    weights: dict[str, float] = Field(default_factory=dict)
    """Of the members, where the answer is a blend."""
    candidates: tuple[Candidate, ...] = ()
    """From the lowest loss up; none where nothing was measured."""
    loss: str = "loss"
    """What decided."""
    measured: str = "validation"
    """On what: `validation`, or `5 folds`."""
    cases: int = 0
    """Independent ones."""
    unit: str = "cases"
    """What they are."""

    @property
    def shares(self) -> dict[str, float]:
        """Weight of every model that the answer is made of."""
        return self.weights or {self.name: 1.0}

    def mixed(self, outputs: Mapping[str, Floats]) -> Floats:
        """The answer by the outputs of its members."""
        if self.name in outputs:
            return outputs[self.name]
        total: Floats = sum(weight * outputs[name] for name, weight in self.shares.items())  # type: ignore[assignment]
        return total

    def line(self) -> str:
        """The first line of whatever the answer gives."""
        return f"Answer: {called(self.name)}{self.reason}."


@dataclasses.dataclass(frozen=True, kw_only=True)
class Evidence:
    """Losses of every candidate on the same cases.

    losses: By candidate, `(cases,)`; not finite where one has no answer.
    products: Inner products of the candidates' errors in each case, `(cases, candidates, candidates)`, in the order
        of the losses, which stand on the diagonal; with them a blend is tried.
    units, block: What cases belong to, and how many neighbouring units count as one, as for the intervals.
    loss, measured, unit: As of a `Choice`.
    """

    losses: Mapping[str, Floats]
    products: Floats | None = None
    units: NDArray[Any] | None = None
    block: int = 1
    loss: str = "loss"
    measured: str = "validation"
    unit: str = "cases"

    @classmethod
    def squared(cls, outputs: Mapping[str, Floats], truth: Floats, **more: Any) -> Self:
        """Squared errors of outputs `(cases, ...)`, summed over all but the cases, with their products."""
        errors = np.stack([(each - truth).reshape(len(truth), -1) for each in outputs.values()], axis=1)
        products = errors @ errors.swapaxes(1, 2)
        losses = dict(zip(outputs, np.diagonal(products, axis1=1, axis2=2).T, strict=True))
        return cls(losses=losses, products=products, **more)


def called(name: str) -> str:
    """What a sentence calls a model."""
    return NETWORK if name == OURS else name


def known_as(name: str, known: Mapping[str, object]) -> str:
    """Name of a candidate, which `network` is for the network.

    Raises:
        ConfigError: There is no such candidate.
    """
    chosen = OURS if name == NETWORK and NETWORK not in known else name
    if chosen not in known:
        names = ", ".join(map(called, known))
        raise ConfigError(f"models of this run are {names}. Got {name}{closest(name, list(map(called, known)))}")
    return chosen


def fixed(name: str, reason: str = ", as the settings say") -> Choice:
    """The choice of what is decided without measuring."""
    return Choice(name=name, reason=reason)


def choose(evidence: Evidence, *, answer: str = AUTO) -> Choice:
    """The candidate of the lowest mean loss, the simpler of those within one standard error of it, or a blend.

    A blend, weights w >= 0 with sum 1 of the candidates' outputs, is taken where weights that were fitted on other
    cases are better than the best single candidate by more than one standard error.

    Args:
        evidence: Losses of every candidate, the finite of which take part.
        answer: `auto`, or the candidate that answers whatever was measured.

    Raises:
        ConfigError: There is no such candidate.
    """
    trial = _Trial(evidence)
    if answer != AUTO:
        return trial.told(known_as(answer, evidence.losses), ", as the settings say")
    weights = trial.blend()
    if weights is not None:
        return trial.told(BLEND, trial.why_blend(weights), weights)
    name = min(trial.near(), key=lambda each: (complexity_of(each), trial.means[each]))
    return trial.told(name, trial.why(name))


class _Trial:
    """Candidates, compared on the same cases."""

    def __init__(self, evidence: Evidence) -> None:
        known = {name: np.asarray(each, np.float64) for name, each in evidence.losses.items()}
        self.evidence, self.names = evidence, [name for name, each in known.items() if np.isfinite(each).all()]
        self.losses = {name: known[name] for name in self.names}
        if not self.losses or not len(self.losses[self.names[0]]):
            raise ConfigError(f"answer: no candidate has a loss on {evidence.measured}. Name one that answers.")
        self.clusters = clusters_of(len(self.losses[self.names[0]]), evidence.units, evidence.block)
        self.cases = len(np.unique(self.clusters))
        self.means = {name: float(each.mean()) for name, each in self.losses.items()}
        self.best = min(self.names, key=lambda name: (self.means[name], complexity_of(name)))

    def above(self, name: str) -> float:
        """How far a mean loss is above that of the best single candidate."""
        return self.means[name] - self.means[self.best]

    def error(self, name: str) -> float:
        """Standard error of that difference."""
        return standard_error(self.losses[name] - self.losses[self.best], self.clusters)

    def near(self) -> list[str]:
        """Candidates within one standard error of the best."""
        return [name for name in self.names if self.above(name) <= self.error(name)]

    def blend(self) -> dict[str, float] | None:
        """Weights of a blend that is better than the best candidate by more than one standard error."""
        if self.evidence.products is None or len(self.names) < 2 or self.cases < FEWEST:
            return None
        places = [list(self.evidence.losses).index(name) for name in self.names]
        products = self.evidence.products[:, places][:, :, places]
        losses = _out_of_fold(products, self.clusters)
        self.losses[BLEND], self.means[BLEND] = losses, float(losses.mean())
        if -self.above(BLEND) <= self.error(BLEND):
            return None
        weights = dict(zip(self.names, _few_weights(products.mean(0)).tolist(), strict=True))
        kept = {name: weight for name, weight in weights.items() if weight}
        return kept if len(kept) > 1 else None

    def told(self, name: str, reason: str, weights: Mapping[str, float] | None = None) -> Choice:
        """The choice with its table."""
        evidence = self.evidence
        rows = [
            Candidate(name=each, loss=self.means[each], difference=self.above(each), error=self.error(each))
            for each in self.losses
        ]
        return Choice(
            name=name, reason=f"{reason} ({self._measure(name)})", weights=dict(weights or {}),
            candidates=tuple(sorted(rows, key=lambda row: row.loss)), loss=evidence.loss, measured=evidence.measured,
            cases=self.cases, unit=evidence.unit,
        )  # fmt: skip

    def why(self, name: str) -> str:
        """Why a single candidate answers."""
        if len(self.names) == 1:
            return ", the only candidate"
        if name != self.best:
            return f", simpler and within one standard error of {_article(self.best)}"
        return ", the best of the candidates"

    def why_blend(self, weights: Mapping[str, float]) -> str:
        """Why a blend answers, and what it is made of."""
        ranked = sorted(weights, key=lambda name: -weights[name])
        members = " and ".join(f"{weights[name]:.0%} {called(name)}" for name in ranked)
        return f" of {members}, better than {_article(self.best)} by more than one standard error"

    def _measure(self, name: str) -> str:
        """The figures behind a reason."""
        evidence, rival = self.evidence, self._rival(name)
        against = f" against {self.means[rival]:.3g}" if rival else ""
        against += f" of {_article(rival)}" if rival and name == self.best else ""
        return f"{evidence.loss} {self.means[name]:.3g}{against}, {evidence.measured} of {self.cases:,} {evidence.unit}"

    def _rival(self, name: str) -> str | None:
        """The best of the others."""
        others = [each for each in self.names if each != name]
        return min(others, key=lambda each: (self.means[each], complexity_of(each))) if others else None


def _article(name: str) -> str:
    """A model inside a sentence."""
    return f"the {NETWORK}" if name == OURS else name


def _out_of_fold(products: Floats, clusters: NDArray[np.int64]) -> Floats:
    """Losses of a blend in every case, by weights that were fitted on the other folds of clusters."""
    names = np.unique(clusters)
    losses = np.empty(len(products))
    for part in np.array_split(names, FOLDS):
        held = np.isin(clusters, part)
        weights = _few_weights(products[~held].mean(0))
        losses[held] = np.einsum("i,nij,j->n", weights, products[held], weights)
    return losses


def _few_weights(products: Floats) -> Floats:
    """Convex weights, those below the smallest left out."""
    weights = simplex_weights(products)
    kept = np.flatnonzero(weights >= min(SMALLEST, weights.max()))
    few = np.zeros(len(weights))
    few[kept] = simplex_weights(products[np.ix_(kept, kept)])
    return few
