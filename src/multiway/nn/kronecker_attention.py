"""Attention along every mode at once (HOT sec. 4): pooled queries and keys, and values that their factors mix."""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from multiway import ops
from multiway.errors import ConfigError, ShapeError
from multiway.nn import checks

EPS = 1e-12
"""In float32, relative to nothing: queries of any scale are brought to unit size."""
MAX_TEMPERATURE = 16.0

POOLINGS = ("mean", "sum", "max", "learned")
PRESETS: dict[str, dict[str, Any]] = {
    "paper": {
        "shared_projections": True,
        "pooling": "sum",
        "centred": False,
        "qk_norm": "none",
        "learn_temperature": False,
        "bias": True,
    },
    "per_mode": {
        "shared_projections": False,
        "pooling": "sum",
        "centred": False,
        "qk_norm": "layer",
        "learn_temperature": False,
        "bias": "values",
    },
    "trainable": {
        "shared_projections": False,
        "pooling": "mean",
        "centred": True,
        "qk_norm": "rms",
        "learn_temperature": True,
        "bias": "values",
    },
}


class Side(NamedTuple):
    """Tokens of queries or of keys, zero where they are not valid."""

    x: Tensor
    valid: Tensor | None
    pooled: list[tuple[Tensor, Tensor | float]] | None
    """`ops.pool_modes` of every mode, where all of them are summed."""
    steps: int | None = None
    """Those of the causal mode, where each is a sample of its own."""


class StepCache(NamedTuple):
    """What the next steps of a causal mode need of all before them.

    key: Keys of the causal mode, `(batch, heads, steps, head_dim)`, and their values, `(batch, *sizes, dim)`; no steps
        are kept where it does not attend.
    seen: Which steps hold a valid token, `(batch, steps)`.
    sums: Of tokens by each other mode that attends, `(batch, size, dim)`, and how many they are, `(batch, size, 1)`.
    """

    key: Tensor | None
    value: Tensor | None
    seen: Tensor
    sums: dict[int, tuple[Tensor, Tensor]]


class HeadNorm(nn.Module):
    """RMS or layer norm over a head's features, in the precision of the input."""

    def __init__(self, kind: str, head_dim: int, factory: dict[str, Any]) -> None:
        super().__init__()
        self.kind = kind
        self.weight = nn.Parameter(torch.empty(head_dim, **factory))
        self.bias = nn.Parameter(torch.empty(head_dim, **factory)) if kind == "layer" else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Normalise alone: a weight of one and a bias of zero."""
        nn.init.ones_(self.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, x: Float[Tensor, "*batch head_dim"]) -> Float[Tensor, "*batch head_dim"]:
        """Normalise the last axis."""
        weight = self.weight.to(x.dtype)
        if self.bias is None:
            return F.rms_norm(x, x.shape[-1:], weight, EPS)
        return F.layer_norm(x, x.shape[-1:], weight, self.bias.to(x.dtype))


def make_head_norms(kind: str, num_modes: int, head_dim: int, factory: dict[str, Any]) -> nn.ModuleList | None:
    """A norm of queries and one of keys for every mode; None for the kind "none"."""
    if kind == "none":
        return None
    pairs = ([HeadNorm(kind, head_dim, factory) for _ in range(2)] for _ in range(num_modes))
    return nn.ModuleList(nn.ModuleList(pair) for pair in pairs)


class KroneckerAttention(nn.Module):
    r"""Attend along every mode at once, at the cost of attending along each.

    $$Y = \big(V \times_1 S_1 \times_2 S_2 \cdots \times_k S_k\big) W_O, \qquad
      S_i = \operatorname{softmax}(\tilde Q_i \tilde K_i^\top / \sqrt{d})$$

    per head, where $\tilde Q_i, \tilde K_i$ are projections of the input pooled over every mode but i (HOT
    eqs. 5-9). The full attention matrix is $S_1 \otimes \cdots \otimes S_k$; neither it nor full-size queries
    and keys are ever formed, because pooling and projecting commute.

    Differs from the paper: S stands left of V as in eq. 8 (eqs. 4 and 6 print the transpose). The default preset
    pools by the mean over real tokens in float32, centres over positions, normalises queries and keys and learns a
    capped temperature; the paper's sum grows logits with the number of tokens until rows are one-hot.

    A preset is only a name for values of the arguments that follow it; each can be given on its own.

    Args:
        dim: Features per token (HOT: D).
        num_heads: Heads, the Kronecker rank (HOT: R); divides `dim`.
        num_modes: Modes of the input, batch and features excluded (HOT: k).
        preset: "trainable", "paper" or "per_mode".
        combine: "product" of all modes, or "sum" of each mode alone.
        feature_map: "softmax", or a kernel in its place: "smreg" (the paper's), "positive", "elu".
        num_features: Random features of the kernel; d (1 + log₂ d) if not given. SMReg counts both signs.
        attended_modes: Modes that attend, all if not given; the others are left as they are. The parameters of
            modes that do not attend stay, frozen, so that every choice has as many parameters.
        rotary_modes: Modes whose order matters: rotary encoding after pooling.
        causal_modes: Modes along which a position sees only itself and what comes before. Beside one, each step t has
            factors S_i(t) of its own for the other modes, pooled over steps up to t: Y[t] = (V × S_causal)[t] × S_i(t).
        dropout: Probability of dropping an attention weight in training.
        shared_projections: One query and key projection for all modes, or one per mode.
        pooling: Over the other modes: "mean", "sum", "max" of projected tokens, or "learned", a mean whose weights are
            a softmax of the tokens' products with a vector per mode; these vectors start at zero.
        centred: Subtract the mean over positions from pooled tokens (never along a causal mode).
        qk_norm: "none", "rms" or "layer", over each head's features.
        learn_temperature: Learn a factor on the logits per mode and head, at most 16.
        bias: True for biases of all maps, False for none (as in eqs. 1 to 4), or "values" for those of the values and
            the output alone.
        device: As for `torch.nn.Linear`.
        dtype: As for `torch.nn.Linear`.

    Shape:
        Input `(batch, *sizes, dim)` with `num_modes` sizes; output the same, or the context's values at the
        input's sizes under cross-attention.

    Cost: N (2 D² + D Σ Nᵢ) multiply-adds for N = Π Nᵢ tokens. Beside a causal mode of T steps the factors take
    T Σ Nᵢ (2 D² + D Nᵢ) more, and T Nᵢ² numbers a head of memory. Pooling by "max" forms queries and keys of full
    size: 2 N D² more per mode, and as much memory as twice the input.
    """

    def __init__(
        self,
        dim: int,
        *,
        num_heads: int,
        num_modes: int,
        preset: str = "trainable",
        combine: str = "product",
        feature_map: str = "softmax",
        num_features: int | None = None,
        attended_modes: Sequence[int] | None = None,
        rotary_modes: Sequence[int] = (),
        causal_modes: Sequence[int] = (),
        dropout: float = 0.0,
        shared_projections: bool | None = None,
        pooling: str | None = None,
        centred: bool | None = None,
        qk_norm: str | None = None,
        learn_temperature: bool | None = None,
        bias: bool | str | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        given: dict[str, Any] = {
            "shared_projections": shared_projections,
            "pooling": pooling,
            "centred": centred,
            "qk_norm": qk_norm,
            "learn_temperature": learn_temperature,
            "bias": bias,
        }
        values = PRESETS[checks.check_choice("preset", preset, PRESETS)]
        settings = {name: values[name] if value is None else value for name, value in given.items()}
        checks.check_choice("pooling", settings["pooling"], POOLINGS)
        checks.check_choice("qk_norm", settings["qk_norm"], ("none", "rms", "layer"))
        if not isinstance(settings["bias"], bool):
            checks.check_choice("bias", settings["bias"], ("values",))
        checks.check_choice("combine", combine, ("product", "sum"))
        checks.check_heads(dim, num_heads, num_modes, bool(rotary_modes))
        self.dim, self.num_heads, self.num_modes = dim, num_heads, num_modes
        attended = range(num_modes) if attended_modes is None else attended_modes
        self.attended_modes = checks.check_modes("attended_modes", attended, num_modes)
        self.rotary_modes = checks.check_modes("rotary_modes", rotary_modes, num_modes)
        self.causal_modes = checks.check_modes("causal_modes", causal_modes, num_modes)
        self.step_mode = checks.find_step_mode(self.causal_modes, self.attended_modes)
        self.combine, self.dropout = combine, dropout
        self.pooling, self.centred = settings["pooling"], settings["centred"]
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        count, has_bias = 1 if settings["shared_projections"] else num_modes, settings["bias"] is True
        self.query_key = nn.ModuleList(nn.Linear(dim, 2 * dim, bias=has_bias, **factory) for _ in range(count))
        self.norms = make_head_norms(settings["qk_norm"], num_modes, dim // num_heads, factory)
        self.log_temperature: nn.Parameter | None
        zeros = torch.zeros(num_modes, num_heads, **factory)
        self.register_parameter("log_temperature", nn.Parameter(zeros) if settings["learn_temperature"] else None)
        self.pool_scores: nn.Parameter | None
        even = torch.zeros(num_modes, dim, **factory)
        self.register_parameter("pool_scores", nn.Parameter(even) if self.pooling == "learned" else None)
        self.value = nn.Linear(dim, dim, bias=settings["bias"] is not False, **factory)
        self.out = nn.Linear(dim, dim, bias=settings["bias"] is not False, **factory)
        self.feature_map = feature_map
        self.log_features: Callable[..., Tensor] | None = None
        self.projection: Tensor | None
        self.register_buffer("projection", None)
        if feature_map != "softmax":
            self.log_features = ops.FEATURE_MAPS[checks.check_choice("feature_map", feature_map, ops.FEATURE_MAPS)]
            wide = torch.promote_types(dtype or torch.get_default_dtype(), torch.float32)
            self.projection = ops.draw_projection(feature_map, dim // num_heads, num_features, dtype=wide).to(device)
        self._freeze_unused()
        self.register_load_state_dict_pre_hook(_accept_biases)  # type: ignore[no-untyped-call]

    def _freeze_unused(self) -> None:
        """Parameters without a gradient would stall distributed training; they stay for equal counts."""
        attended, is_shared = self.attended_modes, len(self.query_key) == 1
        for mode, linear in enumerate(self.query_key):
            linear.requires_grad_(mode in attended or (is_shared and len(attended) > 0))
        for mode, pair in enumerate(self.norms or ()):
            pair.requires_grad_(mode in attended)
        for parameter in (self.log_temperature, self.pool_scores):
            if parameter is not None:
                parameter.requires_grad_(len(attended) > 0)

    def reset_parameters(self) -> None:
        """Set temperatures and weights of pooling to even, and draw directions of features; parts have their own."""
        for parameter in (self.log_temperature, self.pool_scores):
            if parameter is not None:
                nn.init.zeros_(parameter)
        if self.projection is not None:
            self.projection.copy_(ops.orthogonal_projection(*self.projection.shape, dtype=torch.float64))

    def forward(
        self,
        x: Float[Tensor, "batch *sizes dim"],
        context: Float[Tensor, "batch *context_sizes dim"] | None = None,
        *,
        valid: Bool[Tensor, "batch *sizes"] | None = None,
        context_valid: Bool[Tensor, "batch *context_sizes"] | None = None,
        mode_masks: Sequence[Tensor | None] | None = None,
    ) -> Float[Tensor, "batch *sizes dim"]:
        """Attend from `x` to `context`, or to itself.

        Args:
            x: Tokens of the queries.
            context: Tokens of the keys and values, with as many modes but any sizes.
            valid: True for real tokens of `x`; padding adds nothing to pooling, keys or values.
            context_valid: The same for `context`.
            mode_masks: Per mode None or a mask, True where attention is allowed: `(q, k)`, `(batch, k)` or
                `(batch, q, k)`. A row that may see nothing yields zeros.
        """
        return self._attend(x, context, valid, context_valid, mode_masks, as_matrices=False)[0]

    def forward_with_maps(
        self,
        x: Float[Tensor, "batch *sizes dim"],
        context: Float[Tensor, "batch *context_sizes dim"] | None = None,
        *,
        valid: Bool[Tensor, "batch *sizes"] | None = None,
        context_valid: Bool[Tensor, "batch *context_sizes"] | None = None,
        mode_masks: Sequence[Tensor | None] | None = None,
    ) -> tuple[Float[Tensor, "batch *sizes dim"], list[Float[Tensor, "batch heads *steps q k"]]]:
        """`forward`, and one attention map per mode in order; a mode that does not attend has the identity.

        Beside a causal mode, the others have a map per step.
        """
        out, factors = self._attend(x, context, valid, context_valid, mode_masks, as_matrices=True)
        shape = (x.shape[0], self.num_heads, -1, -1)
        eyes = (torch.eye(size, device=x.device, dtype=x.dtype).expand(shape) for size in x.shape[1:-1])
        maps: list[Any] = [eye if factor is None else factor for eye, factor in zip(eyes, factors, strict=True)]
        if self.step_mode is not None:
            for mode in {*self.attended_modes} - {self.step_mode}:
                maps[mode] = ops.from_steps(maps[mode], 1, x.shape[self.step_mode + 1])
        return out, maps

    def forward_next(
        self,
        x: Float[Tensor, "batch *sizes dim"],
        cache: StepCache | None = None,
        *,
        valid: Bool[Tensor, "batch *sizes"] | None = None,
    ) -> tuple[Float[Tensor, "batch *sizes dim"], StepCache]:
        """`forward` at the next steps of the causal mode, given those before in a cache; and the cache with these.

        A step costs as much as any other in pooling and in the other modes; the causal mode attends to all steps.

        Raises:
            ConfigError: No mode attends beside one that is causal, or pooling keeps no sums.
        """
        mode = self.step_mode
        if mode is None or self.pooling not in ("mean", "sum"):
            rule = "next steps need a causal mode beside others, and pooling by mean or sum"
            raise ConfigError(f"KroneckerAttention: {rule}. Got {self.causal_modes} and {self.pooling!r}.")
        _check_tokens("x", x, valid, self.num_modes, self.value.weight)
        steps, known = x.shape[mode + 1], x.new_ones(x.shape[:-1], dtype=torch.bool) if valid is None else valid
        side = self._side(x, known)
        stepped, value, key = self._by_step(side), ops.blank(self.value(side.x), known), None
        others = [axis + 1 for axis in range(self.num_modes) if axis != mode]
        seen, start, sums = known.any(others), 0, dict[int, tuple[Tensor, Tensor]]()
        if cache is not None:
            start, seen = cache.seen.shape[1], torch.cat([cache.seen, seen], 1)
        heads: list[ops.ModeHeads | None] = [None] * self.num_modes
        for each in self.attended_modes:
            if each == mode:
                query, key = self._query_and_key(mode, side, side, start)
                if cache is not None and cache.key is not None and cache.value is not None:
                    key, value = torch.cat([cache.key, key], 2), torch.cat([cache.value, value], mode + 1)
                allowed = torch.ones(steps, start + steps, dtype=torch.bool, device=x.device).tril(start)
                heads[mode] = ops.ModeHeads(query, key, allowed & seen[:, None, None])
                continue
            parts = ops.pool_modes(stepped.x, self._axis(each, stepped), valid=stepped.valid, steps=steps)
            total, count = (ops.from_steps(torch.as_tensor(part), 0, steps) for part in parts)
            if cache is not None:
                total, count = (new + old[:, None] for new, old in zip((total, count), cache.sums[each], strict=True))
            sums[each] = total[:, -1], count[:, -1]
            pooled = total.flatten(0, 1), count.flatten(0, 1)
            own = stepped._replace(pooled=[pooled] * self.num_modes)
            heads[each] = ops.ModeHeads(*self._query_and_key(each, own, own), (pooled[1] > 0).mT[:, None])
        mixed = self._mix(value, heads, as_matrices=False)[0]
        kept = value if key is not None else None
        return F.linear(mixed, self.out.weight, self.out.bias), StepCache(key, kept, seen, sums)

    def _mix(
        self, value: Tensor, modes: list[ops.ModeHeads | None], *, as_matrices: bool
    ) -> tuple[Tensor, list[ops.Factor]]:
        """Values as the modes mix them, before the map to the output, and the factor of each."""
        return ops.kronecker_attention(
            value,
            modes,
            step_mode=self.step_mode,
            num_heads=self.num_heads,
            combine=self.combine,
            log_features=self.log_features and functools.partial(self.log_features, projection=self.projection),
            dropout=self.dropout if self.training else 0.0,
            as_matrices=as_matrices or self.dropout > 0,
        )

    def _attend(
        self,
        x: Tensor,
        context: Tensor | None,
        valid: Tensor | None,
        context_valid: Tensor | None,
        mode_masks: Sequence[Tensor | None] | None,
        as_matrices: bool,
    ) -> tuple[Tensor, list[ops.Factor]]:
        _check_tokens("x", x, valid, self.num_modes, self.value.weight)
        if context is not None:
            _check_tokens("context", context, context_valid, self.num_modes, self.value.weight)
            _check_sizes(x, context, self.attended_modes, self.step_mode)
        masks = _check_masks(mode_masks, self.num_modes)
        query_side = self._side(x, valid)
        key_side = query_side if context is None else self._side(context, context_valid)
        modes: list[ops.ModeHeads | None] = [None] * self.num_modes
        queries_by_step = self._by_step(query_side)
        keys_by_step = queries_by_step if context is None else self._by_step(key_side)
        for mode in self.attended_modes:
            sides = (query_side, key_side) if mode == self.step_mode else (queries_by_step, keys_by_step)
            modes[mode] = ops.ModeHeads(*self._query_and_key(mode, *sides), self._mask(mode, *sides, masks[mode]))
        dropout = self.dropout if self.training else 0.0
        # Rows of S that sum to one pass the values' bias through as it is: W_O b_V + b_O, in one pass over memory
        passes_bias = (
            self.value.bias is not None
            and context is None
            and self.combine == "product"
            and not dropout
            and all(heads is not None and heads.mask is None for heads in modes)
        )
        value = ops.blank(
            F.linear(key_side.x, self.value.weight, None if passes_bias else self.value.bias), key_side.valid
        )
        mixed, factors = self._mix(value, modes, as_matrices=as_matrices)
        bias = F.linear(self.value.bias, self.out.weight, self.out.bias) if passes_bias else self.out.bias
        return F.linear(mixed, self.out.weight, bias), factors

    def _side(self, x: Tensor, valid: Tensor | None) -> Side:
        """Tokens with zeros where nothing is valid, and their sums if every mode attends by sums."""
        x = ops.blank(x, valid)
        is_whole = len(self.attended_modes) == self.num_modes and self.step_mode is None
        has_sums = self.pooling in ("mean", "sum") and is_whole
        return Side(x, valid, ops.pool_every_mode(x, valid=valid) if has_sums else None)

    def _by_step(self, side: Side) -> Side:
        """The side with a sample for each step of the causal mode, where others attend beside one."""
        mode, (x, valid, *_) = self.step_mode, side
        if mode is None:
            return side
        return Side(ops.by_step(x, mode), None if valid is None else ops.by_step(valid, mode), None, x.shape[mode + 1])

    def _axis(self, mode: int, side: Side) -> int:
        """Where a mode lies among those of a side."""
        return mode - (side.steps is not None and self.step_mode is not None and self.step_mode < mode)

    def _query_and_key(self, mode: int, query_side: Side, key_side: Side, start: int = 0) -> tuple[Tensor, Tensor]:
        """Pooled queries and keys of one mode, `(batch, heads, size, head_dim)`, float32 or wider (HOT: Q̃ᵢ, K̃ᵢ).

        Positions count from a start.
        """
        linear: Any = self.query_key[mode if len(self.query_key) > 1 else 0]
        with ops.without_autocast(key_side.x):
            if query_side is key_side:
                query, key = self._rows(key_side, mode, linear.weight, linear.bias).chunk(2, dim=-1)
            else:
                weights, biases = linear.weight.chunk(2), (None, None) if linear.bias is None else linear.bias.chunk(2)
                query = self._rows(query_side, mode, weights[0], biases[0])
                key = self._rows(key_side, mode, weights[1], biases[1])
            return self._heads(query, mode, start=start), self._heads(key, mode, is_key=True, start=start)

    def _rows(self, side: Side, mode: int, weight: Tensor, bias: Tensor | None) -> Tensor:
        """Tokens of one mode, pooled over the others (HOT: g_pool), then projected: both orders give the same.

        A maximum does not commute with a projection, and is taken of projected tokens.
        """
        x, valid, pooled, steps = side
        axis = self._axis(mode, side)
        if self.pooling == "max":
            tokens, count = ops.max_over_modes(F.linear(x, weight.to(x.dtype)), axis, valid=valid, steps=steps)
        elif self.pool_scores is not None:
            tokens, count = ops.weighted_over_modes(x, self.pool_scores[mode], axis, valid=valid, steps=steps)
        else:
            tokens, count = ops.pool_modes(x, axis, valid=valid, steps=steps) if pooled is None else pooled[mode]
        if self.pooling == "mean":
            tokens, count = ops.mean_of_sums(tokens, count)
        if self.centred and mode not in self.causal_modes:
            tokens = ops.centre_positions(tokens, count)
        if self.pooling == "max":
            return tokens if bias is None else tokens + count * bias.to(tokens.dtype)
        return ops.project_pooled(tokens, count, weight, bias)

    def _heads(self, rows: Tensor, mode: int, *, is_key: bool = False, start: int = 0) -> Tensor:
        """Split into heads, normalise, turn by position, and put the temperature on the queries."""
        heads = torch.unflatten(rows, -1, (self.num_heads, -1)).transpose(1, 2)
        if self.norms is not None:
            heads = self.norms[mode][int(is_key)](heads)  # type: ignore[index]
        if not is_key and self.log_temperature is not None:
            capped = self.log_temperature[mode].to(heads.dtype).clamp_max(math.log(MAX_TEMPERATURE))
            heads = heads * capped.exp()[:, None, None]
        return ops.rotate(heads, start=start) if mode in self.rotary_modes else heads

    def _mask(self, mode: int, query_side: Side, key_side: Side, given: Tensor | None) -> Tensor | None:
        """All that forbids attention along one mode, broadcast to `(batch, heads, q, k)`; None if nothing does."""
        axis, steps = self._axis(mode, query_side), query_side.steps
        rows, columns = query_side.x.shape[axis + 1], key_side.x.shape[axis + 1]
        masks = [] if given is None else [_expand_mask(given, mode, len(query_side.x), rows, columns, steps)]
        masks += [ops.causal_mask(rows, columns, query_side.x.device)] if mode in self.causal_modes else []
        masks += [] if key_side.valid is None else [ops.valid_keys(key_side.valid, axis, steps)]
        return ops.all_of(masks)

    def extra_repr(self) -> str:
        """Show what is not in the submodules."""
        return (
            f"{self.dim}, num_heads={self.num_heads}, num_modes={self.num_modes}, combine={self.combine!r}, "
            f"feature_map={self.feature_map!r}, attended_modes={self.attended_modes}, pooling={self.pooling!r}"
        )


def _accept_biases(module: nn.Module, state: dict[str, Any], prefix: str, *_: object) -> None:
    """Take biases of values and output that a layer without them had when it was saved."""
    for name in ("value", "out"):
        linear: Any = module.get_submodule(name)
        key = f"{prefix}{name}.bias"
        if key in state and linear.bias is None:
            linear.bias = nn.Parameter(linear.weight.new_empty(state[key].shape))


def _check_tokens(name: str, x: Tensor, valid: Tensor | None, num_modes: int, weight: Tensor) -> None:
    """Refuse tokens of another shape or type than the layer's weight takes, and a mask that is not theirs."""
    dim = weight.shape[1]
    if x.ndim != num_modes + 2 or x.shape[-1] != dim:
        raise ShapeError(
            f"KroneckerAttention: {name} needs a batch axis, {num_modes} modes and {dim} features, in "
            f"this order. Got {tuple(x.shape)}."
        )
    if x.dtype != weight.dtype:
        checks.check_dtype("KroneckerAttention", name, x, weight)
    checks.check_valid("KroneckerAttention", valid, x, name)


def _check_sizes(x: Tensor, context: Tensor, attended_modes: Sequence[int], step_mode: int | None) -> None:
    """Refuse a context of another size along a mode that does not attend, or whose steps the others go by."""
    if step_mode is not None and x.shape[step_mode + 1] != context.shape[step_mode + 1]:
        raise ShapeError(
            f"KroneckerAttention: modes that attend beside the causal mode {step_mode} go by its steps, so x and "
            f"context need as many. Got {x.shape[step_mode + 1]} and {context.shape[step_mode + 1]}."
        )
    for mode in set(range(x.ndim - 2)) - set(attended_modes):
        if x.shape[mode + 1] != context.shape[mode + 1]:
            raise ShapeError(
                f"KroneckerAttention: mode {mode} does not attend, so x and context need the same size there. Got "
                f"{x.shape[mode + 1]} and {context.shape[mode + 1]}; add it to attended_modes."
            )


def _check_masks(masks: Sequence[Tensor | None] | None, num_modes: int) -> Sequence[Tensor | None]:
    """Refuse masks that are not one per mode."""
    if masks is None:
        return [None] * num_modes
    if len(masks) != num_modes:
        raise ShapeError(
            f"KroneckerAttention: mode_masks needs one entry per mode, None for no mask. Got {len(masks)} for "
            f"{num_modes} modes."
        )
    return masks


def _expand_mask(mask: Tensor, mode: int, batch: int, rows: int, columns: int, steps: int | None) -> Tensor:
    """Bring a mask to `(batch or 1, 1, rows or 1, columns)`; `(q, k)` wins where `(batch, k)` has the same shape.

    Where each step is a sample, the mask of a sample is that of all its steps.
    """
    batch //= max(1, steps or 1)
    if mask.dtype == torch.bool:
        if mask.shape == (rows, columns):
            return mask[None, None]
        if mask.shape in ((batch, columns), (batch, rows, columns)):
            wide = mask[:, None, None] if mask.ndim == 2 else mask[:, None]
            return wide.repeat_interleave(steps or 1, 0)
    raise ShapeError(
        f"KroneckerAttention: the mask of mode {mode} must be boolean and ({rows}, {columns}), ({batch}, {columns}) or "
        f"({batch}, {rows}, {columns}), batch first. Got {tuple(mask.shape)} of {mask.dtype}."
    )
