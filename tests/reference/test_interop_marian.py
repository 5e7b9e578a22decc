"""Imported Marian models against transformers' own class: the same tokens, the same logits, the same translations."""

import random
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import MarianMTModel, MarianTokenizer

from marian_folders import SOURCES, TARGETS, write_marian
from vitrail.config import change_settings
from vitrail.decode.forced import score as forced_score
from vitrail.interop import import_model
from vitrail.runtime import Job
from vitrail.text import ListedPieces
from vitrail.text.special import BOS, EOS, PAD, UNK
from vitrail.translator import load

SHAPES = {
    "d_model": (16, 24, 32),
    "heads": (1, 2, 4),
    "d_ff": (16, 40),
    "layers": (1, 2, 3),
    "activation_function": ("relu", "gelu", "swish"),
    "scale_embedding": (True, False),
    "tie_word_embeddings": (True, True, False),
    "separate": (True, False),
    "languages": ((), ("fra", "cmn_Hans")),
    "pickled": (True, False),
}
TEXTS = [*SOURCES, *TARGETS, "", "“here” it’s … 3 % («ça»)", "☃ hello\tworld  <unk >>fra x", "ﬁne １２ x\u0301"]


def random_options(seed: int) -> dict[str, Any]:
    dice = random.Random(seed)
    chosen = {name: dice.choice(values) for name, values in SHAPES.items()}
    heads, width = chosen.pop("heads"), chosen.pop("d_ff")
    return {
        **chosen,
        "seed": seed,
        "encoder_layers": chosen["layers"],
        "decoder_layers": dice.choice(SHAPES["layers"]),
        **{"encoder_attention_heads": heads, "decoder_attention_heads": heads},
        **{"encoder_ffn_dim": width, "decoder_ffn_dim": width},
    }


class Pair:
    """A model of theirs and what it was imported as."""

    def __init__(self, path: Path, *, punctuation: bool = True, **options) -> None:
        options.pop("layers", None)
        self.path = write_marian(path / "theirs", **options)
        self.folder = import_model(self.path, path / "ours", punctuation=punctuation)
        self.ours = self.folder.model()
        self.theirs = MarianMTModel.from_pretrained(self.path).eval()
        self.tokenizer = MarianTokenizer.from_pretrained(self.path)
        self.words = self.folder.tokenizers

    def places(self, *, target: bool) -> list[int]:
        """Our id of each of theirs, by spelling."""
        side = self.words.target if target else self.words.source
        known = {side.token(number): number for number in range(side.size)}
        known |= {"</s>": EOS, "<unk>": UNK, "<pad>": BOS} | {
            f">>{to}<<": known[f"<2{to}>"] for to in self.words.languages
        }
        theirs = self.tokenizer.target_encoder if target and self.tokenizer.separate_vocabs else self.tokenizer.encoder
        return [known[token] for token in theirs]

    def rows(self, text: str) -> tuple[list[int], list[int]]:
        """A source in our ids and in theirs."""
        to = self.words.languages[-1] if self.words.languages else None
        theirs = self.tokenizer((f">>{to}<< " if to else "") + self.tokenizer.normalize(text)).input_ids
        return self.words.encode_source(text, to), theirs


FIRST = (0, 5, 7, 17)  # shared and separate vocabularies, tied and not, with languages and without
SEEDS = [*FIRST, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(20) if seed not in FIRST)]


@pytest.fixture(scope="module", params=SEEDS)
def pair(request, tmp_path_factory) -> Pair:
    return Pair(tmp_path_factory.mktemp("marian"), **random_options(request.param))


def test_logits_are_those_of_transformers(pair):
    targets = pair.places(target=True)
    source, their_source = (torch.tensor([row]) for row in pair.rows(SOURCES[0]))
    prefix = torch.randint(2, len(targets) - 1, (1, 7))
    start = pair.theirs.config.decoder_start_token_id
    their_prefix = torch.cat([torch.tensor([[start]]), prefix], dim=1)
    our_prefix = torch.cat([torch.tensor([[BOS]]), torch.tensor(targets)[prefix]], dim=1)
    with torch.no_grad():
        theirs = pair.theirs(input_ids=their_source, decoder_input_ids=their_prefix).logits
        ours = pair.ours(source, our_prefix)
    *targets, _pad = targets
    torch.testing.assert_close(ours[..., targets], theirs[..., :-1], atol=1e-4, rtol=1e-4)
    # As the original program has it: nothing is left for padding, nor for symbols that only we have.
    wanted = theirs[..., :-1].log_softmax(-1)
    torch.testing.assert_close(ours.log_softmax(-1)[..., targets], wanted, atol=1e-4, rtol=1e-4)
    assert ours.softmax(-1)[..., [PAD, BOS]].max() == 0


def generated(pair: Pair, row: list[int], *, beams: int, limit: int) -> tuple[list[int], float]:
    """What transformers generates, in our ids, and its score, with the settings of OPUS-MT's folders."""
    with torch.no_grad():
        found = pair.theirs.generate(
            torch.tensor([row]),
            num_beams=beams,
            do_sample=False,
            early_stopping=beams > 1,
            length_penalty=1.0,
            max_new_tokens=limit,
            bad_words_ids=[[pair.theirs.config.pad_token_id]],
            renormalize_logits=True,
            return_dict_in_generate=True,
            output_scores=True,
        )
    ids = [pair.places(target=True)[number] for number in found.sequences[0, 1:].tolist()]
    return ids, float(found.sequences_scores[0]) if beams > 1 else 0.0


@pytest.mark.parametrize("engine", ["ctranslate2", "torch"])
def test_greedy_translations_are_those_of_transformers(pair, engine):
    translator = load(pair.folder.path, threads=1)
    to = pair.words.languages[-1] if pair.words.languages else None
    decode = change_settings(translator.config, {"beam_size": 1, "engine": engine, "max_extra": 20})
    for text in SOURCES[:2]:
        ours, theirs = pair.rows(text)
        wanted, _ = generated(pair, theirs, beams=1, limit=len(ours) + 20)
        found = translator.runtime.search(Job([ours], decode, pair.words.forbidden))[0][0]
        assert [*found.ids, *[EOS] * (len(wanted) - len(found.ids))] == wanted
        assert translator.translate(text, to=to, decode=decode).text == pair.words.decode(found.ids)


def test_the_best_of_a_beam_is_as_good_as_that_of_transformers(pair):
    translator = load(pair.folder.path, threads=1)
    decode = change_settings(translator.config, {"beam_size": 3, "max_extra": 20})
    for text in SOURCES[:3]:
        ours, theirs = pair.rows(text)
        wanted, score = generated(pair, theirs, beams=3, limit=len(ours) + 20)
        found = translator.runtime.search(Job([ours], decode, pair.words.forbidden))[0][0]
        forced = forced_score(pair.ours, [ours], [wanted], decode)[0]
        assert forced.score == pytest.approx(score, abs=1e-4)
        assert found.score >= score - 1e-4


def test_tokens_are_those_of_transformers(pair):
    places, their_places = pair.places(target=False), pair.places(target=True)
    words = pair.words.target
    french = ListedPieces(
        words.model, words.pieces, words.languages, punctuation="en"
    )  # it has one rule for both sides
    for text in TEXTS:
        ours, theirs = pair.rows(text)
        assert ours == [places[number] for number in theirs], text
        target = pair.tokenizer(text_target=pair.tokenizer.normalize(text)).input_ids
        assert [*french.encode(text), EOS] == [their_places[number] for number in target], text
    assert pair.words.source.encode_all(TEXTS) == [pair.words.source.encode(text) for text in TEXTS]


def test_texts_of_ids_are_those_of_transformers(pair):
    dice = random.Random(1)
    places = pair.places(target=True)
    ordinary = [number for number, ours in enumerate(places) if ours not in (*pair.words.forbidden, EOS)]
    for _ in range(20):
        theirs = dice.choices(ordinary, k=dice.randint(1, 9))
        text = pair.tokenizer.decode(theirs, skip_special_tokens=True, use_source_tokenizer=False)
        assert pair.words.decode([places[number] for number in theirs]) == " ".join(text.split())


def test_without_punctuation_the_tokens_are_what_transformers_makes_of_the_bare_text(tmp_path):
    pair = Pair(tmp_path, punctuation=False)
    text = "“the cat” — it’s (here)"
    places = pair.places(target=False)
    assert pair.words.encode_source(text) == [places[number] for number in pair.tokenizer(text).input_ids]
    assert UNK in pair.words.encode_source(text)


def test_weights_in_half_precision_are_read(tmp_path):
    pair = Pair(tmp_path, half=True)
    assert pair.theirs.dtype == torch.float16
    assert {value.dtype for value in pair.ours.state_dict().values()} == {torch.float32}
    torch.testing.assert_close(
        pair.ours.embeddings.shared[pair.places(target=True)], pair.theirs.model.shared.weight.float()
    )
