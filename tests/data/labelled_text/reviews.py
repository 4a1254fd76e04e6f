"""Small tables of reviews, as frames."""

import numpy as np
import pandas as pd

GOOD, BAD = ("great", "lovely", "warm"), ("dull", "awful", "cold")


def reviews(rows: int = 60) -> pd.DataFrame:
    """Texts of five words with a class, an author and a split."""
    draw = np.random.default_rng(0)
    good = draw.random(rows) < 0.5
    words = [draw.choice(GOOD if each else BAD, 2) for each in good]
    return pd.DataFrame(
        {
            "review": [f"A {first} and {second} film {row}" for row, (first, second) in enumerate(words)],
            "label": np.where(good, "good", "bad"),
            "author": draw.choice(["Ada", "Bo", "Cy", "Di", "Ed", "Flo"], rows),
            "part": np.where(np.arange(rows) < 40, "train", np.where(np.arange(rows) < 50, "dev", "other")),
        }
    )
