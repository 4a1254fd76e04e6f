"""Layers spread over processes: each has a part of one mode of the outputs, or some heads (tensor parallelism)."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Partial, Placement, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import ParallelStyle

from multiway.errors import ConfigError
from multiway.nn.factorised import LowRankLinear
from multiway.nn.factorised_convolutions import CPConv, TuckerConv
from multiway.nn.kronecker_attention import KroneckerAttention
from multiway.nn.nd_linear import NdLinear
from multiway.nn.tt_embedding import TTEmbedding
from multiway.nn.tt_linear import TTLinear

Spread = NdLinear | TTLinear | LowRankLinear | TTEmbedding | TuckerConv | CPConv | KroneckerAttention


class OutputParallel(ParallelStyle):  # type: ignore[misc]  # torch does not say what it exports
    """Every process computes its part of one mode of the outputs, or some heads, from all of the inputs.

    Only the parameters with that mode are split, as DTensors: NdLinear's W of the mode, the first core of a tensor
    train or table, the upper factor of a low rank, the last convolution of a chain, and their biases. NdLinear is split
    along its largest mode that the processes divide; flat layers are split along their first mode, so that each part is
    a stretch of features. Of attention the maps V and O are split by heads; all hold the maps of queries and keys, and
    compute with their heads' rows. Its `forward_with_maps` is not spread.

    Args:
        gather: Return all outputs to every process; otherwise its own part, as torch's `RowwiseParallel` takes it.
            Outputs of attention are sums over the heads and so are always whole.

    Raises:
        ConfigError: The layer is none of these, or the processes divide no mode of it.

    Cost: one all-gather of the outputs forward, of attention an all-reduce; one all-reduce of the inputs' gradient
    backward.
    """

    def __init__(self, *, gather: bool = True) -> None:
        super().__init__()
        self.gather = gather

    def _apply(self, module: nn.Module, device_mesh: DeviceMesh) -> nn.Module:
        mode = split_mode(module, device_mesh.size())
        if mode is None:
            raise ConfigError(
                f"OutputParallel: {type(module).__name__} has no mode of outputs that {device_mesh.size()} processes "
                f"divide. Take the layers that parallel_plan names."
            )
        assert isinstance(module, Spread)
        axes = _axes(module, mode)
        for owner in module.modules():
            for name, parameter in owner._parameters.items():
                if parameter is not None:
                    place = Shard(axes[id(parameter)]) if id(parameter) in axes else Replicate()
                    part = distribute_tensor(parameter.data, device_mesh, [place])
                    owner._parameters[name] = nn.Parameter(part, requires_grad=parameter.requires_grad)
        module.__dict__["forward"] = _Forward(module, module.forward, device_mesh, mode, self.gather)
        return module


def parallel_plan(model: nn.Module, processes: int) -> dict[str, ParallelStyle]:
    """A style for every layer of a model that so many processes divide, for torch's `parallelize_module`."""
    return {name: OutputParallel() for name, each in model.named_modules() if split_mode(each, processes) is not None}


def split_mode(module: nn.Module, processes: int) -> int | None:
    """The largest mode of a layer's outputs that the processes divide, or 0 for heads; None if there is none."""
    sizes = _sizes(module)
    divided = [mode for mode, size in enumerate(sizes) if size % processes == 0]
    return max(divided, key=sizes.__getitem__, default=None)


def _sizes(module: nn.Module) -> tuple[int, ...]:
    """What of a layer may be split: modes, features, channels or heads."""
    if isinstance(module, NdLinear | TTLinear):
        return module.out_sizes if isinstance(module, NdLinear) and not module.flat else module.out_sizes[:1]
    if isinstance(module, TTEmbedding):
        return module.sizes[:1]
    if isinstance(module, TuckerConv | CPConv):
        return (module.out_channels,)
    if isinstance(module, KroneckerAttention):
        return (module.num_heads,)
    return (module.out_features,) if isinstance(module, LowRankLinear) else ()


def _axes(module: Spread, mode: int) -> dict[int, int]:
    """Which axis of which parameter, by its id, is the mode."""
    if isinstance(module, NdLinear):
        terms = int(module.rank > 1)
        biases = list(module.biases)[mode : mode + 1]
        axes = [(module.weights[mode], terms), *((bias, terms) for bias in biases), (module.full_bias, mode)]
    elif isinstance(module, TTLinear):
        axes = [(module.cores[0], 2), (module.bias, 0)]
    elif isinstance(module, TTEmbedding):
        axes = [(module.cores[0], 2)]
    elif isinstance(module, TuckerConv | CPConv):
        axes = [(each, 0) for each in module.last.parameters()]
    elif isinstance(module, KroneckerAttention):
        axes = [(module.value.weight, 0), (module.value.bias, 0), (module.out.weight, 1), (module.log_temperature, 1)]
    else:
        axes = [(module.up, 0), (module.bias, 0)]
    return {id(parameter): axis for parameter, axis in axes if parameter is not None}


def _find_placement(module: Spread, mode: int, axes: int) -> Placement:
    """How a process's outputs, of so many axes, are a part of all."""
    if isinstance(module, KroneckerAttention):
        return Partial()
    if isinstance(module, TuckerConv | CPConv):
        return Shard(axes - module.num_modes - 1)
    return Shard(axes - len(module.out_sizes) + mode if isinstance(module, NdLinear) and not module.flat else axes - 1)


class _Forward:
    """A layer's own forward on the parts that this process holds; inputs that have gradients are whole everywhere."""

    def __init__(self, module: Spread, own: Callable[..., Tensor], mesh: DeviceMesh, mode: int, gather: bool) -> None:
        self.module, self.own, self.mesh, self.mode, self.gather = module, own, mesh, mode, gather

    def __call__(self, *inputs: Any, **named: Any) -> Tensor:
        with _own_parts(self.module, self.mesh):
            y = self.own(*map(self._whole, inputs), **{name: self._whole(each) for name, each in named.items()})
        place = _find_placement(self.module, self.mode, y.ndim)
        if not self.gather and not isinstance(place, Partial):
            return y
        gathered: Tensor = DTensor.from_local(y, self.mesh, [place], run_check=False).full_tensor()
        return gathered

    def _whole(self, x: Any) -> Any:
        """The same input, its gradient summed over the processes."""
        if not isinstance(x, Tensor) or not x.is_floating_point():
            return x
        whole = DTensor.from_local(x, self.mesh, [Replicate()], run_check=False)
        return whole.to_local(grad_placements=[Partial()])


@contextlib.contextmanager
def _own_parts(module: nn.Module, mesh: DeviceMesh) -> Iterator[None]:
    """Let a layer's parameters be this process's parts; gradients of those that all hold are summed."""
    heads = getattr(module, "num_heads", None)
    whole = [(owner, dict(owner._parameters)) for owner in module.modules()]
    try:
        for owner, parameters in whole:
            for name, each in parameters.items():
                if isinstance(each, DTensor):
                    (place,) = each.placements
                    placed = Partial() if isinstance(place, Replicate) else place
                    owner._parameters[name] = each.to_local(grad_placements=[placed])
        if isinstance(module, KroneckerAttention):
            _take_heads(module, mesh)
        yield
    finally:
        module.__dict__.update({} if heads is None else {"num_heads": heads})
        for owner, parameters in whole:
            owner._parameters.update(parameters)


def _take_heads(module: KroneckerAttention, mesh: DeviceMesh) -> None:
    """Of maps that every process holds, leave the rows of its heads, and its share of the bias that comes last."""
    size, rank = mesh.size(), mesh.get_local_rank()
    module.num_heads //= size
    for linear in module.query_key:
        for name, each in linear._parameters.items():
            if each is not None:  # queries, then keys, each head by head
                linear._parameters[name] = each.unflatten(0, (2, size, -1))[:, rank].flatten(0, 1)
    module.out._parameters["bias"] = module.out.bias / size  # type: ignore[assignment]
