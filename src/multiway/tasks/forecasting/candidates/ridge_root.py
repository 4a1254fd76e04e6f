"""Ridge on the roots of series that are never below zero."""

from multiway.tasks.forecasting.candidate import Facts
from multiway.tasks.forecasting.candidates.ridge_log import RidgeOfLogs


class RidgeOfRoots(RidgeOfLogs):
    """Ridge on roots."""

    name, words, cost = "ridge_root", "ridge of roots", 6
    transform = "root"

    def can_answer(self, facts: Facts) -> bool:
        """Where a series is never below zero."""
        return facts.are_few and bool((facts.low >= 0).any())


CANDIDATE = RidgeOfRoots()
