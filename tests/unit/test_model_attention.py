"""Scaled dot-product attention: the post's numbers, and rows that may look at nothing."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from vitrail.config import POSITIONS, ModelConfig
from vitrail.model import Transformer
from vitrail.model.attention import DotProduct, KeysValues
from vitrail.model.feed_forward import FeedForward
from vitrail.model.positions import build_dot_product
from vitrail.model.taps import NO_TAP, Tap

pytestmark = pytest.mark.usefixtures("true_suffixes")

# The paper's attention, which serves every kind that is added to the embeddings, and each kind with one of its own.
KINDS = ["sinusoidal", *(name for name, kind in POSITIONS.items() if not kind.added)]


def attention_of(kind: str, dropout: float = 0.0) -> DotProduct:
    """Four heads, each 6 wide."""
    shape = {"d_model": 24, "heads": 4, "d_k": 6, "max_distance": 2}
    return build_dot_product(ModelConfig(**shape, positions=kind, attention_dropout=dropout))


def test_the_posts_worked_example() -> None:
    """ "Thinking Machines": q1·k1 = 112, q1·k2 = 96; divided by 8 they are 14 and 12; softmax gives 0.88 and 0.12."""
    q_BHTK, k_BGSK, v_BGSK = torch.zeros(1, 1, 1, 64), torch.zeros(1, 1, 2, 64), torch.zeros(1, 1, 2, 64)
    q_BHTK[..., 0], k_BGSK[..., 0] = 16.0, torch.tensor([7.0, 6.0])
    v_BGSK[..., 0] = torch.tensor([1.0, 0.0])
    heard: dict[str, Tensor] = {}
    z_BHTK = DotProduct()(q_BHTK, KeysValues(k_BGSK, v_BGSK), None, tap=Tap(heard.__setitem__))
    assert heard["scores"].flatten().tolist() == [112, 96]
    assert heard["scaled"].flatten().tolist() == [14, 12]
    assert [round(weight, 2) for weight in heard["weights"].flatten().tolist()] == [0.88, 0.12]
    assert round(z_BHTK[..., 0].item(), 2) == 0.88


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tap", [NO_TAP, Tap(lambda _name, _value: None)], ids=["fused", "tapped"])
@pytest.mark.parametrize("kv_heads", [4, 2, 1])
def test_a_row_that_sees_nothing_gathers_nothing_and_its_gradient_is_finite(kind: str, tap: Tap, kv_heads: int) -> None:
    torch.manual_seed(1)
    q = torch.randn(2, 4, 3, 6, requires_grad=True)
    k, v = (torch.randn(2, kv_heads, 3, 6, requires_grad=True) for _ in "kv")
    visible_B11S = torch.tensor([[True, True, False], [False, False, False]])[:, None, None]
    z = attention_of(kind)(q, KeysValues(k, v), visible_B11S, tap=tap)
    assert torch.equal(z[1], torch.zeros_like(z[1]))
    assert z[0].abs().min() > 0
    for gradient in torch.autograd.grad(z.square().sum(), (q, k, v)):
        assert gradient.isfinite().all()
        assert torch.equal(gradient[1], torch.zeros_like(gradient[1]))


@pytest.mark.parametrize("kind", ["sinusoidal", "alibi"])  # those that have both
@pytest.mark.parametrize("kv_heads", [4, 2])
@pytest.mark.parametrize("sees", ["everything", "words", "the past"])
@pytest.mark.parametrize("keys", [1, 7, 16, 20, 129])
def test_the_fused_kernel_is_attention_step_by_step(keys: int, sees: str, kv_heads: int, kind: str) -> None:
    torch.manual_seed(keys)
    queries = keys if sees == "the past" else min(keys, 5)
    dot_product = attention_of(kind)
    shapes = ((4, queries), (kv_heads, keys), (kv_heads, keys))
    inputs = [torch.randn(3, *shape, 6, requires_grad=True) for shape in shapes]
    visible = {
        "everything": None,
        "words": (torch.arange(keys) < torch.tensor([[1], [keys], [keys // 2 + 1]]))[:, None, None],
        "the past": torch.ones(1, 1, keys, keys, dtype=torch.bool).tril(),
    }[sees]

    def gather(tap: Tap) -> tuple[Tensor, ...]:
        q, k, v = inputs
        z = dot_product(q, KeysValues(k, v), visible, tap=tap)
        return z, *torch.autograd.grad((z * torch.arange(6.0)).sum(), inputs)

    for found, value in zip(gather(NO_TAP), gather(Tap(lambda _name, _value: None)), strict=True):
        torch.testing.assert_close(found, value, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tap", [NO_TAP, Tap(lambda _name, _value: None)], ids=["fused", "tapped"])
def test_a_fault_stays_in_sight(kind: str, tap: Tap) -> None:
    q, k, v = torch.full((1, 4, 2, 6), torch.nan), torch.randn(1, 4, 2, 6), torch.randn(1, 4, 2, 6)
    visible_11TS = torch.ones(1, 1, 2, 2, dtype=torch.bool).tril()
    assert attention_of(kind)(q, KeysValues(k, v), visible_11TS, tap=tap).isnan().all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kv_heads", [4, 2])
def test_dropped_attention_is_on_average_the_attention(kind: str, kv_heads: int) -> None:
    """Weights are dropped after the softmax and scaled up, so that what is gathered keeps its mean."""
    torch.manual_seed(2)
    dot_product = attention_of(kind, dropout=0.3).requires_grad_(False)
    q, k, v = torch.randn(1, 4, 3, 6), torch.randn(1, kv_heads, 5, 6), torch.randn(1, kv_heads, 5, 6)
    visible_11TS = torch.ones(1, 1, 3, 5, dtype=torch.bool).tril(2)
    seen = KeysValues(k, v)
    plain = dot_product.eval()(q, seen, visible_11TS)
    many = KeysValues(k.expand(8000, -1, -1, -1), v.expand(8000, -1, -1, -1))
    drawn = dot_product.train()(q.expand(8000, -1, -1, -1), many, visible_11TS)
    assert drawn.std(0).min() > 0
    torch.testing.assert_close(drawn.mean(0, keepdim=True), plain, atol=0.08, rtol=0)


def test_dropout_takes_weights_and_a_listener_hears_them_whole() -> None:
    torch.manual_seed(3)
    q, k, v = (torch.randn(2, 4, 3, 6) for _ in "qkv")
    dot_product, heard = DotProduct(0.5).train(), {}
    state = torch.get_rng_state()
    z = dot_product(q, KeysValues(k, v), None, tap=Tap(heard.__setitem__))
    torch.set_rng_state(state)
    unheard = dot_product(q, KeysValues(k, v), None)
    torch.testing.assert_close(unheard, z, atol=0, rtol=0)
    torch.testing.assert_close(heard["weights"].sum(-1), torch.ones(2, 4, 3))
    torch.set_rng_state(state)
    torch.testing.assert_close(z, nn.Dropout(0.5)(heard["weights"]) @ v)


def test_activation_dropout_takes_hidden_values_and_a_listener_hears_them_whole() -> None:
    torch.manual_seed(4)
    network, heard = FeedForward(ModelConfig(d_model=8, heads=2, d_ff=64, activation_dropout=0.5)).train(), {}
    x = torch.randn(2, 3, 8)
    state = torch.get_rng_state()
    output = network(x, tap=Tap(heard.__setitem__))
    torch.testing.assert_close(heard["hidden"], network.inner(x).relu())
    torch.set_rng_state(state)
    torch.testing.assert_close(output, network.outer(nn.Dropout(0.5)(heard["hidden"])))
    torch.testing.assert_close(network.eval()(x), network.outer(heard["hidden"]))


@pytest.mark.parametrize("positions", KINDS)
def test_dropout_adds_no_parameters(positions: str) -> None:
    shape = {"d_model": 8, "heads": 2, "d_ff": 16, "encoder_layers": 1, "decoder_layers": 1, "positions": positions}
    plain, dropping = (
        Transformer(ModelConfig(**shape, attention_dropout=share, activation_dropout=share), 9, 9) for share in (0, 0.5)
    )
    dropping.load_state_dict(plain.state_dict(), strict=True)
    drops = [module.p for module in dropping.modules() if isinstance(module, nn.Dropout)]
    assert drops.count(0.5) == 3 + 2  # three attentions and two feed-forward networks


@pytest.mark.parametrize("kind", KINDS)
def test_attention_drops_nothing_unless_it_is_asked_to(kind: str) -> None:
    q, k, v = (torch.randn(2, 4, 3, 6) for _ in "qkv")
    seen, plain = KeysValues(k, v), attention_of(kind)
    torch.testing.assert_close(plain.train()(q, seen, None), plain.eval()(q, seen, None))
