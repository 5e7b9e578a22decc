"""Our layers against torch's own, with the same weights."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from vitrail.config import ModelConfig
from vitrail.model.attention import DotProduct, MultiHeadAttention
from vitrail.model.decoder import DecoderLayer
from vitrail.model.encoder import EncoderLayer, Memory
from vitrail.model.masks import mask_future
from vitrail.model.taps import Tap

pytestmark = pytest.mark.usefixtures("true_suffixes")

D, H, F_ = 24, 4, 40
IS_PAD = torch.tensor([[False] * 7, [False] * 4 + [True] * 3])


def config(norm: str, activation: str, bias: bool) -> ModelConfig:
    return ModelConfig(d_model=D, heads=H, d_ff=F_, dropout=0.0, norm=norm, activation=activation, bias=bias)


def shake(module: nn.Module) -> None:
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.2)


def copy_linear(ours: nn.Linear, weight: Tensor, bias: Tensor | None) -> None:
    with torch.no_grad():
        ours.weight.copy_(weight)
        if bias is not None:
            ours.bias.copy_(bias)


def copy_attention(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    biases = theirs.in_proj_bias.chunk(3) if theirs.in_proj_bias is not None else (None,) * 3
    for linear, weight, bias in zip(
        (ours.query, ours.key, ours.value), theirs.in_proj_weight.chunk(3), biases, strict=True
    ):
        copy_linear(linear, weight, bias)
    copy_linear(ours.output, theirs.out_proj.weight, theirs.out_proj.bias)


def copy_layer(ours: EncoderLayer | DecoderLayer, theirs: nn.Module) -> None:
    copy_attention(ours.self_attention, theirs.self_attn)
    if isinstance(ours, DecoderLayer):
        copy_attention(ours.cross_attention, theirs.multihead_attn)
        ours.add_norm_3.norm.load_state_dict(theirs.norm3.state_dict())
    copy_linear(ours.feed_forward.inner, theirs.linear1.weight, theirs.linear1.bias)
    copy_linear(ours.feed_forward.outer, theirs.linear2.weight, theirs.linear2.bias)
    ours.add_norm_1.norm.load_state_dict(theirs.norm1.state_dict())
    ours.add_norm_2.norm.load_state_dict(theirs.norm2.state_dict())


@pytest.mark.parametrize("bias", [True, False])
def test_attention_and_its_weights_are_those_of_multihead_attention(bias: bool) -> None:
    torch.manual_seed(1)
    theirs = nn.MultiheadAttention(D, H, bias=bias, batch_first=True)
    shake(theirs)
    ours = MultiHeadAttention(config("post", "relu", bias), DotProduct())
    copy_attention(ours, theirs)
    x_BTD, seen_BSD = torch.randn(2, 5, D), torch.randn(2, 7, D)
    expected_BTD, expected_weights = theirs(
        x_BTD, seen_BSD, seen_BSD, key_padding_mask=IS_PAD, average_attn_weights=False
    )
    heard: dict[str, Tensor] = {}
    visible_B11S = ~IS_PAD[:, None, None]
    torch.testing.assert_close(ours(x_BTD, seen_BSD, visible_B11S), expected_BTD)
    torch.testing.assert_close(ours(x_BTD, seen_BSD, visible_B11S, tap=Tap(heard.__setitem__)), expected_BTD)
    torch.testing.assert_close(heard["weights"], expected_weights)


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("bias", [True, False])
def test_an_encoder_layer_is_torchs(norm: str, activation: str, bias: bool) -> None:
    torch.manual_seed(2)
    theirs = nn.TransformerEncoderLayer(
        D, H, F_, dropout=0.0, activation=activation, norm_first=norm == "pre", bias=bias, batch_first=True
    )
    shake(theirs)
    ours = EncoderLayer(config(norm, activation, bias))
    copy_layer(ours, theirs)
    x_BSD = torch.randn(2, 7, D)
    got, expected = ours(x_BSD, ~IS_PAD[:, None, None]), theirs(x_BSD, src_key_padding_mask=IS_PAD)
    torch.testing.assert_close(got[~IS_PAD], expected[~IS_PAD])


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("bias", [True, False])
def test_a_decoder_layer_is_torchs(norm: str, activation: str, bias: bool) -> None:
    torch.manual_seed(3)
    theirs = nn.TransformerDecoderLayer(
        D, H, F_, dropout=0.0, activation=activation, norm_first=norm == "pre", bias=bias, batch_first=True
    )
    shake(theirs)
    ours = DecoderLayer(config(norm, activation, bias))
    copy_layer(ours, theirs)
    x_BTD, memory_BSD = torch.randn(2, 5, D), torch.randn(2, 7, D)
    future = nn.Transformer.generate_square_subsequent_mask(5)
    expected = theirs(x_BTD, memory_BSD, tgt_mask=future, memory_key_padding_mask=IS_PAD.float() * -1e9)
    memory = Memory(memory_BSD, ~IS_PAD[:, None, None])
    torch.testing.assert_close(ours(x_BTD, mask_future(5, x_BTD.device), memory), expected)
