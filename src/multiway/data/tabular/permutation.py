"""How much each column matters to a score, by shuffling its cells over the rows (Breiman 2001)."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from multiway.data.tabular.table import Table

SHUFFLES = 5
EVERY = "all"


def permutation_importance(table: Table, score: Callable[[Table], float], seed: int = 0) -> pd.DataFrame:
    """Columns `column`, `importance` (how much the score falls, in the mean of 5 shuffles) and `sd`, largest first.

    The last row is that of all columns shuffled at once, which leaves nothing to go by. Of columns that say the same,
    each looks unimportant.

    Args:
        table: Rows that the model has not seen.
        score: Of the model on rows; higher is better.
        seed: Of the shuffles.
    """
    chance, whole, every = np.random.default_rng(seed), score(table), table.columns.inputs
    found = [_fall(name, (name,), table, score, whole, chance) for name in every]
    found.sort(key=lambda row: -row[1])
    rows = [*found, _fall(EVERY, every, table, score, whole, chance)]
    return pd.DataFrame(rows, columns=["column", "importance", "sd"])


def _fall(
    name: str, columns: tuple[str, ...], table: Table, score: Callable[[Table], float], whole: float,
    chance: np.random.Generator,
) -> tuple[str, float, float]:  # fmt: skip
    falls = [whole - score(table.shuffled(columns, chance)) for _ in range(SHUFFLES)]
    return name, float(np.mean(falls)), float(np.std(falls, ddof=1))
