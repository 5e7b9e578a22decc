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
    R  relative distances, from -max_distance to max_distance
    N  B × W: the hypotheses of all sentences, each a row of its own
    1  broadcast

In search, training and fast/ there are some more:

    C  candidates: the continuations that a search step looks at
    N  in a loss, or packed: every token of a batch
    R  in a loss: some of its tokens
    L  looks at the same batch, of which R-Drop takes two; in runtime/: layers of the decoder
    M  L × R
    I  inputs of a linear layer
    O  outputs of a linear layer
"""

from vitrail.model.cache import Cache
from vitrail.model.encoder import Memory
from vitrail.model.interventions import attentions, without_heads
from vitrail.model.taps import NO_TAP, Listener, Tap
from vitrail.model.transformer import Transformer, shifted

__all__ = [
    "NO_TAP",
    "Cache",
    "Listener",
    "Memory",
    "Tap",
    "Transformer",
    "attentions",
    "shifted",
    "without_heads",
]
