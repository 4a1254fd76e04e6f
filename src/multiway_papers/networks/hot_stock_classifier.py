"""HOT for stocks: encoder of texts, decoder of prices, attention over stocks and days (stock HOT sec. 5)."""

from typing import Any, Literal, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor
from torch import nn as torch_nn

from multiway import nn
from multiway.errors import ShapeError
from multiway.models.blocks import BlockConfig, build_block, check_attended, need_maps

STOCK, TIME = 0, 1
NUM_MODES = 2

Maps = list[list[Tensor]]


class HOTStockClassifierConfig(BlockConfig):
    """Everything needed to rebuild a `HOTStockClassifier`; saved inside each run."""

    num_stocks: int = Field(gt=0)
    """Stocks, which keep their order (stock HOT: N)."""
    num_slots: int = Field(5, gt=0)
    """Days of the window (stock HOT: T)."""
    price_features: int = Field(3, gt=0)
    """Numbers per stock and day; the paper has adjusted close, high and low."""
    date_features: int = Field(3, ge=0)
    """Numbers per day, the same for every stock; the paper has day of the month, month and year."""
    text_features: int = Field(384, gt=0)
    """Length of the vector of a stock's texts of one day."""
    num_outputs: int = Field(2, gt=0)
    """Numbers per stock: logits of the classes, or quantiles."""
    modality: Literal["multimodal", "price", "text"] = "multimodal"
    """Decoder of prices that looks at an encoder of texts, or one of the two alone (stock HOT table 2)."""
    fusion: Literal["cross", "product"] = "cross"
    """How two modalities meet: by cross-attention (stock HOT figure 2), or features of two encoders multiplied."""
    num_blocks: int = Field(1, gt=0)
    """Blocks of the encoder, and as many of the decoder."""
    ffn_multiple: int = Field(4, gt=0)
    """Hidden width of each SwiGLU over `dim`."""
    dropout: float = Field(0.3, ge=0.0, lt=1.0)
    """Share of embeddings, and of each branch's output, dropped in training."""
    text_dropout: float = Field(0.5, ge=0.0, lt=1.0)
    """Share of the features of texts dropped in training: hundreds of them against few texts are learnt by heart."""
    attended_modes: tuple[int, ...] = (STOCK, TIME)
    """Modes with an attention factor: 0 stocks, 1 days; () leaves value and output projections (stock HOT table 3)."""
    tokens: Literal["days", "learnt"] = "days"
    """A stock's token starts from a learnt vector and a weighted sum of the stock's own days, and the head reads those
    of both modalities; or from the learnt vector alone, and the head reads the decoder's, as printed. A factor over N
    stocks whose rows sum to one passes 1/N of a stock's own days to its token at first."""
    absent: Literal["mask", "token"] = "mask"
    """Days without prices or texts are left out of the attention, or a learnt token stands for them."""

    @classmethod
    def paper(cls) -> dict[str, Any]:
        """List the fields of the form in print (stock HOT secs. 5 and 6.2).

        Stated in the paper: the kernel in place of the softmax and rotary along days alone. In its search space:
        `dim`, `num_heads`, `num_blocks` and `dropout`; the point in it is ours. From the general paper: `feature_map`.
        From the authors' code: `absent` and `ffn_multiple`.
        """
        return {
            "dim": 32,
            "num_blocks": 2,
            "num_heads": 4,
            "ffn_multiple": 4,
            "dropout": 0.2,
            "preset": "paper",
            "feature_map": "smreg",
            "absent": "token",
            "tokens": "learnt",
            "text_dropout": 0.0,
        }

    @model_validator(mode="after")
    def _sizes_fit(self) -> Self:
        self.check_heads(num_ordered=1)
        if self.modality == "multimodal" and self.fusion == "cross" and not self.use_attention:
            raise ValueError(
                "prices see texts by attention alone, so modality='multimodal' needs use_attention. Set modality to "
                "price or text, fusion to product, or keep the attention."
            )
        if self.fusion == "product" and self.modality != "multimodal":
            raise ValueError(
                f"fusion='product' multiplies two modalities. Got modality={self.modality!r}; leave one of the two out."
            )
        check_attended(self.attended_modes, NUM_MODES)
        return self


class HOTStockClassifier(torch_nn.Module):
    """Logits per stock from the last days of all stocks: their prices, their texts, or both.

    Each stock's days follow a learnt token of the stock. Texts pass an encoder; prices, with the features of the
    date, pass a decoder whose block l also looks at the output of the encoder's block l. The head reads the token.
    With `fusion="product"` neither looks at the other: the head reads norm(text) ⊙ norm(price), renormalised.

    Differs from the paper, which does not say what stands for a day without texts: the day is left out, by a mask
    (`absent="token"` puts a learnt token there, as the public code does). A sample's logits depend on it alone.

    Shape:
        prices `(batch, stocks, slots, price_features)`, price_valid and text_valid `(batch, stocks, slots)` bool,
        dates `(batch, slots, date_features)`, text `(batch, stocks, slots, text_features)`; output
        `(batch, stocks, num_outputs)`. What is not valid is never read, so it may hold anything, NaN too.
    """

    def __init__(self, config: HOTStockClassifierConfig) -> None:
        super().__init__()
        self.config = config
        has_text, has_price = config.modality != "price", config.modality != "text"
        self.encoder = _Tower(config, config.text_features, hidden=config.text_dropout) if has_text else None
        width = config.price_features + config.date_features
        multiplied = config.fusion == "product"
        self.decoder = _Tower(config, width, is_decoder=has_text and not multiplied) if has_price else None
        norms = [nn.make_norm(config.norm, config.dim) for _ in range(2)] if multiplied else []
        self.factor_norms = torch_nn.ModuleList(norms)
        self.norm = nn.make_norm(config.norm, config.dim)
        self.head = torch_nn.Linear(config.dim, config.num_outputs)

    def forward(
        self,
        prices: Tensor,
        price_valid: Tensor,
        dates: Tensor,
        text: Tensor | None = None,
        text_valid: Tensor | None = None,
    ) -> Tensor:
        """Logits `(batch, stocks, num_outputs)`."""
        return self._run(prices, price_valid, dates, text, text_valid, None)

    def forward_with_maps(
        self,
        prices: Tensor,
        price_valid: Tensor,
        dates: Tensor,
        text: Tensor | None = None,
        text_valid: Tensor | None = None,
    ) -> tuple[Tensor, dict[str, Maps]]:
        """Logits, and under "text", "price" and "cross" for each block one `(batch, heads, n, n)` map per mode.

        The first of the positions in time is the stock's token. Rows sum to one.

        Raises:
            ConfigError: There is no attention, or it is full and has no map per mode.
        """
        need_maps(self, self.config)
        maps: dict[str, Maps] = {}
        return self._run(prices, price_valid, dates, text, text_valid, maps), maps

    def _run(
        self,
        prices: Tensor,
        price_valid: Tensor,
        dates: Tensor,
        text: Tensor | None,
        text_valid: Tensor | None,
        maps: dict[str, Maps] | None,
    ) -> Tensor:
        memory: list[Tensor] = []
        memory_valid = None
        if self.encoder is not None:
            text, text_valid = self._checked("text", text, text_valid, self.config.text_features)
            tokens, memory_valid = self.encoder.embed(text, text_valid)
            memory = self.encoder(tokens, memory_valid, maps=maps, name="text")
        if self.decoder is None:
            return self._read(memory[-1])
        prices, price_valid = self._checked("prices", prices, price_valid, self.config.price_features)
        tokens, valid = self.decoder.embed(self._dated(prices, dates), price_valid)
        seen = [] if self.factor_norms else memory
        outputs = self.decoder(tokens, valid, seen, memory_valid, maps=maps, name="price")
        if self.factor_norms:
            return self._read(self._multiplied(memory[-1], outputs[-1]))
        both = bool(memory) and self.config.tokens == "days"
        return self._read(memory[-1] + outputs[-1] if both else outputs[-1])

    def _multiplied(self, text: Tensor, prices: Tensor) -> Tensor:
        of_text, of_prices = self.factor_norms
        product: Tensor = of_text(text) * of_prices(prices)
        return product

    def _read(self, tokens: Tensor) -> Tensor:
        logits: Tensor = self.head(self.norm(tokens[:, :, 0]))
        return logits

    def _dated(self, prices: Tensor, dates: Tensor) -> Tensor:
        expected = (len(prices), self.config.num_slots, self.config.date_features)
        if tuple(dates.shape) != expected:
            raise ShapeError(
                f"HOTStockClassifier: dates must be (batch, slots, features) {expected}. Got {tuple(dates.shape)}."
            )
        return torch.cat([prices, dates[:, None].expand(-1, prices.shape[1], -1, -1)], dim=-1)

    def _checked(self, name: str, values: Tensor | None, valid: Tensor | None, features: int) -> tuple[Tensor, Tensor]:
        if values is None or valid is None:
            raise ShapeError(
                f"HOTStockClassifier: a model of modality {self.config.modality!r} needs {name} and its mask. Got "
                f"None. Give both, or build the model with another modality."
            )
        expected = (self.config.num_stocks, self.config.num_slots)
        if values.shape[1:] != (*expected, features) or valid.shape != values.shape[:3]:
            raise ShapeError(
                f"HOTStockClassifier: {name} must be (batch, stocks, slots, features) with {(*expected, features)} "
                f"after the batch, its mask the same without the features. Got {tuple(values.shape)} and "
                f"{tuple(valid.shape)}."
            )
        return values, valid


class _Tower(torch_nn.Module):
    """Embedding of one modality, the stocks' tokens in front, and its blocks."""

    def __init__(
        self, config: HOTStockClassifierConfig, features: int, *, is_decoder: bool = False, hidden: float = 0.0
    ) -> None:
        super().__init__()
        dim = config.dim
        self.projection = torch_nn.Linear(features, dim)
        self.stock_token = torch_nn.Parameter(torch.randn(config.num_stocks, dim) * dim**-0.5)
        slots = 0.5 ** torch.arange(config.num_slots, 0, -1)  # what is new says most of the next day
        self.slot_weights = torch_nn.Parameter(slots) if config.tokens == "days" else None
        self.absent = torch_nn.Parameter(torch.zeros(dim)) if config.absent == "token" else None
        self.hide = nn.Dropout(hidden)
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = torch_nn.ModuleList(
            build_block(config, num_modes=NUM_MODES, ordered_modes=(TIME,), is_decoder=is_decoder)
            for _ in range(config.num_blocks)
        )

    def embed(self, values: Tensor, valid: Tensor) -> tuple[Tensor, Tensor]:
        """Tokens `(batch, stocks, 1 + slots, dim)` and which of them count; what is not valid is never read."""
        days = self.dropout(self.projection(self.hide(torch.where(valid[..., None], values, 0))))
        if self.absent is not None:
            days = torch.where(valid[..., None], days, self.absent)
            valid = torch.ones_like(valid)
        first = self.stock_token.to(days.dtype)[None, :, None].expand(len(values), -1, -1, -1)
        if self.slot_weights is not None:
            first = first + torch.einsum("bnsd,s->bnd", days * valid[..., None], self.slot_weights)[:, :, None]
        tokens = torch.cat([first, days], dim=2)
        return tokens, torch.cat([valid.new_ones(valid[..., :1].shape), valid], dim=2)

    def forward(
        self,
        tokens: Tensor,
        valid: Tensor,
        memory: list[Tensor] | None = None,
        memory_valid: Tensor | None = None,
        *,
        maps: dict[str, Maps] | None = None,
        name: str = "",
    ) -> list[Tensor]:
        """Outputs of every block; block l looks at the l-th of `memory`, if there is one."""
        outputs: list[Tensor] = []
        for depth, block in enumerate(self.blocks):
            context = memory[depth] if memory else None
            masks = {"valid": valid, "context_valid": memory_valid if memory else None}
            if maps is None:
                tokens = block(tokens, context, **masks)
            else:
                tokens, own, cross = block.forward_with_cross_maps(tokens, context, **masks)  # type: ignore[operator]  # ModuleList forgets
                maps.setdefault(name, []).append(own)
                if cross:
                    maps.setdefault("cross", []).append(cross)
            outputs.append(tokens)
        return outputs
