"""Layers spread over processes: each has a part of one mode of the outputs (tensor parallelism by DTensor)."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import ParallelStyle

from multiway.errors import ConfigError
from multiway.nn.factorised import LowRankLinear
from multiway.nn.nd_linear import NdLinear
from multiway.nn.tt_linear import TTLinear

Spread = NdLinear | TTLinear | LowRankLinear


class OutputParallel(ParallelStyle):  # type: ignore[misc]  # torch does not say what it exports
    """Every process computes its part of one mode of the outputs, from all of the inputs.

    Only the parameters with that mode are split, as DTensors: NdLinear's W of the mode, the first core of a tensor
    train, the upper factor of a low rank, and their biases. NdLinear is split along its largest mode that the processes
    divide; flat layers are split along their first mode, so that each part is a stretch of features.

    Args:
        gather: Return all outputs to every process; otherwise its own part, as torch's `RowwiseParallel` takes it.

    Raises:
        ConfigError: The layer is none of these, or the processes divide no mode of it.

    Cost: one all-gather of the outputs forward, one all-reduce of the inputs' gradient backward.
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
        _distribute(module, _axes(module, mode), device_mesh)
        from_end = len(module.out_sizes) - mode if isinstance(module, NdLinear) and not module.flat else 1
        module.__dict__["forward"] = _Forward(module, module.forward, device_mesh, from_end if self.gather else None)
        return module


def parallel_plan(model: nn.Module, processes: int) -> dict[str, ParallelStyle]:
    """A style for every layer of a model that so many processes divide, for torch's `parallelize_module`."""
    return {name: OutputParallel() for name, each in model.named_modules() if split_mode(each, processes) is not None}


def split_mode(module: nn.Module, processes: int) -> int | None:
    """The largest mode of a layer's outputs that the processes divide; None if there is none."""
    if isinstance(module, NdLinear):
        sizes = module.out_sizes[: 1 if module.flat else None]
    elif isinstance(module, TTLinear):
        sizes = module.out_sizes[:1]
    else:
        sizes = (module.out_features,) if isinstance(module, LowRankLinear) else ()
    divided = [mode for mode, size in enumerate(sizes) if size % processes == 0]
    return max(divided, key=sizes.__getitem__, default=None)


def _axes(module: Spread, mode: int) -> dict[int, int]:
    """Which axis of which parameter, by its id, is the mode."""
    if isinstance(module, NdLinear):
        terms = int(module.rank > 1)
        biases = list(module.biases)[mode : mode + 1]
        axes = [(module.weights[mode], terms), *((bias, terms) for bias in biases), (module.full_bias, mode)]
    elif isinstance(module, TTLinear):
        axes = [(module.cores[0], 2), (module.bias, 0)]
    else:
        axes = [(module.up, 0), (module.bias, 0)]
    return {id(parameter): axis for parameter, axis in axes if parameter is not None}


def _distribute(module: nn.Module, axes: dict[int, int], mesh: DeviceMesh) -> None:
    """Make DTensors of all parameters, split along the given axes and otherwise whole in every process."""
    for owner in module.modules():
        for name, parameter in owner._parameters.items():
            if parameter is not None:
                place = Shard(axes[id(parameter)]) if id(parameter) in axes else Replicate()
                part = distribute_tensor(parameter.data, mesh, [place])
                owner._parameters[name] = nn.Parameter(part, requires_grad=parameter.requires_grad)


class _Forward:
    """A layer's own forward on the parts that this process holds.

    gathered: Which axis of the outputs is split, from the end; None to return the part.
    """

    def __init__(
        self, module: nn.Module, own: Callable[[Tensor], Tensor], mesh: DeviceMesh, gathered: int | None
    ) -> None:
        self.module, self.own, self.mesh, self.gathered = module, own, mesh, gathered

    def __call__(self, x: Tensor) -> Tensor:
        whole = DTensor.from_local(x, self.mesh, [Replicate()], run_check=False)
        with _own_parts(self.module):
            y = self.own(whole.to_local(grad_placements=[Partial()]))
        if self.gathered is None:
            return y
        parts = DTensor.from_local(y, self.mesh, [Shard(y.ndim - self.gathered)], run_check=False)
        gathered: Tensor = parts.full_tensor()
        return gathered


@contextlib.contextmanager
def _own_parts(module: nn.Module) -> Iterator[None]:
    """Let a layer's parameters be this process's parts; gradients of those that all hold are summed."""
    whole = [(owner, dict(owner._parameters)) for owner in module.modules()]
    try:
        for owner, parameters in whole:
            owner._parameters.update({name: _own_part(each) for name, each in parameters.items()})
        yield
    finally:
        for owner, parameters in whole:
            owner._parameters.update(parameters)


def _own_part(parameter: Any) -> Any:
    if not isinstance(parameter, DTensor):
        return parameter
    (place,) = parameter.placements
    return parameter.to_local(grad_placements=[Partial() if isinstance(place, Replicate) else place])
