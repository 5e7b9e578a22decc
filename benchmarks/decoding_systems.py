"""The systems of decoding.py that are not a script of their own: each translates a file in a process of its own."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memory_peak import peak_mb

Translate = Callable[[list[str]], tuple[list[str], int]]  # texts in, texts and their number of tokens out


def vitrail(options: argparse.Namespace, *, engine: str, shortlist: bool = False) -> Translate:
    """Vitrail, as `vitrail translate --input … --output …` uses it: a stream of lines."""
    from vitrail.config import change_settings
    from vitrail.translator import load

    translator = load(options.model, threads=options.cores)
    changes = {"beam_size": options.beam, "engine": engine, "precision": options.precision, "shortlist": shortlist}
    decode = change_settings(translator.config, changes)

    def translate(lines: list[str]) -> tuple[list[str], int]:
        done = list(translator.stream(lines, to=options.to, decode=decode))
        return [one.text for one in done], sum(len(one.tokens) + 1 for one in done)

    return translate


def transformers(options: argparse.Namespace) -> Translate:
    """Hugging Face's `generate`, with the same weights in the model class that has this order of norms."""
    import torch

    from vitrail.translator import load

    torch.set_num_threads(options.cores)
    translator = load(options.model)
    model, words = hugging_face(translator.model), translator.tokenizers

    def translate(lines: list[str]) -> tuple[list[str], int]:
        from vitrail.decode import batches

        rows = [words.encode_source(line, options.to) for line in lines]
        texts, tokens = [""] * len(rows), 0
        for group in batches([len(row) for row in rows], options.batch_tokens):
            longest = max(len(rows[index]) for index in group)
            source = torch.tensor([rows[index] + [0] * (longest - len(rows[index])) for index in group])
            with torch.inference_mode():
                found = model.generate(
                    source,
                    attention_mask=source != 0,
                    num_beams=options.beam,
                    do_sample=False,
                    max_new_tokens=longest + 50,
                    early_stopping=options.beam > 1,
                ).tolist()
            for index, row in zip(group, found, strict=True):
                ids = [number for number in row[1:] if number > 3]
                texts[index], tokens = words.decode(ids), tokens + len(ids) + 1
        return texts, tokens

    return translate


def hugging_face(ours: Any) -> Any:
    """A Vitrail model as one of Hugging Face: M2M100 if the norm comes before the sublayers, Marian if after."""
    import torch
    from transformers import M2M100Config, M2M100ForConditionalGeneration, MarianConfig, MarianMTModel

    from vitrail.interop.names import their_name

    config, vocabulary = ours.config, ours.vocabulary
    pre, positions = config.norm == "pre", config.position_limit or 1200
    sizes = {
        "vocab_size": vocabulary,
        "d_model": config.d_model,
        "encoder_layers": config.encoder_layers,
        "decoder_layers": config.decoder_layers,
        "encoder_attention_heads": config.heads,
        "decoder_attention_heads": config.heads,
        "encoder_ffn_dim": config.d_ff,
        "decoder_ffn_dim": config.d_ff,
        "activation_function": config.activation,
        "scale_embedding": config.embedding_scale,
        "max_position_embeddings": positions,
        **{"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3, "decoder_start_token_id": 2},
        **{"dropout": 0.0, "attention_dropout": 0.0, "activation_dropout": 0.0, "encoder_layerdrop": 0.0},
        "forced_eos_token_id": None,
    }
    model = (
        M2M100ForConditionalGeneration(M2M100Config(**sizes)) if pre else MarianMTModel(MarianConfig(**sizes))
    ).eval()
    weights = {their_name(name): value for name, value in ours.state_dict().items() if "positions" not in name}
    missing, unexpected = model.load_state_dict(weights, strict=False)
    shared = weights["model.shared.weight"]
    model.model.encoder.embed_tokens.weight.data = model.model.decoder.embed_tokens.weight.data = shared
    model.lm_head.weight.data = shared
    table = ours.source_positions.vectors(0, positions, like=shared)
    for stack in (model.model.encoder, model.model.decoder):
        places = stack.embed_positions.weights if pre else stack.embed_positions.weight.data
        first = 2 if pre else 0  # M2M100 counts its positions from the padding's id + 1
        places[first - (1 if pre else 0) : first - (1 if pre else 0) + positions] = table[: len(places) - first]
    allowed = ("embed_", "lm_head", "final_logits_bias")
    assert not unexpected and all(any(part in name for part in allowed) for name in missing), (missing, unexpected)
    source, target = torch.tensor([[7, 9, 11, 3]]), torch.tensor([[2, 8, 6]])
    with torch.inference_mode():
        theirs = model(input_ids=source, attention_mask=source != 0, decoder_input_ids=target).logits
        torch.testing.assert_close(theirs, ours(source, target), rtol=1e-3, atol=1e-3)
    return model


SYSTEMS: dict[str, Callable[[argparse.Namespace], Translate]] = {
    "vitrail": lambda options: vitrail(options, engine="auto"),
    "vitrail shortlist": lambda options: vitrail(options, engine="auto", shortlist=True),
    "vitrail torch": lambda options: vitrail(options, engine="torch"),
    "transformers": transformers,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("system", choices=SYSTEMS)
    parser.add_argument("model")
    parser.add_argument("input", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--to")
    parser.add_argument("--beam", type=int, default=1)
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--batch-tokens", type=int, default=1024)
    parser.add_argument("--singly", type=int, default=0)
    options = parser.parse_args()
    translate = SYSTEMS[options.system](options)
    lines = options.input.read_text(encoding="utf-8").splitlines()
    translate(lines[:8])  # warm up
    started = time.perf_counter()
    texts, tokens = translate(lines)
    options.output.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    seconds = time.perf_counter() - started
    latencies = []
    for line in lines[: options.singly]:
        started = time.perf_counter()
        translate([line])
        latencies.append(time.perf_counter() - started)
    print(json.dumps({"seconds": seconds, "tokens": tokens, "latencies": latencies, "peak_mb": peak_mb()}))


if __name__ == "__main__":
    main()
