"""Tokens as a language model sees them: how surprising they are, and how they go on."""

import pytest
import torch

from multiway.errors import ConfigError
from multiway.models import create_model
from multiway.models.next_token import continued, token_nats
from multiway.models.ngrams import KneserNey, sizes_of

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
    counts = KneserNey.sized(SIZE, sizes_of(documents, 2, SIZE))
    counts.fit(documents)
    inputs, target = torch.tensor([[22, 3, 4], [3, 22, 22]]), torch.tensor([[3, 4, 3], [4, -100, -100]])
    shares = network(inputs).log_softmax(-1)
    expected = torch.stack([-shares[0, 0, 3], -shares[0, 1, 4], -shares[0, 2, 3], -shares[1, 0, 4]])
    torch.testing.assert_close(token_nats(network, inputs, target), expected.detach())
    known = counts(inputs, target)
    torch.testing.assert_close(token_nats(counts, inputs, target), -torch.cat([known[0], known[1, :1]]))


def test_a_continuation_is_greedy_or_drawn_and_the_same_for_the_same_seed(network):
    def said(**changes):
        return continued(network, [22, 5, 7], CONTEXT, 9, end=END, **changes)

    assert said() == said(seed=1)
    assert said(temperature=1.0) == said(temperature=1.0) != said(temperature=1.0, seed=1)
    assert said()[0] == int(network(torch.tensor([[22, 5, 7]]))[0, -1].argmax())


def test_no_more_is_read_than_the_context_and_no_more_written_than_asked():
    model = Saying(5)
    assert continued(model, range(6), CONTEXT, 4, end=END) == [5] * 4
    assert model.read[-1] == [1, 2, 3, 4, 5, 5, 5, 5]
    assert continued(model, range(6), CONTEXT, 0, end=END) == []


def test_writing_ends_where_the_model_ends_the_text():
    assert continued(Saying(END), [22, 5], CONTEXT, 9, end=END) == [END]


def test_a_temperature_below_0_is_refused(network):
    with pytest.raises(ConfigError, match=r"temperature counts from 0\. Got -1\.0"):
        continued(network, [22], CONTEXT, 1, end=END, temperature=-1.0)
