import itertools

import pytest
import torch
from torch import Tensor

from multiway.errors import ConfigError, ShapeError
from multiway.models import create_model
from multiway_papers.networks import HOTStockClassifier, HOTStockClassifierConfig
from tolerances import assert_same

STOCKS, SLOTS, PRICES, DATES, TEXT = 7, 5, 3, 2, 11
ORDERS = [(), (0,), (1,), (0, 1)]
MODALITIES = ["multimodal", "price", "text"]
Inputs = tuple[Tensor, Tensor, Tensor, Tensor, Tensor]


def small(**fields: object) -> HOTStockClassifier:
    """A tiny classifier in float64 and eval mode."""
    torch.manual_seed(5)
    base = {
        "num_stocks": STOCKS, "num_slots": SLOTS, "price_features": PRICES, "date_features": DATES,
        "text_features": TEXT, "dim": 16, "num_heads": 2, "dropout": 0.3,
    }  # fmt: skip
    return HOTStockClassifier(HOTStockClassifierConfig.parse(base | fields)).double().eval()


def inputs(generator: torch.Generator, batch: int = 3) -> Inputs:
    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    price_valid = torch.rand(batch, STOCKS, SLOTS, generator=generator) > 0.2
    text_valid = torch.rand(batch, STOCKS, SLOTS, generator=generator) > 0.5
    price_valid[0, 2] = text_valid[0, 3] = False  # a stock without a single day
    return (
        draw(batch, STOCKS, SLOTS, PRICES), price_valid, draw(batch, SLOTS, DATES),
        draw(batch, STOCKS, SLOTS, TEXT), text_valid,
    )  # fmt: skip


def count(model: torch.nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


def test_the_size_follows_from_the_layers():
    model = create_model("hot_stock_classifier_paper", num_stocks=87, text_features=768, dim=32, num_heads=4)
    attention = 2 * (32 * 32 + 32) + 2 * (32 * 32 + 32)  # one query and key for both modes; value and output
    block = attention + 3 * 32 * 128 + 2 * 32
    towers = [768 * 32 + 32 + 88 * 32 + 2 * block, 6 * 32 + 32 + 88 * 32 + 2 * (block + attention + 2 * 32)]
    assert count(model) == sum(towers) + 32 + 32 * 2 + 2


def test_a_product_has_two_encoders_and_a_norm_of_each():
    product, cross = small(fusion="product"), small()
    crossing = sum(count(block.cross_attention) + 2 * 16 for block in cross.decoder.blocks)
    assert count(product) == count(cross) - crossing + 2 * 16
    assert all(block.cross_attention is None for block in product.decoder.blocks)


def test_every_choice_of_modes_has_as_many_parameters():
    assert len({count(small(attended_modes=modes)) for modes in ORDERS}) == 1


@pytest.mark.parametrize(
    "fields",
    [
        *({"attended_modes": modes} for modes in ORDERS),
        *({"modality": modality} for modality in MODALITIES),
        {"preset": "paper", "feature_map": "smreg", "absent": "token"},
        {"attention": "full"},
        {"attention": "full", "feature_map": "smreg"},
        {"norm": "layer"},
        {"fusion": "product"},
        *({"mode_pooling": pooling} for pooling in ("sum", "max", "learned")),
        {"combine": "sum", "preset": "per_mode"},
    ],
    ids=str,
)
def test_a_sample_alone_is_as_in_a_batch_and_what_is_used_has_a_gradient(generator, fields):
    model, batch = small(**fields), inputs(generator)
    together = model(*batch)
    assert_same(torch.cat([model(*(each[i : i + 1] for each in batch)) for i in range(3)]), together)
    together.square().sum().backward()
    grads = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    assert all(grad.isfinite().all() for grad in grads.values())
    used = {name for name, grad in grads.items() if grad.any()}
    towers = {"price": ["decoder"], "text": ["encoder"]}.get(str(fields.get("modality")), ["encoder", "decoder"])
    if fields.get("attended_modes", (1,)) and fields.get("attended_modes") != (0,):  # days reach the token over time
        assert {f"{tower}.projection.weight" for tower in towers} <= used
    assert {"head.weight", *(f"{tower}.stock_token" for tower in towers)} <= used


@pytest.mark.parametrize("attention", ["kronecker", "full"])
@pytest.mark.parametrize("absent", ["mask", "token"])
@pytest.mark.parametrize("fusion", ["cross", "product"])
def test_what_is_not_valid_is_never_read(generator, fusion, attention, absent):
    model = small(attention=attention, absent=absent, fusion=fusion)
    prices, price_valid, dates, text, text_valid = inputs(generator)
    expected = model(prices, price_valid, dates, text, text_valid)
    prices, text = prices.clone(), text.clone()
    prices[~price_valid], text[~text_valid] = float("nan"), float("inf")
    assert_same(model(prices, price_valid, dates, text, text_valid), expected)
    assert expected.isfinite().all()


@pytest.mark.parametrize("rotary", [True, False])
@pytest.mark.parametrize("attention", ["kronecker", "full"])
def test_slots_of_padding_in_front_change_nothing_under_a_mask(generator, attention, rotary):
    """A window of four days is the same as one of five whose first is not there, where there are no positions."""
    form = {"attention": attention, "rotary": rotary, "tokens": "learnt"}
    long, batch = small(**form), inputs(generator)
    prices, price_valid, dates, text, text_valid = batch
    price_valid[:, :, 0] = text_valid[:, :, 0] = False
    short = small(**form, num_slots=SLOTS - 1)
    short.load_state_dict(long.state_dict())
    got = short(prices[:, :, 1:], price_valid[:, :, 1:], dates[:, 1:], text[:, :, 1:], text_valid[:, :, 1:])
    if rotary:  # the stock's token stands one step closer
        assert not torch.allclose(got, long(*batch))
    else:
        assert_same(got, long(*batch))


def test_stocks_exchange_information_only_where_that_mode_attends(generator):
    batch = inputs(generator)
    batch[1][:, 1] = True
    changed = [each.clone() for each in batch]
    changed[0][:, 1] = 9.0
    for modes, sees in (((), False), ((1,), False), ((0, 1), True)):
        model = small(attended_modes=modes, preset="paper", modality="price")
        if modes == (1,):  # queries and keys are pooled over stocks: hold them still
            for block in model.decoder.blocks:
                torch.nn.init.zeros_(block.attention.query_key[0].weight)
        rest = [0, 2, 3, 4, 5, 6]
        same = torch.allclose(model(*batch)[:, rest], model(*changed)[:, rest], atol=1e-12)
        assert same != sees, modes


@pytest.mark.parametrize(("modes", "sees"), [((), False), ((0,), True), ((1,), True)], ids=str)
def test_prices_reach_the_token_where_any_mode_attends(modes, sees, generator):
    """Along stocks alone through the weights: queries and keys are pooled over days."""
    model, batch = small(attended_modes=modes, tokens="learnt"), inputs(generator)
    batch[1][:] = True
    changed = [batch[0] + 1, *batch[1:]]
    assert torch.equal(model(*batch), model(*changed)) != sees


def test_a_token_starts_from_its_own_days_of_which_each_weighs_twice_the_one_before(generator):
    model, batch = small(attended_modes=(), use_ffn=False), inputs(generator)
    *_, text, valid = batch
    tower = model.encoder
    first = tower.embed(text, valid)[0][:, :, 0]
    days = torch.nn.functional.linear(text, tower.projection.weight, tower.projection.bias)
    for row, stock in itertools.product(range(len(text)), range(STOCKS)):
        kept = [0.5 ** (SLOTS - slot) * days[row, stock, slot] for slot in range(SLOTS) if valid[row, stock, slot]]
        assert_same(first[row, stock], sum(kept, tower.stock_token[stock]))


def test_texts_reach_the_own_head_alone_without_attention(generator):
    model, batch = small(attended_modes=()), inputs(generator)
    batch[-1][:, 1, -1] = True
    changed = [each.clone() for each in batch]
    changed[3][:, 1, -1] += 1
    apart = (model(*batch) != model(*changed)).any(-1)
    assert apart[:, 1].all() and not apart[:, [0, 2, 3, 4, 5, 6]].any()


def test_features_of_texts_are_dropped_in_training_alone(generator):
    model, (_, _, _, text, valid) = small(dropout=0.0, text_dropout=0.9), inputs(generator)
    whole = model.encoder.embed(text, valid)[0]
    assert_same(whole, small(dropout=0.0, text_dropout=0.0).encoder.embed(text, valid)[0])
    model.train()
    assert not torch.allclose(whole, model.encoder.embed(text, valid)[0])
    assert not small(text_dropout=0.9).decoder.hide.p


def test_a_decoder_block_looks_at_the_encoder_block_of_its_depth(generator):
    model, batch = small(num_blocks=2), inputs(generator)
    seen = []
    for block in model.decoder.blocks:
        block.cross_attention.register_forward_pre_hook(lambda _, args: seen.append(args[1]))
    outputs = []
    for block in model.encoder.blocks:
        block.register_forward_hook(lambda _, args, out: outputs.append(out))
    model(*batch)
    for block, context, out in zip(model.decoder.blocks, seen, outputs, strict=True):
        assert_same(context, block.context_norm(out))


@pytest.mark.parametrize("feature_map", ["softmax", "smreg"])
@pytest.mark.parametrize("modality", MODALITIES)
def test_maps_are_those_of_the_forward_pass(generator, modality, feature_map):
    model, batch = small(modality=modality, feature_map=feature_map, num_blocks=2), inputs(generator)
    logits, maps = model.forward_with_maps(*batch)
    assert_same(logits, model(*batch))
    assert set(maps) == {"multimodal": {"text", "price", "cross"}}.get(modality, {modality})
    for blocks in maps.values():
        assert len(blocks) == 2
        for stock, time in blocks:
            assert stock.shape == (3, 2, STOCKS, STOCKS) and time.shape == (3, 2, SLOTS + 1, SLOTS + 1)
            for each in (stock, time):
                assert_same(each.sum(-1), torch.ones_like(each[..., 0]))


def test_a_product_has_no_map_from_one_modality_to_the_other(generator):
    model, batch = small(fusion="product"), inputs(generator)
    logits, maps = model.forward_with_maps(*batch)
    assert_same(logits, model(*batch))
    assert set(maps) == {"text", "price"}


def test_either_factor_of_a_product_can_silence_the_other(generator):
    model, batch = small(fusion="product"), inputs(generator)
    for norm in model.factor_norms:
        weight = norm.weight.detach().clone()
        torch.nn.init.zeros_(norm.weight)
        assert_same(model(*batch), model.head.bias.expand(3, STOCKS, 2))
        norm.weight.data = weight


def test_a_day_that_nobody_has_gets_no_weight(generator):
    model, batch = small(), inputs(generator)
    batch[1][:, :, 2] = False
    _, maps = model.forward_with_maps(*batch)
    assert all(not time[..., 3].any() for _, time in maps["price"])


def test_weights_survive_a_state_dict(generator):
    one, two = small(), small(attended_modes=(0, 1), dropout=0.0)
    for p in two.parameters():
        torch.nn.init.normal_(p)
    two.load_state_dict(one.state_dict())
    batch = inputs(generator)
    assert_same(two(*batch), one(*batch))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"dim": 18, "num_heads": 4}, "dim must be an even multiple of num_heads"),
        ({"attended_modes": (2,)}, "attended_modes must be some of"),
        ({"attended_modes": (1, 0)}, "attended_modes must be some of"),
        ({"modality": "tweets"}, "modality"),
        ({"modality": "price", "fusion": "product"}, "fusion='product' multiplies two modalities"),
        ({"mode_pooling": "product"}, "mode_pooling"),
    ],
)
def test_a_config_that_cannot_be_built_is_refused(fields, message):
    with pytest.raises(ConfigError, match=message):
        small(**fields)


def test_wrong_shapes_are_refused(generator):
    prices, price_valid, dates, text, text_valid = inputs(generator)
    model = small()
    with pytest.raises(ShapeError, match=r"prices must be \(batch, stocks, slots, features\)"):
        model(prices[:, :4], price_valid[:, :4], dates, text, text_valid)
    with pytest.raises(ShapeError, match="its mask the same without the features"):
        model(prices, price_valid[:, :, 1:], dates, text, text_valid)
    with pytest.raises(ShapeError, match="dates must be"):
        model(prices, price_valid, dates[:, 1:], text, text_valid)
    with pytest.raises(ShapeError, match="needs text and its mask"):
        model(prices, price_valid, dates)
    with pytest.raises(ConfigError, match="maps per mode exist only where"):
        small(attention="full").forward_with_maps(prices, price_valid, dates, text, text_valid)


def test_any_pattern_of_missing_days_leaves_the_gradient_finite(generator):
    """All of them too."""
    model = small().train()
    for price, text_there in itertools.product((True, False), repeat=2):
        prices, price_valid, dates, text, text_valid = inputs(generator)
        price_valid[:], text_valid[:] = price, text_there
        model.zero_grad()
        model(prices, price_valid, dates, text, text_valid).square().sum().backward()
        assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)
