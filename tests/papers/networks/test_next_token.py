"""Tokens as a language model sees them: how surprising they are, and how they go on."""

import collections
import itertools
import math

import pytest
import torch

from multiway.errors import ConfigError
from multiway.models import create_model
from multiway_papers.networks.next_token import DISCOUNT, KneserNey, continuation, counts_of, table_sizes, token_nats

SIZE, END, CONTEXT = 23, 22, 8


@pytest.fixture
def network():
    torch.manual_seed(0)
    fields = {"dim": 12, "num_blocks": 1, "num_heads": 3, "dropout": 0.0}
    return create_model("causal_transformer", vocabulary=SIZE, context=CONTEXT, **fields).eval()


class Saying(torch.nn.Module):
    """Sure of one token, after having been given so many at once at most."""

    def __init__(self, token):
        super().__init__()
        self.token, self.read = token, []

    def forward(self, tokens):
        self.read.append(tokens.tolist()[0])
        return torch.nn.functional.one_hot(torch.zeros_like(tokens) + self.token, SIZE).float()


def test_nats_are_of_the_tokens_alone_and_of_networks_as_of_counts(network):
    documents = [torch.tensor([22, 3, 4, 3, 4, 22])]
    counts = KneserNey.sized(SIZE, table_sizes(documents, 2, SIZE))
    counts.fit(documents)
    inputs, target = torch.tensor([[22, 3, 4], [3, 22, 22]]), torch.tensor([[3, 4, 3], [4, -100, -100]])
    shares = network(inputs).log_softmax(-1)
    expected = torch.stack([-shares[0, 0, 3], -shares[0, 1, 4], -shares[0, 2, 3], -shares[1, 0, 4]])
    torch.testing.assert_close(token_nats(network, inputs, target), expected.detach())
    known = counts(inputs, target)
    torch.testing.assert_close(token_nats(counts, inputs, target), -torch.cat([known[0], known[1, :1]]))


@pytest.mark.parametrize("order", [1, 3])
def test_counts_continue_by_the_most_probable_token_of_all(order):
    documents = [torch.tensor([22, 3, 4, 5, 3, 4, 5, 3, 4, 6, 22]), torch.tensor([22, 7, 4, 6, 22])]
    counts = KneserNey.sized(SIZE, table_sizes(documents, order, SIZE))
    counts.fit(documents)
    before = [22, 3, 4]
    logits = counts.logits(before)
    assert float(logits.exp().sum()) == pytest.approx(1)
    for token in range(SIZE):
        row = torch.tensor([[*before[1:], token]])
        assert float(logits[token]) == pytest.approx(float(counts(torch.tensor([before]), row)[0, -1]))
    assert continuation(counts, before, CONTEXT, 1, end=END) == [int(logits.argmax())]


def test_a_continuation_is_greedy_or_drawn_and_the_same_for_the_same_seed(network):
    def said(**changes):
        return continuation(network, [22, 5, 7], CONTEXT, 9, end=END, **changes)

    assert said() == said(seed=1)
    assert said(temperature=1.0) == said(temperature=1.0) != said(temperature=1.0, seed=1)
    assert said()[0] == int(network(torch.tensor([[22, 5, 7]]))[0, -1].argmax())


def test_no_more_is_read_than_the_context_and_no_more_written_than_requested():
    model = Saying(5)
    assert continuation(model, range(6), CONTEXT, 4, end=END) == [5] * 4
    assert model.read[-1] == [1, 2, 3, 4, 5, 5, 5, 5]
    assert continuation(model, range(6), CONTEXT, 0, end=END) == []


def test_writing_ends_where_the_model_ends_the_text():
    assert continuation(Saying(END), [22, 5], CONTEXT, 9, end=END) == [END]


def test_a_temperature_below_0_is_refused(network):
    with pytest.raises(ConfigError, match=r"temperature counts from 0\. Got -1\.0"):
        continuation(network, [22], CONTEXT, 1, end=END, temperature=-1.0)


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
    repeated = KneserNey(VOCABULARY, counts_of(documents(), 3, VOCABULARY))
    repeated.load_state_dict(model.state_dict())
    inputs = torch.tensor([list(itertools.islice(itertools.cycle(range(VOCABULARY)), 12))])
    assert torch.equal(model(inputs, inputs), repeated(inputs, inputs))
