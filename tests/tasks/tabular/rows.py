"""Small tables of patients, as text and as frames."""

import numpy as np
import pandas as pd

from multiway.tasks.tabular import TabularConfig
from multiway.tasks.tabular.config import TableOptions
from multiway.tasks.tabular.source import ROWS
from multiway.tasks.tabular.task import TASK


def patients(rows: int = 60) -> pd.DataFrame:
    """Numbers, words, a truth value, and whether a patient is ill."""
    generator = np.random.default_rng(0)
    age = generator.integers(20, 80, rows)
    return pd.DataFrame(
        {
            "age": age,
            "weight": generator.normal(70, 9, rows).round(1),
            "city": generator.choice(["Ulm", "Bonn", "Kiel"], rows),
            "smokes": generator.random(rows) < 0.3,
            "ill": np.where(age + generator.normal(0, 10, rows) > 50, "yes", "no"),
        }
    )


def as_csv(frame: pd.DataFrame) -> str:
    return frame.to_csv(index=False)


def read_table(source, options=None, state=None):
    """Rows of inputs and their targets, without a flaw."""
    return ROWS.read_sound(TabularConfig(read=options or TableOptions()), source, state)


def prepare_table(source, options, split):
    """Rows ready for training."""
    return TASK.prepare(TabularConfig(read=options, split=split), source)


def match_table(source, options, state, *, has_target=True):
    """Later rows."""
    config = TabularConfig(read=options)
    return TASK.prepare(config, source, state, labelled=has_target)


def check_table(source, options=None):
    """What a check says of rows."""
    return TASK.kind.check(TabularConfig(read=options or TableOptions()), source)
