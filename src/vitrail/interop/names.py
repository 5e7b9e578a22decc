"""What the parts of a Transformer are called in Hugging Face's model classes for translation (Marian, M2M100)."""

from __future__ import annotations

_PARTS = (
    ("cross_attention", "encoder_attn"),
    ("self_attention", "self_attn"),
    (".query.", ".q_proj."),
    (".key.", ".k_proj."),
    (".value.", ".v_proj."),
    (".output.", ".out_proj."),
    ("feed_forward.inner", "fc1"),
    ("feed_forward.outer", "fc2"),
    ("add_norm_1.norm", "self_attn_layer_norm"),
    ("coder.final_norm", "coder.layer_norm"),
)
_NORMS = {
    "encoder": (("add_norm_2.norm", "final_layer_norm"),),
    "decoder": (("add_norm_2.norm", "encoder_attn_layer_norm"), ("add_norm_3.norm", "final_layer_norm")),
}
SHARED, SOURCE, TARGET, OUTPUT, BIAS = (
    "model.shared.weight",
    "model.encoder.embed_tokens.weight",
    "model.decoder.embed_tokens.weight",
    "lm_head.weight",
    "final_logits_bias",
)
TABLES = {
    "embeddings.shared": SHARED,
    "embeddings.source": SOURCE,
    "embeddings.target": TARGET,
    "embeddings.output": OUTPUT,
    "output_bias": BIAS,
}
POSITIONS = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")


def their_name(name: str) -> str:
    """The name of one of our weights there."""
    if name in TABLES:
        return TABLES[name]
    for ours, theirs in (*_PARTS, *_NORMS[name.partition(".")[0]]):
        name = name.replace(ours, theirs)
    return f"model.{name}"
