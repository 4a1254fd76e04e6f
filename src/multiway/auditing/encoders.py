"""Until when encoders of texts were trained: one that has read of a day may know how the day ended."""

import numpy as np

from multiway.auditing.report import Verdict, found
from multiway.data.findings import quoted

LEARNS_NOTHING = ("hashed",)
TRAINED = {
    "minilm": "2021-08", "sentence-transformers/all-MiniLM-L6-v2": "2021-08",
    "sentence-transformers/all-MiniLM-L12-v2": "2021-08", "sentence-transformers/all-mpnet-base-v2": "2021-08",
    "finbert": "2020-12", "ProsusAI/finbert": "2020-12", "yiyanghkust/finbert-tone": "2020-12",
    "bert-base-uncased": "2018-10", "google-bert/bert-base-uncased": "2018-10",
    "distilbert-base-uncased": "2019-10", "distilbert/distilbert-base-uncased": "2019-10",
    "roberta-base": "2019-07", "FacebookAI/roberta-base": "2019-07", "microsoft/deberta-v3-base": "2021-11",
    "gpt2": "2019-02", "openai-community/gpt2": "2019-02", "vinai/bertweet-base": "2020-05",
    "BAAI/bge-small-en-v1.5": "2023-09", "BAAI/bge-base-en-v1.5": "2023-09", "intfloat/e5-small-v2": "2023-05",
    "intfloat/e5-base-v2": "2023-05", "answerdotai/ModernBERT-base": "2024-12",
}  # fmt: skip
"""Month in which known encoders were given out, after which they have read nothing."""


def check_encoder(name: str, first: np.datetime64, last: np.datetime64) -> Verdict:
    """Whether an encoder was trained after the test days began.

    Args:
        name: What users call it.
        first: First test day.
        last: Last test day.
    """
    days = f"the test days, {first} to {last}"
    if name in LEARNS_NOTHING:
        return f"the encoder {name} has learnt from no text"
    month = TRAINED.get(name)
    if month is None:
        return found(
            "encoder", "note", f"until when the encoder {quoted(name, 80)} was trained is not known; if that was after "
            f"{first}, it may have read how {days}, ended", "Compare with --set text.encoder=hashed.",
        )  # fmt: skip
    if np.datetime64(month) < first.astype("datetime64[M]"):
        return f"the encoder {name} was trained until {month}, before {days}"
    return found(
        "encoder", "warning", f"the encoder {name} was trained until {month}, after {days}, began: it may know how "
        "they ended", "Compare with --set text.encoder=hashed, or take an encoder from before.",
    )  # fmt: skip
