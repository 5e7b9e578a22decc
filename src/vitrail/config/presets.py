"""Model shapes by size. `base` and `big` are the paper's (table 3). A preset takes the rest from `base`.

`student` has a deep encoder, which reads a sentence once, and a shallow decoder, which runs once for every word (Kasai
et al. 2021): for `vitrail distill`.
"""

from __future__ import annotations

PRESETS: dict[str, dict[str, int | float]] = {
    "tiny": {"d_model": 128, "heads": 4, "d_ff": 256, "encoder_layers": 4, "decoder_layers": 4},
    "small": {"d_model": 256, "heads": 4, "d_ff": 1024, "encoder_layers": 3, "decoder_layers": 3},
    "student": {"d_model": 256, "heads": 4, "d_ff": 1024, "encoder_layers": 6, "decoder_layers": 1},
    "base": {"d_model": 512, "heads": 8, "d_ff": 2048, "encoder_layers": 6, "decoder_layers": 6},
    "big": {"d_model": 1024, "heads": 16, "d_ff": 4096, "encoder_layers": 6, "decoder_layers": 6, "dropout": 0.3},
}
