"""Kneser-Ney against a slow transcription, and as a distribution."""

import collections
import itertools
import math

import pytest
import torch

from multiway.models.ngrams import DISCOUNT, KneserNey, counts_of

VOCABULARY = 7


def documents(seed=0, lengths=(40, 1, 23, 61)):
    chance = torch.Generator().manual_seed(seed)
    return [torch.randint(0, VOCABULARY, (length,), generator=chance) for length in lengths]


def fitted(order):
    model = KneserNey(VOCABULARY, counts_of(documents(), order, VOCABULARY))
    model.fit(documents())
    return model


def slow(context, token, order):
    """Chen & Goodman's recursion by counting tuples; `order` is that of the model, the context is the longest known."""
    size = len(context) + 1
    grams = collections.Counter(
        tuple(each[place : place + size].tolist()) for each in documents() for place in range(len(each) - size + 1)
    )
    if size < order:
        longer = {
            tuple(each[place : place + size + 1].tolist())
            for each in documents() for place in range(len(each) - size)
        }  # fmt: skip
        grams = collections.Counter(gram[1:] for gram in longer)
    below = 1 / VOCABULARY if not context else slow(context[1:], token, order)
    following = {gram: n for gram, n in grams.items() if gram[:-1] == context}
    if not following:
        return below
    once, twice = (sum(n == times for n in grams.values()) for times in (1, 2))
    discount = once / (once + 2 * twice) if once and twice else DISCOUNT
    kept = max(grams.get((*context, token), 0) - discount, 0)
    return (kept + discount * len(following) * below) / sum(following.values())


@pytest.mark.parametrize("order", [1, 2, 3])
def test_it_is_the_recursion_written_out(order):
    inputs, target = documents(3, (9,))[0][None], documents(4, (9,))[0][None]
    found = fitted(order)(inputs, target)[0].tolist()
    for place, value in enumerate(found):
        context = tuple(inputs[0, max(place - order + 2, 0) : place + 1].tolist()) if order > 1 else ()
        assert value == pytest.approx(math.log(slow(context, int(target[0, place]), order)), rel=1e-12)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_shares_of_all_tokens_sum_to_one(order):
    model, inputs = fitted(order), torch.tensor([[0, 3, 6, 2, 2], [5, 5, 5, 5, 5]])
    total = sum(model(inputs, torch.full_like(inputs, token)).exp() for token in range(VOCABULARY))
    torch.testing.assert_close(total, torch.ones_like(total), rtol=1e-12, atol=0)


def test_stored_counts_are_loaded_into_a_model_of_their_size():
    model = fitted(3)
    again = KneserNey(VOCABULARY, counts_of(documents(), 3, VOCABULARY))
    again.load_state_dict(model.state_dict())
    inputs = torch.tensor([list(itertools.islice(itertools.cycle(range(VOCABULARY)), 12))])
    assert torch.equal(model(inputs, inputs), again(inputs, inputs))
