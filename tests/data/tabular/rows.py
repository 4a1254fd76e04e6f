"""Small tables of patients, as text and as frames."""

import numpy as np
import pandas as pd


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
