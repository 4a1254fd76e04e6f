"""NdLinear against the literal algorithm, in values and gradients, whatever its options and whatever the input."""

import copy
import itertools
import math

import ndlinear as package
import pytest
import torch
from torch.nn import functional as F
from torch.nn.utils import prune

from multiway import ops
from multiway.nn import NdLinear
from multiway.ops.plans import Step
from reference import ndlinear
from tolerances import TOLERANCES, assert_same

SIZES = [
    ((7,), (5,)),
    ((3, 5), (7, 2)),
    ((2, 3, 5), (7, 11, 13)),
    ((13, 11, 2), (1, 1, 17)),
    ((2, 1, 3, 5), (3, 2, 1, 7)),
    ((2, 3, 1, 5, 2), (3, 1, 2, 2, 5)),
]
KINDS = {"modes": True, "full": "full", "none": False}
OPTIONS = [
    pytest.param({"bias": bias, "rank": rank, "descending": descending}, id=f"{name}-rank{rank}-{descending=}")
    for (name, bias), rank, descending in itertools.product(KINDS.items(), (1, 3), (False, True))
    if not (descending and name != "modes")
]


def normal(generator, *shape):
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def random_layer(generator, in_sizes, out_sizes, **options):
    """In float64, no parameter at zero."""
    layer = NdLinear(in_sizes, out_sizes, **options).double()
    for parameter in layer.parameters():
        parameter.data = normal(generator, *parameter.shape)
    return layer


def literal(layer, x):
    """What the layer should say of `(batch, *in_sizes)`."""
    weights, biases = ([p if layer.rank > 1 else p[None] for p in ps] for ps in (layer.weights, layer.biases))
    out = ndlinear.ndlinear_sum(x, weights, biases, descending=layer.descending)
    return out if layer.full_bias is None else out + layer.full_bias


def assert_same_with_gradients(fast, slow, inputs, generator):
    assert_same(fast, slow)
    cotangent = normal(generator, *fast.shape)
    grads, wanted = (torch.autograd.grad(out, inputs, cotangent, retain_graph=True) for out in (fast, slow))
    for grad, want in zip(grads, wanted, strict=True):
        assert_same(grad, want)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize(("in_sizes", "out_sizes"), SIZES, ids=str)
def test_the_layer_is_the_algorithm_forward_and_backward(in_sizes, out_sizes, options, generator):
    layer = random_layer(generator, in_sizes, out_sizes, **options)
    x = normal(generator, 4, *in_sizes).requires_grad_()
    assert_same_with_gradients(layer(x), literal(layer, x), [x, *layer.parameters()], generator)
    weight, bias = layer.dense_weight(), layer.dense_bias()
    assert_same(F.linear(x.flatten(1), weight, bias).reshape(4, *out_sizes), literal(layer, x))
    dense = layer.to_linear()
    assert_same(dense(x.flatten(1)), layer(x).flatten(1))
    assert (dense.bias is None) == (bias is None)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize(("in_sizes", "out_sizes"), SIZES, ids=str)
def test_the_layer_is_the_packages_forward_and_backward(in_sizes, out_sizes, descending, generator):
    theirs = package.NdLinear(in_sizes, out_sizes, transform_outer=not descending).double()
    ours = NdLinear(in_sizes, out_sizes, descending=descending).double()
    ours.load_state_dict(theirs.state_dict())
    x = normal(generator, 4, *in_sizes).requires_grad_()
    out, wanted = ours(x), theirs(x)
    assert_same(out, wanted)
    cotangent = normal(generator, *out.shape)
    grads = torch.autograd.grad(out, [x, *ours.weights, *ours.biases], cotangent)
    linears = theirs.align_layers
    order = [x, *(linear.weight for linear in linears), *(linear.bias for linear in linears)]
    for grad, want in zip(grads, torch.autograd.grad(wanted, order, cotangent), strict=True):
        assert_same(grad, want)


def plans(in_sizes, out_sizes):
    """Every way to join neighbouring modes and to order what is joined, with and without taking in the rest."""
    count = len(in_sizes)
    for cuts in itertools.product([False, True], repeat=count - 1):
        edges = [0, *(place for place, cut in enumerate(cuts, 1) if cut), count]
        for groups in itertools.permutations(itertools.pairwise(edges)):
            for widened in (False, True):
                yield list(steps(list(in_sizes), out_sizes, groups, widened))


def steps(sizes, out_sizes, groups, widened):
    for start, stop in groups:
        end = len(sizes) if widened else stop
        rest = math.prod(sizes[stop:end])
        inner, columns = math.prod(sizes[start:stop]) * rest, math.prod(out_sizes[start:stop]) * rest
        yield Step(start, stop, end, math.prod(sizes[:start]), inner, columns, math.prod(sizes[end:]))
        sizes[start:stop] = out_sizes[start:stop]


@pytest.mark.parametrize("options", [{}, {"descending": True}, {"bias": "full"}, {"bias": False}], ids=str)
@pytest.mark.parametrize(("in_sizes", "out_sizes"), [*SIZES[:3], SIZES[4]], ids=str)
def test_every_plan_is_the_algorithm(in_sizes, out_sizes, options, generator):
    layer = random_layer(generator, in_sizes, out_sizes, **options)
    x = normal(generator, 4, *in_sizes).requires_grad_()
    wanted = literal(layer, x)
    for plan in plans(in_sizes, out_sizes):
        out = ops.multi_mode_linear(
            x, list(layer.weights), list(layer.biases), plan,
            full_bias=layer.full_bias, descending=layer.descending,
        )  # fmt: skip
        assert_same_with_gradients(out, wanted, [x, *layer.parameters()], generator)


def test_one_mode_is_torchs_linear(generator):
    layer, dense = random_layer(generator, (7,), (5,)), torch.nn.Linear(7, 5).double()
    dense.weight.data, dense.bias.data = layer.weights[0].data, layer.biases[0].data
    x = normal(generator, 2, 3, 7)
    assert_same(layer(x), dense(x))


def test_the_weight_is_a_kronecker_product(generator):
    a, b, c = (layer := random_layer(generator, (2, 3, 5), (7, 11, 13), bias=False)).weights
    assert_same(layer.dense_weight(), torch.kron(torch.kron(a, b), c))
    assert layer.dense_bias() is None


@pytest.mark.parametrize("lead", [(), (1,), (4,), (2, 3), (2, 1, 3, 2), (0,), (3, 0)], ids=str)
@pytest.mark.parametrize("rank", [1, 3])
@pytest.mark.parametrize(("in_sizes", "out_sizes"), SIZES[:4], ids=str)
def test_any_leading_axes_flat_or_not(in_sizes, out_sizes, rank, lead, generator):
    layer = random_layer(generator, in_sizes, out_sizes, rank=rank)
    flat = NdLinear(in_sizes, out_sizes, rank=rank, flat=True).double()
    flat.load_state_dict(layer.state_dict())
    x = normal(generator, *lead, *in_sizes).requires_grad_()
    out = layer(x)
    assert_same(out, literal(layer, x.reshape(-1 if 0 not in lead else 0, *in_sizes)).reshape(*lead, *out_sizes))
    flattened = flat(x.reshape(*lead, math.prod(in_sizes)))
    assert_same(flattened, out.reshape(*lead, math.prod(out_sizes)))
    for result, used in ((out, layer), (flattened, flat)):
        result.sum().backward()
        assert all(p.grad is not None and p.grad.isfinite().all() for p in used.parameters())
        if 0 in lead:
            assert all((p.grad == 0).all() for p in used.parameters())


def strided(x):
    """The same values, laid out in other ways."""
    yield x.transpose(0, -1).contiguous().transpose(0, -1)
    yield x.mT.contiguous().mT
    yield torch.stack([x, -x], -1)[..., 0]
    yield x[:1].expand_as(x)
    yield x.flip(1).flip(1)[::2]


@pytest.mark.parametrize("rank", [1, 3])
@pytest.mark.parametrize(("in_sizes", "out_sizes"), SIZES[1:4], ids=str)
def test_the_input_need_not_be_contiguous(in_sizes, out_sizes, rank, generator):
    layer = random_layer(generator, in_sizes, out_sizes, rank=rank)
    for x in strided(normal(generator, 4, *in_sizes)):
        assert_same(layer(x), literal(layer, x))
        kept = x.clone()
        layer(x)
        assert torch.equal(x, kept)


def test_a_sample_alone_is_the_same_in_a_batch(generator):
    layer, x = random_layer(generator, (2, 3, 5), (7, 11, 13)), normal(generator, 4, 2, 3, 5)
    assert_same(torch.stack([layer(sample) for sample in x]), layer(x))


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize(("in_sizes", "out_sizes"), [((3,), (2,)), ((2, 3), (3, 1)), ((2, 1, 2), (1, 3, 2))], ids=str)
def test_first_and_second_derivatives(in_sizes, out_sizes, options, generator):
    layer = random_layer(generator, in_sizes, out_sizes, **options)
    names = [name for name, _ in layer.named_parameters()]

    def run(x, *parameters):
        return torch.func.functional_call(layer, dict(zip(names, parameters, strict=True)), (x,))

    inputs = (normal(generator, 2, *in_sizes).requires_grad_(), *layer.parameters())
    assert torch.autograd.gradcheck(run, inputs)
    assert torch.autograd.gradgradcheck(run, inputs)


@pytest.mark.parametrize("rank", [1, 3])
def test_gradients_of_single_samples_through_vmap(rank, generator):
    layer, x = random_layer(generator, (2, 3, 5), (7, 2, 3), rank=rank), normal(generator, 4, 2, 3, 5)
    parameters = dict(layer.named_parameters())

    def loss(given, sample):
        return torch.func.functional_call(layer, given, (sample,)).square().sum()

    together = torch.func.vmap(torch.func.grad(loss), (None, 0))(parameters, x)
    for index, sample in enumerate(x):
        layer.zero_grad()
        literal(layer, sample[None]).square().sum().backward()
        for name, parameter in layer.named_parameters():
            assert_same(together[name][index], parameter.grad)


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")  # torch's own, within jvp
@pytest.mark.parametrize("rank", [1, 3])
def test_forward_derivatives_and_ensembles(rank, generator):
    layer = random_layer(generator, (2, 3, 5), (7, 2, 3), rank=rank)
    x, direction = normal(generator, 4, 2, 3, 5), normal(generator, 4, 2, 3, 5)
    assert_same(torch.func.jvp(layer, (x,), (direction,))[1], literal(layer, direction) - literal(layer, 0 * x))
    layers = [layer, random_layer(generator, (2, 3, 5), (7, 2, 3), rank=rank)]
    stacked, _ = torch.func.stack_module_state(layers)
    outs = torch.func.vmap(lambda given: torch.func.functional_call(layer, given, (x,)))(stacked)
    assert_same(outs, torch.stack([literal(each, x) for each in layers]))


@pytest.mark.parametrize("frozen", ["weights", "biases", "input", "one weight", "all"])
@pytest.mark.parametrize("rank", [1, 3])
def test_what_is_frozen_gets_no_gradient_and_the_rest_its_own(frozen, rank, generator):
    layer = random_layer(generator, (2, 3, 5), (7, 2, 3), rank=rank)
    x = normal(generator, 4, 2, 3, 5).requires_grad_(frozen not in ("input", "all"))
    for parameter in {"weights": layer.weights, "biases": layer.biases, "one weight": [layer.weights[1]]}.get(
        frozen, layer.parameters() if frozen == "all" else []
    ):
        parameter.requires_grad_(False)
    out = layer(x)
    assert out.requires_grad == (frozen != "all")
    wanted = [leaf for leaf in (x, *layer.parameters()) if leaf.requires_grad]
    if wanted:
        assert_same_with_gradients(out, literal(layer, x), wanted, generator)


LOW_SIZES = [*SIZES, ((28, 28, 3), (4, 6, 5)), ((16, 4, 4), (16, 4, 4))]


def assert_near(out, wanted, dtype):
    """To the tolerance of a low precision, doubled: there are up to five products one after another."""
    tolerance = {name: 2 * value for name, value in TOLERANCES[dtype].items()}
    torch.testing.assert_close(out.to(wanted.dtype), wanted, **tolerance)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_low_precision_is_near_float64(dtype, options):
    torch.manual_seed(0)
    for in_sizes, out_sizes in LOW_SIZES:
        layer = NdLinear(in_sizes, out_sizes, **options).to(dtype)
        x = torch.randn(4, *in_sizes).to(dtype)
        out = layer(x)
        assert out.dtype == dtype
        assert_near(out, copy.deepcopy(layer).double()(x.double()), dtype)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_gives_the_dtype_that_torchs_linear_gives(dtype):
    torch.manual_seed(0)
    for (in_sizes, out_sizes), options in itertools.product(LOW_SIZES, OPTIONS):
        layer, x = NdLinear(in_sizes, out_sizes, **options.values[0]), torch.randn(4, *in_sizes)
        with torch.autocast("cpu", dtype):
            out = layer(x)
        assert out.dtype == dtype
        assert_near(out, layer(x), dtype)
        out.float().sum().backward()
        assert all(p.grad.dtype == torch.float32 and p.grad.isfinite().all() for p in layer.parameters())


def test_many_modes_are_planned_at_once(generator):
    """A plan is sought among all sets of modes, not among all their orders."""
    modes = 8
    layer = random_layer(generator, (2,) * modes, (2,) * modes)
    x = normal(generator, 2, *(2,) * modes)
    assert_same(layer(x), literal(layer, x))


class Doubled(torch.nn.Module):
    def forward(self, weight):
        return 2 * weight


@pytest.mark.parametrize("rank", [1, 3])
def test_a_weight_may_be_parametrised(rank, generator):
    """As `torch.nn.utils.parametrizations` does for orthogonal or normalised weights."""
    layer, x = random_layer(generator, (3, 5), (7, 2), rank=rank, bias=False), normal(generator, 4, 3, 5)
    before = layer(x)
    torch.nn.utils.parametrize.register_parametrization(layer.weights, "0", Doubled())
    assert_same(layer(x), 2 * before)
    assert_same(layer(x), x.flatten(1).matmul(layer.dense_weight().T).reshape(4, 7, 2))


@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize("is_final", [False, True])
def test_a_pruned_weight_counts_as_pruned_and_in_its_place(mode, is_final, generator):
    """Pruning renames a parameter, and puts it behind the others when it is made final."""
    layer, x = random_layer(generator, (4, 4), (4, 4)), normal(generator, 3, 4, 4)
    mask = (torch.rand(4, 4, generator=generator) < 0.5).double()
    plain = copy.deepcopy(layer)
    with torch.no_grad():
        plain.weights[mode].mul_(mask)
    prune.custom_from_mask(layer.weights, str(mode), mask)
    if is_final:
        prune.remove(layer.weights, str(mode))
    assert_same(layer(x), plain(x))
