"""What tests of forecasters of the literature share: drawn weights, torch's encoder layer, hidden cells."""

import torch
from torch import nn

from tolerances import assert_same


def draw(generator, *sizes):
    return torch.randn(*sizes, generator=generator, dtype=torch.float64)


def settled(model, generator):
    """A model with every parameter drawn, so that no bias or gain is what it starts as."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.2 * draw(generator, *parameter.shape) + 0.1)
    return model


class _OfTokens(nn.Module):
    """A batch norm of `(batch, dim, tokens)` applied to `(batch, tokens, dim)`; what it has seen is kept elsewhere."""

    def __init__(self, norm):
        super().__init__()
        self.norm, self.training = norm, norm.training

    def forward(self, tokens):
        mean, variance = self.norm.running_mean.clone(), self.norm.running_var.clone()
        flipped = tokens.transpose(1, 2)
        out = nn.functional.batch_norm(
            flipped, mean, variance, self.norm.weight, self.norm.bias, self.norm.training, 0.1, self.norm.eps
        )
        return out.transpose(1, 2)


def encoder_of(block, *, batch_norm=False):
    """Torch's encoder layer over the very weights of a block, written as products of matrices."""
    attention, forward = block.attention, block.feed_forward
    norms = [_OfTokens(norm) if batch_norm else norm for norm in block.norms]

    def layer(tokens, absent=None):
        looked, _ = nn.functional.multi_head_attention_forward(
            *[tokens.transpose(0, 1)] * 3, block.dim, attention.num_heads, attention.project.weight,
            attention.project.bias, None, None, False, 0.0, attention.output.layer.weight, attention.output.layer.bias,
            key_padding_mask=absent, need_weights=False,
        )  # fmt: skip
        tokens = norms[0](tokens + looked.transpose(0, 1))
        inner = nn.functional.gelu(tokens @ forward.up.layer.weight.T + forward.up.layer.bias)
        return norms[1](tokens + inner @ forward.down.layer.weight.T + forward.down.layer.bias)

    return layer


def assert_gaps_are_not_read(model, past, generator):
    """Hidden cells reach neither forecast nor gradient, and a mask of all cells is none."""
    observed = torch.rand(past.shape, generator=generator) > 0.3
    observed[0, :, 0] = False
    hidden = past.masked_fill(~observed, float("nan")).requires_grad_()
    forecast = model(hidden, observed)
    assert torch.isfinite(forecast).all()
    assert torch.equal(forecast, model(past.masked_fill(~observed, 7.0), observed))
    forecast.sum().backward()
    assert torch.isfinite(hidden.grad).all() and not hidden.grad[~observed].any()
    assert_same(model(past, torch.ones_like(observed)), model(past))
