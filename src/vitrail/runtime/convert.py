"""A Vitrail model as a CTranslate2 model: the same weights, under that library's names. Does not import torch.

Everything is checked as `folder.py` does it: each weight by name and shape, and none may be left over.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitrail.config import ModelConfig
from vitrail.errors import FolderError
from vitrail.folder import WEIGHTS, ModelFolder
from vitrail.text.special import BOS, EOS, UNK
from vitrail.weights import RESTORE, Shape, read_arrays

Array = NDArray[np.float32]

VERSION = 1  # of the conversion: what was converted by another version is converted again
POSITIONS = 2048  # rows of a table of sinusoids: sources have 1,024 tokens at most


def why_not(model: ModelConfig) -> str | None:
    """Why CTranslate2 cannot compute such a model; None if it can."""
    if model.positions not in _PLACE:
        return f"CTranslate2 has no positions like '{model.positions}'"
    if model.d_k * model.heads != model.d_model:
        return f"CTranslate2 needs d_k = d_model / heads, which is not {model.d_k}"
    return None


@dataclass(frozen=True)
class Names:
    """What tokens are called in a converted model: a name for each id."""

    source: Sequence[str]
    target: Sequence[str]
    adds_end: bool = False  # the library ends every source with `<eos>`; if not, whoever calls it does

    @classmethod
    def by_id(cls, sources: int, targets: int) -> Names:
        """Named by their ids: what Vitrail passes in and gets out are ids."""
        return cls(names(sources), names(targets))


def convert(folder: ModelFolder, *, precision: str, out: Path, named: Names | None = None) -> None:
    """Write the model of `folder` into the existing folder `out`, its weights in float32, float16 or int8."""
    model, tokenizers = folder.config.model, folder.tokenizers
    named = named or Names.by_id(tokenizers.source.size, tokenizers.target.size)
    weights = _Weights(folder.path / WEIGHTS, biases=model.bias)
    with _specs() as specs:
        spec = _fill(specs, model, weights, sizes=(tokenizers.source.size, tokenizers.target.size))
        weights.refuse_others()
        spec.register_source_vocabulary(list(named.source))
        spec.register_target_vocabulary(list(named.target))
        config = spec.config
        config.unk_token, config.bos_token, config.eos_token = (named.target[number] for number in (UNK, BOS, EOS))
        config.decoder_start_token = config.bos_token
        config.add_source_eos = named.adds_end
        spec.validate()
        spec.optimize(quantization=None if precision == "float32" else precision)
        spec.save(str(out))


def names(size: int) -> list[str]:
    """The name of every id."""
    return [str(number) for number in range(size)]


def _fill(specs: Any, model: ModelConfig, weights: _Weights, *, sizes: tuple[int, int]) -> Any:
    activation = getattr(specs.common_spec.Activation, _ACTIVATIONS[model.activation])
    options = {"pre_norm": model.norm == "pre", "activation": activation, **_INSIDE.get(model.positions, {})}
    encoder = specs.TransformerEncoderSpec(model.encoder_layers, model.heads, **options)
    decoder = specs.TransformerDecoderSpec(model.decoder_layers, model.heads, **options)
    encoder.scale_embeddings = decoder.scale_embeddings = model.embedding_scale
    _embed(encoder, decoder, model, weights, sizes=sizes)
    for side, stack in (("source", encoder), ("target", decoder)):
        _PLACE[model.positions](stack, model, weights, side)
    for number, layer in enumerate(encoder.layer):
        _layer(f"encoder.layers.{number}", [layer.self_attention, layer.ffn], model, weights)
    for number, layer in enumerate(decoder.layer):
        _layer(f"decoder.layers.{number}", [layer.self_attention, layer.attention, layer.ffn], model, weights)
    if model.norm == "pre":
        weights.norm(encoder.layer_norm, "encoder.final_norm", model.d_model)
        weights.norm(decoder.layer_norm, "decoder.final_norm", model.d_model)
    return specs.TransformerSpec(encoder, decoder)


def _embed(encoder: Any, decoder: Any, model: ModelConfig, weights: _Weights, *, sizes: tuple[int, int]) -> None:
    """The tables of embeddings: one, two or three, as `model/embedding.py` shares them."""
    (sources, targets), width = sizes, model.d_model
    if model.tie_embeddings == "all":
        source = target = output = weights.take("embeddings.shared", targets, width)
    else:
        source = weights.take("embeddings.source", sources, width)
        target = weights.take("embeddings.target", targets, width)
        tied = model.tie_embeddings == "target"
        output = target if tied else weights.take("embeddings.output", targets, width)
    encoder.embeddings[0].weight, decoder.embeddings.weight, decoder.projection.weight = source, target, output
    if model.output_bias:
        decoder.projection.bias = weights.take("output_bias", targets)


def _layer(name: str, parts: Sequence[Any], model: ModelConfig, weights: _Weights) -> None:
    """One layer: its attentions, its feed-forward network, and the norm of each."""
    *attentions, feed_forward = parts
    for kind, part in zip(("self_attention", "cross_attention"), attentions, strict=False):
        _attention(f"{name}.{kind}", part, model, weights)
    weights.linear(feed_forward.linear_0, f"{name}.feed_forward.inner", model.d_ff, model.d_model)
    weights.linear(feed_forward.linear_1, f"{name}.feed_forward.outer", model.d_model, model.d_ff)
    for number, part in enumerate(parts, start=1):
        weights.norm(part.layer_norm, f"{name}.add_norm_{number}.norm", model.d_model)


def _attention(name: str, part: Any, model: ModelConfig, weights: _Weights) -> None:
    width, narrow = model.heads * model.d_k, model.kv_heads * model.d_k
    query = weights.matrix(f"{name}.query", width, model.d_model)
    # Heads that share keys and values get a copy each: in CTranslate2 cross-attention cannot share them.
    key, value = (
        [_one_per_head(array, model) for array in weights.matrix(f"{name}.{kind}", narrow, model.d_model)]
        for kind in ("key", "value")
    )
    output = weights.matrix(f"{name}.output", model.d_model, width)
    joined = [[query, key, value], [output]] if name.endswith("self_attention") else [[query], [key, value], [output]]
    for linear, parts in zip(part.linear, joined, strict=True):
        linear.weight, *bias = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        if bias:
            (linear.bias,) = bias
    if model.positions == "relative" and name.endswith("self_attention"):
        shape = (2 * model.max_distance + 1, model.d_k)
        part.relative_position_keys = weights.take(f"{name}.dot_product.key_RK", *shape)
        part.relative_position_values = weights.take(f"{name}.dot_product.value_RK", *shape)


def _one_per_head(array: Array, model: ModelConfig) -> Array:
    """The rows of the kv heads, repeated for every head that shares them."""
    heads = array.reshape(model.kv_heads, model.d_k, *array.shape[1:])
    return np.repeat(heads, model.heads // model.kv_heads, axis=0).reshape(-1, *array.shape[1:])


# Positions. A test compares these tables with `model/sinusoids.py`, which needs torch.


def _angles(model: ModelConfig, steps: float) -> NDArray[np.float64]:
    index = np.arange(model.d_model // 2, dtype=np.float64)
    return np.arange(POSITIONS, dtype=np.float64)[:, None] * 10000.0 ** (-index / steps)


def _interleaved(model: ModelConfig) -> NDArray[np.float64]:
    angle = _angles(model, model.d_model / 2)
    return np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(POSITIONS, model.d_model)


def _concatenated(model: ModelConfig) -> NDArray[np.float64]:
    angle = _angles(model, model.d_model / 2 - 1)
    return np.concatenate([np.sin(angle), np.cos(angle)], axis=-1)


def _halved(model: ModelConfig) -> NDArray[np.float64]:
    angle = _angles(model, model.d_model / 2)
    return np.concatenate([np.sin(angle), np.cos(angle)], axis=-1)


SINUSOIDS: dict[str, Callable[[ModelConfig], NDArray[np.float64]]] = {
    "sinusoidal": _interleaved,
    "sinusoidal-concat": _concatenated,
    "sinusoidal-halves": _halved,
}

Place = Callable[[Any, ModelConfig, "_Weights", str], None]


def _fixed(table_of: Callable[[ModelConfig], NDArray[np.float64]]) -> Place:
    def place(stack: Any, model: ModelConfig, _weights: _Weights, _side: str) -> None:
        stack.position_encodings.encodings = table_of(model).astype(np.float32)

    return place


def _learned(stack: Any, model: ModelConfig, weights: _Weights, side: str) -> None:
    stack.position_encodings.encodings = weights.take(f"{side}_positions.table", model.max_positions, model.d_model)


def _inside_attention(stack: Any, _model: ModelConfig, _weights: _Weights, _side: str) -> None:
    """Nothing is added to the embeddings, so there is no table either."""
    if hasattr(stack, "position_encodings"):
        del stack.position_encodings


_PLACE: dict[str, Place] = {
    **{name: _fixed(table_of) for name, table_of in SINUSOIDS.items()},
    "learned": _learned,
    "relative": _inside_attention,
    "rope": _inside_attention,
}
_INSIDE: dict[str, dict[str, Any]] = {
    "relative": {"relative_position": True},
    "rope": {"rotary_dim": 0, "rotary_interleave": False},  # 0: all of d_k
}
_ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "silu": "SWISH"}


class _Weights:
    """The weights of a file by name. Each is checked when it is taken, and whether one was not."""

    def __init__(self, path: Path, *, biases: bool) -> None:
        self.path, self.biases = path, biases
        self._arrays = read_arrays(path)
        self._taken: set[str] = set()

    def take(self, name: str, *shape: int) -> Array:
        """One weight, which must have this shape."""
        found: Array | None = self._arrays.get(name)
        if found is None:
            raise self._refusal(f"the weights lack '{name}': they belong to another model")
        if found.shape != shape:
            raise self._refusal(_other_shape(name, found.shape, shape))
        self._taken.add(name)
        return found

    def matrix(self, name: str, outputs: int, inputs: int) -> list[Array]:
        """A linear layer's weight and, if the model has biases, its bias."""
        weight = self.take(f"{name}.weight", outputs, inputs)
        return [weight, self.take(f"{name}.bias", outputs)] if self.biases else [weight]

    def linear(self, part: Any, name: str, outputs: int, inputs: int) -> None:
        """Fill a linear layer."""
        part.weight, *bias = self.matrix(name, outputs, inputs)
        if bias:
            (part.bias,) = bias

    def norm(self, part: Any, name: str, width: int) -> None:
        """Fill a layer norm. CTranslate2 has none without a bias: zeros change nothing."""
        part.gamma = self.take(f"{name}.weight", width)
        part.beta = self.take(f"{name}.bias", width) if self.biases else np.zeros(width, dtype=np.float32)

    def refuse_others(self) -> None:
        """Raise an error if a weight was not taken."""
        for name in sorted(self._arrays.keys() - self._taken):
            raise self._refusal(f"the weights have '{name}', the model does not: they belong to another model")

    def _refusal(self, what: str) -> FolderError:
        return FolderError(what, where=str(self.path), fix=RESTORE)


def _other_shape(name: str, found: Shape, wanted: Shape) -> str:
    return f"'{name}' has shape {found}, but the settings and the vocabulary require {wanted}"


@contextmanager
def _specs() -> Iterator[Any]:
    """`ctranslate2.specs`, without the torch that it imports if it is installed: that takes seconds.

    It is forgotten afterwards, so that a program that converts models of its own gets it with torch.
    """
    had_torch = "torch" in sys.modules
    before = set(sys.modules)
    if not had_torch:
        sys.modules["torch"] = None  # type: ignore[assignment]  # `import torch` now fails, which specs expects
    try:
        from ctranslate2 import specs

        yield specs
    finally:
        if not had_torch:
            del sys.modules["torch"]
            for name in set(sys.modules) - before:
                if name.startswith("ctranslate2.specs"):
                    del sys.modules[name]
