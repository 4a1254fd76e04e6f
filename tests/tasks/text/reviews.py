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


def long_reviews(rows: int = 200) -> pd.DataFrame:
    """Texts of seven to twelve words that share few of them, with a class and an author."""
    draw = np.random.default_rng(1)
    words = (
        "actor scene plot music camera script ending hero village ocean winter letter train garden mother brother king "
        "war dance kitchen mountain storm secret promise river castle doctor teacher soldier island market window"
    ).split()
    good = draw.random(rows) < 0.5
    texts = []
    for each in good:
        chosen = [*draw.choice(words, draw.integers(6, 11)), draw.choice(GOOD if each else BAD)]
        texts.append(" ".join(draw.permutation(chosen)))
    author = draw.choice(["Ada", "Bo", "Cy", "Di", "Ed", "Flo"], rows)
    return pd.DataFrame({"review": texts, "label": np.where(good, "good", "bad"), "author": author})
