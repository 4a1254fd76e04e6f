"""Dot-product and additive attention over tokens: what graph attention is compared with (TGA fig. 2)."""

import abc
import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from multiway import ops
from multiway.errors import ShapeError
from multiway.nn.checks import check_dtype, check_heads_divide, check_valid


class TokenAttention(nn.Module, abc.ABC):
    """Softmax attention of tokens to each other with dense Q, K and V, whatever the scores.

    Args:
        dim: Features per token.
        num_heads: Divides `dim`. A single head has no projection after it, as in graph attention.
        causal: Whether a token sees only itself and what comes before.
        device: As for `torch.nn.Linear`.
        dtype: As for `torch.nn.Linear`.

    Shape:
        `(..., length, dim)` in and out, any leading axes.
    """

    def __init__(
        self,
        dim: int,
        *,
        num_heads: int = 1,
        causal: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        check_heads_divide(type(self).__name__, dim, num_heads)
        self.dim, self.num_heads, self.causal = dim, num_heads, causal
        self.query_key_value = nn.Linear(dim, 3 * dim, bias=False, device=device, dtype=dtype)
        self.out = nn.Linear(dim, dim, bias=False, device=device, dtype=dtype) if num_heads > 1 else None

    @abc.abstractmethod
    def scores(self, query: Tensor, key: Tensor) -> Tensor:
        """Logits `(..., heads, length, length)` of queries and keys `(..., heads, length, features)`."""

    def forward(
        self, x: Float[Tensor, "*batch length dim"], *, valid: Tensor | None = None
    ) -> Float[Tensor, "*batch length dim"]:
        """Attend from every token to every valid one."""
        return self.forward_with_maps(x, valid=valid)[0]

    def forward_with_maps(
        self, x: Float[Tensor, "*batch length dim"], *, valid: Tensor | None = None
    ) -> tuple[Float[Tensor, "*batch length dim"], Float[Tensor, "*batch heads length length"]]:
        """`forward`, and the softmax of every head; row i is what token i receives."""
        self._check(x, valid)
        tokens = x if valid is None else torch.where(valid[..., None], x, 0)
        heads = torch.unflatten(self.query_key_value(tokens), -1, (3, self.num_heads, -1))
        query, key, value = heads.movedim(-3, 0).transpose(-2, -3)
        seen = None if valid is None else valid[..., None, None, :]  # by every token, (..., 1, 1 or length, length)
        if self.causal:
            past = torch.ones(x.shape[-2], x.shape[-2], dtype=torch.bool, device=x.device).tril()
            seen = past if seen is None else past & seen
        maps = ops.masked_softmax(self.scores(query, key), seen)
        joined = (maps @ value).transpose(-2, -3).flatten(-2)
        out = joined if self.out is None else self.out(joined)
        return (out if valid is None else torch.where(valid[..., None], out, 0)), maps

    def _check(self, x: Tensor, valid: Tensor | None) -> None:
        name = type(self).__name__
        if x.ndim < 2 or x.shape[-1] != self.dim:
            raise ShapeError(f"{name}: x must be (..., length, {self.dim}). Got {tuple(x.shape)}, features last.")
        check_valid(name, valid, x)
        check_dtype(name, "x", x, self.query_key_value.weight)

    def extra_repr(self) -> str:
        """Show what is not in the submodules."""
        return f"{self.dim}, num_heads={self.num_heads}, causal={self.causal}"


class DotProductAttention(TokenAttention):
    r"""Mix values by products of queries and keys: $Y = \mathrm{softmax}(Q K^\top / \sqrt{d})\, V$ (TGA, section 2).

    Counts 3 dim² parameters, as no bias is printed; heads have one more dense map after them. Arguments and shapes are
    those of `TokenAttention`.
    """

    def scores(self, query: Tensor, key: Tensor) -> Tensor:
        """Q Kᵀ / √d."""
        return (query @ key.mT) / math.sqrt(query.shape[-1])


class AdditiveAttention(TokenAttention):
    r"""Mix values by a small network of query and key: $\theta_{ij} = w^\top \tanh(q_i + k_j)$ (Bahdanau et al. 2015).

    Q, K and V are those of `DotProductAttention`, and w has a number per feature: 3 dim² + dim parameters.

    Differs from the source: there the queries are states of a decoder; here each token is a query.

    Cost: length² · dim values of tanh, which only the form without a compiler keeps for the gradient.
    """

    def __init__(self, dim: int, **options: object) -> None:
        super().__init__(dim, **options)  # type: ignore[arg-type]  # those of the base
        weight = self.query_key_value.weight
        features = dim // self.num_heads
        self.score = nn.Parameter(torch.empty(self.num_heads, features, device=weight.device, dtype=weight.dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw w uniform up to 1 / √d for heads of d features; the maps of queries, keys and values have their own."""
        bound = 1 / math.sqrt(self.score.shape[1])
        nn.init.uniform_(self.score, -bound, bound)

    def scores(self, query: Tensor, key: Tensor) -> Tensor:
        """Σ w tanh(q_i + k_j)."""
        return ops.additive_scores(query, key, self.score)
