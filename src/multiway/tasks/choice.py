"""Which candidate of a run answers: what validation prefers, the simpler of those it cannot tell apart, or a blend."""

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from multiway.config import Config
from multiway.errors import ConfigError, closest
from multiway.metrics.resampling import clusters_of, standard_error
from multiway.ops.simplex import few_weights
from multiway.tasks.candidate import CONSTANT, MIXED, NET, NETWORK
from multiway.tasks.options import AUTO

FOLDS, FEWEST = 5, 10
"""Parts that the weights of a blend are tried on in turn, and clusters below which neither a blend nor a constant is
taken for as good as the best; nor is a candidate that has a loss of fewer cases than others."""
BEHIND = 3.0
"""Standard errors above the best, beyond which a candidate is measured no further."""
Floats = NDArray[np.float64]
COMPLEMENT = "1 - "
"""Begins the name of a loss that is one minus a score; a reason says the score."""
BLEND = "blend"
"""Name of a blend of models."""


class Candidate(Config):
    """What was measured of one candidate."""

    name: str
    loss: float
    difference: float
    """How far the loss is above the lowest of single models."""
    error: float | None
    """Standard error of the difference, over independent cases; None for fewer than two of them."""
    cases: int
    """Independent ones that it was measured on."""


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

    def mix(self, outputs: Mapping[str, Floats]) -> Floats:
        """The answer by the outputs of its members."""
        if self.name in outputs:
            return outputs[self.name]
        total: Floats = sum(weight * outputs[name] for name, weight in self.shares.items())  # type: ignore[assignment]
        return total

    def explain_line(self, name: str, why: str) -> str:
        """The first line of an explanation of one model: of the answer, or why it is of another."""
        if name == self.name:
            return self.line()
        return f"This explains {_article(name)}, {why}. {self.line()}"

    def line(self) -> str:
        """The first line of whatever the answer gives."""
        return f"Answer: {self.name}{self.reason}."


@dataclasses.dataclass(frozen=True, kw_only=True)
class Evidence:
    """Losses of every candidate on the same cases.

    losses: By candidate, `(cases,)`; NaN where one was not measured, infinite where it has no answer. One that was
        measured on some of the cases only is compared on these.
    products: Inner products of the candidates' errors in each case, `(cases, candidates, candidates)`, in the order
        of the losses, which stand on the diagonal; with them a blend is tried.
    units, block: What cases belong to, and how many neighbouring units count as one, as for the intervals.
    loss, measured, unit: As of a `Choice`.
    partly: What those were measured on that were not on all cases.
    """

    losses: Mapping[str, Floats]
    products: Floats | None = None
    units: NDArray[Any] | None = None
    block: int = 1
    loss: str = "loss"
    measured: str = "validation"
    partly: str = "validation"
    unit: str = "cases"
    is_rare: bool = False
    """Whether a rare class is looked for: a constant, near as its loss always is, finds none of it."""

    @classmethod
    def from_squares(cls, outputs: Mapping[str, Floats], truth: Floats, **more: Any) -> Self:
        """Squared errors of outputs `(cases, ...)`, summed over all but the cases, with their products."""
        errors = np.stack([(each - truth).reshape(len(truth), -1) for each in outputs.values()], axis=1)
        products = errors @ errors.swapaxes(1, 2)
        losses = dict(zip(outputs, np.diagonal(products, axis1=1, axis2=2).T, strict=True))
        return cls(losses=losses, products=products, **more)


def find_candidate(name: str, known: Collection[str]) -> str:
    """Name of a candidate that is there."""
    if name not in known:
        raise ConfigError(f"models of this run are {', '.join(known)}. Got {name}{closest(name, list(known))}")
    return name


def choice_of_settings(name: str, reason: str = ", as the settings say") -> Choice:
    """The choice of what is decided without measuring."""
    return Choice(name=name, reason=reason)


def choose(evidence: Evidence, ranks: Mapping[str, int], *, answer: str = AUTO) -> Choice:
    """The candidate of the lowest mean loss, the simpler of those within one standard error of it, or a blend.

    A constant, the simplest, answers where no other is better than it by more than one standard error; not where there
    are few independent cases, or a rare class is looked for.

    A blend, weights w >= 0 with sum 1 of the candidates' outputs, is taken where weights that were fitted on other
    cases are better than the best single candidate by more than one standard error.

    Args:
        evidence: Losses of the candidates.
        ranks: How simple each is; unknown names are networks.
        answer: `auto`, or the candidate that answers whatever was measured.
    """
    trial = _Trial(evidence, ranks)
    if answer != AUTO:
        return trial.choice_of(find_candidate(answer, evidence.losses), ", as the settings say")
    weights = trial.blend()
    if weights is not None:
        return trial.choice_of(BLEND, trial.why_blend(weights), weights)
    name = min(trial.near(), key=lambda each: (trial.rank(each), trial.means[each]))
    return trial.choice_of(name, trial.why(name))


def far_behind(evidence: Evidence) -> list[str]:
    """Candidates above the best by three standard errors that a blend of all has no weight for."""
    trial = _Trial(evidence, {})
    products = trial.products()
    if products is None:
        return []
    behind = {name for name in trial.whole if trial.above(name, trial.best) > BEHIND * trial.error(name, trial.best)}
    weights = few_weights(products.mean(0))
    return [name for name, weight in zip(trial.whole, weights, strict=True) if name in behind and not weight]


class _Trial:
    """Candidates, compared in pairs on the cases that both have a loss of."""

    def __init__(self, evidence: Evidence, ranks: Mapping[str, int]) -> None:
        known = {name: np.asarray(each, np.float64) for name, each in evidence.losses.items()}
        self.ranks = {**ranks, BLEND: MIXED}
        self.evidence = evidence
        self.losses = {
            name: each for name, each in known.items() if np.isfinite(each).any() and not np.isinf(each).any()
        }
        if not self.losses:
            raise ConfigError(f"answer: no candidate has a loss on {evidence.measured}. Name one that answers.")
        self.names = list(self.losses)
        self.clusters = clusters_of(len(self.losses[self.names[0]]), evidence.units, evidence.block)
        most = max(np.isfinite(each).sum() for each in self.losses.values())
        self.whole = [name for name in self.names if np.isfinite(self.losses[name]).sum() == most]
        first = min(self.whole, key=lambda name: (np.nanmean(self.losses[name]), self.rank(name)))
        self.means = {name: float(np.nanmean(self.losses[first])) + self.above(name, first) for name in self.names}
        self.compared = [each for each in self.names if each in self.whole or self._stands_out(each, first)]
        self.best = min(self.compared, key=lambda name: (self.means[name], self.rank(name)))

    def _stands_out(self, name: str, first: str) -> bool:
        """Whether a candidate measured on some cases, which may have chosen its epoch, is better by two deviations."""
        cases = self.common(name, first)
        return self.count(cases) >= FEWEST and self.above(name, first) < -2 * self.error(name, first)

    def rank(self, name: str) -> int:
        """How simple a candidate is."""
        return self.ranks.get(name, NET)

    def common(self, name: str, other: str) -> NDArray[np.bool_]:
        """Cases that both have a loss of."""
        cases: NDArray[np.bool_] = np.isfinite(self.losses[name]) & np.isfinite(self.losses[other])
        return cases

    def above(self, name: str, other: str) -> float:
        """How far the mean loss of one candidate is above that of another."""
        cases = self.common(name, other)
        return float((self.losses[name] - self.losses[other])[cases].mean()) if cases.any() else float("inf")

    def error(self, name: str, other: str) -> float:
        """Standard error of that difference."""
        cases = self.common(name, other)
        return standard_error((self.losses[name] - self.losses[other])[cases], self.clusters[cases])

    def near(self) -> list[str]:
        """Candidates within one standard error of the best."""
        near = [name for name in self.compared if self.above(name, self.best) <= self.error(name, self.best)]
        return [name for name in near if name == self.best or self.rank(name) > CONSTANT or self._is_unbeaten(name)]

    def _is_unbeaten(self, constant: str) -> bool:
        """Whether enough cases say that no candidate is better than a constant by more than one standard error."""
        known = self.count(np.isfinite(self.losses[constant])) >= FEWEST and not self.evidence.is_rare
        return known and all(self.above(constant, each) <= self.error(constant, each) for each in self.names)

    def products(self) -> Floats | None:
        """Those of the candidates that are measured on all cases; None where these are too few for a blend."""
        cases = np.isfinite(self.losses[self.whole[0]])
        if self.evidence.products is None or len(self.whole) < 2 or self.count(cases) < FEWEST:
            return None
        places = [list(self.evidence.losses).index(name) for name in self.whole]
        return self.evidence.products[cases][:, places][:, :, places]

    def blend(self) -> dict[str, float] | None:
        """Weights of a blend that is better than the best candidate by more than one standard error."""
        cases, products = np.isfinite(self.losses[self.whole[0]]), self.products()
        if products is None:
            return None
        losses = np.full(len(cases), np.nan)
        losses[cases] = _out_of_fold(products, self.clusters[cases])
        self.losses[BLEND], self.means[BLEND] = losses, float(np.nanmean(losses))
        if -self.above(BLEND, self.best) <= self.error(BLEND, self.best):
            return None
        weights = dict(zip(self.whole, few_weights(products.mean(0)).tolist(), strict=True))
        kept = {name: weight for name, weight in weights.items() if weight}
        return kept if len(kept) > 1 else None

    def count(self, cases: NDArray[np.bool_]) -> int:
        """Independent ones among some cases."""
        return len(np.unique(self.clusters[cases]))

    def choice_of(self, name: str, reason: str, weights: Mapping[str, float] | None = None) -> Choice:
        """The choice with its table."""
        evidence, every = self.evidence, np.isfinite(self.losses[self.whole[0]])
        return Choice(
            name=name,
            reason=f"{reason} ({self._measure(name)})",
            weights=dict(weights or {}),
            candidates=tuple(sorted(map(self._row, self.losses), key=lambda row: row.loss)),
            loss=evidence.loss,
            measured=evidence.measured,
            cases=self.count(every),
            unit=evidence.unit,
        )

    def _row(self, name: str) -> Candidate:
        above, error = self.above(name, self.best), self.error(name, self.best)
        cases = self.count(np.isfinite(self.losses[name]))
        known = error if np.isfinite(error) else None
        return Candidate(name=name, loss=self.means[name], difference=above, error=known, cases=cases)

    def why(self, name: str) -> str:
        """Why a single candidate answers."""
        if len(self.names) == 1:
            return ", the only candidate"
        if name != self.best and self.rank(name) == CONSTANT:
            *others, last = sorted((each for each in self.names if each != name), key=self.rank)
            tried = f"none of {', '.join(others)} and {last} is" if others else f"{last} is not"
            return (
                f", a constant, as {tried} better by more than one standard error; more cases, other inputs or another "
                f"network may help"
            )
        if name != self.best:
            return f", simpler and within one standard error of {_article(self.best)}"
        return ", the best of the candidates"

    def why_blend(self, weights: Mapping[str, float]) -> str:
        """Why a blend answers, and what it is made of."""
        ranked = sorted(weights, key=lambda name: -weights[name])
        members = " and ".join(f"{weights[name]:.0%} {name}" for name in ranked)
        return f" of {members}, better than {_article(self.best)} by more than one standard error"

    def _measure(self, name: str) -> str:
        """The figures behind a reason: of the answer and of the best of the others, on the same cases."""
        others = [each for each in self.compared if each != name]
        rival = min(others, key=lambda each: (self.means[each], self.rank(each))) if others else name
        cases = self.common(name, rival)
        own, other = (float(self.losses[each][cases].mean()) for each in (name, rival))
        is_whole = cases.sum() == np.isfinite(self.losses[self.whole[0]]).sum()
        measured = self.evidence.measured if is_whole else self.evidence.partly
        word = self.evidence.loss.removeprefix(COMPLEMENT)
        if word != self.evidence.loss:
            own, other = 1 - own, 1 - other
        against = f" against {other:.3g}" if others else ""
        against += f" of {_article(rival)}" if others and name == self.best else ""
        return f"{word} {own:.3g}{against}, {measured} of {self.count(cases):,} {self.evidence.unit}"


def _article(name: str) -> str:
    """A model inside a sentence."""
    return f"the {NETWORK}" if name == NETWORK else name


def _out_of_fold(products: Floats, clusters: NDArray[np.int64]) -> Floats:
    """Losses of a blend in every case, by weights that were fitted on the other folds of clusters."""
    names = np.unique(clusters)
    losses = np.empty(len(products))
    for part in np.array_split(names, FOLDS):
        held = np.isin(clusters, part)
        weights = few_weights(products[~held].mean(0))
        losses[held] = np.einsum("i,nij,j->n", weights, products[held], weights)
    return losses
