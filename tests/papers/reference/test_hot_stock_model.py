"""The classifier of stocks against the transcription of its paper: values, and gradients of every parameter.

Tokens that start from the stock's own days are ours; the oracle has them as a sum around the printed parts.
"""

import functools
import itertools

import pytest
import torch

from hot_oracle import weights_of
from multiway_papers.networks import HOTStockClassifier, HOTStockClassifierConfig
from reference import hot, hot_stocks
from tolerances import LONG64, STEPS64, assert_same

STOCKS, SLOTS, TEXT, DIM, HEADS, BATCH = 3, 2, 5, 8, 2, 2
SIZES = {
    "num_stocks": STOCKS, "num_slots": SLOTS, "text_features": TEXT, "dim": DIM, "num_heads": HEADS, "dropout": 0.0,
    "ffn_multiple": 2, "tokens": "learnt",
}  # fmt: skip


def random_model(generator, **fields):
    """A small model in float64 with every parameter drawn, those that start at zero or one too."""
    model = HOTStockClassifier(HOTStockClassifierConfig.parse(SIZES | fields)).double().eval()
    for parameter in model.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator, dtype=torch.float64) / 2
    return model


def random_inputs(generator):
    def draw(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    price_valid = torch.rand(BATCH, STOCKS, SLOTS, generator=generator) < 0.7
    text_valid = torch.rand(BATCH, STOCKS, SLOTS, generator=generator) < 0.6
    price_valid[1, 2, 0] = text_valid[0, 1] = False  # a day without a price, and a stock without a single text
    prices, dates, text = draw(BATCH, STOCKS, SLOTS, 3), draw(BATCH, SLOTS, 3), draw(BATCH, STOCKS, SLOTS, TEXT)
    return prices, price_valid, dates, text, text_valid


def attend(layer, config, tokens, context=None, *, valid, context_valid=None):
    """Eqs. 16 to 21 on one sample, with the layer's parameters."""
    features = None
    if config.feature_map == "smreg":
        features = functools.partial(hot.smreg_features, projection=layer.projection)
    out, _ = hot.kronecker_attention(
        tokens[None], weights_of(layer), num_heads=HEADS, form=config.preset, features=features, rotary_modes=(1,),
        pooling=config.mode_pooling, attended_modes=config.attended_modes, valid=valid[None], combine=config.combine,
        context=None if context is None else context[None],
        context_valid=None if context_valid is None else context_valid[None],
    )  # fmt: skip
    return out[0]


def layers_of(tower, config, valid, context_valid=None):
    layers = []
    for each in tower.blocks:
        gate, up = each.ffn.gate_up.weight.chunk(2)
        names = ("attention_norm", "ffn_norm", "cross_norm", "context_norm")
        norms = {name: (getattr(each, name).weight, None) for name in names if getattr(each, name) is not None}
        cross = None
        if each.cross_attention is not None:
            masks = {"valid": valid, "context_valid": context_valid}
            cross = functools.partial(attend, each.cross_attention, config, **masks)
        layers.append(
            hot_stocks.Layer(
                weights=hot.BlockWeights(gate=gate, up=up, down=each.ffn.down.weight, **norms),
                attention=functools.partial(attend, each.attention, config, valid=valid),
                cross=cross,
            )
        )
    return layers


def tokens_of(tower, vectors, valid):
    projection = tower.projection
    inputs = hot_stocks.PrintedInputs(
        weight=projection.weight, bias=projection.bias, stock_tokens=tower.stock_token, absent=tower.absent
    )
    tokens, counts = hot_stocks.tokens_of(vectors, valid, inputs)
    if tower.slot_weights is not None:
        first = [
            own[0] + sum(tower.slot_weights[t] * own[1 + t] for t in range(SLOTS) if real[1 + t])
            for own, real in zip(tokens, counts, strict=True)
        ]
        tokens = torch.cat([torch.stack(first)[:, None], tokens[:, 1:]], 1)
    return tokens, counts


def literal(model, prices, price_valid, dates, text, text_valid):
    """Figure 2 on one sample; one modality alone where the model has no other."""
    config, encoder, decoder = model.config, model.encoder, model.decoder
    if encoder is not None:
        texts, text_counts = tokens_of(encoder, text, text_valid)
        readers = layers_of(encoder, config, text_counts)
    if decoder is not None:
        days, day_counts = tokens_of(decoder, hot_stocks.day_vectors(prices, dates), price_valid)
    if decoder is None:
        out = hot_stocks.encoder_only(texts, readers)
    elif encoder is None:
        out = hot_stocks.encoder_only(days, layers_of(decoder, config, day_counts))
    elif config.fusion == "product":
        out = torch.ones_like(days)
        for tokens, layers, norm in zip(
            (texts, days), (readers, layers_of(decoder, config, day_counts)), model.factor_norms, strict=True
        ):
            out = out * hot.rms_norm(hot_stocks.encoder_only(tokens, layers), norm.weight, 1e-6)
    else:
        out = hot_stocks.encoder_decoder(texts, days, readers, layers_of(decoder, config, day_counts, text_counts))
        out = out + hot_stocks.encoder_only(texts, readers) if config.tokens == "days" else out
    return hot_stocks.stock_logits(out, model.norm.weight, model.head.weight, model.head.bias)


FORMS = [
    *({"modality": modality} for modality in ("multimodal", "price", "text")),
    *({"attended_modes": modes} for modes in ((), (0,), (1,))),
    *({"preset": preset, "feature_map": kind} for preset, kind in itertools.product(hot.FORMS, ("softmax", "smreg"))),
    {"fusion": "product"},
    *({"mode_pooling": pooling} for pooling in ("sum", "max", "learned")),
    {"absent": "token"},
    {"num_blocks": 1, "combine": "sum"},
    {"tokens": "days"},
    {"tokens": "days", "absent": "token"},
    {"tokens": "days", "fusion": "product"},
]


@pytest.mark.parametrize("fields", FORMS, ids=str)
def test_the_model_is_the_paper(fields, generator):
    model, given = random_model(generator, **fields), random_inputs(generator)
    fast = model(*given)
    slow = torch.stack([literal(model, *(each[sample] for each in given)) for sample in range(BATCH)])
    assert_same(fast, slow)
    wanted = [parameter for parameter in model.parameters() if parameter.requires_grad]
    cotangent = torch.linspace(-1, 1, fast.numel(), dtype=fast.dtype).reshape(fast.shape)
    quick = torch.autograd.grad(fast, wanted, cotangent, allow_unused=True)
    other = torch.autograd.grad(slow, wanted, cotangent, allow_unused=True)
    for one, two in zip(quick, other, strict=True):
        assert (one is None) == (two is None)
        if one is not None:
            torch.testing.assert_close(one, two, rtol=STEPS64, atol=LONG64)
