"""The Transformer as operations of ONNX: what `model/` computes, once for the encoder and once for a decoder's step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from vitrail.config import ModelConfig
from vitrail.interop.graph import Graph
from vitrail.runtime.convert import SINUSOIDS
from vitrail.text.special import PAD

_HIDDEN = -1e9  # a score that gets no weight at all
_EPSILON = 1e-5  # of torch's layer norm

Weights = Mapping[str, NDArray[np.float32]]


def encoder(model: ModelConfig, weights: Weights) -> Graph:
    """Source ids -> the keys and values that every decoder layer looks at, and a mask that hides padding."""
    graph = Graph("encoder")
    parts = _Parts(graph, model, weights)
    source = graph.input("source", int, ("batch", "source"))
    count = graph.apply("Gather", graph.apply("Shape", source), graph.numbers(1))
    places = graph.apply("Slice", parts.positions("source"), graph.numbers(0), count, graph.numbers(0))
    x = graph.apply("Add", parts.embed(source, "source"), places)
    is_pad = graph.apply("Equal", source, graph.number(PAD))
    flat_mask = graph.apply("Where", is_pad, graph.scalar(_HIDDEN), graph.scalar(0.0))
    mask = graph.apply("Unsqueeze", flat_mask, graph.numbers(1, 2))
    for number in range(model.encoder_layers):
        layer = f"encoder.layers.{number}"
        x = parts.add_norm(f"{layer}.add_norm_1", x, partial(parts.look_around, f"{layer}.self_attention", mask))
        x = parts.add_norm(f"{layer}.add_norm_2", x, partial(parts.think, f"{layer}.feed_forward"))
    memory = parts.final_norm("encoder", x)
    for number in range(model.decoder_layers):
        both = parts.keys_values(f"decoder.layers.{number}.cross_attention", memory)
        for kind, value in zip(("key", "value"), both, strict=True):
            graph.output(f"memory_{kind}_{number}", value, ("batch", model.heads, "source", model.d_k))
    graph.output("source_mask", mask, ("batch", 1, 1, "source"))
    return graph


def decoder(model: ModelConfig, weights: Weights) -> Graph:
    """The newest id of every text, and what is cached -> log-probabilities of the next one, and the longer cache."""
    graph = Graph("decoder")
    parts = _Parts(graph, model, weights)
    ids = graph.input("ids", int, ("batch", 1))
    mask = graph.input("source_mask", float, ("batch", 1, 1, "source"))
    held = {
        (place, number): (
            graph.input(f"{place}_key_{number}", float, ("batch", model.heads, length, model.d_k)),
            graph.input(f"{place}_value_{number}", float, ("batch", model.heads, length, model.d_k)),
        )
        for number in range(model.decoder_layers)
        for place, length in (("memory", "source"), ("past", "past"))
    }
    before = graph.apply("Gather", graph.apply("Shape", held["past", 0][0]), graph.numbers(2))  # how many words
    x = graph.apply("Add", parts.embed(ids, "target"), graph.apply("Gather", parts.positions("target"), before))
    for number in range(model.decoder_layers):
        layer = f"decoder.layers.{number}"
        look_back = partial(parts.look_back, f"{layer}.self_attention", number, held["past", number])
        look_at_source = partial(parts.look_at, f"{layer}.cross_attention", held["memory", number], mask)
        x = parts.add_norm(f"{layer}.add_norm_1", x, look_back)
        x = parts.add_norm(f"{layer}.add_norm_2", x, look_at_source)
        x = parts.add_norm(f"{layer}.add_norm_3", x, partial(parts.think, f"{layer}.feed_forward"))
    logits, vocabulary = parts.score_words(graph.apply("Squeeze", parts.final_norm("decoder", x), graph.numbers(1)))
    log_probs = graph.apply("LogSoftmax", logits, attributes={"axis": -1})
    graph.output("log_probs", log_probs, ("batch", vocabulary))
    for name, value in parts.present.items():
        graph.output(name, value, ("batch", model.heads, "present", model.d_k))
    return graph


class _Parts:
    """The parts of a Transformer, under the names of its weights."""

    def __init__(self, graph: Graph, model: ModelConfig, weights: Weights) -> None:
        self.graph, self.model, self.weights = graph, model, weights
        self.present: dict[str, str] = {}  # the longer cache

    def embed(self, ids: str, side: str) -> str:
        """Words as vectors."""
        name, table = self._table(side)
        words = self.graph.apply("Gather", self.graph.constant(name, table), ids)
        if not self.model.embedding_scale:
            return words
        return self.graph.apply("Mul", words, self.graph.scalar(self.model.d_model**0.5))

    def positions(self, side: str) -> str:
        """A vector for every position."""
        if self.model.positions not in SINUSOIDS:
            return self._weight(f"{side}_positions.table")
        table = SINUSOIDS[self.model.positions](self.model).astype(np.float32)
        return self.graph.constant("positions", table)

    def score_words(self, x: str) -> tuple[str, int]:
        """The logits, and how many words there are."""
        name, table = self._table("output")
        logits = self.graph.apply("MatMul", x, self.graph.constant(f"{name} turned", table.T))
        if self.model.output_bias:
            logits = self.graph.apply("Add", logits, self._weight("output_bias"))
        return logits, len(table)

    def add_norm(self, name: str, x: str, sublayer: Callable[[str], str]) -> str:
        """The residual connection and the norm around a sub-layer."""
        if self.model.norm == "post":
            return self._norm(f"{name}.norm", self.graph.apply("Add", x, sublayer(x)))
        return self.graph.apply("Add", x, sublayer(self._norm(f"{name}.norm", x)))

    def final_norm(self, stack: str, x: str) -> str:
        """The norm at the end of a stack, if its sum is not normalised yet."""
        return x if self.model.norm == "post" else self._norm(f"{stack}.final_norm", x)

    def think(self, name: str, x: str) -> str:
        """The feed-forward network."""
        return self._linear(f"{name}.outer", self._activate(self._linear(f"{name}.inner", x)))

    def look_around(self, name: str, mask: str, x: str) -> str:
        """Self-attention of the encoder."""
        return self.look_at(name, self.keys_values(name, x), mask, x)

    def look_back(self, name: str, number: int, past: tuple[str, str], x: str) -> str:
        """Self-attention of the decoder: at what is cached, and at the newest word, which joins the cache."""
        joined = []
        for kind, before, newest in zip(("key", "value"), past, self.keys_values(name, x), strict=True):
            joined.append(self.graph.apply("Concat", before, newest, attributes={"axis": 2}))
            self.present[f"present_{kind}_{number}"] = joined[-1]
        return self.look_at(name, (joined[0], joined[1]), None, x)

    def look_at(self, name: str, seen: tuple[str, str], mask: str | None, x: str) -> str:
        """Attention: equation (1) of the paper, in every head."""
        keys, values = seen
        queries = self._split_heads(self._linear(f"{name}.query", x))
        turned = self.graph.apply("Transpose", keys, attributes={"perm": [0, 1, 3, 2]})
        scores = self.graph.apply("MatMul", queries, turned)
        scores = self.graph.apply("Div", scores, self.graph.scalar(self.model.d_k**0.5))
        if mask is not None:
            scores = self.graph.apply("Add", scores, mask)
        shares = self.graph.apply("Softmax", scores, attributes={"axis": -1})
        z = self.graph.apply("Transpose", self.graph.apply("MatMul", shares, values), attributes={"perm": [0, 2, 1, 3]})
        joined = self.graph.apply("Reshape", z, self.graph.numbers(0, -1, self.model.heads * self.model.d_k))
        return self._linear(f"{name}.output", joined)

    def keys_values(self, name: str, x: str) -> tuple[str, str]:
        """The keys and values of every position, a set for each head."""
        key, value = (self._split_heads(self._linear(f"{name}.{kind}", x)) for kind in ("key", "value"))
        return key, value

    def _split_heads(self, x: str) -> str:
        """(B, T, H · K) to (B, H, T, K)."""
        heads = self.graph.apply("Reshape", x, self.graph.numbers(0, -1, self.model.heads, self.model.d_k))
        return self.graph.apply("Transpose", heads, attributes={"perm": [0, 2, 1, 3]})

    def _linear(self, name: str, x: str) -> str:
        weight = self._one_per_head(f"{name}.weight").T
        y = self.graph.apply("MatMul", x, self.graph.constant(f"{name}.weight", weight))
        if not self.model.bias:
            return y
        return self.graph.apply("Add", y, self.graph.constant(f"{name}.bias", self._one_per_head(f"{name}.bias")))

    def _one_per_head(self, name: str) -> NDArray[np.float32]:
        """A weight; that of keys and values which heads share, once for each of these heads."""
        array, model = self.weights[name], self.model
        if ".key." not in name and ".value." not in name:
            return array
        heads = array.reshape(model.kv_heads, model.d_k, *array.shape[1:])
        return np.repeat(heads, model.heads // model.kv_heads, axis=0).reshape(-1, *array.shape[1:])

    def _norm(self, name: str, x: str) -> str:
        weight = self._weight(f"{name}.weight")
        bias = [self._weight(f"{name}.bias")] if self.model.bias else []
        return self.graph.apply("LayerNormalization", x, weight, *bias, attributes={"epsilon": _EPSILON})

    def _activate(self, x: str) -> str:
        return _ACTIVATIONS[self.model.activation](self.graph, x)

    def _weight(self, name: str) -> str:
        return self.graph.constant(name, self.weights[name])

    def _table(self, side: str) -> tuple[str, NDArray[np.float32]]:
        """A table of embeddings and its name, as `model/embedding.py` shares them."""
        stand_ins = {"all": ("shared",), "target": (side, "target"), "none": (side,)}[self.model.tie_embeddings]
        name = next(name for one in stand_ins if (name := f"embeddings.{one}") in self.weights)
        return name, self.weights[name]


def _gelu(graph: Graph, x: str) -> str:
    """x · Φ(x), exactly."""
    error = graph.apply("Erf", graph.apply("Div", x, graph.scalar(2**0.5)))
    share = graph.apply("Mul", graph.apply("Add", error, graph.scalar(1.0)), graph.scalar(0.5))
    return graph.apply("Mul", x, share)


_ACTIVATIONS: dict[str, Callable[[Graph, str], str]] = {
    "relu": lambda graph, x: graph.apply("Relu", x),
    "gelu": _gelu,
    "silu": lambda graph, x: graph.apply("Mul", x, graph.apply("Sigmoid", x)),
}
