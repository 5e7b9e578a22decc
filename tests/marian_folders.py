"""Folders of Marian models as transformers writes them, with random weights and small vocabularies of their own."""

import io
import json
import random
from pathlib import Path
from typing import Any

import torch
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer
from transformers import MarianConfig, MarianMTModel

SOURCES = ["the cat sat on the mat", "a dog ran (in) the park", "hello world, it's me!", 'we are "here" now: 3.5 %']
TARGETS = ["le chat est assis sur le tapis", "un chien courait au parc", "bonjour, c'est moi !", "nous voici à 3,5 %"]


def pieces(texts: list[str], size: int) -> bytes:
    """A sentencepiece model like OPUS-MT's: unigram, and text goes through NFKC."""
    model = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=iter(texts * 5),
        model_writer=model,
        model_type="unigram",
        vocab_size=size,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    return model.getvalue()


def text_of(*models: bytes) -> list[str]:
    """The pieces of sentencepiece models that stand for text."""
    found: dict[str, None] = {}
    for model in models:
        splitter: Any = SentencePieceProcessor(model_proto=model)
        found |= {splitter.id_to_piece(n): None for n in range(3, splitter.get_piece_size())}
    return list(found)


def write_marian(
    folder: Path,
    *,
    seed: int = 0,
    languages: tuple[str, ...] = (),
    separate: bool = False,
    half: bool = False,
    pickled: bool = False,
    **options: Any,
) -> Path:
    """Write one; `options` are settings of its MarianConfig."""
    torch.manual_seed(seed)
    folder.mkdir(parents=True, exist_ok=True)
    models = pieces(SOURCES, 60), pieces(TARGETS, 70)
    for name, model in zip(("source.spm", "target.spm"), models, strict=True):
        (folder / name).write_bytes(model)
    codes = [f">>{language}<<" for language in languages]
    dice = random.Random(seed)
    if separate:
        tokens = [[*codes, *text_of(models[0])], text_of(models[1])]
        # One id of padding for both sides, as transformers has it.
        size = max(map(len, tokens)) + 3
        lists = [
            ["</s>", "<unk>", *side, *(f"extra{n}" for n in range(size - 3 - len(side))), "<pad>"] for side in tokens
        ]
        names = ("vocab.json", "target_vocab.json")
    else:
        both = [*codes, *text_of(*models)]
        dice.shuffle(both)  # ids are not sentencepiece's
        lists, names = [["</s>", "<unk>", *both[:-4], "<pad>"]] * 2, ("vocab.json",) * 2  # and four pieces have none
    for name, listed in zip(names, lists, strict=True):
        (folder / name).write_text(json.dumps({token: number for number, token in enumerate(listed)}))
    settings = {"source_lang": "en", "target_lang": "fr", "separate_vocabs": separate}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    sizes = {"vocab_size": len(lists[0]), "decoder_vocab_size": len(lists[1])}
    pad = len(lists[1]) - 1
    small = {f"{side}_{part}": 2 for side in ("encoder", "decoder") for part in ("layers", "attention_heads")}
    config = MarianConfig(
        **{"d_model": 16, "encoder_ffn_dim": 24, "decoder_ffn_dim": 24, **small, **options},
        **{**sizes, "pad_token_id": pad, "decoder_start_token_id": pad, "eos_token_id": 0, "forced_eos_token_id": None},
        **{"max_position_embeddings": 64, "share_encoder_decoder_embeddings": not separate},
    )
    model = MarianMTModel(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:  # biases of 0 and gains of 1 would hide mistakes
                parameter.add_(torch.randn_like(parameter), alpha=0.2)
        model.final_logits_bias.copy_(torch.randn_like(model.final_logits_bias) * 0.5)
        # What no translation of ours may contain has no probability worth mentioning there, except padding.
        model.final_logits_bias[0, [1, *(n for n, token in enumerate(lists[1]) if token.startswith(">>"))]] = -60
    if half:
        model = model.half()
    if pickled:
        config.save_pretrained(folder)
        torch.save(model.state_dict(), folder / "pytorch_model.bin")
    else:
        model.save_pretrained(folder)
    return folder
