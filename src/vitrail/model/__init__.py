"""The Transformer of "Attention Is All You Need" and of The Illustrated Transformer, one file per idea.

Dimension key, for the whole project. A tensor's name ends in its axes: `q_BHTK` has four.

    B  batch
    S  source positions, or the positions of keys
    T  target positions, or the positions of queries
    D  d_model, the width of a word's vector
    F  d_ff, the width inside the feed-forward network
    H  heads
    G  kv heads, each serving H / G heads
    K  d_k, the width of a head
    V  vocabulary
    W  beam: the hypotheses of one sentence
    C  candidates of a step of the search: the 2 × beam_size best continuations of a sentence
    N  B × W: every hypothesis of every sentence, each a row of its own; in a loss, or packed, every token
    R  relative distances, from -max_distance to max_distance; in a loss, some of its tokens
    L  looks at the same batch, of which R-Drop has two
    M  L × R
    P  S filled up to a processor's vector
    I  inputs of a linear layer
    O  outputs of a linear layer
    1  broadcast
"""

from vitrail.model.cache import Cache
from vitrail.model.dropout import masks_from
from vitrail.model.encoder import Memory
from vitrail.model.interventions import attentions, without_heads
from vitrail.model.linear import apply_linear
from vitrail.model.multiply import numpy_multiplies, openblas_on_one_core
from vitrail.model.packed import Packing
from vitrail.model.taps import NO_TAP, Listener, Tap
from vitrail.model.transformer import Transformer

__all__ = [
    "NO_TAP",
    "Cache",
    "Listener",
    "Memory",
    "Packing",
    "Tap",
    "Transformer",
    "apply_linear",
    "attentions",
    "masks_from",
    "numpy_multiplies",
    "openblas_on_one_core",
    "without_heads",
]
