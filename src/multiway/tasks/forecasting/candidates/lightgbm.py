"""Trees of LightGBM that all series share: more and deeper ones, of more examples."""

from typing import Any

from torch import Tensor

from multiway.models.boosters import boost_by_lightgbm
from multiway.tasks.forecasting.candidate import Facts, Sizes
from multiway.tasks.forecasting.candidates.trees import SMALLEST, LaggedTrees, Trees
from multiway.tasks.forecasting.windows import Windows

POOL = 4
"""Steps of windows over those of them that trees are fitted on."""
FEWEST = 2_000
"""Training windows of single series at least: of fewer, many of which overlap, that many leaves learn little."""
MOST_STEPS = 1_500_000
"""Steps of all training windows and series up to which trees are fitted, some ten seconds."""
SIZE: dict[str, Any] = {"num_leaves": 31, "max_depth": 6, "min_data_in_leaf": SMALLEST, "learning_rate": 0.1}
"""A row takes as many steps through all trees as they are deep."""


class GlobalTrees(LaggedTrees):
    """Ridge's forecast and what LightGBM's trees add to it; the library is needed to fit alone."""

    rounds, leaves, examples = 100, 31, 50_000

    def grow(self, x: Tensor, y: Tensor, seed: int) -> None:
        """Fit trees by LightGBM."""
        boost_by_lightgbm(self.trees, x, y, seed, **SIZE)

    def count_windows(self, windows: Windows) -> int:
        """As many as have `POOL` times the examples."""
        return max(POOL * self.examples // (windows.num_targets * windows.horizon), 1)


class LightGBM(Trees):
    """What LightGBM's trees add to ridge."""

    name, words, cost, kind = "lightgbm", "LightGBM", 17, "trees"
    library = ("lightgbm", "lightgbm")

    def can_answer(self, facts: Facts) -> bool:
        """On many windows of few steps."""
        count = facts.windows * facts.series
        return count >= FEWEST and count * facts.horizon <= MOST_STEPS

    def build(self, sizes: Sizes) -> GlobalTrees:
        """Without a tree."""
        return GlobalTrees(sizes.lookback, sizes.horizon, sizes.season, sizes.matrices, sizes.calendar)


CANDIDATE = LightGBM()
