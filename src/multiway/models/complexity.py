"""How complex a model is, by its name: of models that validation cannot tell apart the simpler one answers."""

BLEND = "blend"
"""Name of a blend of models."""
CONSTANT, LINEAR, TREES, NETWORK, MIXED = range(5)
_CONSTANTS = (
    "background", "majority", "mean", "naive", "previous", "random", "seasonal_naive", "training_quantiles", "unigram"
)  # fmt: skip
_LINEAR = ("calendar", "logistic", "ridge", "ridge_inputs", "tfidf", "tfidf_ticker", "threshold", "trigram", "vectors")
OF_NAMES = {
    **dict.fromkeys(_CONSTANTS, CONSTANT),
    **dict.fromkeys(_LINEAR, LINEAR),
    **dict.fromkeys(("rocket", "trees"), TREES),
    BLEND: MIXED,
}


def complexity_of(name: str) -> int:
    """Rank of a model: a constant, a closed form or linear, trees, a network, a blend; unknown names are networks."""
    return OF_NAMES.get(name, NETWORK)
