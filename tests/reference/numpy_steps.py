"""The Transformer's arithmetic again, in NumPy and float64, written as in the paper; nothing from vitrail.

Every function computes one recorded step from those before it. No batch axis: heads, positions, numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import erf
from typing import Any

import numpy as np

Floats = np.ndarray


def linear(x: Floats, weight: Floats, bias: Floats | None) -> Floats:
    return x @ weight.T + (0 if bias is None else bias)


def split_heads(x: Floats, d_k: int) -> Floats:
    return np.stack(np.split(x, x.shape[-1] // d_k, axis=-1))


def layer_norm(x: Floats, gain: Floats, bias: Floats | None) -> Floats:
    centred = x - x.mean(-1, keepdims=True)
    deviation = np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
    return centred / deviation * gain + (0 if bias is None else bias)


def softmax(x: Floats) -> Floats:
    risen = np.exp(x - x.max(-1, keepdims=True))
    return risen / risen.sum(-1, keepdims=True)


def log_softmax(x: Floats) -> Floats:
    lowered = x - x.max(-1, keepdims=True)
    return lowered - np.log(np.exp(lowered).sum(-1, keepdims=True))


def activate(kind: str, x: Floats) -> Floats:
    if kind == "relu":
        return np.maximum(x, 0)
    if kind == "silu":
        return x / (1 + np.exp(-x))
    return x * (1 + np.vectorize(erf)(x / np.sqrt(2))) / 2


def sinusoids(kind: str, positions: int, width: int) -> Floats:
    """Section 3.5 of the paper and the two other arrangements, number by number."""
    half = width // 2
    table = np.zeros((positions, width))
    for position in range(positions):
        for i in range(half):
            steps = half - 1 if kind == "sinusoidal-concat" else half
            angle = position / 10000 ** (i / steps)
            sine, cosine = (2 * i, 2 * i + 1) if kind == "sinusoidal" else (i, half + i)
            table[position, sine], table[position, cosine] = np.sin(angle), np.cos(angle)
    return table


def rotate(x: Floats) -> Floats:
    """Every pair (i, i + d_k/2) rotated by position / 10000^(2i / d_k)."""
    half = x.shape[-1] // 2
    angle = np.arange(x.shape[1])[:, None] * 10000.0 ** (-np.arange(half) / half)
    left, right = x[..., :half], x[..., half:]
    return np.concatenate(
        [left * np.cos(angle) - right * np.sin(angle), left * np.sin(angle) + right * np.cos(angle)], axis=-1
    )


def distance_vectors(table: Floats, queries: int, keys: int) -> Floats:
    """Shaw's vector for every query and key: [T, S, K]."""
    furthest = (len(table) - 1) // 2
    rows = [[min(max(s - t, -furthest), furthest) + furthest for s in range(keys)] for t in range(queries)]
    return table[np.array(rows)]


def alibi_bias(heads: int, queries: int, keys: int) -> Floats:
    """Press's bias for every head, query and key: [H, T, S]."""
    power = max(2**n for n in range(20) if 2**n <= heads)
    slopes = [(2 ** (-8 / power)) ** (n + 1) for n in range(power)]
    doubled = [(2 ** (-4 / power)) ** (n + 1) for n in range(2 * power)]
    slopes += doubled[::2][: heads - power]
    return np.array([[[-slope * abs(t - s) for s in range(keys)] for t in range(queries)] for slope in slopes])


@dataclass
class Recomputation:
    """Every step of a trace, each from the recorded steps before it."""

    document: dict[str, Any]
    array: Callable[[str], Floats]  # a recorded array
    weight: Callable[[str], Floats | None]  # a parameter; None if the model has none of this name
    learned: Callable[[str], Floats]  # a side's table of learned positions

    def __post_init__(self) -> None:
        self.config = self.document["model"]["config"]

    def steps(self) -> Iterator[tuple[str, Floats]]:
        yield from self.side("source", self.document["source"]["ids"])
        for number in range(self.config["encoder_layers"]):
            below = f"encoder.{number - 1}.output" if number else "source.sum"
            yield from self.layer("encoder", number, below, [("self_attention", None)])
        yield from self.stack_end("encoder", self.config["encoder_layers"])
        yield from self.side("target", self.document["target"]["input_ids"])
        for number in range(self.config["decoder_layers"]):
            below = f"decoder.{number - 1}.output" if number else "target.sum"
            inside = [("self_attention", None), ("cross_attention", "encoder.output")]
            yield from self.layer("decoder", number, below, inside)
        yield from self.stack_end("decoder", self.config["decoder_layers"])
        names = {"all": "embeddings.shared", "target": "embeddings.target", "none": "embeddings.output"}
        table = self.weight(names[self.config["tie_embeddings"]])
        yield "logits", linear(self.array("decoder.output"), table, self.weight("output_bias"))
        yield "log_probs", log_softmax(self.array("logits"))

    def side(self, side: str, ids: list[int]) -> Iterator[tuple[str, Floats]]:
        held = self.document["embeddings"][side]
        rows = dict(zip(held["ids"], held["rows"].astype(np.float64), strict=True))
        scale = np.sqrt(self.config["d_model"]) if self.config["embedding_scale"] else 1
        yield f"{side}.embedding", np.array([rows[token_id] for token_id in ids]) * scale
        kind, position = self.config["positions"], 0
        if kind.startswith("sinusoidal"):
            position = sinusoids(kind, len(ids), self.config["d_model"])
            yield f"{side}.position", position
        elif kind == "learned":
            position = self.learned(side)[: len(ids)]
            yield f"{side}.position", position
        yield f"{side}.sum", self.array(f"{side}.embedding") + position

    def layer(
        self, stack: str, number: int, below: str, inside: list[tuple[str, str | None]]
    ) -> Iterator[tuple[str, Floats]]:
        here, x = f"{stack}.{number}", below
        for count, (name, seen) in enumerate([*inside, ("feed_forward", None)], start=1):
            around, module = f"{here}.add_norm_{count}", f"{stack}.layers.{number}.add_norm_{count}.norm"
            fed = f"{around}.normed" if self.config["norm"] == "pre" else x
            if self.config["norm"] == "pre":
                yield fed, self.norm(x, module)
            if name == "feed_forward":
                yield from self.feed_forward(f"{here}.feed_forward", f"{stack}.layers.{number}.feed_forward", fed)
            else:
                module_name = f"{stack}.layers.{number}.{name}"
                yield from self.attention(f"{here}.{name}", module_name, fed, seen or fed)
            yield f"{around}.sum", self.array(x) + self.array(f"{here}.{name}.output")
            post = self.config["norm"] == "post"
            yield f"{around}.output", self.norm(f"{around}.sum", module) if post else self.array(f"{around}.sum")
            x = f"{around}.output"
        yield f"{here}.output", self.array(x)

    def stack_end(self, stack: str, layers: int) -> Iterator[tuple[str, Floats]]:
        top = f"{stack}.{layers - 1}.output"
        pre = self.config["norm"] == "pre"
        yield f"{stack}.output", self.norm(top, f"{stack}.final_norm") if pre else self.array(top)

    def norm(self, x: str, module: str) -> Floats:
        gain = self.weight(f"{module}.weight")
        assert gain is not None
        return layer_norm(self.array(x), gain, self.weight(f"{module}.bias"))

    def projected(self, x: str, module: str) -> Floats:
        weight = self.weight(f"{module}.weight")
        assert weight is not None
        return linear(self.array(x), weight, self.weight(f"{module}.bias"))

    def feed_forward(self, here: str, module: str, fed: str) -> Iterator[tuple[str, Floats]]:
        yield f"{here}.hidden", activate(self.config["activation"], self.projected(fed, f"{module}.inner"))
        yield f"{here}.output", self.projected(f"{here}.hidden", f"{module}.outer")

    def attention(self, here: str, module: str, fed: str, seen: str) -> Iterator[tuple[str, Floats]]:
        d_k, heads = self.config["d_k"], self.config["heads"]
        yield f"{here}.q", split_heads(self.projected(fed, f"{module}.query"), d_k)
        yield f"{here}.k", split_heads(self.projected(seen, f"{module}.key"), d_k)
        yield f"{here}.v", split_heads(self.projected(seen, f"{module}.value"), d_k)
        own = here.endswith("self_attention")
        suffix = ""
        if own and self.config["positions"] == "rope":
            suffix = "_rotated"
            for name in ("q", "k"):
                yield f"{here}.{name}_rotated", rotate(self.array(f"{here}.{name}"))
        share = heads // self.config["kv_heads"]
        q = self.array(f"{here}.q{suffix}")
        k = np.stack([self.array(f"{here}.k{suffix}")[head // share] for head in range(heads)])
        v = np.stack([self.array(f"{here}.v")[head // share] for head in range(heads)])
        relative = own and self.config["positions"] == "relative"
        content = np.einsum("htk,hsk->hts", q, k)
        if relative:
            table = self.weight(f"{module}.dot_product.key_RK")
            assert table is not None
            yield f"{here}.scores_content", content
            yield f"{here}.scores_position", np.einsum("htk,tsk->hts", q, distance_vectors(table, *content.shape[1:]))
            content = self.array(f"{here}.scores_content") + self.array(f"{here}.scores_position")
        yield f"{here}.scores", content
        scaled = self.array(f"{here}.scores") / np.sqrt(d_k)
        if own and self.config["positions"] == "alibi":
            yield f"{here}.distance_bias", alibi_bias(*scaled.shape)
            scaled += self.array(f"{here}.distance_bias")
        if here == f"decoder.{here.split('.')[1]}.self_attention":
            t, s = np.indices(scaled.shape[1:])
            scaled = np.where(s > t, -np.inf, scaled)
        yield f"{here}.scaled", scaled
        yield f"{here}.weights", softmax(self.array(f"{here}.scaled"))
        weights = self.array(f"{here}.weights")
        z = np.einsum("hts,hsk->htk", weights, v)
        if relative:
            table = self.weight(f"{module}.dot_product.value_RK")
            assert table is not None
            yield f"{here}.z_content", z
            yield f"{here}.z_position", np.einsum("hts,tsk->htk", weights, distance_vectors(table, *weights.shape[1:]))
            z = self.array(f"{here}.z_content") + self.array(f"{here}.z_position")
        for head in self.document["what_if"]["heads_off"].get(here, []):
            z[head] = 0
        yield f"{here}.z", z
        joined = np.concatenate(list(self.array(f"{here}.z")), axis=-1)
        output = self.weight(f"{module}.output.weight")
        assert output is not None
        yield f"{here}.output", linear(joined, output, self.weight(f"{module}.output.bias"))


def deviation(recorded: Floats, computed: Floats) -> float:
    """The largest |a - b| / max|row|; infinite if shapes, infinities or NaNs differ."""
    if recorded.shape != computed.shape or not np.array_equal(np.isneginf(recorded), np.isneginf(computed)):
        return float("inf")
    hidden = np.isneginf(computed)
    a, b = np.where(hidden, 0, recorded), np.where(hidden, 0, computed)
    size = np.maximum(np.abs(b).max(-1, keepdims=True), 1e-30)
    worst = float((np.abs(a - b) / size).max(initial=0))
    return worst if np.isfinite(worst) else float("inf")
