"""What the layer promises besides its equations (`tests/papers/reference`): arguments, masks, order, state."""

import functools
import itertools

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from multiway import nn
from multiway.errors import ConfigError, ShapeError
from tolerances import ROUNDING32, assert_same

DIM = 8
SIZES = [(7,), (3, 5), (2, 3, 5), (2, 3, 1, 5)]
POOLINGS = ["mean", "sum", "max", "learned"]


def make_layer(num_modes, **options):
    torch.manual_seed(3)
    return nn.KroneckerAttention(DIM, num_heads=2, num_modes=num_modes, dtype=torch.float64, **options)


def tokens(sizes, batch=2, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(batch, *sizes, DIM, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("combine", ["product", "sum"])
def test_gradients(sizes, combine):
    layer, x = make_layer(len(sizes), combine=combine, rotary_modes=(0,)), tokens(sizes, batch=1).requires_grad_()
    along = x.numel() > 100  # derivatives along directions at random, where single ones take seconds
    assert torch.autograd.gradcheck(layer, x, eps=ROUNDING32, atol=ROUNDING32, fast_mode=along)


@pytest.mark.parametrize("name", nn.PRESETS)
def test_a_preset_is_only_a_name(name):
    named, spelt = make_layer(2, preset=name), make_layer(2, preset="paper", **nn.PRESETS[name])
    assert named.state_dict().keys() == spelt.state_dict().keys()
    spelt.load_state_dict(named.state_dict())
    assert_same(spelt(tokens((3, 5))), named(tokens((3, 5))))


@pytest.mark.parametrize("name", nn.PRESETS)
def test_without_bias_there_is_none_and_what_was_saved_with_some_answers_as_before(name):
    layer, usual, x = make_layer(2, preset=name, bias=False), make_layer(2, preset=name, bias="values"), tokens((3, 5))
    assert not [key for key in layer.state_dict() if key.endswith(".bias") and not key.startswith("norms")]
    assert not layer(torch.zeros_like(x)).any()
    layer.load_state_dict(usual.state_dict())
    assert layer(torch.zeros_like(x)).all()
    assert_same(layer(x), usual(x))


def test_directions_of_features_are_drawn_in_the_type_of_the_layer():
    projection = make_layer(1, feature_map="smreg", num_features=4).projection
    assert projection.dtype == torch.float64
    assert_same(projection @ projection.mT, 4 * torch.eye(2, dtype=torch.float64))


@pytest.mark.parametrize("sizes", SIZES[1:], ids=str)
def test_the_output_is_the_kronecker_product_of_the_maps(sizes):
    layer, x = make_layer(len(sizes)), tokens(sizes)
    out, maps = layer.forward_with_maps(x)
    values = layer.value(x).flatten(1, -2).unflatten(-1, (2, -1))
    mixed = torch.empty_like(values)
    for sample in range(2):
        for head in range(2):
            full = maps[0][sample, head]
            for factor in maps[1:]:
                full = torch.kron(full, factor[sample, head])
            mixed[sample, :, head] = full @ values[sample, :, head]
    assert_same(out, layer.out(mixed.flatten(-2)).reshape(x.shape))
    assert_same(layer(x), out)


def test_every_subset_of_modes_has_as_many_parameters():
    subsets = [(), (0,), (1,), (0, 1)]
    for preset, pooling in itertools.product(nn.PRESETS, POOLINGS):
        layers = [make_layer(2, preset=preset, pooling=pooling, attended_modes=modes) for modes in subsets]
        assert len({sum(p.numel() for p in layer.parameters()) for layer in layers}) == 1
        for layer in layers:  # and each that wants a gradient gets one, or distributed training would wait for it
            layer(tokens((3, 5))).sum().backward()
            assert all((p.grad is not None) == p.requires_grad for p in layer.parameters())


def test_a_mode_that_does_not_attend_is_left_alone():
    layer, x = make_layer(2, attended_modes=(1,)), tokens((3, 5))
    changed = x.clone()
    changed[:, 0] += 1
    _, maps = layer.forward_with_maps(x)
    assert_same(maps[0], torch.eye(3, dtype=torch.float64).expand(2, 2, 3, 3))
    none = make_layer(2, attended_modes=())
    assert_same(none(x), none.out(none.value(x)))


def test_order_matters_only_on_rotary_modes():
    shuffle = torch.tensor([3, 1, 4, 0, 2])
    x = tokens((3, 5))
    plain, rotary = make_layer(2), make_layer(2, rotary_modes=(1,))
    assert_same(plain(x[:, :, shuffle]), plain(x)[:, :, shuffle])
    assert not torch.allclose(rotary(x[:, :, shuffle]), rotary(x)[:, :, shuffle])
    swap = torch.tensor([2, 0, 1])
    assert_same(rotary(x[:, swap]), rotary(x)[:, swap])


@pytest.mark.parametrize("feature_map", ["softmax", "smreg", "elu"])
@pytest.mark.parametrize("preset", nn.PRESETS)
def test_a_causal_mode_does_not_see_the_future(preset, feature_map):
    layer = make_layer(2, preset=preset, attended_modes=(1,), causal_modes=(1,), feature_map=feature_map)
    x = tokens((3, 5))
    later = x.clone()
    later[:, :, 3:] *= -4
    assert_same(layer(later)[:, :, :3], layer(x)[:, :, :3])
    assert not torch.allclose(layer(later)[:, :, 3:], layer(x)[:, :, 3:])


def test_two_causal_modes_may_not_attend_together():
    with pytest.raises(
        ConfigError, match=r"beside two they cannot. Got causal_modes=\(0, 1\) and attended_modes=\(0, 1\)"
    ):
        make_layer(2, causal_modes=(1, 0))
    make_layer(2, causal_modes=(0, 1), attended_modes=())


def drawn(layer):
    """The layer with no score at its start, where learned pooling is the mean."""
    if layer.pool_scores is not None:
        torch.nn.init.normal_(layer.pool_scores)
    return layer


def slow_by_step(layer, options, x, context=None, *, valid=None, context_valid=None, mode_masks=(None,) * 3):
    """Each step by itself: its factors from all that is known by then, without a causal mode; then their product."""
    (time,), keys, known = layer.causal_modes, x if context is None else context, context_valid
    known = valid if context is None else context_valid
    seen, others = x.shape[time + 1], [mode for mode in layer.attended_modes if mode != time]
    open_ = make_layer(3, **{**options, "causal_modes": ()})
    alone = open_ if context is not None else make_layer(3, **{**options, "attended_modes": (time,)})
    for each, part in itertools.product((alone, open_), (*layer._modules, *layer._parameters, *layer._buffers)):
        setattr(each, part, getattr(layer, part))

    def blank(tokens):
        return tokens if known is None else tokens.masked_fill(~known[..., None], 0)

    def put(factor, values, axis):
        return torch.einsum("bhqk,bhk...->bhq...", factor, values.movedim(axis, 2)).movedim(2, axis)

    past = {"valid": valid, "context_valid": context_valid}
    masks = [torch.ones(seen, seen, dtype=torch.bool).tril() if mode == time else None for mode in range(3)]
    _, maps = alone.forward_with_maps(x, context, **past, mode_masks=masks)
    value = blank(layer.value(blank(keys))).unflatten(-1, (2, -1)).movedim(-2, 1)
    mixed = put(maps[time], value, time + 2) if time in layer.attended_modes else value
    steps = []
    for step in range(seen):
        given = [
            None if each is None else each.narrow(time + 1, 0, step + 1) for each in (x, context, valid, context_valid)
        ]
        past = {"valid": given[2], "context_valid": given[3]}
        _, own = open_.forward_with_maps(*given[:2], **past, mode_masks=mode_masks)
        at = [each.narrow(time + 2, step, 1) for each in (value, mixed)]
        if layer.combine == "product":
            steps.append(functools.reduce(lambda values, mode: put(own[mode], values, mode + 2), others, at[1]))
        else:
            alone_ = [at[1]] if time in layer.attended_modes else []
            steps.append(sum([*alone_, *(put(own[mode], at[0], mode + 2) for mode in others)]))
    return layer.out(torch.cat(steps, time + 2).movedim(1, -2).flatten(-2))


STEPPED = [
    {"causal_modes": (1,)},
    {"causal_modes": (0,), "combine": "sum", "rotary_modes": (0, 2)},
    {"causal_modes": (2,), "attended_modes": (0, 1)},
    {"causal_modes": (0,), "attended_modes": (1, 2), "combine": "sum"},
    {"causal_modes": (0,), "feature_map": "smreg", "preset": "paper"},
    {"causal_modes": (1,), "preset": "per_mode", "rotary_modes": (0, 1, 2)},
    *({"causal_modes": (0,), "pooling": pooling} for pooling in POOLINGS),
]


def shown(form, sizes, wide, time):
    """A context, masks of tokens, or masks of modes."""
    generator = torch.Generator().manual_seed(1)
    if form == "padded":
        return {"valid": torch.rand(2, *sizes, generator=generator) < 0.6}
    if form == "masked":
        masks = [torch.rand(shape, generator=generator) < 0.7 for shape in [(3, 3), (2, 5), (2, 7, 7)]]
        return {"mode_masks": [None if mode == time else mask for mode, mask in enumerate(masks)]}
    context = {"context": tokens(wide, seed=4).requires_grad_()}
    return context | {"context_valid": torch.rand(2, *wide, generator=generator) < 0.6} if form == "context" else {}


@pytest.mark.parametrize("options", STEPPED, ids=str)
@pytest.mark.parametrize("form", ["plain", "padded", "masked", "context"])
def test_with_a_causal_mode_each_step_has_factors_of_its_past(options, form):
    sizes, (time,) = (3, 5, 7), options["causal_modes"]
    options = options | ({"centred": False} if form == "context" else {})  # along the causal mode there is no centre
    layer = drawn(make_layer(3, **options))
    grows = {*layer.attended_modes} - {time} if layer.combine == "product" else ()
    wide = [size + 4 * (mode in grows) for mode, size in enumerate(sizes)]
    x, more = tokens(sizes).requires_grad_(), shown(form, sizes, wide, time)
    fast, slow = layer(x, **more), slow_by_step(layer, options, x, **more)
    assert_same(fast, slow)
    leaves = [x, *([more["context"]] if form == "context" else []), *(p for p in layer.parameters() if p.requires_grad)]
    weight = torch.randn_like(fast)
    gradients = [torch.autograd.grad((out * weight).sum(), leaves, retain_graph=True) for out in (fast, slow)]
    for mine, theirs in zip(*gradients, strict=True):
        assert_same(mine, theirs)


@pytest.mark.parametrize("options", STEPPED, ids=str)
def test_with_a_causal_mode_the_future_changes_nothing(options):
    layer, x, (time,) = drawn(make_layer(3, **options)), tokens((3, 5, 7)), options["causal_modes"]
    valid = torch.ones(x.shape[:-1], dtype=torch.bool)
    later, known = x.clone(), valid.clone()
    for changed, value in ((later, -40.0), (known, False)):
        changed.narrow(time + 1, 2, 1).fill_(value)
    before = [layer(each, valid=mask).narrow(time + 1, 0, 2) for each, mask in ((x, valid), (later, known))]
    assert torch.equal(*before)
    _, maps = layer.forward_with_maps(x)
    sizes = (3, 5, 7)
    for mode in {*layer.attended_modes} - {time}:
        assert_same(maps[mode].sum(-1), torch.ones(2, 2, sizes[time], sizes[mode], dtype=torch.float64))


@pytest.mark.parametrize(
    "options", [each for each in STEPPED if each.get("pooling") not in ("max", "learned")], ids=str
)
@pytest.mark.parametrize("form", ["plain", "padded"])
@pytest.mark.parametrize("parts", [(1, 1, 1, 1, 1), (2, 1, 2), (5,)], ids=str)
def test_next_steps_by_a_cache_are_those_of_all_steps_together(options, form, parts):
    """Values and gradients beside a layer that recomputes every step by itself."""
    (time,) = options["causal_modes"]
    sizes = [3, 7]
    sizes.insert(time, 5)
    layer, x = drawn(make_layer(3, **options)), tokens(sizes).requires_grad_()
    more = shown(form, sizes, sizes, time) if form == "padded" else {}
    cache, found, start = None, [], 0
    for count in parts:
        masks = {name: mask.narrow(time + 1, start, count) for name, mask in more.items()}
        out, cache = layer.forward_next(x.narrow(time + 1, start, count), cache, **masks)
        found.append(out)
        start += count
    slow = slow_by_step(layer, options, x, **more)
    assert_same(torch.cat(found, time + 1), slow)
    leaves, weight = [x, *(p for p in layer.parameters() if p.requires_grad)], torch.randn_like(slow)
    gradients = [torch.autograd.grad((out * weight).sum(), leaves) for out in (torch.cat(found, time + 1), slow)]
    for mine, theirs in zip(*gradients, strict=True):
        assert_same(mine, theirs)


def test_a_rollout_by_caches_is_that_by_recomputing_all_frames():
    """Blocks, one after another, whose last frame is the next input; some cells hold nothing."""
    torch.manual_seed(0)
    kinds = [{"causal_modes": (0,), "rotary_modes": (0,)}, {"causal_modes": (0,), "combine": "sum"}]
    blocks = [nn.HOTBlock(drawn(make_layer(3, **each)), dim=DIM, dtype=torch.float64) for each in kinds]
    frames, land = tokens((2, 3, 5)), torch.rand(2, 1, 3, 5) < 0.7
    slow, new, fast, caches = frames, frames, frames, [None] * len(blocks)
    for _ in range(11):
        hidden, known = slow, land.expand(-1, slow.shape[1], -1, -1)
        for block in blocks:
            hidden = block(hidden, valid=known)
        slow = torch.cat([slow, hidden[:, -1:]], 1)
        known = land.expand(-1, new.shape[1], -1, -1)
        for place, block in enumerate(blocks):
            new, caches[place] = block.forward_next(new, caches[place], valid=known)
        new = new[:, -1:]
        fast = torch.cat([fast, new], 1)
    assert fast.shape == (2, 13, 3, 5, DIM) and (fast - slow).abs().max() <= 1e-12 * slow.abs().max()


@pytest.mark.parametrize(
    "options", [{}, {"causal_modes": (0,), "pooling": "max"}, {"causal_modes": (0,), "attended_modes": (0,)}]
)
def test_next_steps_need_one_causal_mode_and_sums(options):
    with pytest.raises(ConfigError, match="next steps need a causal mode beside others, and pooling by mean or sum"):
        make_layer(2, **options).forward_next(tokens((3, 5)))


def test_a_context_has_the_steps_of_the_causal_mode():
    layer = make_layer(2, causal_modes=(0,))
    with pytest.raises(ShapeError, match=r"beside the causal mode 0 go by its steps.*Got 3 and 4"):
        layer(tokens((3, 5)), tokens((4, 5)))


@pytest.mark.parametrize("feature_map", ["softmax", "smreg"])
@pytest.mark.parametrize("pooling", POOLINGS)
def test_padding_changes_nothing(pooling, feature_map):
    """Whole lines of padding on both modes: the real corner is as it would be alone."""
    layer = drawn(make_layer(2, feature_map=feature_map, pooling=pooling))
    x = tokens((3, 5))
    padded = torch.full((2, 4, 7, DIM), 9.0, dtype=torch.float64)
    padded[:, :3, :5] = x
    valid = torch.zeros(2, 4, 7, dtype=torch.bool)
    valid[:, :3, :5] = True
    assert_same(layer(padded, valid=valid)[:, :3, :5], layer(x))


@pytest.mark.parametrize("pooling", POOLINGS)
def test_scattered_invalid_tokens_do_not_reach_the_output(pooling):
    layer, x = drawn(make_layer(2, pooling=pooling)), tokens((3, 5))
    valid = torch.rand(2, 3, 5, generator=torch.Generator().manual_seed(1)) > 0.3
    changed = torch.where(valid[..., None], x, x + 100)
    assert_same(layer(changed, valid=valid)[valid], layer(x, valid=valid)[valid])


@pytest.mark.parametrize("shape", ["(q, k)", "(batch, k)", "(batch, q, k)"])
def test_each_mode_has_a_mask_of_its_own(shape):
    layer, x = make_layer(2), tokens((3, 5))
    mask = {
        "(q, k)": torch.ones(5, 5, dtype=torch.bool).tril(),
        "(batch, k)": torch.tensor([[True, True, False, True, False], [True] * 5]),
        "(batch, q, k)": torch.ones(2, 5, 5, dtype=torch.bool).triu(),
    }[shape]
    _, maps = layer.forward_with_maps(x, mode_masks=[None, mask])
    full = mask[:, None] if shape == "(batch, q, k)" else mask[:, None, None] if shape == "(batch, k)" else mask
    assert bool((maps[1].masked_select(~full.expand_as(maps[1])) == 0).all())
    assert_same(maps[1].sum(-1), torch.ones(2, 2, 5, dtype=torch.float64))
    assert_same(maps[0], layer.forward_with_maps(x)[1][0])


@pytest.mark.parametrize("feature_map", ["softmax", "smreg"])
def test_a_row_that_may_see_nothing_is_zero_with_zero_gradient(feature_map):
    layer, x = make_layer(2, feature_map=feature_map), tokens((3, 5)).requires_grad_()
    mask = torch.ones(5, 5, dtype=torch.bool)
    mask[2] = False
    out, maps = layer.forward_with_maps(x, mode_masks=[None, mask])
    assert bool((maps[1][:, :, 2] == 0).all())
    assert_same(out[:, :, 2], layer.out.bias.expand(2, 3, DIM))
    (grad,) = torch.autograd.grad(maps[1][:, :, 2].sum() + out[:, :, 2].sum(), x)
    assert bool((grad == 0).all())


@pytest.mark.parametrize("pooling", POOLINGS)
def test_nothing_valid_is_finite(pooling):
    layer, x = make_layer(2, pooling=pooling), tokens((3, 5)).requires_grad_()
    out = layer(x, valid=torch.zeros(2, 3, 5, dtype=torch.bool))
    out.sum().backward()
    assert torch.isfinite(out).all() and bool((x.grad == 0).all())


def test_cross_attention_takes_the_contexts_sizes():
    layer, x, context = make_layer(2), tokens((3, 5)), tokens((4, 7), seed=1)
    out, maps = layer.forward_with_maps(x, context)
    assert [tuple(weights.shape[-2:]) for weights in maps] == [(3, 4), (5, 7)]
    values = layer.value(context).unflatten(-1, (2, -1))
    mixed = torch.einsum("bhij,bhkl,bjlhd->bikhd", *maps, values).flatten(-2)
    assert_same(out, layer.out(mixed))
    assert_same(layer(x, x), layer(x))


def test_a_context_with_a_mask_of_its_own_may_be_the_tokens_themselves():
    layer, x = make_layer(2), tokens((3, 5))
    valid = torch.rand(2, 3, 5, generator=torch.Generator().manual_seed(1)) > 0.3
    for masks in ({"valid": valid}, {"context_valid": valid}):
        assert_same(layer(x, x, **masks), layer(x, x.clone(), **masks))


def test_saved_and_loaded_features_are_the_same():
    layer = make_layer(2, feature_map="smreg")
    torch.manual_seed(99)
    other = nn.KroneckerAttention(DIM, num_heads=2, num_modes=2, feature_map="smreg", dtype=torch.float64)
    assert not torch.equal(other.projection, layer.projection)
    other.load_state_dict(layer.state_dict())
    assert_same(other(tokens((3, 5))), layer(tokens((3, 5))))


def test_long_modes_are_associated_and_short_ones_formed():
    """Both ways give one answer; the limit is twice the number of features."""
    layer, x = make_layer(1, feature_map="smreg", num_features=4), tokens((31,))
    assert_same(layer(x), layer.forward_with_maps(x)[0])


@pytest.mark.parametrize("mode", range(3))
def test_the_kernel_costs_a_multiple_of_each_long_mode_and_softmax_more(mode):
    """Multiply-adds, as torch counts them: equal steps, and steps that grow."""
    sizes = [[24 * times if each == mode else 20 for each in range(3)] for times in (1, 2, 3, 4)]
    kernel = np.diff([flops(each, feature_map="smreg", num_features=4) for each in sizes])
    softmax = np.diff([flops(each, feature_map="softmax") for each in sizes])
    assert len({*kernel.tolist()}) == 1 and (np.diff(softmax) > 0).all()


def flops(sizes, **options):
    layer, x = make_layer(len(sizes), preset="paper", **options), tokens(sizes, batch=1)
    with FlopCounterMode(display=False) as counter:
        layer(x)
    return counter.get_total_flops()


def test_dropout_only_in_training():
    layer, x = make_layer(2, dropout=0.5), tokens((3, 5))
    torch.manual_seed(0)
    first, second = layer(x), layer(x)
    assert not torch.allclose(first, second)
    assert_same(layer.eval()(x), layer(x))


def test_queries_and_keys_never_have_full_size():
    """No tensor of N × 2 D or more is ever made: pooling comes before projecting."""
    from torch.utils._python_dispatch import TorchDispatchMode

    largest = 0

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            nonlocal largest
            out = func(*args, **(kwargs or {}))
            if isinstance(out, torch.Tensor):
                largest = max(largest, out.numel())
            return out

    layer, x = make_layer(2), tokens((31, 29))
    with torch.no_grad(), Watch():
        layer(x)
    assert largest == x.numel()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: nn.KroneckerAttention(10, num_heads=4, num_modes=2), "num_heads must divide dim. Got dim=10"),
        (lambda: nn.KroneckerAttention(6, num_heads=2, num_modes=1, rotary_modes=(0,)), "even head size"),
        (lambda: nn.KroneckerAttention(8, num_heads=2, num_modes=0), "at least one mode"),
        (lambda: nn.KroneckerAttention(8, num_heads=2, num_modes=2, rotary_modes=(2,)), "must lie in 0..1"),
        (lambda: nn.KroneckerAttention(8, num_heads=2, num_modes=2, preset="papr"), "did you mean paper"),
        (lambda: nn.KroneckerAttention(8, num_heads=2, num_modes=2, feature_map="smregs"), "did you mean smreg"),
        (lambda: make_layer(2, pooling="product"), "pooling='product' is not one of mean, sum, max, learned"),
        (lambda: make_layer(2)(tokens((3,))), "2 modes and 8 features, in this order. Got"),
        (lambda: make_layer(2)(tokens((3, 5)), mode_masks=[None]), "one entry per mode"),
        (lambda: make_layer(1)(tokens((3,)), mode_masks=[torch.ones(2, 2, dtype=torch.bool)]), "must be boolean and"),
        (lambda: nn.HOTBlock(None, dim=8)(tokens((3,)), tokens((3,))), "no cross-attention; leave the context out"),
        *(
            (functools.partial(nn.PooledHead(8, 3, mode=mode), torch.zeros(4, 3, 5, 8)), f"mode {mode} is not one of")
            for mode in (-3, 2)
        ),
        (lambda: make_layer(2, combine="sum")(tokens((3, 5)), tokens((4, 7))), "Use combine='product'"),
        (lambda: make_layer(2, attended_modes=(0,))(tokens((3, 5)), tokens((3, 7))), "mode 1 does not attend"),
    ],
)
def test_a_misuse_names_rule_and_values(call, text):
    with pytest.raises((ShapeError, ConfigError)) as caught:
        call()
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_a_layer_says_how_it_pools(pooling):
    assert f"pooling='{pooling}'" in repr(make_layer(2, pooling=pooling))


@pytest.mark.parametrize("pooling", POOLINGS)
def test_gradients_of_single_samples_through_vmap(pooling):
    layer, x = make_layer(2, pooling=pooling), tokens((3, 5), batch=7)
    parameters = dict(layer.named_parameters())

    def loss(given, sample):
        return torch.func.functional_call(layer, given, (sample[None],)).square().sum()

    together = torch.func.vmap(torch.func.grad(loss), (None, 0))(parameters, x)
    alone = [torch.func.grad(loss)(parameters, sample) for sample in x]
    for name, each in together.items():
        assert_same(each, torch.stack([one[name] for one in alone]))


def test_a_block_with_cross_attention_or_another_attention_has_no_next_steps():
    attention = nn.KroneckerAttention(4, num_heads=2, num_modes=2, causal_modes=(0,))
    crossing = nn.HOTBlock(attention, dim=4, cross_attention=nn.KroneckerAttention(4, num_heads=2, num_modes=2))
    for block in (crossing, nn.HOTBlock(None, dim=4)):
        with pytest.raises(ConfigError, match=r"HOTBlock: next steps need KroneckerAttention alone"):
            block.forward_next(torch.zeros(2, 3, 5, 4))
