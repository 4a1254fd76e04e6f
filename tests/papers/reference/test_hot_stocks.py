"""The stock paper's oracle: against the oracle of the general paper, against identities, and its figure 2."""

import functools

import pytest
import torch
from torch.nn import functional as F

from reference import hot, hot_stocks
from tolerances import assert_same

STOCKS, DAYS, DIM, HEADS = 3, 4, 8, 2
ATTENDED = {"none": (), "stock": ("stock",), "time": ("time",), "both": ("stock", "time")}


def normal(generator, *shape):
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


@pytest.fixture
def x(generator):
    return normal(generator, STOCKS, DAYS, DIM)


@pytest.fixture
def matrices(generator):
    return [normal(generator, DIM, DIM) / 2 for _ in range(4)]


def in_general(matrices):
    query, key, value, out = matrices
    return hot.AttentionWeights(query=[query], key=[key], value=value, out=out)


def test_full_attention_is_torchs_on_flattened_modes(x, matrices):
    expected = hot.full_attention(x[None], in_general(matrices), num_heads=HEADS)[0]
    assert_same(hot_stocks.full_attention(x, *matrices, num_heads=HEADS), expected)


def test_full_scores_of_one_query_sum_to_one_over_stocks_and_days(x):
    scores = hot_stocks.full_scores(x, x)
    assert scores.shape == (STOCKS, STOCKS, DAYS, DAYS)
    assert_same(scores.sum((1, 3)), torch.ones(STOCKS, DAYS, dtype=torch.float64))


@pytest.mark.parametrize("kernelised", [False, True], ids=["softmax", "kernel"])
@pytest.mark.parametrize("attended", ATTENDED)
def test_higher_order_attention_is_the_general_papers_with_two_modes(attended, kernelised, x, matrices, generator):
    projection = normal(generator, 3, DIM // HEADS)
    features = functools.partial(hot.smreg_features, projection=projection) if kernelised else None
    valid = torch.ones(STOCKS, DAYS, dtype=torch.bool)
    valid[0, 1:], valid[:, 2] = False, False
    modes = [("stock", "time").index(name) for name in ATTENDED[attended]]
    expected, maps = hot.kronecker_attention(
        x[None],
        in_general(matrices),
        num_heads=HEADS,
        valid=valid[None],
        context_valid=valid[None],
        context=x[None],
        features=features,
        attended_modes=modes,
        rotary_modes=(1,),
    )
    out, over_stocks, over_days = hot_stocks.higher_order_attention(
        x, *matrices, num_heads=HEADS, valid=valid, features=features, attended=ATTENDED[attended]
    )
    assert_same(out, expected[0])
    assert_same(over_stocks, maps[0][0])
    assert_same(over_days, maps[1][0])


def test_cross_attention_asks_tokens_of_another_length(x, matrices, generator):
    context = normal(generator, STOCKS, DAYS + 1, DIM)
    expected, _ = hot.kronecker_attention(
        x[None], in_general(matrices), num_heads=HEADS, context=context[None], rotary_modes=(1,)
    )
    out, _, over_days = hot_stocks.higher_order_attention(x, *matrices, num_heads=HEADS, context=context)
    assert over_days.shape == (HEADS, DAYS, DAYS + 1)
    assert_same(out, expected[0])


def test_equation_21_is_equation_18_with_the_kernels_matrix(x, generator):
    query, key = normal(generator, STOCKS, 4), normal(generator, STOCKS, 4)
    features = functools.partial(hot.smreg_features, projection=normal(generator, 3, 4))
    matrix = hot_stocks.kernel_factor(query, key, features)
    expected = hot_stocks.apply_factors(x, matrix, torch.eye(DAYS, dtype=torch.float64))
    assert_same(hot_stocks.linear_stock_product(x, query, key, features), expected)


def test_one_stock_of_one_head_is_ordinary_attention_over_its_days(matrices, generator):
    x = normal(generator, 1, DAYS, DIM)
    query, key, value, out = matrices
    q, k = (hot.rotary(x[0] @ matrix.T) for matrix in (query, key))
    expected = F.scaled_dot_product_attention(q, k, x[0] @ value.T) @ out.T
    assert_same(hot_stocks.higher_order_attention(x, *matrices, num_heads=1)[0][0], expected)


def test_every_stock_has_its_own_token_in_front_and_its_six_numbers(generator):
    prices, dates = normal(generator, STOCKS, DAYS, 3), normal(generator, DAYS, 3)
    vectors = hot_stocks.day_vectors(prices, dates)
    assert_same(vectors[1, 2], torch.cat([prices[1, 2], dates[2]]))
    weight, bias, own = normal(generator, DIM, 6), normal(generator, DIM), normal(generator, STOCKS, DIM)
    valid = torch.ones(STOCKS, DAYS, dtype=torch.bool)
    valid[2, 0] = False
    inputs = hot_stocks.PrintedInputs(weight=weight, bias=bias, stock_tokens=own)
    tokens, counts = hot_stocks.tokens_of(vectors, valid, inputs)
    assert_same(tokens[:, 0], own)
    assert_same(tokens[:, 1:], F.linear(vectors, weight, bias))
    assert counts.tolist() == [[True] * 5, [True] * 5, [True, False, True, True, True]]


def test_an_absent_token_stands_where_nothing_is_known_and_counts(generator):
    valid = torch.zeros(STOCKS, DAYS, dtype=torch.bool)
    absent, own = normal(generator, DIM), normal(generator, STOCKS, DIM)
    inputs = hot_stocks.PrintedInputs(
        weight=normal(generator, DIM, 2), bias=normal(generator, DIM), stock_tokens=own, absent=absent
    )
    tokens, counts = hot_stocks.tokens_of(normal(generator, STOCKS, DAYS, 2), valid, inputs)
    assert_same(tokens[:, 0], own)
    assert_same(tokens[:, 1:], absent.expand(STOCKS, DAYS, DIM))
    assert counts.all()


def block_weights(generator):
    norms = [(1 + normal(generator, DIM) / 4, None) for _ in range(4)]
    return hot.BlockWeights(
        attention_norm=norms[0],
        ffn_norm=norms[1],
        cross_norm=norms[2],
        context_norm=norms[3],
        gate=normal(generator, 4 * DIM, DIM),
        up=normal(generator, 4 * DIM, DIM),
        down=normal(generator, DIM, 4 * DIM),
    )


def test_each_decoder_block_asks_the_encoder_block_of_its_depth(x, generator):
    contexts = []
    layers = [
        hot_stocks.Layer(
            weights=block_weights(generator),
            attention=lambda tokens: tokens / 2,
            cross=lambda tokens, context: contexts.append(context) or tokens + context,
        )
        for _ in range(2)
    ]
    text = normal(generator, STOCKS, DAYS, DIM)
    out = hot_stocks.encoder_decoder(text, x, layers, layers)
    first = hot.block(text, layers[0].weights, layers[0].attention)
    second = hot.block(first, layers[1].weights, layers[1].attention)
    normed = [
        hot.rms_norm(deep, layer.weights.context_norm[0], 1e-6)
        for deep, layer in zip((first, second), layers, strict=True)
    ]
    assert len(contexts) == 2
    for context, expected in zip(contexts, normed, strict=True):
        assert_same(context, expected)
    assert out.shape == x.shape


def test_one_modality_alone_has_no_cross_attention(x, generator):
    layers = [hot_stocks.Layer(weights=block_weights(generator), attention=lambda tokens: tokens / 2)]
    assert_same(hot_stocks.encoder_only(x, layers), hot.block(x, layers[0].weights, layers[0].attention))


def test_logits_come_from_the_first_token_of_each_stock_alone(x, generator):
    norm, weight, bias = 1 + normal(generator, DIM) / 4, normal(generator, 2, DIM), normal(generator, 2)
    logits = hot_stocks.stock_logits(x, norm, weight, bias)
    assert_same(logits, F.linear(F.rms_norm(x[:, 0], (DIM,), norm, 1e-6), weight, bias))
