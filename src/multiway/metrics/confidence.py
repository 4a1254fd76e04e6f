"""How far probabilities of classes can be taken at their word: temperatures, sets of classes, what acting is worth.

Labels are `(cases,)` positions of classes, probabilities `(cases, classes)`.
"""

import numpy as np
from numpy.typing import NDArray

from multiway.metrics.classes import Labels, Probabilities, accuracy
from multiway.metrics.resampling import clusters_of, standard_error

Floats = NDArray[np.float64]
SMALLEST, HOTTEST = 1e-40, 20.0
"""Probability that any class has at least, and the greatest temperature; the least is one over it."""
ROUNDING = 1e-9
FEWEST = 30
"""Independent cases from which a temperature is looked for: of fewer that are all right, it would doubt what holds."""


def log_losses(labels: Labels, probabilities: Probabilities) -> Floats:
    r"""Log losses of n cases, whose class is not quite sure: all right, they do not ask for endless certainty.

    $$-(1 - \varepsilon) \log p_y - \frac{\varepsilon}{C - 1} \sum_{c \ne y} \log p_c, \quad \varepsilon = 1 / (n + 2)$$
    (Platt 1999)
    """
    doubt, logs = 1 / (len(labels) + 2), np.log(np.clip(probabilities, SMALLEST, None))
    own = logs[np.arange(len(labels)), labels]
    others = (logs.sum(1) - own) / max(probabilities.shape[1] - 1, 1)
    losses: Floats = -(1 - doubt) * own - doubt * others
    return losses


def temper(probabilities: Probabilities, temperature: float) -> Probabilities:
    r"""Probabilities in proportion to $p^{1/T}$: above 1 they are less sure, below it surer (Guo et al. 2017)."""
    logits = np.log(np.clip(probabilities, SMALLEST, None)) / temperature
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    tempered: Floats = powers / powers.sum(-1, keepdims=True)
    return tempered


def find_temperature(labels: Labels, probabilities: Probabilities, units: NDArray[np.str_] | None = None) -> float:
    """The temperature of the least log loss; 1 unless that is lower by more than one standard error.

    It is 1 for few cases, too.

    units: What each case belongs to, such as its patient; each alone if not given.
    """
    clusters = clusters_of(len(labels), units)
    if len(np.unique(clusters)) < FEWEST:
        return 1.0
    from scipy.optimize import minimize_scalar  # takes longer to import than most of what is here

    reach = np.log(HOTTEST)
    found = minimize_scalar(
        lambda power: log_losses(labels, temper(probabilities, float(np.exp(power)))).mean(),
        bounds=(-reach, reach),
        method="bounded",
    )
    best = float(np.exp(found.x))
    gains = log_losses(labels, probabilities) - log_losses(labels, temper(probabilities, best))
    return best if gains.mean() > standard_error(gains, clusters) else 1.0


def set_limits(labels: Labels, probabilities: Probabilities, level: float) -> Floats:
    """What the probability of a class may lack to 1 at most where the class is in the set of a case, by class.

    It is the ⌈(n + 1) level⌉-th smallest of the n cases of that class, so that of new ones a share of `level` has its
    class in its set (Vovk 2012). Infinite where n is less than that: the class is then in every set.
    """
    limits = np.full(probabilities.shape[1], np.inf)
    for label in range(len(limits)):
        lacks = np.sort(1 - probabilities[labels == label, label])
        rank = int(np.ceil((len(lacks) + 1) * level - ROUNDING))
        if rank <= len(lacks):
            limits[label] = lacks[rank - 1]
    return limits


def class_sets(probabilities: Probabilities, limits: Floats) -> NDArray[np.bool_]:
    """Which classes are in the set of each case, `(cases, classes)`; in none where a case is like no class."""
    inside: NDArray[np.bool_] = 1 - probabilities <= limits + ROUNDING
    return inside


def least_cases(level: float) -> int:
    """Cases that a class needs for a limit."""
    return int(np.ceil(level / (1 - level) - ROUNDING))


def accuracy_above(labels: Labels, probabilities: Probabilities, limit: float) -> float | None:
    """Share of right answers among those of at least this probability; None without any."""
    kept = probabilities.max(1) >= limit
    return accuracy(labels[kept], probabilities[kept])


def share_held(labels: Labels, probabilities: Probabilities, limits: Floats, label: int) -> float | None:
    """Share of the cases of a class whose set holds it; None without a case."""
    own = labels == label
    return float(class_sets(probabilities[own], limits)[:, label].mean()) if own.any() else None


def net_benefit(labels: Labels, scores: Floats, threshold: float) -> float:
    r"""What acting on every case above a probability t is worth, in cases found per case (Vickers & Elkin 2006).

    $$\frac{\text{true positives}}{n} - \frac{\text{false positives}}{n}\,\frac{t}{1 - t}$$

    labels: 1 for the cases to find, 0 for the others; `scores` are their probabilities.
    """
    acts = scores >= threshold
    return float((acts & (labels == 1)).mean() - (acts & (labels == 0)).mean() * threshold / (1 - threshold))
